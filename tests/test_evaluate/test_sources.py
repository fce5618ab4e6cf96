from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_matrix

import driftline as dl
from driftline import evaluate
from driftline.evaluate.sources import Source

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import river.linear_model
    from river import datasets


@pytest.fixture
def rows():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(500, 3))
    return X, X @ [1.0, -1.0, 2.0] + 0.1 * rng.normal(size=500)


def totals(data, learner=None, **options):
    return evaluate.prequential({"it": learner or dl.RLS()}, data, **options).totals["it"]


def near(first, second):
    return first == pytest.approx(second, rel=1e-12)


@pytest.mark.parametrize("delay", [0, 4])
def test_rows_may_come_in_any_shape(rows, delay):
    X, y = rows
    expected = totals((X, y), delay=delay)
    names = ["a", "b", "c"]
    frame = pd.DataFrame(X, columns=names)
    shapes = {
        "lists": (X.tolist(), y.tolist()),
        "pandas": (frame, pd.Series(y)),
        "polars": (pl.DataFrame(X, schema=names), pl.Series(y)),
        "arrow": (pa.table({name: X[:, i] for i, name in enumerate(names)}), pa.array(y)),
        "blocks": ((X[a : a + 70], y[a : a + 70]) for a in range(0, 500, 70)),
        "frames": [(frame[a : a + 70], y[a : a + 70]) for a in range(0, 500, 70)],
        "rows": zip(X, y, strict=True),
        "mappings": ((dict(zip(names, row, strict=True)), label) for row, label in zip(X.tolist(), y.tolist(), strict=True)),
        "listed mappings": ([dict(zip(names, row, strict=True)) for row in X.tolist()], y),
    }
    for shape, data in shapes.items():
        assert near(totals(data, delay=delay), expected), shape


def test_names_of_frames_reach_the_learner(rows):
    model = dl.RLS()
    evaluate.prequential(model, (pd.DataFrame(rows[0], columns=["a", "b", "c"]), rows[1]))
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]


def test_blocks_without_rows_are_passed_over(rows):
    X, y = rows
    frame = pd.DataFrame(X)
    blocks = [(X[:0], y[:0]), (X[:200], y[:200]), ([], []), (frame[:0], y[:0]), (X[200:], y[200:])]
    assert near(totals(blocks), totals(rows))


def test_foreign_learners_get_the_rows_as_they_came(rows):
    """Frames as frames, sparse rows as sparse ones: other libraries know no blocks of rows."""
    X, y = rows
    seen = []

    class Foreign:
        def predict_one(self, x):
            raise AssertionError("run takes all rows")

        learn_one = predict_one

        def run(self, X, y):
            seen.append(X)
            return dl.Run(np.zeros(len(y)), np.asarray(y))

    frame = pd.DataFrame(X, columns=["a", "b", "c"], index=range(5, 505))
    evaluate.prequential(Foreign(), (frame, y), rows=100)
    evaluate.prequential(Foreign(), (csr_matrix(X), y), rows=100)
    pd.testing.assert_frame_equal(seen[0], frame[:100])
    assert isinstance(seen[1], csr_matrix)
    np.testing.assert_array_equal(seen[1].toarray(), X[:100])


def test_rows_that_reuse_the_same_memory_are_kept_apart(rows):
    memory = np.empty(3)

    def stream():
        for x, label in zip(*rows, strict=True):
            memory[:] = x
            yield memory, label

    assert near(totals(stream()), totals(rows))


def test_a_stream_is_read_up_to_the_requested_row():
    stream = dl.streams.Rotating(rate=1.0, unit="deg")
    assert near(totals(stream, rows=20_000), totals(stream.take(20_000)))
    with pytest.raises(ValueError, match="give rows: Rotating is endless"):
        totals(stream)


def test_a_finite_stream_is_read_to_its_end():
    stream = dl.streams.Rotating(rate=1.0, unit="deg").first(700)
    assert evaluate.prequential(dl.RLS(), stream).rows == 700


def test_a_stream_needs_only_take(rows):
    class Taken:
        length = 500

        def take(self, T):
            return rows[0][:T], rows[1][:T]

    assert near(totals(Taken()), totals(rows))
    assert near(totals(Taken(), rows=100), totals((rows[0][:100], rows[1][:100])))


def test_an_endless_generator_is_read_only_up_to_the_requested_row():
    asked = []

    def endless():
        while True:
            asked.append(1)
            yield np.ones((10, 1)), np.ones(10)

    assert evaluate.prequential(dl.RLS(), endless(), rows=35).rows == 35
    assert len(asked) == 4


def test_blocks_stop_at_the_requested_multiples(rows):
    starts = [(block.start, len(block)) for block in Source(rows, None, "here").blocks(every=150)]
    assert starts == [(0, 150), (150, 150), (300, 150), (450, 50)]


def test_memory_does_not_grow_with_the_stream():
    """300,000 rows of 20 inputs are 50 MB; a tenth of that is ample for one block and the curves."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1000, 20)), rng.normal(size=1000)

    def peak(blocks):
        tracemalloc.start()
        evaluate.prequential([dl.RLS(), dl.NLMS()], ((X.copy(), y.copy()) for _ in range(blocks)), window=5000)
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    small, large = peak(60), peak(300)
    assert large < 10e6
    assert large < 1.2 * small


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ((np.ones((3, 2)), np.ones(4)), ValueError, "X has 3 rows, y has 4"),
        ((np.ones((3, 2)), np.ones((3, 2))), ValueError, "y must have one dimension, got 2"),
        (7, TypeError, "data must be"),
        ([1.0, 2.0], TypeError, "pairs"),
        ([], ValueError, "no rows"),
    ],
)
def test_data_that_is_not_rows_is_refused(data, error, message):
    with pytest.raises(error, match=message):
        totals(data)


def test_a_river_dataset_is_a_stream():
    dataset = datasets.TrumpApproval()
    pairs = list(dataset)
    X, y = np.array([list(x.values()) for x, _ in pairs], dtype=float), np.array([label for _, label in pairs])
    result = evaluate.prequential(dl.AROWR(), dataset)
    assert result.rows == 1001
    assert list(result.metrics) == ["mse", "mae", "r2"]
    assert near(result.totals["AROWR"], totals((X, y), dl.AROWR()))
    assert near(totals(dataset, dl.AROWR(), rows=300), totals((X[:300], y[:300]), dl.AROWR()))


def test_an_endless_river_dataset_needs_a_number_of_rows():
    friedman = datasets.synth.Friedman(seed=1)
    with pytest.raises(ValueError, match="give rows: Friedman is endless"):
        totals(friedman)
    assert evaluate.prequential(dl.RLS(), friedman, rows=50).rows == 50


def test_labels_of_a_river_dataset_are_scored_by_accuracy():
    labels, predicted = [], []
    model = river.linear_model.LogisticRegression()
    for x, y in datasets.Phishing():
        predicted.append(model.predict_one(x))
        model.learn_one(x, y)
        labels.append(y)
    result = evaluate.prequential(river.linear_model.LogisticRegression(), datasets.Phishing())
    assert result.totals["LogisticRegression"] == {"accuracy": np.mean(np.array(labels) == predicted)}


def test_a_comparison_cuts_a_river_dataset_into_subsets():
    dataset = datasets.TrumpApproval()
    result = evaluate.compare([dl.AROWR(), dl.Ridge()], dataset, repeats=2, n_jobs=1)
    pairs = list(dataset)
    for i, (start, stop) in enumerate(evaluate.subsets(1001, 2)):
        expected = totals(pairs[start:stop], dl.AROWR())["mse"]
        assert result.scores["mse"][0, 0, i] == pytest.approx(expected, rel=1e-12)
    assert result.streams == ["TrumpApproval"]
