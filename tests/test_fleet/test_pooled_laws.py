"""Laws of fleets whose keys learn from each other, on rows that Hypothesis draws."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl

LEARNERS = st.sampled_from([dl.RLS(forgetting=0.99), dl.NLMS(), dl.features.Standardize() | dl.Kalman()])


@st.composite
def days(draw):
    """Days of rows: each has some keys, once each, in any order, and features and labels of any size up to 100."""
    names = draw(st.lists(st.text(max_size=2), min_size=1, max_size=6, unique=True))
    number = st.floats(-100, 100, allow_subnormal=False)
    found = []
    for _ in range(draw(st.integers(1, 12))):
        keys = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
        rows = st.lists(st.tuples(number, number, number), min_size=len(keys), max_size=len(keys))
        found.append([(key, [a, b], y) for key, (a, b, y) in zip(keys, draw(rows), strict=True)])
    return found


def flat(days):
    keys, X, y = zip(*[row for rows in days for row in rows], strict=True)
    return list(keys), np.array(X), np.array(y)


def answers(fleet, keys, X):
    found = [fleet.predict_many(keys, X), *fleet.predict_intervals(keys, X), *fleet.predict_quantiles(keys, X).T]
    return np.array(found), np.array([fleet.summary()[name] for name in ("rows", "mse", "share", "alarms")])


def require_same(one, other, keys, X):
    for found, expected in zip(answers(one, keys, X), answers(other, keys, X), strict=True):
        np.testing.assert_array_equal(found, expected)


@given(learner=LEARNERS, days=days())
@settings(max_examples=25)
def test_run_is_the_loop(learner, days):
    keys, X, y = flat(days)
    run, loop, told = (dl.Fleet(learner, pooled=True, named=True, alarms=True) for _ in range(3))
    found = run.run(keys, X, y, level=0.5)
    for row, (key, x, label) in enumerate(zip(keys, X, y, strict=True)):
        assert loop.predict_one(key, x) == found.predictions[row]
        loop.learn_one(key, x, label)
        ticket = told.ask(key, x)
        assert ticket.interval(0.5) == (found.lower[row], found.upper[row])
        told.tell(ticket, label)
    require_same(run, loop, keys, X)
    require_same(run, told, keys, X)


@given(learner=LEARNERS, days=days(), cut=st.integers(0, 12), parts=st.integers(1, 4))
@settings(max_examples=25)
def test_a_fleet_that_was_split_and_merged_is_the_same(learner, days, cut, parts):
    whole, pieces = (dl.Fleet(learner, pooled=True, named=True, alarms=True) for _ in range(2))
    for day, rows in enumerate(days):
        for fleet in (whole, pieces):
            fleet.learn_many(*flat([rows]))
        if day == cut:
            pieces = dl.Fleet.merge([dl.from_bytes(part.to_bytes()) for part in pieces.split(parts)])
    keys, X, _ = flat(days)
    assert sorted(pieces.keys_) == sorted(whole.keys_)
    for found, expected in zip(answers(pieces, keys, X)[0], answers(whole, keys, X)[0], strict=True):
        np.testing.assert_array_equal(found, expected)


@given(learner=LEARNERS, days=days(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_the_order_in_which_the_rows_of_a_day_are_asked_does_not_matter(learner, days, seed):
    one, other = (dl.Fleet(learner, pooled=True, named=True, alarms=True) for _ in range(2))
    rng = np.random.default_rng(seed)
    for rows in days:
        tickets = [one.ask(key, x) for key, x, _ in rows]
        shuffled = {int(place): other.ask(*rows[place][:2]) for place in rng.permutation(len(rows))}
        for place, (ticket, (_, _, label)) in enumerate(zip(tickets, rows, strict=True)):
            assert ticket.prediction == shuffled[place].prediction
            one.tell(ticket, label)
            other.tell(dl.FleetTicket.from_bytes(shuffled[place].to_bytes()), label)
    keys, X, _ = flat(days)
    require_same(one, other, keys, X)


@given(learner=LEARNERS, days=days(), gone=st.integers(0, 5))
@settings(max_examples=25)
def test_dropping_a_key_leaves_the_pool_and_the_other_keys(learner, days, gone):
    keys, X, y = flat(days)
    fleet = dl.Fleet(learner, pooled=True, named=True)
    fleet.learn_many(keys, X, y)
    dropped = fleet.keys_[gone % len(fleet)]
    left = [row for row, key in enumerate(keys) if key != dropped]
    before, pool = answers(fleet, [keys[row] for row in left] or ["never"], X[left or [0]])[0], fleet.pool_.coef_
    unknown = fleet.predict_one(("never", "met"), X[0])
    fleet.drop([dropped])
    after = answers(fleet, [keys[row] for row in left] or ["never"], X[left or [0]])[0]
    np.testing.assert_array_equal(after, before)
    np.testing.assert_array_equal(fleet.pool_.coef_, pool)
    assert fleet.predict_one(dropped, X[0]) == unknown
