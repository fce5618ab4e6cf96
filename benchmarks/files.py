"""``python -m benchmarks.files``: the command line on whole files, compared with Vowpal Wabbit on the same rows.

Every run is a separate process, timed from start to end. Runs are interleaved: each round has each of them once. A file with
one endless line shows that memory stays bounded whatever a file contains.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from benchmarks.report import Table, Verdict, verdict_table

BLOCK = 100_000
FEATURES = 19
RUN = "from driftline.cli import main; main()"
WABBIT = "import sys; from vowpalwabbit import Workspace; w = Workspace(sys.argv[1]); w.run_parser(); w.finish()"


def blocks(rows: int) -> Iterator[pa.Table]:
    """A linear target that turns slowly, in float64."""
    rng = np.random.default_rng(0)
    start = rng.normal(size=(2, FEATURES))
    for begin in range(0, rows, BLOCK):
        count = min(BLOCK, rows - begin)
        X = rng.normal(size=(count, FEATURES)).round(6)
        angle = (begin + np.arange(count)) / 1e6
        y = (X @ start.T * np.stack([np.cos(angle), np.sin(angle)], axis=1)).sum(axis=1) + rng.normal(size=count)
        yield pa.table({**{f"x{j}": X[:, j] for j in range(FEATURES)}, "y": y.round(6)})


def make(folder: Path, rows: int, wabbit: bool) -> None:
    """The same rows as Parquet, as CSV, and as Vowpal Wabbit's text."""
    schema = next(blocks(1)).schema
    text = open(folder / "rows.vw", "wb") if wabbit else None  # noqa: SIM115 - closed below
    with pyarrow.parquet.ParquetWriter(folder / "rows.parquet", schema) as parquet, open(folder / "rows.csv", "wb") as lines:
        for place, table in enumerate(blocks(rows)):
            parquet.write_table(table)
            pyarrow.csv.write_csv(table, lines, pyarrow.csv.WriteOptions(include_header=place == 0))
            if text is not None:
                columns = [column.to_pylist() for column in table.columns]
                for *x, y in zip(*columns, strict=True):
                    text.write(f"{y} | {' '.join(f'{j}:{value}' for j, value in enumerate(x))}\n".encode())
    if text is not None:
        text.close()


@dataclass
class Case:
    """A command, and the time and memory of its runs."""

    label: str
    command: list[str]
    seconds: list[float] = field(default_factory=list)
    peak: float = 0.0
    outcomes: list[dict[str, float]] = field(default_factory=list)

    def once(self) -> None:
        """Runs the command once, and times the whole process."""
        began = perf_counter()
        with subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            assert process.stdout is not None
            printed = process.stdout.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.seconds.append(perf_counter() - began)
        self.peak = max(self.peak, usage.ru_maxrss / 1024)
        if process.returncode not in (0, 1):
            raise RuntimeError(f"{self.label} ended with {process.returncode}")
        if printed.strip().startswith(b"{"):
            self.outcomes.append(json.loads(printed))


def cases(folder: Path, wabbit: bool) -> list[Case]:
    """RLS on each format, with and without an output; Vowpal Wabbit on its own."""
    run, parquet, lines = [sys.executable, "-c", RUN, "run"], str(folder / "rows.parquet"), str(folder / "rows.csv")
    asked = ["-t", "y", "-m", "rls", "--json"]
    found = [
        Case("Parquet, RLS", [*run, parquet, *asked]),
        Case("Parquet, RLS, predictions kept", [*run, parquet, *asked, "--out", str(folder / "p.parquet")]),
        Case("CSV, RLS", [*run, lines, *asked]),
        Case("CSV, NLMS", [*run, lines, "-t", "y", "-m", "nlms", "--json"]),
    ]
    if wabbit:
        options = f"--quiet --data {folder / 'rows.vw'} -p {folder / 'vw.txt'}"
        found.append(Case("Vowpal Wabbit, its own text", [sys.executable, "-c", WABBIT, options]))
    return found


def table_of(measured: list[Case], rows: int) -> Table:
    lines = []
    for case in measured:
        seconds = median(case.seconds)
        parts = [[outcome[f"{part}_seconds"] for outcome in case.outcomes] for part in ("reading", "learning")]
        reading, learning = (median(part) if part else "" for part in parts)
        lines.append([case.label, seconds, min(case.seconds), rows / seconds, reading, learning, case.peak])
    return Table(
        f"{rows:,} rows of 20 columns, whole processes",
        ["", "seconds", "least", "rows/s", "reading", "learning", "peak MB"],
        lines,
        note="Reading and learning run concurrently in two threads; learning includes converting columns to rows. "
        "Vowpal Wabbit learns by gradients, O(d) a row, like NLMS; RLS is O(d^2).",
    )


def endless_line(folder: Path, size: int) -> Case:
    """Runs the command line on a line of this many bytes, which is refused."""
    path = folder / "line.csv"
    with open(path, "wb") as file:
        for _ in range(size // 2**20):
            file.write(b"1" * 2**20)
    case = Case("one line", [sys.executable, "-c", RUN, "run", str(path), "-t", "y"])
    case.once()
    return case


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--make", type=Path, help="only make the files, in this folder")
    parser.add_argument("--line", type=int, default=1024, help="MB of the endless line")
    options = parser.parse_args()
    wabbit = find_spec("vowpalwabbit") is not None
    if options.make is not None:
        make(options.make, options.rows, wabbit)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [sys.executable, "-m", "benchmarks.files", "--make", name, "--rows", str(options.rows)]
        subprocess.run(command, check=True)  # in a separate process, because children inherit the memory of their parent
        measured = cases(folder, wabbit)
        for _ in range(options.rounds):
            for case in measured:
                case.once()
        print(table_of(measured, options.rows).text())
        line = endless_line(folder, options.line * 2**20)
        words = f"refused after {line.seconds[0]:.1f} s, with at most {line.peak:.0f} MB resident"
        print(f"\nA line of {options.line:,} MB is {words}.\n")
    first = measured[0]
    verdicts = [
        Verdict("a row of Parquet, whole process", 1e6 * median(first.seconds) / options.rows, 1.0, "us"),
        Verdict("peak memory", first.peak, 500.0, "MB"),
    ]
    print(verdict_table(verdicts).text())


if __name__ == "__main__":
    main()
