"""Fleets whose keys learn from each other."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

import driftline as dl
from driftline import _core
from driftline.fleet.pooled import FEATURES
from tests.cases import for_each
from tests.reference import pooled as reference

from .apart import require_same

LEARNERS = [dl.RLS(forgetting=0.99), dl.NLMS(), dl.Auto(), dl.Kernel(budget=10)]


def panel(keys=6, rows=150, seed=0, spread=3.0):
    """Rows of keys that enter one after another; each has a level of its own, and weights near common ones."""
    rng = np.random.default_rng(seed)
    weights, levels = 1.0 + 0.2 * rng.standard_normal((keys, 2)), spread * rng.standard_normal(keys)
    which = np.array([rng.integers(0, 1 + row * keys // rows) for row in range(rows)])
    X = rng.standard_normal((rows, 2))
    return which, X, np.sum(X * weights[which], axis=1) + levels[which] + 0.1 * rng.standard_normal(rows)


def answers(fleet, keys, X, y, delay=0):
    """Asks every row and tells it ``delay`` rows later; returns predictions, intervals and quantiles."""
    waiting, out = [], []
    for key, x, label in zip(keys, X, y, strict=True):
        ticket = fleet.ask(key, x)
        out.append([ticket.prediction, *ticket.interval(0.9), *ticket.quantiles([0.1, 0.5])])
        waiting.append((ticket, label))
        if len(waiting) > delay:
            fleet.tell(*waiting.pop(0))
    for ticket, label in waiting:
        fleet.tell(ticket, label)
    return np.array(out)


def test_predictions_are_those_of_the_plain_formula():
    keys, X, y = panel(keys=4, rows=48)
    days = [list(zip(keys[k : k + 4].tolist(), X[k : k + 4], y[k : k + 4].tolist(), strict=True)) for k in range(0, 48, 4)]
    shared = dl.RLS(forgetting=0.999)
    fleet, found = dl.Fleet(dl.RLS(forgetting=0.99), pooled=shared), []
    for rows in days:
        tickets = [fleet.ask(key, x) for key, x, _ in rows]
        found += [ticket.prediction for ticket in tickets]
        for ticket, (_, _, label) in zip(tickets, rows, strict=True):
            fleet.tell(ticket, label)

    def pool(X, y, z):
        least = reference.Least(0.999, 1.0)
        least.rows = [(np.append(x, 1.0), label) for x, label in zip(X, y, strict=True)]
        return least.predict(np.append(z, 1.0))

    np.testing.assert_allclose(found, reference.predict(days, 0.99, pool), rtol=1e-7, atol=1e-9)


@for_each("learner", LEARNERS)
def test_run_is_the_loop(learner):
    keys, X, y = panel()
    run_by, asked, learned = (dl.Fleet(learner, pooled=True) for _ in range(3))
    run = run_by.run(keys, X, y, level=0.9, quantiles=[0.1, 0.5])
    found = np.column_stack([run.predictions, run.lower, run.upper, run.quantiles])
    assert np.array_equal(answers(asked, keys.tolist(), X, y), found)
    for key, x, label in zip(keys.tolist(), X, y, strict=True):
        learned.learn_one(key, x, label)
    for other in (asked, learned):
        assert np.array_equal(run_by.predict_many(keys, X), other.predict_many(keys, X))
        assert np.array_equal(run_by.predict_quantiles(keys, X), other.predict_quantiles(keys, X))
        assert np.array_equal(run_by.summary()["mse"], other.summary()["mse"])
    for key in range(6):
        alone = learner.clone().partial_fit(X[keys == key], y[keys == key])
        require_same(run_by[key], alone)
        assert run_by.predict_one(key, X[0]) == run_by.predict_many([key], X[:1])[0]
        lower, upper = run_by.predict_intervals([key], X[:1])
        assert run_by.predict_interval(key, X[0]) == (lower[0], upper[0])


@for_each("learner", [dl.RLS(), dl.Auto()])
def test_pieces_copies_files_and_parts_change_nothing(learner):
    keys, X, y = panel()
    names = np.array(["oslo", "rome", "lima", "bonn", "cork", "kobe"])[keys]
    whole, pieces, out = dl.Fleet(learner, pooled=True, alarms=True), dl.Fleet(learner, pooled=True, alarms=True), []
    expected = whole.run(names, X, y, level=0.9)
    ways = [
        lambda fleet: dl.from_bytes(fleet.to_bytes()),
        lambda fleet: pickle.loads(pickle.dumps(fleet)),
        lambda fleet: dl.Fleet.merge(fleet.split(3)),
    ]
    for place, way in enumerate(ways):
        before = copy.deepcopy(pieces)
        rows = slice(50 * place, 50 * place + 50)
        out.append(pieces.run(names[rows], X[rows], y[rows], level=0.9))
        assert place == 0 or before.summary()["rows"].sum() == 50 * place
        pieces = way(pieces)
    assert np.array_equal(np.concatenate([run.predictions for run in out]), expected.predictions)
    assert np.array_equal(np.concatenate([run.lower for run in out]), expected.lower)
    assert np.array_equal(pieces.predict_many(pieces.keys_, X[:6]), whole.predict_many(pieces.keys_, X[:6]))
    assert pieces.pool_.n_seen_ == 150


def test_tickets_wait_across_files():
    keys, X, y = panel()
    one, other = dl.Fleet(dl.RLS(), pooled=True), dl.Fleet(dl.RLS(), pooled=True)
    for fleet in (one, other):
        answers(fleet, keys[:60].tolist(), X[:60], y[:60])
    tickets = [one.ask(key, x) for key, x in zip(keys[60:70].tolist(), X[60:70], strict=True)]
    for ticket, label in zip(tickets, y[60:70], strict=True):
        one.tell(ticket, label)
    assert all(copy.copy(ticket).told for ticket in tickets)
    waiting = [
        dl.FleetTicket.from_bytes(other.ask(key, x).to_bytes())
        for key, x in zip(keys[60:70].tolist(), X[60:70], strict=True)
    ]
    other = dl.from_bytes(other.to_bytes())
    for ticket, label in zip(waiting, y[60:70], strict=True):
        other.tell(ticket, label)
    assert one.predict_one(1, X[0]) == other.predict_one(1, X[0])
    with pytest.raises(ValueError, match="already been told"):
        other.tell(waiting[0], 1.0)


@for_each("learner", [dl.RLS(), dl.Auto()])
def test_the_order_of_questions_does_not_matter(learner):
    keys, X, y = panel()
    fleets = [dl.Fleet(learner, pooled=True) for _ in range(2)]
    for fleet in fleets:
        fleet.learn_many(keys[:100], X[:100], y[:100])
    rows = np.arange(100, 106)
    found = []
    for fleet, order in zip(fleets, (rows, rows[::-1]), strict=True):
        tickets = {int(row): fleet.ask(int(keys[row]), X[row]) for row in order}
        found.append([tickets[row].prediction for row in rows.tolist()])
        for row in rows.tolist():
            fleet.tell(tickets[row], y[row])
    assert found[0] == found[1]
    assert np.array_equal(fleets[0].predict_many(keys, X), fleets[1].predict_many(keys, X))


def test_a_new_key_is_predicted_by_the_others():
    keys, X, y = panel(keys=30, rows=1500, spread=1.0)
    for learner in (dl.RLS(), dl.Auto()):
        fleet = dl.Fleet(learner, pooled=True, named=True)
        assert fleet.predict_interval("new", X[0]) == (-np.inf, np.inf)
        run = fleet.run(keys.tolist(), X, y, level=0.9)
        first = np.unique(keys, return_index=True)[1][10:]
        assert np.isfinite(run.lower[first]).all()
        width = run.upper - run.lower
        assert np.median(width[first]) > 1.5 * np.median(width[-200:])  # the width says that the key is new
        assert np.mean(run.losses[first]) < 0.7 * np.mean(y[first] ** 2)
        assert "new" not in fleet
        assert np.isfinite(fleet.predict_interval("new", X[0])).all()
        assert fleet.predict_one("new", X[0]) == fleet.ask("new", X[0]).pool.prediction


def test_keys_with_nothing_in_common_are_left_to_themselves():
    rng = np.random.default_rng(1)
    keys, X, weights = np.tile(np.arange(30), 80), rng.standard_normal((2400, 3)), 2 * rng.standard_normal((30, 3))
    y = np.sum(X * weights[keys], axis=1) + 0.5 * rng.standard_normal(2400)
    learner = dl.RLS(forgetting=0.999)
    fleet = dl.Fleet(learner, pooled=True)
    pooled, alone = fleet.run(keys, X, y).losses, dl.Fleet(learner).run(keys, X, y).losses
    assert pooled[30 * 5 :].mean() < 1.02 * alone[30 * 5 :].mean()
    assert (fleet.summary()["share"] > 0.9).all()


def test_columns_of_frames_text_and_mappings():
    keys, X, y = panel()
    frame = pd.DataFrame(X, columns=["price", "rain"])
    named, plain = dl.Fleet(dl.RLS(), pooled=True), dl.Fleet(dl.RLS(), pooled=True)
    run = named.run(keys, frame, y)
    assert np.array_equal(run.predictions, plain.run(keys, X, y).predictions)
    assert named.pool_.feature_names_in_.tolist() == ["price", "rain", *FEATURES]
    row = {"price": 1.0, "rain": 2.0}
    assert named.predict_one(1, row) == plain.predict_one(1, [1.0, 2.0])
    frame["weather"] = np.where(X[:, 0] > 0, "wet", "dry")
    for learner in (dl.RLS(), dl.Auto()):
        texts, loop = dl.Fleet(learner, pooled=True), dl.Fleet(learner, pooled=True)
        found = texts.run(keys, frame, y).predictions
        for key, (_, line), label in zip(keys.tolist(), frame.iterrows(), y, strict=True):
            loop.learn_one(key, line.to_dict(), label)
        assert np.isfinite(found).all()
        assert np.array_equal(texts.predict_many(keys, frame), loop.predict_many(keys, frame))


def test_summary_and_drop():
    keys, X, y = panel()
    fleet = dl.Fleet(dl.RLS(), pooled=True)
    run = fleet.run(keys, X, y, level=0.8)
    table, before = fleet.summary(), fleet.predict_one(9, X[0])
    for key in range(6):
        mine = keys == key
        assert table["mse"][key] == pytest.approx(run.losses[mine].mean())
        finite = np.isfinite(run.upper[mine])
        assert table["coverage"][key] == pytest.approx(
            np.mean((run.lower <= y)[mine] & (y <= run.upper)[mine], where=finite)
        )
        assert (
            table["level"][key] == pytest.approx(reference.smoothed(y[mine], 0.02))
            if mine.any()
            else np.isnan(table["level"][key])
        )
    assert 0 < table["share"][0] < 1.5
    assert (table["share"][5] == 0) == (np.count_nonzero(keys == 5) == 0)
    fleet.drop([0])
    assert fleet.predict_one(0, X[0]) == fleet.predict_one(9, X[0]) == before
    assert "share" not in dl.Fleet(dl.RLS()).summary()
    assert {len(column) for column in dl.Fleet(dl.RLS(), pooled=True).summary().values()} == {0}


@for_each("learner", [dl.RLS(low=0.0, high=4.0), dl.Auto(low=0.0, high=4.0)])
def test_answers_stay_in_the_range_of_labels(learner):
    keys, X, y = panel()
    fleet, y = dl.Fleet(learner, pooled=True), np.clip(y, 0.0, 4.0)
    run = fleet.run(keys, X, y, level=0.9)
    assert (run.predictions >= 0).all()
    assert (run.lower >= 0).all()
    assert (run.upper <= 4).all()
    with pytest.raises(ValueError, match="5"):
        fleet.learn_one(0, X[0], 5.0)


@for_each("learner", [dl.RLS(missing="skip"), dl.Auto(missing="skip")])
def test_rows_without_values_or_weight_teach_nothing(learner):
    keys, X, y = panel()
    gaps, weight, holes = y.copy(), np.ones(150), X.copy()
    gaps[40], weight[60], holes[0, 1], holes[80] = np.nan, 0.0, np.nan, np.nan
    fleet, fewer = dl.Fleet(learner, pooled=True), dl.Fleet(learner, pooled=True)
    run = fleet.run(keys, holes, gaps, sample_weight=weight)
    assert np.flatnonzero(np.isnan(run.predictions)).tolist() == [0, 80]
    kept = np.delete(np.arange(150), [0, 40, 60, 80])
    fewer.run(keys[kept], X[kept], y[kept])
    if isinstance(learner, dl.RLS):  # in Auto, a row that is skipped keeps its place among the lags
        assert np.array_equal(fleet.predict_many(keys, X), fewer.predict_many(keys, X))
    loop = dl.Fleet(learner, pooled=True)
    for row in range(150):
        loop.learn_one(int(keys[row]), holes[row], gaps[row], sample_weight=float(weight[row]))
    assert np.array_equal(loop.predict_many(keys, X), fleet.predict_many(keys, X))


@for_each("learner", [dl.RLS(), dl.WEMM(ridge=1e4), dl.Auto()])
def test_a_refused_call_changes_nothing(learner):
    keys, X, y = panel()
    fleet = dl.Fleet(learner, pooled=True, named=True)
    fleet.run(keys.tolist(), X, y)
    before, ticket = fleet.to_bytes(), fleet.ask("a", X[0])
    bad, late = X.copy(), y.copy()
    bad[70, 1], late[80] = np.nan, np.inf
    unpooled = dl.Fleet(learner, named=True)
    unpooled.run(keys.tolist(), X, y)
    for call, error, words in [
        (lambda: fleet.run(keys.tolist(), bad, y), ValueError, "Fleet.run: X has NaN in row 70, feature 1"),
        (lambda: fleet.learn_many(keys.tolist(), X, late), ValueError, "Fleet.learn_many: y .*row 80"),
        (lambda: fleet.run([None, *keys.tolist()[1:]], X, y), ValueError, "missing value"),
        (lambda: fleet.learn_one("a", [1.0, np.nan], 1.0), ValueError, "NaN"),
        (lambda: fleet.tell(ticket, np.nan), ValueError, "NaN"),
        (lambda: fleet.tell(unpooled.ask("a", X[0]), 1.0), ValueError, "a fleet without a pool"),
        (lambda: unpooled.tell(ticket, 1.0), ValueError, "a fleet with a pool"),
    ]:
        with pytest.raises(error, match=words):
            call()
    assert fleet.to_bytes() == before
    fleet.tell(ticket, 1.0)


def test_what_a_pool_cannot_be():
    trained = dl.RLS()
    trained.learn_one([1.0], 1.0)
    for make, error, words in [
        (lambda: dl.Fleet(dl.Classifier(dl.RLS()), pooled=True), ValueError, "pooled needs regressors"),
        (lambda: dl.Fleet(dl.RLS(), pooled=trained), ValueError, "pooled must be an untrained learner"),
        (lambda: dl.Fleet(dl.RLS(), pooled=3), (TypeError, ValueError), "Fleet: pooled must be"),
        (lambda: dl.Fleet(dl.RLS()).pool_, AttributeError, "pooled=True"),
        (lambda: dl.Fleet(dl.RLS(), pooled=True).run([0], np.ones((1, 1)), [[1.0, 2.0]]), ValueError, "label|shape|y"),
    ]:
        with pytest.raises(error, match=words):
            make()
    fleet, taken = dl.Fleet(dl.RLS(), pooled=True), pd.DataFrame({"key last": [1.0, 2.0]})
    for call in (
        lambda: fleet.run([0, 1], taken, [1.0, 2.0]),
        lambda: fleet.learn_one(0, {"key last": 1.0}, 1.0),
        lambda: dl.Fleet(dl.Auto(), pooled=True).run([0, 1], taken.assign(town=["a", "b"]), [1.0, 2.0]),
    ):
        with pytest.raises(ValueError, match="the feature 'key last' has the name of one that a pooled fleet adds; rename"):
            call()
    assert len(fleet) == 0
    fleets = [dl.Fleet(dl.RLS(), pooled=pooled, named=True) for pooled in (True, False)]
    for fleet in fleets:
        fleet.learn_one(str(fleet), [1.0], 1.0)
    with pytest.raises(ValueError, match="different learner"):
        dl.Fleet.merge(fleets)


def test_a_common_shock_is_not_an_alarm_of_every_key():
    rng = np.random.default_rng(2)
    keys = np.concatenate([rng.permutation(100) for _ in range(160)])
    X, later = rng.standard_normal((16000, 2)), np.arange(16000) > 8000
    y = X @ [1.0, -1.0] + 3 * rng.standard_normal(100)[keys] + 0.5 * rng.standard_normal(16000)
    shock, single = y + 5 * later, y + np.where(later & (keys == 7), 3 * X[:, 0] + 3, 0.0)
    learner = dl.RLS(forgetting=0.999)
    fleet, halves = dl.Fleet(learner, pooled=True, alarms=True), dl.Fleet(learner, pooled=True, alarms=True)
    alarms = fleet.run(keys, X, single).alarms
    assert set(keys[alarms].tolist()) == {7}
    table = fleet.summary()
    assert np.flatnonzero(table["alarms"]).tolist() == [7]
    assert table["last_alarm"][7] == np.count_nonzero(keys[: alarms[-1]] == 7)
    found = [halves.run(keys[:9000], X[:9000], single[:9000]).alarms]
    halves = dl.from_bytes(dl.Fleet.merge(halves.split(3)).to_bytes())
    found.append(9000 + halves.run(keys[9000:], X[9000:], single[9000:]).alarms)
    assert np.array_equal(np.concatenate(found), alarms)
    assert len(np.unique(keys[dl.Fleet(learner, pooled=True, alarms=True).run(keys, X, shock).alarms])) < 20
    assert len(np.unique(keys[dl.Fleet(learner, alarms=True).run(keys, X, shock).alarms])) == 100
    assert fleet.pool_alarms_ == halves.pool_alarms_ == 0
    shaken = dl.Fleet(learner, pooled=True)
    run = shaken.run(keys, X, shock)
    assert shaken.pool_alarms_ == len(run.pool_alarms) == 1
    assert 0 < run.pool_alarms[0] - 8000 < 100
    ticks, went = dl.Fleet(learner, pooled=True), []
    for start in range(0, 16000, 1600):
        part = slice(start, start + 1600)
        went += (start + ticks.run(keys[part], X[part], shock[part]).pool_alarms).tolist()
        ticks = dl.from_bytes(ticks.to_bytes())
    assert went == run.pool_alarms.tolist()
    assert dl.Fleet(learner).run(keys[:50], X[:50], shock[:50]).pool_alarms.tolist() == []
    with pytest.raises(AttributeError, match="pooled=True"):
        _ = dl.Fleet(learner).pool_alarms_
    fleet.drop([7])
    assert fleet.summary()["alarms"].sum() == 0


def test_common_errors_are_those_of_the_plain_formula():
    """The median of the latest 15 errors of other keys, if eight or more are above 1 in size and of one sign."""
    rng = np.random.default_rng(0)
    slots, sizes = rng.integers(0, 12, 400), rng.uniform(1, 2, 400)
    errors = sizes * (rng.standard_normal(400) + 4 * (np.arange(400) // 100 % 2) * np.where(np.arange(400) < 200, 1, -1))
    errors[rng.integers(0, 400, 20)] = np.nan
    keys, shared, common = np.zeros((12, _core.key_numbers)), np.zeros(_core.shared_numbers), np.zeros(_core.common_numbers)
    described = np.empty((12, _core.described_numbers)), np.empty(12, dtype=np.int64)
    _core.describe_keys(keys, shared, np.arange(12), np.ones(12), *described)
    left, blocks = np.empty(400), np.empty(400)
    _core.watch_keys(keys, shared, common, slots, errors, sizes, left, blocks)
    latest, block, last = [], [], None
    for row, (slot, error, size) in enumerate(zip(slots, errors, sizes, strict=True)):
        if np.isnan(error):
            assert np.isnan([left[row], blocks[row]]).all()
            continue
        ratios, of = [ratio for ratio, _ in latest[-15:]], {key for _, key in latest[-15:]}
        many = max(np.sum(np.array(ratios) > 1), np.sum(np.array(ratios) < -1)) >= 8 and len(of) >= 5
        median = np.median([0.0] * (15 - len(ratios)) + ratios) if many else 0.0
        assert left[row] == pytest.approx(error - size * median, abs=1e-12)
        if slot != last:
            latest.append((error / size, slot))
            block.append(np.clip(error / size, -2, 2))
        assert np.isnan(blocks[row]) == (slot == last or len(block) % 4 > 0)
        if not np.isnan(blocks[row]):
            assert blocks[row] == pytest.approx(np.mean(block[-4:]))
        last = slot
    assert np.mean(left[120:200][~np.isnan(left[120:200])]) < 1


@pytest.mark.parametrize("learner", [dl.RLS(forgetting=0.99), dl.Selective(dl.RLS()), dl.Transformed(dl.RLS(), "asinh")])
def test_errors_whose_squares_overflow_are_learned_like_others(learner):
    """The square of a Python float raises OverflowError, after the row was learned; that of an array warns."""
    keys, X, y = panel(rows=60)
    loop, run = dl.Fleet(learner, pooled=True), dl.Fleet(learner, pooled=True)
    for key, x, label in zip(keys, X, 1e200 * y, strict=True):
        loop.learn_one(key, x, label)
    run.run(keys, X, 1e200 * y)
    for fleet in (loop, run):
        assert fleet.summary()["rows"].sum() == 60
        assert (fleet.summary()["mse"] == np.inf).all()
