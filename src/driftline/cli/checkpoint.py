"""The state of a run in its model's file: all that is needed to go on as if it had never stopped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from driftline.errors import ModelFileError
from driftline.files import Options
from driftline.storage import model_file
from driftline.storage.model_file import Extra

KIND, VERSION = "run", 7


class StateError(Exception):
    """A state that does not go with what was asked for."""


@dataclass
class Checkpoint:
    """A run after some rows.

    Attributes:
        model: the learner, or the forecaster.
        settings: what was asked for, by option; those of reading among them.
        source: what tells the source from another.
        rows: how many rows are done.
        written: identifies the output file (a plain Mark of outputs); None where there is none.
        known: what was found out about the columns.
        parts: the states of the parts of the run, by name: arrays and plain values, as each part makes and restores them.
    """

    model: Any
    settings: dict[str, Any]
    source: dict[str, Any]
    rows: int
    written: dict[str, Any] | None
    known: dict[str, Any]
    parts: dict[str, dict[str, Any]]

    @property
    def options(self) -> Options:
        """How the source was read."""
        return Options.from_plain(self.settings)

    def save(self, path: Path) -> None:
        """Writes the state, atomically."""
        plain = {name: value for name, value in vars(self).items() if name not in ("model", "parts")}
        values = {part: {name: v for name, v in state.items() if not _is_array(v)} for part, state in self.parts.items()}
        arrays = {
            f"{part}.{name}": value
            for part, state in self.parts.items()
            for name, value in state.items()
            if _is_array(value)
        }
        extra = Extra(plain | {"parts": values, "kind": KIND, "version": VERSION}, arrays)
        model_file.save(self.model._record(), path, extra)


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def load(path: Path) -> Checkpoint:
    """Reads a state. ModelFileError where the file is no state of a run."""
    model, extra = model_file.load_with_extra(path)
    if extra is None or extra.plain.get("kind") != KIND:
        raise ModelFileError(f"{path}: holds a model, but no run to resume")
    return of(model, extra, path)


def of(model: Any, extra: Extra, path: Path) -> Checkpoint:
    """The state of a run that a model file holds along with the model."""
    if extra.plain.get("version") != VERSION:
        raise ModelFileError(f"{path}: the run was saved by another version of driftline, and cannot be read by this one")
    try:
        names = ("settings", "source", "rows", "written", "known", "parts")
        kept = Checkpoint(model=model, **{name: extra.plain[name] for name in names})
        for name, array in extra.arrays.items():
            part, _, own = name.partition(".")
            kept.parts[part][own] = array
        return kept
    except KeyError as error:
        raise ModelFileError(f"{path}: the run's state lacks {error}") from None


def check_replaceable(path: Path) -> None:
    """StateError where another file than a run's state is there: it is not overwritten."""
    if not path.exists() or path.stat().st_size == 0:
        return
    head = model_file.head_of(path)
    extra = None if head is None else head.get("extra")
    if not isinstance(extra, dict) or extra.get("kind") != KIND:
        what = "no file of driftline's" if head is None else "a model that was saved by itself"
        raise StateError(f"{path}: is {what}, and will not be replaced by a run's state. Give another --state")


def check_settings(kept: Mapping[str, Any], asked: Mapping[str, Any], path: Path) -> None:
    """StateError where the state was made with other options than are given now."""
    for name in asked:
        before, now = kept.get(name), asked[name]
        if before != now:
            raise StateError(
                f"{path}: was saved by a run with {_spelled(name, before)}, not {_spelled(name, now)}. "
                "Give the same options to go on, or another --state"
            )


def _spelled(name: str, value: Any) -> str:
    flag = "--" + name.replace("_", "-")
    if value is None or value in ((), [], {}, False):
        return f"no {flag}"
    if isinstance(value, dict):
        shown = ",".join(f"{key}={item}" if key else str(item) for key, item in value.items())
    elif isinstance(value, (list, tuple)):
        shown = ",".join(map(str, value))
    else:
        shown = str(value)
    return f"{flag} {shown}"
