"""What an operator sees of calls and alarms: log lines, times, and what a webhook receives."""

import hashlib
import hmac
import http.client
import http.server
import json
import re
import threading
import time

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from driftline.serve import webhook
from driftline.serve.problems import StoreError
from tests import patience
from tests.test_serve.process import Process

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


class Receiver:
    """A server for alarms, which answers with the statuses given, and with 200 after them."""

    def __init__(self, *statuses):
        self.statuses, self.received = list(statuses), []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                outer.received.append((body, dict(self.headers)))
                self.send_response(outer.statuses.pop(0) if outer.statuses else 200)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hooks/T0KEN"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def wait(self, count):
        until = time.monotonic() + patience.SECONDS
        while len(self.received) < count:
            assert time.monotonic() < until
            time.sleep(0.01)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def test_calls_and_alarms_are_logged_and_alarms_sent(tmp_path):
    """A call keeps its X-Request-ID and trace; the webhook is tried again; no log shows its URL or its secret."""
    (tmp_path / "secret").write_text("s3cret\n")
    rng = np.random.default_rng(0)
    rows = [{"key": "k", "x": [1.0], "y": float(rng.normal() + 50 * (n >= 300))} for n in range(400)]
    with Receiver(500, 429) as receiver:
        options = ["--access-log", "--webhook", receiver.url, "--webhook-secret", str(tmp_path / "secret")]
        with Process(tmp_path / "s", *options) as service:
            client = http.client.HTTPConnection("127.0.0.1", service.port)
            json_body = {"content-type": "application/json"}
            client.request("PUT", "/v1/models/m", '{"learner": "rls", "keyed": true}', json_body)
            answer = client.getresponse()
            made, _ = answer.headers["x-request-id"], answer.read()
            traced = {"x-request-id": "order-17", "traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}
            client.request("POST", "/v1/models/m/learn?secret=1", json.dumps({"rows": rows}), {**json_body, **traced})
            answer = client.getresponse()
            assert (answer.headers["x-request-id"], json.load(answer)["learned"]) == ("order-17", 400)
            client.request("GET", "/nowhere", headers={"x-request-id": "two words"})
            answer = client.getresponse()
            assert re.fullmatch("[0-9a-f]{16}", answer.headers["x-request-id"])
            answer.read()
            client.request("GET", "/metrics")
            metrics = client.getresponse().read().decode()
            client.close()
            receiver.wait(3)
            service.stop()
            lines = [json.loads(line) for line in service.lines]
        with Process(tmp_path / "s") as service:
            service.kill()
            replayed = [json.loads(line)["message"] for line in service.lines]
    calls = [line for line in lines if line["message"] == "call"]
    assert [(line["method"], line["path"], line["status"]) for line in calls] == [
        ("PUT", "/v1/models/m", 201), ("POST", "/v1/models/m/learn", 200), ("GET", "/nowhere", 404),
        ("GET", "/metrics", 200),
    ]  # fmt: skip
    assert calls[0]["request_id"] == made
    assert (calls[1]["request_id"], calls[1]["trace_id"]) == ("order-17", TRACE)
    assert "trace_id" not in calls[2]
    assert all(0 < line["seconds"] < patience.SECONDS for line in calls)
    alarms = [line for line in lines if line["message"] == "alarm"]
    assert [(line["model"], line["key"]) for line in alarms] == [("m", "k")] * len(alarms)
    assert 300 < alarms[0]["row"] < 310
    assert "alarm" not in replayed
    sent = [json.loads(body) for body, _ in receiver.received[2:]]
    assert sent == [{name: line[name] for name in line if name in sent[0]} for line in alarms]
    body, headers = receiver.received[-1]
    signature = hmac.new(b"s3cret", body, hashlib.sha256).hexdigest()
    assert headers["x-driftline-signature".title()] == f"sha256={signature}"
    text = json.dumps(lines)
    assert not [word for word in ("s3cret", "T0KEN", "secret=1") if word in text]
    learned = 'driftline_request_duration_seconds_{}{{route="POST /v1/models/{{name}}/learn"{}}} {}'
    assert learned.format("count", "", 1) in metrics
    assert learned.format("bucket", ',le="+Inf"', 1) in metrics
    assert 'driftline_request_duration_seconds_count{route="other"} 1' in metrics
    assert "driftline_queue_calls 0" in metrics


def test_alarms_that_cannot_be_delivered_are_dropped_and_counted(monkeypatch, caplog):
    """Refused by the receiver, never taken, or one too many: the service goes on."""
    monkeypatch.setattr(webhook, "_PAUSE", 0.001)
    monkeypatch.setattr(webhook, "_MOST", 3)
    with Receiver(400, *[503] * webhook._ATTEMPTS) as receiver:
        hook = webhook.Webhook(receiver.url, None)
        for row, attempts in ((1, 1), (2, 1 + webhook._ATTEMPTS), (3, 2 + webhook._ATTEMPTS)):
            hook.send({"model": "m", "row": row})
            receiver.wait(attempts)
        hook.stop()
    assert hook.counts == {"webhook_sent": 1, "webhook_dropped": 2}
    assert [json.loads(body)["row"] for body, _ in receiver.received] == [1, *[2] * webhook._ATTEMPTS, 3]
    gone = webhook.Webhook(receiver.url, None)  # nobody listens there any more
    monkeypatch.setattr(gone._ending, "wait", lambda _: False)
    held = threading.Event()
    monkeypatch.setattr(gone, "_post", lambda body: (held.wait() and "gone", False))
    for row in range(9):
        gone.send({"row": row})
    assert gone.counts["webhook_dropped"] >= 5
    held.set()
    gone.stop()
    assert gone.counts["webhook_dropped"] == 9
    assert "T0KEN" not in caplog.text


@pytest.mark.parametrize("url", ["ftp://host/", "file:///etc/passwd", "host", "http://"])
def test_a_webhook_must_be_http(url):
    with pytest.raises(StoreError, match="--webhook takes"):
        webhook.Webhook(url, None)
