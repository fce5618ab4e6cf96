"""Queues in their own processes, and what the drill does with them: fill them, and read what was sent."""

import json
import shutil
import socket
import subprocess
import tempfile
import time

from tests import patience, services


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Redis:
    """A server of Redis without a file."""

    once = True  # whether a consumer that is killed sends no record twice

    def __init__(self):
        self.port, self.folder = free_port(), tempfile.mkdtemp(prefix="driftline-redis-")
        self._command = [services.find("redis-server"), "--port", str(self.port), "--bind", "127.0.0.1"]
        self._command += ["--dir", self.folder, "--appendonly", "yes", "--appendfsync", "always"]
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.start()

    def start(self):
        import redis

        self.process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)
        until = time.monotonic() + patience.SECONDS
        self.db = redis.Redis(port=self.port, decode_responses=True)
        while True:
            try:
                self.db.ping()
                return
            except redis.ConnectionError:
                assert time.monotonic() < until
                time.sleep(0.02)

    def source(self, name):
        return f"{self.url}#{name}"

    def put(self, name, entries):
        with self.db.pipeline(transaction=False) as pipe:
            for entry in entries:
                pipe.xadd(
                    name, {field: value if isinstance(value, str) else json.dumps(value) for field, value in entry.items()}
                )
            pipe.execute()

    def sent(self, name):
        return [fields for _, fields in self.db.xrange(name)]

    def count(self, name):
        return self.db.xlen(name)

    def kill(self):
        self.db.close()
        self.process.kill()
        self.process.wait(patience.SECONDS)

    def close(self):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


QUEUES = {"redis": Redis}
