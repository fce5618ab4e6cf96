"""What transformers share: rows in, other rows out, alone or in front of a learner."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self

import numpy as np

from driftline.base import params
from driftline.base.learner import Learner
from driftline.base.river_verbs import RiverVerbs
from driftline.base.rules import Rule
from driftline.errors import not_fitted
from driftline.features.chain import Chain
from driftline.tables import inputs
from driftline.tables.inputs import Array, Name, Table


class Transformer(RiverVerbs, params.Parametrised):
    """Turns rows into other rows, and may learn from them.

    ``a | b`` puts two in a row, and ``a | learner`` makes a learner of them: :doc:`/learners/pipeline`.
    """

    _river_kind = "Transformer"
    _supervised = False
    _learns = True  # what it makes of a row depends on earlier ones
    _needs_labels = False
    _chain: Chain | None = None
    _names: list[Name] | None = None

    # What a transformer says.

    def _stage(self, width: int) -> Any:
        """The native transformation of rows of ``width`` features."""
        raise TypeError(f"{type(self).__name__} cannot be used by itself")

    def _names_out(self, names: list[Name], stage: Any) -> list[Name]:
        """The names of what comes out."""
        return names

    def _check_width(self, width: int) -> None:
        """ValueError where rows of so many features are too many."""

    def _parts(self) -> list[Transformer]:
        """The single transformers that this one is made of."""
        return [self]

    # In front of others.

    def __or__(self, other: Any) -> Any:
        if isinstance(other, Transformer):
            return Steps([*self._parts(), *other._parts()])
        return self._before(other) if isinstance(other, Learner) else NotImplemented

    def _before(self, learner: Learner) -> Learner:
        from driftline.ensembles.classifier import Classifier
        from driftline.features.pipeline import Pipeline

        if isinstance(learner, Pipeline):
            return learner.clone({"transformers": [*self._parts(), *learner.parts]})
        if isinstance(learner, Classifier):
            return learner.clone({"learner": self._before(learner._patterns()[0])})
        return Pipeline(self._parts(), learner)

    # One row at a time.

    def learn_one(self, x: Any, y: Any = None) -> None:
        """Learns from one row; of a label only what needs labels. A mapping may bring new features."""
        where = f"{type(self).__name__}.learn_one"
        with self._claimed():
            label = self._labels([y], 1, where)
            row, names = self._read(x, where, grow=True)
            self._refuse_bad(row, names, where)
            self._learn_rows(row[None, :], label, names, where)

    def transform_one(self, x: Any) -> Any:
        """One row by what was learned so far: an array for an array-like, a mapping for a mapping. Nothing is learned."""
        where = f"{type(self).__name__}.transform_one"
        with self._claimed(undo=False):
            row, names = self._read(x, where, grow=False)
            self._refuse_bad(row, names, where)
            chain = self._chain_for(row.size)
            out, done = chain.run(row[None, :], np.ones(1, dtype=bool), alone=True)
            self._refuse_overflow(done, out, chain, where)
        if not isinstance(inputs.named(x), Mapping):
            return out[0]
        return dict(zip(chain.names_out(names or []), out[0].tolist(), strict=True))

    # Many rows.

    def run(self, X: Any, y: Any = None) -> Array:
        """Row by row what a learner behind would see, (T, outputs), each row being learned after it."""
        with self._claimed():
            return self._run(X, y, f"{type(self).__name__}.run")

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learns more rows in their order."""
        with self._claimed():
            self._run(X, y, f"{type(self).__name__}.partial_fit")
        return self

    def fit(self, X: Any, y: Any = None) -> Self:
        """Forgets everything, then learns the rows in their order."""
        with self._claimed():
            self._chain = self._names = None
            self._run(X, y, f"{type(self).__name__}.fit")
        return self

    def transform(self, X: Any) -> Array:
        """Many rows, each by what was learned so far, (T, outputs). Nothing is learned."""
        where = f"{type(self).__name__}.transform"
        if self._chain is None and any(part._learns for part in self._parts()):
            raise not_fitted(f"{where}: the transformer is not fitted yet: it has seen no row")
        table = inputs.as_table(X, where)
        with self._claimed(undo=False):
            self._check_table(table, where)
            chain = self._chain_for(table.columns)
            pieces = [self._piece(chain, block, None, table, start, where) for start, block in table.blocks()]
        return np.concatenate(pieces)

    def _run(self, X: Any, y: Any, where: str) -> Array:
        table = inputs.as_table(X, where)
        labels = self._labels(y, table.rows, where)
        self._check_table(table, where)
        chain = self._ready(table.columns, table.names)
        return np.concatenate(
            [
                self._piece(chain, block, labels[start : start + len(block)], table, start, where)
                for start, block in table.blocks()
            ]
        )

    def _piece(self, chain: Chain, block: Array, y: Array | None, table: Table, start: int, where: str) -> Array:
        whole: Array = np.all(np.isfinite(block), axis=1)
        if not whole.all():
            row = int(whole.argmin())
            self._refuse_bad(block[row], table.names, where, f"row {start + row}, ")
        out, done = chain.run(block, whole, None if y is None else whole, y, alone=y is None)
        self._refuse_overflow(done, out, chain, where, start)
        return out

    def _learn_rows(self, rows: Array, labels: Array, names: list[Name] | None, where: str) -> None:
        chain = self._ready(rows.shape[1], names)
        whole = np.ones(len(rows), dtype=bool)
        out, done = chain.run(rows, whole, whole, labels)
        self._refuse_overflow(done, out, chain, where)

    # One thread at a time, and all or nothing.

    @contextmanager
    def _claimed(self, undo: bool = True) -> Iterator[None]:
        mine = object()
        if self.__dict__.setdefault("_claim", mine) is not mine:  # one step, which no other thread can interrupt
            raise RuntimeError(
                f"{type(self).__name__}: the transformer is in use by another thread; "
                "give each thread its own, or lock around it"
            )
        try:
            before = self._exported() if undo else None
            try:
                yield
            except BaseException:
                if before is not None:
                    self.__setstate__(before)
                raise
        finally:
            del self.__dict__["_claim"]

    # Checks at the door.

    def _read(self, x: Any, where: str, grow: bool) -> tuple[Array, list[Name] | None]:
        x = inputs.named(x)
        if not isinstance(x, Mapping):
            row = inputs.as_row(x, where)
            if self._chain is not None and row.size != self._chain.inputs:
                raise ValueError(f"{where}: x has {row.size} features, expected {self._chain.inputs}")
            return row, self._names
        if self._chain is not None and self._names is None:
            raise ValueError(f"{where}: x is a mapping, but the transformer learned from features without names")
        items = inputs.as_items(x, where)
        known = [] if self._names is None else self._names
        seen = set(known)
        names = known + [name for name in items if name not in seen] if grow or self._chain is None else known
        return np.array([items.get(name, 0.0) for name in names], dtype=np.float64), names

    def _labels(self, y: Any, rows: int, where: str) -> Array:
        if not any(part._needs_labels for part in self._parts()):
            return np.zeros(rows)
        if y is None or (rows == 1 and isinstance(y, list) and y[0] is None):
            raise ValueError(f"{where}: y is missing, and there are lags of it to be kept")
        labels = inputs.as_vector(y, rows, where, "y")
        if not np.isfinite(labels).all():
            row = int(np.isfinite(labels).argmin())
            raise ValueError(f"{where}: y is {inputs.spell(labels[row])} in row {row}")
        return labels

    def _check_table(self, table: Table, where: str) -> None:
        if self._chain is None:
            return
        if table.names is not None and self._names is not None and table.names != self._names:
            raise ValueError(f"{where}: the features should be {self._names}, in this order")
        if table.columns != self._chain.inputs:
            raise ValueError(f"{where}: X has {table.columns} features, expected {self._chain.inputs}")

    def _refuse_bad(self, row: Array, names: list[Name] | None, where: str, place: str = "") -> None:
        bad = ~np.isfinite(row)
        if bad.any():
            column = int(bad.argmax())
            feature = repr(names[column]) if names else str(column)
            raise ValueError(f"{where}: x has {inputs.spell(float(row[column]))} in {place}feature {feature}")

    def _refuse_overflow(self, done: int, out: Array, chain: Chain, where: str, start: int = 0) -> None:
        if done < len(out):
            after, values = chain.left()
            column = int((~np.isfinite(values)).argmax())
            by = f" after {type(chain.transformers[after]).__name__}" if len(chain.transformers) > 1 else ""
            raise ValueError(f"{where}: row {start + done} leaves the range of float64 in transformed feature {column}{by}")

    # Growing to what is met.

    def _chain_for(self, width: int) -> Chain:
        """The chain, or a passing one where nothing was learned."""
        return Chain(self._parts(), width) if self._chain is None else self._chain

    def _ready(self, width: int, names: list[Name] | None) -> Chain:
        if self._chain is None:
            self._chain = Chain(self._parts(), width)
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
        """The names of a row's features, where they have any."""
        self._require_chain("feature_names_in_")
        if self._names is None:
            raise AttributeError(f"{type(self).__name__}: the features have no names")
        return _as_objects(self._names)

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
        return _as_objects(chain.names_out(names))

    def _require_chain(self, what: str) -> Chain:
        if self._chain is None:
            raise not_fitted(f"{type(self).__name__}.{what}: the transformer is not fitted yet: it has seen no row")
        return self._chain

    def __sklearn_is_fitted__(self) -> bool:
        return self._chain is not None or not any(part._learns for part in self._parts())

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=any(part._needs_labels for part in self._parts())),
            transformer_tags=TransformerTags(),
            input_tags=InputTags(),
        )

    # Keeping and copying.

    def set_params(self, **changes: Any) -> Self:
        """Changes hyper-parameters, all or none, of a transformer that has seen no row."""
        if self._chain is not None and any(value is not self.__dict__.get(name) for name, value in changes.items()):
            raise ValueError(f"{type(self).__name__}: {', '.join(changes)} cannot change once the transformer has learned")
        return super().set_params(**changes)  # type: ignore[no-any-return]

    def __getstate__(self) -> dict[str, Any]:
        with self._claimed(undo=False):
            return self._exported()

    def _exported(self) -> dict[str, Any]:
        chain = self._chain
        state = {} if chain is None else {"width": chain.inputs, "parts": chain.get_state()}
        return {"params": self.get_params(deep=False), "names": copy.copy(self._names), **state}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state["params"])
        chain = None
        if "parts" in state:
            chain = Chain(self._parts(), state["width"])
            chain.set_state(state["parts"])
        self._chain, self._names = chain, state["names"]

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.get_params(deep=False).items())
        return f"{type(self).__name__}({shown})"


def _as_objects(names: Sequence[Name]) -> Array:
    out = np.empty(len(names), dtype=object)
    out[:] = names
    return out


def _are_transformers(value: Any) -> bool:
    given = [value] if isinstance(value, Transformer) else value
    return isinstance(given, (list, tuple)) and len(given) > 0 and all(isinstance(item, Transformer) for item in given)


TRANSFORMERS = Rule(_are_transformers, "a transformer or a list of transformers")


class Steps(Transformer):
    """Transformers in a row, each of which sees what the one before it gives. ``a | b`` makes one.

    Args:
        transformers: in their order.

    >>> from driftline.features import Lags, Polynomial
    >>> (Lags(x=2) | Polynomial(2)).run([[1.0], [2.0]])
    array([[1., 0., 1., 0., 0.],
           [2., 1., 4., 2., 1.]])
    """

    transformers: Sequence[Transformer] = params.checked(default=(), rule=TRANSFORMERS, kw_only=False)

    def _parts(self) -> list[Transformer]:
        return parts_of(self.transformers)


def parts_of(transformers: Transformer | Sequence[Transformer]) -> list[Transformer]:
    """The single transformers among these, in their order."""
    given = [transformers] if isinstance(transformers, Transformer) else transformers
    return [part for transformer in given for part in transformer._parts()]
