"""S-RLS and GMF-RLS: recursive least squares for sparse weights, which the DFOP paper compares Sparse-DFOP with.

Their authors are Yazdanpanah and Diniz, "Recursive least-squares algorithms for sparse system modeling" (ICASSP 2017). The
versions here are derived from the criteria as others describe them, in plain NumPy, O(D²) a row. :class:`PlainDFOP` is
written in the same style, for a fair comparison of times.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

THRESHOLDS = (1e-3, 1e-2, 1e-1)
PENALTIES = (1e-3, 1e-1, 10.0)


class PlainLearner(ABC):
    """Weights w and a matrix S, with forgetting. Predicts, then learns, row by row."""

    def __init__(self, forgetting: float, start: float) -> None:
        self.forgetting, self.start = forgetting, start

    def predictions(self, X: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        """Predictions of all rows, each made before its label was learned; NaN from the first non-finite one on."""
        self.begin(X.shape[1])
        found = np.full(len(y), np.nan)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            for t, (x, label) in enumerate(zip(X, y, strict=True)):
                prediction = self.w @ x
                if not np.isfinite(prediction):
                    break
                found[t] = prediction
                self.learn(x, label, label - prediction)
        return found

    def begin(self, d: int) -> None:
        """Sets the initial state."""
        self.w, self.S = np.zeros(d), self.start * np.eye(d)

    @abstractmethod
    def learn(self, x: NDArray[Any], y: float, error: float) -> None:
        """Learns a row whose prediction was off by ``error``."""


class PlainDFOP(PlainLearner):
    """Algorithm 1 of the DFOP paper: S ← S/(1 − μ), k = S x, w ← w + k e/(1/μ + x·k), S ← S − k kᵀ/(1/μ + x·k).

    >>> PlainDFOP(forget_rate=0.5, start=1.0).predictions(np.ones((2, 1)), np.ones(2)).tolist()
    [0.0, 0.5]
    """

    def __init__(self, forget_rate: float, start: float) -> None:
        super().__init__(1 - forget_rate, start)

    def learn(self, x: NDArray[Any], y: float, error: float) -> None:
        """One step of Algorithm 1."""
        self.S /= self.forgetting
        k = self.S @ x
        c = 1 / (1 - self.forgetting) + x @ k
        self.w += k * (error / c)
        v = k / np.sqrt(c)
        self.S -= np.outer(v, v)


class SRLS(PlainLearner):
    """S-RLS: weights no larger than ``threshold`` take no part in the update.

    The criterion is Σ λ^(t−i) (y_i − x_i·f(w))², where f sets such weights to 0. Its normal equations, with the derivative F
    of f (a diagonal of ones and zeros) taken at the weights that predicted each row, are A w = b with A = Σ λ^(t−i) F x xᵀ
    and b = Σ λ^(t−i) F x y. The inverse S of A follows by the matrix inversion lemma:

        k = S F x,  c = λ + x·k,  w ← w + k e/c,  S ← (S − k xᵀS/c)/λ.

    S is not symmetric, and c need not stay positive. Weights start above the threshold, at 1: from 0 they would never move.

    >>> SRLS(forgetting=1.0, start=1.0, threshold=0.1).predictions(np.ones((2, 1)), np.zeros(2)).tolist()
    [1.0, 0.5]
    """

    def __init__(self, forgetting: float, start: float, threshold: float) -> None:
        super().__init__(forgetting, start)
        self.threshold = threshold

    def begin(self, d: int) -> None:
        """With weights above any threshold."""
        super().begin(d)
        self.w = np.ones(d)

    def learn(self, x: NDArray[Any], y: float, error: float) -> None:
        """One step with the row restricted to inputs whose weights are above the threshold."""
        k = self.S @ np.where(np.abs(self.w) > self.threshold, x, 0.0)
        c = self.forgetting + x @ k
        self.w += k * (error / c)
        self.S -= np.outer(k / c, x @ self.S)
        self.S /= self.forgetting


class GMFRLS(PlainLearner):
    """GMF-RLS: least squares with a penalty on how many weights differ from 0, in Geman and McClure's smooth form.

    The criterion is ½ Σ λ^(t−i) (y_i − x_i·w)² + penalty · Σ_j (1 − 1/(1 + β|w_j|)), where β is the ``steepness``. The
    penalty's gradient is evaluated at the weights before the row, g_j = β sign(w_j)/(1 + β|w_j|)², and assumed constant from
    row to row, as Eksioglu and Tanc do ("RLS algorithm with convex regularization", IEEE Signal Processing Letters, 2011):

        k = S x,  c = λ + x·k,  S ← (S − k kᵀ/c)/λ,  w ← w + k e/c − penalty (1 − λ) S g.

    >>> GMFRLS(forgetting=0.5, start=1.0, penalty=0.0).predictions(np.ones((2, 1)), np.ones(2)).round(4).tolist()
    [0.0, 0.6667]
    """

    def __init__(self, forgetting: float, start: float, penalty: float, steepness: float = 5.0) -> None:
        super().__init__(forgetting, start)
        self.penalty = penalty
        self.steepness = steepness

    def learn(self, x: NDArray[Any], y: float, error: float) -> None:
        """One step of RLS, and one against the penalty's gradient."""
        k = self.S @ x
        c = self.forgetting + x @ k
        v = k / np.sqrt(c)
        self.S -= np.outer(v, v)
        self.S /= self.forgetting
        g = self.steepness * np.sign(self.w) / (1 + self.steepness * np.abs(self.w)) ** 2
        self.w += k * (error / c) - self.penalty * (1 - self.forgetting) * (self.S @ g)


def rivals(forget_rate: float, prior: float) -> dict[str, dict[float, PlainLearner]]:
    """S-RLS by threshold and GMF-RLS by penalty, with the forgetting and the prior of a DFOP, whose P is S / rate."""
    forgetting, start = 1 - forget_rate, forget_rate * prior
    return {
        "S-RLS": {value: SRLS(forgetting, start, value) for value in THRESHOLDS},
        "GMF-RLS": {value: GMFRLS(forgetting, start, value) for value in PENALTIES},
    }


def listed(values: Sequence[float]) -> str:
    """Numbers in words.

    >>> listed((0.001, 10.0))
    '0.001 and 10'
    """
    words = [f"{value:g}" for value in values]
    return " and ".join([", ".join(words[:-1]), words[-1]])
