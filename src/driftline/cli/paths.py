"""Checks a command's paths before anything is touched."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

import typer

from driftline.base.run import PAGES
from driftline.cli.options import FORMATS, STDOUT
from driftline.errors import closest
from driftline.storage import atomic

PICTURES = (".png", ".svg", ".pdf")
STREAMS = {"SOURCE": 0, "--out": 1}  # the descriptor that - means


def check_out(out: str | None) -> None:
    """Checks that a file for predictions has a known ending, and that its folder exists."""
    if out is not None and out != STDOUT:
        _check_ending("--out", out, FORMATS)
        check_folder("--out", Path(out))


def check_report(report: Path | None, option: str = "--report") -> None:
    """Checks that a report's name ends like a page's, and that its folder exists."""
    if report is not None:
        _check_ending(option, str(report), PAGES)
        check_folder(option, report)


def check_picture(picture: Path | None) -> None:
    """Checks that a picture has a known ending, and that its folder exists."""
    if picture is not None:
        _check_ending("--picture", str(picture), PICTURES)
        check_folder("--picture", picture)


def _check_ending(option: str, path: str, endings: tuple[str, ...]) -> None:
    ending = Path(path).suffix.lower()
    if ending not in endings:
        raise typer.BadParameter(f"{option} must end in {', '.join(endings)}, got {path!r}.{closest(ending, endings)}")


def check_folder(option: str, path: Path | None) -> None:
    """Checks that a file to be written is a regular file, or can be created."""
    if path is None:
        return
    if path.is_dir():
        raise typer.BadParameter(f"{option} {path}: is a folder, not a file")
    if path.is_symlink():
        path = Path(os.path.realpath(path))
    if not path.parent.is_dir():
        raise typer.BadParameter(f"{option} {path}: there is no folder {path.parent}")
    if path.exists() and not path.is_file():
        raise typer.BadParameter(f"{option} {path}: is not a regular file")


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
