"""Distribution-free one-pass learning in high dimension."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol, Self

import numpy as np

from driftline import _core
from driftline._core import Filling
from driftline.base import params, river
from driftline.base.durations import DURATION
from driftline.base.native import SecondOrderCore
from driftline.base.registry import learner
from driftline.base.rules import COUNT
from driftline.base.traits import Traits
from driftline.linear.dfop import rate_for_period
from driftline.linear.policies import Policy
from driftline.linear.pursuit import basis_pursuit, largest
from driftline.linear.recursion import Recursive
from driftline.tables.inputs import Array, Name

_FILLINGS = {"gaussian": Filling.GAUSSIAN, "bernoulli": Filling.BERNOULLI, "sparse": Filling.SPARSE}
_LARGEST_DIM = 10_000  # a larger matrix of dim² would take gigabytes


class ProjectedCore(SecondOrderCore, Protocol):
    """The core of a second-order learner on M x."""

    def compressed(self) -> Array:
        """The weights v of M x."""

    def intercept(self) -> float:
        """The weight of the constant feature."""

    def columns(self, which: Array) -> Array:
        """Columns of M, one after another."""

    def transpose(self, v: Array) -> Array:
        """M'v, for the features seen so far."""

    def places(self, names: list[Name]) -> list[int]:
        """The positions of names; -1 for an unknown name."""

    def append_names(self, names: list[Name]) -> None:
        """Appends names after the known ones."""


@learner
class SparseDFOP(Recursive):
    r"""DFOP on a random projection of the rows, for any number of features, O(nnz + dim²) a row.

    .. math:: \psi = M x, \quad \text{then DFOP on } \psi \text{ (and 1): weights } v, \quad w \cdot x = v \cdot M x

    The random matrix M, dim × D, is never stored: column j is a function of the seed and j. D may therefore be large (j up
    to 2^52), and features may appear at any time. ``coef_`` is :math:`M^\top v`, the effective weights of the features;
    :meth:`recover` returns sparse ones. The intercept is appended to :math:`\psi` and not projected. Rows can be arrays,
    frames, mappings, or scipy.sparse rows of any width. See :doc:`/high_dimension`.

    Args:
        forget_rate: :math:`\mu` in (0, 1).
        prior: :math:`P_0` is prior * I.
        dim: d, the number of rows of M, the dimension of the projected rows.
        sparsity: s, the number of weights that :meth:`recover` keeps.
        matrix: "gaussian", entries N(0, 1/dim), or "bernoulli", entries :math:`\pm 1/\sqrt{\text{dim}}`, O(nnz · dim) a row;
            or "sparse", eight entries of :math:`\pm 1/\sqrt 8` in each column, O(nnz) a row.
        seed: the seed of M.
        half_life: the time in which a row loses half its weight, in place of ``forget_rate``: "6h", or a number in the unit
            of the times. None: rows count, whatever their times. See :doc:`/times`.
        per: the time that ``forget_rate`` is for, and that passes before the first row. None: one unit of ``half_life``.

    References: :cite:`zhao2021`, Algorithm 2; :cite:`salmon2011` for the columns; :cite:`kane2014` for the sparse ones.

    >>> model = SparseDFOP(forget_rate=0.1, dim=20, sparsity=1, intercept=False)
    >>> for t in range(60):
    ...     model.learn_one({"seen": 1.0, f"once, {t}": 0.1}, 2.0)
    >>> model.n_features_in_, round(model.predict_one({"seen": 1.0}), 1)
    (61, 2.0)
    >>> int(model.recover().argmax())
    0
    """

    forget_rate: float = params.real(default=0.01, gt=0, lt=1)
    prior: float = params.real(default=100.0, gt=0)
    dim: int = params.integer(default=100, ge=1, le=_LARGEST_DIM)
    sparsity: int = params.integer(default=10, ge=1)
    matrix: str = params.choice(default="gaussian", options=_FILLINGS)
    seed: int = params.seed(default=0)
    half_life: float | str | None = params.checked(default=None, rule=DURATION, optional=True)
    per: float | str | None = params.checked(default=None, rule=DURATION, optional=True)

    @classmethod
    def for_period(cls, T0: float, **parameters: Any) -> Self:
        """Sparse-DFOP for a target that changes every T0 rows: the rate 1 / T0."""
        return cls(forget_rate=rate_for_period(T0, cls.__name__), **parameters)

    def _make_traits(self) -> Traits:
        return replace(
            super()._make_traits(),
            composes=False,
            takes_outputs=False,
            plain_intercept=False,
            takes_sparse=True,
            takes_any_width=True,
        )

    def _unit_test_skips(self) -> frozenset[str]:
        return river.DEPENDS_ON_ORDER  # which decides the column of M

    def _policy(self) -> Policy:
        time = self._forgets(1 - self.forget_rate)
        rate = self.forget_rate if self.half_life is None else time.rate
        return Policy(start=self.prior, time=time, noise=1 / rate, growth_limit=1.0)

    def _make_core(self, width: int, row: Any = None) -> ProjectedCore:
        kind = _core.Projected64 if self.dtype == "float64" else _core.Projected32
        core: ProjectedCore = kind(
            _FILLINGS[self.matrix], self.dim, self.seed, bool(self.intercept), self._policy().native(self._limits)
        )
        core.grow(width - bool(self.intercept))
        return core

    def _restored_core(self, state: dict[str, Any]) -> ProjectedCore:
        if len(state["weights"]) != self.dim + self.intercept or 2 * state["matrix"].size < self.dim**2:
            raise ValueError("the state is of another dim")
        core = self._make_core(int(self.intercept))
        core.set_state(state)
        return core

    def _operations(self, width: int) -> int:
        return width + super()._operations(self.dim + 1)

    def recover(self, sparsity: int | None = None) -> Array:
        """Recovers sparse weights of the D features from the weights of the projected rows.

        Finds the w with the smallest 1-norm and M w = v, and keeps its ``sparsity`` largest entries (None: as many as the
        parameter says). If v = M w for a sufficiently sparse w, the result is w. Needs SciPy.
        """
        keep = self.sparsity if sparsity is None else sparsity
        COUNT.require(f"{type(self).__name__}.recover", "sparsity", keep)
        core = self._require_core("recover")
        v = core.compressed().astype(np.float64)
        return largest(basis_pursuit(core.columns, core.transpose, v, core.features), keep)

    @property
    def compressed_coef_(self) -> Array:
        """The weights v of M x."""
        core: ProjectedCore = self._require_core("compressed_coef_")
        return core.compressed()

    @property
    def intercept_(self) -> float:
        """The weight of the constant feature; 0.0 without one."""
        return float(self._require_core("intercept_").intercept())

    def _refresh(self, before: dict[str, Any]) -> None:
        if any(getattr(self, name) != before[name] for name in ("dim", "matrix", "seed")):
            raise ValueError
        super()._refresh(before)
