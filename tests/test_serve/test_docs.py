"""Runs the commands of the docs page about the service, in order, in an empty folder, and checks its numbers."""

import inspect
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from driftline.serve import command
from driftline.serve.api import Api
from driftline.serve.engine import Engine
from driftline.serve.limits import Limits
from driftline.serve.sqlite import SqliteStore
from driftline.serve.webhook import Webhook
from tests import patience
from tests.test_docs.pages import blocks
from tests.test_serve.client import Client

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "service.md").read_text()
TUTORIAL = (DOCS / "tutorials" / "in_production.md").read_text()
UNIT = (DOCS / "production" / "driftline.service").read_text()
BIN = "/opt/driftline/bin/"
NOT_HERE = (  # these need the network, root or a daemon
    "pip ", "rm -rf wheels", "git pull", "apt-get", "useradd", "python3 -m venv", "chown", "cp docs/", "nginx", "install -o",
    "systemctl daemon-reload", "systemctl reload", "docker",
)  # fmt: skip
DATABASE = "postgresql://service@db/models"


class Reader:
    """A reader who follows the page: types each command and compares its output with the page."""

    def __init__(self, folder):
        self.folder, self.database, self.server, self.said = folder, None, None, ""
        self.done = []
        (folder / "bin").mkdir()
        command = folder / "bin" / "driftline"
        command.write_text(f'#!/bin/sh\nexec {sys.executable} -c "from driftline.cli import main; main()" "$@"\n')
        command.chmod(0o755)
        for each in ("etc/driftline", "backups", "var/lib"):
            (folder / each).mkdir(parents=True)
        self.environment = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
        self.port = free_port()

    def here(self, text):
        """The command, with the folders, port and database of this test."""
        for place in ("/etc/driftline", "/var/lib/driftline", "/backups"):
            text = text.replace(f" {place}", f" {self.folder}{place}")
        return text.replace("8440", str(self.port)).replace(DATABASE, str(self.database))

    def type(self, line):
        line = line.partition("  #")[0].strip().replace("sudo ", "").replace(BIN, "")
        if line.startswith("#"):
            assert json.loads(line[1:]) == json.loads(self.said), self.done[-1]
        elif not line or line.startswith(NOT_HERE):
            return
        elif line.startswith("driftline serve"):
            self.serve(line)
        elif line == "systemctl stop driftline":
            self.stop()
        elif line in ("systemctl enable --now driftline", "systemctl start driftline"):
            self.serve(re.search("ExecStart=(.*)", UNIT)[1].replace(BIN, ""))
        else:
            ended = subprocess.run(
                ["bash", "-c", self.here(line)], cwd=self.folder, env=self.environment, capture_output=True, text=True
            )
            assert ended.returncode == 0, (line, ended.stderr)
            self.said = ended.stdout
            assert '"status": 4' not in self.said, (line, self.said)
        self.done.append(line)

    def serve(self, line):
        """Stops the previous service and starts a new one."""
        self.stop()
        words = re.sub(r" --port \d+", "", self.here(line).replace("0.0.0.0", "127.0.0.1"))
        command = ["bash", "-c", f"exec {words} --port {self.port}"]
        self.server = subprocess.Popen(command, cwd=self.folder, env=self.environment, stderr=subprocess.DEVNULL)
        until = time.monotonic() + patience.SECONDS
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz"):
                    return
            except (OSError, urllib.error.HTTPError):
                assert self.server.poll() is None, line
                assert time.monotonic() < until, line
                time.sleep(0.05)

    def model(self, name, token):
        """The service's status of a model."""
        headers = {"authorization": f"Bearer {token}"}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/v1/models/{name}", headers=headers)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def run(self, code):
        """Runs a block of Python."""
        subprocess.run([sys.executable, "-c", self.here(code)], check=True, capture_output=True)
        self.done.append(code)

    def stop(self):
        if self.server is not None:
            self.server.terminate()
            self.server.wait(patience.SECONDS)
            self.server = None


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


@pytest.fixture
def reader(tmp_path):
    """A reader with curl and the client."""
    pytest.importorskip("httpx")
    if shutil.which("curl") is None:
        pytest.skip("needs curl")
    reader = Reader(tmp_path)
    yield reader
    reader.stop()


def test_the_commands_of_the_page_run(reader, tmp_path):
    before, production = PAGE.split("## In production")
    follow(reader, before)
    follow(reader, production.partition("## PostgreSQL")[0])
    token = (tmp_path / "admin-token.txt").read_text().strip()
    assert reader.model("first", token)["alarms"] > 0  # as the page says
    follow(reader, TUTORIAL)
    verbs = {" ".join(line.split()[:2]) for line in reader.done}
    assert {"driftline serve", "driftline token", "driftline backup", "curl -X"} <= verbs


def test_the_commands_about_postgresql_run(reader, tmp_path, postgresql):
    if shutil.which("pg_dump") is None:
        pytest.skip("needs pg_dump")
    reader.database = postgresql.address
    follow(reader, PAGE.partition("## PostgreSQL")[2])
    assert "CREATE TABLE driftline.log" in (tmp_path / "monday.sql").read_text()


def follow(reader, text):
    for kind, block in blocks(text):
        if kind == "python":
            reader.run(block)
        else:
            for line in block.splitlines():
                reader.type(line)


@pytest.fixture
def metrics(tmp_path):
    """The metrics of a service with a trained model: names with their labels."""
    engine = Engine(SqliteStore(tmp_path / "s"), Limits(), Webhook("http://127.0.0.1:9", None))
    engine.start()
    client = Client(Api(engine).app, engine)
    client.put("/v1/models/m", json={"learner": "rls"})
    client.post("/v1/models/m/learn", json={"rows": [{"x": [1.0], "y": float(n % 3)} for n in range(200)]})
    text = client.get("/metrics").text
    engine.stop()
    found = {}
    for name, labels in re.findall(r"^(\w+)(?:\{(.*)\})? \S+$", text, re.MULTILINE):
        found.setdefault(name, set()).update(re.findall(r'(\w+)="', labels))
    return found


def used(expression):
    """The metrics in a PromQL expression, with the labels used in braces."""
    found = re.findall(r"(driftline_\w+)(?:\{(.*?)\})?", expression)
    return [(name, set(re.findall(r"(\w+)=", labels))) for name, labels in found]


def test_the_dashboard_shows_every_metric_and_no_other(metrics):
    board = json.loads((DOCS / "production" / "grafana.json").read_text())
    targets = [target for panel in board["panels"] for target in panel["targets"]]
    shown = [part for target in targets for part in used(target["expr"])]
    assert {name for name, _ in shown} == {name for name in metrics if name.startswith("driftline_")} - {
        "driftline_learned_total", "driftline_absolute_error_sum", "driftline_build_info",
    }  # fmt: skip
    for name, labels in shown:
        assert labels <= metrics[name], name
    for target in targets:
        names = {name for name, _ in used(target["expr"])}
        legend = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
        assert all(legend <= metrics[name] for name in names), target
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in board["panels"]]
    assert len(places) == len(set(places))


def test_the_metrics_named_on_the_page_and_in_the_alerts_exist(metrics):
    alerts = (DOCS / "production" / "alerts.yml").read_text()
    found = used(PAGE) + used(alerts)
    assert len(found) > 15
    for name, labels in found:
        assert labels <= metrics[name], name


def test_the_limits_named_on_the_page_match_the_code():
    shown = [int(number.replace(",", "")) for number in re.findall(r"^\| [^|]+ \| ([\d,]+) \| [^|]*\|$", PAGE, re.MULTILINE)]
    limits = vars(Limits())
    assert sorted([*shown, limits["body"], limits["file"], limits["log"]]) == sorted(int(value) for value in limits.values())
    assert f"bytes of a body | {limits['body'] // 2**20} MiB" in PAGE
    assert f"bytes of the log before the same | {limits['log'] // 2**20} MiB" in PAGE
    assert f"bytes of a model file | {limits['file'] // 2**20} MiB" in PAGE


def test_systemd_accepts_the_unit(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("needs systemd-analyze")
    unit = tmp_path / "driftline.service"
    unit.write_text(UNIT.replace(f"{BIN}driftline", sys.executable))
    checked = subprocess.run(["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_the_unit_and_the_container_use_existing_options():
    patterns = {"driftline.service": r"ExecStart=(.*)", "Dockerfile": r"ENTRYPOINT \[(.*)\]\nCMD \[(.*)\]"}
    for name, pattern in patterns.items():
        found = re.search(pattern, (DOCS / "production" / name).read_text())
        options = set(re.findall(r"--\w+", " ".join(found.groups())))
        assert options
        assert options <= {f"--{name}" for name in inspect.signature(command.serve).parameters}
