"""WEMM, from its figure."""

import numpy as np
import pytest
from mpmath import fdot
from numpy.linalg import inv

import driftline as dl
from tests.reference import Array, Case, Outcome, Reference, longest, outcome
from tests.reference.recursion import second_order
from tests.streams import drifting, with_ones


def plain(X: Array, y: Array, *, ridge: float | None = None) -> Outcome:
    """Moroshko's thesis, Fig. 3.2: the A/b form. The default ridge is 2 |x_1|^2 + 2d + 8."""
    if ridge is None:
        ridge = 2 * float(X[0] @ X[0]) + 2 * X.shape[1] + 8
    A = ridge * np.eye(X.shape[1])
    b = np.zeros(X.shape[1])
    predictions, weights = [], []
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        predictions.append(b @ inv(A) @ x)
        s = x @ inv(A) @ x
        if s >= 1:
            raise ValueError(f"wemm: x.S.x must be below 1, got {s} at row {t}")
        a = 1 / (1 - s)
        A = A + a * np.outer(x, x)
        b = b + a * label * x
        weights.append(inv(A) @ b)
    return outcome(X, predictions, weights, inv(A))


def precise(rows, labels, *, ridge):
    if ridge is None:
        ridge = 2 * fdot(rows[0], rows[0]) + 2 * len(rows[0]) + 8
    return second_order(rows, labels, start=1 / ridge, noise="complement")


REFERENCE = Reference(plain, [Case(), Case(ridge=400.0)], precise, accuracy=lambda X: {"ridge": 2 * longest(X) + 1})


def test_the_reference_refuses_a_row_that_is_too_large():
    with pytest.raises(ValueError, match="row 1"):
        plain(np.array([[1.0, 0.0], [0.0, 2.0]]), np.zeros(2), ridge=3.0)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("d", [1, 5, 12])
def test_a_new_model_sets_its_ridge_from_the_first_row(d, intercept):
    X, y = drifting(seed=d, d=d)
    X[0] *= 3 / np.linalg.norm(X[0])
    X[1:] *= 2 / np.linalg.norm(X[1:], axis=1)[:, None]
    model = dl.WEMM(intercept=intercept)
    run = model.run(X, y, weights_every=1)
    assert model.ridge_ == pytest.approx(2 * (9 + intercept) + 2 * (d + intercept) + 8, rel=1e-12)
    reference = plain(with_ones(X) if intercept else X, y)
    np.testing.assert_allclose(run.predictions, reference.predictions, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(run.weights, reference.weights, rtol=1e-9, atol=1e-9)
