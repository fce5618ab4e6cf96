"""Transformers in front of a learner, as a learner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from driftline.base import params
from driftline.base.certificate import Certificate
from driftline.base.composite import Composite, ask, exclusive
from driftline.base.learner import Learner
from driftline.base.meta import Wrapper
from driftline.base.refusals import Target
from driftline.base.registry import learner
from driftline.base.rules import Rule
from driftline.features.chain import Chain
from driftline.features.hashing import Hashing
from driftline.features.lags import Lags
from driftline.features.standardize import Standardize
from driftline.features.transformer import TRANSFORMERS, Transformer, parts_of
from driftline.linear.rls import RLS
from driftline.tables.inputs import Array, Name, Table

_PARTS: list[Transformer] = [Standardize()]
_SAME = Lags()  # the row as it is
_PATTERN = RLS()
_ELEMENTS = 2**15  # of transformed rows at a time: they stay in the cache until they are learned


@learner
class Pipeline(Wrapper):
    r"""Transformers in front of a learner: it learns from transformed rows, O(d²) a row.

    That is for a learner of cost O(d²), with d the number of features that come out. ``Standardize() | Lags(y=8) | RLS()``
    is the short way to write one.

    A row is transformed once: the learner learns from what it predicted from. ``predict_one`` looks, and changes nothing;
    ``learn_one`` transforms the row, lets the learner learn it, and then the transformers. A row that is refused, skipped or
    of weight 0 leaves no trace in them either. ``coef_`` and the certificate are the learner's, and speak of transformed
    features, whose names are ``learner_.feature_names_in_`` where the rows have names. See :doc:`/features`.

    Args:
        transformers: one, or a list of them in their order; None is :class:`~driftline.features.Standardize`.
        learner: any regressor; None is RLS.

    >>> from driftline.features import Lags, Standardize
    >>> model = Standardize() | Lags(y=2) | RLS(forgetting=1.0)
    >>> y = [0.0, 1.0]
    >>> for t in range(100):
    ...     model.learn_one([t % 7], y[-1])
    ...     y.append(1.6 * y[-1] - y[-2])
    >>> abs(model.predict_one([100 % 7]) - y[-1]) < 0.02
    True
    """

    transformers: Transformer | Sequence[Transformer] | None = params.checked(
        default=None, rule=TRANSFORMERS, optional=True, kw_only=False
    )
    learner: Learner | None = params.checked(
        default=None,
        rule=Rule(lambda value: isinstance(value, Learner) and value._estimator_type == "regressor", "a regressor"),
        optional=True,
        kw_only=False,
    )

    _by_feature = False
    _plain_intercept = False

    @property
    def _door(self) -> Hashing | None:
        first = self.parts[0]
        return first if isinstance(first, Hashing) else None

    @property
    def _composes(self) -> bool:  # type: ignore[override]
        return self._door is None  # else rows have no features that others could see too

    def _check_relations(self, values: dict[str, Any]) -> None:
        super()._check_relations(values)
        given = values["transformers"]
        if given is not None and any(isinstance(part, Hashing) for part in parts_of(given)[1:]):
            raise ValueError("Pipeline: among transformers, Hashing comes first")

    @property
    def parts(self) -> list[Transformer]:
        """The single transformers in their order, as they were given."""
        return _PARTS if self.transformers is None else parts_of(self.transformers)

    def _patterns(self) -> list[Learner]:
        return [_PATTERN if self.learner is None else self.learner]

    def _compose(self, members: list[Learner], above: list[Learner], features: int) -> Composite:
        within = self.parts if self._door is None else self.parts[1:] or [_SAME]
        return _Pipeline(members[0], within, features, bool(self.intercept), self.dtype)

    # Rows of any width, where they are hashed.

    def predict_one(self, x: Any) -> float:
        """The prediction for one row: a one-dimensional array-like, or a mapping feature name -> number."""
        return super().predict_one(self._hashed(x, "predict_one"))

    def predict_interval(self, x: Any, level: float = 0.9) -> tuple[float, float]:
        """Both ends of an interval around the prediction, as in every learner."""
        return super().predict_interval(self._hashed(x, "predict_interval"), level)

    def learn_one(self, x: Any, y: Any, *, sample_weight: float | None = None) -> None:
        """Learns from one row. A mapping may bring features that were never seen: the model grows by them."""
        super().learn_one(self._hashed(x, "learn_one"), y, sample_weight=sample_weight)

    def _hashed(self, x: Any, verb: str) -> Any:
        return x if self._door is None else self._door.row(x, f"{type(self).__name__}.{verb}")

    def _as_table(self, X: Any, where: str) -> Table:
        return super()._as_table(X, where) if self._door is None else self._door.table(X, where)

    def _refresh(self, before: dict[str, Any]) -> None:
        if self.transformers is not before["transformers"]:
            raise ValueError
        super()._refresh(before)

    def _replay_block(self, block: Array, y: Array | None, weight: Array | None, target: Target) -> int:
        whole: Array = np.all(np.abs(block) <= self._largest, axis=1)
        known: Array = whole if y is None else whole & (np.abs(y) <= self._largest)
        if self.missing == "raise" and not known.all():
            row = int(known.argmin())
            self._refuse_bad_row(block[row], None if y is None else y[row], target, row)
        learned = None if y is None else known if weight is None else known & (weight > 0)
        core: _Pipeline = self._core
        core.claim()
        try:
            return core.replay_whole(block, y, weight, target, whole, learned)
        finally:
            core.release()

    def _operations(self, width: int) -> int:
        core: _Pipeline = self._core
        return core.chain.outputs + core.members[0]._operations(core.chain.outputs + 1)

    # What was learned.

    @property
    def learner_(self) -> Learner:
        """The learner as it has learned. It is the pipeline's own: look, and do not teach it."""
        return self._require_core("learner_").members[0]  # type: ignore[no-any-return]

    @property
    def coef_(self) -> Array:
        """The weights of the transformed features, without the intercept's."""
        return self._require_core("coef_").members[0].coef_  # type: ignore[no-any-return]

    @property
    def intercept_(self) -> float:
        """The weight of the constant feature; 0.0 without one."""
        return float(self._require_core("intercept_").members[0].intercept_)

    @property
    def covariance_(self) -> Array:
        """The learner's matrix S, where it has one."""
        return self._require_core("covariance_").members[0].covariance_  # type: ignore[no-any-return]

    @property
    def _can_reset(self) -> bool:  # type: ignore[override]
        return self._core.members[0]._can_reset  # type: ignore[no-any-return]

    def _sums(self) -> dict[str, float]:
        return self._core.members[0]._sums()  # type: ignore[no-any-return]

    def _memory(self) -> float | None:
        return self._core.members[0]._memory()  # type: ignore[no-any-return]

    def _over_time(self, pace: Array) -> dict[str, Array]:
        return self._core.members[0]._over_time(pace)  # type: ignore[no-any-return]

    def _certify(self, sums: dict[str, float]) -> Certificate:
        return self._core.members[0]._certify(sums)  # type: ignore[no-any-return]


class _Pipeline(Composite):
    """The state: what the transformers and the learner have learned."""

    def __init__(
        self, member: Learner, transformers: Sequence[Transformer], features: int, intercept: bool, dtype: str
    ) -> None:
        super().__init__([member], [], features, intercept, dtype)
        self.chain = Chain(transformers, features, member._largest)

    @property
    def by_feature(self) -> bool:
        """Never: the weights are those of the transformed features."""
        return False

    @property
    def width_within(self) -> int:
        """Features of a transformed row."""
        return self.chain.outputs

    def _names_within(self) -> list[Name] | None:
        return None if self._names is None else self.chain.names_out(self._names)

    def meet(self, row: Array) -> None:
        """The first row, which may decide something."""
        first = self.chain.look(np.asarray(row, dtype=np.float64))
        self.members[0]._meet(np.zeros(self.chain.outputs) if first is None else first, self._names_within())

    @exclusive
    def grow(self, more: int) -> None:
        """So many features more, at their prior."""
        self.members[0]._core.grow(self.chain.grow(more))
        self.features += more

    @exclusive
    def set_names(self, names: list[Name]) -> None:
        """The names of the features, in their order."""
        self._names = names
        self.chain.set_names(names)
        if self.members[0]._core is not None:
            self.members[0]._set_names(self._names_within())

    def _own_state(self) -> dict[str, Array]:
        return self.chain.get_state()

    @exclusive
    def set_state(self, state: dict[str, Array]) -> None:
        """What :meth:`get_state` gave; ValueError where it is not sound. The composite is a fresh one."""
        self.chain.set_state(state)
        super().set_state(state)

    def weights(self) -> Array:
        """Those of the learner."""
        return self.members[0]._weights

    @exclusive
    def predict(self, x: Any) -> Any:
        """The prediction, or None where x has to be converted first."""
        row = self.chain.look(x)
        return None if row is None else self.members[0]._core.predict(row)

    @exclusive
    def peek(self, x: Any) -> Any:
        """The same, of a row whose label has come: see :func:`ask`."""
        row = self.chain.look(x)
        return None if row is None else ask(self.members[0], row, peek=True)

    @exclusive
    def predict_interval(self, x: Any, level: Any) -> tuple[float, float] | None:
        """Both ends, or None where x has to be converted first."""
        row = self.chain.look(x)
        return None if row is None else self.members[0]._core.predict_interval(row, level)

    @exclusive
    def learn(self, x: Any, y: Any, weight: Any = None) -> bool:
        """The learner goes first: nothing after it can fail."""
        row = self.chain.look(x, unknown_allowed=False)
        if row is None or not self.members[0]._core.learn(row, y, weight):
            return False
        self.chain.learn(float(y))
        return True

    def replay_whole(
        self, block: Array, y: Array | None, weight: Array | None, target: Target, whole: Array, learned: Array | None
    ) -> int:
        """The transformers go first, a piece at a time, through the rows that are ``whole``, and learn those ``learned``."""
        skipped = 0
        every = target.every if target.snapshots is not None else 1
        step = max(_ELEMENTS // max(self.chain.outputs, 1) // every, 1) * every
        for start in range(0, len(block), step):
            rows = slice(start, start + step)
            labels = None if y is None else np.ascontiguousarray(y[rows])
            seen, done = self.chain.run(
                block[rows], whole[rows], None if learned is None else learned[rows], labels, self._skips
            )
            own = self._part_of(target, rows)
            if done < len(seen):
                self._refuse_left(own, own.start + done)
            skipped += self.members[0]._replay_block(seen, labels, None if weight is None else weight[rows], own)
        return skipped

    def _refuse_left(self, target: Target, row: int) -> None:
        after, values = self.chain.left()
        names = None if self._names is None else self.chain.names_out(self._names, after)
        last = after + 1 == len(self.chain.transformers)
        what = "the transformed X" if last else f"X after {type(self.chain.transformers[after]).__name__}"
        self.members[0]._refuse_bad(values, target.where, names, what, f"row {row}, ")

    @property
    def _skips(self) -> bool:
        return self.members[0].missing == "skip"

    def _part_of(self, target: Target, rows: slice) -> Target:
        own = Target(
            target.where, target.start + rows.start, self._names_within(), target.resets, every=target.every,
            predictions=target.predictions[rows], level=target.level,
        )  # fmt: skip
        if target.snapshots is not None:
            kept = slice(rows.start // target.every, rows.stop // target.every)
            own.snapshots = target.snapshots[kept]
            own.pace = None if target.pace is None else target.pace[kept]
        if target.lower is not None and target.upper is not None:
            own.lower, own.upper = target.lower[rows], target.upper[rows]
        return own
