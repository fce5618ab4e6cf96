"""Combined streams: the right rows in the right places."""

import numpy as np
import pytest

from driftline.streams import SEA, Concat, First, Hyperplane, Join, Repeat, Rotating, Switching
from tests.test_streams.statistics import assert_share

LOW, HIGH = SEA(thresholds=[3], seed=1, label_noise=0), SEA(thresholds=[12], seed=2, label_noise=0)


def follows(b, X, y):
    return (X[:, 0] + X[:, 1] <= b) == (y > 0)


def test_a_sum_has_the_rows_of_its_parts_in_turn():
    parts = SEA(rows=1500, seed=1), SEA(rows=10, seed=2), SEA(rows=1100, seed=3)
    stream = parts[0] + parts[1] + parts[2]
    assert stream == Concat(*parts)
    assert (stream.starts, len(stream)) == ((0, 1500, 1510), 2610)
    X, y = stream.take()
    for part, start in zip(parts, stream.starts, strict=True):
        assert np.array_equal(X[start : start + len(part)], part.take()[0])
        assert np.array_equal(y[start : start + len(part)], part.take()[1])


def test_a_sum_has_weights_and_may_be_infinite():
    slow, fast = Rotating(rate=0.001), Switching(rate=0.5, every=20, seed=1)
    stream = slow.first(700) + fast
    assert stream.length is None
    stream.take(1500)
    slow.take(700)
    fast.take(800)
    assert np.array_equal(stream.weights, np.concatenate([slow.weights, fast.weights]))


@pytest.mark.parametrize(("t", "b"), [(0, 3), (999, 3), (1000, 12), (1500, 12)])
def test_holdout_of_a_sum_comes_from_the_part_of_its_row(t, b):
    assert follows(b, *(LOW.first(1000) + HIGH).holdout(t, 1000)).all()


def test_an_abrupt_join_is_the_sum_of_the_first_rows_and_the_other_stream():
    X, y = Join(LOW, HIGH, at=777).take(3000)
    X_sum, y_sum = (LOW.first(777) + HIGH).take(3000)
    assert np.array_equal(X, X_sum)
    assert np.array_equal(y, y_sum)


@pytest.mark.parametrize("shape", ["linear", "sigmoid"])
def test_a_gradual_join_mixes_only_within_its_window(shape):
    stream = Join(LOW, HIGH, at=1000, width=500, shape=shape)
    X, y = stream.take(4000)
    old, new = LOW.take(4000), HIGH.take(3000)
    from_new = np.zeros(4000, dtype=bool)
    from_new[1000:] = (X[1000:] == new[0]).all(axis=1)
    from_old = (old[0] == X).all(axis=1)
    assert (from_new ^ from_old).all()
    assert from_old[:1000].all()
    assert from_new[1500:].all()
    assert 150 < from_new[1000:1500].sum() < 350
    assert np.array_equal(y[from_old], old[1][from_old])


@pytest.mark.parametrize("shape", ["linear", "sigmoid"])
def test_the_probability_of_the_new_stream_follows_the_shape(shape):
    """Estimated from 400 seeds, in ten parts of the window."""
    width = 200
    streams = [Join(LOW, HIGH, at=50, width=width, shape=shape, seed=seed) for seed in range(400)]
    chosen = np.array([stream._chosen(0, 300, ()) for stream in streams])
    assert not chosen[:, :50].any()
    assert chosen[:, 250:].all()
    done = (np.arange(width) + 0.5) / width
    expected = done if shape == "linear" else 1 / (1 + np.exp(-10 * (done - 0.5)))
    for part in np.split(np.arange(width), 10):
        assert_share(chosen[:, 50 + part].ravel(), expected[part].mean())
    stream = Join(LOW, HIGH, at=50, width=width, shape=shape)
    assert [stream.chance(t) for t in range(50, 250)] == pytest.approx(expected)
    assert [stream.chance(t) for t in (0, 49, 250, 10_000)] == [0, 0, 1, 1]


def test_holdout_of_a_gradual_join_is_the_mixture_of_its_row():
    """For sums between 3 and 12 the label shows which of the two streams a row came from."""
    stream = Join(LOW, HIGH, at=100, width=1000)
    for t in (99, 100, 300, 600, 1099, 1100):
        X, y = stream.holdout(t, 20_000)
        total = X[:, 0] + X[:, 1]
        telling = (total > 3) & (total <= 12)
        new = y[telling] > 0
        assert_share(new, stream.chance(t))


def test_weights_of_a_gradual_join_come_from_the_chosen_stream():
    stream = Join(Rotating(rate=0.01), Switching(rate=0.02, every=30, seed=1), at=100, width=400)
    X, y = stream.take(900)
    assert np.allclose(y, (X * stream.weights).sum(axis=1))


def test_a_stream_may_be_joined_with_itself():
    stream = Join(LOW, LOW, at=10, width=20)
    X, _ = stream.take(60)
    own = LOW.take(60)[0]
    chosen = stream._chosen(0, 60, ())
    assert np.array_equal(X, np.where(chosen[:, None], np.roll(own, 10, axis=0), own))


def test_joins_of_joins_keep_their_rows():
    middle = Join(LOW, HIGH, at=500, width=100)
    X, _ = Join(middle, LOW.reseeded(9), at=1500, width=300).take(3000)
    assert np.array_equal(X[:1500], middle.take(1500)[0])
    assert np.array_equal(X[1800:], LOW.reseeded(9).take(1500)[0][300:])


def test_a_repetition_brings_the_distribution_back_with_fresh_rows():
    stream = Repeat(LOW.first(700) + HIGH.first(300))
    X, y = stream.take(5000)
    for start in range(0, 5000, 1000):
        assert follows(3, X[start : start + 700], y[start : start + 700]).all()
        assert follows(12, X[start + 700 : start + 1000], y[start + 700 : start + 1000]).all()
    assert len(np.unique(X[:, 0])) == 5000
    assert follows(3, *stream.holdout(4699, 500)).all()
    assert follows(12, *stream.holdout(4700, 500)).all()


def test_repetitions_of_repetitions_share_no_row():
    X, _ = Repeat(Repeat(Repeat(SEA(rows=50), times=3), times=3), times=3).take()
    assert len(np.unique(X[:, 0])) == 27 * 50
    assert np.array_equal(X[:50], SEA(rows=50).take()[0])


def test_the_concept_of_a_repetition_stays():
    once, thrice = Hyperplane(rows=900), Repeat(Hyperplane(rows=900), times=3)
    once.take()
    thrice.take()
    assert np.array_equal(thrice.weights, np.tile(once.weights, (3, 1)))


def test_each_repetition_of_a_join_makes_new_random_choices():
    X, _ = Repeat(Join(LOW, HIGH, at=0, width=500).first(500), times=2).take()
    joined = Join(LOW, HIGH, at=0, width=500)
    assert not np.array_equal(joined._chosen(0, 500, ()), joined._chosen(0, 500, (1,)))
    assert len(np.unique(X[:, 0])) == 1000


@pytest.mark.parametrize(
    ("join", "error", "message"),
    [
        (lambda: Concat(), ValueError, "Concat: it takes one or more streams, got none"),
        (lambda: Concat(SEA(), 5), TypeError, r"Concat: parts\[1\] must be a stream, got 5"),
        (lambda: SEA() + Rotating(), ValueError, r"Concat: parts\[1\] must have the d of parts\[0\], 3, got 20"),
        (lambda: Hyperplane() + Hyperplane(task="regression"), ValueError, "must have the task of .*'classification'"),
        (lambda: Rotating() + Rotating(), ValueError, r"Concat: parts\[0\] must be finite, .*got Rotating\(\)"),
        (lambda: First(SEA(), 50_001), ValueError, "First: rows must be at most the stream's, 50000, got 50001"),
        (lambda: First(SEA(), 0), ValueError, "First: rows must be a whole number of at least 1, got 0"),
        (lambda: First([1], 5), TypeError, r"First: stream must be a stream, got \[1\]"),
        (lambda: Join(SEA(), None, at=5), TypeError, "Join: after must be a stream, got None"),
        (lambda: Join(SEA(), SEA(), at=50_001), ValueError, "Join: before must have the 50001 rows .*, got 50000"),
        (lambda: Join(SEA(), SEA(rows=5), at=3, width=6), ValueError, "Join: after must have the 6 rows .*, got 5"),
        (lambda: Repeat(Rotating()), ValueError, r"Repeat: stream must be finite, such as .first\(rows\), got Rotating"),
    ],
)
def test_incompatible_streams_are_refused(join, error, message):
    with pytest.raises(error, match=message):
        join()
