"""Evidence for the cause of an alarm, from the rows around it."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from driftline.tables.inputs import Array

NEAR = 1.25  # times the earlier error: counts as unchanged
FEW = 8  # rows at most
MOST = 0.8  # of the rise of the squared errors
ROWS_A_COLUMN = 4  # at least, for errors to be explained by the inputs
FAR_OUTSIDE = 0.1  # relative to the range of the rows before: values further beyond it are reported
CHANCE = 0.001  # probability that errors follow the inputs this much by chance


@dataclass(frozen=True)
class Evidence:
    """Figures of the rows before an onset and from it on.

    Attributes:
        few: the number of bad rows that account for most of the rise; 0 if many rows are worse.
        made: their share of the rise of the squared errors.
        limit: how far, in deviations, inputs move by chance: see :meth:`Usual.moved`.
        followed: the share of the squared errors from the onset on that the inputs explain and did not explain before.
        leader: the place of the input that explains most of it; -1 if there is none.
        correlation: the correlation of the errors with that input.
        in_step: the correlation of an error with the next one.
        spread_before, spread: the standard deviation of the label before and from the onset on.
    """

    few: float
    made: float
    limit: float
    followed: float
    leader: float
    correlation: float
    in_step: float
    spread_before: float
    spread: float


FIGURES = tuple(field.name for field in fields(Evidence))


def few_rows(before: Array, during: Array) -> tuple[int, float]:
    """The fewest rows that account for most of the rise of the squared errors, and their share; (0, 0) if they are many.

    The squared errors of an equal share of the worst rows before are subtracted, so that more noise does not look like a few
    bad rows.
    """
    earlier, later = (np.sort(np.square(errors[np.isfinite(errors)]))[::-1] for errors in (before, during))
    if not len(earlier) or not len(later):
        return 0, 0.0
    rise = float(later.mean() - earlier.mean())
    for few in range(1, min(FEW, len(later) - 1) + 1):
        usual = earlier[: round(few / len(later) * len(earlier))].sum() / len(earlier)
        share = float(later[:few].sum() / len(later) - usual) / rise if rise > 0 else 0.0
        if share >= MOST:
            return few, share
    return 0, 0.0


def followed_inputs(before: Array, X_before: Array, during: Array, X: Array) -> tuple[float, int, float]:
    """How far the inputs explain the errors from the onset on: the share, the input that explains most, its correlation.

    What the inputs explained before is subtracted first. A linear fit is tested by Fisher's F; the share is adjusted for its
    degrees of freedom. (0, -1, 0) if the fit may be chance, or there are too few rows.
    """
    nothing = 0.0, -1, 0.0
    rows = np.isfinite(during) & np.isfinite(X).all(axis=1)
    errors, X = during[rows], X[rows]
    moving = np.flatnonzero(np.ptp(X, axis=0) > 0) if len(X) else np.empty(0, dtype=np.int64)
    count, width = len(errors), len(moving)
    if not width or count < ROWS_A_COLUMN * (width + 1) or not errors.any():
        return nothing
    errors, before = errors / np.abs(errors).max(), before / np.abs(errors).max()
    scaled = _scaled(X[:, moving], X[:, moving])
    if not np.isfinite(scaled).all():
        return nothing
    earlier = np.isfinite(before) & np.isfinite(X_before).all(axis=1)
    left = errors.copy()
    if earlier.sum() >= ROWS_A_COLUMN * (width + 1):
        columns = _with_constant(_scaled(X_before[earlier][:, moving], X[:, moving]))
        left -= _with_constant(scaled) @ np.linalg.lstsq(columns, before[earlier], rcond=None)[0]
    left -= left.mean()
    rest = left - scaled @ np.linalg.lstsq(scaled, left, rcond=None)[0]
    total, unexplained, freedom = float(left @ left), float(rest @ rest), count - width - 1
    if not 0 < unexplained < total:
        return nothing
    from scipy.special import fdtrc

    if fdtrc(width, freedom, (total - unexplained) / width / (unexplained / freedom)) > CHANCE:
        return nothing
    explained = total / (count - 1) - unexplained / freedom
    correlations = scaled.T @ left / np.sqrt(count * total)
    leader = int(np.abs(correlations).argmax())
    return explained / float(np.mean(np.square(errors))), int(moving[leader]), float(correlations[leader])


def _scaled(X: Array, reference: Array) -> Array:
    """Columns, standardised by the means and spreads of the reference."""
    scaled: Array = (X - reference.mean(axis=0)) / reference.std(axis=0)
    return scaled


def _with_constant(X: Array) -> Array:
    return np.column_stack([np.ones(len(X)), X])


def in_step(errors: Array) -> float:
    """The correlation of an error with the next one; 0 if it is not defined."""
    known = np.isfinite(errors[1:]) & np.isfinite(errors[:-1])
    first, second = errors[:-1][known], errors[1:][known]
    if len(first) < 3 or not (np.ptp(first) > 0 and np.ptp(second) > 0):
        return 0.0
    with np.errstate(all="ignore"):
        found = float(np.corrcoef(first, second)[0, 1])
    return found if np.isfinite(found) else 0.0


def spread(values: Array) -> float:
    """The standard deviation of the finite values; NaN if no value is finite."""
    known = values[np.isfinite(values)]
    return float(known.std()) if len(known) else np.nan


def outside(values: Array, before: Array, most: int) -> Array:
    """Inputs of a row that lie outside the range of the rows before, (n, 4): place, value, the lowest and highest before."""
    known = np.isfinite(before)
    low = np.min(before, axis=0, initial=np.inf, where=known)
    high = np.max(before, axis=0, initial=-np.inf, where=known)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        beyond = np.maximum(values - high, low - values)
        distance = np.where(np.isfinite(values) & (high >= low) & (beyond > 0), beyond / (high - low), 0.0)
    order = np.argsort(-distance, kind="stable")[:most]
    order = order[distance[order] >= FAR_OUTSIDE]
    return np.column_stack([order, values[order], low[order], high[order]])
