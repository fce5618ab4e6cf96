"""The laws that every stream obeys."""

import copy
import dataclasses
import itertools
import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftline.streams import SEA, Hyperplane, Repeat, Rotating, Stream
from tests.cases import for_each
from tests.test_streams.cases import CASES, ROWS

every_stream = for_each("stream", CASES.values())


def equal(rows, others):
    return all(np.array_equal(one, other) for one, other in zip(rows, others, strict=True))


@every_stream
def test_rows_are_floats_of_the_promised_shape(stream):
    X, y = stream.take(ROWS)
    assert (X.shape, y.shape, X.dtype, y.dtype) == ((ROWS, stream.d), (ROWS,), np.float64, np.float64)
    assert np.isfinite(X).all()
    assert np.isfinite(y).all()
    assert stream.task == "regression" or set(np.unique(y)) == {-1.0, 1.0}


@every_stream
def test_a_stream_and_its_equals_give_the_same_rows_each_time(stream):
    rows = stream.take(ROWS)
    assert equal(rows, stream.take(ROWS))
    assert equal(rows, copy.deepcopy(stream).take(ROWS))


@every_stream
def test_a_short_take_is_the_beginning_of_a_long_one(stream):
    X, y = stream.take(ROWS)
    for T in (0, 1, 1023, 1024, 1025, 2500):
        assert equal(stream.take(T), (X[:T], y[:T]))


@pytest.mark.parametrize("stream", CASES.values(), ids=CASES)
@settings(max_examples=15)
@given(size=st.integers(1, ROWS))
def test_blocks_of_any_size_give_the_rows_of_take(stream, size):
    taken = 0
    X, y = stream.take(ROWS)
    for X_block, y_block in itertools.islice(stream.blocks(size), ROWS // size):
        assert equal((X_block, y_block), (X[taken : taken + size], y[taken : taken + size]))
        taken += size


@every_stream
def test_iteration_gives_row_after_row(stream):
    X, y = stream.take(1100)
    for t, (x, label) in enumerate(itertools.islice(stream, 1100)):
        assert np.array_equal(x, X[t])
        assert label == y[t]
        assert isinstance(label, float)


@every_stream
def test_a_finite_stream_ends_in_blocks_and_in_iteration_with_its_last_row(stream):
    if stream.length is None:
        with pytest.raises(TypeError, match="has no length: the stream is endless"):
            len(stream)
        with pytest.raises(ValueError, match=r"\.take: the stream is endless, so T must be given"):
            stream.take()
    else:
        assert len(stream) == stream.length == len(stream.take()[1]) == sum(1 for _ in stream)
        assert sum(len(y) for _, y in stream.blocks(997)) == len(stream)
        with pytest.raises(ValueError, match=rf"T must be a whole number in \[0, {len(stream)}\], got {len(stream) + 1}"):
            stream.take(len(stream) + 1)


@every_stream
def test_changing_returned_rows_does_not_change_the_stream(stream):
    X, y = stream.take(1500)
    kept = X.copy(), y.copy()
    X[:], y[:] = 0, 0
    next(stream.blocks(100))[0][:] = 0
    assert equal(stream.take(1500), kept)


@every_stream
def test_weights_belong_to_the_rows_of_the_last_take(stream):
    if not hasattr(stream, "weights"):
        with pytest.raises(AttributeError, match="has no weights: its target is not linear"):
            _ = stream.weights
        return
    stream.take(ROWS)
    weights = stream.weights
    assert weights.shape == (ROWS, stream.d)
    stream.take(1200)
    assert np.array_equal(stream.weights, weights[:1200])
    assert copy.deepcopy(stream).weights.shape == (0, stream.d)


@every_stream
def test_holdout_is_seeded_fresh_and_different_at_every_row(stream):
    X, y = stream.holdout(1500, 64, seed=1)
    assert (X.shape, y.shape) == ((64, stream.d), (64,))
    assert equal((X, y), stream.holdout(1500, 64, seed=1))
    assert not np.isin(X[X != 0], stream.holdout(1500, 64, seed=2)[0]).any()
    assert not np.isin(X[X != 0], stream.holdout(1501, 64, seed=1)[0]).any()
    assert not np.isin(X[X != 0], stream.take(ROWS)[0]).any()
    assert not np.isin(X[X != 0], stream.reseeded(77).holdout(1500, 64, seed=1)[0]).any()


@every_stream
def test_holdout_does_not_disturb_the_rows(stream):
    rows = stream.take(ROWS)
    blocks = stream.blocks(600)
    first = next(blocks)
    stream.holdout(2000, 10)
    assert equal(first, (rows[0][:600], rows[1][:600]))
    assert equal(next(blocks), (rows[0][600:1200], rows[1][600:1200]))


@every_stream
def test_another_seed_gives_other_rows_of_the_same_kind(stream):
    other = stream.reseeded(123)
    X, others = stream.take(ROWS)[0], other.take(ROWS)[0]
    assert (other.d, other.length, other.task, type(other)) == (stream.d, stream.length, stream.task, type(stream))
    assert not np.isin(X[X != 0], others).any()
    assert other == stream.reseeded(123) != stream


@every_stream
def test_repr_rebuilds_the_stream_and_equal_streams_are_equal(stream):
    twin = eval(repr(stream), vars(__import__("driftline").streams))
    assert twin == stream
    assert hash(twin) == hash(stream)
    assert stream


@every_stream
def test_a_pickled_stream_is_small_and_the_same(stream):
    rows = stream.take(ROWS)
    packed = pickle.dumps(stream)
    assert len(packed) < 2000
    assert equal(pickle.loads(packed).take(ROWS), rows)


def test_repr_shows_only_parameters_that_are_not_default():
    assert repr(Rotating()) == "Rotating()"
    assert repr(Rotating(rate=0.5, seed=3)) == "Rotating(rate=0.5, seed=3)"
    assert repr(SEA() + SEA(seed=1)) == "Concat(SEA(), SEA(seed=1))"


def test_a_stream_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Rotating().rate = 2.0


@pytest.mark.parametrize("stream", [Rotating(power=0.5), Repeat(Hyperplane(rows=2000))], ids=["source", "repeat"])
def test_long_iteration_needs_no_more_memory_than_short(stream):
    def peak(blocks: int) -> int:
        tracemalloc.start()
        for _ in itertools.islice(stream.blocks(500), blocks):
            pass
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(5)
    assert peak(400) < 1.2 * peak(10) < 4e6


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.take(-1), r"SEA.take: T must be a whole number in \[0, 50000\], got -1"),
        (lambda s: s.take(2.0), r"SEA.take: T must be .*, got 2.0"),
        (lambda s: s.take(True), r"SEA.take: T must be .*, got True"),
        (lambda s: s.blocks(0), r"SEA.blocks: size must be a whole number of at least 1, got 0"),
        (lambda s: s.holdout(50_000, 5), r"SEA.holdout: t must be a whole number in \[0, 49999\], got 50000"),
        (lambda s: s.holdout(-1, 5), r"SEA.holdout: t must be"),
        (lambda s: s.holdout(0, 0), r"SEA.holdout: n must be a whole number of at least 1, got 0"),
        (lambda s: s.holdout(0, 5, seed=-1), r"SEA.holdout: seed must be a whole number of at least 0, got -1"),
        (lambda s: s.reseeded("a"), r"SEA.reseeded: seed must be a whole number of at least 0, got 'a'"),
    ],
)
def test_a_wrong_argument_is_named_with_its_rule(call, message):
    with pytest.raises(ValueError, match=message):
        call(SEA())


def test_only_streams_can_be_added():
    with pytest.raises(TypeError, match="unsupported operand"):
        SEA() + 3


def test_numpy_numbers_are_accepted():
    assert len(SEA(rows=np.int64(10)).take(np.int32(4))[1]) == 4
    assert isinstance(SEA(), Stream)
