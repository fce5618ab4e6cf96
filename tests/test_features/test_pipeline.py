"""A pipeline gives the results of transforming by hand before the learner, in every method and nesting."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from river import compose, evaluate, metrics, preprocessing
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit

import driftline as dl
from driftline.checks.tools import require_same, require_same_state
from driftline.ensembles.classifier import predict_next
from driftline.features import Lags, Polynomial, RandomFourier, Standardize, Steps, UnitNorm
from tests.reference import Array, Case, Outcome, Reference
from tests.states import replaced
from tests.streams import looped, with_ones
from tests.test_linear import test_rls as rls


def plain(X: Array, y: Array, *, intercept: bool) -> Outcome:
    """RLS on rows standardised by the mean and deviation of all rows up to and including their own (0 if it is 0)."""
    Z = np.zeros_like(X)
    for t, x in enumerate(X):
        deviation = X[: t + 1].std(axis=0)
        np.divide(x - X[: t + 1].mean(axis=0), deviation, out=Z[t], where=deviation > 0)
    return rls.plain(with_ones(Z) if intercept else Z, y)


REFERENCE = Reference(plain, [Case()])

MAKES = {
    "standardized": lambda: Standardize() | dl.RLS(),
    "autoregressive": lambda: Standardize() | Lags(y=3) | dl.Kalman(),
    "taps": lambda: Lags(x=5) | dl.NLMS(intercept=False),
    "products": lambda: Polynomial(2) | UnitNorm() | dl.AAR(),
    "fourier": lambda: RandomFourier(21, gamma=0.2) | dl.DFOP(),
    "labels_alone": lambda: Lags(y=2, x=0) | Standardize() | dl.WEMM(ridge=1e3),
    "automatic": lambda: Lags(x=2) | dl.Auto(),
}


@pytest.fixture(params=MAKES)
def make(request):
    return MAKES[request.param]


def test_a_pipeline_equals_transforming_by_hand_before_the_learner(make, rows):
    X, y = rows
    model = make()
    by_hand = model.learner.clone().run(Steps(model.parts).run(X, y), y, weights_every=10, level=0.8)
    run = model.run(X, y, weights_every=10, level=0.8)
    for name in ("predictions", "lower", "upper", "weights", "resets"):
        np.testing.assert_array_equal(getattr(run, name), getattr(by_hand, name))
    np.testing.assert_array_equal(model.coef_, run.weights[-1][: len(model.coef_)])


def test_a_run_in_blocks_equals_the_loop_to_the_last_bit(make, rows, monkeypatch):
    X, y = rows
    whole, loop = make(), make()
    monkeypatch.setattr("driftline.features.pipeline._ELEMENTS", 64)
    run = whole.run(X, y, weights_every=7)
    np.testing.assert_array_equal(run.predictions, looped(loop, X, y))
    require_same_state(whole, loop, "state")
    monkeypatch.undo()
    np.testing.assert_array_equal(make().run(X, y, weights_every=7).weights, run.weights)


def test_late_labels_enter_the_lags_in_the_order_of_learn_one(rows):
    """A row whose label is pending is not in the lags yet; the lags hold the labels that have arrived so far."""
    X, y = rows
    model, inner, late = Lags(y=2, x=2) | dl.RLS(), dl.RLS(), 3
    seen: list[tuple[np.ndarray, float]] = []

    def by_hand(x):
        labels = [0.0, 0.0, *(label for _, label in seen)]
        before = seen[-1][0] if seen else np.zeros(3)
        return np.concatenate([labels[-1:-3:-1], np.column_stack([x, before]).ravel()])

    for t in range(60):
        assert model.predict_one(X[t]) == inner.predict_one(by_hand(X[t]))
        if t >= late:
            x, label = X[t - late], float(y[t - late])
            model.learn_one(x, label)
            inner.learn_one(by_hand(x), label)
            seen.append((x, label))


def test_predict_treats_each_row_as_the_next_one(make, rows):
    X, y = rows
    model = make().fit(X, y)
    before = pickle.dumps(model)
    np.testing.assert_array_equal(predict_next(model, X[:9]), [model.predict_one(x) for x in X[:9]])
    assert pickle.dumps(model) == before


@given(seed=st.integers(0, 2**32 - 1))
def test_a_pickled_pipeline_follows_features_that_come_and_go(seed):
    rng = np.random.default_rng(seed)
    model = Standardize() | Lags(y=1, x=2) | Polynomial(2) | dl.RLS()
    twin = copy.deepcopy(model)
    for t in range(25):
        row = {f"f{j}": float(rng.normal()) for j in rng.permutation(1 + t // 5)[: 1 + rng.integers(3)]}
        label = float(rng.normal())
        assert model.predict_one(row) == twin.predict_one(row)
        model.learn_one(row, label)
        twin.learn_one(row, label)
        if t % 6 == 0:
            twin = pickle.loads(pickle.dumps(twin))
    require_same_state(model, twin, "after growing")
    assert len(model.learner_.feature_names_in_) == len(model.coef_)


def test_a_file_keeps_the_transformers(make, rows, tmp_path):
    X, y = rows
    model = make()
    model.run(X[:90], y[:90])
    model.save(tmp_path / "model")
    twin = dl.load(tmp_path / "model")
    np.testing.assert_array_equal(twin.run(X[90:], y[90:]).predictions, model.run(X[90:], y[90:]).predictions)
    require_same_state(twin, model, "after loading")


def test_a_forged_state_is_refused(rows):
    model = Standardize() | Lags(y=2) | dl.RLS()
    model.run(*rows)
    state = model.__getstate__()
    bad = {
        "t0.mean": np.full(3, np.nan),
        "t0.deviation": np.full(3, -1.0),
        "t0.weight": np.ones(4),
        "t1.labels": np.zeros(3),
        "features": np.array([1e18]),
    }
    for name, array in bad.items():
        with pytest.raises(ValueError, match="state"):
            dl.Pipeline().__setstate__({**state, "core": replaced(state["core"], name, array)})
    with pytest.raises(ValueError, match="state"):
        dl.Pipeline().__setstate__({**state, "core": {**state["core"], "features": np.array([2.0])}})


def test_a_refused_row_leaves_the_transformers_as_they_were():
    """Also if the learner refuses the transformed row, or if a product overflows."""
    for model, bad in (
        (Standardize() | Lags(y=1) | dl.WEMM(ridge=0.5, intercept=False), [1e3, 1.0]),
        (Polynomial(2) | Standardize() | dl.RLS(), [1e200, 1.0]),
        (Lags(x=2) | dl.LMS(rate=0.1), [1e308, 1e308]),
    ):
        model.learn_one([0.1, 0.2], 0.1)
        before = model.__getstate__()
        with pytest.raises(ValueError, match="Pipeline"):
            model.run([[0.1, 0.2], *[bad] * 5], np.ones(6))
        require_same(model.__getstate__(), before, "after the run")
        while True:
            before = model.__getstate__()
            try:
                model.learn_one(bad, 1.0)
            except ValueError:
                break
        require_same(model.__getstate__(), before, "after the row")


@pytest.mark.parametrize("row", [{"b": 1e200}, {"a": 1e200, "color": "blue"}], ids=["name", "text"])
def test_a_skipped_row_that_overflows_in_a_transformer_adds_no_feature(row):
    """The row itself is finite: by the time it is skipped, the model has grown and the transformers have learned it."""
    by_row, by_table = ((Polynomial(2) | Standardize() | dl.RLS(missing="skip")) for _ in range(2))
    for model in (by_row, by_table):
        for x in (0.1, 0.4, -0.2):
            model.learn_one({"a": x, "color": "red"}, 2 * x)
    before = by_row.__getstate__()
    by_row.learn_one(row, 1.0)
    require_same(by_row.__getstate__(), {**before, "skipped": 1}, "after the row")
    if row.keys() == {"a", "color"}:
        by_table.run(pd.DataFrame([row, row]), [1.0, 1.0])
        require_same(by_table.__getstate__(), {**before, "skipped": 2}, "after the table")


def test_a_row_that_overflows_between_two_transformers_is_refused(tmp_path):
    """The lags would otherwise keep the infinity and pass it to the learner one row later."""
    model = Polynomial(2) | Lags(x=[1]) | dl.RLS()
    for _ in range(2):
        before = model.__getstate__()
        with pytest.raises(ValueError, match=r"Pipeline\.learn_one: X after Polynomial has infinity in feature 1"):
            model.learn_one([1e200], 1.0)
        with pytest.raises(ValueError, match=r"Pipeline\.run: X after Polynomial has infinity in row 1, feature 1"):
            model.run([[1.0], [1e200]], [1.0, 1.0])
        require_same(model.__getstate__(), before, "after the refusals")
        model.learn_one([2.0], 1.0)
    with pytest.raises(ValueError, match=r"Pipeline\.predict_one: X after Polynomial has infinity"):
        model.predict_one([1e200])
    with pytest.raises(ValueError, match=r"Steps\.learn_one: the row leaves .* feature 1 after Polynomial"):
        (Polynomial(2) | Lags(x=[1])).learn_one([1e200])
    model.save(tmp_path / "model")
    require_same(dl.load(tmp_path / "model").__getstate__(), model.__getstate__(), "loaded")


def test_a_row_that_overflows_between_two_transformers_can_be_skipped():
    rows, y = np.array([[1.0], [1e200], [2.0], [3.0]]), np.arange(4.0)
    models = [Polynomial(2) | Lags(x=[1]) | dl.RLS(missing="skip") for _ in range(3)]
    run = models[0].run(rows, y)
    assert run.skipped == 1
    assert np.isnan(run.predictions).tolist() == [False, True, False, False]
    models[1].learn_one([1e200], 1.0)
    assert not hasattr(models[1], "n_features_in_")
    for x, label in zip(rows, y, strict=True):
        models[1].learn_one(x, label)
    models[2].run(rows[[0, 2, 3]], y[[0, 2, 3]])
    assert models[1].n_skipped_ == 2
    for model in models[:2]:
        require_same(model.__getstate__()["core"], models[2].__getstate__()["core"], "without the row")


def test_a_product_that_overflows_is_named():
    model = Polynomial(2) | dl.RLS()
    model.learn_one({"a": 1.0, "b": 2.0}, 1.0)
    with pytest.raises(ValueError, match="the transformed X has infinity in feature 'a\\^2'"):
        model.learn_one({"a": 1e200, "b": 2.0}, 1.0)
    skipping = Polynomial(2) | Lags(y=1) | dl.RLS(missing="skip")
    rows = np.array([[1.0], [1e200], [2.0], [np.nan], [3.0]])
    run = skipping.run(rows, np.arange(5.0))
    assert run.skipped == skipping.n_skipped_ == 2
    assert np.isnan(run.predictions[[1, 3]]).all()
    wanted = dl.RLS()  # features: the previous label, also if its row was skipped, and the products
    wanted.run(np.array([[0.0, 1.0, 1.0], [1.0, 2.0, 4.0], [3.0, 3.0, 9.0]]), np.array([0.0, 2.0, 4.0]))
    np.testing.assert_array_equal(skipping.coef_, wanted.coef_)


@given(
    data=st.data(),
    lags=st.lists(st.integers(1, 6), min_size=1, unique=True),
    taps=st.lists(st.integers(0, 4), min_size=1, unique=True),
)
def test_a_row_with_a_missing_value_keeps_its_place_in_the_lags(data, lags, taps):
    """Learned rows have the lags of a table in which each missing value was filled with the previous one."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    X, y = rng.uniform(-1, 1, (30, 2)), rng.uniform(-1, 1, 30)
    for row in data.draw(st.sets(st.integers(1, 29))):
        y[row] = np.nan if rng.random() < 0.7 else y[row]
        X[row] = np.nan if rng.random() < 0.3 else X[row]
    whole = np.isfinite(X).all(axis=1) & np.isfinite(y)
    filled = pd.DataFrame(np.column_stack([y, X])).ffill()
    columns = [filled[0].shift(lag, fill_value=0.0) for lag in lags]
    columns += [filled[1 + j].shift(tap, fill_value=0.0) for j in range(2) for tap in taps]
    wanted, model = dl.RLS(), Lags(y=lags, x=taps) | dl.RLS(missing="skip")
    expected = wanted.run(np.column_stack(columns)[whole], y[whole]).predictions
    assert model.run(X, y).predictions[whole].tolist() == expected.tolist()
    assert model.n_skipped_ == (~whole).sum()


def test_pipelines_are_flat_however_they_are_nested():
    parts = [Standardize(), Lags(y=2), UnitNorm()]
    a, b, c = parts
    learner = dl.RLS()
    for model in (a | b | c | learner, a | (b | (c | learner)), (a | b) | (c | learner), dl.Pipeline([a | b, c], learner)):
        assert isinstance(model, dl.Pipeline)
        assert all(one is other for one, other in zip(model.parts, parts, strict=True))
        assert model.learner is learner
    with pytest.raises(TypeError):
        a | 3


def test_nested_parameters_are_reached_by_name(rows):
    model = Standardize() | Polynomial(2) | dl.RLS()
    assert model.get_params()["transformers__1__degree"] == 2
    model.set_params(transformers__1__degree=3, learner__forgetting=0.9)
    assert (model.parts[1].degree, model.learner.forgetting) == (3, 0.9)
    model.run(*rows)
    model.set_params(learner__forgetting=0.95)
    assert model.learner_.forgetting == 0.95
    with pytest.raises(ValueError, match="cannot change"):
        model.set_params(transformers__1__degree=2)
    assert model.parts[1].degree == 3


def test_a_sweep_varies_nested_parameters(rows):
    X, y = rows
    model = Standardize() | Lags(y=1) | dl.RLS()
    found = dl.sweep(model, {"learner__forgetting": [0.9, 0.99], "learner__ridge": [1.0, 10.0]}, X, y)
    for setting, loss in zip(found.settings, found.losses, strict=True):
        assert loss == np.mean(model.clone(setting).run(X, y).losses)


def test_a_classifier_takes_transformers_outside_or_inside(rows):
    X, y = rows
    labels = np.where(y > y.mean(), "up", "down")
    before, within = Standardize() | dl.Classifier(dl.DFOP()), dl.Classifier(Standardize() | dl.DFOP())
    runs = [model.run(X, labels) for model in (before, within)]
    np.testing.assert_array_equal(runs[0].predictions, runs[1].predictions)
    assert (runs[0].predictions == labels)[50:].mean() > 0.7
    assert before.coef_.shape == (1, 3)
    regressor = Standardize() | dl.DFOP()
    decided = regressor.run(X, np.where(labels == labels[0], -1.0, 1.0)).predictions > 0
    np.testing.assert_array_equal(runs[0].predictions[1:] != labels[0], decided[1:])
    twin = pickle.loads(pickle.dumps(before))
    np.testing.assert_array_equal(twin.predict(X), before.predict(X))


def test_a_network_of_pipelines_combines_their_predictions(rows, tmp_path):
    X, y = rows
    members = [Standardize() | Lags(y=3) | dl.RLS(), dl.Ridge()]
    top = dl.AROWR(intercept=False)
    network = dl.Network(members, top=top)
    predicted = np.column_stack([member.clone().run(X, y).predictions for member in members])
    np.testing.assert_array_equal(network.run(X, y).predictions, top.clone().run(predicted, y).predictions)
    np.testing.assert_array_equal(network.coef_, network.weights_)
    network.save(tmp_path / "network")
    np.testing.assert_array_equal(dl.load(tmp_path / "network").predict(X), network.predict(X))


def test_averaged_refuses_a_pipeline_but_can_end_one(rows):
    with pytest.raises(ValueError, match=r"Standardize\(\) \| Averaged"):
        dl.Averaged(Standardize() | dl.LMS())
    X, y = rows
    model = Standardize() | dl.Averaged(dl.LMS())
    by_hand = dl.Averaged(dl.LMS()).run(Standardize().run(X), y)
    np.testing.assert_array_equal(model.run(X, y).predictions, by_hand.predictions)


def test_frames_keep_their_names(rows):
    X, y = rows
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = Lags(y=1, x=2) | dl.RLS()
    np.testing.assert_array_equal(model.run(frame, y).predictions, (Lags(y=1, x=2) | dl.RLS()).run(X, y).predictions)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert list(model.learner_.feature_names_in_) == ["y[-1]", "a", "a[-1]", "b", "b[-1]", "c", "c[-1]"]
    with pytest.raises(ValueError, match="feature names"):
        model.run(frame[["b", "a", "c"]], y)


def test_river_accepts_transformers_and_pipelines(rows):
    X, y = rows
    dicts = [(dict(zip("abc", x, strict=True)), label) for x, label in zip(X.tolist(), y.tolist(), strict=True)]
    metric = metrics.MSE()
    evaluate.progressive_val_score(dicts, Standardize() | Lags(y=2) | dl.RLS(), metric)
    np.testing.assert_allclose(metric.get(), np.mean((Standardize() | Lags(y=2) | dl.RLS()).run(X, y).losses))
    ours, theirs = (
        compose.Pipeline(scale, Polynomial(2), dl.RLS()) for scale in (Standardize(), preprocessing.StandardScaler())
    )
    for x, label in dicts:
        np.testing.assert_allclose(ours.predict_one(x), theirs.predict_one(x), rtol=1e-6, atol=1e-9)
        ours.learn_one(x, label)
        theirs.learn_one(x, label)


def test_prequential_evaluation_equals_the_run(rows):
    X, y = rows
    model = Standardize() | Lags(y=2) | dl.RLS()
    result = dl.evaluate.prequential({"ar": model}, (X, y))
    assert "ar" in str(result.table())
    assert model.n_seen_ in (0, len(y))


def test_scikit_learn_tools_accept_a_pipeline(rows):
    X, y = rows
    model = clone(Standardize() | dl.RLS())
    search = GridSearchCV(model, {"learner__forgetting": [0.9, 1.0]}, cv=TimeSeriesSplit(3)).fit(X, y)
    assert search.best_params_["learner__forgetting"] in (0.9, 1.0)


@pytest.mark.parametrize(
    "learner", [dl.NLMS(rate=0.5, eps=1e-3, intercept=False), dl.RLS(forgetting=1.0, intercept=False)], ids=repr
)
def test_taps_cancel_an_echo(learner):
    """The residual is the noise, 40 dB below the echo, and the weights are the room's impulse response."""
    rng = np.random.default_rng(3)
    far = rng.normal(size=12_000)
    room = rng.normal(size=64) * 0.9 ** np.arange(64)
    echo = np.convolve(far, room)[: len(far)]
    near = echo + 0.01 * echo.std() * rng.normal(size=len(far))
    model = Lags(x=64) | learner
    left = model.run(far[:, None], near).errors[-2000:]
    enhancement = 10 * np.log10(np.mean(near[-2000:] ** 2) / np.mean(left**2))
    assert 35 < enhancement < 41
    np.testing.assert_allclose(model.coef_, room, atol=0.02 * np.linalg.norm(room))
