"""A plain version of Auto's experts outside the linear core: full matrices and loops over the whole past."""

import numpy as np

from .traces import Array

NEAR = 16


class Fit:
    """Least squares with forgetting. A column is scaled by its deviation over 8 rows or, if constant, by its first step."""

    def __init__(self, columns: int, forgetting: float, ridge: float) -> None:
        self.rows: list[Array] = []
        self.forgetting = forgetting
        self.w, self.S = np.zeros(columns + 1), np.eye(columns + 1) / ridge

    def learn(self, row: Array, y: float) -> None:
        self.rows.append(row)
        if len(self.rows) < 8:
            return
        if len(self.rows) == 8:
            self.centre, self.size = np.mean(self.rows, axis=0), np.std(self.rows, axis=0)
            still = np.ptp(self.rows, axis=0) == 0
            self.centre[still], self.size[still] = row[still], 0.0
        begins = (self.size == 0) & (row != self.centre)
        self.size[begins] = np.abs(row - self.centre)[begins]
        z = self._seen(row)
        self.S /= self.forgetting
        k = self.S @ z
        self.w += k * (y - self.w @ z) / (1 + z @ k)
        self.S -= np.outer(k, k) / (1 + z @ k)

    def predict(self, row: Array) -> float:
        return float(self.w @ self._seen(row))

    def ready(self) -> bool:
        return len(self.rows) > 8

    def _seen(self, row: Array) -> Array:
        away = row - self.centre
        return np.concatenate([[1.0], np.divide(away, self.size, out=np.zeros_like(away), where=self.size > 0)])


def differences(values: Array) -> Array:
    """Differences of order 0, 1, 2, ... at the newest value; values come newest first."""
    out, now = [], values
    while len(now):
        out.append(now[0])
        now = now[:-1] - now[1:]
    return np.array(out)


def by_differences(X: Array, y: Array, core: Array, delay: int) -> Array:
    """The autoregression in differences: its prediction for each row, or the core's until it has one."""
    d = X.shape[1]
    lags = max(1, min(16, 16 // d))
    fit, predicted = Fit(NEAR + d * lags, 0.9998, 1e-3), core.copy()
    waiting: list[tuple[Array, float, float] | None] = []
    for t in range(len(y)):
        known = max(t - delay, 0)
        row = None
        if known >= NEAR:
            past = y[:known][::-1][:NEAR]
            columns = [np.array([X[t], *X[:known][::-1][: lags - 1]])[:, j] for j in range(d)]
            row = np.concatenate([differences(past), np.column_stack([differences(c) for c in columns]).ravel()])
            if fit.ready():
                predicted[t] = past[0] + fit.predict(row)
        if known > 1:  # clip to half a range outside the labels
            low, high = y[:known].min(), y[:known].max()
            predicted[t] = np.clip(predicted[t], low - 0.5 * (high - low), high + 0.5 * (high - low))
        waiting.append(None if row is None else (row, y[known - 1], y[t]))
        if t >= delay and (told := waiting[t - delay]) is not None:
            fit.learn(told[0], told[2] - told[1])
    return predicted


def stack(predicted: Array, y: Array) -> Array:
    """The stacked prediction for each row, if each label arrives at once."""
    others = predicted.shape[1] - 1
    S, w, squares, rows, out = np.eye(others) / 10, np.zeros(others), 0.0, 0.0, []
    for t, (row, label) in enumerate(zip(predicted, y, strict=True)):
        size = np.sqrt(squares / rows) if rows else 0.0
        z = np.clip((row[1:] - row[0]) / size, -30, 30) if size else np.zeros(others)
        low, high = row.min(), row.max()
        out.append(np.clip(row[0] + size * (w @ z), low - 0.1 * (high - low), high + 0.1 * (high - low)))
        if t == 0:
            continue  # no label was known when this row was predicted
        squares, rows = 0.999 * squares + (label - row[0]) ** 2, 0.999 * rows + 1
        size = np.sqrt(squares / rows)
        z = np.clip((row[1:] - row[0]) / size, -30, 30)
        S = S / 0.999
        k = S @ z
        w = w + k * (np.clip((label - row[0]) / size, -30, 30) - w @ z) / (1 + z @ k)
        S = S - np.outer(k, k) / (1 + z @ k)
    return np.array(out)


class Bernstein:
    """Bernstein online aggregation with fading regrets, for regrets without outliers."""

    def __init__(self, prior: Array) -> None:
        self.prior, self.weights = prior, prior
        self.sums, self.squares, self.most = np.zeros((3, len(prior)))

    def learn(self, predicted: Array, mixed: float, y: float) -> None:
        regret = 2 * (mixed - y) * (mixed - predicted)
        self.most = np.maximum(0.998 * self.most, np.abs(regret))
        self.squares = 0.998 * self.squares + regret**2
        with np.errstate(divide="ignore", invalid="ignore"):
            bound = 2 ** np.ceil(np.log2(self.most))
            eta = np.minimum(1 / bound, np.sqrt(-np.log(self.prior) / self.squares))
        moved = 0.998 * self.sums + 0.5 * (regret - eta * regret**2 + np.where(eta * regret > 0.5, bound, 0))
        self.sums = np.where(self.most > 0, moved, 0.0)
        eta = np.where(self.most > 0, eta, 1 / bound.max() if self.most.any() else 1.0)
        logs = np.log(self.prior * eta) + eta * self.sums
        self.weights = np.exp(logs - logs.max())
        self.weights /= self.weights.sum()


class Likely:
    """A mixture weighted by likelihood; a row's loss is capped at 1,000 times the best mean loss so far."""

    def __init__(self, prior: Array, keep: float) -> None:
        self.prior, self.keep, self.rows, self.losses = prior, keep, 0.0, np.zeros(len(prior))
        self._weigh()

    def learn(self, predicted: Array, y: float) -> None:
        squares = (y - predicted) ** 2
        least = self.losses.min()
        usual = 1e3 * least / self.rows if least > 0 else 1e280
        self.losses = self.keep * self.losses + np.minimum(squares, usual)
        self.rows = self.keep * self.rows + 1
        self.prior = self.keep * self.prior
        self._weigh()

    def _weigh(self) -> None:
        logs = self.prior - 0.5 * self.rows * np.log(self.losses + 1e-9 * self.losses.mean() + 2.3e-308)
        self.weights = np.exp(logs - logs.max())
        self.weights /= self.weights.sum()


def final_mixture(predicted: Array, y: Array) -> Array:
    """The final mixture for each row, if each label arrives at once and no two successive labels are outliers."""
    others = predicted.shape[1] - 1
    prior = np.array([0.5] + others * [0.5 / others])
    likely = [Likely(np.array([3.0] + others * [0.0]), keep) for keep in (0.99, 0.998, 0.9998)]
    cautious, last, out = Bernstein(prior), Bernstein(np.full(4, 0.25)), []
    for t, (row, label) in enumerate(zip(predicted, y, strict=True)):
        layer = np.array([*(one.weights @ row for one in likely), cautious.weights @ row])
        out.append(last.weights @ layer)
        if t > 0:
            for one in likely:
                one.learn(row, label)
            cautious.learn(row, layer[3], label)
            last.learn(layer, out[-1], label)
    return np.array(out)


def near_the_newest(mixed: Array, y: Array) -> Array:
    """Auto's final prediction for each row, if each label arrives at once, given those of the final mixture."""
    newest, out = np.append(0.0, y[:-1]), mixed.copy()
    near = np.array([held_near(mixed[t], y[:t]) for t in range(len(y))])
    for t in range(2, 60):
        share, reach = share_of_the_newest(near[:t], y[:t])
        moved = near[t] + np.clip(share * (newest[t] - near[t]), -reach, reach)
        out[t] += min(1.0, (60 - t) / 30) * (moved - mixed[t])
    return out


def held_near(mixed: float, known: Array) -> float:
    """A prediction within one and a half times the largest change of the labels known."""
    if len(known) < 3:
        return mixed
    reach = 1.5 * np.abs(np.diff(known)).max()
    return float(np.clip(mixed, known[-1] - reach, known[-1] + reach))


def share_of_the_newest(near: Array, known: Array) -> tuple[float, float]:
    """The share of the newest label in the next prediction, given those so far and their labels; and how far it may move."""
    errors, others = known[1:] - near[1:], np.diff(known)
    apart, age = errors - others, np.arange(len(errors))[::-1]
    slow, fast = 0.98**age, 0.2**age
    best = slow @ (errors * apart) / ((slow @ apart**2) * (1 + 2 / slow.sum()))
    ratio = (fast @ errors**2) / (fast @ others**2)
    return float(np.clip(best, 0, 1) * np.clip((ratio - 0.6) / 0.5, 0, 1)), 0.8 * np.sqrt(0.8 * fast @ errors**2)
