"""Checks a command's paths before anything is touched."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

import typer

from driftline.cli.options import STDOUT
from driftline.errors import closest
from driftline.storage import atomic

PICTURES = (".png", ".svg", ".pdf")
STREAMS = {"SOURCE": 0, "--out": 1}  # the descriptor that - means


def check_file(option: str, path: str | Path | None, endings: tuple[str, ...] = ()) -> None:
    """Checks that a file to be written has a known ending, and is a regular file or can be created."""
    if path is None or path == STDOUT:
        return
    place = Path(path)
    if endings and place.suffix.lower() not in endings:
        raise typer.BadParameter(
            f"{option} must end in {', '.join(endings)}, got {str(path)!r}.{closest(place.suffix.lower(), endings)}"
        )
    if place.is_dir():
        raise typer.BadParameter(f"{option} {path}: is a folder, not a file")
    if place.is_symlink():
        place = Path(os.path.realpath(place))
    if not place.parent.is_dir():
        raise typer.BadParameter(f"{option} {place}: there is no folder {place.parent}")
    if place.exists() and not place.is_file():
        raise typer.BadParameter(f"{option} {place}: is not a regular file")


def check_distinct(files: Mapping[str, str | Path | None]) -> None:
    """Checks that all files to be read or written, by option, are distinct, links included."""
    given = {option: path for option, path in files.items() if path is not None}
    for option, path in given.items():
        if atomic.is_sidecar(path) or atomic.is_sidecar(os.path.realpath(path)):
            raise typer.BadParameter(f"{option} {path}: is named like a temporary file of driftline; rename it")
    known = {option: _identities(option, path) for option, path in given.items()}
    if given.get("--out") != STDOUT:
        known["the standard output"] = _of_stream(STREAMS["--out"])
    for (one, own), (other, its) in combinations(known.items(), 2):
        if own & its:
            paths = [str(path) for option, path in given.items() if option in (one, other) and str(path) != STDOUT]
            what = ", ".join(["the same file", *paths[:1]])
            raise typer.BadParameter(f"{one} and {other} are {what}: the source and every output must be different files")


def _identities(option: str, path: str | Path) -> set[object]:
    """Identifies a file: its path, links followed, and its inode if it exists."""
    if str(path) == STDOUT and option in STREAMS:
        return _of_stream(STREAMS[option])
    found: set[object] = {os.path.realpath(path)}
    try:
        return found | _of_file(os.stat(path))
    except OSError:
        return found


def _of_stream(descriptor: int) -> set[object]:
    try:
        return _of_file(os.fstat(descriptor))
    except OSError:  # closed
        return set()


def _of_file(status: os.stat_result) -> set[object]:
    return {(status.st_dev, status.st_ino)} if stat.S_ISREG(status.st_mode) else set()
