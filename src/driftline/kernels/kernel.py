"""Kernel versions of second-order learners."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol, cast

import numpy as np

from driftline import _core
from driftline._core import KernelOptions, Status
from driftline._core import Policy as NativePolicy
from driftline.base import params, river
from driftline.base.batch import Batch, numbered
from driftline.base.certificate import Certificate
from driftline.base.learner import Learner
from driftline.base.native import SecondOrderCore
from driftline.base.nested import Nested
from driftline.base.registry import learner
from driftline.base.rules import Rule
from driftline.base.traits import Traits
from driftline.errors import RowRefusedError
from driftline.kernels import functions
from driftline.linear import schedules
from driftline.linear.arowr import AROWR
from driftline.linear.policies import Policy
from driftline.linear.recursion import Recursive
from driftline.linear.wemm import WEMM
from driftline.tables.inputs import Array

_DEFAULT = AROWR()
_GROWTH_LIMIT = 1e4  # most that tau may grow under forgetting
_MEASURED = 256  # rows from which gamma is estimated
_FIXED = ("kernel", "gamma", "degree", "coef0", "budget", "threshold", "intercept", "dtype")


_SECOND_ORDER = Rule(lambda value: isinstance(value, Recursive) and value._traits.plain_intercept, "a second-order learner")


class KernelCore(SecondOrderCore, Protocol):
    """The core of a kernel learner."""

    @property
    def gamma(self) -> float:
        """The current scale."""

    @property
    def tau(self) -> float:
        """The variance of a direction that no row has excited."""

    @property
    def counts(self) -> tuple[int, int]:
        """How many rows were projected on the points, and how many points were removed."""

    def points(self) -> Array:
        """The points, concatenated."""

    def triangle(self) -> Array:
        """The coordinates of the points: the concatenated rows of a lower triangle."""


@learner
class Kernel(Nested):
    r"""Any second-order learner with a kernel, O(m²) a row for m points.

    .. math::
        f(x) = \sum_i \alpha_i k(x_i, x), \quad S = \tau I + \sum_{ij} \beta_{ij} \phi_i \phi_j^\top, \quad
        s = \tau k(x, x) + k_x^\top \beta k_x

    The learner's recursion with :math:`\phi(x)` instead of x: forgetting, drift, resets, projections and certificates work
    as in a linear model. An intercept adds 1 to the kernel. Without a budget, every row becomes a point, and memory grows
    with the square of the number of rows. With a budget, the number of points is bounded: if the points nearly span a row,
    its projection on their span is learned; otherwise the row becomes a point, and the least useful point is removed if
    there are too many. See :doc:`/kernels`.

    The state is in double precision whatever the dtype; with "float32", rows are rounded to float32.

    Args:
        learner: any second-order learner; None for AROWR, which gives Gaussian-process regression.
        kernel: "rbf", :math:`e^{-\gamma |x - z|^2}`; "laplace", :math:`e^{-\gamma |x - z|_1}`; "poly",
            :math:`(\gamma\, x \cdot z + c)^p`; "linear", :math:`x \cdot z`; or a positive definite function of two rows,
            which costs a call from the core for each pair.
        gamma: the kernel's scale. None sets it from the first rows, again each time that their number has doubled, up to 256
            rows (``gamma_``).
        degree: p in "poly".
        coef0: c in "poly".
        budget: the largest number of points; None keeps every row.
        threshold: with a budget, a row becomes a point if its component outside the span of the points exceeds this share of
            k(x, x), or if the prior variance of that component exceeds this share of the noise.

    References: :cite:`vaits2011`, Section 7; :cite:`moroshko2013`, Fig. 3.3; :cite:`engel2004` for the threshold;
    :cite:`csato2002` for removing points.

    >>> import numpy as np
    >>> x = np.linspace(0, 6, 200)[:, None]
    >>> model = Kernel(AROWR(noise=0.01), gamma=1.0, budget=20).fit(x, np.sin(x[:, 0]))
    >>> round(model.predict_one([1.5]), 2), len(model.points_) <= 20
    (1.0, True)
    """

    learner: Recursive | None = params.checked(default=None, rule=_SECOND_ORDER, optional=True, kw_only=False)
    kernel: str | Callable[[Array, Array], float] = params.checked(default="rbf", rule=functions.KERNEL)
    gamma: float | None = params.real(default=None, gt=0, optional=True)
    degree: int = params.integer(default=3, ge=1)
    coef0: float = params.real(default=1.0, ge=0)
    budget: int | None = params.integer(default=None, ge=1, le=functions.LARGEST_BUDGET, optional=True)
    threshold: float = params.real(default=0.01, ge=0)

    def _make_traits(self) -> Traits:
        inner = self._base_learners()[0]._traits
        return Traits(
            sums=_core.sums,
            by_feature=False,
            linear=False,
            bends=True,
            has_snapshots=False,
            plain_intercept=False,
            looks_back=super()._make_traits().looks_back,
            can_reset=inner.can_reset,
        )

    def _unit_test_skips(self) -> frozenset[str]:
        return super()._unit_test_skips() | (river.GROWS if self.budget is None else set())

    def _base_learners(self) -> list[Learner]:
        return [_DEFAULT if self.learner is None else self.learner]

    @property
    def _kept(self) -> tuple[str, ...]:  # type: ignore[override]
        return self._base_learners()[0]._kept

    def _working(self, core: Any = None) -> Recursive:
        """The base learner, configured for this model, around the same core."""
        inner: Any = self._copies(self._base_learners())[0]
        inner.__dict__.update({name: self.__dict__[name] for name in self._kept if name in self.__dict__})
        inner._core = self._core if core is None else core
        return cast("Recursive", inner)

    def _set_ridge(self, x: Array) -> None:
        """Sets WEMM's ridge from the first row."""
        inner = self._working()
        if not isinstance(inner, WEMM):
            return
        if callable(self.kernel):
            similarity = functions.value_of(self.kernel, x.copy()) + self.intercept
        else:
            similarity = self._options().self_similarity(x.copy())
        inner.set_ridge(np.array([np.sqrt(max(similarity, 0.0))]))
        self.__dict__.update({name: getattr(inner, name) for name in self._kept})

    # The core.

    def _options(self) -> KernelOptions:
        return KernelOptions(
            **functions.native_kernel(self.kernel, self.gamma, self.coef0, self.degree),
            constant=bool(self.intercept),
            measured=self._is_measured,
            budget=0 if self.budget is None else int(self.budget),
            threshold=float(self.threshold),
        )

    @property
    def _is_measured(self) -> bool:
        return self.gamma is None and functions.has_gamma(self.kernel)

    def _make_core(self, width: int, row: Any = None) -> KernelCore:
        if row is not None:
            self._set_ridge(row)
        core = self._new_core(width - bool(self.intercept), self._options().width)
        self._supply(core, ahead=1)
        return core

    def _new_core(self, features: int, width: int) -> KernelCore:
        kind = _core.Kernel64 if self.dtype == "float64" else _core.Kernel32
        function = self.kernel if callable(self.kernel) else None
        return kind(features, width, self._native(self._working()._policy()), self._options(), function)

    def _native(self, policy: Policy) -> NativePolicy:
        return replace(policy, growth_limit=_GROWTH_LIMIT if policy.winds_up else 0.0).native(self._limits)

    def _supply(self, core: KernelCore, ahead: int) -> None:
        """Supplies the schedules' next values; while gamma is estimated, all thresholds that relearning may need."""
        inner = self._working(core)
        policy = inner._policy()
        owner = type(inner).__name__
        schedules.supply(core, policy, owner, ahead, self._guard)
        if policy.thresholds is not None and self._is_measured and core.sums()[0] < _MEASURED:
            with self._guard.closure():
                thresholds = schedules.values(policy.thresholds, 1, _MEASURED + 2, owner)
            core.set_thresholds(thresholds, 1)

    def _serve(self, status: Status, batch: Batch) -> None:
        row = numbered(batch.start) or "the row"
        if status is Status.OUTSIDE_KERNEL:
            raise RowRefusedError(f"{batch.where}: {row} has no finite kernel, or the kernel is not positive definite")
        if status is Status.OUTSIDE_NOISE:
            raise RowRefusedError(
                f"{batch.where}: {row} has x'Sx >= 1 in the kernel's space, for which the noise 1 - x'Sx is not "
                "positive; k(x, x) < ridge on every row is sufficient"
            )
        self._supply(self._require_core("learn_one"), len(batch))

    def _operations(self, width: int) -> int:
        # Without a budget, the number of points that there may soon be.
        points = int(self.budget or 0) or len(self._require_core("run").weights()) + 1024
        return self._working()._operations(points) + 8 * points**2 + points * width

    # Keeping and copying.

    def _refresh(self, before: dict[str, Any]) -> None:
        now = self.get_params(deep=False)
        if any(now[name] is not before[name] and now[name] != before[name] for name in _FIXED):
            raise ValueError
        old = _DEFAULT if before["learner"] is None else before["learner"]
        inner = self._working()
        if type(old) is not type(inner):
            raise ValueError
        options = {"intercept": self.intercept, "dtype": self.dtype, "missing": self.missing}
        policy = inner._changed_policy({**old.get_params(deep=False), **options})
        self._require_core("set_params").set_policy(self._native(policy))

    def _restored_core(self, state: dict[str, Any]) -> KernelCore:
        width, numbers = len(state["weights"]), state["numbers"].size
        features = float(state["shape"][0])
        if 2 * state["matrix"].size < width**2 or not 0 <= features <= max(numbers, 10**6):
            raise ValueError("the state's matrix is too small for its weights")  # before memory is allocated
        core = self._new_core(int(features), width)
        core.set_state(state)
        self._supply(core, ahead=0)
        return core

    # What was learned.

    @property
    def coef_(self) -> Array:
        """The weights of the features; only a linear kernel has them."""
        self._require_core("coef_")
        if self.kernel != "linear":
            raise AttributeError("Kernel: only a linear kernel has coef_; the weights of the points_ are dual_coef_")
        return (self.dual_coef_ @ self.points_).astype(self.dtype)

    @property
    def intercept_(self) -> float:
        """The weight of the constant feature; 0.0 without one."""
        self._require_core("intercept_")
        return float(self.dual_coef_.sum()) if self.intercept else 0.0

    @property
    def gamma_(self) -> float:
        """The current scale."""
        return float(self._require_core("gamma_").gamma)

    @property
    def points_(self) -> Array:
        """The points that carry the function, one a row."""
        core: KernelCore = self._require_core("points_")
        return core.points().reshape(-1, core.features)

    @property
    def dual_coef_(self) -> Array:
        r""":math:`\alpha`: the coefficients of the function :math:`\sum_i \alpha_i k(x_i, \cdot)` over the points."""
        L = self._coordinates("dual_coef_")
        return np.linalg.solve(L.T, self._require_core("dual_coef_").weights()[::-1][: len(L)])

    @property
    def dual_covariance_(self) -> Array:
        r""":math:`\beta`: the part of S beyond :math:`\tau I`, in terms of the points."""
        L = self._coordinates("dual_covariance_")
        S = self._require_core("dual_covariance_").covariance()[::-1, ::-1][: len(L), : len(L)] - self.tau_ * np.eye(len(L))
        half = np.linalg.solve(L.T, S)
        beta = np.linalg.solve(L.T, half.T)
        return (beta + beta.T) / 2

    @property
    def tau_(self) -> float:
        r""":math:`\tau`: the variance of a direction that no row has excited."""
        return float(self._require_core("tau_").tau)

    def _coordinates(self, what: str) -> Array:
        """The coordinates of the points in the core's orthonormal basis, one point per row."""
        triangle = self._require_core(what).triangle()
        points = int((np.sqrt(8 * triangle.size + 1) - 1) / 2 + 0.5)
        L = np.zeros((points, points))
        L[np.tril_indices(points)] = triangle
        return L

    def _certify(self, sums: dict[str, float]) -> Certificate:
        plain = self._working()._certify(sums)
        counts = dict(zip(("projected", "removed"), map(int, self._require_core("certificate").counts), strict=True))
        events = {**plain.events, **{name: count for name, count in counts.items() if count}}
        broken = {}
        if counts["projected"] or counts["removed"]:
            broken["every row lies in the span of the points"] = False
        if self._is_measured:
            broken["gamma was given"] = False
        if not broken:
            return replace(plain, events=events)
        return Certificate(plain.loss, None, None, {**plain.conditions, **broken}, events)
