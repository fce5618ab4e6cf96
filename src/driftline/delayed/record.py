"""Converts a forecaster to a record of a model file, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from driftline.base import ticket as tickets_
from driftline.base.learner import of_record
from driftline.delayed import packed
from driftline.delayed.stepper import Stepper
from driftline.errors import ModelFileError
from driftline.storage import codec
from driftline.storage.model_file import Record
from driftline.tables.cells import Row
from driftline.tables.inputs import Array

if TYPE_CHECKING:
    from driftline.delayed.forecaster import Forecaster


def of(forecaster: Forecaster) -> Record:
    """The record of a forecaster."""
    inner = [model._record() for model in forecaster.learners_]
    waiting = [packed.pack([ticket for ticket, _ in stepper.waiting]) for stepper in forecaster._steppers]
    head = {
        "learner": codec.encode_model("Forecaster", forecaster._learner),
        "steps": forecaster._steps,
        "known": codec.encode_known(forecaster.known if forecaster._cells else forecaster._known.named(forecaster._names)),
        "names": codec.encode_names("Forecaster", forecaster._names),
        "rows": forecaster._rows,
    }
    if forecaster._cells is not None:
        names = forecaster._names or []
        head["cells"] = [tickets_.plain_cells([row.get(name) for name in names]) for row in forecaster._cells]
        head["known_columns"] = forecaster._known_columns
    arrays: dict[str, Array] = {"past": forecaster._past}
    heads = [[kept.head, tickets] for kept, (tickets, _) in zip(inner, waiting, strict=True)]
    arrays["models"] = packed.text_of(heads)
    for number, (kept, (_, numbers)) in enumerate(zip(inner, waiting, strict=True)):
        labels = [label for _, label in forecaster._steppers[number].waiting]
        arrays[f"{number}.tickets"], arrays[f"{number}.labels"] = numbers, np.array(labels, dtype=np.float64)
        arrays |= {f"{number}.model.{name}": array for name, array in kept.arrays.items()}
    return Record("forecaster", head, arrays)


def fill(forecaster: Forecaster, kept: Record) -> None:
    """Restores a new forecaster from a record; raises ModelFileError if it is invalid."""
    head, arrays = kept.head, dict(kept.arrays)
    forecaster._names = codec.decode_names(head["names"])  # type: ignore[assignment]
    if "cells" in head:
        names = forecaster._names or []
        rows = [tickets_.cells_of(row) for row in head["cells"]]
        forecaster._cells = [Row(zip(names, row, strict=True)) for row in rows]
        forecaster._known_columns = head["known_columns"]
    forecaster._rows = codec.decode_count(head["rows"], "the number of rows")
    forecaster._past = arrays["past"]
    models = packed.of_text(arrays["models"])
    if len(models) != forecaster._steps or forecaster._past.ndim != 2 or np.isinf(forecaster._past).any():
        raise ModelFileError("the steps do not agree with the models")
    if forecaster._rows and forecaster._cells is None:
        forecaster._known.check(forecaster._past.shape[1], forecaster._names, "Forecaster")
    for number, (inner, tickets) in enumerate(models):
        prefix = f"{number}.model."
        own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
        learner = of_record(Record("learner", inner, own))
        waiting = packed.unpack(tickets, arrays[f"{number}.tickets"])
        labels = arrays[f"{number}.labels"]
        if labels.shape != (len(waiting),) or len(waiting) > number:
            raise ModelFileError("the tickets do not agree with their labels")
        forecaster._steppers[number] = Stepper(learner, number, zip(waiting, labels.tolist(), strict=True))
