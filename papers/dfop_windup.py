"""Shows where the recursion as printed in the DFOP paper breaks down, and what the library's does there."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftline import DFOP
from papers.dfop_contest import PRIOR, share_right

RATE = 0.05


class WindUp(NamedTuple):
    """Both recursions on the same rows, each row predicted, then learned.

    Attributes:
        rows: number of rows.
        broken_at: the first row, from 0, for which the printed recursion gives NaN; None if there is none.
        printed: the printed recursion's accuracy; NaN counts as wrong.
        accuracy: the library's accuracy.
        finite: whether all of the library's predictions are numbers.
        capped: number of rows on which the library capped the growth of P.
    """

    rows: int
    broken_at: int | None
    printed: float
    accuracy: float
    finite: bool
    capped: int


def as_printed(X: NDArray[Any], y: NDArray[Any], forget_rate: float, prior: float) -> NDArray[Any]:
    """Predictions of Algorithm 1, lines 3 and 4, with an intercept, in plain NumPy; each row is predicted first."""
    rows = np.column_stack([X, np.ones(len(X))])
    P, w = prior * np.eye(rows.shape[1]), np.zeros(rows.shape[1])
    predictions = np.empty(len(y))
    with np.errstate(all="ignore"):
        for t, (x, label) in enumerate(zip(rows, y, strict=True)):
            predictions[t] = w @ x
            k = P @ x
            P = (P - forget_rate * np.outer(k, k) / (1 - forget_rate + forget_rate * (x @ k))) / (1 - forget_rate)
            w = w + forget_rate * (P @ x) * (label - predictions[t])
    return predictions


def wind_up(X: NDArray[Any], y: NDArray[Any], forget_rate: float = RATE, prior: float = PRIOR) -> WindUp:
    """Runs both over the rows."""
    printed = as_printed(X, y, forget_rate, prior)
    lost = np.flatnonzero(~np.isfinite(printed))
    model = DFOP(forget_rate=forget_rate, prior=prior)
    own = model.run(X, y).predictions
    right = np.isfinite(printed) & ((printed >= 0) == (y > 0))
    return WindUp(
        rows=len(y),
        broken_at=int(lost[0]) if len(lost) else None,
        printed=float(right.mean()),
        accuracy=share_right(own, y),
        finite=bool(np.isfinite(own).all()),
        capped=model.certificate().events.get("capped", 0),
    )
