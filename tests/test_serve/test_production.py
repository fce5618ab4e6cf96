"""The files of docs/production with the programs they are for: a real nginx, Prometheus and its tool."""

import http.client
import json
import os
import shutil
import socket
import ssl
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from driftline.serve.limits import Limits
from driftline.serve.tokens import digest_of
from tests import patience, services
from tests.test_serve.process import Process

DOCS = Path(__file__).parents[2] / "docs"
PRODUCTION = DOCS / "production"
NAME = "models.example.org"
WHOLE = """
{user} daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/errors.log; events {{}}
http {{
    access_log off; client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
    uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
    {site}
}}
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


def wait_for(true, process):
    """Waits until the function returns something true, and returns it; fails if the process ends before."""
    until = time.monotonic() + patience.SECONDS
    while not (found := true()):
        assert process.poll() is None, "ended"
        assert time.monotonic() < until
        time.sleep(0.02)
    return found


class Nginx:
    """nginx with the file of the documentation, in front of a port of this test."""

    def __init__(self, folder, behind):
        self.port, self.folder = free_port(), folder
        names = ["-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}", "-days", "2", "-nodes"]
        keys = ["-keyout", folder / "models.key", "-out", folder / "models.pem"]
        made = [services.find("openssl"), "req", "-x509", "-newkey", "rsa:2048", *names, *keys]
        subprocess.run(made, check=True, capture_output=True)
        user = "user root;" if os.geteuid() == 0 else ""  # otherwise its workers cannot enter a folder of the tests
        site = (PRODUCTION / "nginx.conf").read_text()
        for ours, theirs in (("127.0.0.1:8440", f"127.0.0.1:{behind}"), ("listen 443 ", f"listen 127.0.0.1:{self.port} ")):
            assert site.count(ours) == 1
            site = site.replace(ours, theirs)
        (folder / "nginx.conf").write_text(
            WHOLE.format(user=user, folder=folder, site=site.replace("/etc/ssl/", f"{folder}/"))
        )
        command = [services.find("nginx"), "-p", folder, "-c", folder / "nginx.conf", "-e", folder / "errors.log"]
        checked = subprocess.run([*command, "-t"], capture_output=True, text=True)
        assert checked.returncode == 0, checked.stderr
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        self.trust = ssl.create_default_context(cafile=folder / "models.pem")

    def connect(self):
        """A connection that checks the certificate."""
        until = time.monotonic() + patience.SECONDS
        while True:
            try:
                plain = socket.create_connection(("127.0.0.1", self.port), timeout=patience.SECONDS)
                break
            except OSError:
                assert self.process.poll() is None, (self.folder / "errors.log").read_text()
                assert time.monotonic() < until
                time.sleep(0.02)
        connection = http.client.HTTPConnection(NAME)
        connection.sock = self.trust.wrap_socket(plain, server_hostname=NAME)
        return connection

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(patience.SECONDS)


def ask(connection, method, path, body=None):
    headers = {"authorization": "Bearer secret", "content-type": "application/json"}
    connection.request(method, path, body if body is None or isinstance(body, bytes) else json.dumps(body), headers)
    return connection.getresponse()


@pytest.fixture
def service(tmp_path):
    (tmp_path / "tokens").write_text(f"{digest_of('secret')} admin\n")
    with Process(tmp_path / "s", "--tokens", str(tmp_path / "tokens")) as service:
        yield service


@pytest.mark.services("nginx", "openssl")
def test_nginx_passes_calls_whole_and_events_at_once(tmp_path, service):
    (tmp_path / "nginx").mkdir()
    with Nginx(tmp_path / "nginx", service.port) as nginx:
        calls, events = nginx.connect(), nginx.connect()
        assert ask(calls, "PUT", "/v1/models/m", {"learner": "rls"}).read()
        stream = ask(events, "GET", "/v1/models/m/events")
        assert stream.readline()  # with the stream still open
        answer = ask(calls, "POST", "/v1/models/m/learn", {"rows": [{"x": [1.0], "y": 2.0}] * 3})
        assert json.load(answer) == {"learned": 3, "known": 0}
        line = b""
        while b'"rows": 3' not in line and b'"rows":3' not in line:
            line = stream.readline()
            assert line
        limit = Limits().body
        for size, statuses in ((limit, {400, 422}), (limit + 1, {413})):  # spaces are not JSON, but their number is allowed
            connection = nginx.connect()
            answer = ask(connection, "POST", "/v1/models/m/learn", b" " * size)
            assert answer.status in statuses
            connection.close()
        calls.close()
        events.close()


@pytest.mark.services("nginx", "openssl")
def test_nginx_sends_a_call_once_even_if_the_service_breaks_off(tmp_path):
    """A label without an id would be learned twice."""
    received = []
    with socket.create_server(("127.0.0.1", 0)) as listening, Nginx(tmp_path, listening.getsockname()[1]) as nginx:

        def serve():
            """Answers the first call on a connection and closes it on the second, as a service that ends does."""
            while True:
                try:
                    taken, _ = listening.accept()
                except OSError:
                    return
                with taken:
                    received.append(taken.recv(1 << 16))
                    taken.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
                    received.append(taken.recv(1 << 16))

        threading.Thread(target=serve, daemon=True).start()
        connection = nginx.connect()
        assert ask(connection, "GET", "/readyz").read() == b"{}"
        answer = ask(connection, "GET", "/v1/models/m/learn?second")  # a method that nginx would repeat by itself
        assert (answer.status, answer.read() != b"") == (502, True)
        connection.close()
        assert len([call for call in received if b"second" in call]) == 1
        listening.shutdown(socket.SHUT_RDWR)


def prometheus(folder, port):
    """The file of the documentation, for a service on this port, and for a test that does not wait a minute."""
    (folder / "driftline-token").write_text("secret\n")
    text = (PRODUCTION / "prometheus.yml").read_text()
    text = text.replace("/etc/prometheus/", f"{folder}/").replace("127.0.0.1:8440", f"127.0.0.1:{port}")
    (folder / "prometheus.yml").write_text(f"global: {{scrape_interval: 1s}}\n{text}")
    shutil.copy(PRODUCTION / "alerts.yml", folder / "driftline-alerts.yml")
    return folder / "prometheus.yml"


@pytest.mark.services("promtool")
def test_promtool_accepts_the_configuration_the_metrics_and_the_expressions(tmp_path, service):
    tool = [services.find("promtool"), "check"]
    checked = subprocess.run([*tool, "config", prometheus(tmp_path, 8440)], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
    client = service.client("secret")
    client.call("PUT", "/v1/models/m", {"learner": "rls"})
    client.call("POST", "/v1/models/m/learn", {"rows": [{"x": [1.0], "y": 2.0}] * 3})
    _, metrics = client.call("GET", "/metrics")
    checked = subprocess.run([*tool, "metrics"], input=metrics, capture_output=True)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, b"", b"")
    board = json.loads((PRODUCTION / "grafana.json").read_text())
    shown = [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]
    shown = [expression.replace("$__rate_interval", "5m") for expression in shown]
    assert len(shown) > 10
    rules = [{"record": f"expression:{number}", "expr": expression} for number, expression in enumerate(shown)]
    (tmp_path / "rules.yml").write_text(json.dumps({"groups": [{"name": "all", "rules": rules}]}))
    checked = subprocess.run([*tool, "rules", tmp_path / "rules.yml"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
    assert f"{len(rules)} rules found" in checked.stdout


def recorded(client, clock, minutes):
    """The series that Prometheus would read each minute, while the rows of each minute are learned."""
    series = {}
    for minute, batches in enumerate(minutes):
        for name, rows in batches.items():
            assert client.post(f"/v1/models/{name}/learn", json={"rows": rows}).json()["learned"] == len(rows)
        for line in client.get("/metrics").text.splitlines():
            if not line.startswith("#"):
                name, _, value = line.rpartition(" ")
                series.setdefault(name, ["_"] * minute).append(value)
        clock[0] += 60.0
    return [{"series": name, "values": " ".join(values)} for name, values in series.items()]


@pytest.mark.services("promtool")
def test_the_alerts_go_off_on_recorded_streams(tmp_path, start, monkeypatch):
    """50,000 good rows, then 60,000 on which the last label is better: only the means of an hour show that."""
    clock, rng = [1_800_000_000.0], np.random.default_rng(0)
    monkeypatch.setattr("time.time", lambda: clock[0])
    client, x = start(), rng.normal(size=110_000).round(6)
    for name in ("m", "n"):
        client.put(f"/v1/models/{name}", json={"learner": "rls", "params": {"forgetting": 1.0}})
    walk = 3 + np.cumsum(rng.normal(scale=0.01, size=60_000))
    y = np.concatenate([5 * x[:50_000] + rng.normal(size=50_000), walk]).round(6)
    rows = [{"x": [one], "y": label} for one, label in zip(x.tolist(), y.tolist(), strict=True)]
    minutes = [{"m": rows[at : at + 250], "n": [rows[at]]} for at in range(0, 110_000, 250)]
    minutes[100]["n"] = [{"x": [1.0], "y": 1e160}]
    series = recorded(client, clock, minutes)
    status = client.get("/v1/models/m").json()
    assert status["mse"] < status["baselines"]["last"]
    assert status["recent"]["hour"]["mse"] > status["recent"]["hour"]["baselines"]["last"]
    worse = "in the last hour, the model m had larger errors than the last label as a prediction"
    grew, unscored = "the errors of the model m became larger", "labels of the model n could not be scored"
    expected = [
        ("DriftlineWorseThanLastValue", 199, []), ("DriftlineWorseThanLastValue", 300, [("m", worse)]),
        ("DriftlineErrorsGrew", 198, []), ("DriftlineErrorsGrew", 203, [("m", grew)]), ("DriftlineUnscored", 99, []),
        ("DriftlineUnscored", 101, [("n", f"{unscored}: their errors are unknown or too large")]),
        *((f"Driftline{name}", 439, []) for name in ("IntervalsMiss", "DiskFull", "CallsFail", "NoLeader")),
    ]  # fmt: skip
    tests = [
        {
            "alertname": name,
            "eval_time": f"{minute}m",
            "exp_alerts": [
                {"exp_labels": {"model": model}, "exp_annotations": {"summary": words}} for model, words in alerts
            ],
        }
        for name, minute, alerts in expected
    ]
    file = {"rule_files": [str(PRODUCTION / "alerts.yml")], "evaluation_interval": "1m"}
    (tmp_path / "tests.yml").write_text(
        json.dumps({**file, "tests": [{"interval": "1m", "input_series": series, "alert_rule_test": tests}]})
    )
    checked = subprocess.run(
        [services.find("promtool"), "test", "rules", tmp_path / "tests.yml"], capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.services("prometheus")
def test_prometheus_reads_the_metrics_with_the_token(tmp_path, service):
    client = service.client("secret")
    client.call("PUT", "/v1/models/m", {"learner": "rls"})
    client.call("POST", "/v1/models/m/learn", {"rows": [{"x": [1.0], "y": 2.0}] * 3})
    port = free_port()
    places = [f"--config.file={prometheus(tmp_path, service.port)}", f"--storage.tsdb.path={tmp_path}/data"]
    command = [services.find("prometheus"), *places, f"--web.listen-address=127.0.0.1:{port}"]
    reading = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL, env={**os.environ, "GOMAXPROCS": "1"})
    query = urllib.parse.urlencode({"query": 'driftline_model_rows_total{model="m"}'})

    def found():
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?{query}") as answer:
                return json.load(answer)["data"]["result"]
        except OSError:
            return []

    try:
        (series,) = wait_for(found, reading)
        assert (series["metric"]["job"], series["value"][1]) == ("driftline", "3")
    finally:
        reading.terminate()
        reading.wait(patience.SECONDS)
