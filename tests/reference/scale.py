"""A plain version of the scale of Auto's errors: dictionaries, full matrices, and every row kept."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from .profiles import Feature
from .team import Fit
from .traces import Array

FAR, RUN, KEPT = 3.0, 64, 512
RATES = np.array([0.3, 0.06, 0.015])


class Mixture:
    """Weights by the likelihood of Laplace errors; their usual size is a mean over about 20 rows."""

    def __init__(self) -> None:
        self.rows, self.lead = 0.0, 3.0
        self.sizes, self.losses = np.zeros((2, 5))

    def mix(self, scales: Array) -> float:
        logs = np.array([self.lead, 0, 0, 0, 0]) - self.losses
        weights = np.exp(logs - logs.max())
        return float(weights @ scales / weights.sum())

    def learn(self, scales: Array, size: float) -> None:
        own = size / np.exp(scales)
        if self.rows > 5 and self.sizes.min() > 0:
            usual = self.sizes / self.rows
            own = np.minimum(own, 20 * usual)
            loss = scales + np.log(usual) + own / usual
            self.losses = 0.998 * self.losses + loss - loss[0]
        self.sizes, self.rows, self.lead = 0.95 * self.sizes + own, 0.95 * self.rows + 1, 0.998 * self.lead


class Cell:
    """The mean relative size of the errors at one value, and the correction of their log-scale."""

    def __init__(self) -> None:
        self.rows = self.mean = self.correction = 0.0

    def add(self, relative: float) -> None:
        self.rows += 1
        self.mean += (relative - self.mean) * max(0.02, 1 / self.rows)

    def correct(self, missed: bool, rate: float) -> None:
        self.correction = float(np.clip(self.correction + rate * (missed - 0.1 - 0.1 * self.correction), -1, 1))

    def usual(self) -> float:
        return self.rows * self.mean / (self.rows + 5)


def held(relative: float) -> float:
    return float(np.clip(relative, -FAR, FAR))


class Scale:
    """Sizes are logarithms of absolute errors; relative ones are differences from the usual size, within -3 and 3."""

    def __init__(self, d: int, delay: int, offset: float = 0.0) -> None:
        self.delay, self.offset, self.usual, self.sizes = delay, offset, 0.0, np.zeros(3)
        self.far: list[float] = []  # the last differences, if all are beyond 3 on the same side
        self.predictions: list[np.float32] = []
        self.edges = np.zeros(9)
        self.cells = [defaultdict[int | None, Cell](Cell) for _ in range(d + 1)]
        self.full, self.recent, self.mixture = Fit(7 + 2 * d, 0.9995, 30), Fit(3, 0.9995, 30), Mixture()
        self.rows, self.high = 0, 0.9  # the log-size that a tenth of the errors exceed, less the usual one and the scale's

    def relative(self, value: float) -> float:
        return held(np.log(max(abs(value), 1e-150)) - self.usual) if self.rows else 0.0

    def ask(self, x: Array, places: list[int | None], last: float, said: Array, prediction: float) -> Asked:
        places = [*places, int(np.sum(self.edges < prediction))]
        found = [cells[place] for cells, place in zip(self.cells, places, strict=True)]
        usual, correction = [cell.usual() for cell in found], sum(cell.correction for cell in found)
        spread = self.relative(float(np.std(said)))
        recent = self.sizes * (self.delay == 0)
        row = np.array([*recent, usual[-1], self.relative(prediction - last), spread, prediction, *x, *usual[:-1]])
        ready = self.rows >= 20
        full, short = (held(self.full.predict(row)), held(self.recent.predict(recent))) if ready else (0.0, 0.0)
        full *= max(0.5, 1 - 0.04 * self.delay)
        scales = np.array([0, full / 2, full, short / 2, short])
        return Asked(prediction, places, recent, row, scales, self.offset + held(self.mixture.mix(scales) + correction))

    def learn(self, asked: Asked, y: float) -> None:
        magnitude = abs(y - asked.prediction)
        size = np.log(max(magnitude, 1e-150))
        if self.rows == 0:
            self.usual = size
        relative = held(size - self.usual)
        self.mixture.learn(asked.scales, magnitude)
        self.full.learn(asked.row, relative)
        self.recent.learn(asked.recent, relative)
        found = [cells[place] for cells, place in zip(self.cells, asked.places, strict=True) if place is not None]
        missed = bool(size > self.usual + self.high + asked.log_scale)
        self.high += 0.05 * (missed - 0.1)
        for cell in found:
            cell.add(relative)
            cell.correct(missed, 0.03 / np.sqrt(len(found)) / (1 + self.delay / 12))
        self.rows += 1
        self.sizes += (relative - self.sizes) * np.maximum(RATES, 1 / self.rows)
        self.offset *= 0.997
        away = size - self.usual
        same = abs(away) >= FAR and (not self.far or (away > 0) == (self.far[0] > 0))
        self.far = [*self.far, away] if same else [away] if abs(away) >= FAR else []
        if len(self.far) == RUN:
            offset = float(np.clip(asked.log_scale, -2 * FAR, 2 * FAR))
            self.__init__(len(self.cells) - 1, self.delay, offset)  # type: ignore[misc]
            return
        before = self.usual
        self.usual += relative * max(0.003, 1 / self.rows)
        self.sizes = np.clip(self.sizes + before - self.usual, -FAR, FAR)
        self.predictions.append(np.float32(asked.prediction))
        if self.rows >= 32 and (self.rows & (self.rows - 1) == 0 or self.rows % (KEPT // 2) == 0):
            last = np.sort(self.predictions[-KEPT:])
            self.edges = np.array([last[b * len(last) // 10] for b in range(1, 10)], float)


class Asked:
    """What a row's scale was predicted from."""

    def __init__(
        self, prediction: float, places: list[int | None], recent: Array, row: Array, scales: Array, log_scale: float
    ) -> None:
        self.prediction, self.places, self.recent, self.row = prediction, places, recent, row
        self.scales, self.log_scale = scales, log_scale


def variances(X: Array, y: Array, said: Array, predictions: Array, delay: int) -> Array:
    """The variance of each row, relative to the others; labels come ``delay`` rows late."""
    d = X.shape[1]
    scale, features, asked, out = Scale(d, delay), [Feature() for _ in range(d)], [], []
    for t, x in enumerate(X):
        known = max(t - delay, 0)
        places = [feature.place(value) for feature, value in zip(features, x.tolist(), strict=True)]
        asked.append(scale.ask(x, places, y[known - 1] if known else 0.0, said[t], predictions[t]))
        out.append(np.exp(2 * asked[t].log_scale))
        told = t - delay
        if told < 0:
            continue
        if told > delay:  # its prediction knew a label
            scale.learn(asked[told], y[told])
        for feature, value in zip(features, X[told].tolist(), strict=True):
            feature.meet(value)
        if told + 1 >= 32 and told & (told + 1) == 0:
            for feature in features:
                feature.divide()
    return np.array(out)
