"""Attacks the library for a while: ``python -m tests.attack --seconds 600 --seed 0``, or ``make attack``.

Each part gets an equal share of the time, and the seed reproduces it. A part that finds a defect prints it; the others
continue.
"""

import argparse
import sys
import time
import traceback
import warnings

from driftline.errors import DriftlineWarning
from tests.attack import commands, files, interrupts, numbers, requests

PARTS = {
    "interrupts": interrupts.attack,
    "files": files.attack,
    "kills": commands.kill,
    "rivals": commands.contend,
    "numbers": numbers.attack,
    "requests": requests.attack,
}


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description="Attacks driftline for a while.")
    parser.add_argument("parts", nargs="*", help=f"which parts; by default all of {', '.join(PARTS)}")
    parser.add_argument("--seconds", type=float, default=600.0, help="for all parts together")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    if unknown := set(asked.parts) - set(PARTS):
        parser.error(f"there is no part {unknown.pop()!r}")
    warnings.simplefilter("ignore", DriftlineWarning)  # diverging predictions are expected here
    chosen = asked.parts or list(PARTS)
    failed = []
    for name in chosen:
        began = time.monotonic()
        try:
            told = PARTS[name](asked.seconds / len(chosen), asked.seed)
        except Exception:
            traceback.print_exc()
            failed.append(name)
            told = f"FAILED; python -m tests.attack {name} --seconds {asked.seconds / len(chosen):g} --seed {asked.seed}"
        print(f"{name:12}{time.monotonic() - began:6.0f} s  {told}", flush=True)
    sys.exit(f"found something: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
