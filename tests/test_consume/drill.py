"""Kills the consumer and the service at random, and checks that each entry was learned exactly once.

``python -m tests.test_consume.drill redis --entries 100000 --kills 10`` also prints entries a second, beside those of a
consumer that does nothing but read and commit.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import driftline as dl
from driftline.client import Client
from driftline.consume import Fields, Reply, consume
from driftline.consume.command import source_of
from tests import patience
from tests.test_consume.servers import QUEUES, free_port
from tests.test_serve.process import Process
from tests.test_serve.tools import library_account

RUN = """
import sys, typer
from driftline.consume.command import register
app = typer.Typer()
register(app)
app(sys.argv[1:])
"""


def stream(count, seed, late=0.2):
    """Rows of which most have their labels; the labels of the others come later; some entries are poison."""
    draw, entries, waiting = random.Random(seed), [], []
    while len(entries) < count:
        n = len(entries)
        row = {"id": f"e{n}", "a": draw.gauss(0, 1), "b": draw.gauss(0, 1)}
        y = 2 * row["a"] - row["b"] + draw.gauss(0, 0.1)
        if n % 500 == 77:
            entries.append({**row, "y": "broken"})
        elif draw.random() < late:
            entries.append(row)
            waiting.append((n + draw.randrange(1, 90), row["id"], y))
        else:
            entries.append({**row, "y": y})
        while waiting and waiting[0][0] <= len(entries) < count:
            entries.append({"id": waiting[0][1], "y": waiting.pop(0)[2]})
    return entries


class Consumer:
    """``driftline consume`` in its own process, which ends when the queue is empty, unless ``idle`` is False."""

    def __init__(self, *options, idle=True):
        command = [sys.executable, "-c", RUN, *map(str, options), *(["--until-idle"] if idle else [])]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def kill(self):
        self.process.kill()
        self.process.communicate()

    def ended(self):
        return self.process.poll() is not None

    def counts(self):
        """What it says when it ends."""
        out, err = self.process.communicate(timeout=patience.SECONDS)
        assert self.process.returncode == 0, err
        return json.loads(out)


class Drill:
    """One queue, with a service or with a state file in a folder."""

    def __init__(self, queue, folder, *, entries, seed=0, batch=500, with_service=True, name="rows"):
        self.queue, self.folder, self.name, self.seed = queue, Path(folder), name, seed
        self.entries, self.state = (
            stream(entries, seed, 0.2 if queue.ordered or with_service else 0.0),
            Path(folder) / "model.drift",
        )
        self.out, self.rejected = f"{name}_out", f"{name}_rejected"
        self.options = [queue.source(name), "--predictions", self.out, "--rejected", self.rejected, *queue.options]
        self.options += [] if queue.ordered else ["--labels", f"{name}_labels"]
        self.options += ["--group", name, "--batch", batch, "--model"]
        self.port = free_port() if with_service else None
        self.options += (
            ["m", "--service", f"http://127.0.0.1:{self.port}"] if with_service else ["rls", "--state", self.state]
        )
        self.service, self.killed = None, {"consumer": 0, "service": 0}

    def start_service(self):
        if self.port is not None:
            self.service = Process(
                self.folder / "service", "--port", str(self.port), "--entries", "1000000", "--early", "1000000"
            )

    def run(self, kills=0):
        """Fills the queue and empties it; returns the seconds that it took to empty it."""
        draw = random.Random(self.seed)
        rows = sum("a" in entry and entry.get("y") != "broken" for entry in self.entries)
        self.start_service()
        if self.service is not None:
            with Client(f"http://127.0.0.1:{self.port}") as client:
                client.put("m", "rls")
        self.queue.put(self.name, self.entries)
        begun, consumer = time.perf_counter(), Consumer(*self.options)
        for threshold in sorted(draw.uniform(0.0, 0.9) * rows for _ in range(kills)):
            while self.queue.count(self.out) < threshold and not consumer.ended():
                time.sleep(0.002)
            time.sleep(draw.uniform(0, 0.05))
            victim = draw.choice(["consumer", "service"] if self.service else ["consumer"])
            self.killed[victim] += 1
            if victim == "service":
                self.service.kill()
                self.start_service()
            else:
                consumer.kill()
                consumer = Consumer(*self.options)
        self.counts = consumer.counts()
        return time.perf_counter() - begun

    def check(self):
        """Compares everything that was sent and learned with the library's own replay."""
        answers, learner = self.replayed()
        poison = [entry["id"] for entry in self.entries if entry.get("y") == "broken"]
        labels = sum("y" in entry for entry in self.entries) - len(poison)
        sent = self.queue.sent(self.out)
        found = {record["id"]: float(record["prediction"]) for record in sent}
        assert learner.n_seen_ == labels, (learner.n_seen_, labels)
        assert found == answers
        assert not self.queue.once or len(sent) == len(found)
        contents = [json.loads(record["content"]) for record in self.queue.sent(self.rejected)]
        set_aside = [content["id"] for content in contents]
        assert sorted(set_aside if self.queue.once else {*set_aside}) == sorted(poison)

    def replayed(self):
        """The predictions by id and the learner: of the service's log if there is one, otherwise of the entries in order."""
        if self.service is not None:
            with Client(f"http://127.0.0.1:{self.port}") as client:
                exported = client.export("m")
            self.service.kill()  # a graceful stop would truncate the log
            learner, answers = library_account(self.folder / "service")["m", ""]
            assert learner.to_bytes() == exported
            return {name: answer[0] for name, answer in answers.items()}, learner
        learner, answers, waiting = dl.RLS(missing="mean"), {}, {}
        for entry in self.entries:
            if entry.get("y") == "broken":
                continue
            if "a" not in entry:
                learner.tell(waiting.pop(entry["id"]), entry["y"])
                continue
            x = {name: entry[name] for name in "ab"}
            ticket = learner.ask(x, 0 if "y" in entry else None)
            answers[entry["id"]] = ticket.prediction
            if "y" in entry:
                learner.learn_one(x, entry["y"])
            else:
                waiting[entry["id"]] = ticket
        assert dl.load(self.state).to_bytes() == learner.to_bytes()
        return answers, learner

    def close(self):
        if self.service is not None and self.service.process.poll() is None:
            self.service.kill()


class Empty:
    """A model that does nothing."""

    lost = ()

    def take(self, rows):
        return [Reply() for _ in rows]

    def finished(self, rows):
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("queue", choices=QUEUES)
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    queue = QUEUES[given.queue]()
    try:
        rates = {}
        for number, (kind, kills) in enumerate((kind, kills) for kind in ("service", "state") for kills in (given.kills, 0)):
            with tempfile.TemporaryDirectory() as folder:
                options = {"entries": given.entries, "seed": given.seed, "name": f"rows{number}"}
                drill = Drill(queue, folder, with_service=kind == "service", **options)
                try:
                    seconds = drill.run(kills)
                    drill.check()
                finally:
                    drill.close()
                rates[kind] = given.entries / (seconds - 1)  # the last of them waits for another entry
                print(f"{kind}, killed {drill.killed}: {seconds:.1f} s, each of {given.entries:,} entries once", flush=True)
        queue.put("empty", stream(given.entries, given.seed))
        options = {"predictions": "empty_out", "group": "empty"} | ({"by": "n"} if queue.options else {})
        source = source_of(queue.source("empty"), options)
        begun = time.perf_counter()
        counts = consume(source, Empty(), Fields(), until_idle=True)
        rates["empty"] = counts.entries / (time.perf_counter() - begun - 1)
        print(", ".join(f"{kind} {rate:,.0f} entries/s" for kind, rate in rates.items()))
    finally:
        queue.close()


if __name__ == "__main__":
    main()
