"""ASVB-L: adaptive sparse regression by variational Bayes with Laplace's prior, a rival in the DFOP paper's Table 3.

Its authors are Themelis, Rontogiannis and Koutroumbas, "A variational Bayes framework for sparse adaptive estimation" (IEEE
Transactions on Signal Processing, 2014). The updates here are derived from the model as others describe it.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from papers.sparse_rls import PlainLearner

FLAT = 1e-6  # parameters of the flat priors


class ASVBL(PlainLearner):
    """Tracks weights under a Laplace prior, written as a scale mixture, with forgetting. O(D²) a row.

    The model: y = w·x + noise of precision β; w_j ~ N(0, 1/(β a_j)); a_j ~ inverse gamma(1, b_j/2); b_j and β have flat
    gamma priors. Past rows have weight λ^(t−i). The posterior is approximated by a product over all of these. With
    R = Σ λ^(t−i) x xᵀ, z = Σ λ^(t−i) x y and q = Σ λ^(t−i) y², its factors are updated once for each row:

        w_j: mean (z_j − Σ_{k≠j} R_jk w_k)/(R_jj + a_j), one after the other, and variance v_j = 1/(β (R_jj + a_j));
        β:   (n + D)/(q − 2 z·w + w·R w + Σ R_jj v_j + Σ a_j (w_j² + v_j)) with n = Σ λ^(t−i);
        a_j: √(b_j/(β (w_j² + v_j))), the mean of a generalised inverse Gaussian of order −1/2, and of 1/a_j: 1/a_j + 1/b_j;
        b_j: 1/(½ E[1/a_j]).

    Updating all means of w in turn solves one triangular system.

    >>> model = ASVBL(forgetting=1.0)
    >>> X = np.tile([[1.0, 0.0], [0.0, 1.0]], (50, 1))
    >>> model.predictions(X, X @ [2.0, 0.0])[-2:].round(2).tolist()
    [2.0, 0.0]
    """

    def __init__(self, forgetting: float) -> None:
        super().__init__(forgetting, 0.0)

    def begin(self, d: int) -> None:
        """Sets all factors to their start."""
        self.R, self.z, self.q, self.n = np.zeros((d, d)), np.zeros(d), 0.0, 0.0
        self.w, self.a, self.b, self.beta = np.zeros(d), np.ones(d), np.ones(d), 1.0

    def learn(self, x: NDArray[Any], y: float, error: float) -> None:
        """Learns a row by updating each factor once."""
        self.R *= self.forgetting
        self.R += np.outer(x, x)
        self.z = self.forgetting * self.z + y * x
        self.q = self.forgetting * self.q + y * y
        self.n = self.forgetting * self.n + 1
        self.sweep()
        own = self.R.diagonal()
        variance = 1 / (self.beta * (own + self.a))
        square = self.w**2 + variance
        residual = self.q - 2 * self.z @ self.w + self.w @ self.R @ self.w + own @ variance
        self.beta = float((2 * FLAT + self.n + len(x)) / (2 * FLAT + residual + self.a @ square))
        self.a = np.sqrt(self.b / (self.beta * square))
        self.b = (1 + FLAT) / (FLAT + 0.5 * (1 / self.a + 1 / self.b))

    def sweep(self) -> None:
        """The means of all weights, updated in turn: one Gauss-Seidel step."""
        from scipy.linalg import solve_triangular

        left = self.z - self.R @ self.w - self.a * self.w
        diagonal = np.einsum("jj->j", self.R)
        kept = diagonal.copy()
        diagonal += self.a
        self.w = self.w + solve_triangular(self.R, left, lower=True, check_finite=False)
        diagonal[:] = kept
