"""Runs ``driftline run`` in processes that are killed at random and restarted with --resume, until one finishes.

Processes are forked from this one, which has everything imported, so that a kill costs milliseconds.
"""

import json
import os
import random
import select
import signal
import sys
import time

import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet  # noqa: F401

import driftline.files.arrow_tables
import driftline.files.delimited
import driftline.files.json_lines
import driftline.report.page  # noqa: F401
from driftline import cli
from driftline.cli import app, combinations, running  # noqa: F401


def start(arguments):
    child = os.fork()
    if child == 0:
        code = 70
        try:
            cli.main(arguments)
        except SystemExit as ended:
            code = int(ended.code or 0)
        finally:
            sys.stderr.flush()
            os._exit(code)
    return child


def ended_well(status):
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0:
        return True
    assert os.WIFSIGNALED(status), f"ended with {os.waitstatus_to_exitcode(status)}"
    return False


def killed(arguments, seconds):
    """Kills a run after ``seconds``; returns whether it was killed before it ended."""
    ended, of_child = os.pipe()
    child = start(arguments)
    os.close(of_child)
    select.select([ended], [], [], seconds)  # returns early if the child, which holds the other end, exits
    os.close(ended)
    os.kill(child, signal.SIGKILL)
    return not ended_well(os.waitpid(child, 0)[1])


def main(seed, most, rehearsal, arguments):
    """Prints how often the run was killed before it succeeded. The rehearsal measures how long a run takes.

    Most kills come early, so that a run rarely ends before the last kill.
    """
    began = time.monotonic()
    assert ended_well(os.waitpid(start(rehearsal), 0)[1])
    whole = time.monotonic() - began
    rng = random.Random(seed)
    kills = 0
    while killed(arguments, whole * rng.random() ** 2 if kills < most else None):
        kills += 1
    print(json.dumps(kills))


if __name__ == "__main__":
    middle = sys.argv.index("--", 3)
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:middle], sys.argv[middle + 1 :])
