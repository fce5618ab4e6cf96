"""The step of all first-order learners, in whatever precision mpmath is set to."""

from collections.abc import Callable, Sequence

from mpmath import fdot, mpf

from .traces import Precise, Vector


def first_order(
    rows: Sequence[Vector], labels: Vector, start: mpf, update: Callable[[Vector, Vector, mpf], Vector]
) -> Precise:
    """Predicts, then updates, row by row; all weights start equal."""
    w = [start] * len(rows[0])
    predictions = []
    for x, label in zip(rows, labels, strict=True):
        predictions.append(fdot(w, x))
        w = update(w, x, label)
    return Precise(predictions, w)


def additive(w: Vector, x: Vector, step: mpf) -> Vector:
    """w - step x."""
    return [w_i - step * x_i for w_i, x_i in zip(w, x, strict=True)]
