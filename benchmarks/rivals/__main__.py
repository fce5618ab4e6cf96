"""``python -m benchmarks.rivals DIR`` measures the methods that this environment has, on the files in DIR and on streams.

``make rivals DATA=DIR`` does so in both environments, and gathers the results in ``papers/rivals.json``.
``python -m papers dfop-table1``, ``-table4``, ``-fig1`` and ``-fig2`` show them with DFOP.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.rivals import contest, gathering, holdout
from benchmarks.rivals.data_sets import data_sets
from benchmarks.rivals.methods import ORDER


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rivals", description=__doc__)
    parser.add_argument("folder", type=Path, help="a directory of data files")
    parser.add_argument("--keep", type=Path, default=Path("build/rivals"), help="where results are stored")
    parser.add_argument("--only", nargs="*", default=[], help="methods to measure")
    parser.add_argument("--task", choices=list(ORDER), nargs="*", default=list(ORDER))
    parser.add_argument("--gather", action="store_true", help="measure nothing; write the file that the library ships")
    options = parser.parse_args()
    if options.gather:
        gathering.write(options.keep)
        return
    for task in options.task:
        contest.run(task, data_sets(task, options.folder), options.keep, options.only)
    holdout.run(options.keep)


if __name__ == "__main__":
    main()
