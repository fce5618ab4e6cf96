from __future__ import annotations

import numpy as np
import pytest

import driftline as dl
from driftline import evaluate


def test_fresh_rows_measure_what_the_learner_knows_at_that_row():
    stream = dl.streams.Rotating(rate=0.2, unit="deg", noise=0.5)
    result = evaluate.prequential(dl.RLS(forgetting=0.95), stream, rows=900, holdout=50, holdout_every=300, seed=4)
    curve = result.curve("RLS", "mse", "holdout")
    assert curve.rows.tolist() == [300, 600, 900]
    X, y = stream.take(900)
    for row, value in zip(curve.rows, curve.values, strict=True):
        fresh, labels = stream.holdout(int(row) - 1, 50, seed=4)
        model = dl.RLS(forgetting=0.95).fit(X[:row], y[:row])
        assert value == pytest.approx(np.mean((model.predict(fresh) - labels) ** 2), rel=1e-9)
    assert result.last("holdout")["RLS"]["mse"] == curve.values[-1]


def test_there_are_a_hundred_samples_by_default_for_peers_and_late_labels_too():
    class Peer:
        def predict_one(self, x):
            return 0.0

        def learn_one(self, x, y):
            pass

    stream = dl.streams.Rotating(rate=0.2, unit="deg")
    result = evaluate.prequential({"peer": Peer(), "RLS": dl.RLS()}, stream, rows=500, holdout=10, delay=9)
    assert result.curve("peer", "mae", "holdout").rows.tolist() == list(range(5, 501, 5))
    first = stream.holdout(4, 10)[1]
    assert result.curve("RLS", "mae", "holdout").values[0] == pytest.approx(np.abs(first).mean())


def test_accuracy_is_measured_on_fresh_rows():
    stream = dl.streams.SEA()
    result = evaluate.prequential(dl.DFOP(), stream, rows=2000, holdout=200, holdout_every=1000)
    assert list(result.metrics) == ["accuracy"]
    assert result.last("holdout")["DFOP"]["accuracy"] > 0.7


def test_rows_that_cannot_be_drawn_again_are_refused():
    with pytest.raises(TypeError, match="cannot be sampled"):
        evaluate.prequential(dl.RLS(), (np.ones((9, 1)), np.ones(9)), holdout=5)


def test_intervals_are_not_measured_on_fresh_rows():
    stream = dl.streams.Rotating(rate=0.2, unit="deg", noise=0.5)
    result = evaluate.prequential(dl.RLS(), stream, rows=200, level=0.9, holdout=20, holdout_every=100)
    assert result.curve("RLS", "mse", "holdout").rows.tolist() == [100, 200]
    with pytest.raises(ValueError, match="coverage is not measured on fresh rows"):
        result.curve("RLS", "coverage", "holdout")
    with pytest.raises(ValueError, match="width is not measured on fresh rows"):
        result.plot("width", "holdout")
