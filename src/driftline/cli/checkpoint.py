"""The state of a run, in its model file: everything needed to continue as if it had never stopped."""

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

KIND, VERSION = "run", 8


class StateError(Exception):
    """A state that does not fit the options given."""


@dataclass
class Checkpoint:
    """A run after some rows.

    Attributes:
        model: the learner, or the forecaster.
        settings: the options given, including those of reading.
        source: identifies the source.
        rows: number of rows done.
        written: identifies the output file (a plain Mark of outputs); None if there is none.
        known: what is known about the columns.
        parts: the states of the run's parts, by name: arrays and plain values.
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
    """Reads a state; raises ModelFileError if the file is not the state of a run."""
    model, extra = model_file.load_with_extra(path)
    if extra is None or extra.plain.get("kind") != KIND:
        raise ModelFileError(f"{path}: holds a model, but no run to resume")
    return of(model, extra, path)


def of(model: Any, extra: Extra, path: Path) -> Checkpoint:
    """The state of a run, from a model and its extra."""
    if extra.plain.get("version") != VERSION:
        raise ModelFileError(f"{path}: the run was saved by another version of driftline, which this one cannot read")
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
    """Raises StateError if the file exists and is not a run's state, so that it is not overwritten."""
    if not path.exists() or path.stat().st_size == 0:
        return
    head = model_file.head_of(path)
    extra = None if head is None else head.get("extra")
    if not isinstance(extra, dict) or extra.get("kind") != KIND:
        what = "not a driftline file" if head is None else "a model that was saved on its own"
        raise StateError(f"{path}: is {what}; a run's state will not replace it. Give another --state")


def check_settings(kept: Mapping[str, Any], asked: Mapping[str, Any], path: Path) -> None:
    """Raises StateError if the state was saved with other options."""
    for name in asked:
        before, now = kept.get(name), asked[name]
        if before != now:
            raise StateError(
                f"{path}: was saved by a run with {_spelled(name, before)}, not {_spelled(name, now)}. "
                "Give the same options to continue, or another --state"
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
