"""Random Fourier features."""

from __future__ import annotations

from typing import Any

from driftline import _core
from driftline._core import Spectrum
from driftline.base import params, river
from driftline.features.transformer import Transformer
from driftline.tables.inputs import Name

_SPECTRA = {"rbf": Spectrum.RBF, "laplace": Spectrum.LAPLACE}


class RandomFourier(Transformer):
    r"""Random features whose inner products approximate a kernel: non-linear learning in fixed memory.

    .. math::
        z = \sqrt{2/n}\, \bigl(\cos(\omega_i \cdot x + b_i), \sin(\omega_i \cdot x + b_i)\bigr), \quad i = 1, \ldots, n/2,
        \qquad E\, z(x) \cdot z(x') = K(x, x')

    The expectation is over seeds. A linear learner on z approximates a kernel learner on x, with an error that falls as
    :math:`1/\sqrt n`. If n is odd, the last sine is left out. Random numbers are not stored: a feature's frequencies are a
    function of the seed and of its position.

    Args:
        n: the number of output features.
        kernel: "rbf", :math:`\exp(-\gamma |x - x'|^2)`, or "laplace", :math:`\exp(-\gamma |x - x'|_1)`.
        seed: the seed of the frequencies and the phases.
        gamma: :math:`\gamma`.

    References: :cite:`rahimi2007`.

    >>> import numpy as np
    >>> z = RandomFourier(1000, gamma=0.5).transform([[0.0, 0.0], [1.0, 0.5]])
    >>> round(float(z[0] @ z[1]), 2), round(float(np.exp(-0.5 * 1.25)), 2)
    (0.58, 0.54)
    """

    n: int = params.integer(default=100, ge=1, kw_only=False)
    kernel: str = params.choice(default="rbf", options=_SPECTRA, kw_only=False)
    seed: int = params.seed(default=0, kw_only=False)
    gamma: float = params.real(default=1.0, gt=0)

    _learns = False
    _bends = True

    def _check_width(self, width: int) -> None:
        if self.n * max(width, 1) > 10**9:
            raise ValueError(f"{type(self).__name__}: n = {self.n} for {width} features takes too much memory")

    def _stage(self, width: int) -> Any:
        return _core.RandomFourier(width, self.n, _SPECTRA[self.kernel], self.gamma, int(self.seed))

    def _names_out(self, names: list[Name], stage: Any) -> list[Name]:
        return [f"fourier{i}" for i in range(self.n)]

    def _unit_test_skips(self) -> frozenset[str]:
        return river.DEPENDS_ON_ORDER  # which decides the frequencies
