"""Events, found in streams whose changes are known."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.base.events import KINDS

CHANGE, ROWS, NAMES = 2000, 2400, ["wind", "sun", "rain"]
SEEDS = range(4)
at = np.arange(ROWS) >= CHANGE


def stream(seed):
    """Two smooth inputs and a noisy one, and labels that follow them and themselves."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, 3))
    for t in range(1, ROWS):
        X[t, :2] = 0.9 * X[t - 1, :2] + 0.4 * X[t, :2]
    X += [8, 0, 3]
    left = rng.normal(size=ROWS)
    for t in range(1, ROWS):
        left[t] = 0.5 * left[t - 1] + 0.5 * left[t]
    return rng, X, 10 + X @ [2.0, 3.0, 0.5] + left


def first(X, y, model=None):
    """The first event from a day before the change on."""
    run = (model or dl.RLS(forgetting=0.999, missing="mean")).run(X, y)
    events = [event for event in run.events if event.row >= CHANGE - 24]
    assert events, run.events
    assert events == run.events, "nothing happens before"
    assert abs(events[0].row - CHANGE) <= 8
    assert CHANGE - 8 <= events[0].found < ROWS
    return events[0]


@pytest.mark.parametrize("seed", SEEDS)
def test_labels_that_shift(seed):
    _, X, y = stream(seed)
    event = first(X, y + 15 * at)
    assert (event.kind, event.column) == ("label_level", None)
    assert event.after - event.before == pytest.approx(15, rel=0.2)
    assert event.confidence > 0.75


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("factor", [0.6, 2.0])
def test_labels_that_are_scaled(seed, factor):
    _, X, y = stream(seed)
    event = first(X, y * np.where(at, factor, 1))
    assert (event.kind, event.column) == ("label_scale", None)
    assert event.after / event.before == pytest.approx(factor, rel=0.1)


@pytest.mark.parametrize("seed", SEEDS)
def test_labels_that_stick(seed):
    _, X, y = stream(seed)
    y[CHANGE : CHANGE + 12] = y[CHANGE - 1]
    event = first(X, y)
    assert (event.kind, event.row, event.after) == ("label_stuck", CHANGE - 1, y[CHANGE - 1])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("rows", [3, 10, 48])
def test_labels_that_come_late(seed, rows):
    _, X, y = stream(seed)
    y[CHANGE:] = y[CHANGE - rows : -rows].copy()
    event = first(X, y)
    assert (event.kind, event.row, event.after) == ("label_late", CHANGE, rows)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_input_that_sticks(seed):
    _, X, y = stream(seed)
    X[CHANGE : CHANGE + 60, 1] = X[CHANGE - 1, 1]
    event = first(X, y)
    assert (event.kind, event.column, event.row) == ("input_stuck", 1, CHANGE - 1)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_input_that_moves(seed):
    _, X, y = stream(seed)
    X[at, 1] += 7
    event = first(X, y)
    assert (event.kind, event.column) == ("input_moved", 1)
    assert event.after - event.before == pytest.approx(7, rel=0.2)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("factor", "offset"), [(1.8, 32), (1, 273.15), (1000, 0), (0.3048, 0)])
def test_an_input_in_other_units(seed, factor, offset):
    _, X, y = stream(seed)
    X[at, 0] = factor * X[at, 0] + offset
    event = first(X, y)
    assert (event.kind, event.column) == ("input_units", 0)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_input_outside_its_range(seed):
    _, X, y = stream(seed)
    X[CHANGE, 2] = 60.0
    event = first(X, y)
    assert (event.kind, event.column, event.row, event.after) == ("input_range", 2, CHANGE, 60.0)
    assert event.before == X[:CHANGE, 2].max()


@pytest.mark.parametrize("seed", SEEDS)
def test_an_input_that_goes_missing(seed):
    rng, X, y = stream(seed)
    X[at & (rng.random(ROWS) < 0.6), 2] = np.nan
    X[CHANGE, 2] = np.nan
    event = first(X, y)
    assert (event.kind, event.column, event.row, event.before) == ("input_missing", 2, CHANGE, 0)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_effect_that_changes(seed):
    _, X, y = stream(seed)
    event = first(X, y - 5 * at * X[:, 1])
    assert (event.kind, event.column) == ("effect_changed", 1)
    assert event.before == pytest.approx(3, rel=0.3)
    assert event.after == pytest.approx(-2, rel=0.3)


@pytest.mark.parametrize("seed", SEEDS)
def test_noise(seed):
    rng, X, y = stream(seed)
    event = first(X, y + 4 * at * rng.normal(size=ROWS))
    assert (event.kind, event.column) == ("noise", None)
    assert event.after > 4 * event.before


@pytest.mark.parametrize("seed", SEEDS)
def test_a_few_outliers(seed):
    _, X, y = stream(seed)
    y[[CHANGE, CHANGE + 3]] += [40, -30]
    event = first(X, y)
    assert (event.kind, event.column, event.row, event.after) == ("outliers", None, CHANGE, 2)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_season_that_shifts(seed):
    """Labels of a daily cycle come two rows earlier: beyond the change they are as before, but not at their hour."""
    rng = np.random.default_rng(seed)
    hour = np.arange(ROWS + 2) % 24
    y = rng.normal(size=24)[hour] * 5 + 0.3 * rng.normal(size=ROWS + 2)
    y[CHANGE:-2] = y[CHANGE + 2 :].copy()
    X = np.column_stack([np.cos(2 * np.pi * hour / 24), np.sin(2 * np.pi * hour / 24)])
    event = first(X[:ROWS], y[:ROWS])
    assert (event.kind, event.after) == ("season_shifted", 2)


def test_a_new_category_of_a_frame():
    pandas = pytest.importorskip("pandas")
    rng, X, y = stream(0)
    weather = rng.choice(["dry", "wet"], ROWS)
    weather[at & (rng.random(ROWS) < 0.3)] = "ice"
    weather[CHANGE] = "ice"
    frame = pandas.DataFrame({"weather": weather, "wind": X[:, 0]})
    run = dl.RLS(forgetting=0.999).run(frame, y)
    assert [(event.kind, event.column, event.row, event.text) for event in run.events if event.column] == [
        ("category_new", "weather", CHANGE, "ice")
    ]
    assert [event.text for event in run.explain(CHANGE, CHANGE + 200) if event.column] == ["ice"]


def test_a_new_category_among_many_is_an_event_where_new_ones_are_rare():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    towns = np.array([f"town {number}" for number in rng.integers(0, 40, 8_000)], dtype=object)
    towns[6_007:6_500:3] = "port"
    watch = dl.Watch()
    watch.update_many(rng.normal(size=8_000), np.zeros(8_000), pandas.DataFrame({"town": towns}))
    found = [event for event in watch.events if event.column == "town"]
    assert [(event.kind, event.row, event.before, event.text) for event in found] == [("category_new", 6_007, 40, "port")]
    assert found[0].sentence() == "town has a new value, 'port'"


def test_a_column_of_ids_takes_bounded_memory_and_has_no_events():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    watch = dl.Watch()
    for start in range(0, 20_000, 5_000):
        ids = pandas.DataFrame({"id": [f"order {number}" for number in range(start, start + 5_000)]})
        watch.update_many(rng.normal(size=5_000), np.zeros(5_000), ids)
    assert len(watch.__getstate__()["codes"]["id"]) <= 4_096
    assert not watch.events


@pytest.mark.parametrize("seed", SEEDS)
def test_two_changes_are_two_events(seed):
    _, X, y = stream(seed)
    y = y + 15 * at
    X[2250:, 1] += 7
    run = dl.RLS(forgetting=0.999).run(X, y)
    assert [event.kind for event in run.events] == ["label_level", "input_moved"]


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["normal", "student", "uniform"]))
def test_untouched_streams_have_hardly_an_event(seed, kind):
    """At most one in 2,000 rows, of 8,000."""
    rng = np.random.default_rng(seed)
    draw = {"normal": rng.standard_normal, "student": lambda size: rng.standard_t(3, size), "uniform": rng.random}[kind]
    X, y = draw((8000, 4)), draw(8000)
    assert len(dl.RLS().run(X, y).events) <= 4


def changing(seed):
    rng, X, y = stream(seed)
    y = y * np.where(np.arange(ROWS) >= 900, 1.6, 1)
    X[1500:, 1] += 9
    y[1700:1720] = y[1700]
    X[rng.integers(0, ROWS, 20), 2] = np.nan
    return y, y + rng.normal(size=ROWS), X


@settings(max_examples=20)
@given(st.integers(0, 3), st.lists(st.integers(0, ROWS), max_size=6))
def test_cutting_the_rows_into_blocks_changes_no_event(seed, cuts):
    y, predictions, X = changing(seed)
    whole, cut = dl.Watch(), dl.Watch()
    whole.update_many(y, predictions, X)
    for rows in np.split(np.arange(ROWS), sorted(cuts)):
        cut.update_many(y[rows], predictions[rows], X[rows])
    assert len(whole.events) >= 3
    assert cut.events == whole.events


def test_a_run_has_the_events_of_a_watch_fed_row_by_row():
    _, X, y = stream(1)
    y[CHANGE:] *= 0.6
    run, watch = dl.RLS().run(X, y), dl.Watch()
    for t in range(ROWS):
        watch.update(y[t], run.predictions[t], X[t])
    assert run.events
    assert watch.events == run.events


def test_events_do_not_depend_on_what_is_seen_of_them():
    y, predictions, X = changing(0)
    plain, asked = dl.Watch(), dl.Watch()
    plain.update_many(y, predictions, X)
    for start in range(0, ROWS, 50):
        rows = slice(start, start + 50)
        asked.update_many(y[rows], predictions[rows], X[rows])
        assert asked.events is not None
    assert asked.events == plain.events


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_other_types_and_layouts_are_read(dtype):
    y, predictions, X = changing(0)
    X = np.nan_to_num(np.round(X * 100)).astype(dtype)
    one, other = dl.Watch(), dl.Watch()
    one.update_many(y, predictions, np.asfortranarray(X))
    other.update_many(y, predictions, X.astype(np.float64))
    assert one.events == other.events != []


def test_wide_rows_are_watched_without_inputs():
    rng, _, y = stream(0)
    run = dl.RLS().run(rng.normal(size=(ROWS, 129)), y)
    assert all(event.column is None for event in run.events)


def test_bad_arguments_are_refused():
    watch = dl.Watch()
    with pytest.raises(ValueError, match=r"^Watch: false_every must be"):
        dl.Watch(false_every=1)
    with pytest.raises(ValueError, match=r"^Watch.update_many: y and predictions .* got shapes \(3,\) and \(2,\)"):
        watch.update_many([1, 2, 3], [1, 2])
    with pytest.raises(ValueError, match=r"^Watch.update_many: X has 1 rows, y has 2"):
        watch.update_many([1, 2], [1, 2], [[1.0]])
    assert watch.events == []


def explained(X, y, start, stop):
    return dl.RLS(forgetting=0.999, missing="mean").run(X, y).explain(start, stop)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_period_is_explained(seed):
    rng, X, y = stream(seed)
    period = (np.arange(ROWS) >= 1600) & (np.arange(ROWS) < 1700)
    found = explained(X, y * np.where(period, 0.6, 1), 1600, 1700)
    assert [(event.kind, event.column, event.row) for event in found] == [("label_scale", None, 1600)]
    assert found[0].after / found[0].before == pytest.approx(0.6, rel=0.1)
    moved, missing = X.copy(), X.copy()
    moved[period, 1] += 8
    missing[period & (rng.random(ROWS) < 0.6), 0] = np.nan
    assert [(event.kind, event.column) for event in explained(moved, y, 1600, 1700)] == [("input_moved", 1)]
    assert [(event.kind, event.column) for event in explained(missing, y, 1600, 1700)] == [("input_missing", 0)]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_quiet_period_is_unknown(seed):
    _, X, y = stream(seed)
    found = explained(X, y, 1500, 1600)
    assert [event.kind for event in found] == ["unknown"]


def test_periods_without_rows_before_are_refused():
    _, X, y = stream(0)
    with pytest.raises(ValueError, match=r"^Run.explain: start must be at least 128"):
        explained(X, y, 100, 200)
    with pytest.raises(ValueError, match=r"^Run.explain: start and stop must be in order, from 0 to 2,400"):
        explained(X, y, 300, 2401)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_sentence(kind):
    event = dl.Event(7, 9, kind, None if kind.startswith("label") else "wind", 2.0, 3.0, 0.9)
    assert str(event).startswith("row 7: ")
    assert "{" not in str(event)


@pytest.mark.parametrize("cut", [0, 1, 500, 1010, 1750, 2200])
def test_a_watch_continues_from_a_copy(cut):
    y, predictions, X = changing(1)
    whole, part = dl.Watch(), dl.Watch()
    whole.update_many(y, predictions, X)
    part.update_many(y[:cut], predictions[:cut], X[:cut])
    part = pickle.loads(pickle.dumps(part))
    part.update_many(y[cut:], predictions[cut:], X[cut:])
    assert part.events == whole.events


def test_an_invalid_state_is_refused_and_changes_nothing():
    y, predictions, X = changing(1)
    watch = dl.Watch()
    watch.update_many(y, predictions, X)
    good, events = watch.__getstate__(), watch.events
    for name in (name for name in good if name.startswith("watch_")):
        for bad in (good[name][:-1], np.append(good[name], 1.0), np.full_like(good[name], 1e300)):
            if bad.shape == good[name].shape and np.array_equal(bad, good[name]):
                continue
            try:
                watch.__setstate__({**good, name: bad})
            except ValueError:
                continue
            assert name in ("watch_tail", "watch_channels", "watch_onsets", "watch_suspects"), name
            watch.update_many(y, predictions, X)  # whatever it finds
    watch.__setstate__(good)
    assert watch.events == events


def test_rows_without_inputs_may_follow_rows_with_them():
    y, predictions, X = changing(1)
    watch = dl.Watch()
    watch.update_many(y, predictions, X)
    watch.update_many(y, predictions)
    watch.update_many(y, predictions, X)
    assert {"input_missing"} <= {event.kind for event in watch.events}
