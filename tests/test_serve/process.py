"""A service in its own process, and clients that speak HTTP to it over a socket."""

import http.client
import json
import os
import signal
import subprocess
import sys
import threading

from tests import patience

RUN = """
import sys, typer
from driftline.serve.command import register
app = typer.Typer()
register(app)
app(sys.argv[1:])
"""


class Process:
    """``driftline serve FOLDER`` on a free port of the loopback address; it stops at the end of the ``with`` block.

    ``before`` is code that runs first, ``host`` a :class:`~tests.test_serve.network.Host` to run on.
    """

    def __init__(self, folder, *options, environment=None, before="", host=None):
        self.folder, self.address = folder, "127.0.0.1" if host is None else host.address
        command = [sys.executable, "-c", before + RUN, "serve", str(folder), "--port", "0", *options]
        command = command if host is None else [*host.enter, *command, "--host", host.address]
        self.process = subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})}
        )
        self.lines, self.connections = [], []
        for line in self.process.stderr:
            self.lines.append(line)
            if '"port"' in line:
                self.port = json.loads(line)["port"]
                break
        else:
            raise AssertionError(f"the service did not start: {''.join(self.lines)}")
        self._reader = threading.Thread(target=lambda: self.lines.extend(self.process.stderr), daemon=True)
        self._reader.start()

    def client(self, token=None, seconds=patience.SECONDS):
        """A connection, closed when the service stops."""
        self.connections.append(Connection(self.port, token, self.address, seconds))
        return self.connections[-1]

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self._ended()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self._ended()
        return self.process.returncode

    def _ended(self):
        self.process.wait(patience.SECONDS)
        self._reader.join(patience.SECONDS)
        for connection in self.connections:
            connection.close()
        self.process.stderr.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()


class Connection:
    """A persistent connection."""

    def __init__(self, port, token=None, address="127.0.0.1", seconds=patience.SECONDS):
        self.http = http.client.HTTPConnection(address, port, timeout=seconds)
        self.headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {token}"} if token else {})

    def call(self, method, path, body=None):
        """The status and the decoded JSON, or bytes for other content. Raises OSError if the service is gone."""
        self.http.request(method, path, None if body is None else json.dumps(body), self.headers)
        answer = self.http.getresponse()
        try:
            data = answer.read()
        except AttributeError as error:  # another thread closed the connection because the service is gone
            raise OSError("the connection was closed") from error
        return answer.status, json.loads(data) if "json" in answer.headers.get("content-type", "") else data

    def close(self):
        self.http.close()
