"""Fleets that take what another one has learned of all keys, for good."""

import numpy as np
import pytest

import driftline as dl
from tests.cases import for_each

from .test_pooled import answers, panel


@for_each("learner", [dl.RLS(), dl.Auto(), dl.RLS(missing="skip")])
def test_a_key_is_the_same_wherever_the_other_keys_are(learner):
    """So that the keys may be divided among machines in any way."""
    keys, X, y = panel(keys=12, rows=600, spread=1.0)
    first = dl.Fleet(learner, pooled=True, named=True)
    first.learn_many(keys[:400].tolist(), X[:400], y[:400])
    frozen = dl.Fleet(learner, pooled=first)
    rows = np.arange(400, 600)
    names = [f"new {key}" for key in keys[rows].tolist()]
    before = frozen.predict_one("new 1", X[0]), frozen.predict_interval("new 1", X[0])
    assert before == (first.predict_one("new 1", X[0]), first.predict_interval("new 1", X[0]))
    run = frozen.run(names, X[rows], y[rows], level=0.9, quantiles=[0.1, 0.5])
    found = np.column_stack([run.predictions, run.lower, run.upper, run.quantiles])
    loop = dl.from_bytes(dl.Fleet(learner, pooled=first).to_bytes())
    assert np.array_equal(answers(loop, names, X[rows], y[rows]), found)
    for name in set(names):
        mine = np.array(names) == name
        alone = dl.Fleet(learner, pooled=dl.Fleet(learner, pooled=first))
        assert np.array_equal(alone.run([name] * mine.sum(), X[rows][mine], y[rows][mine]).predictions, found[mine, 0])
    assert (frozen.predict_one("another", X[0]), frozen.predict_interval("another", X[0])) == before
    assert frozen.pool_.n_seen_ == first.pool_.n_seen_ == 400
    parts = [dl.from_bytes(part.to_bytes()) for part in frozen.split(3)]
    same = dl.Fleet.merge(parts)
    assert np.array_equal(same.predict_many(names, X[rows]), frozen.predict_many(names, X[rows]))
    assert parts[0].predict_one("another", X[0]) == before[0]
    assert (frozen.summary()["share"] != 0).any()
    assert run.pool_alarms.tolist() == []


def test_rows_without_values_or_weight_teach_nothing():
    keys, X, y = panel(rows=300)
    learner = dl.RLS(missing="skip")
    first = dl.Fleet(learner, pooled=True)
    first.learn_many(keys, X, y)
    gaps, weight = y.copy(), np.ones(300)
    gaps[40], weight[60] = np.nan, 0.0
    one, other = (dl.Fleet(learner, pooled=first) for _ in range(2))
    one.run(keys, X, gaps, sample_weight=weight)
    kept = np.delete(np.arange(300), [40, 60])
    other.run(keys[kept], X[kept], y[kept])
    assert np.array_equal(one.predict_many(keys, X), other.predict_many(keys, X))


def test_what_cannot_be_lent_is_refused():
    untrained, strangers = dl.Fleet(dl.RLS(), pooled=True), dl.Fleet(dl.RLS())
    strangers.learn_one(1, [1.0], 1.0)
    for fleet in (untrained, strangers):
        with pytest.raises(ValueError, match="must be a pooled one that has learned rows"):
            dl.Fleet(dl.RLS(), pooled=fleet)
    untrained.learn_one(1, [1.0], 1.0)
    with pytest.raises(ValueError, match=r"must have the learner RLS\(forgetting=0.9"):
        dl.Fleet(dl.RLS(forgetting=0.9), pooled=untrained)
