"""Alarms by key: the same as those of a separate dl.Alarm for each key."""

import numpy as np
import pytest

import driftline as dl

from .apart import keyed_rows

LEARNERS = [dl.RLS(forgetting=0.97), dl.NLMS(), dl.Kalman(dtype="float32"), dl.Auto(), dl.Averaged(dl.RLS())]


def drifting_rows(keys=6, count=3000, seed=5):
    """Rows of several keys; halfway, the noise of the even keys grows tenfold."""
    which, X, _ = keyed_rows(keys, count, seed=seed)
    noise = np.where((which % 2 == 0) & (np.arange(count) > count // 2), 3.0, 0.3)
    return which, X, X @ [1.0, 2.0, -1.0] + noise * np.random.default_rng(seed).normal(size=count)


def alarms_apart(keys, errors):
    """The rows at which a separate alarm for each key goes off."""
    found = []
    for key in np.unique(keys):
        mine = np.flatnonzero(keys == key)
        found += mine[dl.Alarm().update_many(errors[mine])].tolist()
    return sorted(found)


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_a_run_names_the_rows_at_which_the_alarm_of_their_key_goes_off(learner):
    keys, X, y = drifting_rows()
    run = dl.Fleet(learner, 6).run(keys, X, y)
    assert run.alarms.tolist() == alarms_apart(keys, run.errors)
    assert set(keys[run.alarms].tolist()) == {0, 2, 4}
    assert dl.Alarm().update_many(run.errors).tolist() != run.alarms.tolist()


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
@pytest.mark.parametrize("named", [True, False])
def test_alarms_of_the_fleet_carry_over_from_call_to_call(learner, named, tmp_path):
    keys, X, y = drifting_rows()
    names = [f"key {key}" for key in keys] if named else keys
    fleet = dl.Fleet(learner, named=named, alarms=True)
    plain = dl.Fleet(learner, named=named)
    found, alone, errors = [], [], []
    for start in (0, 1000, 1001, 2000):
        stop = {0: 1000, 1000: 1001, 1001: 2000, 2000: 3000}[start]
        run = fleet.run(names[start:stop], X[start:stop], y[start:stop])
        found += (start + run.alarms).tolist()
        other = plain.run(names[start:stop], X[start:stop], y[start:stop])
        assert np.array_equal(run.predictions, other.predictions)
        alone += (start + other.alarms).tolist()
        errors.append(run.errors)
        if start == 1001:
            fleet.save(tmp_path / "fleet")
            fleet = dl.load(tmp_path / "fleet")
    expected = alarms_apart(keys, np.concatenate(errors))
    assert found == expected
    assert found != alone
    table = fleet.summary()
    for key, alarms, last in zip(table["key"], table["alarms"], table["last_alarm"], strict=True):
        mine = np.flatnonzero(keys == (int(key.removeprefix("key ")) if named else key))
        raised = np.flatnonzero(np.isin(mine, expected))
        assert alarms == len(raised)
        assert last == (raised[-1] if len(raised) else -1)


@pytest.mark.parametrize("learner", [dl.RLS(), dl.Auto()], ids=lambda learner: type(learner).__name__)
def test_learning_without_a_run_feeds_the_alarms_too(learner):
    keys, X, y = drifting_rows(keys=2, count=700)
    many, one, run = (dl.Fleet(learner, 2, alarms=True) for _ in range(3))
    run.run(keys, X, y)
    many.learn_many(keys, X, y)
    for key, x, label in zip(keys, X, y, strict=True):
        one.learn_one(key, x, label)
    assert run.summary()["alarms"].tolist()[1] == 0 < run.summary()["alarms"][0]
    for fleet in (many, one):
        for name in ("alarms", "last_alarm"):
            assert np.array_equal(fleet.summary()[name], run.summary()[name])


def test_neither_threads_nor_stretches_change_the_alarms(monkeypatch):
    """With more than 256 keys, for which sorting the alarms takes two passes."""
    monkeypatch.setattr("driftline.fleet.call.ROWS_FOR_A_THREAD", 1)
    monkeypatch.setattr("driftline.fleet.call.STRETCH", 400 * 300)
    keys, X, y = drifting_rows(keys=300, count=90_000)
    runs = [dl.Fleet(dl.LMS(), 300, jobs=jobs, alarms=kept).run(keys, X, y) for jobs in (1, 2) for kept in (True, False)]
    expected = alarms_apart(keys, runs[0].errors)
    assert len(expected) > 130
    for run in runs:
        assert np.array_equal(run.errors, runs[0].errors)
        assert run.alarms.tolist() == expected


def test_alarms_ignore_skipped_rows():
    keys, X, y = drifting_rows()
    X[::7, 0] = np.nan
    run = dl.Fleet(dl.RLS(missing="skip"), 6, alarms=True).run(keys, X, y)
    assert np.isnan(run.errors[::7]).all()
    assert len(run.alarms)
    assert run.alarms.tolist() == alarms_apart(keys, run.errors)


def test_a_refused_call_does_not_change_the_alarms():
    keys, X, y = drifting_rows()
    for learner in (dl.WEMM(ridge=9.0), dl.Averaged(dl.WEMM(ridge=9.0))):
        whole, broken = dl.Fleet(learner, 6, alarms=True), dl.Fleet(learner, 6, alarms=True)
        bad = X[:1500].copy()
        bad[-1] *= 1000
        with pytest.raises(ValueError, match="x'Sx >= 1"):
            broken.learn_many(keys[:1500], bad, y[:1500])
        for fleet in (whole, broken):
            fleet.learn_many(keys[:1500], X[:1500], y[:1500])
        with pytest.raises(ValueError, match="x'Sx >= 1"):
            broken.learn_many(keys[:1500], bad, 100 * y[:1500])
        rest = slice(1500, None)
        ends = [fleet.run(keys[rest], X[rest], y[rest]).alarms.tolist() for fleet in (whole, broken)]
        assert ends[0] == ends[1] != []
        assert broken.summary()["alarms"].tolist() == whole.summary()["alarms"].tolist()


@pytest.mark.parametrize("learner", [dl.RLS(), dl.Auto()], ids=lambda learner: type(learner).__name__)
def test_several_labels_a_row_are_refused(learner):
    keys, X, y = drifting_rows()
    with pytest.raises(ValueError, match=r"y (has 2 labels a row|must have one dimension)"):
        dl.Fleet(learner, 6).run(keys, X, np.column_stack([y, y]))


def test_a_rising_error_rate_of_a_classifier_raises_the_alarm():
    keys, X, _ = drifting_rows(keys=2, count=2000)
    labels = np.where(X[:, 0] > 0, "up", "down")
    flipped = (keys == 0) & (np.arange(2000) > 1000) & (np.random.default_rng(0).random(2000) < 0.5)
    labels[flipped] = "down"
    run = dl.Fleet(dl.Classifier(dl.RLS()), 2).run(keys, X, labels)
    assert set(keys[run.alarms].tolist()) == {0}
    assert run.alarms.tolist() == alarms_apart(keys, run.errors)
