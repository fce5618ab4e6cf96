"""Extreme finite numbers for every learner: an accepted row can be saved and loaded, a rejected one leaves no trace."""

import contextlib
import tempfile
import time
from pathlib import Path

import numpy as np

import driftline as dl
from driftline.base import registry
from driftline.base.ticket import Ticket
from driftline.checks.tools import same

REFUSED = (ValueError, FloatingPointError)
ROWS = 40


def wild(rng, *shape):
    """Finite numbers of every size, most of them ordinary."""
    values = rng.normal(size=shape)
    scales = 10.0 ** rng.uniform(-300, 300, size=shape)
    return np.where(rng.random(shape) < rng.choice([0.01, 0.1, 0.5]), np.sign(values) * scales, values)


def attack(seconds, seed):
    """Feeds extreme rows to every learner in turn until the time is up; each learner at least once."""
    until, rounds, counts = time.monotonic() + seconds, 0, {"taken": 0, "refused": 0}
    with tempfile.TemporaryDirectory() as folder:
        while rounds == 0 or time.monotonic() < until:
            for name, kind in registry.learners().items():
                for dtype in ("float64", "float32"):
                    rng = np.random.default_rng([seed, rounds])
                    try:
                        _learn_and_save(kind(dtype=dtype), rng, Path(folder) / "model", counts)
                        _serialize_waiting_rows(kind(dtype=dtype), rng)
                    except BaseException as error:
                        error.add_note(f"{name}, {dtype}, round {rounds} of seed {seed}")
                        raise
            rounds += 1
    return f"{counts['taken']:,} rows taken and {counts['refused']:,} refused by {len(registry.learners())} learners"


def _rows(model, rng):
    X = wild(rng, ROWS, 3)
    labels = rng.integers(3, size=ROWS) if model._estimator_type == "classifier" else wild(rng, ROWS)
    return zip(X, labels.tolist(), strict=True)


def _learn(model, x, y, late):
    if late:
        model.tell(Ticket.from_bytes(model.ask(x).to_bytes()), y)
    else:
        model.learn_one(x, y)


@np.errstate(all="ignore")
def _learn_and_save(model, rng, path, counts):
    for x, y in _rows(model, rng):
        before = model.__getstate__()
        try:
            _learn(model, x, y, late=rng.random() < 0.5)
            counts["taken"] += 1
        except REFUSED:
            counts["refused"] += 1
            assert same(before, model.__getstate__()), f"a refused row left a trace: {x!r}, {y!r}"
    model.save(path)
    assert same(dl.load(path).__getstate__(), model.__getstate__()), "the loaded model is another one"


@np.errstate(all="ignore")
def _serialize_waiting_rows(model, rng):
    """Checks that waiting rows survive serialization, in a Pending and in a Forecaster."""
    pending = dl.Pending(model)
    for number, (x, y) in enumerate(_rows(model, rng)):
        with contextlib.suppress(*REFUSED):
            pending.predict_one(number, x)
            pending.learn_one(int(rng.choice(list(pending))), y)
    assert dl.from_bytes(pending.to_bytes()).to_bytes() == pending.to_bytes(), "rows that wait were not kept"
    if model._estimator_type == "classifier":
        return
    forecaster = dl.Forecaster(model.clone(), steps=3)
    for x, y in _rows(model, rng):
        with contextlib.suppress(*REFUSED):
            forecaster.learn_one(x, y)
    assert dl.from_bytes(forecaster.to_bytes()).to_bytes() == forecaster.to_bytes(), "the forecaster was not kept"
