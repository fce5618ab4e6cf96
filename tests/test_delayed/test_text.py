"""Forecasters of rows with text and times."""

import pickle

import numpy as np
import pandas as pd
import pytest

import driftline as dl
from driftline.features import Standardize

ROWS = 300


def frame(rows=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    shop = rng.choice(["north", "south"], size=rows).astype(object)
    shop[rows // 2 :][rng.random(rows - rows // 2) < 0.3] = "harbour"
    when = pd.Timestamp("2024-03-01") + pd.to_timedelta(np.arange(rows), "h")
    X = pd.DataFrame({"price": rng.normal(size=rows), "shop": shop, "when": when})
    y = 2.0 * (shop == "south") - 4.0 * (shop == "harbour") + X["price"].to_numpy() + 0.1 * rng.normal(size=rows)
    return X, np.asarray(y, dtype=float)


def numbers(X):
    """The same rows as numbers, written out by hand."""
    hours = X["when"].dt.hour.to_numpy() + 24 * X["when"].dt.day_of_week.to_numpy()
    days = X["when"].dt.day_of_year.to_numpy() - 1 + X["when"].dt.hour.to_numpy() / 24
    found = {"price": X["price"]} | {
        f"shop={name}": (X["shop"] == name).astype(float) for name in ("north", "south", "harbour")
    }
    for name, cycles in (("day", hours / 24), ("half-day", hours / 12), ("week", hours / 168), ("year", days / 366)):
        found |= {f"{name} sin": np.sin(2 * np.pi * cycles), f"{name} cos": np.cos(2 * np.pi * cycles)}
    return pd.DataFrame(found | {"weekend": (X["when"].dt.day_of_week >= 5).astype(float)})


@pytest.mark.parametrize("known", [None, ["shop", "when"]], ids=["all known ahead", "some known ahead"])
def test_text_and_times_equal_features_written_by_hand(known):
    """Ridge does not forget, so a feature that appears later equals one that was 0 from the first row on."""
    X, y = frame()
    forecaster = dl.Forecaster(dl.Ridge(), steps=3, known=known)
    run = forecaster.run(X, y, level=0.9)
    by_hand = numbers(X)
    features = None if known is None else [name for name in by_hand.columns if name != "price"]
    expected = dl.Forecaster(dl.Ridge(), steps=3, known=features)
    other = expected.run(by_hand, y, level=0.9)
    learned = np.zeros((len(X), 3), dtype=bool)  # before, a shop counts as the average of the others
    for step in (1, 2, 3):
        begin = 0 if known is None else step  # the first row with an origin
        for shop in X["shop"].unique():
            first = begin + int((X["shop"] == shop).to_numpy()[begin:].argmax())
            learned[first + step :, step - 1] |= (X["shop"] == shop).to_numpy()[first + step :]
    np.testing.assert_allclose(run.predictions[learned], other.predictions[learned], rtol=1e-7, atol=1e-7)
    finite = np.isfinite(run.upper)
    assert np.array_equal(finite, np.isfinite(other.upper))
    centres = (run.lower[finite] + run.upper[finite]) / 2
    np.testing.assert_allclose(centres, run.predictions[finite], rtol=1e-7, atol=1e-7)
    assert run.uninformed.tolist() == other.uninformed.tolist()
    assert forecaster.known == known
    ahead, _ = frame(ROWS + 3)
    ahead = ahead.iloc[-3:].assign(shop=["harbour", "north", "south"])
    predicted = forecaster.forecast(ahead if known is None else ahead[known])
    np.testing.assert_allclose(predicted.predictions, expected.forecast(numbers(ahead)).predictions, rtol=1e-7)
    rows = ahead.to_dict("records")
    np.testing.assert_array_equal(forecaster.forecast(rows).predictions, predicted.predictions)


@pytest.mark.parametrize("learner", [dl.RLS(forgetting=0.98), dl.Auto()], ids=["RLS", "Auto"])
def test_a_run_equals_a_loop_over_single_rows(learner):
    X, y = frame(121)
    whole, loop, cut = (dl.Forecaster(learner.clone(), steps=2) for _ in range(3))
    whole.run(X, y)
    for x, label in zip(X.to_dict("records"), y, strict=True):
        loop.learn_one(x, label)
    cut.run(X[:50], y[:50])
    cut.run(X[50:], y[50:])
    ahead = frame(122)[0].iloc[-2:]
    predicted = whole.forecast(ahead).predictions
    np.testing.assert_array_equal(loop.forecast(ahead).predictions, predicted)
    np.testing.assert_array_equal(cut.forecast(ahead).predictions, predicted)


@pytest.mark.parametrize(
    "keep", [lambda f: pickle.loads(pickle.dumps(f)), lambda f: dl.from_bytes(f.to_bytes())], ids=["pickle", "file"]
)
def test_a_saved_forecaster_resumes(keep):
    X, y = frame()
    first = dl.Forecaster(dl.RLS(), steps=2, known=["shop", "when"])
    first.run(X[:200], y[:200])
    second = keep(first)
    assert second.known == first.known == ["shop", "when"]
    assert repr(second) == repr(first)
    runs = [forecaster.run(X[200:], y[200:]) for forecaster in (first, second)]
    np.testing.assert_array_equal(runs[0].predictions, runs[1].predictions)
    assert second.clone().known == ["shop", "when"]


def test_columns_that_differ_from_earlier_rows_are_refused_and_nothing_changes():
    X, y = frame()
    forecaster = dl.Forecaster(dl.RLS(), steps=2)
    forecaster.run(X[["price"]], y)
    before = forecaster.to_bytes()
    with pytest.raises(ValueError, match=r"differ from those of the first row: new 'shop', 'when'$"):
        forecaster.run(X, y)
    assert forecaster.to_bytes() == before
    forecaster = dl.Forecaster(dl.RLS(), steps=2)
    forecaster.run(X, y)
    before = forecaster.to_bytes()
    with pytest.raises(ValueError, match=r"^Forecaster\.run: column 'shop' must hold text, as before, but holds a number"):
        forecaster.run(X.assign(shop=1.0), y)
    with pytest.raises(ValueError, match="rows must have feature names: earlier rows held text or times"):
        forecaster.run(np.ones((3, 3)), np.ones(3))
    with pytest.raises(ValueError, match="X_next must be a frame or a list of mappings"):
        forecaster.forecast(np.ones((1, 3)))
    with pytest.raises(ValueError, match="row 1 of X_next has no value for 'shop', which must be known ahead"):
        forecaster.forecast([X.iloc[0].to_dict(), {**X.iloc[0].to_dict(), "shop": None}])
    with pytest.raises(ValueError, match="the known feature 'shops' is not among those of the row"):
        dl.Forecaster(dl.RLS(), steps=2, known=["shops"]).run(X, y)
    assert forecaster.to_bytes() == before


def test_missing_values_are_refused_or_skipped():
    X, y = frame()
    X.loc[[0, 7], "shop"] = None
    with pytest.raises(ValueError, match="row 0, feature 'shop'"):
        dl.Forecaster(dl.RLS(), steps=2).run(X, y)
    run = dl.Forecaster(dl.RLS(missing="skip"), steps=2).run(X, y)
    assert np.isnan(run.predictions[7]).all()
    whole = dl.Forecaster(dl.RLS(missing="skip"), steps=2).run(
        X.assign(price=np.where(X["shop"].isna(), np.nan, X["price"]), shop=X["shop"].fillna("north")), y
    )
    np.testing.assert_allclose(run.predictions, whole.predictions, rtol=1e-9)


@pytest.mark.parametrize("known", [None, ["shop", "when"]], ids=["all known ahead", "some known ahead"])
@pytest.mark.parametrize("make", [dl.RLS, dl.NLMS, dl.Auto], ids=lambda make: make.__name__)
def test_rows_with_text_are_filled_in_as_by_the_learner(make, known):
    """At one step ahead, each row is learned before the next, so the learner alone gives the same predictions."""
    X, y = frame(121)
    X.loc[::7, "price"] = np.nan
    rows = X.to_dict("records")
    forecaster, alone = dl.Forecaster(make(missing="mean"), steps=2, known=known, smoothing=False), make(missing="mean")
    predictions = []
    for x, label in zip(rows, y, strict=True):
        predictions.append(alone.predict_one(x))
        alone.learn_one(x, label)
        forecaster.learn_one(x, label)
    whole = dl.Forecaster(make(missing="mean"), steps=2, known=known, smoothing=False)
    run = whole.run(X, y)
    assert whole.to_bytes() == forecaster.to_bytes()
    if known is None:
        assert run.predictions[:, 0] == pytest.approx(predictions, rel=1e-6, abs=1e-6)
    assert np.isfinite(forecaster.forecast(rows[1:3]).predictions).all()


def test_no_column_needs_to_be_known_ahead():
    forecaster = dl.Forecaster(dl.RLS(), steps=2, known=[])
    for t in range(10):
        forecaster.learn_one({"size": float(t), "shop": "north" if t % 2 else "south"}, float(t))
    forecast, ignored = forecaster.forecast([{}, {}]), {"size": 5.0, "shop": "west"}
    assert len(forecast.predictions) == 2
    assert np.array_equal(forecaster.forecast([ignored, ignored]).predictions, forecast.predictions)
    assert np.array_equal(forecaster.forecast(pd.DataFrame(index=range(2))).predictions, forecast.predictions)


@pytest.mark.parametrize("make", [dl.RLS, dl.Auto, lambda: Standardize() | dl.RLS()], ids=["RLS", "Auto", "pipeline"])
def test_a_ticket_without_text_is_told_to_a_model_that_has_met_text_since(make):
    """Its new feature must enter the columns too: the model is saved with them, and reads later rows by them."""
    model = make()
    ticket = model.ask({"a": 1.0, "b": 2.0})
    model.learn_one({"a": 1.0, "where": "north"}, 1.0)
    model.tell(ticket, 2.0)
    again = dl.from_bytes(model.to_bytes())
    row = {"a": 1.0, "b": 5.0, "where": "north"}
    assert again.predict_one(row) == model.predict_one(row)
    model.learn_one(row, 3.0)
    assert {"a", "b", "where=north"} <= set(model.feature_names_in_)
