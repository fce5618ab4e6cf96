"""Writes a small file of each kind of model: ``python -m tests.golden_models.write``, once for each new format.

Files of earlier formats stay as they are: every later version reads them. The models are those of ``MODELS`` after ``ROWS``
rows of :func:`rows`, so the predictions follow from the formulas in ``tests/test_storage/test_golden.py``.
"""

import pathlib

import numpy as np

import driftline as dl
from driftline.storage import model_file

FOLDER = pathlib.Path(__file__).parent
ROWS = 20


def rows():
    """Rows and labels without noise, so that y = 2 a - b + 0.5."""
    t = np.arange(ROWS)
    X = np.column_stack([(t % 5) / 4, (t % 3) / 2])
    return X, 2 * X[:, 0] - X[:, 1] + 0.5


def named(X):
    return [{"a": a, "b": b} for a, b in X.tolist()]


def learned(model):
    """The model after the rows, one by one, as mappings."""
    X, y = rows()
    for x, label in zip(named(X), y.tolist(), strict=True):
        model.learn_one(x, label)
    return model


def classified(model):
    X, y = rows()
    for x, label in zip(named(X), y.tolist(), strict=True):
        model.learn_one(x, "high" if label > 1 else "low")
    return model


def with_columns(model):
    """The same rows with a text, which adds 1 to the label where it is "oak", and a gap."""
    X, y = rows()
    for t, (x, label) in enumerate(zip(named(X), y.tolist(), strict=True)):
        tree = "oak" if t % 2 else "ash"
        model.learn_one({**x, "tree": tree, **({"a": None} if t == 7 else {})}, label + (tree == "oak"))
    return model


def waiting(model):
    """Rows that wait under the ids "x" and 7, after the others were learned."""
    pending = dl.Pending(learned(model))
    pending.predict_one("x", {"a": 1.0, "b": 0.0})
    pending.predict_one(7, {"a": 0.0, "b": 1.0})
    pending.hold_one(7, -0.5)
    return pending


def forecaster():
    model = dl.Forecaster(dl.RLS(forgetting=1.0), steps=2)
    model.run(*rows())
    return model


def fleet(learner, **options):
    X, y = rows()
    made = dl.Fleet(learner, named=True, **options)
    made.learn_many(["left", "right"] * (ROWS // 2), X, y)
    return made


def moments():
    made = dl.Moments()
    made.learn_many(*rows())
    return made


MODELS = {
    "rls": lambda: learned(dl.RLS(forgetting=0.95)),
    "ridge": lambda: learned(dl.Ridge(ridge=2.0)),
    "nlms": lambda: learned(dl.NLMS(rate=0.5)),
    "wemm": lambda: learned(dl.WEMM()),
    "sparse_dfop": lambda: learned(dl.SparseDFOP(dim=4, forget_rate=0.2)),
    "kernel": lambda: learned(dl.Kernel(dl.AROWR(noise=0.5), kernel="linear")),
    "auto": lambda: learned(dl.Auto()),
    "own_experts": lambda: learned(dl.Auto(experts=[dl.Ridge()])),
    "network": lambda: learned(dl.Network([dl.Ridge(), dl.RLS(forgetting=0.9)])),
    "averaged": lambda: learned(dl.Averaged(dl.LMS(rate=0.1))),
    "pipeline": lambda: learned(dl.features.Lags(y=1) | dl.Ridge(ridge=2.0)),
    "classifier": lambda: classified(dl.Classifier()),
    "columns": lambda: with_columns(dl.Ridge(ridge=1e-6, missing="mean")),
    "pending": lambda: waiting(dl.Ridge(ridge=2.0)),
    "forecaster": forecaster,
    "fleet": lambda: fleet(dl.Ridge(ridge=2.0)),
    "fleet_apart": lambda: fleet(dl.Averaged(dl.LMS(rate=0.1)), alarms=True),
    "moments": moments,
    "ticket": lambda: learned(dl.Ridge(ridge=2.0)).ask({"a": 1.0, "b": 0.0}, 3),
}


def main():
    """Writes the files of the present format."""
    folder = FOLDER / f"format_{model_file.VERSION}"
    folder.mkdir(exist_ok=True)
    for name, make in MODELS.items():
        (folder / f"{name}.driftline").write_bytes(make().to_bytes())


if __name__ == "__main__":
    main()
