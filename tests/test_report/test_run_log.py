"""The run log: independent of block boundaries, bounded in memory, and correct by independent formulas."""

import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline import _core
from driftline.base.levels import Spread
from driftline.cli.measures import Errors
from driftline.report import RunLog, charts, hindsight
from driftline.report.charts import predictions
from driftline.report.facts import Facts
from driftline.report.page import render
from driftline.report.pyramid import MERGES, Pyramid


def stream(rows, features=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features)) * 10.0 ** rng.integers(-2, 3, size=features)
    weights = np.cumsum(0.05 * rng.normal(size=(rows, features)), axis=0) + 1
    return X, (X * weights).sum(axis=1) + rng.normal(size=rows)


def followed(X, y, cuts=(), *, times=None, resume=False, **options):
    model, log = dl.RLS(forgetting=0.97, missing="skip"), RunLog(level=0.9, **options)
    edges = [0, *sorted({cut for cut in cuts if 0 < cut < len(y)}), len(y)]
    for start, stop in pairwise(edges):
        rows = slice(start, stop)
        every = log.weights_every(stop - start)
        run = model.run(X[rows], y[rows], level=0.9, quantiles=(0.1, 0.5, 0.9), weights_every=every)
        log.add(run, X[rows], y[rows], times=None if times is None else times[rows], model=model)
        if resume:
            log = RunLog.restore(log.state())
            log.add(run_of_no_rows(), np.empty((0, X.shape[1])), [], model=model)
    return log


def run_of_no_rows():
    return dl.Run(predictions=np.empty(0), errors=np.empty(0))


def shown(log):
    """The page without its creation time."""
    return re.sub("<footer>.*</footer>", "", render(log))


@pytest.fixture(scope="module")
def gappy():
    """A stream with gaps, and the page of a run log that received it in one block."""
    X, y = stream(2100)
    X[17, 1], y[400] = np.nan, np.nan
    return X, y, shown(followed(X, y))


@settings(max_examples=10)
@given(cuts=st.lists(st.integers(1, 2099), max_size=6), resume=st.booleans())
def test_the_page_does_not_depend_on_block_boundaries(gappy, cuts, resume):
    X, y, whole = gappy
    assert shown(followed(X, y, cuts, resume=resume)) == whole


def test_memory_does_not_grow_with_the_stream():
    X, y = stream(40_000, features=2)
    sizes = []
    for rows in (10_000, 40_000):
        state = followed(X[:rows], y[:rows], range(0, rows, 4096)).state()
        sizes.append(sum(value.nbytes for value in state.values() if isinstance(value, np.ndarray)))
    assert sizes[1] < 1.2 * sizes[0]


def test_sums_match_those_over_all_rows():
    X, y = stream(5000)
    facts = Facts(followed(X, y, [100, 2000]))
    run = dl.RLS(forgetting=0.97).run(X, y, level=0.9)
    last = np.concatenate([[np.nan], y[:-1]])
    mean = np.concatenate([[np.nan], np.cumsum(y)[:-1] / np.arange(1, 5000)])
    design = np.column_stack([np.ones(5000), X])
    fixed = y - design @ np.linalg.lstsq(design[1:], y[1:], rcond=None)[0]
    for name, errors in {"model": run.errors, "last": y - last, "mean": y - mean, "fixed": fixed}.items():
        errors[0] = 0.0  # no label had arrived before it
        assert facts.errors[name] == pytest.approx(np.sqrt(np.sum(errors**2) / 4999), rel=1e-10)
        width = facts.window
        for place in (0, 3, len(facts.losses[name]) - 1):
            part = errors[place * width : (place + 1) * width]
            assert facts.losses[name][place] == pytest.approx(np.sum(part**2), rel=1e-8)
    known = np.isfinite(run.lower) & (np.arange(5000) > 0)
    inside = (run.lower <= y) & (y <= run.upper)
    assert facts.coverage == inside[known].mean()
    assert facts.sums["alarms"] == len(run.alarms)


@pytest.mark.parametrize("delay", [0, 3])
def test_rows_before_the_first_known_label_do_not_count(delay):
    """The first prediction is 0, far from a target of 44: it carries no information and must not flatten the charts."""
    X, y = stream(40)
    y = 44.0 + 0.01 * y
    y[0] = np.nan
    begin = 2 + delay  # the first row predicted after row 1's label has arrived
    facts = Facts(followed(X, y, [5, 17], delay=delay))
    run = dl.RLS(forgetting=0.97, missing="skip").run(X, y, level=0.9)
    design = np.column_stack([np.ones(40), X])[begin:]
    fixed = y[begin:] - design @ np.linalg.lstsq(design, y[begin:], rcond=None)[0]
    last = y[begin:] - y[1 : 40 - 1 - delay]
    for name, errors in {"model": run.errors[begin:], "last": last, "fixed": fixed}.items():
        assert facts.errors[name] == pytest.approx(np.sqrt(np.mean(errors**2)), rel=1e-10)
    assert (facts.sums["counted"], facts.sums["early"]) == (40 - begin, begin)
    drawn = predictions(facts)
    assert not np.isfinite(drawn.lines[1].values[:begin]).any()
    assert drawn.lines[1].values[begin:] == pytest.approx(run.predictions[begin:])
    score = Errors().score(delay, Spread(0.9))
    score.add(run, y)
    found = score.figures()
    assert found["rmse"] == pytest.approx(facts.errors["model"], rel=1e-12)
    assert found["last_value_rmse"] == pytest.approx(facts.errors["last"], rel=1e-12)
    assert found["running_mean_rmse"] == pytest.approx(facts.errors["mean"], rel=1e-12)
    assert found["coverage"] == facts.coverage
    assert f"{begin} rows before the first known label not counted" in render(facts.log)


def test_the_best_fixed_model_is_accurate_for_nearly_collinear_features_of_different_scale():
    """Computed from sums of squares, these losses would have no correct digit."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(2000, 3)) * [1e-6, 1.0, 1e6] + [0.0, 0.0, 1e9]
    y = 1e6 * X[:, 0] + X[:, 1] + 1e-6 * X[:, 2] + 1e-9 * rng.normal(size=2000)
    past = hindsight.Hindsight(3)
    past.add(X, rng.normal(size=len(y)), y)
    weights, losses, spreads = hindsight.best_fixed(past.triangles())
    assert losses.sum() < 2000 * 1e-12
    assert spreads == pytest.approx(X.std(axis=0), rel=1e-6)
    assert weights[1:] == pytest.approx([1e6, 1.0, 1e-6], rel=1e-5)


@pytest.mark.parametrize(("rows", "features"), [(3, 5), (1500, 70)])
def test_the_best_fixed_model_is_the_least_squares_solution(rows, features):
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(rows, features)), rng.normal(size=rows)
    past = hindsight.Hindsight(features)
    past.add(X, rng.normal(size=rows), y)
    weights, losses, _ = hindsight.best_fixed(past.triangles())
    design = np.column_stack([np.ones(rows), X])
    errors = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    assert losses.sum() == pytest.approx(np.sum(errors**2), rel=1e-10, abs=1e-20)
    assert y - design @ weights == pytest.approx(errors, abs=1e-10)


@given(
    st.integers(1, 40),
    st.integers(1, 12),
    st.integers(0, 40),
    st.sampled_from([1e-140, 1.0, 1e140]),
    st.integers(0, 2**32 - 1),
)
def test_triangles_match_those_of_a_qr_factorisation(rows, columns, more, size, seed):
    """They match LAPACK's up to the signs of rows if the factorisation is unique; rows of zeros do not change a bit."""
    rng = np.random.default_rng(seed)
    X, below = rng.normal(size=(columns + rows, columns)) * size, rng.normal(size=(more, columns)) * size
    triangle = hindsight.stacked(np.zeros((1, columns, columns)), X[None])
    expected = np.linalg.qr(X, mode="r")
    assert np.abs(triangle[0]) == pytest.approx(np.abs(expected), abs=1e-11 * size * np.sqrt(len(X)))
    assert np.array_equal(triangle[0], np.triu(triangle[0]))
    padded = np.insert(X, rng.integers(0, len(X), size=5), 0.0, axis=0)
    np.testing.assert_array_equal(hindsight.stacked(np.zeros((1, columns, columns)), padded[None]), triangle)
    both = hindsight.stacked(triangle, below[None])[0]
    gram = (X / size).T @ (X / size) + (below / size).T @ (below / size)
    assert (both / size).T @ (both / size) == pytest.approx(gram, abs=1e-12 * len(X) + 1e-12 * more)


def test_triangles_of_other_shapes_are_refused():
    for triangle, rows in [((2, 3, 3), (1, 4, 3)), ((1, 3, 3), (1, 4, 2)), ((1, 2, 3), (1, 4, 3))]:
        with pytest.raises(ValueError, match="the shapes do not agree"):
            _core.fold_rows(np.zeros(triangle), np.zeros(rows))


def test_features_that_appear_later_count_as_zero_before():
    X, y = stream(3000, features=4)
    X[:1111, 3] = 0.0
    past = hindsight.Hindsight(3)
    past.add(X[:1111, :3], y[1110::-1], y[:1111])
    past.add(X[1111:], y[:1110:-1], y[1111:])
    design = np.column_stack([np.ones(3000), X])
    weights, losses, _ = hindsight.best_fixed(past.triangles())
    expected = np.linalg.lstsq(design, y, rcond=None)[0]
    assert weights == pytest.approx(expected, rel=1e-9)
    assert losses.sum() == pytest.approx(np.sum((y - design @ expected) ** 2), rel=1e-10)


@given(st.lists(st.integers(0, 50), max_size=8))
def test_a_pyramid_keeps_every_row_in_order(sizes):
    rows = np.arange(float(sum(sizes)))
    kept = Pyramid({"sum": MERGES["sum"], "low": MERGES["low"], "high": MERGES["high"], "end": MERGES["last"]}, 8)
    for part in np.split(rows, np.cumsum(sizes)):
        kept.extend(dict.fromkeys(kept.fields, part))
    buckets = kept.buckets()
    if not len(rows):
        return
    assert len(buckets["sum"]) <= 9
    for place, low in enumerate(buckets["low"]):
        part = rows[place * kept.width : (place + 1) * kept.width]
        assert (low, buckets["high"][place], buckets["end"][place]) == (part[0], part[-1], part[-1])
        assert buckets["sum"][place] == part.sum()


BAD = {
    "another number of labels": (lambda run, X, y: (run, X, y[1:], {}), "X has 50 rows, y has 49"),
    "another number of rows": (lambda run, X, y: (run, X[1:], y, {}), "X has 49 rows, the run has 50"),
    "fewer features": (lambda run, X, y: (run, X[:, :1], y, {}), "X has 1 features, expected at least 3"),
    "times from now on": (lambda run, X, y: (run, X, y, {"times": range(50)}), "for every block or for none"),
    "predictions that are labels": (
        lambda run, X, y: (dl.Run(np.array(["a"] * 50), run.errors), X, y, {}),
        "must predict one number a row",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_blocks_are_refused_and_change_nothing(what):
    X, y = stream(100)
    log = followed(X[:50], y[:50])
    before = log.state()
    run, X, y, options = BAD[what][0](dl.RLS().run(X[50:], y[50:]), X[50:], y[50:])
    with pytest.raises(ValueError, match=BAD[what][1]):
        log.add(run, X, y, **options)
    after = log.state()
    assert before.keys() == after.keys()
    for key, value in before.items():
        np.testing.assert_equal(after[key], value)


@pytest.mark.parametrize("options", [{"level": 1.0}, {"level": 0}, {"delay": -1}, {"delay": 1.5}])
def test_bad_options_are_refused(options):
    with pytest.raises(ValueError, match="RunLog: "):
        RunLog(**options)


@pytest.mark.parametrize("make", [dl.Kalman, dl.Auto, dl.NLMS], ids=lambda make: make.__name__)
def test_the_chart_of_weights_matches_its_caption(make):
    """Every point is the learner's weight after that row; the lines shown have the largest mean |weight| times spread."""
    rng = np.random.default_rng(5)
    sizes = np.geomspace(0.1, 10, 9)
    X = rng.normal(size=(500, 9)) * sizes + 1.0
    y = (X * np.cumsum(rng.normal(size=(500, 9)), axis=0) / 10 / sizes).sum(axis=1) + rng.normal(size=500)
    alone, model, log, held = make(), make(), RunLog(), []
    for x, label in zip(X, y, strict=True):
        alone.learn_one(x, label)
        held.append(alone.coef_)
    for rows in (slice(0, 300), slice(300, 500)):
        run = model.run(X[rows], y[rows], weights_every=log.weights_every(len(X[rows])))
        log.add(run, X[rows], y[rows], model=model)
    chart = charts.weights(Facts(log))
    rows = chart.x.astype(int)
    influence = np.abs(np.array(held)[rows]).mean(axis=0) * X.std(axis=0)
    assert [line.label for line in chart.lines] == [f"x{place}" for place in np.argsort(-influence)[:7]]
    for line in chart.lines:
        np.testing.assert_array_equal(line.values, np.array(held)[rows, int(line.label[1:])])
    assert chart.about.startswith("The 7 weights with the most influence along the stream, of 9: ")
    low, high = charts.limits(chart)
    outside = any(line.values.min() < low or line.values.max() > high for line in chart.lines)
    assert ("beyond the scale" in chart.about) == outside


def test_without_the_inputs_the_chart_shows_the_largest_weights():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(300, 9))
    model = dl.RLS()
    run = model.run(X, X @ np.arange(9.0), weights_every=1)
    chart = charts.weights(Facts(RunLog.of(run, model=model)))
    assert [line.label for line in chart.lines] == ["x8", "x7", "x6", "x5", "x4", "x3", "x2"]
    assert chart.about.startswith("The 7 weights that were the largest on average, of 9.")


def test_a_state_does_not_change_while_its_log_goes_on():
    X, y = dl.streams.Switching(rate=0.4, unit="deg", every=500, seed=7).take(3000)
    model, log = dl.RLS(forgetting=0.95), RunLog(level=0.9)
    log.add(model.run(X[:1500], y[:1500], level=0.9), X[:1500], y[:1500])
    state = log.state()
    kept = {name: repr(np.array(value).tolist()) for name, value in state.items()}
    log.add(model.run(X[1500:], y[1500:], level=0.9), X[1500:], y[1500:])
    assert kept == {name: repr(np.array(value).tolist()) for name, value in state.items()}
