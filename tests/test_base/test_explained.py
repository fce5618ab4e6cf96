"""One row explained: contributions are Shapley values, and sum to the prediction and to the width."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

import driftline as dl
from driftline.features import Hashing, Lags, Standardize

LEARNERS: list[Any] = [
    dl.RLS(), dl.LMS(rate=0.01), dl.AAR(), dl.EG(rate=0.01), dl.LASER(), dl.SparseDFOP(dim=2), dl.Auto(),
    dl.Auto(experts=[dl.LMS(rate=0.01)]), dl.Kernel(dl.RLS()), dl.Network([dl.RLS(), dl.LMS(rate=0.01)]),
    dl.Averaged(dl.RLS()), dl.Transformed(dl.RLS(), "asinh"),
    Standardize() | Lags(y=2) | dl.RLS(), Standardize() | dl.Auto(),
    dl.RLS(low=-1.0, high=1.0), dl.RLS(dtype="float32"), dl.RLS(intercept=False), dl.RLS(missing="mean"),
]  # fmt: skip


def stream(rows: int = 300) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 3))
    return X, np.clip(X @ [0.1, -0.2, 0.3] + 0.05 * rng.normal(size=rows), -1, 1)


def predicted(model: Any, row: Any) -> float:
    return float(model.predict_one(row))


@pytest.mark.parametrize("model", LEARNERS, ids=str)
def test_contributions_sum_to_the_prediction_the_width_and_the_experts(model: Any) -> None:
    X, y = stream()
    model = model.clone()
    model.run(X, y)
    before = model.predict_one(X[0]), model.predict_interval(X[0], 0.8)
    found = model.explain_one(X[0], level=0.8)
    assert found.prediction == before[0] == model.predict_one(X[0])
    assert (found.lower, found.upper) == before[1]
    assert sum(found.contributions.values()) == pytest.approx(found.prediction, rel=1e-9, abs=1e-12)
    assert sum(found.width.values()) == pytest.approx(found.upper - found.lower, rel=1e-9)
    if found.experts:
        assert sum(found.experts.values()) == pytest.approx(found.prediction, rel=1e-9)
        assert found.experts.keys() - {"(rest)"} == model._experts()[0].keys()
    for name in found.contributions:
        assert name in str(found)


def test_a_linear_learners_contributions_are_its_weights_times_the_values() -> None:
    X, y = stream()
    model = dl.Kalman()
    model.run(X, y)
    row, other = X[0], X[1]
    found = model.explain_one(row).contributions
    assert [found[f"x{j}"] for j in range(3)] == pytest.approx((model.coef_ * row).tolist(), rel=1e-9)
    assert found["(reference)"] == pytest.approx(model.intercept_, rel=1e-9)
    compared = model.explain_one(row, reference=other).contributions
    assert [compared[f"x{j}"] for j in range(3)] == pytest.approx((model.coef_ * (row - other)).tolist(), rel=1e-9)
    assert compared["(reference)"] == pytest.approx(model.predict_one(other), rel=1e-9)


def test_a_pipelines_contributions_are_those_of_the_transformed_features() -> None:
    X, y = stream()
    model = Lags(y=2) | dl.RLS()
    for x, label in zip(X, y, strict=True):
        model.learn_one(dict(zip("abc", x, strict=True)), label)
    found = model.explain_one(dict(zip("abc", X[0], strict=True))).contributions
    names = model.learner_.feature_names_in_.tolist()
    seen = dict(zip(names, model.learner_.coef_.tolist(), strict=True))
    lags = [name for name in names if name not in ("a", "b", "c")]
    assert found["a"] == pytest.approx(seen["a"] * X[0, 0], rel=1e-9)
    assert found[lags[0]] == pytest.approx(seen[lags[0]] * y[-1], rel=1e-9)
    assert found[lags[1]] == pytest.approx(seen[lags[1]] * y[-2], rel=1e-9)


def test_contributions_of_a_bent_model_are_the_mean_over_all_orders() -> None:
    X, y = stream()
    model = dl.Kernel(dl.RLS(), gamma=0.5)
    model.run(X, y)
    row, expected = X[0], np.zeros(3)
    for order in permutations(range(3)):
        now = np.zeros(3)
        for j in order:
            before = predicted(model, now)
            now[j] = row[j]
            expected[j] += (predicted(model, now) - before) / 6
    found = model.explain_one(row).contributions
    assert [found[f"x{j}"] for j in range(3)] == pytest.approx(expected.tolist(), rel=1e-9)


def test_with_many_features_equal_ones_contribute_about_equally() -> None:
    """More features than all orders can be tried for: a few orders and their reverses, which still sum to the prediction."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 8))
    model = dl.Kernel(dl.RLS(), gamma=0.1)
    model.run(X, np.sin(X.sum(axis=1)))
    found = model.explain_one(np.full(8, 0.5))
    assert sum(found.contributions.values()) == pytest.approx(found.prediction, rel=1e-9)
    assert found == model.explain_one(np.full(8, 0.5))


def test_text_sparse_and_hashed_rows_are_explained_by_the_names_of_their_features() -> None:
    rows = [{"city": "Oslo" if t % 2 else "Rome", "load": float(t % 7)} for t in range(100)]
    model = dl.RLS(ridge=1e-3)
    for row in rows:
        model.learn_one(row, row["load"] + (5.0 if row["city"] == "Oslo" else 0.0))
    found = model.explain_one({"city": "Oslo", "load": 2.0})
    assert sum(found.contributions.values()) == pytest.approx(found.prediction, rel=1e-9)
    names = model.feature_names_in_.tolist()
    assert {"load", "city=Oslo"} <= set(found.contributions) & {str(name) for name in names}
    hashed = Hashing(n=32) | dl.LMS(rate=0.01)
    for row in rows:
        hashed.learn_one(row, row["load"])
    found = hashed.explain_one(rows[0])
    assert sum(found.contributions.values()) == pytest.approx(found.prediction, rel=1e-9)


def test_what_cannot_be_explained_is_refused() -> None:
    X, y = stream()
    several, classifier = dl.RLS(), dl.Classifier(dl.RLS())
    several.run(X, np.column_stack([y, y]))
    classifier.run(X, np.where(y > 0, 1, -1))
    with pytest.raises(ValueError, match=r"RLS\.explain_one: explanations need a single label per row"):
        several.explain_one(X[0])
    with pytest.raises(ValueError, match="only predictions of numbers"):
        classifier.explain_one(X[0])
    with pytest.raises(ValueError, match="not fitted"):
        dl.RLS().explain_one(X[0])
    with pytest.raises(ValueError, match=r"RLS\.explain_one: x has NaN in feature 0"):
        dl.RLS().fit(X, y).explain_one([np.nan, 1.0, 2.0])
    assert dl.RLS().fit(X[:2], y[:2]).explain_one(X[0]).width == {}  # the interval is infinite
