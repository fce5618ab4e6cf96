"""The log of a run by key, compared with plain sums."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.report.key_log import PIECES, KeyLog


def rows_of(seed, rows=2000, keys=5):
    rng = np.random.default_rng(seed)
    places = rng.choice(keys, size=rows, p=rng.dirichlet(np.full(keys, 0.5)))
    y = rng.normal(size=rows)
    said = y + rng.normal(size=rows)
    said[rng.random(rows) < 0.05] = np.nan
    alarms = np.sort(rng.choice(np.flatnonzero(~np.isnan(said)), size=12, replace=False))
    return places, y, said, alarms


def logged(places, y, said, alarms, cuts):
    log, start = KeyLog(history=True), 0
    for stop in [*sorted(cuts), len(y)]:
        mine = alarms[(alarms >= start) & (alarms < stop)] - start
        log.add(places[start:stop], y[start:stop], said[start:stop], mine, start)
        log = KeyLog.restore(log.state())
        start = stop
    return log


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 2000), max_size=3))
def test_the_summary_of_a_key_matches_its_rows_for_any_block_boundaries(seed, cuts):
    places, y, said, alarms = rows_of(seed)
    log, whole = logged(places, y, said, alarms, cuts), logged(places, y, said, alarms, [])
    for place, facts in log.ranked(["a", "b", "c", "d", "e"]):
        own = np.flatnonzero((places == place) & ~np.isnan(said))
        loss, raised = (y - said)[own] ** 2, np.isin(own, alarms)
        assert (facts.rows, facts.alarms) == (len(own), raised.sum())
        assert facts.rmse == (pytest.approx(np.sqrt(loss.mean())) if len(own) else None)
        if facts.alarms:
            last = np.flatnonzero(raised)[-1]
            assert facts.last_alarm == own[last]
            assert facts.before == pytest.approx(np.sqrt(loss[: last + 1].mean()))
            later = loss[last + 1 :]
            assert facts.since == (pytest.approx(np.sqrt(later.mean())) if len(later) else None)
        if len(own):
            assert_history(log.history(place), y[own], said[own], 1 + np.flatnonzero(raised)[-8:])
            np.testing.assert_array_equal(log.history(place)["rmse"], whole.history(place)["rmse"])


def assert_history(history, y, said, alarms):
    width = 1
    while len(y) > PIECES * width:
        width *= 2
    starts = np.arange(0, len(y), width)
    np.testing.assert_array_equal(history["row"], np.minimum(starts + width, len(y)))
    counts = np.diff(np.append(starts, len(y)))
    np.testing.assert_allclose(history["rmse"], np.sqrt(np.add.reduceat((y - said) ** 2, starts) / counts))
    np.testing.assert_allclose(history["label"], np.add.reduceat(y, starts) / counts, atol=1e-12)
    np.testing.assert_allclose(history["prediction"], np.add.reduceat(said, starts) / counts, atol=1e-12)
    np.testing.assert_array_equal(history["alarms"], alarms)


def test_keys_whose_errors_have_grown_come_first():
    log = KeyLog(history=False)
    places = np.repeat([0, 1, 2, 3], 10)
    grown = [np.repeat([1.0, times], 5) for times in (2.0, 4.0)]
    errors = np.concatenate([np.full(10, 9.0), *grown, np.zeros(10)])
    log.add(places, errors, np.zeros(40), np.array([14, 24]), 100)
    ranked = log.ranked(["large", "twice", "four times", "none"])
    assert [facts.key for _, facts in ranked] == ["four times", "twice", "large", "none"]
    assert [facts.last_alarm for _, facts in ranked] == [124, 114, -1, -1]
