"""Converts learners to records of model files, and back."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from driftline.base import stability
from driftline.errors import ModelFileError
from driftline.storage import codec, model_file
from driftline.storage.model_file import Record

if TYPE_CHECKING:
    from driftline.base.learner import Learner

_EMPTY = {"empty": np.zeros(1)}  # a file needs an array


def of(learner: Learner) -> Record:
    """A learner as a record. Warns if a loop of ``learn_one`` led to predictions that ran away."""
    learner._require_valid()
    stability.warn_of_range(learner)
    owner, state = type(learner).__name__, learner.__getstate__()
    head = {
        "learner": codec.encode_model(owner, learner),
        "names": codec.encode_names(owner, state["names"]),
        "skipped": state["skipped"],
        "kept": state.get("kept", {}),
        "learned": "core" in state,
        **learner._extra_head(state),
    }
    if "columns" in state:
        codec.encode_names(owner, [name for name, _ in state["columns"]["columns"]])
        head["columns"] = state["columns"]
    return Record("learner", head, state.get("core", _EMPTY))


def read(record: Record) -> Learner:
    """The learner of a record; raises ModelFileError or ValueError if it is invalid."""
    head = record.head
    learner: Learner = codec.decode(head["learner"])
    names = codec.decode_names(head["names"])
    state: dict[str, Any] = {
        "params": learner.get_params(deep=False),
        "skipped": codec.decode_count(head["skipped"], "the number of skipped rows"),
        "names": names,
        **learner._read_extra_head(head),
    }
    if head["learned"]:
        state["core"] = dict(record.arrays)
        state["kept"] = {name: float(head["kept"][name]) for name in learner._kept}
        if not all(math.isfinite(value) and value > 0 for value in state["kept"].values()):
            raise ModelFileError("holds a value that is out of range")
        if names is not None and len(names) != learner._features_of(state["core"]):
            raise ModelFileError("the names do not agree with the weights")
        if "columns" in head:
            state["columns"] = head["columns"]
    learner.__setstate__(state)
    return learner


model_file.register("learner", read)
