"""The state of a run, in its model file: everything needed to continue as if it had never stopped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from driftline.cli.outputs import Mark
from driftline.errors import ModelFileError
from driftline.files import Options
from driftline.files.digests import Digests
from driftline.storage import model_file
from driftline.storage.model_file import Extra

KIND, VERSION = "run", 12


class StateError(Exception):
    """A state that does not fit the options given."""


@dataclass
class Checkpoint:
    """A run after some rows.

    Attributes:
        model: the learner, or the forecaster.
        settings: the options given, including those of reading.
        source: digests of the rows done.
        written: identifies the output file.
        known: what is known about the columns.
        parts: the states of the run's parts, by name: arrays and plain values.
    """

    model: Any
    settings: dict[str, Any]
    source: Digests
    written: Mark
    known: dict[str, Any]
    parts: dict[str, dict[str, Any]]

    @property
    def rows(self) -> int:
        """The number of rows done."""
        return self.source.count

    @property
    def options(self) -> Options:
        """How the source was read."""
        return Options.from_plain(self.settings)

    def save(self, path: Path) -> None:
        """Writes the state, atomically."""
        parts = self.parts | {"source": self.source.state(), "written": self.written.state()}
        values = {part: {name: v for name, v in state.items() if not _is_array(v)} for part, state in parts.items()}
        arrays = {
            f"{part}.{name}": value for part, state in parts.items() for name, value in state.items() if _is_array(value)
        }
        plain = {"settings": self.settings, "known": self.known, "rows": self.rows, "parts": values}
        extra = Extra(plain | {"kind": KIND, "version": VERSION}, arrays)
        model_file.save(self.model, path, extra)


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
        settings, known, parts = (extra.plain[name] for name in ("settings", "known", "parts"))
        for name, array in extra.arrays.items():
            part, _, own = name.partition(".")
            parts[part][own] = array
        source, written = Digests.restored(parts.pop("source")), Mark.restored(parts.pop("written"))
        return Checkpoint(model, settings, source, written, known, parts)
    except KeyError as error:
        raise ModelFileError(f"{path}: the run's state lacks {error}") from None
    except ValueError as error:
        raise ModelFileError(f"{path}: the run's state is damaged: {error}") from None


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
