"""Detects damage in SQLite's write-ahead log that SQLite itself ignores.

SQLite reads the log up to the first frame whose checksum is wrong, and drops the rest: a transaction that was being written
when the power failed. It does the same if an earlier frame was damaged later, and would lose acknowledged calls. With
``synchronous=FULL`` a transaction is on disk before the next one begins. So if a complete transaction follows the one with
the wrong frame, that frame was once valid. The format: https://www.sqlite.org/fileformat.html#the_write_ahead_log
"""

from __future__ import annotations

import struct
from pathlib import Path

from driftline.serve.problems import StoreError

_HEADER, _FRAME = 32, 24


def check(database: Path) -> None:
    """Raises StoreError if the middle of a database's write-ahead log is damaged."""
    path = database.with_name(database.name + "-wal")
    if not path.exists() or path.stat().st_size < _HEADER:
        return
    with open(path, "rb") as file:
        header = file.read(_HEADER)
        magic, _, size, _, salt1, salt2, sum1, sum2 = struct.unpack(">8I", header)
        order = "<" if magic == 0x377F0682 else ">"
        if magic not in (0x377F0682, 0x377F0683) or _sums(header[:24], 0, 0, order) != (sum1, sum2):
            sound = (0, 0)  # the header of a log that was never synced, unless transactions follow
        else:
            sound = sum1, sum2
        number, wrong, ended = 0, 0, 0
        while len(frame := file.read(_FRAME + size)) == _FRAME + size:
            number += 1
            _, pages, first, second, sum1, sum2 = struct.unpack(">6I", frame[:_FRAME])
            if (first, second) != (salt1, salt2):
                if not wrong and second != salt2 and 0 < (salt1 - first) % 2**32 < 2**20:
                    break  # left over from before the log began again, when the first salt was lower
                wrong = wrong or number
                continue
            if ended:
                raise StoreError(f"{path}: damaged at frame {wrong}, before complete transactions")
            if not wrong:
                sound = _sums(frame[:8], *sound, order)
                sound = _sums(frame[_FRAME:], *sound, order)
                wrong = 0 if sound == (sum1, sum2) else number
            if wrong and pages:
                ended = number


def _sums(data: bytes, first: int, second: int, order: str) -> tuple[int, int]:
    """SQLite's checksum, continued."""
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for at in range(0, len(words), 2):
        first = (first + words[at] + second) & 0xFFFFFFFF
        second = (second + words[at + 1] + first) & 0xFFFFFFFF
    return first, second
