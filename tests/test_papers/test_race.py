from dataclasses import replace

import numpy as np
import pytest

from driftline.evaluate.cases import seeds
from driftline.linear import LMS, NLMS, Ridge
from driftline.streams import Rotating
from papers import Context
from papers.race import Course, RaceResult, race

STREAM = Rotating(rate=0.01, noise=0.5)


def outcome(**means):
    """Learners whose losses grow by their mean in each row, with a little noise."""
    rng = np.random.default_rng(0)
    at = np.array([10, 20, 40])
    curves = [mean * at + rng.normal(scale=0.01, size=(8, 3)) for mean in means.values()]
    return RaceResult(tuple(means), {name: {} for name in means}, at, np.stack(curves, axis=1), np.full(8, 100.0))


def test_scaled_inputs_keep_the_target_and_the_variance_of_the_noise():
    for inputs in ("rows of norm 1", "norms of at most 1"):
        X, y = Course(STREAM, 4000, inputs).take(3)
        raw, _ = replace(STREAM, seed=3).take(4000)
        norms = np.linalg.norm(X, axis=1)
        assert norms.max() == pytest.approx(1)
        assert (norms.min() == pytest.approx(1)) == (inputs == "rows of norm 1")
        np.testing.assert_allclose(X / norms[:, None], raw / np.linalg.norm(raw, axis=1, keepdims=True), rtol=1e-12)
        stream = replace(STREAM, seed=3)
        stream.take(4000)
        noise = y - np.einsum("td,td->t", X, stream.weights)
        assert noise.var() == pytest.approx(0.5, rel=0.1)
        assert abs(np.corrcoef(noise, X[:, 0])[0, 1]) < 0.06


def test_unscaled_inputs_are_those_of_the_stream():
    X, y = Course(STREAM, 50).take(3)
    expected = STREAM.reseeded(3).take(50)
    np.testing.assert_array_equal(X, expected[0])
    np.testing.assert_array_equal(y, expected[1])


def test_the_race_tunes_on_one_sequence_and_runs_on_the_others():
    """Compared with a plain loop over the sequences."""
    rates = (0.01, 0.1, 0.5, 1.5)
    grid = {"NLMS": [NLMS(rate=rate, intercept=False) for rate in rates], "Ridge": [Ridge(intercept=False)]}
    course = Course(STREAM, 300)
    found = race(Context(seed=5, jobs=1, progress=False), {"it": course}, {"it": grid}, repeats=3, points=10)["it"]
    tuning, others = seeds(5, 3)
    X, y = course.take(tuning)
    best = min(rates, key=lambda rate: NLMS(rate=rate, intercept=False).run(X, y).losses.sum())
    assert found.chosen["NLMS"] == {"rate": best} or (best == 0.5 and found.chosen["NLMS"] == {})
    for i, seed in enumerate(others):
        X, y = course.take(seed)
        sums = np.cumsum(NLMS(rate=best, intercept=False).run(X, y).losses)
        np.testing.assert_allclose(found.losses[i, 0], sums[found.at - 1], rtol=1e-12)
        assert found.zero[i] == pytest.approx(y @ y)
    assert found.at[0] == 1
    assert found.at[-1] == 300


def test_a_candidate_that_diverges_is_not_chosen():
    grid = {"LMS": [LMS(rate=10.0, intercept=False), LMS(rate=1e-4, intercept=False)]}
    found = race(Context(jobs=1, progress=False), {"it": Course(STREAM, 500)}, {"it": grid}, repeats=2)["it"]
    assert found.chosen["LMS"] == {"rate": 1e-4}
    assert np.isfinite(found.losses).all()


def test_equal_learners_do_not_beat_each_other():
    found = outcome(good=1.0, bad=2.0, same=2.0)
    assert found.beats("good", "bad")
    assert not found.beats("bad", "good")
    assert not found.beats("same", "bad")
    assert not found.beats("bad", "same")
    assert found.ordered() == sorted(found.learners, key=found.mean)
    middle, low, high = found.gap("bad", "good")
    np.testing.assert_allclose(middle, found.at, rtol=0.01)
    assert (low < middle).all()
    assert (middle < high).all()
