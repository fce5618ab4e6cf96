"""Sends the demo's stream through a service: each hour is predicted under an id, and its label comes a day later."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from driftline.cli.standard_output import say
from driftline.client import Client, ServiceError
from driftline.demo import demand

MODEL, LATE = "demand", 24  # rows until the label is known
_COMMAND = [sys.executable, "-c", "from driftline.cli import main; main()", "serve"]
_TICK = 0.25  # seconds between two batches
_START, _STOP = 60.0, 60.0  # seconds that the service may take to start and to stop
INPUTS = ("temperature", "wind", "price")


def show(folder: Path, seconds: float) -> None:
    """Starts a service, sends it the stream in about ``seconds``, reports the accuracy, and stops it."""
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / "service"
    with _service(place, folder / "service.log") as url, Client(url) as client:
        _begin(client)
        say(f"A year of a town's demand for heat in {seconds:g} s; each label comes {LATE} rows after its prediction.")
        say(f"Watch it live: {url}/")
        _send(client, seconds)
        say(_summary(client.model(MODEL)))
    say(f"The service has stopped. Continue with: driftline serve {place}")


@contextmanager
def _service(place: Path, log: Path) -> Iterator[str]:
    """Runs a service in its own process, on a free loopback port; yields its address."""
    with open(log, "w") as lines:
        process = subprocess.Popen([*_COMMAND, str(place), "--port", "0"], stderr=lines)
    try:
        yield f"http://127.0.0.1:{_port(process, log)}"
    finally:
        process.terminate()
        process.wait(_STOP)


def _port(process: subprocess.Popen[bytes], log: Path) -> int:
    """The port that a service reports; raises OSError if it ends instead."""
    until = time.monotonic() + _START
    while time.monotonic() < until:
        ended = process.poll() is not None
        for line in log.read_text().splitlines():
            if '"port"' in line:
                return int(json.loads(line)["port"])
        if ended:
            raise OSError(f"the service did not start: {log.read_text().strip()}")
        time.sleep(0.05)
    raise OSError(f"the service did not start within {_START:g} s")


def _begin(client: Client) -> None:
    """Creates the model; removes that of an earlier demo."""
    try:
        client.delete(MODEL)
    except ServiceError as error:
        if error.status != 404:
            raise
    client.put(MODEL)


def _send(client: Client, seconds: float) -> None:
    """Asks for predictions as time passes, and sends the labels that are due."""
    columns = demand.make()
    inputs = zip(*(columns[name].tolist() for name in INPUTS), strict=True)
    questions = [{"id": str(row), "x": dict(zip(INPUTS, x, strict=True))} for row, x in enumerate(inputs)]
    labels = [{"id": str(row), "y": y} for row, y in enumerate(columns["demand"].tolist())]
    start, asked, told = time.monotonic(), 0, 0
    while told < len(labels):
        passed = (time.monotonic() - start) / seconds
        for due in range(asked, min(int(passed * len(labels)), len(labels)), LATE):  # no label before its prediction
            client.predict_rows(MODEL, questions[due : due + LATE])
            asked = min(due + LATE, len(labels))
            known = asked if asked == len(labels) else max(asked - LATE, 0)
            if known > told:
                client.learn_rows(MODEL, labels[told:known])
                told = known
        time.sleep(_TICK if told < len(labels) else 0.0)


def _summary(model: dict[str, Any]) -> str:
    """One line on the model's accuracy."""
    base, alarm = model["baselines"], model["last_alarm"]
    last = "" if alarm is None else f", the last at row {alarm['row']:,}"
    return (
        f"{model['rows']:,} rows learned. Mean squared error {model['mse']:.1f}; of the last known label "
        f"{base['last']:.1f}, of their mean {base['mean']:.1f}. {model['coverage']:.1%} of the labels lay "
        f"inside their {model['level']:.0%} intervals. {model['alarms']} alarms{last}."
    )
