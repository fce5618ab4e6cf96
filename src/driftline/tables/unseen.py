"""Rows with categories that a model may not have learned yet."""

from __future__ import annotations

from typing import Any

from driftline.tables.inputs import Name

Averages = dict[Name, dict[Name, float]]


class Row(dict[Name, float]):
    """A row by features, which a model learns as it is.

    Args:
        items: names and values.
        averages: for each feature that may be new to the model, oldest first, the features and shares of the average that
            it stands for.
    """

    def __init__(self, items: Any, averages: Averages) -> None:
        super().__init__(items)
        self.averages = averages


def averaged(x: Any, names: list[Name] | None) -> Any:
    """The row from which a model with these features predicts."""
    if not isinstance(x, Row):
        return x
    known, found = set(names or ()), dict(x)
    for name, average in reversed(x.averages.items()):
        if name not in known and (value := found.pop(name, 0.0)):
            for other, share in average.items():
                found[other] = found.get(other, 0.0) + share * value
    return found
