"""The network: compared with its nested learners, its bound, nested parameters, files and threads."""

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import driftline as dl
from driftline.checks.tools import same
from tests.reference import Array, Case, Outcome, Reference
from tests.streams import (
    EVERY,
    assert_one_way_of_learning,
    assert_same_state,
    drifting,
    seeds,
    tables,
    told_in_another_thread,
    wild,
)
from tests.test_linear import test_arcor as arcor


def plain(X: Array, y: Array) -> Outcome:
    """ARCOR without resets and with q = 1, 2, 3, 4; on top ARCOR without resets, in the unit ball."""
    copies = [arcor.plain(X, y, schedule=q) for q in (None, 1.0, 2.0, 3.0, 4.0)]
    top = arcor.plain(np.column_stack([copy.predictions for copy in copies]), y, radius=1.0, schedule=None)
    weights = sum(top.weights[:, c, None] * copy.weights for c, copy in enumerate(copies))
    return Outcome(predictions=top.predictions, weights=np.asarray(weights))


REFERENCE = Reference(plain, [Case()])

# Names of learners that take any real label.
PARTS = sorted(name for name in EVERY if "logistic" not in name)


def of_parts(model, X, y):
    """Predictions by hand: copies of the nested learners on the rows, then the top learner on their predictions."""
    copies = [clone(learner).run(X, y).predictions for learner in model.learners]
    return copies, np.column_stack(copies)


@given(
    st.lists(st.sampled_from(PARTS), min_size=1, max_size=4),
    tables(40, 6),
    st.sampled_from(["float64", "float32"]),
)
def test_a_network_equals_its_nested_learners_one_after_the_other(names, table, dtype):
    X, y = table
    model = dl.Network([EVERY[name](dtype=dtype) for name in names])
    top = dl.ARCOR(schedule=None, radius=1.0, intercept=False, dtype=dtype)
    copies, predicted = of_parts(model, X, y)
    wanted = top.run(predicted, y).predictions
    np.testing.assert_array_equal(model.run(X, y).predictions, wanted)
    for own, alone, said_by in zip(model.learners_, model.learners, copies, strict=True):
        alone = clone(alone)
        alone.run(X, y)
        np.testing.assert_array_equal(own.coef_, alone.coef_)
        assert own.certificate().loss == pytest.approx(np.sum((y - said_by) ** 2), rel=1e-9)
    np.testing.assert_array_equal(model.weights_, top.coef_)


@given(
    st.lists(st.sampled_from(PARTS), min_size=1, max_size=4),
    tables(30, 6),
    st.lists(st.integers(1, 29), max_size=3),
)
def test_run_equals_the_loop_and_a_run_in_parts(names, table, cuts):
    X, y = table
    whole, parts, looped = (dl.Network([EVERY[name]() for name in names]) for _ in range(3))
    assert_one_way_of_learning(whole, parts, looped, X, y, cuts)


def test_the_weights_are_those_of_the_combined_linear_model():
    X, y = drifting(1, 50, 3)
    model = dl.Network([dl.RLS(), dl.Kalman(intercept=False), dl.LMS()], top=dl.RLS())
    model.run(X, y)
    x = np.array([0.3, -1.0, 2.0])
    assert model.predict_one(x) == pytest.approx(model.coef_ @ x + model.intercept_, rel=1e-12)
    assert model.intercept_ != 0


@given(seeds, st.integers(1, 5), st.floats(0.1, 50), st.booleans())
def test_theorem_2_holds_and_the_certificate_matches_the_regret_module(seed, d, noise, far):
    X, y = wild(seed, 60, d, span=2.0) if far else drifting(seed, 60, d)
    patterns = [dl.Ridge(), dl.RLS(forgetting=0.7), dl.NLMS(), dl.CRRLS(period=5)]
    top = dl.ARCOR(noise=noise, schedule=None, radius=1.0, intercept=False)
    model = dl.Network(patterns, top)
    run = model.run(X, y)
    _, predicted = of_parts(model, X, y)
    wanted = dl.regret.network(predicted, y, noise=noise)
    found = model.certificate()
    best = np.square(y[:, None] - predicted).sum(axis=0).min()
    grown = np.linalg.slogdet(np.eye(4) + predicted.T @ predicted / noise)[1]
    plain = best + noise + run.losses.max() * grown
    assert found.loss == pytest.approx(run.losses.sum(), rel=1e-9)
    assert found.comparator == pytest.approx(best, rel=1e-9)
    assert found.bound == pytest.approx(plain, rel=1e-6)
    assert wanted.value == pytest.approx(plain, rel=1e-6)
    assert found.loss <= found.bound


@pytest.mark.parametrize(
    "top",
    [dl.RLS(), dl.ARCOR(radius=1.0), dl.ARCOR(schedule=None, radius=0.5, intercept=False), dl.AROWR(ridge=2.0), dl.LMS()],
)
def test_another_top_has_no_bound_and_says_why(top):
    model = dl.Network([dl.RLS(), dl.Kalman()], top=top)
    model.run(*drifting(1, 30, 2))
    certificate = model.certificate()
    assert certificate.bound is None
    assert certificate.slack is None
    assert any("on top starts at S = I" in words for words, holds in certificate.conditions.items() if not holds)


def test_a_sample_weight_other_than_1_ends_the_bound():
    model = dl.Network()
    X, y = drifting(1, 30, 2)
    model.run(X, y)
    assert model.certificate().bound is not None
    model.learn_one(X[0], y[0], sample_weight=0.5)
    assert model.certificate().bound is None
    assert model.certificate().conditions["every row has the weight 1"] is False


def test_the_defaults_are_the_papers():
    model = dl.Network()
    model.run(*drifting(1, 30, 2))
    assert [learner.schedule for learner in model.learners_] == [None, 1.0, 2.0, 3.0, 4.0]
    assert dl.Network().certificate().loss == 0.0


def test_base_estimators_are_never_trained():
    given_ones = [dl.RLS(), dl.LMS()]
    top = dl.AROWR(intercept=False)
    model = dl.Network(given_ones, top=top)
    model.run(*drifting(1, 30, 2))
    assert model.learners is given_ones
    assert [learner.n_seen_ for learner in given_ones] == [0, 0]
    assert top.n_seen_ == 0


# Nested parameters.


def test_nested_parameters_are_reached_as_in_scikit_learn():
    model = dl.Network([dl.RLS(forgetting=0.9), dl.Network([dl.LMS()])], top=dl.AROWR(noise=3.0))
    deep = model.get_params()
    assert deep["learners__0__forgetting"] == 0.9
    assert deep["learners__1__learners__0__rate"] == 0.01
    assert deep["top__noise"] == 3.0
    own = {"learners", "top", "intercept", "dtype", "missing", "low", "high", "late_rows"}
    assert set(model.get_params(deep=False)) == own
    first = model.learners[0]
    model.set_params(learners__0__forgetting=0.8, top__noise=5.0, learners__1__learners__0__rate=0.2)
    assert model.learners[0].forgetting == 0.8
    assert model.top.noise == 5.0
    assert model.learners[1].learners[0].rate == 0.2
    assert first.forgetting == 0.9  # the user's own learner is unchanged


@pytest.mark.parametrize(
    "change", [{"learners__5__rate": 1.0}, {"top__rate": 1.0}, {"learner__rate": 1.0}, {"learners__0__no": 1}, {"x": 1}]
)
def test_unknown_nested_parameters_are_refused(change):
    model = dl.Network([dl.RLS()])
    before = model.__getstate__()
    with pytest.raises(ValueError, match="has no parameter"):
        model.set_params(learners__0__forgetting=0.5, **change)
    assert same(model.__getstate__(), before)


def test_parameters_of_nested_learners_take_effect_from_the_next_row_on():
    X, y = drifting(1, 60, 2)
    model, rls = dl.Network([dl.RLS(forgetting=0.9), dl.Kalman()]), dl.RLS(forgetting=0.9)
    model.run(X[:30], y[:30])
    rls.run(X[:30], y[:30])
    model.set_params(learners__0__forgetting=0.5)
    rls.set_params(forgetting=0.5)
    model.run(X[30:], y[30:])
    rls.run(X[30:], y[30:])
    np.testing.assert_array_equal(model.learners_[0].coef_, rls.coef_)
    for refused in ({"learners__0__dtype": "float32"}, {"learners": [dl.RLS()]}, {"dtype": "float32"}):
        before = model.__getstate__()
        with pytest.raises(ValueError, match="Network"):
            model.set_params(**refused)
        assert same(model.__getstate__(), before)


def test_a_grid_search_reaches_into_the_network():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = X @ [1.0, 2.0]
    search = GridSearchCV(dl.Network([dl.Ridge()]), {"learners__0__ridge": [1e-3, 1e5]}, cv=2).fit(X, y)
    assert search.best_params_ == {"learners__0__ridge": 1e-3}


def test_learners_of_several_types_need_a_common_one():
    with pytest.raises(ValueError, match="Network: dtype is 'float32' in one learner and 'float64' in another"):
        dl.Network([dl.RLS(), dl.RLS(dtype="float32")])
    with pytest.raises(ValueError, match="Network: missing"):
        dl.Network([dl.RLS(missing="skip"), dl.RLS()])
    model = dl.Network([dl.RLS(), dl.RLS(dtype="float32")], dtype="float32")
    model.run(*drifting(1, 30, 2))
    assert {learner.dtype for learner in model.learners_} == {"float32"}
    assert dl.Network([dl.RLS(dtype="float32")]).dtype == "float32"
    assert dl.Network([dl.RLS(intercept=False)]).intercept is False
    assert dl.Network([dl.RLS(intercept=False)]).get_params()["intercept"] is None


@pytest.mark.parametrize(
    "bad", [[], 1.0, "RLS", [dl.RLS], [1.0], {"a": dl.RLS()}, dl.RLS(), [dl.RLS(), None], [dl.SparseDFOP()]]
)
def test_learners_must_be_a_list_of_learners(bad):
    with pytest.raises(ValueError, match="Network: learners must be None or a list of learners"):
        dl.Network(bad)
    with pytest.raises(ValueError, match="Network: top must be"):
        dl.Network([dl.RLS()], top=[dl.RLS()])


def test_too_many_positional_parameters_are_refused():
    with pytest.raises(TypeError, match="Network takes learners, top by position"):
        dl.Network([dl.RLS()], dl.AROWR(), True)
    with pytest.raises(TypeError, match="Network takes learners, top by position"):
        dl.Network([dl.RLS()], learners=[dl.RLS()])
    with pytest.raises(TypeError, match="RLS takes its parameters by keyword"):
        dl.RLS(0.9)


# Failure, files and threads.


@pytest.mark.parametrize("way", ["run", "learn_one"])
@pytest.mark.parametrize("others", [[], [dl.WEMM(), dl.GD(rate=9.0)]], ids=["one may refuse", "several may refuse"])
def test_a_row_that_one_nested_learner_refuses_is_learned_by_none(way, others):
    model = dl.Network([dl.RLS(), dl.LMS(rate=50.0), *others])
    X, y = drifting(3, 5, 2)
    model.run(X, y)
    before = []

    def one_by_one(X, y):
        for x, label in zip(X, y, strict=True):
            before.append(model.__getstate__())
            model.learn_one(x, label)

    before.append(model.__getstate__())
    teach = model.run if way == "run" else one_by_one
    with pytest.raises(ValueError, match="Network"):
        teach(np.tile(X, (400, 1)) * 100, np.tile(y, 400))
    assert same(model.__getstate__(), before[-1])


@pytest.mark.parametrize("tells", [False, True])
def test_a_nested_learner_that_extends_its_schedule_still_learns_the_row(tells):
    """Its table of thresholds ends after 4,096 resets, one a row here, when the learner before it has learned the row."""
    X, y = drifting(0, 4096, 2)
    parts = [dl.RLS(), dl.SecondOrder(reset=dl.Below([10.0]))]
    model = dl.Network(parts)
    model.run(X[:-1], y[:-1])
    if tells:
        model.tell(model.ask(X[-1]), y[-1])
    else:
        model.learn_one(X[-1], y[-1])
    for part, alone in zip(model.learners_, parts, strict=True):
        alone.run(X, y)
        np.testing.assert_array_equal(part.coef_, alone.coef_)


def test_a_saved_network_keeps_its_nested_learners(tmp_path):
    model = dl.Network([dl.RLS(forgetting=[0.9, 0.8]), dl.GD(loss=dl.losses.Huber(2.0)), dl.Network()], dl.AROWR(noise=2.0))
    X, y = drifting(1, 40, 3)
    model.run(X, y)
    path = tmp_path / "network"
    model.save(path)
    twin = dl.load(path)
    assert_same_state(twin, model)
    np.testing.assert_array_equal(twin.run(X, y).predictions, model.run(X, y).predictions)
    with pytest.raises(ValueError, match=r"Network\.save: learners__0__forgetting is a function"):
        dl.Network([dl.RLS(forgetting=lambda t: 0.9)]).save(path)


@pytest.mark.parametrize("change", ["drop", "shape", "width"])
def test_a_state_with_an_invalid_nested_learner_is_refused(change):
    model = dl.Network([dl.RLS(), dl.WEMM()])
    model.run(*drifting(1, 40, 3))
    state = model.__getstate__()
    core = dict(state["core"])
    if change == "drop":
        del core["1"]
    elif change == "shape":
        core["0"]["core"]["weights"] = core["0"]["core"]["weights"][:-1]
    else:
        core["weights"] = np.append(core["weights"], 1.0)
    with pytest.raises(ValueError, match="state"):
        dl.Network([dl.RLS(), dl.WEMM()]).__setstate__({**state, "core": core})


def test_threads_do_not_change_the_results(monkeypatch):
    X, y = drifting(1, 3000, 8)
    threaded, serial = dl.Network(), dl.Network()
    monkeypatch.setattr("driftline.base.composite._WORTH_THREADS", 0)
    run = threaded.run(X, y)
    monkeypatch.setattr("driftline.base.composite._WORTH_THREADS", 2**62)
    np.testing.assert_array_equal(serial.run(X, y).predictions, run.predictions)
    assert_same_state(serial, threaded)


def test_a_second_thread_is_told_that_the_model_is_in_use():
    X, y = drifting(1, 10, 2)
    model = dl.Network()
    model.run(X, y)
    before = copy.deepcopy(model)
    errors = told_in_another_thread(
        model, lambda: model.predict_one(X[0]), lambda: model.learn_one(X[0], 1.0), lambda: model.run(X, y)
    )
    assert len(errors) == 3
    assert all("in use by another thread" in error for error in errors)
    assert_same_state(model, before)
    model.learn_one(X[0], 1.0)


def test_intervals_are_those_of_the_top_learner():
    X, y = drifting(5, 3000, 4, step=0.003)
    run = dl.Network().run(X, y, level=0.8)
    assert abs(np.mean((run.lower <= y) & (y <= run.upper)) - 0.8) < 0.03


def test_evaluation_treats_a_network_of_regressors_as_a_regressor():
    X, y = drifting(5, 300, 4)
    result = dl.evaluate.prequential(dl.Network([dl.RLS(), dl.Kalman()]), (X, y))
    assert result.totals["Network"]["mse"] == pytest.approx(np.mean(dl.Network([dl.RLS(), dl.Kalman()]).run(X, y).losses))


def test_a_refused_change_of_one_part_leaves_the_others_as_they_were():
    X, y = drifting(1, 60, 2)
    model, untouched = (dl.Network([dl.RLS(forgetting=0.9), dl.RLS(forgetting=0.95)]) for _ in range(2))
    model.run(X[:30], y[:30])
    untouched.run(X[:30], y[:30])
    with pytest.raises(ValueError, match="cannot change once the learner has learned"):
        model.set_params(learners__0__forgetting=0.3, learners__1__keep_prior=True)
    assert [learner.get_params() for learner in model.learners_] == [learner.get_params() for learner in untouched.learners_]
    assert model.learners_[0].certificate().events == {}
    np.testing.assert_array_equal(model.run(X[30:], y[30:]).predictions, untouched.run(X[30:], y[30:]).predictions)
