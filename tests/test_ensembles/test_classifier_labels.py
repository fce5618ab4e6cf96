"""Inputs of a classifier: incomplete rows, labels of every kind and missing ones, and invalid states."""

import pickle
from decimal import Decimal

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import driftline as dl
from driftline.checks.tools import same
from driftline.features import Polynomial
from tests.streams import WORDS, assert_same_state, labelled


def test_missing_values_and_labels_are_skipped_or_refused():
    X, codes = labelled(1, 40, 3, 3)
    y = WORDS[codes].astype(object)
    y[5] = None
    X[7, 1] = np.nan
    whole = np.array([t not in (5, 7) for t in range(40)])
    skipping, wanted = dl.Classifier(dl.RLS(missing="skip")), dl.Classifier(dl.RLS(missing="skip"))
    run = skipping.run(X, y)
    assert run.skipped == skipping.n_skipped_ == 2
    assert run.predictions[7] is None
    assert run.predictions[whole].tolist() == wanted.run(X[whole], y[whole]).predictions.tolist()
    assert same(skipping.__getstate__()["core"], wanted.__getstate__()["core"])
    strict = dl.Classifier(dl.RLS())
    before = strict.__getstate__()
    for rows in (slice(0, 7), slice(6, 10)):
        with pytest.raises(ValueError, match=r"Classifier\.run.*row [51]"):
            strict.run(X[rows], y[rows])
        assert same(strict.__getstate__(), before)
    for missing in (None, np.nan):
        with pytest.raises(ValueError, match=r"Classifier\.learn_one: y is NaN"):
            strict.learn_one(X[0], missing)
    with pytest.raises(TypeError, match="can be hashed"):
        strict.learn_one(X[0], [1, 2])
    assert same(strict.__getstate__(), before)


def test_rows_of_weight_zero_leave_no_trace():
    X, codes = labelled(1, 40, 3, 3)
    weight = (np.arange(40) % 3 > 0).astype(float)
    weighted, wanted, one = dl.Classifier(dl.RLS()), dl.Classifier(dl.RLS()), dl.Classifier(dl.RLS())
    weighted.run(X, codes, sample_weight=weight)
    wanted.run(X[weight > 0], codes[weight > 0])
    for x, code, w in zip(X, codes.tolist(), weight.tolist(), strict=True):
        one.learn_one(x, code, sample_weight=w)
    assert_same_state(weighted, wanted)
    assert_same_state(one, wanted)


def test_mappings_grow_the_model():
    model = dl.Classifier(dl.RLS())
    rng = np.random.default_rng(0)
    for t in range(90):
        x = {"a": rng.normal()} if t < 30 else {"a": rng.normal(), "b": rng.normal()}
        model.learn_one(x, "big" if sum(x.values()) > 0 else "small" if t < 60 or x["a"] > -1 else "tiny")
    assert list(model.feature_names_in_) == ["a", "b"]
    assert model.coef_.shape == (3, 2)
    assert model.predict_one({"a": 2.0, "b": 1.0, "unknown": 9.0}) == "big"
    assert model.predict_proba_one({"b": 3.0})["big"] > 0.5


def test_invalid_labels_and_options_of_regressors_are_refused():
    X, codes = labelled(1, 40, 3, 2)
    model = dl.Classifier().fit(X, codes)
    with pytest.raises(ValueError, match=r"Classifier\.run: class labels have no interval"):
        model.run(X, codes, level=0.9)
    with pytest.raises(ValueError, match="class labels have no interval"):
        model.predict_interval(X[0])
    with pytest.raises(ValueError, match="weights_every needs a regressor"):
        model.run(X, codes, weights_every=1)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        model.run(X, np.linspace(0, 1, 40))
    with pytest.raises(ValueError, match="infinity"):
        model.run(X, np.full(40, np.inf))
    with pytest.raises(ValueError, match="X has 40 rows, y has 39"):
        model.run(X, codes[1:])
    for bad in (["a"], ["a", "a"], "ab", 3, ["a", None]):
        with pytest.raises(ValueError, match="Classifier: classes must be None or a list"):
            dl.Classifier(classes=bad)
    with pytest.raises(ValueError, match="Classifier: learner must be"):
        dl.Classifier(dl.Classifier())
    for ask in (
        lambda: dl.Classifier().classes_,
        lambda: dl.Classifier().predict(X),
        lambda: dl.Classifier().predict_proba(X),
    ):
        with pytest.raises(NotFittedError):
            ask()


def test_a_run_that_fails_half_way_forgets_new_classes_too():
    X, codes = labelled(1, 40, 3, 2)
    model = dl.Classifier(dl.LMS(rate=0.1)).fit(X, codes)
    before = model.__getstate__()
    bad = X.copy()
    bad[30, 0] = np.inf
    with pytest.raises(ValueError, match="row 30"):
        model.run(bad, np.append(codes[:20], np.full(20, 5)))
    assert same(model.__getstate__(), before)
    assert model.classes_.tolist() == [0, 1]


@pytest.mark.parametrize("known", [None, ["a", "b", "c"]])
def test_a_skipped_row_is_not_a_mistake(known):
    """The errors sum to the certificate's loss; a row before the first class is known is a mistake."""
    X, codes = labelled(3, 60, 2, 3)
    y = np.array(["a", "b", "c"])[codes]
    X[[0, 7, 30]] = np.nan
    model = dl.Classifier(missing="skip", classes=known)
    run = model.run(X, y)
    assert np.isnan(run.errors).nonzero()[0].tolist() == [0, 7, 30]
    assert run.errors[1] == (known is None or y[1] != "a")
    assert np.nansum(run.errors) == model.certificate().loss
    result = dl.evaluate.prequential(dl.Classifier(missing="skip", classes=known), (X, y))
    assert result.totals["Classifier"]["accuracy"] == pytest.approx(1 - np.nanmean(run.errors), rel=1e-12)
    assert result.skipped["Classifier"] == 3


def test_a_row_that_a_transformer_makes_infinite_is_skipped_and_not_a_mistake():
    model = Polynomial(2) | dl.Classifier(dl.RLS(missing="skip"))
    run = model.run([[1.0], [1e200], [2.0], [1e200]], ["a", "b", "a", "a"])
    assert run.errors[[0, 2]].tolist() == [1.0, 0.0]
    assert np.isnan(run.errors[[1, 3]]).all()
    assert model.certificate().loss == 1
    assert run.skipped == 2


def test_missing_labels_are_skipped_alike_by_run_and_learn_one():
    pandas = pytest.importorskip("pandas")
    X = np.arange(8.0).reshape(4, 2)
    for label, missing, dtype in (
        ("a", pandas.NA, "string"),
        (True, pandas.NA, "boolean"),
        (1, pandas.NA, "Int64"),
        ("a", None, object),
        ("a", np.nan, object),
        (pandas.Timestamp(0), pandas.NaT, object),
        (1.0, np.nan, "float64"),
        (Decimal(1), Decimal("NaN"), object),
    ):
        model, single = dl.Classifier(missing="skip"), dl.Classifier(missing="skip")
        labels = pandas.Series([label, missing, label, label], dtype=dtype)
        run = model.run(X, labels)
        assert run.skipped == 1
        assert np.isnan(run.errors).tolist() == [False, True, False, False]
        assert model.classes_.tolist() == [label]
        for x, y in zip(X, [label, missing, label, label], strict=True):
            single.learn_one(x, y)
        assert_same_state(single, model)
        with pytest.raises(ValueError, match=r"Classifier\.learn_one: y is NaN"):
            dl.Classifier().learn_one([1.0], missing)
        scores = dl.evaluate.prequential(
            dl.Classifier(missing="skip"),
            (X, pandas.Series([label, missing, label, label], dtype=dtype)),
            metrics="accuracy",
        )
        assert scores.totals["Classifier"]["accuracy"] == pytest.approx(2 / 3)


@pytest.mark.parametrize("label", [np.inf, -np.inf, np.float32(np.inf), Decimal("Infinity")])
def test_infinity_is_not_a_label(label):
    for call in (lambda: dl.Classifier().learn_one([1.0], label), lambda: dl.Classifier().run([[1.0]], [label])):
        with pytest.raises(ValueError, match="infinity"):
            call()
    with pytest.raises(ValueError, match="classes must be"):
        dl.Classifier(classes=[0.0, label])


def test_classes_set_after_pickling_take_effect():
    model = dl.Classifier()
    pickle.dumps(model)
    model.set_params(classes=["down", "up"])
    assert model.predict_one([1.0]) == "down"
    pickle.dumps(model)
    model.classes = None
    assert model.predict_one([1.0]) is None


def test_a_state_whose_labels_differ_from_its_classes_is_refused():
    model = dl.Classifier(classes=["down", "up"])
    fresh = model.__getstate__()
    model.learn_one([1.0], "none")
    learned = model.__getstate__()
    wrong = [(fresh, []), (fresh, ["down"]), (fresh, ["up", "down"]), (fresh, ["down", "up", "none"])]
    wrong += [(learned, ["up", "down", "none"]), (learned, ["down", "far", "none"])]
    for state, labels in wrong:
        with pytest.raises(ValueError, match="labels are not those that its parameters name"):
            dl.Classifier().__setstate__({**state, "labels": labels})
