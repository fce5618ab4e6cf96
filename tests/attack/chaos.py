"""Two services on one PostgreSQL under load, while they are killed, paused and cut off, and the disk is full.

``python -m tests.attack.chaos --seconds 600 --seed 0`` needs root and PostgreSQL. The services run in network namespaces. At
the end every acknowledged call is in the log exactly once, and the models are those of the library after the same calls, bit
for bit. It prints the folder with the logs of the services, each event, and the longest time in which no call was
acknowledged.
"""

import argparse
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

from driftline.serve.tokens import digest_of
from tests.test_serve.cluster import Cluster
from tests.test_serve.load import Load, check, end
from tests.test_serve.network import Network
from tests.test_serve.process import Process

CLIENTS, TOKEN = 6, "a token of the attack"
EVENTS = (
    "kill the leader",
    "kill the other",
    "pause",
    "cut from the database",
    "cut from all",
    "fill the disk",
    "kill PostgreSQL",
)

KEEP = (
    "CREATE TABLE driftline.kept (LIKE driftline.log)",
    "CREATE RULE keep AS ON DELETE TO driftline.log DO ALSO INSERT INTO driftline.kept VALUES (OLD.*)",
)
WHOLE_LOG = """SELECT model, kind, body, note FROM (SELECT * FROM driftline.log UNION ALL SELECT * FROM driftline.kept) AS l
               ORDER BY number"""


class Stage:
    """The database, the hosts and the services."""

    def __init__(self, folder):
        self.folder, self.disk = folder, folder / "disk"
        self.disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600m,mode=777", "tmpfs", self.disk], check=True)
        self.network = Network()
        self.database = Cluster(self.network.database, str(self.disk / "data"))
        tokens = folder / "tokens.txt"
        tokens.write_text(f"{digest_of(TOKEN)} admin attack\n")
        address = f"postgresql://tests@{self.network.database}/postgres"
        self.options = ("--store", address, "--tokens", str(tokens), "--entries", "1000")
        self.hosts = [self.network.host(), self.network.host()]
        self.started = []
        self.services = [self.start(host) for host in self.hosts]

    def start(self, host):
        self.started.append(Process(self.folder / host.name, *self.options, host=host))
        return self.started[-1]

    def leader(self):
        """The index of the leader, or None."""
        for number, service in enumerate(self.services):
            try:
                if service.client(TOKEN, seconds=1).call("GET", "/readyz")[0] == 200:
                    return number
            except OSError:
                continue
        return None

    def connect(self):
        """A connection to one of the services; a call that it refuses is repeated on another."""
        return random.choice(self.services).client(TOKEN, seconds=2)

    def disturb(self, what, rng):
        """One event, from its beginning to its end."""
        leader, seconds = self.leader(), rng.uniform(2, 12)
        number = leader if leader is not None else rng.randrange(2)
        service, host = self.services[number], self.hosts[number]
        if what == "kill the other":
            number = 1 - number
            service, host = self.services[number], self.hosts[number]
        if what.startswith("kill the"):
            service.kill()
            time.sleep(seconds / 4)
            self.services[number] = self.start(host)
        elif what == "pause":
            service.process.send_signal(signal.SIGSTOP)
            time.sleep(seconds)
            service.process.send_signal(signal.SIGCONT)
        elif what.startswith("cut"):
            host.cut(*(["database"] if "database" in what else []))
            time.sleep(seconds)
            host.heal()
        elif what == "fill the disk":
            self._fill(seconds / 2)
        else:
            self.database.process.kill()
            self.database.process.wait()
            self._revive()

    def _fill(self, seconds):
        filler = self.disk / "filler"
        with open(filler, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(2**20))
            except OSError:
                pass
            time.sleep(seconds)
        filler.unlink()
        self._revive()

    def _revive(self):
        """Starts PostgreSQL again if it ended, as it does when it cannot write its own log."""
        time.sleep(1)
        if self.database.process.poll() is not None:
            self.database.start()

    def close(self):
        for service in self.services:
            service.process.send_signal(signal.SIGCONT)
            service.kill()
        (self.folder / "services.log").write_text("".join(sorted(line for each in self.started for line in each.lines)))
        self.database.close()
        self.network.close()
        subprocess.run(["umount", self.disk], check=True)


class Pulse:
    """When calls were acknowledged."""

    def __init__(self):
        self.lock, self.last, self.longest, self.worst, self.event = threading.Lock(), time.monotonic(), 0.0, "", "the start"

    def beat(self):
        with self.lock:
            now = time.monotonic()
            if now - self.last > self.longest:
                self.longest, self.worst = now - self.last, self.event
            self.last = now


class Watched(Load):
    """A client whose acknowledged calls are recorded."""

    def __init__(self, pulse, *arguments):
        super().__init__(*arguments)
        self.pulse = pulse

    def _send(self, connection, verb, body):
        known = len(self.bad)
        super()._send(connection, verb, body)
        for answer in self.bad[known:]:
            print(f"an answer that breaks a promise, after {self.pulse.event}:", *answer, flush=True)
        self.pulse.beat()


def attack(seconds, seed):
    """Disturbs the services for some time; raises AssertionError if a promise is broken."""
    rng, pulse = random.Random(seed), Pulse()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="driftline-chaos-"))
    os.chmod(folder, 0o755)
    print(folder)
    stage = Stage(folder)
    loads = []
    try:
        while stage.leader() is None:
            time.sleep(0.1)
        client = stage.services[stage.leader()].client(TOKEN)
        assert client.call("PUT", "/v1/models/m", {"learner": "rls"})[0] == 201
        for statement in KEEP:
            stage.database.execute(statement)
        loads = [Watched(pulse, stage.connect, number, seed, False) for number in range(CLIENTS)]
        for load in loads:
            load.start()
        began, events = time.monotonic(), []
        while time.monotonic() - began < seconds:
            if not events:
                events = rng.sample(EVENTS, len(EVENTS))
            pulse.event = events.pop()
            print(f"{time.monotonic() - began:6.1f} s  {pulse.event}", flush=True)
            stage.disturb(pulse.event, rng)
            time.sleep(rng.uniform(1, 6))
        until = time.monotonic() + 60
        while stage.leader() is None:
            assert time.monotonic() < until, "no service leads, a minute after the last event"
            time.sleep(0.1)
        time.sleep(2)
        end(loads)
        leader = stage.services[stage.leader()]
        models = stage.database.execute("SELECT number, name, config FROM driftline.models")
        log = stage.database.execute(WHOLE_LOG)
        check(loads, leader.client(TOKEN), models, log)
        told = sum(len(load.told) for load in loads)
        print(f"{told} acknowledged labels, each learned once; longest silence {pulse.longest:.1f} s, after: {pulse.worst}")
    finally:
        for load in loads:
            load.ending = True
        stage.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("network namespaces and mounts need root")
    attack(options.seconds, options.seed)


if __name__ == "__main__":
    main()
