"""An engine without HTTP, and the same calls made directly on the library."""

import asyncio
import json
import os
import shutil
import sqlite3
from pathlib import Path

import driftline as dl
from driftline.base.registry import regressors
from driftline.serve.engine import Engine
from driftline.serve.limits import Limits
from driftline.serve.requests import Requests
from driftline.serve.sqlite import FILE, SqliteStore
from driftline.serve.store import Store

SEED = int(os.environ.get("DRIFTLINE_SEED", "0"))


class Direct:
    """An engine on a folder or a store, called as by the service. Limits may be given by name."""

    def __init__(self, place: Path | Store, **limits):
        self.limits = Limits(**limits)
        self.requests = Requests(self.limits)
        self.engine = Engine(SqliteStore(place) if isinstance(place, Path) else place, self.limits)
        self.engine.start()

    def put(self, name, **config):
        return self._do(self.engine.put, name, self.requests.read_model(json.dumps(config).encode()))

    def predict(self, name, *rows, report=False, **row):
        return self._rows("predict", self.engine.predict, name, rows, row, report)

    def learn(self, name, *rows, report=False, **row):
        return self._rows("learn", self.engine.learn, name, rows, row, report)

    def delete(self, name):
        return self._do(self.engine.delete, name)

    def reset(self, name):
        return self._do(self.engine.reset, name)

    def copy(self, name, to, replace=False):
        return self._do(self.engine.copy, name, to, replace)

    def status(self, name):
        return self._do(lambda: self.engine.model(name).status())

    def export(self, name, key=None):
        return self._do(lambda: self.engine.model(name).export(key))

    def close(self):
        self.engine.stop()

    def _rows(self, kind, work, name, rows, row, report):
        body = json.dumps({"rows": rows, **({"on_error": "report"} if report else {})} if rows else row).encode()
        sent = self.requests.read_rows(kind, body)
        return self._do(work, name, sent.rows, sent.body, report)

    def _do(self, work, *arguments):
        return asyncio.run(self.engine.call(work, *arguments))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def read_log(folder: Path):
    """The models and the complete log of a folder, as rows of its tables, for :func:`account_of`."""
    database = sqlite3.connect(folder / FILE)
    assert database.execute("SELECT value FROM meta WHERE name = 'cut'").fetchone()[0] == "0"
    models = database.execute("SELECT number, name, config FROM models").fetchall()
    log = database.execute("SELECT model, kind, body, note FROM log ORDER BY number").fetchall()
    database.close()
    return models, log


def library_account(folder: Path):
    """The library's results for the calls in a folder's log; see :func:`account_of`."""
    return account_of(*read_log(folder))


def account_of(models, log):
    """Replays a log with plain calls of ask and tell: for each model and key, the learner and its answers by id.

    Apart from the library, it shares no code with the service.
    """
    names = {number: (name, json.loads(config)) for number, name, config in models}
    accounts, waiting = {}, {}
    for model, kind, body, note in log:
        name, config = names[model]
        for row in rows_with_effect(body, note):
            ticket = None
            if kind == "learn" and row.get("id") in waiting:
                key, ticket = waiting.pop(row["id"])
            else:
                key = row.get("key", "")
            learner, answers = accounts.setdefault((name, key), (made_of(config), {}))
            if kind == "predict":
                ticket = learner.ask(row["x"])
                quantiles = tuple(ticket.quantiles(config["quantiles"])) if "quantiles" in config else None
                answers[row["id"]] = (ticket.prediction, *ticket.interval(config["level"]), quantiles)
                waiting[row["id"]] = (key, ticket)
            elif ticket is None:
                learner.learn_one(row["x"], row["y"])
            else:
                learner.tell(ticket, row["y"])
    return accounts


def rows_with_effect(body, note):
    """The rows of an entry that were new when it was written."""
    sent, said = json.loads(body), json.loads(note) if note else {}
    rows = sent.get("rows", [sent])
    return [rows[index] for index in said.get("rows", range(len(rows)))]


def made_of(spec):
    """The learner of a configuration, including nested learners."""
    if isinstance(spec, list):
        return [made_of(item) for item in spec]
    if not isinstance(spec, dict):
        return spec
    return regressors()[spec["learner"]](**{name: made_of(value) for name, value in spec.get("params", {}).items()})


def same_bits(one: bytes, other: dl.Learner) -> bool:
    return one == other.to_bytes()


def drive(service, name, rng, count, keys=("",)):
    """Predicts rows and sends labels in random order; returns the ids still pending."""
    waiting = []
    for number in range(count):
        key = {"key": str(rng.choice(keys))} if keys != ("",) else {}
        x = dict(zip("abc", rng.normal(size=3).round(3).tolist(), strict=True))
        if rng.random() < 0.7:
            service.predict(name, id=f"{name}{number}", x=x, **key)
            waiting.append(f"{name}{number}")
        else:
            service.learn(name, x=x, y=float(rng.normal()), **key)
        while len(waiting) > 5 or (waiting and rng.random() < 0.3):
            one = waiting.pop(int(rng.integers(len(waiting))))
            service.learn(name, id=one, y=float(rng.normal()))
    return waiting


def copy_of(folder, to):
    """Copies what is on disk when the process is killed: without its lock and without a graceful stop."""
    shutil.copytree(folder, to)
    return to
