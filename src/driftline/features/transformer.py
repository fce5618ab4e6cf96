"""Base class for transformers, on their own or in front of a learner."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from operator import methodcaller
from typing import TYPE_CHECKING, Any, ClassVar, Self, overload

import numpy as np

from driftline._core import heed_interrupt
from driftline.base import params, river, sklearn
from driftline.base.batch import Batch, numbered
from driftline.base.door import Door
from driftline.base.learner import Learner
from driftline.base.model import Model, as_objects
from driftline.base.rules import Rule
from driftline.errors import not_fitted
from driftline.features.chain import Chain
from driftline.storage import codec
from driftline.tables import inputs
from driftline.tables.block import RowBlock, as_block
from driftline.tables.inputs import Array, Name

if TYPE_CHECKING:
    from driftline.ensembles.classifier import Classifier
    from driftline.features.pipeline import Pipeline


class Transformer(Model):
    """Base class for transformers, which turn rows into other rows and may learn from them.

    ``a | b`` chains two transformers, and ``a | learner`` makes a learner: :doc:`/learners/pipeline`. The methods of a
    transformer alone are those that pipelines of scikit-learn and River call, and ``run``, which shows a learner's input.
    """

    _river_kind = "Transformer"
    _learns = True  # its output depends on earlier rows
    _needs_labels = False
    _bends = False  # its output for a row between others may be far from theirs
    _before: ClassVar[Callable[[list[Transformer], Learner], Learner]]  # makes a pipeline; set by pipeline.py
    _chain: Chain | None = params.state(None)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        codec.register(cls, cls.__name__, methodcaller("get_params", deep=False))

    # For subclasses to define.

    def _stage(self, width: int) -> Any:
        """The native transformation of rows of ``width`` features."""
        raise TypeError(f"{type(self).__name__} cannot be used by itself")

    def _names_out(self, names: list[Name], stage: Any) -> list[Name]:
        """The names of the output features."""
        return names

    def _check_width(self, width: int) -> None:
        """Raises ValueError if rows have too many features."""

    def _parts(self) -> list[Transformer]:
        """The single transformers of which this one consists."""
        return [self]

    # River's conventions.

    @property
    def _supervised(self) -> bool:  # type: ignore[override]
        return any(part._needs_labels for part in self._parts())

    @property
    def _last_step(self) -> Any:
        return river.stand_in(self, "SupervisedTransformer" if self._supervised else "Transformer")

    # In front of others.

    @overload
    def __or__(self, other: Transformer) -> Steps: ...

    @overload
    def __or__(self, other: Classifier) -> Classifier: ...  # type: ignore[overload-overlap]  # whose regressor is behind

    @overload
    def __or__(self, other: Learner) -> Pipeline: ...

    def __or__(self, other: Any) -> Any:
        if isinstance(other, Transformer):
            return Steps([*self._parts(), *other._parts()])
        return type(self)._before(self._parts(), other) if isinstance(other, Learner) else NotImplemented

    # One row at a time.

    def learn_one(self, x: Any, y: Any = None) -> None:
        """Learns from one row. The label matters only to transformers that use labels. A mapping may add new features."""
        where = f"{type(self).__name__}.learn_one"
        with self._learning():
            label = self._labels([y], 1, where)
            row, names = self._door.read(inputs.named(x), where, grow=True)
            self._door.refuse_bad(row, where, names)
            chain = self._ready(row.size, names)
            self._transformed(chain, Batch(row[None, :], label, None, where))

    def transform_one(self, x: Any) -> Any:
        """Transforms one row by the current state: an array for an array-like, a mapping for a mapping. Learns nothing."""
        where, x = f"{type(self).__name__}.transform_one", inputs.named(x)
        with self._guard.claim():
            row, names = self._door.read(x, where, grow=False)
            self._door.refuse_bad(row, where, names)
            chain = self._chain_for(row.size)
            out = self._transformed(chain, Batch(row[None, :], None, None, where))
        if not isinstance(x, Mapping):
            return out[0]
        return dict(zip(chain.names_out(names or []), out[0].tolist(), strict=True))

    # Many rows.

    def run(self, X: Any, y: Any = None) -> Array:
        """Transforms and then learns row by row; returns what a learner after the transformer would get, (T, outputs)."""
        with self._learning():
            return self._run(X, y, f"{type(self).__name__}.run")

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learns more rows, in order."""
        with self._learning():
            self._run(X, y, f"{type(self).__name__}.partial_fit")
        return self

    def fit(self, X: Any, y: Any = None) -> Self:
        """Starts from scratch and learns the rows, in order."""
        with self._learning():
            self._forget()
            self._run(X, y, f"{type(self).__name__}.fit")
        return self

    def transform(self, X: Any) -> Array:
        """Transforms many rows by the current state, (T, outputs). Learns nothing."""
        where = f"{type(self).__name__}.transform"
        if self._chain is None and any(part._learns for part in self._parts()):
            raise not_fitted(f"{where}: the transformer is not fitted yet: it has seen no row")
        block = as_block(X, where)
        with self._guard.claim():
            self._door.check(block, where)
            return self._through(self._chain_for(block.columns), block, None, where)

    def _run(self, X: Any, y: Any, where: str) -> Array:
        block = as_block(X, where)
        labels = self._labels(y, block.rows, where)
        self._door.check(block, where)
        return self._through(self._ready(block.columns, block.names), block, labels, where)

    def _through(self, chain: Chain, block: RowBlock, labels: Array | None, where: str) -> Array:
        pieces = []
        for start, rows in block.blocks():
            y = None if labels is None else labels[start : start + len(rows)]
            pieces.append(self._transformed(chain, Batch(rows, y, None, where, start, block.names)))
            heed_interrupt()
        return np.concatenate(pieces)

    def _transformed(self, chain: Chain, batch: Batch) -> Array:
        """Transforms rows one after another; with labels, learns each before the next."""
        whole = self._door.whole_rows(batch.x)
        if not whole.all():
            row = int(whole.argmin())
            self._door.refuse_bad(batch.x[row], batch.where, batch.names, "x", numbered(batch.number(row), after=", "))
        out, done = chain.run(batch.x, whole, None if batch.y is None else whole, batch.y, alone=batch.y is None)
        if done < len(out):
            after, values = chain.left()
            column = int((~np.isfinite(values)).argmax())
            by = f" after {type(chain.transformers[after]).__name__}" if len(chain.transformers) > 1 else ""
            place = numbered(batch.number(done)) or "the row"
            raise ValueError(f"{batch.where}: {place} leaves the range of float64 in transformed feature {column}{by}")
        return out

    def _learning(self) -> AbstractContextManager[Any]:
        """One call at a time, all or nothing."""
        return self._guard.undo(self)

    # The door.

    @property
    def _door(self) -> Door:
        return Door(type(self).__name__, None if self._chain is None else self._chain.inputs, self._names)

    def _labels(self, y: Any, rows: int, where: str) -> Array:
        if not any(part._needs_labels for part in self._parts()):
            return np.zeros(rows)
        if y is None or (rows == 1 and isinstance(y, list) and y[0] is None):
            raise ValueError(f"{where}: y is required, because the transformer keeps lags of it")
        labels = inputs.as_vector(y, rows, where, "y")
        if not np.isfinite(labels).all():
            row = int(np.isfinite(labels).argmin())
            self._door.refuse_bad_label(labels[row], where, f" in row {row}")
        return labels

    # The first row, and new features.

    def _chain_for(self, width: int) -> Chain:
        """The chain, or a temporary one if nothing was learned."""
        if self._chain is not None:
            return self._chain
        self._require_valid()
        return Chain(self._parts(), width)

    def _ready(self, width: int, names: list[Name] | None) -> Chain:
        if self._chain is None:
            self._chain = self._chain_for(width)
            self._checks_later, self._broken = False, {}  # from now on, parameters are checked as soon as they are set
        elif width > self._chain.inputs:
            self._chain.grow(width - self._chain.inputs)
        self._names = None if names is None else list(names)
        return self._chain

    # What was learned.

    @property
    def n_features_in_(self) -> int:
        """The number of features of a row."""
        return self._require_chain("n_features_in_").inputs

    @property
    def feature_names_in_(self) -> Array:
        """The names of a row's features, if they have any."""
        self._require_chain("feature_names_in_")
        return self._named_features()

    def get_feature_names_out(self, input_features: Sequence[Name] | None = None) -> Array:
        """The names of a transformed row's features; x0, x1, ... stand for features without names."""
        chain = self._require_chain("get_feature_names_out")
        names = self._names if input_features is None else list(input_features)
        if names is None:
            names = [f"x{j}" for j in range(chain.inputs)]
        if len(names) != chain.inputs:
            raise ValueError(
                f"{type(self).__name__}.get_feature_names_out: there are {len(names)} names, expected {chain.inputs}"
            )
        return as_objects(chain.names_out(names))

    def _require_chain(self, what: str) -> Chain:
        if self._chain is None:
            raise not_fitted(f"{type(self).__name__}.{what}: the transformer is not fitted yet: it has seen no row")
        return self._chain

    def __sklearn_is_fitted__(self) -> bool:
        return self._chain is not None or not any(part._learns for part in self._parts())

    def __sklearn_tags__(self) -> Any:
        return sklearn.transformer_tags(needs_labels=any(part._needs_labels for part in self._parts()))

    # Keeping and copying.

    def set_params(self, **changes: Any) -> Self:
        """Changes hyperparameters, all or none. The transformer must not have learned a row."""
        given = self.get_params(deep=False)
        if self._chain is not None and any(value is not given.get(name) for name, value in changes.items()):
            raise ValueError(f"{type(self).__name__}: {', '.join(changes)} cannot change once the transformer has learned")
        return super().set_params(**changes)  # type: ignore[no-any-return]

    def _forget(self) -> None:
        self._chain = self._names = None

    def __getstate__(self) -> dict[str, Any]:
        # A transformer that has learned nothing may be the parameter of several models, which threads copy at the same time.
        with nullcontext() if self._chain is None else self._guard.claim():
            chain = self._chain
            state = {} if chain is None else {"width": chain.inputs, "parts": chain.get_state()}
            if self._checks_later:
                state["refused"] = dict(self._broken)
            return {"params": self._given, "names": copy.copy(self._names), **state}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._store(state["params"])
        self._checks_later, self._broken = "refused" in state, state.get("refused", {})
        chain = None
        if "parts" in state:
            chain = Chain(self._parts(), state["width"])
            chain.set_state(state["parts"])
        self._chain, self._names = chain, state["names"]


def _are_transformers(value: Any) -> bool:
    given = [value] if isinstance(value, Transformer) else value
    return isinstance(given, (list, tuple)) and len(given) > 0 and all(isinstance(item, Transformer) for item in given)


TRANSFORMERS = Rule(_are_transformers, "a transformer or a list of transformers")


class Steps(Transformer):
    """A chain of transformers, written ``a | b``.

    Args:
        transformers: the transformers in order.

    >>> from driftline.features import Lags, Polynomial
    >>> (Lags(x=2) | Polynomial(2)).run([[1.0], [2.0]])
    array([[1., 0., 1., 0., 0.],
           [2., 1., 4., 2., 1.]])
    """

    transformers: Sequence[Transformer] = params.checked(default=(), rule=TRANSFORMERS, kw_only=False)

    def _parts(self) -> list[Transformer]:
        return parts_of(self.transformers)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        return iter(())  # Steps cannot be made without transformers

    def _unit_test_skips(self) -> frozenset[str]:
        return frozenset().union(*(part._unit_test_skips() for part in self._parts()))


def parts_of(transformers: Transformer | Sequence[Transformer]) -> list[Transformer]:
    """The single transformers among these, in order."""
    given = [transformers] if isinstance(transformers, Transformer) else transformers
    return [part for transformer in given for part in transformer._parts()]
