"""Files that are written whole: a reader finds the old one or the new one, never a part."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def write(path: str | os.PathLike[str], data: bytes | Iterable[Any], *, alone: bool = False) -> None:
    """Writes a file beside the old one, and moves it over. The data may come in pieces.

    ``alone`` says that nobody else writes this file meanwhile. The one beside it is then always ``path`` with the ending
    ``.part``, so that what a process left there when it was killed is written over by the next.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent}: no such folder")
    pieces: Iterable[Any] = [data] if isinstance(data, bytes) else data
    handle, temporary = _fixed(path) if alone else _unique(path)
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def remove_part(path: Path) -> None:
    """Removes what is left beside a file of one that wrote it alone, and was killed."""
    _part(path).unlink(missing_ok=True)


def _unique(path: Path) -> tuple[int, str]:
    return tempfile.mkstemp(dir=path.parent, prefix=path.name + ".", suffix=".part")


def _fixed(path: Path) -> tuple[int, str]:
    remove_part(path)  # not opened as it is: it may be a link to another file
    part = _part(path)
    return os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), str(part)


def _part(path: Path) -> Path:
    return Path(f"{path}.part")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
