"""A PostgreSQL server for the tests, run by an ordinary user, on a socket in its own folder."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time

from tests import patience, services


def _binaries():
    return os.path.dirname(services.find("postgresql"))


class Cluster:
    """A server that the tests start and stop; it also listens on the addresses in ``listen``, which trust each client.

    ``data`` is its folder for data, by default in a temporary folder.
    """

    def __init__(self, listen="", data=None):
        self.folder = tempfile.mkdtemp(prefix="driftline-pg-")
        self._as = {}
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            self._as = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        data = data or f"{self.folder}/data"
        initdb = [
            f"{_binaries()}/initdb",
            "--pgdata",
            data,
            "--auth",
            "trust",
            "--username",
            "tests",
            "--no-sync",
            "--no-locale",
        ]
        subprocess.run(initdb, check=True, capture_output=True, cwd="/", **self._as)
        if listen:
            with open(f"{data}/pg_hba.conf", "a") as rules:
                rules.write("host all all all trust\n")
        self._command = [f"{_binaries()}/postgres", "-D", data, "-k", self.folder, "-h", listen, "-c", "max_connections=30"]
        self.address = f"postgresql://tests@/postgres?host={self.folder}"
        self.start()

    def start(self):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": "/"}
        self.process = subprocess.Popen(self._command, **quiet, **self._as)
        until = time.monotonic() + patience.SECONDS
        while True:
            try:
                self.execute("SELECT 1")
                return
            except Exception:
                assert time.monotonic() < until
                time.sleep(0.1)
                if self.process.poll() is not None:  # processes of a killed server may last a moment longer
                    self.process = subprocess.Popen(self._command, **quiet, **self._as)

    def execute(self, query, *values):
        import psycopg

        with psycopg.connect(self.address, autocommit=True, client_encoding="utf8") as db:
            cursor = db.execute(query, values)
            return cursor.fetchall() if cursor.description else []

    def stop(self):
        self.process.send_signal(signal.SIGINT)  # does not wait for sessions to end
        self.process.wait(patience.SECONDS)

    def close(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
