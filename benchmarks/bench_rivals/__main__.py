"""``python -m benchmarks.bench_rivals DIR``: Auto, LightGBM, ridge, AutoReg and River on the files of DIR.

DIR/INDEX.md lists the files; DIR/rivals.json, if it exists, says how many rows of each are used. The figures and
predictions for each file, delay and method are stored in build/bench_rivals, so that a stopped run can resume. At the end,
the tables are printed; ``--docs`` writes them, and the picture, to docs/_static.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

from benchmarks.timing import pin


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_rivals", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="DIR", help="a folder of files, with an INDEX.md that lists them")
    parser.add_argument("--keep", type=Path, default=Path("build/bench_rivals"), help="where results are stored")
    parser.add_argument("--only", nargs="*", default=[], metavar="METHOD", help="methods to measure; all by default")
    parser.add_argument("--delay", type=int, nargs="*", default=[0, 11, 23, 95], help="how many rows late labels come")
    parser.add_argument("--again", action="store_true", help="measure stored results again")
    parser.add_argument("--docs", action="store_true", help="write the tables and the picture to docs/_static")
    options = parser.parse_args()
    pin()  # before NumPy is imported
    run = import_module("benchmarks.bench_rivals.measuring").run
    run(options.folder, options.keep, options.only, options.delay, options.again)
    results = import_module("benchmarks.bench_rivals.results")
    results.show(options.keep, Path("docs/_static") if options.docs else None)


if __name__ == "__main__":
    main()
