import numpy as np
import pytest

from driftline import streams
from papers import dfop_fig1

from . import dfop_plain


def test_each_holdout_sample_is_predicted_with_the_weights_learned_so_far():
    job = dfop_fig1.Job("hyperplane", seed=3, rows=180, every=20, fresh=500)
    found = dfop_fig1.holdout(job)
    assert found.shape == (2, 9)
    stream = streams.Hyperplane(seed=3, rows=180)
    X, y = stream.take()
    for k, mu in enumerate((0.002, 0.0)):
        w = dfop_plain.weights(dfop_plain.with_one(X), y, mu, 100.0)
        for i in range(9):
            rows, labels = stream.holdout(20 * (i + 1) - 1, 500, seed=3)
            expected = 100 * dfop_plain.right(dfop_plain.with_one(rows) @ w[20 * (i + 1)], labels)
            assert found[k, i] == pytest.approx(expected)


def curves(recovers=True, better=True):
    """Ten repetitions that fall by 20 points at each change of SEA and hyperplane."""
    rng = np.random.default_rng(0)
    found = {}
    for name, stages in dfop_fig1.STAGES.items():
        stage = np.array([70.0, 80.0, 90.0] if recovers else [70.0, 70.0, 70.0])
        own = np.tile(stage, stages)
        both = np.array([own, own - 5 if better else own + 5])
        found[name] = both + rng.normal(scale=0.1, size=(10, 2, 1))
    return found


def test_the_verdict_follows_the_curves():
    assert dfop_fig1.judge(curves(), 100).verdict == "agrees"
    flat = {check.statement: check.holds for check in dfop_fig1.judge(curves(recovers=False), 100).checks}
    assert not flat["SEA: DFOP rises again before the next change"]
    assert not flat["hyperplane: the accuracy of both falls at every change"]
    worse = {check.statement: check.holds for check in dfop_fig1.judge(curves(better=False), 100).checks}
    assert not worse["SEA: DFOP is significantly better than RLS"]
