"""Describes what the figures depend on apart from the code: the machine, the versions, the command."""

from __future__ import annotations

import os
import platform
import subprocess
from contextlib import suppress
from datetime import date
from importlib import metadata
from pathlib import Path

PEERS = (
    "river",
    "padasip",
    "filterpy",
    "numba",
    "bayesianbandits",
    "scikit-learn",
    "vowpalwabbit",
    "capymoa",
    "lightgbm",
    "statsmodels",
)
PACKAGES = ("driftline", "numpy", "scipy", "mpmath", *PEERS)


def machine() -> dict[str, str]:
    """Describes the machine; only measurements of the same machine are comparable."""
    return {
        "processor": f"{_processor()}, {os.cpu_count()} cores, caches {_caches()}",
        "memory": _memory(),
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",  # without the build
    }


def load() -> str:
    """The average number of runnable processes in the last minute."""
    return f"{os.getloadavg()[0]:.1f}"


def circumstances() -> dict[str, str]:
    """The circumstances of one measurement."""
    return {
        "date": date.today().isoformat(),
        "versions": ", ".join(f"{package} {version}" for package, version in _versions().items()),
    }


def _versions() -> dict[str, str]:
    installed = {"Python": platform.python_version()}
    for package in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            installed[package] = metadata.version(package)
    return installed


def commit() -> str:
    """The commit of the checkout, with a + if files other than the results have changed since."""
    try:
        changed = _git("diff", "--name-only", "HEAD", "--", ".", ":(exclude)docs/_static")
        return _git("rev-parse", "--short", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*arguments: str) -> str:
    root = Path(__file__).parent.parent
    return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True).stdout.strip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _caches() -> str:
    """The caches of the first core, from the smallest to the largest."""
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
