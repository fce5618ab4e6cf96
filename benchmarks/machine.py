"""What figures depend on besides the code: the machine, the versions, the command."""

from __future__ import annotations

import os
import platform
from datetime import date
from importlib import metadata
from pathlib import Path

PACKAGES = ("driftline", "numpy", "scipy", "river", "padasip", "filterpy", "numba", "scikit-learn", "mpmath", "vowpalwabbit")


def facts(command: str) -> dict[str, str]:
    return {
        "date": date.today().isoformat(),
        "command": f"`{command}`",
        "processor": f"{_processor()}, {os.cpu_count()} cores, caches {_caches()}",
        "memory": _memory(),
        "load": f"{os.getloadavg()[0]:.1f} processes on average in the last minute, the benchmark's own among them",
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "versions": ", ".join(f"{package} {version}" for package, version in _versions().items()),
    }


def _versions() -> dict[str, str]:
    installed = {}
    for package in PACKAGES:
        try:
            installed[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            installed[package] = "not installed"
    return installed


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _caches() -> str:
    """Of the first core, from the smallest to the largest."""
    sizes = []
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        kind, level, size = ((folder / name).read_text().strip() for name in ("type", "level", "size"))
        if kind != "Instruction":
            sizes.append(f"L{level} {size}")
    return ", ".join(sizes) or "unknown"


def _memory() -> str:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        total = next(int(line.split()[1]) for line in lines if line.startswith("MemTotal"))
    except (OSError, StopIteration):
        return "unknown"
    return f"{total / 2**20:.0f} GiB"
