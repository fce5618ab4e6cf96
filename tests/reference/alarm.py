"""The alarm from its definition: plain lists, and every mean taken anew over the whole past. For up to 8,192 errors."""

from __future__ import annotations

import bisect
import math

import numpy as np
from scipy.stats import norm

from .traces import Array

LARGER, UP, DOWN, VERY_LARGE, NEWS, SMALLER = range(6)
FALSE_EVERY = 10_000
Score = tuple[float, float, float]  # -log p, z, and -log p of what was new


def rank(smaller: float, equal: float, known: int) -> float:
    return (smaller + (equal + 1) / 2) / (known + 1)


def size_rank(sample: list[float], error: float) -> float:
    """The share of larger sizes; equal ones and the error itself count half."""
    sizes = np.abs(sample)
    return rank(int(np.sum(sizes > abs(error))), int(np.sum(sizes == abs(error))), len(sizes))


def renew(sample: list[float], most: int, error: float, count: int) -> None:
    """Keeps up to `most` errors; then every fourth replaces one, whose rank is a multiple of the golden ratio, modulo 1."""
    if len(sample) == most:
        if count % 4:
            return
        del sample[(count // 4 * 0x9E3779B9 % 2**32) * most >> 32]
    bisect.insort(sample, error)


def certain_variance(pieces: list[list[Score]], parts: tuple[int, ...]) -> float:
    """The largest variance per score of sums of 1, 2, ..., 256 neighbouring scores of a piece, less its uncertainty."""
    found, width = [1.0], 1
    while width <= 256:
        gaps: list[Array] = []
        for piece in pieces:
            pairs = len(piece) // (2 * width)
            sums = np.reshape(np.array(piece[: 2 * width * pairs]), (pairs, 2, width, 3)).sum(axis=2)
            gaps.append(sums[:, 0] - sums[:, 1])
        together = np.concatenate([np.empty((0, 3)), *gaps])
        if len(together):
            less = 1 + 2 * math.sqrt(2 / len(together)) + 1 / len(together)
            found += [np.mean(together[:, part] ** 2) / 2 / width / less for part in parts]
        width *= 2
    return float(max(found))


def predictable_part(pieces: list[list[Score]]) -> float:
    """The autocorrelation of z, less two standard errors, in steps of 1/64; 0 if it is below 1/4."""
    count = sum(len(piece) for piece in pieces)
    if count < 64:
        return 0
    z = [np.array([score[1] for score in piece]) for piece in pieces]
    part = sum(float(own[1:] @ own[:-1]) for own in z) / sum(float(own @ own) for own in z)
    part = min(max(part, 0), 1)
    steps = math.floor(64 * (part - 2 * math.sqrt((1 - part**2) / count)))
    return 0 if steps < 16 else min(steps, 63) / 64


def long_run_variance(scores: list[float]) -> float:
    """The largest of 1, the sum of autocovariances weighted by 0.85^(k - 1) at lag k, and the value of an AR(1) process."""
    n, values = len(scores), np.asarray(scores)
    covariances = [values[k:] @ values[:-k] / n for k in range(1, n)]
    first = min(covariances[0], 0.99)
    return max(1, 1 + 2 * sum(0.85**k * c for k, c in enumerate(covariances)), (1 + first) / (1 - first))


class PlainAlarm:
    def __init__(self, false_every: float = FALSE_EVERY) -> None:
        self.limit = math.log(false_every)
        self.past: list[float] = []
        self.sample: list[float] = []
        self.news: list[float] = []
        self.pieces: list[list[Score]] = [[]]  # the scores between changes
        self.held: list[Score] = []  # those that the dependence estimate has not seen
        self.early: list[tuple[float, float]] = []  # -log p - 1 and z of the first errors
        self.before = 0  # how many there were when the evidence for very large errors began
        self.evidence, self.shares, self.began = np.zeros(6), np.ones(6), [0] * 6
        self.next_shares = np.ones(6)
        self.kept, self.fresh, self.pause, self.paused_until = 0.0, 0, 0, 0
        self.later: list[float] = []

    def new_in(self, place: int) -> float:
        return self.past[place] - self.kept * self.past[place - 1]

    def restart(self, errors: int) -> None:
        self.sample = sorted(self.past[-errors:])
        self.restart_news(errors)

    def restart_news(self, errors: int) -> None:
        last = len(self.past)
        self.news = sorted(self.new_in(place) for place in range(last - min(errors, 63), last)) if self.kept else []

    def caution(self) -> float:
        return 1 + 128 / (sum(map(len, self.pieces)) + 1)

    def decide(self) -> None:
        """Before every 16th error."""
        if self.fresh:
            self.restart(self.fresh)
        self.fresh = 0
        if not self.paused():
            before, self.kept = self.kept, predictable_part(self.pieces)
            if not (before and self.kept):
                self.restart_news(64)
        varies = certain_variance(self.pieces, (0, 1))
        if self.early and len(self.past) < 384:
            varies = max(varies, *(long_run_variance([score[part] for score in self.early]) for part in (0, 1)))
        self.next_shares = np.full(6, 1 / varies / self.caution())
        if len(self.past) < 384:
            self.next_shares[VERY_LARGE] = 0.5 / varies
        self.next_shares[NEWS] = 1 / certain_variance(self.pieces, (2,)) / self.caution()

    def paused(self) -> bool:
        return len(self.past) < self.paused_until

    def update(self, error: float) -> bool:
        place = len(self.past)
        if place % 16 == 0:
            self.decide()
        known, settles = len(self.sample), self.paused() and place >= self.paused_until - self.pause
        sample, news = list(self.sample), list(self.news)
        self.past.append(error)
        if place >= 24 and not settles:
            renew(self.sample, 384, error, place + 1)
        if self.kept and not settles:
            renew(self.news, 128, self.new_in(place), place + 1)
        if known < 8:
            return False
        p = size_rank(sample, error)
        if place < self.paused_until:
            self.later.append(p)
            if place + 1 == self.paused_until and np.mean(self.later[-self.pause // 2 :]) < 0.43:
                self.fresh = 32
            return False
        z = float(norm.ppf(rank(int(np.sum(np.array(sample) < error)), sample.count(error), known)))
        very_p = size_rank(self.without_gathered(sample, place), error) if 64 <= place < 384 else p
        if place < 384:
            self.before = len(self.early) if self.evidence[VERY_LARGE] == 0 and place >= 64 else self.before
            self.early.append((-math.log(p) - 1, z))
        return place >= 64 and self.bet(sample, news, error, p, very_p, z)

    def without_gathered(self, sample: list[float], place: int) -> list[float]:
        """The sizes in the sample, except those since the evidence for very large errors began."""
        rest = np.abs(sample).tolist()
        if self.evidence[VERY_LARGE] > 0:
            for one in self.past[max(self.began[VERY_LARGE], place - 48) : place]:
                rest.remove(abs(one))
        return rest

    def bet(self, sample: list[float], news: list[float], error: float, p: float, very_p: float, z: float) -> bool:
        place = len(self.past) - 1
        size = -float(norm.ppf(p / 2))
        most = min(size, 3)
        smaller = math.log(math.sqrt(2.5)) - 0.75 * size**2
        if abs(error) in np.abs(sample):
            smaller = min(smaller, 0)
        new_p = size_rank(news, self.new_in(place)) if len(news) >= 32 else p
        bets = np.array(
            [
                math.log(0.6 * p**-0.4), 2 * min(z, most) - 2, 2 * min(-z, most) - 2, math.log(0.2 * very_p**-0.8),
                math.log(0.6 * new_p**-0.4) if len(news) >= 32 else -math.inf, smaller,
            ]
        )  # fmt: skip
        for k in np.flatnonzero(self.evidence == 0):
            self.shares[k], self.began[k] = self.next_shares[k], place
        with np.errstate(invalid="ignore"):
            self.evidence = np.fmax(self.evidence + self.shares * bets, 0)
        if len(self.held) == 64:
            self.pieces[-1].append(self.held.pop(0))
        self.held.append((-math.log(p), z, -math.log(new_p)))
        found = int(self.evidence[:SMALLER].argmax())
        raised = self.evidence[found] > self.limit
        if raised or self.evidence[SMALLER] > self.limit:
            self.change(found if raised else SMALLER, place + 1)
        return bool(raised)

    def change(self, bet: int, count: int) -> None:
        took = count - self.began[bet]
        slow = took > (104 if bet == SMALLER else 52) * self.caution()
        self.pieces[-1] += self.held if slow else self.held[: max(len(self.held) - took, 0)]
        if not slow:
            self.pieces.append([])
            del self.early[self.before :]
        self.held, self.evidence, self.later = [], np.zeros(6), []
        if bet == SMALLER:
            self.fresh = min(max(took, 24), 64)
        else:
            self.pause = 64 * int(min(certain_variance(self.pieces, (0, 1)), 4))
            self.fresh, self.paused_until = 0, -(-count // 16) * 16 + self.pause


def plain_alarms(errors: Array, false_every: float = FALSE_EVERY) -> list[int]:
    """The indices of the errors that raise the alarm. NaN is ignored."""
    alarm = PlainAlarm(false_every)
    return [place for place, error in enumerate(errors.tolist()) if not math.isnan(error) and alarm.update(error)]
