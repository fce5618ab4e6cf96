"""Every rival matches a slow version of its paper; no prediction depends on its own label."""

import importlib.util
import math

import numpy as np
import pytest

from benchmarks.rivals import (
    adaboost_ol,
    addexp,
    bagging,
    dwm,
    ecdd,
    elm,
    learn_nse,
    learn_nse_regression,
    naive_bayes,
    nearest,
    oaue,
    svm,
)
from benchmarks.rivals.contest import MODULES
from benchmarks.rivals.methods import CLASSIFICATION, ORDER, REGRESSION, methods
from papers.dfop_rivals import NearestInWindow

from . import plain

pytestmark = pytest.mark.filterwarnings("ignore::driftline.errors.DriftlineWarning")


def jumping(rows=240, seed=0, noise=0.2):
    """Two classes whose boundary is reversed twice; the third input is binary."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(rows, 2)), rng.integers(0, 2, rows)])
    sign = np.where(np.arange(rows) // (rows // 3) % 2 == 0, 1.0, -1.0)
    y = np.where(sign * (X[:, 0] + 0.5 * X[:, 1] + X[:, 2] - 0.5) + noise * rng.normal(size=rows) >= 0, 1.0, -1.0)
    return X, y


def curve(rows=230, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    sign = np.where(np.arange(rows) < rows // 2, 1.0, -1.0)
    return X, sign * np.tanh(X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.1 * rng.normal(size=rows)


@pytest.mark.parametrize(("task", "name"), [(task, name) for task in ORDER for name in ORDER[task]])
def test_a_prediction_depends_neither_on_its_label_nor_on_later_rows(task, name):
    X, y = jumping(160) if task == CLASSIFICATION else curve(160)
    method = methods(task, "hyperplane", X, y)[name]
    if importlib.util.find_spec(MODULES.get(method.library, method.library)) is None and method.library == "capymoa":
        pytest.skip("CapyMOA needs Java and an environment of its own")
    now = 117
    other_X, other_y = X.copy(), y.copy()
    other_y[now:] *= -1
    other_X[now + 1 :] = X[now + 1 :][::-1]
    first, second = method.run(X, y, 5), method.run(other_X, other_y, 5)
    assert first[: now + 1].tolist() == second[: now + 1].tolist()
    assert first.tolist() != second.tolist()


def test_naive_bayes_matches_a_fit_to_the_learned_rows():
    X, y = jumping(60)
    binary = naive_bayes.binary_columns(X)
    assert binary.tolist() == [False, False, True]
    count, mean, square = np.zeros(2), np.zeros((2, 3)), np.zeros((2, 3))
    for t in range(len(y)):
        odds = naive_bayes.log_odds(count, mean, square, binary, X[t])
        assert (1.0 if odds >= 0 else -1.0) == plain.bayes(X[:t], y[:t], X[t], binary)
        naive_bayes.learn(count, mean, square, X[t], int(y[t] > 0))


def test_dwm_matches_its_paper():
    X, y = jumping()
    found, _ = dwm.with_tests(X, y, np.empty((0, 0, 3)), 1, period=5)
    assert found.tolist() == plain.dwm(X, y, naive_bayes.binary_columns(X), 5).tolist()


def test_dwm_predicts_a_test_row_like_the_next_row():
    X, y = jumping(100)
    tests = np.stack([X[20:21], X[40:41], X[60:61], X[80:81]])
    found, tested = dwm.with_tests(X, y, tests, 20)
    assert tested[:, 0].tolist() == found[[20, 40, 60, 80]].tolist()


@pytest.mark.parametrize("warns", [False, True])
def test_ecdd_matches_its_paper(warns):
    X, y = jumping(400)
    found = (ecdd.with_warning if warns else ecdd.plain)(X, y, 0)
    assert found.tolist() == plain.ecdd(X, y, warns, ecdd.limit).tolist()
    assert np.mean(found[300:] == y[300:]) > 0.85  # it has adapted to the reversed boundary


@pytest.mark.parametrize("p", [0.1, 0.2, 0.3, 0.4])
def test_false_signals_of_the_control_chart_are_about_400_rows_apart(p):
    """The polynomial is the paper's; a wrong digit would show here. With known p the mean is 260 to 300 rows."""
    rng = np.random.default_rng(0)
    lengths = []
    for _ in range(300):
        Z, rows = p, 0
        while rows < 5000:
            rows += 1
            Z += ecdd.WEIGHT * ((rng.random() < p) - Z)
            if p + ecdd.limit(p) * ecdd.spread(p, 1000, ecdd.WEIGHT) < Z:
                break
        lengths.append(rows)
    assert 200 < np.mean(lengths) < 400


def test_adaboost_ol_matches_its_paper():
    X, y = jumping()
    rows = np.column_stack([X, np.ones(len(y))])
    drawn = np.random.default_rng(1).random(len(y))
    assert adaboost_ol._run(rows, y, drawn, 7, 1.0).tolist() == plain.adaboost_ol(rows, y, drawn, 7, 1.0).tolist()


def test_an_index_is_drawn_by_its_weight():
    weights = np.array([1.0, 0.0, 3.0])
    drawn = [adaboost_ol.drawn_index(share, weights) for share in (0.0, 0.24, 0.26, 0.999)]
    assert drawn == [0, 0, 2, 2]


def test_learn_nse_matches_its_paper():
    X, y = jumping()
    binary = naive_bayes.binary_columns(X)
    found = learn_nse._run(X, y, binary, 20, learn_nse.SLOPE, learn_nse.CROSSING)
    assert found.tolist() == plain.learn_nse(X, y, binary, 20).tolist()


def test_an_old_members_vote_is_a_mean_of_its_betas():
    betas = np.array([0.1, 0.5, 0.9])
    assert learn_nse.vote(betas, 0.5, 10.0) == pytest.approx(plain.votes(betas))
    assert learn_nse.sigmoid_weights(30, 0.5, 10.0).sum() == pytest.approx(1.0)


def test_the_nearest_neighbour_matches_the_librarys():
    X, y = jumping(250)
    model, expected = NearestInWindow(100), []
    for x, label in zip(X, y, strict=True):
        expected.append(1.0 if model.predict_one(x) >= 0 else -1.0)
        model.learn_one(x, label)
    assert nearest.predictions(X, y, 0).tolist() == expected


def test_the_estimated_error_of_a_support_vector_machine_is_at_least_its_leave_one_out_error():
    """Joachims' theorem. The rows are already scaled, because the scale would otherwise change with the row left out."""
    from sklearn.svm import SVC

    X, y = jumping(40, noise=1.0)
    model = svm.fit(X, y, 0, 40, "linear")
    rows, wrong = model.scaled(X), 0
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        wrong += SVC(kernel="linear").fit(rows[rest], y[rest]).predict(rows[i : i + 1])[0] != y[i]
    assert 0 < wrong / len(y) <= model.estimate(len(y)) < 1


def test_support_vector_machines_are_fitted_to_earlier_rows():
    from sklearn.svm import SVC

    X, y = jumping(150)
    t = 130
    for run, kernel, window in ((svm.sliding, "rbf", 100), (svm.fixed, "linear", 100)):
        first = t if run is svm.sliding else t // 25 * 25
        rows, labels = X[first - window : first], y[first - window : first]
        scale = rows.mean(axis=0), rows.std(axis=0)
        said = SVC(kernel=kernel).fit((rows - scale[0]) / scale[1], labels).predict((X[t : t + 1] - scale[0]) / scale[1])
        assert run(X, y, 0)[t] == said[0]


def test_the_adaptive_window_has_the_smallest_estimated_error():
    X, y = jumping(300)
    batch, t = svm.batch_of(300), 275
    models = [svm.fit(X, y, t - n * batch, t, "linear") for n in (1, 2, 4, 8)]
    best = min(models, key=lambda model: model.estimate(batch))
    assert svm.adaptive(X, y, 0)[t:].tolist() == best.predict(X[t:]).tolist()


def test_a_window_of_one_class_predicts_it():
    X, _ = jumping(60)
    y = np.where(np.arange(60) < 30, -1.0, 1.0)
    assert svm.fit(X, y, 30, 60, "linear").predict(X[:3]).tolist() == [1.0, 1.0, 1.0]


def test_bagged_extreme_learning_machines_are_means_of_least_squares():
    X, y = curve(80)
    rows = elm.inputs(X)
    nodes = elm.drawn(bagging.MACHINES, 4, 3)
    times = np.random.default_rng(4).poisson(1.0, (80, bagging.MACHINES)).astype(float)
    for run, counted in ((bagging.eos_elm, np.ones_like(times)), (bagging.online_bagging, times)):
        found = run(X, y, 3)
        for t in (0, 1, 10, 79):
            own = [plain.machine(nodes[m], rows[:t], y[:t], rows[t], elm.RIDGE, counted[:t, m]) for m in range(len(nodes))]
            assert found[t] == pytest.approx(np.mean(own), rel=1e-6, abs=1e-9)


def test_addexp_matches_its_paper():
    X, y = curve(120)
    rows, nodes = elm.inputs(X), elm.drawn(3, 4, 0)
    found = addexp._run(rows, y, nodes, addexp.SHRINK, addexp.SHARE, addexp.JOINS, elm.RIDGE)
    assert found == pytest.approx(plain.addexp(rows, y, nodes, elm.RIDGE), rel=1e-5, abs=1e-6)


def test_oaue_matches_its_paper():
    X, y = curve(150)
    rows, nodes = elm.inputs(X), elm.drawn(4, 4, 0)
    found = oaue._run(rows, y, nodes, 20, elm.RIDGE)
    assert found == pytest.approx(plain.oaue(rows, y, nodes, 20, elm.RIDGE), rel=1e-5, abs=1e-6)


def test_learn_nse_for_numbers_weighs_members_by_their_losses():
    """By hand: both members' errors on the second batch, and the mean of predictions weighted by their votes."""
    X, y = curve(60)
    rows, batch = elm.inputs(X), 20
    nodes = elm.drawn(3, 4, 0)
    found = learn_nse_regression._run(rows, y, nodes, batch, 0.5, 10.0, elm.RIDGE)
    assert found[:20] == pytest.approx([0.0, *np.cumsum(y[:19]) / np.arange(1, 20)])
    first = np.array([plain.machine(nodes[0], rows[:20], y[:20], x, elm.RIDGE) for x in rows])
    second = np.array([plain.machine(nodes[1], rows[20:40], y[20:40], x, elm.RIDGE) for x in rows])
    assert found[20:40] == pytest.approx(first[20:40], rel=1e-5)
    unit = [np.ptp(y[:20]), np.ptp(y[20:40])]
    losses = [np.minimum(1, abs(said - y[at]) / u) for said, at, u in (
        (first[:20], slice(0, 20), unit[0]), (first[20:40], slice(20, 40), unit[1]), (second[20:40], slice(20, 40), unit[1])
    )]  # fmt: skip
    weight = losses[1].mean() + (1 - losses[1].mean()) * losses[1]
    errors = [losses[0].mean(), weight @ losses[1] / weight.sum(), weight @ losses[2] / weight.sum()]
    betas = [e / (1 - e) for e in np.minimum(0.5, errors)]
    own = plain.votes(np.array(betas[:2])), plain.votes(np.array(betas[2:]))
    assert found[40:] == pytest.approx((own[0] * first[40:] + own[1] * second[40:]) / sum(own), rel=1e-5)


def test_tasks_have_their_own_order_of_methods():
    assert math.isclose(len(set(ORDER[CLASSIFICATION])), len(ORDER[CLASSIFICATION]))
    assert "OAUE" in ORDER[REGRESSION]
