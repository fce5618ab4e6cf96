"""A plain version of Auto's profiles: tables as dictionaries, and every row kept."""

from __future__ import annotations

import numpy as np

from .team import Fit, Likely
from .traces import Array

SLOTS, PARTNERS, VALUES, BINS = 12, 7, 64, 16
SEASONS = (12, 24, 48, 96, 144, 168, 336)


class Feature:
    """The values of a feature: a list while there are at most 64 of them, then the quantiles of the last 192 rows."""

    def __init__(self) -> None:
        self.seen: list[float] = []
        self.values: list[float] = []
        self.edges: Array | None = None  # the bins, once there are more values

    @property
    def is_many(self) -> bool:
        return self.edges is not None

    def meet(self, value: float) -> None:
        self.seen.append(float(np.float32(value)))
        if not self.is_many and value not in self.values:
            self.values.append(value)
            if len(self.values) > VALUES:
                self.edges = np.empty(0)

    def divide(self) -> None:
        if self.is_many:
            last = np.sort(self.seen[-192:])
            self.edges = np.unique([last[b * len(last) // BINS] for b in range(1, BINS)])

    def place(self, value: float) -> int | None:
        if self.edges is not None:
            return int(np.sum(self.edges < value)) if len(self.edges) else None
        return self.values.index(value) if value in self.values else None


class Cell:
    """The mean label at one value of a key, and its mean change."""

    def __init__(self) -> None:
        self.rows = self.level = self.change = 0.0

    def add(self, y: float, change: float | None, share: float) -> None:
        self.rows += share
        rate = share * max(0.05, 1 / max(1.0, self.rows))
        self.level += rate * (y - self.level)
        if change is not None:
            self.change += rate * (change - self.change)

    def usual(self, mean: float) -> tuple[float, float]:
        """Level and change, shrunk towards the mean and 0 with the weight of one row."""
        return (self.rows * self.level + mean) / (self.rows + 1), self.rows * self.change / (self.rows + 1)


class Key:
    """A feature, or a pair of features, with a cell for each of its values."""

    def __init__(self, *parts: int) -> None:
        self.parts, self.level_loss, self.change_loss = parts, 0.0, 0.0
        self.cells: dict[int, Cell] = {}

    def place(self, features: list[Feature], x: Array) -> int | None:
        places = [features[j].place(x[j]) for j in self.parts]
        if None in places:
            return None
        if len(places) == 1:
            return places[0]
        first, second = (features[j] for j in self.parts)
        if first.is_many or second.is_many or len(second.values) > PARTNERS:
            return None
        return places[0] * PARTNERS + places[1]

    def learn(self, features: list[Feature], x: Array, y: float, change: float | None, mean: float) -> None:
        at = self.place(features, x)
        if at is None:
            return
        most = max(self.cells, default=-1)
        for place in range(most + 1, at + 1):
            self.cells[place] = Cell()
        level, move = self.cells[at].usual(mean)
        self.level_loss = 0.998 * self.level_loss + (y - level) ** 2
        self.change_loss = 0.998 * self.change_loss + (y - level if change is None else change - move) ** 2
        self.cells[at].add(y, change, 1.0)
        if features[self.parts[0]].is_many:
            for neighbour in (at - 1, at + 1):
                if neighbour in self.cells:
                    self.cells[neighbour].add(y, change, 0.5)


class Profiles:
    """All keys, and the twelve that predict best alone."""

    def __init__(self, d: int) -> None:
        self.features = [Feature() for _ in range(d)]
        self.keys = [Key(j) for j in range(d)]
        self.slots: list[Key | None] = [None] * SLOTS
        self.rows = 0

    def remember(self, x: Array, y: float, change: float | None, mean: float) -> None:
        for feature, value in zip(self.features, x.tolist(), strict=True):
            feature.meet(value)
        self.rows += 1
        for key in self.keys:
            key.learn(self.features, x, y, change, mean)
        if self.rows >= 32 and self.rows & (self.rows - 1) == 0:
            self._choose()

    def usual(self, x: Array, mean: float) -> Array:
        """Levels and changes of the chosen keys, concatenated."""
        cells = []
        for key in self.slots:
            at = None if key is None else key.place(self.features, x)
            cells.append(Cell() if at is None else key.cells.get(at, Cell()))
        return np.array([cell.usual(mean) for cell in cells])

    def _choose(self) -> None:
        for feature in self.features:
            feature.divide()
        counts = [0 if feature.is_many else len(feature.values) for feature in self.features]
        for a, values in enumerate(counts):
            for b, others in enumerate(counts):
                known = any(key.parts == (a, b) for key in self.keys)
                twice = values <= PARTNERS and b < a  # the same pair the other way round
                if a != b and values > 1 and 1 < others <= PARTNERS and not twice and not known:
                    self.keys.append(Key(a, b))
        best = sorted((key for key in self.keys if key.level_loss > 0), key=lambda key: min(key.level_loss, key.change_loss))
        best = best[:SLOTS]
        self.slots = [key if key in best else None for key in self.slots]
        new = [key for key in best if key not in self.slots]
        for place, key in enumerate(self.slots):
            if key is None and new:
                self.slots[place] = new.pop(0)


def run(X: Array, y: Array, core: Array, delay: int) -> tuple[Array, Array]:
    """The predictions of the profiles and of the baselines for each row; the core's prediction if they have none."""
    d = X.shape[1]
    tables, fit, likely = Profiles(d), Fit(2 * SLOTS + 4 + d, 0.999, 1.0), Likely(np.zeros(2 * SLOTS + 9), 0.998)
    by_fit, by_usual, mean, waiting = core.copy(), core.copy(), 0.0, []
    for t in range(len(y)):
        known = y[: max(t - delay, 0)]
        last = known[-1] if len(known) else 0.0
        near = [known[-min(k, len(known))] if len(known) else 0.0 for k in range(1, 5)]
        usual = tables.usual(X[t], mean)
        row = np.concatenate([(usual - [last, 0.0]).ravel(), [last], -np.diff(near), X[t]])
        usual_labels = np.add(usual, [0.0, last]).ravel() if len(known) > 1 else np.full(2 * SLOTS, last)
        low, high = (known.min(), known.max()) if len(known) > 1 else (-np.inf, np.inf)
        hold = lambda value, low=low, high=high: np.clip(value, low - 0.5 * (high - low), high + 0.5 * (high - low))  # noqa: E731
        back = [-(-(delay + 1) // season) * season for season in SEASONS]
        seasons = [y[t - place] if t >= place else last for place in back]
        predicted = np.concatenate([hold(usual_labels), seasons, [last, mean]])
        if len(known):
            by_usual[t] = likely.weights @ predicted
            if fit.ready():
                by_fit[t] = last + fit.predict(row)
        if len(known) > 1:
            by_fit[t], by_usual[t] = hold(by_fit[t]), hold(by_usual[t])
        waiting.append((row, predicted, last if len(known) else None))
        if t >= delay:
            at = t - delay
            row, predicted, then = waiting[at]
            if then is not None:
                likely.learn(predicted, y[at])
                fit.learn(row, y[at] - then)
            mean += (y[at] - mean) * max(0.002, 1 / (at + 1))
            tables.remember(X[at], y[at], None if then is None else y[at] - then, mean)
    return by_fit, by_usual
