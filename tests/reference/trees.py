"""A plain version of Auto's trees: a tree is three lists, and rows are looked up one by one."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from .profiles import SEASONS, Profiles
from .traces import Array

TREES, DEPTH, BINS, SAMPLE, FIRST = 96, 5, 32, 1024, 32
KEY = 0x74726565
DIFFERENCES, PROFILES, USUAL = 1, 2, 3  # columns of the experts' predictions


def rounded(values: Array) -> Array:
    """Values rounded to the upper 16 bits of single precision; ties go to even."""
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).view(np.float32)


class Tree:
    """Splits from the root down, level by level, and leaves; a value above the threshold goes right."""

    def __init__(self) -> None:
        self.feature = np.zeros(2**DEPTH - 1, dtype=int)
        self.threshold = np.full(2**DEPTH - 1, np.finfo(np.float32).max, dtype=np.float32)
        self.leaf = np.zeros(2**DEPTH, dtype=np.float32)

    def find_one(self, row: list[float]) -> int:
        node = 0
        for _ in range(DEPTH):
            feature, threshold = self.splits[node]
            node = 2 * node + 1 + (row[feature] > threshold)
        return node - (2**DEPTH - 1)

    @cached_property
    def splits(self) -> list[tuple[int, float]]:
        """The splits as Python numbers, which compare faster; computed when the tree is first used."""
        return list(zip(self.feature.tolist(), self.threshold.tolist(), strict=True))

    def find(self, X: Array) -> Array:
        node = np.zeros(len(X), dtype=int)
        for _ in range(DEPTH):
            node = 2 * node + 1 + (X[np.arange(len(X)), self.feature[node]] > self.threshold[node])
        return node - (2**DEPTH - 1)


class Draws:
    """Random integers below a bound, from the upper halves of Philox words, seeded by the number of the row."""

    def __init__(self, row: int) -> None:
        self.row, self.blocks = row, 0
        self.words: list[int] = []

    def below(self, most: int) -> int:
        if not self.words:
            counter = self.row + (self.blocks << 64) - 1  # NumPy counts up before it draws
            self.words = np.random.Philox(key=KEY, counter=counter).random_raw(4).tolist()
            self.blocks += 1
        return ((self.words.pop(0) >> 32) * most) >> 32


class Trees:
    """Boosted trees; each new tree replaces the oldest."""

    def __init__(self, columns: int, ring: int, part: float, correct: float) -> None:
        self.ring, self.correct = ring, correct
        self.part = min(columns, max(4, int(part * columns)), 32)
        self.X, self.y = np.zeros((ring, columns), dtype=np.float32), np.zeros(ring, dtype=np.float32)
        self.trees: list[Tree] = []
        self.places = np.zeros((TREES, ring), dtype=int)  # the leaf of each row in each tree
        self.rows, self.next, self.errors, self.count = 0, 0, 0.0, 0.0

    def predict(self, row: Array) -> float:
        values = row.tolist()
        return sum(float(tree.leaf[tree.find_one(values)]) for tree in self.trees)

    def learn(self, row: Array, y: float, pace: int) -> None:
        if self.trees:
            self._correct(row, y)
        self.X[self.rows % self.ring], self.y[self.rows % self.ring] = row, y
        self.rows += 1
        turn = self.rows & (self.rows - 1) == 0 if self.rows < self.ring else self.rows % self.ring == 0
        if self.rows >= FIRST and turn:
            self.edges = [self._edges(column) for column in self._kept().T]
        interval = pace * (2 if len(self.trees) < TREES else min(max(2, self.rows // 128), 32))
        if self.rows >= FIRST and self.rows % interval == 0:
            self._plant()

    def error(self) -> float:
        return self.errors / max(1.0, self.count)

    def _kept(self) -> Array:
        return self.X[: min(self.rows, self.ring)]

    def _correct(self, row: Array, y: float) -> None:
        values, error = row.tolist(), y
        places = [tree.find_one(values) for tree in self.trees]
        self.places[: len(places), self.rows % self.ring] = places
        for tree, place in zip(self.trees, places, strict=True):
            error -= float(tree.leaf[place])
        if self.count > 20:
            most = 10 * np.sqrt(self.errors / max(1.0, self.count))
            error = float(np.clip(error, -most, most))
        self.errors, self.count = 0.99 * self.errors + error**2, 0.99 * self.count + 1
        for tree, place in zip(self.trees, places, strict=True):
            tree.leaf[place] = float(tree.leaf[place]) + self.correct * error / len(self.trees)

    @staticmethod
    def _edges(column: Array) -> Array:
        column = np.sort(column[:: max(1, len(column) // SAMPLE)])
        values = np.unique(column)
        return values[:-1] if len(values) <= BINS else np.unique([column[b * len(column) // BINS] for b in range(1, BINS)])

    def _plant(self) -> None:
        n, draws = len(self._kept()), Draws(self.rows)
        who = np.arange(n) if n <= SAMPLE else np.array([draws.below(n) for _ in range(SAMPLE)])
        columns = list(range(self.X.shape[1]))
        for j in range(self.part):
            other = j + draws.below(len(columns) - j)
            columns[j], columns[other] = columns[other], columns[j]
        if len(self.trees) < TREES:
            at = len(self.trees)
            self.trees.append(Tree())
        else:
            at, self.next = self.next, (self.next + 1) % TREES
        left = self.y[who].astype(float)
        for k, tree in enumerate(self.trees):
            if k != at:
                left -= tree.leaf[self.places[k, who]]
        self.trees[at] = self._fitted(self.X[who], left, columns[: self.part])
        self.places[at, :n] = self.trees[at].find(self._kept())

    def _fitted(self, X: Array, y: Array, columns: list[int]) -> Tree:
        tree, node = Tree(), np.zeros(len(y), dtype=int)
        bins = np.column_stack([np.searchsorted(self.edges[j], X[:, j]) for j in columns])  # edges below the value
        for _ in range(DEPTH):
            for m in np.unique(node):
                own = node == m
                split = self._best_split(bins[own], y[own], columns)
                if split is not None:
                    tree.feature[m], tree.threshold[m] = split
            node = 2 * node + 1 + (X[np.arange(len(y)), tree.feature[node]] > tree.threshold[node])
        leaves = node - (2**DEPTH - 1)
        sums, rows = (np.bincount(leaves, weights, minlength=2**DEPTH) for weights in (y, np.ones(len(y))))
        tree.leaf = (0.1 * sums / (rows + 1)).astype(np.float32)
        return tree

    def _best_split(self, bins: Array, y: Array, columns: list[int]) -> tuple[int, float] | None:
        """The split that lowers the squared error most, shrunk by one row, with at least eight rows on each side."""
        if len(y) < 16:
            return None
        total = np.bincount(np.zeros(len(y), dtype=int), y)[0]
        best, gain, whole = None, 0.0, total**2 / (len(y) + 1) * (1 + 1e-9)
        places = (bins + BINS * np.arange(len(columns))).ravel()
        below, count = (
            np.bincount(places, weights, BINS * len(columns)).reshape(-1, BINS).cumsum(axis=1)
            for weights in (np.repeat(y, len(columns)), np.ones(len(places)))
        )
        rest = len(y) - count
        value, scale = below**2 * (rest + 1) + (total - below) ** 2 * (count + 1), (count + 1) * (rest + 1)
        for c, b in np.argwhere((count >= 8) & (rest >= 8) & (value > whole * scale)):
            if value[c, b] > (gain + whole) * scale[c, b]:
                best, gain = (columns[c], self.edges[columns[c]][b]), value[c, b] / scale[c, b] - whole
        return best


def run(X: Array, y: Array, predicted: Array, delay: int) -> Array:
    """Predictions of the three tree ensembles, (rows, 3), given those ``predicted`` by the core and the other experts.

    If labels arrive at once, trees on the features alone are fitted half as often, and a 16th as often while far behind. If
    labels are late, they also learn the rows that were predicted before 16 labels were known.
    """
    d = X.shape[1]
    label, residual, level = Trees(42 + 2 * d, 2048, 0.25, 0.2), Trees(5 + 2 * d, 4096, 0.5, 0.1), Trees(d, 4096, 1.0, 0.1)
    tables, mean, products, squares, waiting = Profiles(d), 0.0, 0.0, 0.0, []
    out = np.repeat(predicted[:, :1], 3, axis=1)
    for t in range(len(y)):
        known, core = y[: max(t - delay, 0)], predicted[t, 0]
        near = np.array([known[-min(k, len(known))] if len(known) else 0.0 for k in range(1, 5)])
        last = near[0]
        base = mean + np.clip(products / squares, 0, 1) * (last - mean) if len(known) >= 32 and squares > 0 else last
        places = [-(-(delay + 1) // season) * season for season in SEASONS]
        seasons = np.array([y[t - place] if t >= place else last for place in places])
        overall = known.mean() if len(known) else 0.0
        before = X[len(known) - 1] if len(known) else X[t]
        changes = np.column_stack([X[t].astype(np.float32), rounded(X[t] - before)]).ravel()
        second = [last - 2 * near[1] + near[2], near[1] - near[2], near[2] - near[3]]
        usual = (tables.usual(X[t], mean) - [last, 0.0]).ravel()
        others = predicted[t, [DIFFERENCES, PROFILES, USUAL]]
        row = rounded(np.concatenate([near - base, second, seasons - base, usual, others - base]))
        few = rounded(np.concatenate([near[:2] - core, others[:2] - core]))
        newest = np.float32(last)
        inputs = np.r_[newest, row, changes], np.r_[newest, few, changes], X[t].astype(np.float32)
        bases = base, core, overall
        for k, trees in enumerate((label, residual, level)):
            if trees.trees:
                out[t, k] = bases[k] + trees.predict(inputs[k])
        if len(known) > 1:
            low, high = known.min(), known.max()
            reach = 0.5 * (high - low)
            ready = 3 if level.trees else 2  # until its first tree, the third ensemble repeats the core's prediction
            out[t, :ready] = np.clip(out[t, :ready], low - reach, high + reach)
        waiting.append((inputs, bases, len(known)))
        if t >= delay:
            at = t - delay
            inputs, bases, count = waiting[at]
            bases = *bases[:2], y[:at].mean() if at else 0.0
            if delay and at > 0 and count < 16:
                level.learn(inputs[2], y[at] - bases[2], 1)
            if count >= 16:
                for k, trees in enumerate((label, residual, level)):
                    behind = level.error() > 2 * residual.error()
                    trees.learn(inputs[k], y[at] - bases[k], 1 if trees is not level or delay else 16 if behind else 2)
            then = y[count - 1] if count else None
            mean += (y[at] - mean) * max(0.002, 1 / (at + 1))
            if then is not None:
                products = 0.999 * products + (y[at] - mean) * (then - mean)
                squares = 0.999 * squares + (then - mean) ** 2
            tables.remember(X[at], y[at], None if then is None else y[at] - then, mean)
    return out
