"""Runs ``driftline run`` in processes that are killed at random and restarted with --resume, until one finishes.

Processes are forked from one that has everything imported, so that a kill costs milliseconds.
"""

import contextlib
import json
import os
import random
import select
import signal
import subprocess
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


def kills(seed, most, seconds, arguments):
    """How often the run was killed before it succeeded, by a process that takes so many seconds if it is left alone.

    Most kills come early, so that a run rarely ends before the last kill.
    """
    rng = random.Random(seed)
    count = 0
    while killed(arguments, seconds * rng.random() ** 2 if count < most else None):
        count += 1
    return count


def main():
    """Answers lines of JSON: seed, most kills, the arguments of a rehearsal, and those of the run to kill.

    The rehearsal measures how long a run takes. It runs once for all seeds.
    """
    took = {}
    for line in sys.stdin:
        seed, most, rehearsal, arguments = json.loads(line)
        if str(rehearsal) not in took:
            began = time.monotonic()
            assert ended_well(os.waitpid(start(rehearsal), 0)[1])
            took[str(rehearsal)] = time.monotonic() - began
        print(json.dumps(kills(seed, most, took[str(rehearsal)], arguments)), flush=True)


@contextlib.contextmanager
def killer():
    """Gives a function that kills runs as :func:`main` says, and returns the number of kills."""
    command = [sys.executable, "-m", "tests.test_cli.killing"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def kill(seed, most, rehearsal, arguments):
        print(json.dumps([seed, most, rehearsal, arguments]), file=process.stdin, flush=True)
        answer = process.stdout.readline()
        assert answer, f"seed {seed}: {process.communicate()[1]}"
        return json.loads(answer)

    with process:
        yield kill
        process.stdin.close()
        assert process.stderr.read() == ""


if __name__ == "__main__":
    main()
