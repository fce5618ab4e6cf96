from __future__ import annotations

import numpy as np
import pytest

import driftline as dl
from driftline import evaluate
from tests.cases import for_each
from tests.test_evaluate import naive


@pytest.fixture
def rows():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(2500, 4))
    y = X @ [1.0, -2.0, 0.5, 0.0] + 3.0 + 0.3 * rng.normal(size=2500)
    y[1200:] += 2.0 * X[1200:, 3]
    return X, y


@for_each("kind", ["cumulative", "window", "fading"])
@pytest.mark.parametrize("metric", ["mse", "rmse", "mae", "r2", "accuracy"])
def test_curves_match_the_definitions_of_the_metrics(rows, metric, kind):
    X, y = rows
    settings = {"window": 300, "fading": 0.99}
    result = evaluate.prequential(dl.RLS(), (X, y), metrics=metric, points=40, **settings)
    p = dl.RLS().run(X, y).predictions
    curve = result.curve("RLS", metric, kind)
    expected = [naive.value(metric, kind, y, p, row - 1, **settings) for row in curve.rows]
    np.testing.assert_allclose(curve.values, expected, rtol=1e-9)
    assert curve.rows[-1] == 2500


def test_totals_match_those_of_run(rows):
    X, y = rows
    run = dl.Kalman().run(X, y)
    result = evaluate.prequential(dl.Kalman(), (X, y), metrics=["mse", "mae", "r2"])
    total = result.totals["Kalman"]
    np.testing.assert_allclose(result.loss["Kalman"], run.losses.sum(), rtol=1e-12)
    np.testing.assert_allclose(total["mse"], run.losses.mean(), rtol=1e-12)
    np.testing.assert_allclose(total["mae"], np.abs(run.errors).mean(), rtol=1e-12)
    np.testing.assert_allclose(total["r2"], 1 - run.losses.sum() / ((y - y.mean()) ** 2).sum(), rtol=1e-12)


def test_the_learner_has_learned_the_stream(rows):
    model, other = dl.RLS(), dl.RLS()
    evaluate.prequential(model, rows)
    other.run(*rows)
    assert model.n_seen_ == 2500
    assert model.coef_.tolist() == other.coef_.tolist()


def test_long_arrays_are_run_in_blocks_with_the_same_predictions():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150_000, 2)), rng.normal(size=150_000)
    result = evaluate.prequential(dl.RLS(), (X, y), keep_predictions=True)
    assert result.predictions["RLS"].tolist() == dl.RLS().run(X, y).predictions.tolist()
    assert len(result.curve("RLS").rows) <= 1001


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_r2_keeps_its_digits_far_from_zero(offset):
    y = offset + np.random.default_rng(0).integers(-4, 5, size=5000)
    p = y + np.where(np.arange(5000) % 2, 1.0, -1.0)
    result = evaluate.score(y, p, metrics="r2")
    spread = (y - offset) - (y - offset).mean()
    np.testing.assert_allclose(result.totals["predictions"]["r2"], 1 - 5000 / (spread**2).sum(), rtol=1e-9)


@pytest.mark.parametrize("level", [1e5, 1e7, 1e9])
def test_r2_keeps_its_digits_when_the_level_moves(level):
    """scikit-learn's r2_score passes over the rows twice; here they are gone."""
    from sklearn.metrics import r2_score

    rng = np.random.default_rng(0)
    y = rng.normal(size=4000)
    y[1000:] += level
    p = y + 0.3 * rng.normal(size=4000)
    result = evaluate.score(y, p, metrics="r2", window=500, fading=0.5)
    assert result.last("window")["predictions"]["r2"] == pytest.approx(r2_score(y[-500:], p[-500:]), rel=1e-6)
    assert result.totals["predictions"]["r2"] == pytest.approx(r2_score(y, p), rel=1e-9)
    faded = r2_score(y[-60:], p[-60:], sample_weight=0.5 ** np.arange(59, -1, -1))
    assert result.last("fading")["predictions"]["r2"] == pytest.approx(faded, rel=1e-6)
    level_alone = np.where(np.arange(4000) < 1000, 0.0, level)
    constant = evaluate.score(level_alone, level_alone + 1.0, metrics="r2", window=500)
    assert constant.last("window")["predictions"]["r2"] == 0.0


def test_r2_of_constant_labels_is_1_or_0_and_of_one_row_undefined():
    result = evaluate.score(np.full(10, 0.1), np.full(10, 0.1), metrics="r2", points=None)
    values = result.curve("predictions").values
    assert np.isnan(values[0])
    assert values[1:].tolist() == [1.0] * 9
    assert evaluate.score(np.full(10, 0.1), np.zeros(10), metrics="r2").totals["predictions"]["r2"] == 0.0


@pytest.mark.parametrize("delay", [0, 1, 3])
def test_late_labels_match_a_computation_by_hand(delay):
    """A learner that predicts the last label it was taught: row t is predicted by the label of row t - delay - 1."""

    class Last:
        label = -1.0

        def predict_one(self, x):
            return self.label

        def learn_one(self, x, y):
            assert x[0] == y
            self.label = y

    y = np.arange(10.0)
    learner = Last()
    result = evaluate.prequential({"last": learner}, (y[:, None], y), delay=delay, keep_predictions=True)
    expected = [-1.0] * (delay + 1) + list(range(10 - delay - 1))
    assert result.predictions["last"].tolist() == expected
    assert learner.label == 9.0  # late labels arrive after the last row


def test_late_labels_equal_the_plain_loop(rows):
    X, y = rows
    model, expected = dl.RLS(), []
    for t in range(len(y)):
        if t > 7:
            model.learn_one(X[t - 8], y[t - 8])
        expected.append(model.predict_one(X[t]))
    result = evaluate.prequential(dl.RLS(), (X, y), delay=7, keep_predictions=True)
    assert result.predictions["RLS"].tolist() == expected
    assert result.delay == 7


def test_with_a_delay_longer_than_the_stream_no_label_is_used(rows):
    model = dl.RLS()
    result = evaluate.prequential(model, rows, rows=50, delay=100, keep_predictions=True)
    assert not result.predictions["RLS"].any()
    assert model.n_seen_ == 50


def test_late_rows_are_kept_even_if_their_memory_is_reused():
    memory = np.empty((10, 1))

    def stream():
        for start in range(0, 100, 10):
            memory[:, 0] = np.arange(start, start + 10)
            yield memory, 2.0 * memory[:, 0]

    X = np.arange(100.0)[:, None]
    late = evaluate.prequential(dl.RLS(), stream(), delay=13, keep_predictions=True)
    whole = evaluate.prequential(dl.RLS(), (X, 2.0 * X[:, 0]), delay=13, keep_predictions=True)
    assert late.predictions["RLS"].tolist() == whole.predictions["RLS"].tolist()


def test_several_learners_may_be_given_by_name(rows):
    result = evaluate.prequential([dl.RLS(), dl.Ridge(), dl.RLS(forgetting=0.9)], rows)
    assert result.learners == ["RLS", "Ridge", "RLS 2"]
    assert result.totals["RLS 2"]["mse"] < result.totals["Ridge"]["mse"]
    named = evaluate.prequential({"fast": dl.RLS(forgetting=0.9)}, rows)
    assert named.totals["fast"] == result.totals["RLS 2"]


def test_the_same_learner_twice_is_refused(rows):
    model = dl.RLS()
    with pytest.raises(ValueError, match="twice"):
        evaluate.prequential([model, model], rows)


def test_intervals_are_scored_if_the_learner_gives_them():
    class Fixed:
        def predict_one(self, x):
            return 0.0

        def predict_interval(self, x, level=0.9):
            return -level, x[0]

        def learn_one(self, x, y):
            pass

    X = np.array([[1.0], [2.0], [3.0], [4.0]])
    y = np.array([1.0, -0.6, 3.5, 0.0])
    result = evaluate.prequential({"fixed": Fixed()}, (X, y), level=0.5, metrics=["mae", "coverage", "width"])
    assert result.totals["fixed"]["coverage"] == 0.5
    assert result.totals["fixed"]["width"] == 3.0
    with pytest.raises(TypeError, match="predict_interval"):
        evaluate.prequential(PlainPeer(), (X, y), metrics="coverage")


def plain_scores(quantiles, levels, y):
    """The CRPS and the pinball losses, over the rows with finite quantiles, from their definition."""
    loss = np.where(y[:, None] < quantiles, (quantiles - y[:, None]) * (1 - levels), (y[:, None] - quantiles) * levels)
    finite = np.isfinite(quantiles)
    pinball = {f"pinball_{level!r}": loss[finite[:, k], k].mean() for k, level in enumerate(levels.tolist())}
    return {"crps": 2 * loss[finite.all(axis=1)].mean()} | pinball


@pytest.mark.parametrize("form", ["array", "mappings", "text"])
@pytest.mark.parametrize("delay", [0, 7])
def test_quantiles_are_those_of_ask_and_tell_and_scored_by_their_definitions(rows, form, delay):
    X, y = rows[0][:300], rows[1][:300]
    levels = np.array([0.04, 0.5, 0.9])
    cells = [dict(zip("abcd", row, strict=True)) for row in X.tolist()]
    if form == "text":
        cells = [{**row, "e": "high" if row["a"] > 0 else "low"} for row in cells]
    model, tickets = dl.RLS(forgetting=0.98), []
    for t in range(len(y)):
        tickets.append(model.ask(X[t] if form == "array" else cells[t], delay))
        if t >= delay:
            model.tell(tickets[t - delay], y[t - delay])
    expected = plain_scores(np.array([ticket.quantiles(levels) for ticket in tickets]), levels, y)
    data = (X, y) if form == "array" else (cells, y)
    result = evaluate.prequential(
        {"it": dl.RLS(forgetting=0.98)}, data, delay=delay, quantiles=levels, metrics=["mae", "crps", "pinball"]
    )
    found = dict(result.totals["it"])
    found.pop("mae")
    assert found == pytest.approx(expected)
    # A metric that has levels brings its own.
    alone = evaluate.prequential({"it": dl.RLS(forgetting=0.98)}, data, delay=delay, metrics=evaluate.CRPS(levels))
    assert alone.totals["it"] == {"crps": result.totals["it"]["crps"]}


def test_quantiles_of_another_library_are_scored():
    class Fixed(PlainPeer):
        def predict_quantiles(self, x, levels):
            return [x[0] - 1, x[0] + 1]

    X, y = np.array([[1.0], [2.0], [3.0]]), np.array([1.5, 0.0, 7.0])
    expected = plain_scores(X + np.array([-1, 1]), np.array([0.25, 0.75]), y)["crps"]
    for delay in (0, 1):
        result = evaluate.prequential(Fixed(), (X, y), delay=delay, quantiles=[0.25, 0.75])
        assert result.totals["Fixed"]["crps"] == pytest.approx(expected)
    with pytest.raises(TypeError, match="PlainPeer has no predict_quantiles"):
        evaluate.prequential(PlainPeer(), (X, y), quantiles=[0.5])
    with pytest.raises(ValueError, match=r"Classifier\.run: class labels have no quantiles"):
        evaluate.prequential(dl.Classifier(dl.RLS()), (X, y > 1), quantiles=[0.5])


class PlainPeer:
    """The smallest learner that can be evaluated: two methods."""

    def __init__(self):
        self.seen = []

    def predict_one(self, x):
        return float(len(self.seen))

    def learn_one(self, x, y):
        self.seen.append((x, y))


def test_missing_values_are_skipped_and_counted(rows):
    X, y = rows[0][:100].copy(), rows[1][:100].copy()
    X[3, 1] = np.nan
    y[7] = np.nan
    result = evaluate.prequential(dl.RLS(missing="skip"), (X, y), window=10, keep_predictions=True)
    run = dl.RLS(missing="skip").run(X, y)
    assert result.skipped == {"RLS": 2}
    np.testing.assert_allclose(result.totals["RLS"]["mse"], np.nanmean(run.losses), rtol=1e-12)
    np.testing.assert_allclose(result.last("window")["RLS"]["mse"], run.losses[-10:].mean(), rtol=1e-12)
    assert result.rows == 100


def test_a_prediction_that_is_not_a_number_counts_as_an_infinite_error():
    class Broken(PlainPeer):
        def predict_one(self, x):
            return float("nan") if len(self.seen) == 5 else 0.0

    result = evaluate.prequential({"broken": Broken()}, (np.ones((20, 1)), np.ones(20)), window=5)
    assert result.totals["broken"]["mse"] == np.inf
    assert result.last("window")["broken"]["mse"] == 1.0
    assert result.skipped == {"broken": 0}


def test_an_error_says_where_the_block_began():
    X, y = np.ones((70_000, 2)), np.ones(70_000)
    X[69_000, 1] = np.nan
    with pytest.raises(ValueError, match="row 3464, feature 1") as caught:
        evaluate.prequential(dl.RLS(), (X, y))
    assert "begins at row 65536" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": 0}, "window must be None or a whole number of at least 1, got 0"),
        ({"fading": 1.5}, r"fading must be None or in \(0, 1\], got 1.5"),
        ({"delay": -1}, r"delay must be a whole number in \[0, 10000000\], got -1"),
        ({"delay": 10**20}, r"delay must be a whole number in \[0, 10000000\], got 100000000000000000000"),
        ({"metrics": "mape"}, "metrics must be among mse, .*, got 'mape'"),
        ({"metrics": []}, "metrics must have one or more distinct names"),
        ({"rows": 0}, "rows must be"),
        ({"level": 0.9, "metrics": "mse"}, "level"),
        ({"quantiles": [0.5], "metrics": "mse"}, "neither crps nor pinball"),
        ({"quantiles": [0.5, 0.1]}, r"quantiles must be in ascending order, got \[0.5, 0.1\]"),
        ({"quantiles": [0.5], "metrics": evaluate.CRPS([0.1])}, r"must have the levels \[0.5\]"),
        ({"metrics": [evaluate.CRPS([0.1]), evaluate.Pinball(0.2, [0.2])]}, r"must have the levels \[0.1\]"),
        ({"holdout_every": 10}, "needs holdout"),
    ],
)
def test_wrong_arguments_are_refused_by_name(rows, options, message):
    with pytest.raises(ValueError, match=message):
        evaluate.prequential(dl.RLS(), rows, **options)


def test_a_learner_without_the_two_methods_is_refused(rows):
    from sklearn.linear_model import SGDRegressor

    with pytest.raises(TypeError, match="SGDRegressor has no predict_one and learn_one; wrap it in PartialFit"):
        evaluate.prequential(SGDRegressor(), rows)
    with pytest.raises(TypeError, match=r"RLS is a class: pass an instance, RLS\(\)"):
        evaluate.prequential(dl.RLS, rows)


def test_unknown_names_of_curves_are_refused(rows):
    result = evaluate.prequential(dl.RLS(), rows, window=None)
    for wrong in ({"learner": "LMS"}, {"metric": "rmse"}, {"kind": "window"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            result.curve(**{"learner": "RLS"} | wrong)


def test_predictions_of_another_length_are_refused_in_the_name_of_score():
    with pytest.raises(ValueError, match="score: y has 3 labels, predictions of mine are 2"):
        evaluate.score(np.ones(3), {"mine": np.ones(2)})
    with pytest.raises(ValueError, match="score: y has 3 labels, intervals of predictions are 2"):
        evaluate.score(np.ones(3), np.ones(3), intervals=(np.ones(2), np.ones(3)))


def test_r2_is_undefined_if_squares_overflow():
    """The square of the label 1e200 is infinite; an R² of 0 would look like a result."""
    X, y = np.ones((50, 1)), np.arange(50.0)
    y[30] = 1e200
    totals = evaluate.prequential(dl.Ridge(), (X, y), metrics=["rmse", "r2"]).totals["Ridge"]
    assert totals["rmse"] == np.inf
    assert np.isnan(totals["r2"])
