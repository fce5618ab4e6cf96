"""Scores of methods that the library does not have: measured by ``make rivals``, kept in ``rivals.json``.

A score is used only for the rows on which it was measured: a fingerprint identifies a data set.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FILE = Path(__file__).with_name("rivals.json")
CLASSIFICATION, REGRESSION = "classification", "regression"
PAPER, OURS, TODAY, BASELINE = "the paper's", "driftline's", "today's", "a baseline"


class Kept(NamedTuple):
    """A method's scores on some of the ten subsets of a data set.

    Attributes:
        subsets: their indices.
        scores: shares of right labels, or mean squared errors; infinite if a method broke down.
        microseconds: processor time per row, for predicting and learning.
    """

    subsets: tuple[int, ...]
    scores: NDArray[Any]
    microseconds: float


class About(NamedTuple):
    """The origin of a method: its authors, how it is built here, and the library and version that provide it."""

    origin: str
    words: str
    library: str


@dataclass(frozen=True, eq=False)
class Rivals:
    """The contents of ``rivals.json``."""

    content: Mapping[str, Any]

    def methods(self, task: str) -> dict[str, About]:
        """The methods run, in the order of the tables."""
        return {name: About(**about) for name, about in self.content["methods"][task].items()}

    def data_sets(self, task: str) -> dict[str, Mapping[str, Any]]:
        """Everything about each data set, by its name."""
        return dict(self.content["data_sets"][task])

    def scores(self, task: str, name: str) -> dict[str, Kept]:
        """All methods' scores on a data set, without checking rows."""
        by_method = self.content["data_sets"][task][name]["methods"]
        order = [method for method in self.content["methods"][task] if method in by_method]
        return {method: kept(by_method[method]) for method in order}

    def on(self, task: str, name: str, X: NDArray[Any], y: NDArray[Any]) -> dict[str, Kept]:
        """The scores on exactly these rows; empty if they were measured on other rows, or never."""
        found = self.content["data_sets"][task].get(name)
        if found is None or not same(found["fingerprint"], fingerprint(X, y)):
            return {}
        return self.scores(task, name)

    def holdout(self, name: str, X: NDArray[Any], y: NDArray[Any]) -> NDArray[Any] | None:
        """DWM's counts of right labels on fresh rows, (repetition, sample), if its first repetition had these rows."""
        found = self.content["holdout"].get(name)
        if found is None or not same(found["fingerprint"], fingerprint(X, y)):
            return None
        return np.array(found["DWM"])


def kept(record: Mapping[str, Any]) -> Kept:
    """A record of the file; null, which means a breakdown, becomes infinite."""
    values = np.array([np.inf if score is None else score for score in record["scores"]])
    return Kept(tuple(record["subsets"]), values, record["microseconds"])


def fingerprint(X: NDArray[Any], y: NDArray[Any]) -> list[float]:
    """Rows, inputs, and sums that depend on the values and their order.

    >>> fingerprint(np.array([[1.0], [2.0]]), np.array([3.0, 5.0]))
    [2.0, 1.0, 3.0, 8.0, 23.0]
    """
    sums = X.sum(axis=1)
    order = np.arange(1, len(y) + 1)
    return [float(v) for v in (*X.shape, sums.sum(), y.sum(), (order * y * sums).sum())]


def same(first: list[float], second: list[float]) -> bool:
    """Whether two fingerprints agree, up to rounding."""
    return len(first) == len(second) and bool(np.allclose(first, second, rtol=1e-7, atol=1e-6))


@cache
def load() -> Rivals:
    """The scores that come with the library."""
    return Rivals(json.loads(FILE.read_text("utf-8")))
