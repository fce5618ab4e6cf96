"""Replaces files atomically: a reader finds the old file or the new one, never a part.

The data goes to a temporary file in the same folder, which is then renamed. Its name is unpredictable,
``NAME.driftline-TOKEN.part``. It is created exclusively, no link is followed, and its writer holds a lock on it: a temporary
file without a lock was left by a killed process, and the next writer of the same file removes it.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

LONGEST = 255  # bytes of a file's name
_TOKEN = "[0-9a-f]{16}"
_ENDING = re.compile(rf"\.driftline-(?:{_TOKEN}\.part|lock)")
_NO_LOCKS = (errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK, errno.ENOSYS)


def write(path: str | os.PathLike[str], data: bytes | Iterable[Any]) -> None:
    """Replaces or creates a file. The data may come in pieces. If the path is a link, its target is replaced."""
    pieces: Iterable[Any] = [data] if isinstance(data, bytes) else data
    place = target(path)
    part = temporary(place, new_token())
    try:
        with naming(path), create(part) as file:
            file.writelines(pieces)
            sync(file)
            os.replace(part, place)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    sweep(place)


def target(path: str | os.PathLike[str]) -> Path:
    """The file that writing to a path replaces, with links followed; raises OSError if it cannot be written."""
    place = Path(path)
    if place.is_symlink():
        place = Path(os.path.realpath(place))
    if not place.parent.is_dir():
        raise FileNotFoundError(f"{place.parent}: no such folder")
    if place.exists() and not place.is_file():
        raise OSError(f"{path}: not a regular file")
    return place


def new_token() -> str:
    """A random token, which makes the name of a temporary file unpredictable."""
    return secrets.token_hex(8)


def is_token(text: Any) -> bool:
    """Whether a value has the form of :func:`new_token`'s."""
    return isinstance(text, str) and re.fullmatch(_TOKEN, text) is not None


def temporary(place: Path, token: str) -> Path:
    """The temporary file for a token, next to the file that it will replace."""
    return place.with_name(f"{_stem(place)}.driftline-{token}.part")


def lock_file(place: Path) -> Path:
    """The file whose lock shows that a process is writing ``place``."""
    return place.with_name(f"{_stem(place)}.driftline-lock")


def is_sidecar(path: str | os.PathLike[str]) -> bool:
    """Whether a name is one that this module gives to temporary files and lock files."""
    return _ENDING.search(os.path.basename(path)) is not None


def _stem(place: Path) -> str:
    """The name, or a digest of it if an ending would make it too long."""
    long = len(os.fsencode(place.name)) > LONGEST - 32
    return hashlib.sha256(os.fsencode(place.name)).hexdigest() if long else place.name


def create(part: Path) -> BinaryIO:
    """Creates and locks a temporary file; raises FileExistsError if the path exists."""
    while True:
        handle = os.open(part, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_RDWR | os.O_CLOEXEC, 0o666)
        if lock(handle) is not False and is_at(handle, part):
            return os.fdopen(handle, "w+b")
        os.close(handle)  # another process swept it before it was locked


def reopen(part: Path) -> BinaryIO:
    """Opens and locks a temporary file left by an earlier process; raises OSError if it is in use or not regular."""
    handle = os.open(part, os.O_NOFOLLOW | os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    if stat.S_ISREG(os.fstat(handle).st_mode) and lock(handle) is not False:
        return os.fdopen(handle, "r+b")
    os.close(handle)
    raise OSError(f"{part}: in use, or not a regular file")


def lock(handle: int) -> bool | None:
    """Locks an open file until it is closed or its process ends; False if another holds it, None without locking."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return None
        raise
    return True


def is_at(handle: int, path: Path) -> bool:
    """Whether a path still refers to an open file."""
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except FileNotFoundError:
        return False


def sync(file: BinaryIO) -> None:
    """Returns when everything written so far is on disk."""
    file.flush()
    os.fsync(file.fileno())


def sweep(place: Path) -> None:
    """Removes temporary files left by killed writers of a file. Files that cannot be locked stay."""
    start, end = f"{_stem(place)}.driftline-", ".part"
    with os.scandir(place.parent) as entries:
        found = [
            Path(entry.path)
            for entry in entries
            if entry.name.startswith(start) and entry.name.endswith(end) and is_token(entry.name[len(start) : -len(end)])
        ]
    for part in found:
        try:
            handle = os.open(part, os.O_NOFOLLOW | os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:
            continue
        try:
            if stat.S_ISREG(os.fstat(handle).st_mode) and lock(handle) and is_at(handle, part):
                part.unlink()
        finally:
            os.close(handle)


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Adds the file's name to an OSError without one, such as that of a full disk."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = os.fspath(path)
        raise
