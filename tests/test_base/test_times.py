"""Rows with times: memory and drift by the clock."""

import datetime as dt
import math
import pickle
from zoneinfo import ZoneInfo

import mpmath
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import driftline as dl
from driftline.delayed.stepper import Stepper
from driftline.features import Polynomial, Standardize
from driftline.tables.block import as_block
from driftline.tables.times import times_of

HOUR = np.timedelta64(1, "h")
RNG = np.random.default_rng(41)
X = RNG.normal(size=(150, 3))
Y = (X * np.cumsum(0.1 * RNG.normal(size=(150, 3)), axis=0)).sum(axis=1) + 0.1 * RNG.normal(size=150)
HOURS = np.datetime64("2026-03-01") + np.arange(150) * HOUR
GAPS = np.where(RNG.random(150) < 0.05, RNG.uniform(10, 200, 150), RNG.exponential(1.0, 150))
TIMES = np.cumsum(GAPS)
KEEP = 0.5 ** (1 / 20)

PAIRS = {  # by the clock, and by rows
    "rls": (dl.RLS(half_life="20h"), dl.RLS(forgetting=KEEP)),
    "rls, per": (dl.RLS(forgetting=0.9, per="1h"), dl.RLS(forgetting=0.9)),
    "rls, keep_prior": (dl.RLS(half_life="20h", keep_prior=True), dl.RLS(forgetting=KEEP, keep_prior=True)),
    "rls, float32": (dl.RLS(half_life="20h", dtype="float32"), dl.RLS(forgetting=KEEP, dtype="float32")),
    "crrls": (dl.CRRLS(half_life="20h", period="1d"), dl.CRRLS(forgetting=KEEP, period=24)),
    "crrls, number": (dl.CRRLS(forgetting=0.9, per="1h", period=24), dl.CRRLS(forgetting=0.9, period=24)),
    "dfop": (dl.DFOP(half_life="20h"), dl.DFOP(forget_rate=1 - KEEP)),
    "sparse_dfop": (dl.SparseDFOP(half_life="20h", dim=5), dl.SparseDFOP(forget_rate=1 - KEEP, dim=5)),
    "kalman": (dl.Kalman(drift=0.01, per="60min"), dl.Kalman(drift=0.01)),
    "laser": (dl.LASER(drift_cost=50.0, per="1h"), dl.LASER(drift_cost=50.0)),
    "weighted_laser": (dl.WeightedLASER(drift_cost=50.0, per="1h"), dl.WeightedLASER(drift_cost=50.0)),
    "h_infinity": (dl.HInfinity(drift=0.01, per="1h"), dl.HInfinity(drift=0.01)),
    "glm": (dl.GLM(loss="huber", half_life="20h"), dl.GLM(loss="huber", forgetting=KEEP)),
    "glm, drift": (dl.GLM(loss="huber", drift=0.01, per="1h"), dl.GLM(loss="huber", drift=0.01)),
    "second_order": (
        dl.SecondOrder(time=dl.Divide(half_life="20h"), reset=dl.Every("1d"), radius=2.0),
        dl.SecondOrder(time=dl.Divide(KEEP), reset=dl.Every(24), radius=2.0),
    ),
    "second_order, below": (
        dl.SecondOrder(time=dl.Divide(half_life="20h"), reset=dl.Below(1.5)),
        dl.SecondOrder(time=dl.Divide(KEEP), reset=dl.Below(1.5)),
    ),
    "kernel": (dl.Kernel(dl.RLS(half_life="20h"), budget=20), dl.Kernel(dl.RLS(forgetting=KEEP), budget=20)),
    "kernel, drift": (dl.Kernel(dl.Kalman(per="1h"), budget=20), dl.Kernel(dl.Kalman(), budget=20)),
    "network": (
        dl.Network([dl.RLS(half_life="20h"), dl.LMS()], top=dl.Kalman(per="1h")),
        dl.Network([dl.RLS(forgetting=KEEP), dl.LMS()], top=dl.Kalman()),
    ),
    "averaged": (dl.Averaged(dl.RLS(half_life="20h")), dl.Averaged(dl.RLS(forgetting=KEEP))),
    "transformed": (dl.Transformed(dl.RLS(half_life="20h"), "asinh"), dl.Transformed(dl.RLS(forgetting=KEEP), "asinh")),
    "pipeline": (
        Standardize() | Polynomial() | dl.RLS(half_life="20h"),
        Standardize() | Polynomial() | dl.RLS(forgetting=KEEP),
    ),
    "experts": (dl.Auto(experts=[dl.RLS(half_life="20h")]), dl.Auto(experts=[dl.RLS(forgetting=KEEP)])),
    "auto": (dl.Auto(), dl.Auto()),
    "lms": (dl.LMS(), dl.LMS()),
}
CLOCKS = {
    "rls": dl.RLS(half_life=10.0),
    "rls, keep_prior": dl.RLS(half_life=10.0, keep_prior=True),
    "crrls": dl.CRRLS(half_life=10.0, period=30),
    "kalman": dl.Kalman(drift=0.01, per=1.0),
    "laser": dl.LASER(drift_cost=50.0, per=1.0),
    "sparse_dfop": dl.SparseDFOP(half_life=10.0, dim=5),
    "glm": dl.GLM(loss="huber", half_life=10.0),
    "kernel": dl.Kernel(dl.RLS(half_life=10.0), budget=20),
    "network": dl.Network([dl.RLS(half_life=10.0), dl.LMS()], top=dl.Kalman(per=1.0)),
    "pipeline": Standardize() | dl.RLS(half_life=10.0),
    "averaged": dl.Averaged(dl.RLS(half_life=10.0)),
    "selective": dl.Selective(dl.RLS(half_life=10.0)),
    "transformed": dl.Transformed(dl.RLS(half_life=10.0), "asinh"),
}


def loop(model, rows, labels, times):
    said = []
    for x, y, at in zip(rows, labels, times, strict=True):
        said.append(model.predict_one(x, at=at))
        model.learn_one(x, y, at=at)
    return np.array(said)


@pytest.mark.parametrize("name", PAIRS)
def test_with_equal_steps_a_learner_by_the_clock_is_the_one_by_rows(name):
    by_clock, by_rows = (model.clone() for model in PAIRS[name])
    timed, plain = by_clock.run(X, Y, times=HOURS, level=0.9), by_rows.run(X, Y, level=0.9)
    tolerance = 1e-5 if "float32" in name else 1e-12
    np.testing.assert_allclose(timed.predictions, plain.predictions, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(timed.lower, plain.lower, rtol=1e-5 if "float32" in name else 1e-9)
    assert timed.resets.tolist() == plain.resets.tolist()


@pytest.mark.parametrize("name", CLOCKS)
def test_a_loop_gives_what_run_gives(name):
    rows, singly = CLOCKS[name].clone(), CLOCKS[name].clone()
    run = rows.run(X, Y, times=TIMES)
    np.testing.assert_allclose(loop(singly, X, Y, TIMES), run.predictions, rtol=1e-12, atol=1e-12)
    assert rows.predict_one(X[0]) == pytest.approx(singly.predict_one(X[0]), rel=1e-12)


@pytest.mark.parametrize("outputs", [1, 2])
def test_many_features_and_several_labels_follow_the_clock(outputs):
    """300 features take the replay by blocks."""
    rows, weights = RNG.normal(size=(200, 300)), RNG.normal(size=(300, outputs))
    labels = (rows @ weights).squeeze()
    times = np.cumsum(RNG.exponential(size=200))
    whole, singly = dl.RLS(half_life=50.0), dl.RLS(half_life=50.0)
    run = whole.run(rows, labels, times=times)
    for start in range(200):
        part = singly.run(rows[start : start + 1], labels[start : start + 1], times=times[start : start + 1])
        np.testing.assert_allclose(part.predictions[0], run.predictions[start], rtol=1e-9, atol=1e-9)


# The formula.


def discounted(rows, labels, times, now, half_life, ridge, per, weight=None):
    """The minimiser of the squared errors, each halved with every half-life that passed, in 50 digits."""
    with mpmath.workdps(50):
        d = rows.shape[1]
        share = [mpmath.mpf(2) ** (-(mpmath.mpf(now) - mpmath.mpf(at)) / half_life) for at in times]
        prior = mpmath.mpf(2) ** (-(mpmath.mpf(now) - mpmath.mpf(min(times)) + per) / half_life) * ridge
        A, b = mpmath.eye(d) * prior, mpmath.zeros(d, 1)
        for x, y, part, own in zip(rows, labels, share, np.ones(len(rows)) if weight is None else weight, strict=True):
            x, part = mpmath.matrix([mpmath.mpf(float(v)) for v in x]), part * mpmath.mpf(float(own))
            A, b = A + part * x * x.T, b + part * x * mpmath.mpf(float(y))
        return np.array([float(w) for w in mpmath.lu_solve(A, b)])


def test_rls_minimises_the_errors_discounted_by_elapsed_time():
    model = dl.RLS(half_life=10.0, ridge=0.5, intercept=False)
    for stop in (5, 40, 150):
        model.fit(X[:stop], Y[:stop], times=TIMES[:stop])
        expected = discounted(X[:stop], Y[:stop], TIMES[:stop], TIMES[stop - 1], 10.0, 0.5, 1.0)
        np.testing.assert_allclose(model.coef_, expected, rtol=1e-9)


def test_weights_and_late_rows_enter_the_same_formula():
    """A row that comes late is learned as of its time: the order of learning does not matter."""
    order, weight = RNG.permutation(40), RNG.uniform(0.5, 2, 40)
    model = dl.RLS(half_life=10.0, intercept=False, late_rows="accept")
    first = np.argmin(order)
    order[[0, first]] = order[[first, 0]]
    model.run(X[order], Y[order], sample_weight=weight[order], times=TIMES[order])
    expected = discounted(X[:40], Y[:40], TIMES[:40], TIMES[39], 10.0, 1.0, 1.0, weight)
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-9)
    late = int((TIMES[order] < np.maximum.accumulate(TIMES[order])).sum())
    assert (model.clock_.late, model.clock_.last) == (late, TIMES[39])


def test_a_random_walk_has_moved_by_what_elapsed():
    """The plain filter, with S + q dt I before each row."""
    model = dl.Kalman(noise=0.5, drift=0.01, per=1.0, intercept=False).fit(X, Y, times=TIMES)
    w, S = np.zeros(3), np.eye(3)
    for x, y, step in zip(X, Y, [1.0, *np.diff(TIMES)], strict=True):
        S = S + 0.01 * step * np.eye(3)
        k = S @ x / (0.5 + x @ S @ x)
        w, S = w + k * (y - w @ x), S - np.outer(k, S @ x)
    np.testing.assert_allclose(model.coef_, w, rtol=1e-9)
    np.testing.assert_allclose(model.covariance_, S, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("name", ["rls", "kalman", "laser", "glm"])
def test_a_gap_is_as_many_rows_without_information(name):
    """Rows of zeros, without an intercept, say nothing."""
    gap = 37
    model = CLOCKS[name].clone({"intercept": False})
    times = np.arange(60.0) + np.where(np.arange(60) < 30, 0, gap)
    run = model.run(X[:60], Y[:60], times=times)
    rows, labels = np.insert(X[:60], 30, np.zeros((gap, 3)), axis=0), np.insert(Y[:60], 30, np.zeros(gap))
    filled = CLOCKS[name].clone({"intercept": False}).run(rows, labels, times=np.arange(60.0 + gap))
    there = np.r_[0:30, 30 + gap : 60 + gap]
    np.testing.assert_allclose(run.predictions, filled.predictions[there], rtol=1e-9, atol=1e-11)


def test_after_a_gap_the_ridge_is_back_if_it_is_kept():
    """The rows from before have no say then, and the first row after it meets the prior alone."""
    model = dl.RLS(half_life=1.0, ridge=2.0, keep_prior=True, intercept=False)
    model.run(X[:20], Y[:20], times=np.arange(20.0))
    before = model.__getstate__()["core"]["weights"].copy()
    ends = model.predict_interval(X[20], at=1000.0)
    assert model.predict_one(X[20], at=1000.0) == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_array_equal(model.__getstate__()["core"]["weights"], before)
    run = model.run(X[20:21], Y[20:21], times=[1000.0], level=0.9)
    assert (run.lower[0], run.upper[0]) == pytest.approx(ends)
    expected = np.linalg.solve(2.0 * np.eye(3) + np.outer(X[20], X[20]), X[20] * Y[20])
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-9)


@pytest.mark.parametrize("name", CLOCKS)
@pytest.mark.parametrize("gap", [1e3, 1e7, 1e300])
def test_no_gap_breaks_the_state(name, gap):
    model = CLOCKS[name].clone()
    run = model.run(X[:60], Y[:60], times=np.r_[TIMES[:30], TIMES[30:60] + gap])
    assert np.isfinite(run.predictions).all()
    restored = pickle.loads(pickle.dumps(model))
    assert restored.predict_one(X[0]) == model.predict_one(X[0])


def test_an_interval_widens_with_the_gap():
    model = dl.Kalman(drift=0.1, per=1.0).fit(X, Y, times=np.arange(150.0))
    widths = [np.diff(model.predict_interval(X[0], at=150.0 + gap))[0] for gap in (0, 10, 1000)]
    assert widths[0] < widths[1] < widths[2]


# Times.


ZONES = [ZoneInfo("Asia/Tokyo"), ZoneInfo("Europe/Paris")]
NAIVE = [dt.datetime(2026, 3, 1) + dt.timedelta(minutes=17 * i) for i in range(20)]
SAME_TIMES = {
    "datetimes": NAIVE,
    "numpy": np.array(NAIVE, dtype="datetime64[ns]"),
    "pandas": pd.Series(NAIVE),
    "index": pd.DatetimeIndex(NAIVE),
    "polars": pl.Series(NAIVE),
    "arrow": pa.array(NAIVE),
    "chunks": pa.chunked_array([NAIVE[:7], NAIVE[7:]]),
    "texts": [str(at) for at in NAIVE],
    "utc": [at.replace(tzinfo=dt.UTC) for at in NAIVE],
    "zone": pd.DatetimeIndex(NAIVE).tz_localize("UTC").tz_convert("Asia/Tokyo"),
    "zones": [at.replace(tzinfo=dt.UTC).astimezone(ZONES[i % 2]) for i, at in enumerate(NAIVE)],
    "arrow in a zone": pa.array([at.replace(tzinfo=dt.UTC) for at in NAIVE], pa.timestamp("us", "America/New_York")),
    "polars in a zone": pl.Series(NAIVE).dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Tokyo"),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME_TIMES)
def test_times_of_any_kind_are_the_same_times(name):
    plain = dl.RLS(half_life=90.0, per=60.0).run(X[:20], Y[:20], times=17.0 * np.arange(20))
    timed = dl.RLS(half_life="90min", per="1h").run(X[:20], Y[:20], times=SAME_TIMES[name])
    np.testing.assert_allclose(timed.predictions, plain.predictions, rtol=1e-12)


@pytest.mark.parametrize("at", [7, 7.5, np.float64(7), np.int32(7)])
def test_the_time_of_a_row_may_be_any_number(at):
    model = dl.RLS(half_life=3)
    model.learn_one(X[0], Y[0], at=at)
    assert model.clock_.last == float(at)


SAME_TIME = [NAIVE[0], np.datetime64("2026-03-01"), pd.Timestamp("2026-03-01"), "2026-03-01", dt.date(2026, 3, 1)]


@pytest.mark.parametrize("at", SAME_TIME)
def test_the_time_of_a_row_may_be_any_date(at):
    model = dl.RLS(half_life="1d")
    model.learn_one(X[0], Y[0], at=at)
    assert model.clock_.last == NAIVE[0].replace(tzinfo=dt.UTC).timestamp() * 1e6


WRONG = {
    "back": ([0.0, 2.0, 1.0], r"RLS.run: time goes back in row 2: 1 after 2\. With late_rows=\"accept\""),
    "nan": ([0.0, math.nan, 2.0], r"RLS.run: times is NaN in row 1; a row without a time"),
    "few": ([0.0, 1.0], r"RLS.run: times has shape \(2,\), expected \(3,\)"),
    "text": (["a", "b", "c"], r"RLS.run, row 0: at must be a number or a time, such as '2026-03-01 12:00', got 'a'"),
    "kind": (NAIVE[:3], r"RLS.run: half_life is 5.0, but the times are times without a zone; it must be a duration"),
    "truth": ([True, False, True], r"RLS.run: times must hold numbers or times, got bool"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_times_are_refused_with_their_place_and_nothing_is_learned(name):
    times, message = WRONG[name]
    model = dl.RLS(half_life=5.0)
    with pytest.raises(ValueError, match=message):
        model.run(X[:3], Y[:3], times=times)
    assert model.n_seen_ == 0
    assert model.clock_ is None


def test_a_row_before_the_last_one_is_refused_and_changes_nothing():
    model = dl.RLS(half_life=5.0).fit(X[:10], Y[:10], times=np.arange(10.0))
    before = pickle.dumps(model)
    for refused in (
        lambda: model.learn_one(X[0], Y[0], at=8.0),
        lambda: model.predict_one(X[0], at=8.0),
        lambda: model.run(X[:2], Y[:2], times=[8.0, 9.0]),
        lambda: model.learn_one(X[0], Y[0]),
        lambda: model.run(X[:2], Y[:2]),
        lambda: model.learn_one(X[0], Y[0], at=NAIVE[0]),
    ):
        with pytest.raises(ValueError, match=r"goes back|has no time|cannot follow"):
            refused()
    assert pickle.dumps(model) == before


def test_rows_of_the_same_time_are_learned_and_counted():
    model = dl.RLS(half_life=5.0, intercept=False).fit(X[:4], Y[:4], times=[0.0, 1.0, 1.0, 1.0])
    np.testing.assert_allclose(model.coef_, discounted(X[:4], Y[:4], [0, 1, 1, 1], 1, 5.0, 1.0, 1.0), rtol=1e-10)
    assert model.clock_.repeated == 2


def test_the_hour_that_local_clocks_repeat_is_named():
    times = [dt.datetime(2026, 10, 25, 2, 45), dt.datetime(2026, 10, 25, 2, 15)]
    with pytest.raises(ValueError, match="local times repeat an hour when the clocks go back"):
        dl.RLS(half_life="1d").run(X[:2], Y[:2], times=times)
    paris = ZoneInfo("Europe/Paris")
    good = [times[0].replace(tzinfo=paris), times[1].replace(tzinfo=paris, fold=1)]
    assert dl.RLS(half_life="1d").run(X[:2], Y[:2], times=good).predictions.shape == (2,)


def test_times_with_and_without_a_zone_do_not_mix():
    with pytest.raises(ValueError, match=r"RLS.run: times holds times without a zone, but .* of row 1; give all"):
        dl.RLS(half_life="1d").run(X[:2], Y[:2], times=[NAIVE[0], NAIVE[1].replace(tzinfo=dt.UTC)])
    model = dl.RLS(half_life="1d")
    model.learn_one(X[0], Y[0], at=NAIVE[0])
    with pytest.raises(ValueError, match=r"times with a zone cannot follow times without a zone; give all"):
        model.learn_one(X[0], Y[0], at=NAIVE[1].replace(tzinfo=dt.UTC))


def test_a_half_life_in_hours_needs_times():
    for call in (lambda model: model.learn_one(X[0], Y[0]), lambda model: model.run(X, Y)):
        with pytest.raises(ValueError, match=r"half_life='6h' needs the rows' times: at=, times= or --time"):
            call(dl.Network([dl.RLS(half_life="6h")]))


def test_a_half_life_without_a_unit_counts_rows_if_these_have_no_times():
    plain = dl.RLS(forgetting=0.5**0.1).run(X, Y)
    np.testing.assert_allclose(dl.RLS(half_life=10).run(X, Y).predictions, plain.predictions, rtol=1e-13)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"half_life": "6 moons"},
            "RLS: half_life must be None or a positive number in the unit of the times, or",
        ),
        ({"half_life": 0}, "RLS: half_life must be"),
        ({"half_life": "6h", "per": 3}, "half_life='6h' and per=3 must be numbers, all of them, or durations"),
        ({"half_life": "6h", "forgetting": 0.9}, "forgetting and half_life exclude each other"),
        ({"per": "6h", "forgetting": [0.9, 0.8]}, "forgetting must be a number if per is given"),
    ],
)
def test_wrong_durations_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        dl.RLS(**parameters)


# Late labels.


@pytest.mark.parametrize("name", CLOCKS)
def test_a_label_that_comes_at_once_is_the_same_as_learn_one(name):
    asked, learned = CLOCKS[name].clone(), CLOCKS[name].clone()
    for x, y, at in zip(X[:60], Y[:60], TIMES, strict=False):
        ticket = asked.ask(x, 0, at=at)
        assert ticket.prediction == pytest.approx(learned.predict_one(x, at=at), rel=1e-12)
        asked.tell(dl.Ticket.from_bytes(ticket.to_bytes()), y)
        learned.learn_one(x, y, at=at)
    assert asked.predict_one(X[60], at=1e4) == pytest.approx(learned.predict_one(X[60], at=1e4), rel=1e-9)


def test_labels_in_any_order_are_learned_as_of_their_rows():
    model = dl.RLS(half_life=10.0, intercept=False)
    tickets = [model.ask(x, at=at) for x, at in zip(X[:30], TIMES[:30], strict=True)]
    for i in [0, *(1 + RNG.permutation(29))]:
        model.tell(tickets[i], Y[i])
    np.testing.assert_allclose(model.coef_, discounted(X[:30], Y[:30], TIMES[:30], TIMES[29], 10.0, 1.0, 1.0), rtol=1e-9)


def test_a_saved_model_goes_on_as_if_it_had_never_stopped(tmp_path):
    for name, model in CLOCKS.items():
        whole, half = model.clone().run(X, Y, times=TIMES), model.clone()
        half.run(X[:70], Y[:70], times=TIMES[:70])
        half.save(tmp_path / "m.drift")
        rest = dl.load(tmp_path / "m.drift").run(X[70:], Y[70:], times=TIMES[70:])
        np.testing.assert_allclose(rest.predictions, whole.predictions[70:], rtol=1e-12, err_msg=name)


def test_a_skipped_row_does_not_stop_the_clock():
    rows = X.copy()
    rows[50:60] = np.nan
    model = dl.RLS(half_life=10.0, missing="skip")
    run = model.run(rows, Y, times=TIMES)
    there = np.r_[0:50, 60:150]
    plain = dl.RLS(half_life=10.0).run(X[there], Y[there], times=TIMES[there])
    np.testing.assert_allclose(run.predictions[there], plain.predictions, rtol=1e-12)
    singly = dl.RLS(half_life=10.0, missing="skip")
    for x, y, at in zip(rows, Y, TIMES, strict=True):
        singly.learn_one(x, y, at=at)
    np.testing.assert_allclose(singly.coef_, model.coef_, rtol=1e-12)


def test_tables_with_text_and_new_features_follow_the_clock():
    frame = pd.DataFrame({"a": X[:, 0], "tree": np.array(["oak", "elm", "ash"])[np.arange(150) // 60]})
    whole, singly = dl.RLS(half_life=10.0), dl.RLS(half_life=10.0)
    run = whole.run(frame, Y, times=TIMES)
    said = []
    for row, y, at in zip(frame.to_dict("records"), Y, TIMES, strict=True):
        said.append(singly.predict_one(row, at=at))
        singly.learn_one(row, y, at=at)
    np.testing.assert_allclose(said, run.predictions, rtol=1e-10)


# Tables whose labels come late, and files.


@pytest.mark.parametrize("delay", [0, 3])
@pytest.mark.parametrize("name", ["rls", "kalman", "network", "sparse_dfop", "transformed", "text"])
def test_a_stepper_learns_each_row_as_of_its_time(name, delay):
    """In one table, in pieces, and by ask and tell."""
    model = CLOCKS["rls" if name == "text" else name]
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    if name == "text":
        frame["tree"] = np.array(["oak", "elm"])[np.arange(150) // 4 % 2]
    block = as_block(frame, "test")
    block.times = times_of(TIMES, 150, "test")
    whole, pieces, singly = Stepper(model.clone(), delay), Stepper(model.clone(), delay), model.clone()
    said = whole.table(block, Y).predictions
    parts = np.concatenate([pieces.table(block[at], Y[at]).predictions for at in (slice(0, 70), slice(70, 150))])
    waiting, expected = [], []
    for t, row in enumerate(frame.to_dict("records")):
        waiting.append(singly.ask(row, delay, at=TIMES[t]))
        expected.append(waiting[-1].prediction)
        if t >= delay:
            singly.tell(waiting[t - delay], Y[t - delay])
    np.testing.assert_allclose(said, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(parts, expected, rtol=1e-9, atol=1e-12)
    assert whole.learner.clock_.last == TIMES[149 - delay]


@pytest.mark.parametrize("delay", [0, 2])
def test_a_file_with_times_is_learned_by_the_clock(tmp_path, delay):
    moments = np.datetime64("2026-03-01") + (3600 * TIMES).astype("timedelta64[s]")
    pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=Y, when=np.floor(3600 * TIMES)).to_csv(tmp_path / "x.csv", index=False)
    pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=Y, when=moments).to_csv(tmp_path / "y.csv", index=False)
    by_number = dl.RLS(half_life=36_000, per=3600, missing="skip")
    rows = dl.files.open_rows(tmp_path / "x.csv", target="y", time="when")
    said = np.concatenate([run.predictions for _, run in dl.files.follow(by_number, rows, delay=delay)])
    block = as_block(pd.DataFrame(X, columns=["a", "b", "c"]), "test")
    block.times = times_of(np.floor(3600 * TIMES), 150, "test")
    expected = Stepper(dl.RLS(half_life=36_000, per=3600, missing="skip"), delay).table(block, Y).predictions
    np.testing.assert_allclose(said, expected, rtol=1e-9, atol=1e-12)
    by_date = dl.RLS(half_life="10h", missing="skip")
    rows = dl.files.open_rows(tmp_path / "y.csv", target="y", time="when", drop=("when",))
    list(dl.files.follow(by_date, rows, delay=delay))
    assert by_date.clock_.last == float(moments[149 - delay].astype("datetime64[us]").astype(int))


def test_a_file_whose_times_go_back_is_refused_with_the_line(tmp_path):
    (tmp_path / "x.csv").write_text("a,y,when\n1,1,0\n2,2,5\n3,3,4\n")
    model = dl.RLS(half_life=3.0)
    with pytest.raises(dl.files.DataError, match=r"time goes back: 4 after 5"):
        list(dl.files.follow(model, dl.files.open_rows(tmp_path / "x.csv", target="y", time="when")))


# Keys.


@pytest.mark.parametrize("learner", [dl.RLS(half_life=10.0), dl.Kalman(per=1.0), CLOCKS["network"]], ids=type)
def test_each_key_of_a_fleet_has_a_clock_of_its_own(learner):
    keys = np.array(["a", "b", "c"])[RNG.integers(3, size=150)]
    fleet, loop_fleet = dl.Fleet(learner), dl.Fleet(learner)
    run = fleet.run(keys, X, Y, times=TIMES)
    for key, x, y, at in zip(keys, X, Y, TIMES, strict=True):
        loop_fleet.learn_one(key, x, y, at=at)
    for key in "abc":
        mine = keys == key
        alone = learner.clone().run(X[mine], Y[mine], times=TIMES[mine])
        np.testing.assert_allclose(run.predictions[mine], alone.predictions, rtol=1e-12)
        assert loop_fleet.predict_one(key, X[0], at=1e4) == pytest.approx(fleet.predict_one(key, X[0], at=1e4), rel=1e-9)
    ticket = fleet.ask("a", X[0], at=1e4)
    fleet.tell(ticket, Y[0])
    loop_fleet.learn_one("a", X[0], Y[0], at=1e4)
    assert loop_fleet["a"].predict_one(X[1]) == pytest.approx(fleet["a"].predict_one(X[1]), rel=1e-9)
    with pytest.raises(ValueError, match="goes back"):
        fleet.learn_one("a", X[0], Y[0], at=0.0)


def test_a_fleet_that_counts_rows_takes_no_times():
    with pytest.raises(ValueError, match="the fleet counts rows, whatever their times: its learner has no half_life"):
        dl.Fleet(dl.RLS()).run(["a"], X[:1], Y[:1], times=[0.0])


@pytest.mark.parametrize("zone", [None, "Asia/Tokyo"])
def test_an_index_of_times_is_the_time_of_a_frames_rows(zone):
    frame = pd.DataFrame(X, index=pd.DatetimeIndex(HOURS).tz_localize(zone))
    expected = dl.RLS(half_life="20h").run(X, Y, times=HOURS)
    np.testing.assert_array_equal(dl.RLS(half_life="20h").run(frame, Y).predictions, expected.predictions)
    plain = dl.RLS().run(frame, Y)
    np.testing.assert_array_equal(plain.predictions, dl.RLS().run(X, Y).predictions)


def test_a_classifier_goes_by_the_clock_in_a_loop_as_in_a_table():
    """Also for the row that brings a class, whose learner begins then."""
    labels = np.array(["a", "b", "c"])[RNG.integers(3, size=60)]
    table, singly, said = dl.Classifier(dl.RLS(half_life=10.0)), dl.Classifier(dl.RLS(half_life=10.0)), []
    run = table.run(X[:60], labels, times=TIMES[:60])
    for x, label, at in zip(X[:60], labels, TIMES, strict=False):
        said.append(singly.predict_one(x, at=at))
        singly.learn_one(x, label, at=at)
    assert said == run.predictions.tolist()
    assert singly.predict_proba_one(X[60]) == pytest.approx(table.predict_proba_one(X[60]), rel=1e-9)


@pytest.mark.parametrize("at", [pd.NaT, np.datetime64("NaT"), math.nan, math.inf])
def test_a_row_whose_time_is_missing_is_refused(at):
    model = dl.RLS(half_life=1.0 if isinstance(at, float) else "1h")
    with pytest.raises(ValueError, match=r"RLS.learn_one: at is (NaN|inf).*; a row without a time cannot be placed"):
        model.learn_one(X[0], Y[0], at=at)


def test_a_half_life_may_change_but_not_to_another_kind_of_times():
    model = dl.RLS(half_life=10.0).fit(X, Y, times=TIMES)
    model.set_params(half_life=5.0)
    with pytest.raises(ValueError, match="half_life is '6h', but the times are numbers"):
        model.set_params(half_life="6h")
    assert model.half_life == 5.0
    model.learn_one(X[0], Y[0], at=TIMES[-1] + 1)


def test_the_certificate_gives_no_bound_that_is_proven_for_equal_steps():
    by_rows, by_clock = dl.LASER(drift_cost=50.0), dl.LASER(drift_cost=50.0, per=1.0)
    assert by_rows.fit(X, Y).certificate().bound is not None
    found = by_clock.fit(X, Y, times=TIMES).certificate()
    assert found.bound is None
    assert not found.conditions["the same time passes before each row"]
