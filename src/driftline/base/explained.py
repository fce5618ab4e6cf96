"""One row explained: what each feature contributes to its prediction, and to the width of its interval.

Contributions are Shapley values: the mean, over all orders in which features take their values, of what a feature adds to
what was there before it. Features that have not taken their value yet have that of a reference row, by default 0. For a
linear learner this is the weight times the value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from driftline import extensions
from driftline._core import Outputs, SparseRows
from driftline.base import encoding, reading, replay
from driftline.base.batch import Batch
from driftline.base.levels import as_level
from driftline.tables.inputs import Array

if TYPE_CHECKING:
    from driftline.base.learner import Learner

USUAL, REST = "(reference)", "(rest)"  # the prediction for the reference row, and what bounds and mixtures add
ORDERS = 16  # if a model is not linear; as many orders reversed
EXACT = 5  # features: all subsets are predicted


@dataclass(frozen=True)
class RowExplanation:
    """The prediction for one row and what contributes to it.

    Attributes:
        prediction: as :meth:`~driftline.Learner.predict_one` returns it.
        contributions: by feature, largest first; they sum to the prediction. ``(reference)`` is the prediction for the
            reference row: the intercept, earlier labels, and what does not depend on the features. A pipeline's are by
            transformed feature, such as ``y[t-1]``.
        experts: of a learner that mixes others, the share of each expert times its prediction; they sum to the prediction.
        width: the width of the interval, by feature; they sum to upper - lower. Empty while it is infinite.
        lower, upper: the interval of the given level.
    """

    prediction: float
    contributions: Mapping[str, float]
    experts: Mapping[str, float] = field(default_factory=dict)
    width: Mapping[str, float] = field(default_factory=dict)
    lower: float = -np.inf
    upper: float = np.inf

    def __str__(self) -> str:
        lines = [f"prediction {self.prediction:.6g}, interval {self.lower:.6g} to {self.upper:.6g}"]
        for title, parts in (("", self.contributions), ("experts", self.experts), ("width", self.width)):
            if parts:
                lines += [title] if title else []
                telling = {name: value for name, value in parts.items() if value} or parts
                wide = max(map(len, telling))
                lines += [f"  {name:<{wide}}  {value:+.6g}" for name, value in telling.items()]
                if len(telling) < len(parts):
                    lines.append(f"  {len(parts) - len(telling)} more that add nothing")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return str(extensions.load("report")[0].explanation_html(self))


def explain(learner: Learner, x: Any, reference: Any, level: float) -> RowExplanation:
    """:meth:`driftline.Learner.explain_one`."""
    where = f"{type(learner).__name__}.explain_one"
    learner._require_one_label(where, "explanations")
    if learner._estimator_type != "regressor":
        raise ValueError(f"{where}: only predictions of numbers can be explained")
    learner._require_core("explain_one")
    whole = learner
    learner, row, names, base = _innermost(learner, x, reference, where)
    prediction = whole.predict_one(x)
    lower, upper = whole.predict_interval(x, level)
    width: dict[str, float] = {}
    if isinstance(row, SparseRows):
        parts = _sparse(learner, row, names, prediction)
    else:
        parts = _of(lambda rows: _predictions(learner, rows, where), row, base, names, prediction, learner._traits.linear)
        if np.isfinite(upper - lower):
            width = _of(lambda rows: _widths(learner, rows, level, where), row, base, names, upper - lower, False)
    experts: dict[str, float] = {}
    if not isinstance(row, SparseRows) and (found := learner._experts(row))[1] is not None:
        experts = {name: share * value for (name, share), value in zip(found[0].items(), found[1], strict=True)}
        experts = _completed(experts, prediction)
    return RowExplanation(prediction, parts, experts, width, lower, upper)


def _innermost(learner: Learner, x: Any, reference: Any, where: str) -> tuple[Learner, Any, list[str], Any]:
    """The learner behind a pipeline's transformers, the row that it reads, the names of its features, and the reference."""
    row, names = _features(learner, x, where)
    base = None if reference is None else _features(learner, reference, where)[0]
    while hasattr(core := learner._core, "behind") and (seen := core.behind(row)) is not None:
        base = None if base is None else core.behind(base)
        learner, row, names = core.members[0], seen, [str(name) for name in core.chain.names_out(names)]
    return learner, row, names, np.zeros(row.width if isinstance(row, SparseRows) else len(row)) if base is None else base


def _features(learner: Learner, x: Any, where: str) -> tuple[Any, list[str]]:
    """A row as the core reads it, and the names of its features."""
    row, _ = reading.read(learner, encoding.enter(learner, x, where, grow=False).x, where, grow=False)
    if isinstance(row, SparseRows):
        known = learner._names
        return row, [str(known[j]) if known is not None else f"x{j}" for j in row.columns.tolist()]
    learner._door.refuse_bad(row, where)
    return row, learner._feature_names(len(row))


def _predictions(learner: Learner, rows: Array, where: str) -> Array:
    out = Outputs(replay.room(learner, len(rows)))
    learner._replay_block(Batch(rows, None, None, where), out)
    return np.array(out.predictions, dtype=np.float64)


def _widths(learner: Learner, rows: Array, level: float, where: str) -> Array:
    lower, upper = np.empty((2, len(rows)))
    out = Outputs(np.empty(len(rows)), lower=lower, upper=upper, level=as_level(level, where))
    learner._replay_block(Batch(rows, None, None, where), out)
    return upper - lower


def _sparse(learner: Learner, row: SparseRows, names: list[str], prediction: float) -> dict[str, float]:
    """The contributions of the entries of a sparse row."""
    if not learner._traits.linear:
        return {REST: prediction}
    weights, known = learner.coef_, row.columns < learner.n_features_in_
    parts = {
        name: float(weights[column]) * float(value)
        for name, column, value, there in zip(names, row.columns.tolist(), row.values.tolist(), known, strict=True)
        if there
    }
    return _completed(_sorted(parts) | {USUAL: float(learner.intercept_)}, prediction)


def _of(
    f: Callable[[Array], Array], row: Array, base: Array, names: list[str], total: float, linear: bool
) -> dict[str, float]:
    """Contributions that sum to ``total``, which is f at the row."""
    moved = np.flatnonzero(row != base)
    start = float(f(base[None])[0])
    values = np.zeros(len(row))
    if linear:
        rows = np.tile(base, (len(moved), 1))
        rows[np.arange(len(moved)), moved] = row[moved]
        values[moved] = f(rows) - start if len(moved) else 0.0
    elif len(moved) <= EXACT:
        values[moved] = _exact(f, row, base, moved)
    else:
        values[moved] = _sampled(f, row, base, moved)
    if linear and abs(values.sum() + start - total) > 1e-6 * max(abs(total), float(np.abs(values).max(initial=0.0))):
        return _of(f, row, base, names, total, False)  # a bound or a clip takes part
    parts = _sorted({name: float(value) for name, value in zip(names, values.tolist(), strict=True)})
    return _completed(parts | {USUAL: start}, total)


def _exact(f: Callable[[Array], Array], row: Array, base: Array, moved: Array) -> Array:
    """Shapley values by all subsets."""
    n = len(moved)
    subsets = np.array([[(code >> j) & 1 for j in range(n)] for code in range(2**n)], dtype=bool).reshape(2**n, n)
    rows = np.tile(base, (2**n, 1))
    rows[:, moved] = np.where(subsets, row[moved], base[moved])
    said = f(rows)
    weight = np.array([1 / (n * _choose(n - 1, size)) for size in range(n)]) if n else np.empty(0)
    found = np.zeros(n)
    for j in range(n):
        without = np.flatnonzero(~subsets[:, j])
        found[j] = float((weight[subsets[without].sum(axis=1)] * (said[without + (1 << j)] - said[without])).sum())
    return found


def _choose(n: int, k: int) -> float:
    return float(np.prod([(n - i) / (i + 1) for i in range(k)])) if k else 1.0


def _sampled(f: Callable[[Array], Array], row: Array, base: Array, moved: Array) -> Array:
    """Shapley values by a few orders, always the same ones, and their reverses."""
    rng, n = np.random.default_rng(0), len(moved)
    found = np.zeros(n)
    for _ in range(ORDERS):
        order = rng.permutation(n)
        for turn in (order, order[::-1]):
            rows = np.tile(base, (n + 1, 1))
            for place, j in enumerate(turn):
                rows[place + 1 :, moved[j]] = row[moved[j]]
            found[turn] += np.diff(f(rows))
    return found / (2 * ORDERS)


def _sorted(parts: dict[str, float]) -> dict[str, float]:
    return dict(sorted(parts.items(), key=lambda item: -abs(item[1])))


def _completed(parts: dict[str, float], total: float) -> dict[str, float]:
    """The parts with what they lack of the total, unless that is rounding, which the largest part takes."""
    rest = total - sum(parts.values())
    scale = max((abs(value) for value in parts.values()), default=0.0)
    if abs(rest) > 1e-9 * max(scale, abs(total)):
        return {**parts, REST: rest}
    return parts
