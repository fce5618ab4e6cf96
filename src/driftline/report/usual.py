"""Usual values of labels and inputs: means and spreads of blocks of rows along a stream."""

from __future__ import annotations

import numpy as np

from driftline.storage.resumable import Resumable
from driftline.tables.inputs import Array

BLOCK = 64  # rows; their mean and spread are compared with those of earlier blocks
FEWEST_BLOCKS = 4  # blocks needed to know the usual values
FALSE = 0.01  # the probability that some column seems to have moved by chance, for normal block means
EQUAL = 1e-9  # relative: closer numbers differ by rounding


class Usual(Resumable):
    """Sums over blocks of 64 rows: how much the means and the spreads of a column vary from block to block.

    The sums after each of the last ``kept`` blocks are stored, so that rows can be compared with the blocks that had
    ended when these rows began.
    """

    _fields = ("origin", "sums")

    def __init__(self, kept: int) -> None:
        self.kept = kept
        self.origin = np.empty((2, 0))  # mean and spread of the first block, which the sums are relative to
        self.sums = np.zeros((1, 3, 2, 0))  # after each block: the number of blocks, sums, sums of squares

    def widen(self, columns: int) -> None:
        """Makes room for more columns, which were 0 in every block so far."""
        more = columns - self.sums.shape[3]
        if more > 0:
            new = np.zeros((len(self.sums), 3, 2, more))
            if self.sums.shape[3]:
                new[:, 0] = self.sums[:, 0, :, :1]
                self.origin = np.pad(self.origin, ((0, 0), (0, more))) if self.origin.shape[1] else self.origin
            self.sums = np.concatenate([self.sums, new], axis=3)

    def add(self, rows: Array) -> None:
        """Adds whole blocks."""
        found = _blocks(rows)
        if not self.origin.shape[1]:
            self.origin = found[0]
        with np.errstate(over="ignore", invalid="ignore"):
            moved = found - self.origin
            steps = np.stack([np.ones_like(moved), moved, np.square(moved)], axis=1)
            after = np.cumsum(np.concatenate([self.sums[-1:], steps]), axis=0)[1:]
        self.sums = np.concatenate([self.sums, after])

    def forget(self) -> None:
        """Drops the sums after all but the last blocks."""
        self.sums = self.sums[-self.kept :].copy()

    def moved(self, rows: Array, age: int, most: int) -> tuple[Array, float]:
        """Compares rows with the blocks before the last ``age`` ones.

        Args:
            rows: at least one block of rows; NaN where a value does not count.
            age: the number of blocks after the first of the rows.
            most: the number of columns to return.

        Returns:
            An (n, 5) array, the column that moved furthest first: its place; 0 for its mean or 1 for its spread; the current
            mean or spread; its usual value; and its usual deviation from that. Also the distance, in such deviations, beyond
            which no column moves by chance.
        """
        if len(rows) < BLOCK or age >= len(self.sums):
            return np.empty((0, 5)), np.inf
        count, total, squares = self.sums[len(self.sums) - 1 - age]
        blocks = float(count.flat[0])
        if blocks < FEWEST_BLOCKS:
            return np.empty((0, 5)), np.inf
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            now = _blocks(rows[: len(rows) // BLOCK * BLOCK]).mean(axis=0)
            mean = total / blocks
            strayed = np.sqrt(np.maximum(squares / blocks - mean**2, 0.0))
            before = self.origin + mean
            change = np.abs(now - before)
            far = change > EQUAL * (np.abs(now) + np.abs(before))
            distance = np.where(far & np.isfinite(change), change / strayed, 0.0)
        limit = _limit(blocks, distance.size)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            wider = np.maximum(now[1] ** 2 - before[1] ** 2, 0.0) / BLOCK  # a mean varies more when values vary more
            fair = np.where(strayed[0] > 0, distance[0] / np.sqrt(1 + wider / strayed[0] ** 2), distance[0])
        kind = np.where((fair >= limit) | (distance[0] >= distance[1]), 0, 1)  # the mean, if both moved
        place = np.arange(len(kind))
        order = np.argsort(-distance[kind, place], kind="stable")[:most]
        order = order[distance[kind, place][order] > 0]
        kind, place = kind[order], order
        table = np.column_stack([place, kind, now[kind, place], before[kind, place], strayed[kind, place]])
        return table, limit


def _limit(blocks: float, comparisons: int) -> float:
    """The limit that the largest of several deviations exceeds only by chance: Student's t, adjusted for their number."""
    from scipy.special import stdtrit

    return float(stdtrit(blocks - 1, 1 - FALSE / 2 / comparisons) * np.sqrt(1 + 2 / blocks))


def _blocks(rows: Array) -> Array:
    """Means and spreads of the finite values of each block, (blocks, 2, columns); 0 if a block has no finite value."""
    blocks = rows.reshape(len(rows) // BLOCK, BLOCK, -1)
    known = np.isfinite(blocks)
    count = np.maximum(known.sum(axis=1), 1)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.add.reduce(np.where(known, blocks, 0.0), axis=1) / count
        apart = np.where(known, blocks - mean[:, None], 0.0)
        spread = np.sqrt(np.add.reduce(np.square(apart), axis=1) / count)
    found: Array = np.stack([mean, spread], axis=1)
    return found
