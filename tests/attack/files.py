"""Reads altered and forged model files in separate processes, so that a crash shows as an exit code."""

import subprocess
import sys
import time

AT_ONCE = 2000


def attack(seconds, seed):
    """Reads batches of files, each from a new seed, until the time is up."""
    until, rounds = time.monotonic() + seconds, 0
    while rounds == 0 or time.monotonic() < until:
        command = [sys.executable, "-m", "tests.fuzz.files", str(AT_ONCE), str(1_000 * seed + rounds)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr[-3000:]}"
        rounds += 1
    return f"{AT_ONCE * rounds:,} files"
