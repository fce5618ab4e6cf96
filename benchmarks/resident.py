"""Resident memory of processes (Linux)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def kilobytes(path: str, name: str) -> int:
    """An entry of a file of proc(5), in bytes."""
    lines = Path(path).read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def status(name: str) -> int:
    """An entry of this process's status, in bytes."""
    return kilobytes("/proc/self/status", name)


def peak() -> float:
    """The peak of the resident memory of this process, in MB. (getrusage would give the parent's if that is higher.)"""
    return status("VmHWM") / 2**20


def probed(module: str, *arguments: object) -> Any:
    """The JSON output of ``python -m module --probe arguments``, run in a separate process."""
    command = [sys.executable, "-m", module, "--probe", *map(str, arguments)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
