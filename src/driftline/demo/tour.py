"""Runs the commands, one after the other, on a generated stream."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path

from driftline.cli import main
from driftline.cli.locks import locked
from driftline.cli.standard_output import say
from driftline.demo import demand

COMING = {"next_hour.csv": 1, "next_day.csv": 24}  # files of the rows after the stream, and their numbers of rows


def steps(folder: Path) -> list[tuple[str, str]]:
    """What each command is for, and its arguments."""
    names = (
        "demand.csv",
        "model.drift",
        "report.html",
        "predictions.csv",
        "steps.drift",
        "forecast.csv",
        *COMING,
    )
    source, state, report, out, forecaster, forecast, hour, day = (shlex.quote(str(folder / name)) for name in names)
    columns = "--target demand --time time"
    run = f"run {source} {columns} --level 0.9 --out {out} --state {state} --report {report}"
    return [
        ("Predict every row of the file, then learn it. Save the model, the predictions and a report.", run),
        (
            "Resume from the model file: after a killed run with the remaining rows, here with none.",
            f"{run} --resume",
        ),
        ("The contents of the model file.", f"inspect {state} --top 5"),
        ("Predict the next hour with it, without learning.", f"predict {state} {hour} --level 0.9"),
        ("Learn to look up to 24 hours ahead.", f"run {source} {columns} --model rls --steps 24 --state {forecaster}"),
        ("Forecast the next day, from the weather expected then.", f"forecast {forecaster} {day} --out {forecast}"),
        ("Other learners on the same file.", f"compare {source} {columns} --models auto,kalman,rls,ridge"),
        ("One of them, with its parameters.", "models kalman"),
    ]


def show(folder: Path) -> None:
    """Makes the stream, runs the commands, and prints the path of the report."""
    start = time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "demand.csv"
    with locked("demo", {"FOLDER": source}):
        demand.write(source, demand.make())
        for name, hours in COMING.items():
            demand.write(folder / name, demand.expected(hours))
        _run_commands(folder, source)
    say(f"\nEverything took {time.perf_counter() - start:.1f} s. The report: {(folder / 'report.html').resolve()}")
    say(f"On your own file: {shlex.quote(sys.argv[0])} run FILE --target COLUMN --report report.html")


def _run_commands(folder: Path, source: Path) -> None:
    say(f"{source}: a town's demand for heat in {demand.ROWS:,} hours. Houses are gradually insulated, new pipes reduce")
    say(f"the wind's effect at row {demand.NEW_PIPES:,}, and more houses are connected at row {demand.NEW_DISTRICT:,}.")
    for purpose, command in steps(folder):
        say(f"\n# {purpose}\n$ driftline {command}")
        try:
            main(shlex.split(command))
        except SystemExit as end:
            if end.code not in (None, 0):
                raise
