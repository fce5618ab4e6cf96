"""Learners on sparse rows, for :mod:`benchmarks.high_dimension`: driftline's, River's and Vowpal Wabbit's."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from itertools import pairwise
from typing import Any, NamedTuple

import scipy.sparse as sp

import driftline as dl
from benchmarks.data import Array


class Follower(NamedTuple):
    """A learner behind a common interface.

    Attributes:
        prepare: rows in the form that the learner takes, made before the clock starts.
        start: a new learner, as a function that predicts and learns prepared rows one after the other.
    """

    prepare: Callable[[sp.csr_array, Array], Any]
    start: Callable[[], Callable[[Any], object]]


def ours(make: Callable[[], Any]) -> Follower:
    """A learner of driftline with its ``run``."""

    def start() -> Callable[[Any], object]:
        model = make()
        return lambda rows: model.run(*rows)

    return Follower(lambda X, y: (X, y), start)


def one_by_one(make: Callable[[], Any]) -> Follower:
    """A learner of driftline with ``predict_one`` and ``learn_one`` on matrices of one row."""

    def start() -> Callable[[Any], object]:
        model = make()

        def follow(rows: tuple[sp.csr_array, Array]) -> None:
            X, y = rows
            for t in range(len(y)):
                row = X[t : t + 1]
                model.predict_one(row)
                model.learn_one(row, y[t])

        return follow

    return Follower(lambda X, y: (X, y), start)


def _entries(X: sp.csr_array) -> list[list[tuple[int, float]]]:
    bounds = X.indptr.tolist()
    pairs = list(zip(X.indices.tolist(), X.data.tolist(), strict=True))
    return [pairs[start:stop] for start, stop in pairwise(bounds)]


def _mappings(X: sp.csr_array, y: Array) -> list[tuple[dict[str, float], float]]:
    rows = [{str(j): value for j, value in entries} for entries in _entries(X)]
    return list(zip(rows, y.tolist(), strict=True))


def _start_river() -> Callable[[Any], object]:
    from river import linear_model

    model = linear_model.LinearRegression()

    def follow(rows: list[tuple[dict[str, float], float]]) -> None:
        for x, label in rows:
            model.predict_one(x)
            model.learn_one(x, label)

    return follow


def _lines(X: sp.csr_array, y: Array) -> list[str]:
    """Vowpal Wabbit's text, which its Python interface parses while the clock runs."""
    rows = zip(_entries(X), y.tolist(), strict=True)
    return [f"{label} | " + " ".join(f"{j}:{value}" for j, value in entries) for entries, label in rows]


def _start_wabbit() -> Callable[[Any], object]:
    """Each example stores the prediction made before it was learned."""
    from vowpalwabbit import Workspace

    model = Workspace("--quiet -b 20")

    def follow(lines: list[str]) -> None:
        for line in lines:
            example = model.example(line)
            model.learn(example)
            example.get_updated_prediction()
            model.finish_example(example)

    return follow


RIVER, WABBIT = "River LinearRegression", "Vowpal Wabbit, Python interface"
FOLLOWERS = {
    "NLMS": ours(dl.NLMS),
    "EG, norm 10": ours(lambda: dl.EG(norm=10.0, rate=1e-3)),
    "SparseDFOP, sparse matrix": ours(lambda: dl.SparseDFOP(matrix="sparse")),
    "SparseDFOP, Gaussian matrix": ours(dl.SparseDFOP),
    "NLMS, one row at a time": one_by_one(dl.NLMS),
} | {
    name: Follower(prepare, start)
    for module, name, prepare, start in (
        ("river", RIVER, _mappings, _start_river),
        ("vowpalwabbit", WABBIT, _lines, _start_wabbit),
    )
    if find_spec(module)
}
