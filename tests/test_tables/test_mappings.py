"""Rows as mappings: any mapping, any name, and keys that misbehave."""

import collections
import types

import numpy as np
import pandas as pd
import pytest

import driftline as dl


@pytest.fixture
def model():
    model = dl.RLS()
    rng = np.random.default_rng(0)
    for row in rng.normal(size=(20, 3)):
        model.learn_one(dict(zip("abc", row.tolist(), strict=True)), float(row.sum()))
    return model


ROW = {"a": 1.0, "b": -0.5, "c": 0.25}


@pytest.mark.parametrize(
    "wrap",
    [dict, collections.OrderedDict, collections.UserDict, types.MappingProxyType, lambda row: collections.ChainMap(row)],
)
def test_any_mapping_is_a_row(model, wrap):
    twin = dl.RLS()
    twin.__setstate__(model.__getstate__())
    assert model.predict_one(wrap(ROW)) == twin.predict_one(np.array([1.0, -0.5, 0.25]))
    model.learn_one(wrap(ROW), 1.0)
    twin.learn_one(np.array([1.0, -0.5, 0.25]), 1.0)
    assert np.array_equal(model.coef_, twin.coef_)


@pytest.mark.parametrize(
    "value", [1, True, np.float64(1), np.float32(1), np.float16(1), np.int64(1), np.uint8(1), np.bool_(True), np.array(1.0)]
)
def test_any_number_is_a_value(model, value):
    wanted = model.predict_one(ROW)
    assert model.predict_one({**ROW, "a": value}) == wanted
    assert dl.Ridge().predict_one({"a": value}) == 0.0


@pytest.mark.parametrize("names", [("a", 1, 2.5), (None, ("pair", 1), b"bytes"), (frozenset("ab"), True, "")])
def test_any_hashable_object_is_a_name(names):
    by_name, by_place = dl.RLS(), dl.RLS()
    for row in np.random.default_rng(1).normal(size=(10, 3)):
        by_name.learn_one(dict(zip(names, row.tolist(), strict=True)), float(row.sum()))
        by_place.learn_one(row, float(row.sum()))
    assert np.array_equal(by_name.coef_, by_place.coef_)
    assert by_name.feature_names_in_.tolist() == list(names)


def test_equal_names_are_one_name_even_if_they_are_different_objects(model):
    other = {"".join(["", name]): value for name, value in ROW.items()}
    later = {name.encode().decode(): value for name, value in reversed(ROW.items())}
    assert model.predict_one(other) == model.predict_one(later) == model.predict_one(ROW)


def test_a_feature_may_appear_in_the_middle_of_a_stream(model):
    before = model.predict_one(ROW)
    assert model.predict_one({**ROW, "d": 100.0}) == before
    model.learn_one({"d": 1.0, **ROW}, 1.0)
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    assert model.n_features_in_ == 4
    assert model.covariance_.shape == (5, 5)
    assert model.predict_one({"d": 1.0}) == pytest.approx(model.coef_[3] + model.intercept_, rel=1e-15)


def test_many_features_may_appear_at_once_and_one_by_one():
    together, alone = dl.Ridge(), dl.Ridge()
    rng = np.random.default_rng(2)
    for t in range(40):
        row = {f"f{j}": float(rng.normal()) for j in range(t % 17)}
        together.learn_one(row, 1.0)
        for name in row:
            if t < 17:
                alone.learn_one({name: 0.0}, 0.0, sample_weight=1e-30)
        alone.learn_one(row, 1.0)
    assert together.feature_names_in_.tolist() == alone.feature_names_in_.tolist()
    assert together.coef_ == pytest.approx(alone.coef_, rel=1e-9, abs=1e-12)


def test_names_come_from_a_frame_too(rows):
    import pandas as pd

    X, y = rows
    model = dl.RLS()
    model.run(pd.DataFrame(X, columns=list("abc")), y)
    assert model.predict_one(ROW) == model.predict_one(list(ROW.values()))
    model.learn_one({"z": 1.0}, 0.0)
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "z"]
    with pytest.raises(ValueError, match=r"RLS\.predict: .*feature names should match"):
        model.predict(pd.DataFrame(X, columns=list("abc")))


def test_mixing_mappings_and_rows_without_names_is_refused(rows):
    model = dl.RLS()
    model.run(*rows)
    with pytest.raises(ValueError, match=r"RLS\.predict_one: x is a mapping, but RLS learned from features without names"):
        model.predict_one(ROW)
    with pytest.raises(ValueError, match=r"RLS\.learn_one: x is a mapping, but RLS learned from features without names"):
        model.learn_one(ROW, 1.0)


def test_bad_values_in_a_mapping_are_named(model):
    with pytest.raises(ValueError, match=r"RLS\.learn_one: x has NaN in feature 'b'"):
        model.learn_one({**ROW, "b": float("nan")}, 1.0)
    with pytest.raises(ValueError, match=r"RLS\.predict_one: x has infinity in feature 'new'"):
        model.predict_one({**ROW, "new": float("inf")})
    with pytest.raises(ValueError, match=r"RLS\.learn_one: x\['c'\] must be a number, got 'x'"):
        model.learn_one({**ROW, "c": "x"}, 1.0)
    assert model.n_features_in_ == 3


class Vandal:
    """A key that empties the mapping when it is compared."""

    def __init__(self, mapping):
        self.mapping = mapping

    def __hash__(self):
        return hash("b")

    def __eq__(self, other):
        self.mapping.clear()
        return False


def test_keys_that_empty_the_mapping_while_it_is_read_do_no_harm(model):
    """The lookup runs the key's Python code in the middle of native code."""
    for t in range(200):
        row = {"a": t * 0.001}
        row[Vandal(row)] = t * 0.002
        row.update({f"other {j}": t * 0.003 + j for j in range(20)})
        assert np.isfinite(model.predict_one(row))


class Raises:
    def __hash__(self):
        return hash("b")

    def __eq__(self, other):
        raise LookupError("a key that cannot be compared")


def test_the_error_of_a_key_is_raised_and_changes_nothing(model):
    before = model.__getstate__()
    for act in (lambda row: model.predict_one(row), lambda row: model.learn_one(row, 1.0)):
        with pytest.raises(LookupError, match="cannot be compared"):
            act({Raises(): 1.0})
    assert dl.checks.tools.same(before, model.__getstate__())


class Nosy:
    """A key that asks the model for a prediction while the model looks it up."""

    def __init__(self, model):
        self.model, self.heard = model, []

    def __hash__(self):
        return hash("b")

    def __eq__(self, other):
        try:
            self.model.learn_one({"a": 1.0, "b": 2.0, "c": 3.0}, 1.0)
        except RuntimeError as error:
            self.heard.append(str(error))
        return False


def test_a_key_cannot_use_the_model_while_it_is_looked_up(model):
    key = Nosy(model)
    assert np.isfinite(model.predict_one({"a": 1.0, key: 2.0}))
    assert key.heard
    assert "in use" in key.heard[0]


@pytest.mark.parametrize("more", [{}, {"where": "north"}])
@pytest.mark.parametrize(
    "nan",
    [
        float("nan"),
        np.float64("nan"),
        np.datetime64("NaT"),
        pd.NA,
        ("lag", np.nan),
        (1, ("lag", np.nan)),
        frozenset([np.nan]),
    ],
)
def test_a_missing_value_is_no_name(more, nan):
    """NaN equals no other, so that every row would bring a new feature, and NA cannot be compared."""
    model = dl.RLS()
    for _ in range(2):
        with pytest.raises(ValueError, match=r"RLS\.learn_one: x has the name .*(nan|NaT|NA).*, which equals no other"):
            model.learn_one({"a": 1.0, nan: 2.0, **more}, 1.0)
        model.learn_one({"a": 1.0, **more}, 1.0)
    assert model.n_features_in_ == 1 + len(more)
    with pytest.raises(ValueError, match=r"Standardize\.learn_one: x has the name"):
        dl.features.Standardize().learn_one({nan: 2.0})
