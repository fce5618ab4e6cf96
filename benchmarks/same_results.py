"""Compares the results of two revisions bit for bit: ``python -m benchmarks.same_results --against REV [--cases PATTERN]``.

Some hundred small cases pass through both: every learner with each kind of rows and each way to learn them, models made of
learners, and the command line.
"""

from __future__ import annotations

import argparse
import os
import pickle
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
Outcome = dict[str, Any]
CASES = ROOT / "benchmarks" / "same_results_cases.py"


def interpreter_of(revision: str) -> Path:
    """The interpreter of an environment that holds a revision, in a work tree under build/ that stays for the next time."""
    commit = subprocess.check_output(["git", "rev-parse", "--short", f"{revision}^{{commit}}"], text=True, cwd=ROOT).strip()
    tree = ROOT / "build" / "same_results" / commit
    if not tree.exists():
        add = ["git", "worktree", "add", "--force", "--quiet", "--detach", str(tree), commit]
        subprocess.run(add, check=True, cwd=ROOT)
    python = tree / ".venv" / "bin" / "python"
    built = subprocess.run(["make", ".venv/test"], capture_output=True, text=True, cwd=tree)
    if built.returncode:
        sys.exit(f"same_results: {commit} could not be built in {tree}:\n{(built.stdout + built.stderr)[-2000:]}")
    return python


def outcomes(python: str | Path, pattern: str) -> dict[str, Outcome]:
    """The outcomes of all cases whose names match, by name, from the driftline of one interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "outcomes"
        # -P keeps this folder, which has modules of many names, off the path.
        command = [str(python), "-P", str(CASES), str(target), pattern]
        subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": "0"}, cwd=folder)
        found: dict[str, Outcome] = pickle.loads(target.read_bytes())
        return found


def difference(now: Any, before: Any) -> str | None:
    """How two values of one field differ; None if they are the same bits."""
    if now is None or before is None:
        return "in one tree only"
    if isinstance(now, str):
        return None if now == before else f"{before} -> {now}"
    if now.shape != before.shape:
        return f"shape {before.shape} -> {now.shape}"
    if now.dtype.kind not in "fiu" or before.dtype.kind not in "fiu":
        count = np.count_nonzero(now.astype(str) != before.astype(str))
        return f"{count} of {now.size}" if count else None
    now, before = now.astype(float), before.astype(float)
    other = ~((now.view(np.uint64) == before.view(np.uint64)) | (np.isnan(now) & np.isnan(before)))
    if not other.any():
        return None
    finite = other & np.isfinite(now) & np.isfinite(before)
    scale = np.abs(before[np.isfinite(before)]).max(initial=0) or 1.0
    size = np.abs(now[finite] - before[finite]).max(initial=0) / scale
    mixed = ", some finite in one only" if (other & ~finite).any() else ""
    return f"{size:.2g} ({np.count_nonzero(other)} of {now.size}{mixed})"


def differences(now: Outcome, before: Outcome, fields: str) -> list[str]:
    """How two outcomes of a case differ, a text for each field."""
    if now.keys() != before.keys() and "error" in now.keys() | before.keys():
        return [f"{before.get('error', 'numbers')} -> {now.get('error', 'numbers')}"]
    found = {name: difference(now.get(name), before.get(name)) for name in sorted(now.keys() | before.keys())}
    return [f"{name} {how}" for name, how in found.items() if how and (name == "error" or re.search(fields, name))]


def main() -> int:
    """Prints the cases that differ; returns 1 if there are any."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.same_results", description=__doc__.splitlines()[0])
    other = parser.add_mutually_exclusive_group(required=True)
    other.add_argument("--against", metavar="REV", help="the revision to compare with, built under build/same_results")
    other.add_argument("--python", metavar="PATH", help="or the interpreter of an environment that holds it")
    parser.add_argument(
        "--cases", metavar="PATTERN", default="", help="only cases whose name matches this regular expression"
    )
    parser.add_argument(
        "--fields", metavar="PATTERN", default="", help="only fields whose name matches, such as predictions"
    )
    options = parser.parse_args()
    before = outcomes(options.python or interpreter_of(options.against), options.cases)
    now = outcomes(sys.executable, options.cases)
    alone = Counter((name.partition(" ")[0], name in now) for name in now.keys() ^ before.keys())
    for (what, here), count in alone.items():
        print(f"{what}: {count} cases in {'this' if here else 'the other'} tree only")
    shared = [name for name in now if name in before]
    changed = 0
    for name in shared:
        if found := differences(now[name], before[name], options.fields):
            changed += 1
            print(f"{name}: {'; '.join(found)}")
    refused = sum("error" in outcome for outcome in now.values())
    print(f"{changed} of {len(shared)} cases differ; {refused} of {len(now)} end in an error")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
