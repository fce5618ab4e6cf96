"""Compiles the small native programs of the benchmarks on first use."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

FOLDER = Path(__file__).parent
BUILD = FOLDER.parent / "build" / "benchmarks"


def compiler() -> str | None:
    """A C++ compiler, if there is one."""
    return shutil.which(os.environ.get("CXX", "c++"))


def compile_native(source: str, *options: str) -> Path:
    """Compiles a file of this folder into a common folder."""
    BUILD.mkdir(parents=True, exist_ok=True)
    out = BUILD / Path(source).with_suffix(".so" if "-shared" in options else "").name
    command = [compiler() or "c++", "-std=c++20", "-O3", *options, str(FOLDER / source), "-o", str(out)]
    subprocess.run(command, check=True)
    return out
