"""Wild finite numbers for every learner: whatever it takes, it can save and load; whatever it refuses leaves no trace."""

import tempfile
import time
from pathlib import Path

import numpy as np

import driftline as dl
from driftline.base import registry
from driftline.checks.tools import same

REFUSED = (ValueError, FloatingPointError)
ROWS = 40


def wild(rng, *shape):
    """Finite numbers of every size, most of them ordinary."""
    values = rng.normal(size=shape)
    scales = 10.0 ** rng.uniform(-300, 300, size=shape)
    return np.where(rng.random(shape) < rng.choice([0.01, 0.1, 0.5]), np.sign(values) * scales, values)


def attack(seconds, seed):
    """Every learner in turns, until the time is up; each at least once."""
    until, rounds, counts = time.monotonic() + seconds, 0, {"taken": 0, "refused": 0}
    with tempfile.TemporaryDirectory() as folder:
        while rounds == 0 or time.monotonic() < until:
            for name, kind in registry.learners().items():
                for dtype in ("float64", "float32"):
                    rng = np.random.default_rng([seed, rounds])
                    try:
                        _follow(kind(dtype=dtype), rng, Path(folder) / "model", counts)
                    except BaseException as error:
                        error.add_note(f"{name}, {dtype}, round {rounds} of seed {seed}")
                        raise
            rounds += 1
    return f"{counts['taken']:,} rows taken and {counts['refused']:,} refused by {len(registry.learners())} learners"


def _follow(model, rng, path, counts):
    classes = model._estimator_type == "classifier"
    with np.errstate(all="ignore"):
        X = wild(rng, ROWS, 3)
        labels = rng.integers(3, size=ROWS) if classes else wild(rng, ROWS)
        for x, y in zip(X, labels.tolist(), strict=True):
            before = model.__getstate__()
            try:
                model.learn_one(x, y)
                counts["taken"] += 1
            except REFUSED:
                counts["refused"] += 1
                assert same(before, model.__getstate__()), f"a refused row left a trace: {x!r}, {y!r}"
    model.save(path)
    assert same(dl.load(path).__getstate__(), model.__getstate__()), "the loaded model is another one"
