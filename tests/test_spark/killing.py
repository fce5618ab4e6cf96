"""Kills a process that follows a stream."""

import os
import signal
import subprocess
import sys
import time

import numpy as np

from tests import patience


def kill_twice(folder):
    """Kills it once at a random moment of the first batch, and once while the sink writes the third."""
    pause = np.random.default_rng(0).uniform(0, 0.6)
    _follow_until(folder, lambda: _began(folder, 0), pause)
    written = set()

    def writes():
        if not _began(folder, 2):
            written.update((folder / "out").glob("*.parquet"))
            return False
        return bool(set((folder / "out").glob("*.parquet")) - written)

    _follow_until(folder, writes)
    return folder


def _began(folder, batch):
    return (folder / "checkpoint" / "offsets" / str(batch)).exists()


def _follow_until(folder, ready, pause=0.0):
    """Follows the stream in a separate process, and kills it."""
    command = [sys.executable, "-m", "tests.test_spark.killed", str(folder)]
    process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + patience.SECONDS
    while not ready():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.005)
    time.sleep(pause)
    assert process.poll() is None
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
