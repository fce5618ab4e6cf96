"""Reads single rows of any type for a learner's core."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from driftline._core import SparseRows
from driftline.tables import inputs, sparse
from driftline.tables.inputs import Name

if TYPE_CHECKING:
    from driftline.base.learner import Learner


def read(learner: Learner, x: Any, where: str, *, grow: bool) -> tuple[Any, list[Name] | None]:
    """A row as an array or a sparse row, and the names of its features, if any; of a sparse row only the new ones."""
    traits = learner._traits
    if traits.reader is not None:
        return traits.reader.row(x, where), None
    if traits.takes_sparse and (row := sparse.read_row(x, where)) is not None:
        check_width(learner, row.width, where)
        return row, None
    if traits.takes_any_width and learner._core is not None and isinstance(x, Mapping):
        return _by_places(learner, x, where, grow)
    if not grow and not learner._leaves_out:
        learner._door.refuse_bad_items(x, where)
    return learner._door.read(x, where, grow=grow)


def fits(learner: Learner, row: Any) -> bool:
    """Whether the core can take a row as it is, without growing."""
    core = learner._core
    if core is None:
        return False
    return bool(row.width <= core.features if isinstance(row, SparseRows) else row.size == core.features)


def _by_places(learner: Learner, x: Mapping[Name, Any], where: str, grow: bool) -> tuple[SparseRows, list[Name]]:
    """A mapping as a sparse row, and its new names; the cost does not depend on the number of known names."""
    learner._door.known_names(where)
    if learner.missing == "raise":
        learner._door.refuse_bad_items(x, where)
    items = inputs.as_items(x, where)
    places, width = np.array(learner._core.places(list(items)), dtype=np.int64), learner._core.features
    new = places < 0
    names = [name for name, is_new in zip(items, new, strict=True) if is_new]
    if grow:
        places[new] = np.arange(width, width + len(names))
        width += len(names)
    values = np.fromiter(items.values(), dtype=np.float64, count=len(items))
    order = np.argsort(places)[np.count_nonzero(places < 0) :]
    return SparseRows(values[order], places[order], np.array([0, len(order)]), width), names


def check_width(learner: Learner, width: int, where: str) -> None:
    """Raises ValueError if sparse rows have the wrong number of features."""
    if not learner._traits.takes_any_width:
        learner._door.require_width(width, where)
    elif learner._names is not None and width > len(learner._names):
        raise ValueError(f"{where}: x has {width} features, but the model knows the names of {len(learner._names)}")


def kept(learner: Learner, x: Any, row: Any, names: list[Name] | None) -> Any:
    """Converts a row to a form that cores can read and a ticket can keep."""
    if (reader := learner._traits.reader) is not None:
        return reader.unhashed(x)
    if isinstance(x, Mapping):
        return inputs.as_items(x, "")
    if isinstance(row, SparseRows):
        columns = row.columns.copy()
        return SparseRows(row.values.copy(), columns, np.array([0, len(columns)], dtype=columns.dtype), row.width)
    return row if names is None else dict(zip(names, row.tolist(), strict=True))
