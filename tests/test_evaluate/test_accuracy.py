from __future__ import annotations

import numpy as np
import pytest

import driftline as dl
from driftline import evaluate


@pytest.fixture
def rows():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 2))
    return X, np.where(X @ [1.0, -1.0] + 0.1 * rng.normal(size=300) > 0, 1.0, -1.0)


def accuracy(X, y, metric="accuracy"):
    return evaluate.prequential(dl.RLS(), (X, y), metrics=metric).totals["RLS"]["accuracy"]


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (1.0, 2.0), (0.0, 5.0), (-3.0, -1.0), (-2.0, 0.0)])
def test_a_threshold_that_does_not_separate_the_labels_is_refused(rows, low, high):
    """Every prediction would be on the same side as every label, and the accuracy 1 whatever was learned."""
    X, signs = rows
    y = np.where(signs > 0, high, low)
    middle = (low + high) / 2
    with pytest.raises(ValueError, match=rf"all labels, {low:g} to {high:g},.*Accuracy\(threshold=.*such as {middle:g} if"):
        accuracy(X, y)
    errors = dl.RLS().run(X, y).predictions >= middle
    assert accuracy(X, y, evaluate.Accuracy(middle)) == np.mean(errors == (signs > 0))


def test_labels_are_judged_over_the_whole_stream(rows):
    X, signs = rows
    single = zip(X, (signs + 1) / 2, strict=True)
    with pytest.raises(ValueError, match="all labels, 0 to 1,"):
        evaluate.prequential(dl.RLS(), (([x], [y]) for x, y in single), metrics="accuracy")
    order = np.argsort(-signs, kind="stable")  # the first blocks have one label only
    blocks = ((X[part], signs[part]) for part in np.array_split(order, 30))
    expected = np.mean((dl.RLS().run(X[order], signs[order]).predictions >= 0) == (signs[order] > 0))
    assert evaluate.prequential(dl.RLS(), blocks, metrics="accuracy").totals["RLS"]["accuracy"] == expected


def test_a_single_label_value_is_accepted_unless_it_equals_the_threshold(rows):
    X, _ = rows
    assert accuracy(X, np.ones(300)) == 1.0
    with pytest.raises(ValueError, match="all labels, 0 to 0,"):
        accuracy(X, np.zeros(300))


def test_missing_labels_are_on_neither_side():
    y, p = np.array([1.0, np.nan, 2.0]), np.ones(3)
    with pytest.raises(ValueError, match="all labels, 1 to 2,"):
        evaluate.score(y, p, metrics="accuracy")


def test_a_comparison_raises_an_error_that_all_learners_share(rows):
    X, signs = rows
    with pytest.raises(ValueError, match=r"all labels, 1 to 2,.*Accuracy\(threshold"):
        evaluate.compare([dl.RLS(), dl.Ridge()], (X, np.where(signs > 0, 2.0, 1.0)), metrics="accuracy", repeats=2)
