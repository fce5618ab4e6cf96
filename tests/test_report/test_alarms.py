"""The table of alarms: when errors rose, by how much, for how long, and what changed at that time."""

import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.report import RunLog
from driftline.report.alarm_log import AFTER, AlarmLog
from driftline.report.alarms import alarm_lines
from driftline.report.contributions import contributions
from driftline.report.facts import Facts
from driftline.report.headline import headline

JUMP = 1_500


def jumping(after=4.0, until=None, rows=2_500, seed=0):
    """Errors of standard deviation 1 that grow at row JUMP and, if `until` is given, shrink again."""
    rng = np.random.default_rng(seed)
    size = np.where((np.arange(rows) >= JUMP) & (np.arange(rows) < (until or rows)), after, 1.0)
    return size * rng.normal(size=rows)


def log_of(errors, X=None, predictions=None, **options):
    predictions = np.zeros(len(errors)) if predictions is None else predictions
    return RunLog.of(dl.Run(predictions=predictions, errors=errors), X, **options)


def lines_of(log):
    facts = Facts(log)
    return alarm_lines(facts, contributions(facts))


def test_the_table_states_by_how_much_the_errors_rose():
    errors = jumping()
    log = log_of(errors)
    (record,) = log.alarms.records()
    (row,) = dl.Run(predictions=np.zeros(len(errors)), errors=errors).alarms
    assert record.row == row
    assert abs(record.onset - JUMP) <= 2
    before, during = errors[record.onset - 1024 : record.onset], errors[record.onset : record.onset + AFTER]
    assert record.before == pytest.approx(np.sqrt(np.mean(before**2)), rel=1e-12)
    assert record.during == pytest.approx(np.sqrt(np.mean(during**2)), rel=1e-12)
    (line,) = lines_of(log)
    assert (line.since, line.when) == (f"row {record.onset:,}", f"row {row:,}")
    assert line.ratio == pytest.approx(4, rel=0.25)


def test_the_worst_rows_are_the_largest_errors_from_the_onset_on():
    errors = jumping()
    log = log_of(errors)
    (record,) = log.alarms.records()
    during = np.arange(record.onset, record.onset + AFTER)
    worst = during[np.argsort(-np.abs(errors[during]))[:5]]
    assert record.worst[:, 0].tolist() == worst.tolist()
    assert [row[4] for row in lines_of(log)[0].worst] == pytest.approx(errors[worst])


def findings_of(log):
    return " ".join(headline(Facts(log), lines_of(log)))


@pytest.mark.parametrize(("until", "said"), [(JUMP + 300, "It has recovered"), (None, "It has not recovered")])
def test_the_report_says_whether_the_error_has_recovered(until, said):
    errors = jumping(until=until)
    log = log_of(errors)
    (line,) = lines_of(log)
    lately = np.sqrt(np.mean(errors[-500:] ** 2))
    assert line.now == pytest.approx(lately / line.before, rel=1e-9)
    assert line.worse == (until is None)
    found = findings_of(log)
    assert (
        f"The error rose once, at {line.since}, from {line.before:.3g} to {line.during:.3g}. Why: {line.causes[0]} {said}"
        in found
    )
    assert f"{said}: {lately:.3g} in the last 500 rows, {line.before:.3g} before." in found
    if until is None:
        assert line.back is None
        assert line.outcome == f"Yes, ever since: now {line.now:.1f} times the earlier error."
    else:
        assert line.back == pytest.approx(until, abs=8)
        lasted = f"{line.back - line.row:,.0f} rows"
        assert (
            line.outcome
            == f"No, recovered at row {line.back:,.0f}, after {lasted}: now {line.now:.1f} times the earlier error."
        )


def test_an_error_that_recovered_and_rose_again_without_an_alarm_is_not_recovered():
    errors = np.concatenate([jumping(until=JUMP + 300), 1.5 * np.random.default_rng(1).normal(size=600)])
    first, *_ = lines_of(log_of(errors))
    assert first.back == pytest.approx(JUMP + 300, abs=8)
    assert first.outcome.startswith(f"It recovered at row {first.back:,.0f}, after ")
    assert first.outcome.endswith(
        f" but rose again: now {np.sqrt(np.mean(errors[-500:] ** 2)) / first.before:.1f} times the earlier error."
    )


def test_small_errors_at_night_do_not_count_as_recovery():
    """Rows 1,600 to 1,690 are quiet, but the alarm itself took as long, and the season is longer."""
    rng = np.random.default_rng(2)
    hour = np.arange(4_000) % 168
    errors = rng.normal(size=4_000) * np.where(hour < 100, 1.0, 0.2)
    errors[JUMP:3_000] *= 3
    labels = 20 * np.sin(2 * np.pi * np.arange(4_000) / 168)
    (line,) = lines_of(log_of(errors, predictions=labels))
    assert line.back == pytest.approx(3_000, abs=70)


@pytest.mark.parametrize("rows", [4_000, 40_000], ids=["a bucket a row", "rows in buckets"])
def test_after_a_quiet_stretch_the_error_is_compared_with_its_usual_level(rows):
    rng = np.random.default_rng(3)
    errors = rng.normal(size=rows)
    quiet = slice(rows - 2_000, rows - 900)
    errors[quiet] *= 0.1
    log = log_of(errors)
    line = lines_of(log)[-1]
    stretches = errors[: line.row // 256 * 256]
    stretches[0] = 0.0  # no label has arrived before it
    usual = np.median(np.sqrt(np.mean(stretches.reshape(-1, 256) ** 2, axis=1)))
    assert abs(line.row - quiet.stop) <= 5
    assert line.before == pytest.approx(0.1, rel=0.1)
    assert line.level == pytest.approx(usual, rel=0.01)
    assert line.causes[0] == f"A quiet stretch ended: the error is usually {line.level:.3g}."
    assert line.outcome.startswith("No, recovered at row ")
    assert line.outcome.endswith("now 1.0 times the usual error.")
    assert findings_of(log).endswith(f"rows, usually {line.level:.3g}.")
    assert "It has recovered: " in findings_of(log)


@pytest.mark.parametrize(
    ("more", "said"), [(30, "Too early to say: now "), (120, "Yes, ever since: now "), (900, "No, recovered ")]
)
def test_shortly_after_an_alarm_it_is_too_early_to_say(more, said):
    (alarm,) = log_of(jumping()).alarms.records()
    (line,) = lines_of(log_of(jumping(until=JUMP + 80)[: alarm.row + 1 + more]))
    assert line.outcome.startswith(said)
    assert line.outcome.endswith(f", {more} rows after the alarm.") == (more < AFTER)


def test_an_error_that_rose_twice_is_compared_with_the_level_before_the_first_rise():
    errors = np.random.default_rng(6).normal(size=4_000)
    errors[1_500:] *= 3
    errors[2_500:2_800] *= 4
    log = log_of(errors)
    first, second = lines_of(log)
    assert (first.back, second.back) == (
        None,
        pytest.approx(2_800, abs=8),
    )  # after the second rise it returned to the higher level
    assert (first.worse, second.worse) == (True, False)
    lately = np.sqrt(np.mean(errors[-500:] ** 2))
    said = f"It has not recovered: {lately:.3g} in the last 500 rows, {first.before:.3g} before."
    assert said in findings_of(log)


def test_durations_are_times_if_rows_have_times():
    times = np.datetime64("2024-01-01") + np.arange(2_500) * np.timedelta64(1, "h")
    (line,) = lines_of(log_of(jumping(until=JUMP + 240), times=times))
    assert line.outcome.startswith("No, recovered on 1")
    assert ", after 10 days: now 1.0 times the earlier error." in line.outcome
    assert line.since.startswith("3 Mar 2024, 1")


def test_an_input_that_moves_is_named_and_a_season_is_not():
    errors = jumping()
    rng = np.random.default_rng(1)
    hour = np.sin(2 * np.pi * np.arange(len(errors)) / 24)
    wind = 5 + rng.normal(size=len(errors)) + np.where(np.arange(len(errors)) >= JUMP, 4.0, 0.0)
    calm = rng.normal(size=len(errors))
    (line,) = lines_of(log_of(errors, np.column_stack([hour, wind, calm]), names=["hour", "wind", "calm"]))
    assert re.fullmatch(r"wind is [89]\.\d+ on average, instead of [45](\.\d+)?\.", line.causes[0])
    assert not any(name in cause for cause in line.causes for name in ("hour", "calm"))


def test_a_label_that_moves_and_a_bias_are_named():
    errors = jumping(after=1.0) + np.where(np.arange(2_500) >= JUMP, 5.0, 0.0)
    log = log_of(errors)
    (record,), (line,) = log.alarms.records(), lines_of(log)
    mean = errors[record.onset : record.onset + 64].mean()
    assert mean == pytest.approx(5, abs=0.5)
    assert re.fullmatch(r"y is [45]\.\d+ on average, instead of −?0\.\d+\.", line.causes[0])
    assert line.causes[1:] == [f"predictions too low by {mean:.2f} on average"]


def test_an_effect_that_changed_is_named():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(4_000, 2))
    slope = np.where(np.arange(4_000) < 2_000, 4.0, -4.0)
    y = slope * X[:, 0] + 2 * X[:, 1] + 0.5 * rng.normal(size=4_000)
    model = dl.RLS(forgetting=0.9)
    (line,) = lines_of(RunLog.of(model.run(X, y), X, names=["wind", "sun"]))
    (cause,) = [cause for cause in line.causes if cause.startswith("effect of ")]
    before, after = (float(word.replace("−", "-")) for word in cause.removeprefix("effect of wind ").split(" → "))
    assert before == pytest.approx(4.0, rel=0.25)
    assert after == pytest.approx(-4.0, rel=0.25)


def test_a_memory_that_shrank_is_named():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3_000, 2))
    y = np.where(np.arange(3_000) < JUMP, 1.0, -6.0) * X[:, 0] + 0.2 * rng.normal(size=3_000)
    model = dl.Auto()
    log = RunLog()
    run = model.run(X, y, weights_every=log.weights_every(3_000))
    log.add(run, X, y, model=model)
    first = lines_of(log)[0]
    (said,) = [cause for cause in first.causes if cause.startswith("memory")]
    then, now = (float(word.replace(",", "")) for word in said.removeprefix("memory ").removesuffix(" rows").split(" → "))
    kept = (run.snapshots >= JUMP) & (run.snapshots < JUMP + 200)
    assert now == pytest.approx(run.memory[kept].min(), rel=0.1, abs=1)
    assert then >= 3 * now


@settings(max_examples=20)
@given(cuts=st.lists(st.integers(1, 2_499), max_size=6), resume=st.booleans())
def test_alarms_do_not_depend_on_how_the_stream_is_cut(cuts, resume):
    errors = jumping(until=JUMP + 200)
    rows = np.column_stack([np.arange(2_500.0), errors, np.zeros(2_500), np.full((2_500, 2), np.nan)])
    alarms = np.flatnonzero(np.isin(np.arange(2_500), [700, 1_510, 1_600, 2_490]))
    whole, log = AlarmLog(), AlarmLog()
    whole.add(rows, alarms)
    for start, stop in pairwise([0, *sorted(set(cuts)), 2_500]):
        log.add(rows[start:stop], alarms[(alarms >= start) & (alarms < stop)])
        log = AlarmLog.restore(log.state()) if resume else log
    assert [record.row for record in log.records()] == alarms.tolist()
    for mine, theirs in zip(log.records(), whole.records(), strict=True):
        for name, value in vars(mine).items():
            np.testing.assert_array_equal(value, getattr(theirs, name), err_msg=name)


def test_many_alarms_take_bounded_memory_and_the_latest_are_kept():
    log = AlarmLog()
    rng = np.random.default_rng(5)
    for start in range(0, 80_000, 8_000):
        rows = np.column_stack([start + np.arange(8_000.0), rng.normal(size=(8_000, 4))])
        log.add(rows, start + np.arange(0, 8_000, 100))
    records = log.records()
    assert (log.count, len(records), records[-1].row) == (800, 512, 79_900)
    assert sum(len(record.rows) > 0 for record in records) == 32
    size = sum(value.nbytes for value in log.state().values() if isinstance(value, np.ndarray))
    assert size < 2**20
