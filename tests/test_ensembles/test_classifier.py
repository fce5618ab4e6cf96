"""The classifier: signs of a regressor, any labels, more than two classes, probabilities, and other libraries' tools."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import check_estimator

import driftline as dl
from driftline.checks import expected_failures
from driftline.checks.tools import same
from tests.streams import EVERY, WORDS, in_classes, labelled, looped, pieces, seeds, tables, told_in_another_thread


@given(tables(50, 6), st.sampled_from(["DFOP", "RLS", "AAR", "Kalman"]))
def test_for_labels_of_plus_and_minus_one_predictions_are_the_signs_of_the_regressor(table, name):
    X, codes = table[0], in_classes(table[1], 2)
    y = 2.0 * codes - 1
    regressor = EVERY[name]()
    predicted = regressor.run(X, y).predictions
    model = dl.Classifier(EVERY[name](), classes=[-1.0, 1.0])
    run = model.run(X, y)
    np.testing.assert_array_equal(run.predictions, np.where(predicted > 0, 1.0, -1.0))
    np.testing.assert_array_equal(run.errors, run.predictions != y)
    assert model.decision_one(X[0]) == regressor.predict_one(X[0])
    np.testing.assert_array_equal(model.coef_[0], regressor.coef_)
    assert model.certificate().loss == run.losses.sum() <= regressor.certificate().loss


@given(seeds, st.integers(3, 4))
def test_several_classes_are_learned_one_against_the_rest(seed, classes):
    X, codes = labelled(seed, 60, 3, classes)
    model = dl.Classifier(dl.RLS(), classes=WORDS[:classes])
    run = model.run(X, WORDS[codes])
    each = np.array([dl.RLS().run(X, np.where(codes == k, 1.0, -1.0)).predictions for k in range(classes)])
    np.testing.assert_array_equal(run.predictions, WORDS[each.argmax(axis=0)])
    alone = [dl.RLS().fit(X, np.where(codes == k, 1.0, -1.0)) for k in range(classes)]
    for k in range(classes):
        assert model.decision_one(X[0])[WORDS[k]] == pytest.approx(alone[k].predict_one(X[0]), rel=1e-12)
    assert model.predict_one(X[0]) == max(model.decision_one(X[0]), key=model.decision_one(X[0]).get)


@given(
    tables(40, 4),
    st.integers(1, 4),
    st.lists(st.integers(1, 39), max_size=3),
    st.sampled_from(["RLS", "LMS", "WEMM"]),
)
def test_run_equals_the_loop_and_a_run_in_parts(table, classes, cuts, name):
    X, codes = table[0], in_classes(table[1], classes)
    y = WORDS[codes]
    whole, parts, one = (dl.Classifier(EVERY[name]()) for _ in range(3))
    run = whole.run(X, y)
    assert run.predictions.tolist() == looped(one, X, y)
    found = [parts.run(X[piece], y[piece]).predictions.tolist() for piece in pieces(y, cuts)]
    assert [label for part in found for label in part] == run.predictions.tolist()
    assert same(one.__getstate__(), whole.__getstate__())
    assert same(parts.__getstate__(), whole.__getstate__())
    assert run.predictions[0] is None
    assert whole.n_seen_ == len(y)
    assert whole.certificate().loss == np.sum(run.predictions != y) == run.errors.sum()


def test_a_third_class_keeps_what_the_learner_of_two_classes_has_learned():
    X, codes = labelled(1, 80, 3, 2)
    later = np.append(codes, [2, 0, 1, 2])
    X = np.vstack([X, X[:4] + 1])
    model = dl.Classifier(dl.RLS())
    model.run(X, later)
    for k in (0, 1):
        alone = dl.RLS().fit(X, np.where(later == k, 1.0, -1.0))
        assert model.decision_one(X[5])[k] == pytest.approx(alone.predict_one(X[5]), rel=1e-9)
    late = dl.RLS().fit(X[80:], np.where(later[80:] == 2, 1.0, -1.0))
    assert model.decision_one(X[5])[2] == pytest.approx(late.predict_one(X[5]), rel=1e-9)


@pytest.mark.parametrize(
    ("first", "second"), [("b", "a"), (1, 0), (True, False), (1.0, -1.0), (("x", 2), ("x", 1)), ("a", 3), (0.5, 0.25)]
)
def test_labels_may_be_any_two_values(first, second):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.empty(60, dtype=object)
    y[:] = [first if x[0] > 0 else second for x in X]
    model = dl.Classifier(dl.RLS())
    run = model.run(X, y)
    assert (run.predictions[30:] == y[30:]).mean() > 0.8
    assert type(model.predict_one([3.0, 0.0])) is type(first)
    assert model.predict_one([3.0, 0.0]) == first
    assert model.predict_one([-3.0, 0.0]) == second
    last = model.classes_.tolist()[1]
    assert (model.decision_one([3.0, 0.0]) > 0) == (last == first)
    if type(first) is type(second):
        assert model.classes_.tolist() == sorted([first, second])


def test_probabilities_sum_to_one_and_agree_with_the_labels():
    for classes in (1, 2, 3, 4):
        X, codes = labelled(7, 200, 3, classes)
        model = dl.Classifier(dl.RLS()).fit(X, WORDS[codes])
        chances = model.predict_proba(X)
        assert chances.shape == (200, classes)
        assert chances.sum(axis=1) == pytest.approx(np.ones(200))
        np.testing.assert_array_equal(model.classes_[chances.argmax(axis=1)], model.predict(X))
        one = model.predict_proba_one(X[3])
        assert [one[label] for label in model.classes_] == pytest.approx(chances[3])
        decisions = model.decision_function(X)
        assert decisions.shape == ((200, classes) if classes > 2 else (200,))


def test_probabilities_are_calibrated_along_a_stream():
    """In each tenth of the probabilities, the share of the class is close to the mean probability."""
    X, y = dl.streams.Hyperplane(seed=1).take(12_000)
    model, predicted = dl.Classifier(), []
    model.run(X[:2000], y[:2000])
    for start in range(2000, 12_000, 100):
        rows = slice(start, start + 100)
        predicted.append(model.predict_proba(X[rows])[:, 1])
        model.run(X[rows], y[rows])
    chances, truth = np.concatenate(predicted), y[2000:] == model.classes_[1]
    tenths = np.minimum((10 * chances).astype(int), 9)
    gaps = [
        np.mean(tenths == k) * abs(chances[tenths == k].mean() - truth[tenths == k].mean()) for k in set(tenths.tolist())
    ]
    assert sum(gaps) < 0.03


def test_the_mistakes_are_bounded_if_the_regressors_loss_is():
    X, codes = labelled(3, 300, 4, 2)
    model = dl.Classifier(dl.AAR())
    model.run(X, codes)
    certificate = model.certificate()
    assert certificate.loss <= certificate.bound
    assert dl.Classifier(dl.AAR()).fit(X, np.arange(300) % 3).certificate().bound is None


# Copies, files and other libraries' tools.


@pytest.mark.parametrize("classes", [1, 2, 3])
def test_copies_and_loaded_models_continue_alike(classes, tmp_path):
    X, codes = labelled(1, 60, 3, classes)
    y = WORDS[codes]
    model = dl.Classifier(dl.WEMM(), missing="skip")
    model.run(X[:40], y[:40])
    model.save(tmp_path / "model")
    for twin in (pickle.loads(pickle.dumps(model)), dl.load(tmp_path / "model"), model.clone(include_attributes=True)):
        assert same(twin.__getstate__(), model.__getstate__())
        own = pickle.loads(pickle.dumps(model))
        assert twin.run(X[40:], y[40:]).predictions.tolist() == own.run(X[40:], y[40:]).predictions.tolist()
        assert same(twin.__getstate__(), own.__getstate__())
    for named in (["x", "y"], [2, 1], [False, True], np.array(["x", "y"]), (0.5, 1.5)):
        dl.Classifier(classes=named).save(tmp_path / "named")
        assert dl.load(tmp_path / "named").classes == list(named)
    odd = dl.Classifier()
    odd.learn_one([1.0], ("a", 1))
    with pytest.raises(ValueError, match="is neither text nor a number"):
        odd.save(tmp_path / "odd")


@pytest.mark.parametrize("bad", [{"known": np.array([9.0])}, {"mistakes": np.array([-1.0])}, {"known": np.zeros(2)}])
def test_an_invalid_state_is_refused(bad):
    model = dl.Classifier().fit(*labelled(1, 40, 3, 3))
    state = model.__getstate__()
    with pytest.raises(ValueError, match="state"):
        model.__setstate__({**state, "core": {**state["core"], **bad}})
    assert same(model.__getstate__(), state)


def test_parameters_of_the_regressor_take_effect_from_the_next_row_on():
    X, codes = labelled(1, 60, 3, 3)
    model, rls = dl.Classifier(dl.RLS(), classes=[0, 1, 2]), dl.RLS()
    for part, forgetting in ((slice(0, 30), 0.99), (slice(30, 60), 0.5)):
        model.set_params(learner__forgetting=forgetting)
        rls.set_params(forgetting=forgetting)
        model.run(X[part], codes[part])
        rls.run(X[part], np.where(codes[part] == 1, 1.0, -1.0))
    np.testing.assert_array_equal(model.learners_[1].coef_, rls.coef_)
    with pytest.raises(ValueError, match="cannot change"):
        model.set_params(classes=[0, 1])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "model", [dl.Classifier(), dl.Classifier(dl.RLS(missing="skip")), dl.Classifier(dl.LMS())], ids=repr
)
def test_scikit_learns_checks_fail_only_as_listed(model):
    found = check_estimator(model, on_fail=None, on_skip=None)
    failed = {result["check_name"] for result in found if result["status"] == "failed"}
    assert len(found) > 50
    assert failed == set(expected_failures(model))


def test_scikit_learn_treats_it_as_a_classifier():
    X, codes = labelled(1, 200, 3, 2)
    model = dl.Classifier(dl.Ridge())
    assert is_classifier(model)
    assert cross_val_score(model, X, WORDS[codes], cv=4).mean() > 0.6
    assert clone(model).fit(X, codes).score(X, codes) == np.mean(model.fit(X, codes).predict(X) == codes)
    part = dl.Classifier(dl.Ridge()).partial_fit(X[:50], codes[:50], classes=[0, 1])
    assert part.partial_fit(X[50:], codes[50:]).n_seen_ == 200
    with pytest.raises(ValueError, match="was not among the classes"):
        part.partial_fit(X, codes, classes=[0, 1, 2])


def test_evaluate_and_river_measure_the_accuracy():
    from river import base, evaluate, metrics

    X, codes = labelled(1, 300, 3, 2)
    result = dl.evaluate.prequential(dl.Classifier(), (X, codes))
    assert result.totals["Classifier"]["accuracy"] == 1 - dl.Classifier().run(X, codes).errors.mean()
    model = dl.Classifier()
    assert isinstance(model, base.Classifier)
    assert not isinstance(model, base.Regressor)
    assert not isinstance(dl.RLS(), base.Classifier)
    rows = [(dict(zip("abc", x, strict=True)), label) for x, label in zip(X.tolist(), WORDS[codes].tolist(), strict=True)]
    score = evaluate.progressive_val_score(rows, model, metrics.Accuracy())
    assert score.get() == pytest.approx(1 - dl.Classifier().run(X, codes).errors[1:].mean(), abs=0.01)
    yes_or_no = [(x, label == "up") for x, label in rows]
    loss = evaluate.progressive_val_score(yes_or_no, dl.Classifier(classes=[False, True]), metrics.LogLoss())
    assert loss.get() < np.log(2)


def test_a_classifier_has_weights_if_its_learner_has():
    X, codes = labelled(5, 60, 3, 3)
    for y in (codes > 1, codes):
        curved = dl.Classifier(dl.Kernel(dl.RLS(), gamma=0.5)).fit(X, y)
        with pytest.raises(AttributeError, match="Kernel: only a linear kernel has coef_"):
            _ = curved.coef_
        straight = dl.Classifier(dl.Kernel(dl.RLS(), kernel="linear")).fit(X, y)
        wanted = dl.Classifier(dl.RLS()).fit(X, y)
        np.testing.assert_allclose(straight.coef_, wanted.coef_, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(straight.intercept_, wanted.intercept_, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(
            wanted.decision_function(X), np.squeeze(X @ wanted.coef_.T + wanted.intercept_), rtol=1e-9, atol=1e-12
        )


def test_a_second_thread_is_told_that_the_model_is_in_use():
    model = dl.Classifier().fit(*labelled(1, 40, 3, 3))
    row = [1.0, 2.0, 3.0]
    errors = told_in_another_thread(model, lambda: model.predict_one(row), lambda: model.learn_one(row, 1))
    assert len(errors) == 2
    assert all("in use by another thread" in error for error in errors)
