"""A plain version of the bounds on scores: one row at a time, quantiles from bins, factors as logarithms."""

import math
from statistics import NormalDist

import numpy as np

LEVELS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.925, 0.95, 0.975, 0.99, 0.995, 0.999]
STEP, MEMORY = 0.3, 512
REPAID, FORGOTTEN, LEAST_DEBT, MOST_DEBT, MOST_GROWTH = 0.05, 1 / 3000, -30, 200, 0.15
UNIT, ALL_KEPT = 1024, 4096  # integer units of a row's weight and of the share kept


def squared_half_width(level):
    """The squared half width of a standard Gaussian's interval, relative to that of level 0.5."""
    quantile = NormalDist().inv_cdf
    return (quantile((1 + level) / 2) / quantile(0.75)) ** 2


def key_of(score):
    """The number of a score's bin: each power of two has four bins."""
    mantissa, power = math.frexp(score)  # mantissa in [1/2, 1)
    return 4 * power + math.floor((2 * mantissa - 1) * 4)


def edge_of(key):
    """The smallest score in this bin."""
    return math.ldexp(1 + key % 4 / 4, key // 4 - 1)


def clamp(value, least, most):
    return min(max(value, least), most)


def share_aimed_at(level, debt):
    """The share of misses to aim at, so that excess misses are repaid."""
    outside = 1 - level
    return clamp(outside - REPAID * debt, outside / 10, min(10 * outside, (1 + outside) / 2))


class Bounds:
    """The bounds of all levels. There are 192 bins; scores beyond them are counted in the first or the last."""

    def __init__(self):
        self.rows, self.zeros, self.bins, self.first = 0, 0, [0] * 192, None
        self.base = [0.0] * len(LEVELS)
        self.log_factor = [0.0] * len(LEVELS)
        self.debt = [0.0] * len(LEVELS)
        self.late = 0  # how many rows late the last label was
        self.origin = self.batch = self.last_batch = 0  # rows predicted after the same number of labels

    def rows_at_once(self):
        """How many rows are predicted between two labels, if labels arrive in batches of four or more; otherwise 1."""
        rows = max(self.batch, self.last_batch)
        return rows if rows >= 4 else 1

    def issued(self):
        """The bounds as issued: those of higher levels are no lower than those of lower levels."""
        own = [base * math.exp(log) for base, log in zip(self.base, self.log_factor, strict=True)]
        return [max(own[: k + 1]) for k in range(len(own))]

    def urgency(self):
        """The factor on debts: up to 4 if labels are over 24 rows late, but a batch of rows repays at most half together."""
        return min(clamp(self.late / 24, 1, 4), 0.5 / REPAID / self.rows_at_once())

    def urgent_debts(self):
        """The debts times the urgency, by level, in single precision as in a ticket."""
        return [self.urgent_debt(k) for k in range(len(LEVELS))]

    def urgent_debt(self, k):
        return float(np.float32(self.debt[k] * self.urgency()))

    def shares(self):
        """The share of misses expected of intervals whose labels are late, by level."""
        return [share_aimed_at(level, debt) for level, debt in zip(LEVELS, self.urgent_debts(), strict=True)]

    def take(self, score):
        """Takes a score whose label arrived at once."""
        today, self.late = self.issued(), 0
        for k, level in enumerate(LEVELS):
            if today[k] > 0:
                self.log_factor[k] += STEP * ((score > today[k]) - (1 - level))
        self._count(score)

    def take_late(self, score, issued, shares, late):
        """Takes a score by the bounds and expected misses issued ``late`` labels ago; one interval was issued since."""
        if self.origin != self.rows - late:
            self.origin, self.last_batch, self.batch = self.rows - late, self.batch, 0
        self.batch += self.origin > 0  # before the first label every row waits, in batches or not
        aimed, in_batches, scale = self.shares(), self.rows_at_once() > 1, max(1, self.rows_at_once() * REPAID / 0.5)
        for k, level in enumerate(LEVELS):
            if self.base[k] > 0 and not in_batches:
                self.debt[k] += aimed[k] - (1 - level)
            if issued[k] > 0:
                self.debt[k] += (score > issued[k]) - (1 - level if in_batches else shares[k])
            self.debt[k] = float(np.float32(clamp(self.debt[k] * (1 - FORGOTTEN), scale * LEAST_DEBT, scale * MOST_DEBT)))
        self.late = late
        self._count(score)
        if self.base[0] > 0:
            self.log_factor = [self._late_log_factor(k) for k in range(len(LEVELS))]

    def _late_log_factor(self, k):
        debt = self.urgent_debt(k)
        share = share_aimed_at(LEVELS[k], debt)
        beyond = share - (1 - LEVELS[k] - REPAID * debt)  # the part that no share within the limits repays
        if share < 1 - LEVELS[-1]:
            quantile = self.base[-1] * math.sqrt((1 - LEVELS[-1]) / share)
        else:
            quantile = float(np.interp(1 - share, LEVELS, self.base))
        growth = min(MOST_GROWTH, max(72 / self.late**2, 2 / self.late)) * beyond / (REPAID * self.urgency())
        log_bound = min(math.log(quantile) + growth, math.log(self._most_bound()))
        return clamp(log_bound - math.log(self.base[k]), math.log(1e-6), math.log(1e12))

    def _most_bound(self):
        """Twice the largest recent score, and no less than the quantiles."""
        if self.bins[-1]:
            return math.inf
        top = max((place + 1 for place, weight in enumerate(self.bins) if weight), default=0)
        return max(2 * edge_of(self.first + top), self.base[-1])

    def _count(self, score):
        if score == 0:
            self.zeros += UNIT
        else:
            self.first = key_of(score) - 64 if self.first is None else self.first
            self.bins[min(max(key_of(score) - self.first, 0), 191)] += UNIT
        self.rows += 1
        if self.rows < 32 or self.rows % (8 if self.rows < 512 else 64) == 0:
            self._read(score)

    def _read(self, score):
        positive = sum(self.bins)
        if positive:
            self.base = [self._quantile(level * (self.zeros + positive))[1] for level in LEVELS]
            least, most = math.log(1e-6), math.log(1e12)
            self.log_factor = [min(max(log, least), most) for log in self.log_factor]
            median, _ = self._quantile(self.zeros + positive // 2 + 1)
        since = 1 if self.rows <= 32 else 8 if self.rows <= 512 else 64
        keep = int((1 - since / min(max(2, self.rows / 2), MEMORY)) * ALL_KEPT)
        self.zeros = self.zeros * keep // ALL_KEPT
        self.bins = [weight * keep // ALL_KEPT for weight in self.bins]
        if positive and not 48 <= median < 96:
            self._centre(median, score)

    def _quantile(self, wanted):
        """The bin in which the cumulative weight reaches ``wanted``, and the score where it does."""
        below = self.zeros
        for place, weight in enumerate(self.bins):
            if weight and below + weight >= wanted:
                low, high = edge_of(self.first + place), edge_of(self.first + place + 1)
                return place, low + (high - low) * max(0, (wanted - below) / weight)
            below += weight
        raise AssertionError("no level is 1")

    def _centre(self, median, score):
        """Moves the bins. A median in an end bin counts as the last score, if that score is in the same bin."""
        centre, at_an_end = median, median in (0, 191)
        if at_an_end:
            centre = key_of(score) - self.first if score else median
            if min(max(centre, 0), 191) != median:
                return
        moved = [0] * 192
        for place, weight in enumerate(self.bins):
            beyond = place == (0 if centre < 64 else 191)  # the end towards which the bins move
            to = min(max(place - centre + 64, 0), 191)
            moved[to if not beyond else 64 if at_an_end else place] += weight
        self.bins, self.first = moved, self.first + centre - 64


def follow(scores, level):
    """The bound issued before each score."""
    bounds, out = Bounds(), []
    for score in scores:
        out.append(bounds.issued()[LEVELS.index(level)])
        bounds.take(score)
    return out
