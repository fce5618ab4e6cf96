"""Auto's predictions for many rows: no label comes before theirs, as in scikit-learn's ``predict`` and ``score``."""

import numpy as np
import pytest

import driftline as dl
from tests.reference import long_run as plain


def alternating(rows=1000, seed=0):
    """Labels that change sign from row to row, and two unrelated features."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((rows, 2)), 5.0 * (-1.0) ** np.arange(rows) + 0.1 * rng.standard_normal(rows)


def curved(rows, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, 2)) * [1.0, 30.0] + [0.0, 500.0]
    return X, 40.0 + np.where(X[:, 0] > 0.3, 3.0, 0.0) + 0.02 * X[:, 1] + 0.3 * rng.standard_normal(rows)


@pytest.mark.parametrize("rows", [12, 330])
def test_predictions_and_intervals_match_the_plain_version(rows):
    rng = np.random.default_rng(3)
    X = rng.integers(0, 4, (rows + 30, 2)).astype(float)  # so few values that no two splits of a node divide it alike
    y = 40.0 + np.where(X[:, 0] > 1, 3.0, 0.0) + X[:, 1] + 0.3 * rng.standard_normal(rows + 30)
    model = dl.Auto().fit(X[:rows], y[:rows])
    wanted, squares = plain.predict(X[:rows], y[:rows], X[rows:])
    np.testing.assert_allclose(model.predict(X[rows:]), wanted, rtol=1e-6)
    lower, upper = model.predict_intervals(X[rows:], 0.8)
    places = [min(int(np.ceil(0.8 * (len(fold) + 1))), len(fold)) - 1 for fold in squares]
    half = np.sqrt(max(fold[place] for fold, place in zip(squares, places, strict=True)))
    half = half if max(map(len, squares)) >= 4 else np.inf  # 0.8 / (1 - 0.8) labels
    np.testing.assert_allclose(lower, wanted - half, rtol=1e-6)
    np.testing.assert_allclose(upper, wanted + half, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_earlier_labels_count_for_the_next_row_alone(dtype):
    X, y = alternating()
    model = dl.Auto(dtype=dtype).fit(X, y)
    np.testing.assert_allclose([model.predict_one(x) for x in X[:50]], -y[-1], atol=1.0)
    assert np.abs(model.predict(X[:50])).max() < 2.0
    assert model.score(X, y) == pytest.approx(0.0, abs=0.1)


def test_a_fixed_target_is_predicted_as_by_least_squares():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((3000, 4))
    y = X @ [1.0, 2.0, -1.0, 0.5] + 3.0 + 0.1 * rng.standard_normal(3000)
    model = dl.Auto().fit(X[:2000], y[:2000])
    weights = np.linalg.lstsq(np.c_[X[:2000], np.ones(2000)], y[:2000], rcond=None)[0]
    np.testing.assert_allclose(model.predict(X[2000:]), np.c_[X[2000:], np.ones(1000)] @ weights, atol=0.05)


@pytest.mark.parametrize("name", ["auto", "network", "pipeline", "experts", "classifier"])
def test_learners_made_of_an_auto_predict_many_rows_as_it_does(name):
    X, y = alternating(300)
    model = {
        "auto": dl.Auto(),
        "network": dl.Network([dl.Auto()], top=dl.Ridge(ridge=1e-9, intercept=False)),
        "pipeline": dl.features.Standardize() | dl.Auto(),
        "experts": dl.Auto(experts=[dl.RLS()]),
        "classifier": dl.Classifier(dl.Auto()),
    }[name]
    model.fit(X, y > 0 if name == "classifier" else y)
    next_rows = np.array([model.predict_one(x) for x in X[:50]], dtype=float)
    many = model.predict(X[:50]).astype(float)
    if name == "classifier":
        assert next_rows.std() == 0 < many.std()  # the next label is certain; the others depend on the features
    else:
        assert np.abs(next_rows).min() > 4.0 > 2.5 > np.abs(many).max()
        lower, upper = model.predict_intervals(X, 0.9)
        assert np.mean((lower <= y) & (y <= upper)) > 0.85  # those of the next row would contain hardly a label


def test_a_long_stream_leaves_a_bounded_sample_that_is_the_same_in_pieces():
    X, y = curved(40_000)
    model, pieces = dl.Auto(), dl.Auto()
    model.run(X, y)
    for part in np.array_split(np.arange(40_000), 7):
        pieces.run(X[part], y[part])
    sampled = int(model.__getstate__()["core"]["shape"][2])
    assert 40_000 / 4 * 0.95 < sampled < 40_000 / 4 * 1.05  # half of the rows are dropped twice
    np.testing.assert_array_equal(model.predict(X[:100]), pieces.predict(X[:100]))
    np.testing.assert_array_equal(dl.from_bytes(model.to_bytes()).predict(X[:100]), model.predict(X[:100]))
    X_later, later = curved(2000, seed=1)
    assert model.score(X_later, later) > 1 - 1.3 * 0.09 / later.var()  # the noise has variance 0.09


def test_weights_count_and_their_scale_does_not():
    X, y = curved(400)
    weights = np.random.default_rng(5).integers(1, 4, 400).astype(float)
    found = dl.Auto().fit(X, y, sample_weight=weights).predict(X)
    np.testing.assert_allclose(dl.Auto().fit(X, y, sample_weight=1024 * weights).predict(X), found, rtol=1e-6)
    np.testing.assert_allclose(
        dl.Auto().fit(X, y, sample_weight=2.0**-400 * np.ones(400)).predict(X), dl.Auto().fit(X, y).predict(X), rtol=1e-6
    )
    assert np.abs(dl.Auto().fit(X, y).predict(X) - found).max() > 0.01


def test_units_do_not_matter():
    X, y = curved(300)
    found, ends = dl.Auto().fit(X, y).predict(X), dl.Auto().fit(X, y).predict_intervals(X)
    wide = X * [2.0**300, 2.0**-500]
    for unit in (2.0**-400, 2.0**400):
        model = dl.Auto().fit(wide, unit * y)
        np.testing.assert_array_equal(model.predict(wide) / unit, found)
        np.testing.assert_allclose(np.array(model.predict_intervals(wide)) / unit, ends, rtol=1e-9)


def test_names_and_missing_values_work_as_for_one_row():
    pandas = pytest.importorskip("pandas")
    X, y = alternating(200)
    frame = pandas.DataFrame(X, columns=["a", "b"])
    model = dl.Auto(missing="skip").fit(frame, y)
    holed = frame.copy()
    holed.iloc[3, 1] = np.nan
    found = model.predict(holed)
    assert np.isnan(found).tolist() == [row == 3 for row in range(200)]
    np.testing.assert_array_equal(np.delete(found, 3), np.delete(model.predict(frame), 3))
    with pytest.raises(ValueError, match="features"):
        dl.Auto().fit(X, y).predict(X[:, :1])


def test_a_feature_that_appears_late_was_zero_before():
    pandas = pytest.importorskip("pandas")
    X, y = curved(120)
    model = dl.Auto()
    for x, label in zip(X[:60], y[:60], strict=True):
        model.learn_one({"a": x[0]}, label)
    model.predict(pandas.DataFrame({"a": [0.0]}))  # fits what the new feature makes out of date
    for x, label in zip(X[60:], y[60:], strict=True):
        model.learn_one({"a": x[0], "b": x[1]}, label)
    wide = np.c_[X[:, 0], np.r_[np.zeros(60), X[60:, 1]]]
    found = model.predict(pandas.DataFrame(X, columns=["a", "b"]))
    np.testing.assert_array_equal(found, dl.Auto().fit(wide, y).predict(X))


def test_a_forged_sample_is_refused():
    X, y = curved(50)
    model = dl.Auto().fit(X, y)
    state = model.__getstate__()
    for change in (-1.0, 0.5, 1e9):
        shape = state["core"]["shape"].copy()
        shape[2] += change
        with pytest.raises(ValueError, match="state"):
            dl.Auto().__setstate__({**state, "core": {**state["core"], "shape": shape}})
