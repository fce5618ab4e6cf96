"""A plain version of Auto: full matrices, row by row, everything recomputed from the whole past.

``experts`` are (feature view, time, amount, start, reset, sudden) as the core lists them; constants are from docs/auto.md.
"""

from collections.abc import Collection
from typing import Any

import numpy as np

from .traces import Array

WARM = 64
RATES, LAST_RATE, DOUBT = (0.9, 0.98, 0.9998), 0.998, -4.0
FAR = (12, 24, 48, 96, 144, 168, 336)
RAW, RAW_PAST, STANDARD, PAST, FAR_PAST, EARLIER, SQUARES = range(7)
NONE, DIVIDE, ADD = range(3)


class Units:
    """Centres and scales from the first rows."""

    def __init__(self, X: Array, y: Array) -> None:
        n = len(y)
        self.centre, self.size = self._unit(X, n)
        label_centre, label_size = self._unit(y[:, None], n)
        self.label_centre, self.label_size = float(label_centre[0]), float(label_size[0])
        self.common = float(np.sqrt(np.mean(X**2))) or 1.0
        self.common_label = float(np.sqrt(np.mean(y**2))) or 1.0

    @staticmethod
    def _unit(columns: Array, n: int) -> tuple[Array, Array]:
        centre = columns.mean(axis=0)
        if n == 1:
            return centre, np.abs(centre)
        size = columns.std(axis=0, ddof=1) * (1 + 2 / n)
        return centre, np.where(size > 1e-12 * np.abs(centre), size, 0.0)

    def row(self, view: int, x: Array, past_x: list[Array], past_y: list[float], born: int) -> Array:
        """The inputs of an expert with this feature view; the past is in order of arrival."""
        raw = view in (RAW, RAW_PAST)
        short = born <= 12
        labels = {RAW: 0, STANDARD: 0, FAR_PAST: 8, EARLIER: 4 if short else 2}.get(view, 2)
        out = [0.1 if raw else 1.0]
        for k in range(labels):
            if k >= len(past_y):
                out.append(0.0)
            elif raw:
                out.append(past_y[-1 - k] / self.common_label)
            else:
                out.append(self._label(past_y[-1 - k]))
        if view == FAR_PAST:
            out += [self._label(past_y[-back]) if len(past_y) >= back else 0.0 for back in FAR]
        z = x / self.common if raw else self._standard(x)
        columns = [z]
        if view == EARLIER:
            for k in range(3 if short else 1):
                columns.append(self._standard(past_x[-1 - min(k, len(past_x) - 1)] if past_x else x))
        if view == SQUARES:
            columns.append(np.minimum(z**2, 9.0) - 1.0)
        return np.concatenate([out, np.column_stack(columns).ravel()])

    def correct(self, X: Array, y: Array) -> "Change":
        """Corrects the scales that are off by more than a factor of two; returns the factors."""

        def corrected(size: Any, squares: Any) -> Array:
            now = np.sqrt(squares)
            return np.where((size > 0) & (now > 0) & ((now > 2 * size) | (now < size / 2)), now, size)

        old = self.size, self.label_size, self.common, self.common_label
        self.size = corrected(self.size, np.mean((X - self.centre) ** 2, axis=0))
        self.label_size = float(corrected(self.label_size, np.mean((y - self.label_centre) ** 2)))
        self.common = float(corrected(self.common, np.mean(X**2)))
        self.common_label = float(corrected(self.common_label, np.mean(y**2)))
        new = self.size, self.label_size, self.common, self.common_label
        return tuple(
            np.divide(b, a, out=np.ones_like(np.asarray(a)), where=np.asarray(a) > 0) for a, b in zip(old, new, strict=True)
        )

    def _label(self, y: float) -> float:
        return (y - self.label_centre) / self.label_size if self.label_size else 0.0

    def _standard(self, x: Array) -> Array:
        away = x - self.centre
        return np.where(self.size > 0, away / np.where(self.size > 0, self.size, 1.0), np.sign(away))


Change = tuple[Array, ...]  # factors of the features, the label, the common scale and the label's common scale


def column_factors(view: int, change: Change, width: int) -> Array:
    """The factors by which a change of units divides the columns of a view; squares are bounded, and keep theirs."""
    features, label, common, common_label = change
    raw, d = view in (RAW, RAW_PAST), len(features)
    group = np.repeat(common if raw else features, d if raw else 1)[:, None]
    if view == EARLIER:
        group = np.repeat(group, 4 if d <= 12 else 2, axis=1)
    if view == SQUARES:
        group = np.column_stack([group, np.ones(d)])
    return np.concatenate([[1.0], np.full(width - 1 - group.size, common_label if raw else label), group.ravel()])


class Expert:
    """The recursion with an explicit matrix, and its detector of jumps."""

    def __init__(self, width: int, kind: tuple[Any, ...]) -> None:
        _, self.time, self.amount, start, self.reset, self.sudden = kind
        self.w, self.S = np.zeros(width), start * np.eye(width)
        self.squares = self.rows = self.excess = 0.0

    def predict(self, x: Array) -> float:
        return float(self.w @ x)

    def learn(self, x: Array, y: float) -> None:
        if self.time == DIVIDE:
            self.S = self.S / self.amount
        if self.time == ADD:
            self.S = self.S + self.amount * np.eye(len(x))
        square = self._take_in(x, y)
        if self.reset and self._jumped(square):
            self.S = self.reset * np.eye(len(x))
            self._take_in(x, y)

    def _take_in(self, x: Array, y: float) -> float:
        k = self.S @ x
        one = 1 + float(x @ k)
        error = y - float(self.w @ x)
        self.w = self.w + k * error / one
        self.S = self.S - np.outer(k, k) / one
        return error**2 / one

    def _jumped(self, square: float) -> bool:
        usual = self.squares / self.rows if self.rows > 5 and self.squares > 0 else 0.0
        self.excess = max(0.0, self.excess + (min(square / usual, self.sudden) if usual else 1.0) - 2.0)
        self.squares = 0.99 * self.squares + (min(square, self.sudden * usual) if usual else square)
        self.rows = 0.99 * self.rows + 1
        if self.excess > 12:
            self.excess = 0.0
            return True
        return False


def weights(losses: Array, predictions: int, rate: float, prior: Array | None = None) -> Array:
    """Weights from the squared losses of all rows so far, (rows, predictions); negative losses mark ignored rows."""
    total, rows, before = np.zeros(predictions), 0.0, 0.0
    for row in losses:
        if row[0] < 0:
            before = -row[0]
            continue
        cap = 1e3 * total.min() / rows if total.min() > 0 else np.inf
        jump = min(before, row.min()) > cap
        total = rate * total + (before + row if jump else np.minimum(row, cap))
        rows, before = rate * rows + 1, row.min()
    logs = -0.5 * rows * np.log(total + 1e-9 * total.mean() + np.finfo(float).tiny)
    if prior is not None:
        logs = logs + prior * rate ** sum(row[0] >= 0 for row in losses)
    powers = np.exp(logs - logs.max())
    return np.asarray(powers / powers.sum())


class Mixer:
    """The three layers, recomputed from the whole past each time."""

    def __init__(self, feature_views: list[int]) -> None:
        self.prior = np.array(
            [0.0 if s in (RAW, RAW_PAST) else -2.0 if s in (STANDARD, PAST) else -3.0 for s in feature_views]
        )
        self.prior = np.append(self.prior, [-2.0, -2.0])
        experts = self.experts = len(self.prior)
        self.first: list[Array] = []
        self.second: list[Array] = []
        self.last: list[Array] = []
        self.residuals: list[float] = []
        self.w, self.S = np.zeros(experts + 2), 0.2 * np.eye(experts + 2)

    def mix(self, f: Array) -> float:
        shares = [weights(np.array(self.first), self.experts, rate, self.prior) for rate in RATES]
        means = [float(share @ f) for share in shares]
        ages = 0.98 ** np.arange(len(self.residuals))[::-1]
        noise = float(ages @ np.square(self.residuals) / ages.sum()) if self.residuals else 0.0
        away = f - means[1]
        self.scale = float(np.sqrt(noise + np.mean(away**2)))
        top = means[1]
        if self.scale > 0:
            before = self.residuals[-1] if self.residuals else 0.0
            self.x = np.concatenate([away / self.scale, [0.3 * before / self.scale, 0.1]])
            top += self.scale * float(self.w @ self.x) / (1 + float(self.x @ self.S @ self.x))
            counted = f[np.max(shares, axis=0) > 1e-3]
            reach = np.ptp(counted) + 2 * np.sqrt(noise)
            top = float(np.clip(top, counted.min() - reach, counted.max() + reach))
        self.layer = np.array([*means, top])
        prior = np.array([0, 0, 0, DOUBT])
        self.upper = np.array([weights(np.array(self.second), 4, rate, prior) @ self.layer for rate in RATES])
        return float(weights(np.array(self.last), 3, LAST_RATE) @ self.upper)

    def learn(self, f: Array, y: float) -> None:
        if self.scale > 0:
            k = self.S @ self.x
            one = 1 + float(self.x @ k)
            self.w = self.w + k * ((y - self.layer[1]) / self.scale - self.w @ self.x) / one
            self.S = self.S - np.outer(k, k) / one
        self.first.append((y - f) ** 2)
        self.second.append((y - self.layer) ** 2)
        self.last.append((y - self.upper) ** 2)
        self.residuals.append(y - self.layer[1])

    def overlook(self, square: float) -> None:
        for losses, count in ((self.first, self.experts), (self.second, 4), (self.last, 3)):
            losses.append(np.full(count, -square))


def is_outlier(X: Array, y: Array, told: Array, own: list[float], centre: Array) -> bool:
    """Whether the last label is an outlier, given the earlier labels ``told`` to the experts."""
    mean, away, peak = float(np.mean(told)), abs(float(y[-1] - np.mean(told))), 0.0
    for t in range(1, len(told)):
        peak = max(0.999 * peak, abs(y[t] - np.mean(told[:t])))
    spread = np.sqrt(np.mean((X[:-1] - centre) ** 2, axis=0))
    explained = bool(np.any(np.abs(X[-1] - centre) > 8 * spread))
    foreseen = bool(np.min(np.abs(np.array(own) - y[-1])) < 0.5 * abs(y[-1] - mean))
    return len(told) >= WARM and away > 2 * peak > 0 and not explained and not foreseen


def auto(X: Array, y: Array, experts: list[tuple[Any, ...]], gaps: Collection[int] = ()) -> Array:
    """Auto's predictions. Scales are corrected after 128, 256, … rows.

    Rows in ``gaps`` have no label and are not learned; ``y`` holds a substitute there.
    """
    d = X.shape[1]
    mixer = Mixer([kind[0] for kind in experts])
    predictions = np.zeros(len(y))
    told = y.copy()  # the labels that the experts remember
    held = False  # whether the last label was an outlier
    usual = 0.0  # the mean of the labels before the outlier
    models: list[Expert] = []
    units = Units(X[:1], y[:1])

    def predicted_by_experts(t: int) -> tuple[Array, list[float]]:
        """The experts' predictions for row t, clipped; and those of the experts with a model, not clipped."""
        inside = [*told[:t], 0.0] if t == 1 else told[:t]
        low, high = np.min(inside), np.max(inside)
        rows = [units.row(kind[0], X[t], list(X[:t]), list(told[:t]), d) for kind in experts]
        origins = [0.0 if kind[0] in (RAW, RAW_PAST) else units.label_centre for kind in experts]
        own = [model.predict(row) + origin for model, row, origin in zip(models, rows, origins, strict=True)]
        reach = (high - low) / 2
        if t == 2:
            reach = max(reach, min(4 * reach, max(abs(low), abs(high))))
        return np.clip([*own, told[t - 1], np.mean(told[:t])], low - reach, high + reach), own

    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        if t > 0:
            f, own = predicted_by_experts(t)
            mixed = mixer.mix(f)
            predictions[t] = mixed
            confirmed = held and t not in gaps and abs(label - y[t - 1]) < abs(label - usual)
            held = not held and t not in gaps and is_outlier(X[: t + 1], y[: t + 1], told[:t], own, units.centre)
            if held:
                mixer.overlook((label - mixed) ** 2)
                told[t], usual = mixed, float(np.mean(told[:t]))
                continue
            if confirmed:  # learn the row as if the outlier had been accepted
                told[t - 1] = y[t - 1]
                f = predicted_by_experts(t)[0]
                mixer.mix(f)
            if t == 1:
                changes = np.nan_to_num((X[1] - X[0]) ** 2 / (X[1] ** 2 + X[0] ** 2))
                change = float(np.mean(changes))
                share = 0.8 * min(2 * np.exp(np.mean(np.log(np.maximum(changes, 1e-3)))), 1) ** 2
                predictions[t] = share * mixed + (1 - share) * y[0]
            if t not in gaps:
                mixer.learn(f, label)
            if t == 1:
                mixer.prior *= min(change, 1)
        rows_known = t + 1
        if rows_known <= WARM and rows_known & (rows_known - 1) == 0:
            units = Units(X[:rows_known], y[:rows_known])
            models = [Expert(len(units.row(kind[0], x, [], [], d)), kind) for kind in experts]
            again = range(rows_known)
        else:
            again = range(t, t + 1)
        for i in (i for i in again if i not in gaps):
            for model, kind in zip(models, experts, strict=True):
                origin = 0.0 if kind[0] in (RAW, RAW_PAST) else units.label_centre
                model.learn(units.row(kind[0], X[i], list(X[:i]), list(told[:i]), d), told[i] - origin)
        if rows_known > WARM and rows_known & (rows_known - 1) == 0:
            change = units.correct(X[:rows_known], told[:rows_known])
            for model, kind in zip(models, experts, strict=True):
                factors = column_factors(kind[0], change, len(model.w))
                model.w, model.S = model.w * factors, model.S * np.outer(factors, factors)
    return predictions
