"""Plain formulas of a fleet whose keys learn from each other: normal equations, solved anew for each row.

The own models are RLS, and the shared model is given. Rows are in days: all rows of a day are asked, then told in order.
"""

import numpy as np

BANDS = 11


class Least:
    """Weighted least squares with a prior that does not fade exactly; without one it fades like the rows."""

    def __init__(self, forgetting, ridge):
        self.forgetting, self.ridge, self.rows = forgetting, ridge, []

    def predict(self, x):
        if not self.rows:
            return 0.0
        X, y = (np.array(part) for part in zip(*self.rows, strict=True))
        past = self.forgetting ** np.arange(len(y))[::-1]
        A = (X * past[:, None]).T @ X + self.ridge * self.forgetting ** len(y) * np.eye(len(x))
        return float(np.asarray(x) @ np.linalg.solve(A, (X * past[:, None]).T @ y))


def smoothed(labels, rate):
    """The mean of the labels, in which each new one counts at least as much as the rate."""
    mean = 0.0
    for count, y in enumerate(labels, 1):
        mean += max(1 / count, rate) * (y - mean)
    return mean


def shared_features(history, labels, key):
    """Level, last label, recent labels, common movement and knowledge of a key, from all labels in the order told."""
    level = common = 0.0
    seen = {}
    for count, (which, y) in enumerate(zip(history, labels, strict=True), 1):
        mine = seen.setdefault(which, [])
        common += (y - (smoothed(mine, 0.02) if mine else level) - common) / len(seen)
        level += (y - level) / min(count, 1000)
        mine.append(y)
    mine = seen.get(key, [])
    n = len(mine)
    if not n:
        return [level, level, level, common, 0.0]
    return [level + n / (n + 1) * (smoothed(mine, 0.02) - level), mine[-1], smoothed(mine, 0.2), common, n / (n + 1)]


def band(n):
    """0, 1, 2 to 3, 4 to 7, ... labels."""
    return 0 if n == 0 else min(10, 1 + int(np.floor(np.log2(n))))


def predict(days, forgetting, pool):
    """The predictions of all rows. ``pool`` predicts the label of a row from all earlier rows and labels."""
    history, labels, X, o_errors, p_errors, keys_of_errors = [], [], [], [], [], []
    mse, own, shares, out = 0.0, {}, {}, []
    for rows in days:
        asked = []
        for key, x, _ in rows:
            n = history.count(key)
            z = np.append(x, shared_features(history, labels, key))
            p = pool(X, labels, z)
            o = p if n == 0 else own[key].predict(np.append(x, 1.0))
            scale, edge = scale_of(key, keys_of_errors, p_errors, o_errors, mse)
            f = np.array([(o - p) / scale, (o - p) / scale * edge])
            serving = next((b for b in range(band(n), -1, -1) if b in shares), None)
            out.append(p if serving is None or np.isnan(scale) else p + scale * solve(shares[serving], f))
            asked.append((z, p, o, scale, f, band(n)))
        for (key, x, y), (z, p, o, scale, f, b) in zip(rows, asked, strict=True):
            own.setdefault(key, Least(forgetting, 1.0)).rows.append((np.append(x, 1.0), y))
            X.append(z)
            history.append(key)
            labels.append(y)
            if not np.isnan(scale):
                if b not in shares:
                    before = next((c for c in range(b, -1, -1) if c in shares), None)
                    shares[b] = [] if before is None else list(shares[before])
                shares[b].append((f, (y - p) / scale))
            keys_of_errors.append(key)
            p_errors.append(y - p)
            o_errors.append(y - o)
            rate = max(2 / (len(p_errors) + 1), 1e-3)
            mse += rate * (min((y - p) ** 2, (y - o) ** 2) - mse)
    return np.array(out)


def scale_of(key, keys, p_errors, o_errors, mse):
    """The size of the errors to expect, and the edge of the own model."""
    if len(keys) < 8:
        return np.nan, 0.0
    mine, squares = [place for place, which in enumerate(keys) if which == key], []
    for errors in (p_errors, o_errors):
        square = 0.0
        for count, place in enumerate(mine, 1):
            square += max(1 / count, 0.05) * (errors[place] ** 2 - square)
        squares.append(square)
    scale = np.sqrt((2 * mse + len(mine) * min(squares)) / (2 + len(mine)))
    return scale, squares[0] / sum(squares) - 0.5 if sum(squares) > 0 else 0.0


def solve(rows, f):
    """The prediction of a share, with the prior of RLS(forgetting=0.998, ridge=4, keep_prior=True)."""
    X, y = (np.array(part) for part in zip(*rows, strict=True))
    past, q = 0.998 ** np.arange(len(y))[::-1], 1.0
    for _ in y:
        q *= 0.998
        q = 1 / q if q < 0.79 else q
    A = (X * past[:, None]).T @ X + 4.0 * q * np.eye(2)
    return float(f @ np.linalg.solve(A, (X * past[:, None]).T @ y))
