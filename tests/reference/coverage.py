"""A plain version of the bounds on scores: one row at a time, quantiles from bins, factors as logarithms.

Quantiles of signed errors come from a second histogram: where each label lay among the ends of the intervals that had
been issued, as a position. The prediction has position 0, and the ends of the k-th of the 16 levels have -k and k, from 1.
"""

import math
from statistics import NormalDist

import numpy as np

LEVELS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.925, 0.95, 0.975, 0.99, 0.995, 0.999]
STEP, MEMORY, PLACE_MEMORY = 0.3, 512, 256
FORGOTTEN, LEAST_DEBT, MOST_DEBT, MOST_GROWTH = 1 / 3000, -30, 200, 0.1
UNIT, ALL_KEPT = 1024, 4096  # integer units of a row's weight and of the share kept
BINS, FREE, WIDEST = 128, 2 / 5, 6  # the share of the free bins that is below the scores; a bin has at most 2^6 keys
RUN, RUN_LEVEL = 8, LEVELS.index(0.9)  # this many misses in a row show that errors have changed
FAR = 100  # scores this many times the run level's quantile are far above the recent ones
CALM_ROWS, CALM_MISSES, CALM_SHARE = 32, 3, 0.6  # with this few misses of the run level in the last rows, debts count less
PARTS, PRIOR = [0, 1 / 8, 1 / 2, 7 / 8], 2  # where the parts between two ends begin; rows that the prior counts as
POSITIONS = [k + part for k in range(len(LEVELS) + 1) for part in PARTS]  # where the bins on one side begin


def squared_half_width(level):
    """The squared half width of a standard Gaussian's interval, relative to that of level 0.5."""
    quantile = NormalDist().inv_cdf
    return (quantile((1 + level) / 2) / quantile(0.75)) ** 2


def key_of(score):
    """Four keys for each power of two."""
    mantissa, power = math.frexp(score)  # mantissa in [1/2, 1)
    return 4 * power + math.floor((2 * mantissa - 1) * 4)


def edge_of(key):
    """The smallest score with this key."""
    return math.ldexp(1 + key % 4 / 4, key // 4 - 1)


def clamp(value, least, most):
    return min(max(value, least), most)


def usual_debt(level):
    """20 misses up to level 0.9, and fewer where fewer are expected."""
    return 20 * min(1, 10 * (1 - level))


def share_aimed_at(level, debt, power=3):
    """The share of misses to aim at, so that excess misses are repaid."""
    outside = 1 - level
    return clamp(outside - (debt / usual_debt(level)) ** power, 0.3 * outside, min(10 * outside, (1 + outside) / 2))


class Bounds:
    """The bounds of all levels. There are 128 bins of ``width`` keys; scores below them are counted in the first one."""

    def __init__(self):
        self.rows, self.zeros, self.bins, self.first, self.width = 0, 0, [0] * BINS, None, 1
        self.since = 0  # the row from which the memory grows, and the bins are read more often
        self.last = []  # the last scores, and whether each was above the bound of the run level
        self.recent = []  # whether each of the last 32 scores was above that bound; a change counts as eight that were not
        self.base = [0.0] * len(LEVELS)
        self.log_factor = [0.0] * len(LEVELS)
        self.debt = [0.0] * len(LEVELS)
        self.late = 0  # how many rows late the last label was
        self.origin = self.batch = self.last_batch = 0  # rows predicted after the same number of labels
        self.places = {}  # weights by side (-1, 0 or 1) and the position where the bin begins

    def bound(self, k):
        return self.base[k] * math.exp(self.log_factor[k])

    def rows_at_once(self):
        """How many rows are predicted between two labels, if labels arrive in batches of four or more; otherwise 1."""
        rows = max(self.batch, self.last_batch)
        return rows if rows >= 4 else 1

    def issued(self):
        """The bounds as issued: those of higher levels are no lower than those of lower levels."""
        own = [self.bound(k) for k in range(len(LEVELS))]
        return [max(own[: k + 1]) for k in range(len(own))]

    def urgency(self):
        """The factor on debts: 4 at first, 1 from 1,000 labels on, and less for batches of more than 10 rows."""
        return min(clamp(1000 / max(1, self.rows), 1, 4), 10 / self.rows_at_once())

    def urgent_debts(self):
        """The debts times the urgency, by level, in single precision as in a ticket."""
        return [self.urgent_debt(k) for k in range(len(LEVELS))]

    def urgent_debt(self, k):
        return float(np.float32(self.counted_debt(k)))

    def counted_debt(self, k):
        """The debt times the urgency. While few labels are missed, it lowers the share to at least 0.6 of the usual one."""
        debt, outside = self.debt[k] * self.urgency(), 1 - LEVELS[k]
        if sum(self.recent) > CALM_MISSES:
            return debt
        return min(debt, usual_debt(LEVELS[k]) * math.cbrt((1 - CALM_SHARE) * outside))

    def shares(self):
        """The share of misses expected of intervals whose labels are late, by level."""
        return [share_aimed_at(level, debt) for level, debt in zip(LEVELS, self.urgent_debts(), strict=True)]

    def take(self, score, side=1):
        """Takes a score whose label arrived at once, and lay on a side of the prediction: 1 above, -1 below."""
        today, self.late = self.issued(), 0
        missed = sum(score > bound for bound in today)
        self._place_label(score, side, [self.bound(k) for k in range(max(0, missed - 1), len(LEVELS))], missed)
        for k, level in enumerate(LEVELS):
            if today[k] > 0:
                self.log_factor[k] += STEP * ((score > today[k]) - (1 - level))
        self._take(score, score > today[RUN_LEVEL])

    def take_late(self, score, issued, shares, late, side=1):
        """Takes a score by the bounds and expected misses issued ``late`` labels ago; one interval was issued since."""
        if self.origin != self.rows - late:
            self.origin, self.last_batch, self.batch = self.rows - late, self.batch, 0
        self.batch += self.origin > 0  # before the first label every row waits, in batches or not
        aimed, in_batches, scale = self.shares(), self.rows_at_once() > 1, max(1, self.rows_at_once() / 10)
        for k, level in enumerate(LEVELS):
            if self.base[k] > 0 and not in_batches:
                self.debt[k] += aimed[k] - (1 - level)
            if issued[k] > 0:
                self.debt[k] += (score > issued[k]) - (1 - level if in_batches else shares[k])
            self.debt[k] = float(np.float32(clamp(self.debt[k] * (1 - FORGOTTEN), scale * LEAST_DEBT, scale * MOST_DEBT)))
        self.late = late
        missed = sum(score > bound for bound in issued)
        self._place_label(score, side, issued[max(0, missed - 1) :], missed)
        self._take(score, score > self.bound(RUN_LEVEL))
        if self.base[0] > 0:
            self.log_factor = [self._late_log_factor(k) for k in range(len(LEVELS))]

    def _place_label(self, score, side, ends, missed):
        """Counts where a label lay: its score exceeds the bounds of the first levels, the last of which is the first end."""
        if ends and not ends[-1] > 0:
            return  # no interval had been issued
        low, high = (ends[0] if missed else 0, ends[int(missed > 0)] if missed < len(LEVELS) else math.inf)
        part = max(part for part in PARTS if score - low > part * (high - low) or part == 0)
        place = (int(side), int(missed) + part) if score > 0 else (0, 0)
        self.places[place] = self.places.get(place, 0) + UNIT

    def quantile(self, level, bounds):
        """The quantile of a level as a signed root of a score, between the ends of intervals with these bounds."""
        ends = [0, *np.sqrt(bounds)]

        def root(position):
            k, part = int(position), position % 1
            if k == len(LEVELS):
                return ends[k]
            return math.sqrt(ends[k] ** 2 + part * (ends[k + 1] ** 2 - ends[k] ** 2))

        bins = []  # position of either end, side, weight; from the lowest
        for position, after in zip(POSITIONS, [*POSITIONS[1:], math.inf], strict=True):
            share = np.interp([position, after], range(len(LEVELS) + 2), [0, *LEVELS, 1])
            if position >= len(LEVELS):  # beyond all levels there is one bin
                share = [LEVELS[-1], 1] if position == len(LEVELS) else [1, 1]
            prior = round(PRIOR * UNIT * (share[1] - share[0]) / 2)
            above, below = (self.places.get((side, position), 0) + prior for side in (1, -1))
            bins = [(position, after, -1, below), *bins, (position, after, 1, above)]
        bins.insert(len(POSITIONS), (0, 0, 0, self.places.get((0, 0), 0)))
        wanted = level * sum(weight for *_, weight in bins)
        while wanted > bins[0][-1]:
            wanted -= bins.pop(0)[-1]
        position, after, side, weight = bins[0]
        if side == 0:
            return 0.0
        nearer = wanted / weight if side > 0 else 1 - wanted / weight  # the share of the bin's labels nearer the prediction
        if position >= len(LEVELS):
            return side * ends[-1] * (1 - nearer) ** -0.25
        return side * (root(position) + nearer * (root(after) - root(position)))

    def _late_log_factor(self, k):
        share = share_aimed_at(LEVELS[k], self.urgent_debt(k), 1 if self.rows_at_once() > 1 else 3)
        if share < 1 - LEVELS[-1]:
            quantile = self.base[-1] * math.sqrt((1 - LEVELS[-1]) / share)
        else:
            quantile = float(np.interp(1 - share, LEVELS, self.base))
        debt = self.counted_debt(k)
        growth = min(MOST_GROWTH, 2 / max(self.late, 1)) * math.copysign(max(0, abs(debt) - usual_debt(LEVELS[k]) / 2), debt)
        log_bound = min(math.log(quantile) + growth, math.log(self._most_bound()))
        return clamp(log_bound - math.log(self.base[k]), math.log(1e-6), math.log(1e12))

    def _most_bound(self):
        """Twice the largest recent score, and no less than the quantiles."""
        top = max((place + 1 for place, weight in enumerate(self.bins) if weight), default=0)
        return max(2 * self._edge(top), self.base[-1])

    def _edge(self, place):
        return edge_of(self.first + place * self.width)

    def _place(self, score):
        return (key_of(score) - self.first) // self.width

    def _take(self, score, missed):
        self._count(score)
        self.rows += 1
        self.last = [*self.last[1 - RUN :], (score, missed)]
        self.recent = [*self.recent[1 - CALM_ROWS :], missed]
        if len(self.last) == RUN and all(missed for _, missed in self.last):
            self._act_on_run([score for score, _ in self.last])
        since = self.rows - self.since
        if since < 32 or since % (8 if since < 512 else 64) == 0:
            self._read(score, 1 if since <= 32 else 8 if since <= 512 else 64)

    def _act_on_run(self, scores):
        """Forgets excess coverage; if most of the run is far above the recent scores, these weigh as much as the run."""
        self.log_factor = [max(0, log) for log in self.log_factor]
        self.debt = [0 if debt < -20 else debt for debt in self.debt]
        if sum(score > FAR * self.base[RUN_LEVEL] for score in scores) > RUN / 2:
            total = self.zeros + sum(self.bins)
            if total > RUN * UNIT:
                self.zeros = self.zeros * RUN * UNIT // total
                self.bins = [weight * RUN * UNIT // total for weight in self.bins]
            for score in scores:
                self._count(score)
            self.since = max(self.since, self.rows - 2 * RUN)
            self.last = []
            self.recent = [*self.recent, *RUN * [False]][-CALM_ROWS:]

    def _count(self, score):
        if score == 0:
            self.zeros += UNIT
            return
        if self.first is None:
            self.first = key_of(score)
            self._fit(self.first, self.first)
        elif self._place(score) >= BINS:
            self._fit(self.first + self._low() * self.width, key_of(score))
        self.bins[max(0, self._place(score))] += UNIT

    def _read(self, score, since):
        positive, lowest = sum(self.bins), None
        if positive:
            quantiles = [self._quantile(level * (self.zeros + positive)) for level in LEVELS]
            self.base, lowest = [quantile for _, quantile in quantiles], quantiles[0][0]
            least, most = math.log(1e-6), math.log(1e12)
            self.log_factor = [min(max(log, least), most) for log in self.log_factor]
        rows = self.rows if self.late else self.rows - self.since
        keep = int((1 - since / min(max(2, rows / 2), MEMORY)) * ALL_KEPT)
        self.zeros = self.zeros * keep // ALL_KEPT
        self.bins = [weight * keep // ALL_KEPT for weight in self.bins]
        keep = int((1 - since / min(max(2, rows / 2), PLACE_MEMORY)) * ALL_KEPT)
        self.places = {place: weight * keep // ALL_KEPT for place, weight in self.places.items()}
        if lowest == 0:
            self._reach_down(score)
        elif lowest is not None and self.width > 1 and self._high() - self._low() < BINS // 4:
            self._fit(self.first + self._low() * self.width, self.first + self._high() * self.width)

    def _quantile(self, wanted):
        """The bin in which the cumulative weight reaches ``wanted``, and the score where it does."""
        below = self.zeros
        for place, weight in enumerate(self.bins):
            if weight and below + weight >= wanted:
                low, high = self._edge(place), self._edge(place + 1)
                return place, low + (high - low) * max(0, (wanted - below) / weight)
            below += weight
        raise AssertionError("no level is 1")

    def _low(self):
        """The bin in which the weights of the bins sum up to a sixteenth."""
        sums = np.cumsum(self.bins)
        return min(int(np.searchsorted(sums, sums[-1] // 16, side="right")), BINS - 1)

    def _high(self):
        return max((place for place, weight in enumerate(self.bins) if weight), default=0)

    def _reach_down(self, score):
        """If the scores of the first bin may be anywhere below it, they count as the last one, if that is there too."""
        if score and self._place(score) < 0:
            lowest, self.bins[0] = self.bins[0], 0
            self._fit(key_of(score), self.first + self._high() * self.width)
            self.bins[max(0, self._place(score))] += lowest

    def _fit(self, low, high):
        """The narrowest bins of which two thirds suffice for the keys from low to high."""
        width = next(2**k for k in range(WIDEST + 1) if (high - low) // 2**k < 2 * BINS // 3 or k == WIDEST)
        free = BINS - 1 - (high - low) // width
        old = [(self.first + i * self.width, weight) for i, weight in enumerate(self.bins) if weight]
        parts = max(1, self.width // width)
        self.first += (low - int(free * FREE) * width - self.first) // width * width
        self.bins, self.width = [0] * BINS, width
        for key, weight in old:
            for part in range(parts):  # filled evenly
                place = min(max((key + part * width - self.first) // width, 0), BINS - 1)
                self.bins[place] += weight // parts + (part < weight % parts)


def follow(scores, level):
    """The bound issued before each score."""
    bounds, out = Bounds(), []
    for score in scores:
        out.append(bounds.issued()[LEVELS.index(level)])
        bounds.take(score)
    return out
