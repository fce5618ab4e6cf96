"""Runs a grid of hyper-parameters over one stream in one pass."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftline.base.learner import Learner
from driftline.base.processors import cores
from driftline.base.rules import COUNT
from driftline.errors import RowRefusedError
from driftline.evaluate import plots
from driftline.evaluate.grid import Grid, Params, settings_of
from driftline.evaluate.sweep_rows import Blocks, reader
from driftline.evaluate.tables import Cell, Table
from driftline.tables.inputs import Array

WHERE = "sweep"


@dataclass(frozen=True, eq=False)
class Sweep:
    """The result of a sweep.

    Attributes:
        settings: the settings that were tried, in the order of the grid.
        losses: the mean squared error of each setting, in which every row counts once, whatever its weight; for a classifier
            the share of wrong labels. Infinite if a row could not be learned, NaN if all rows were skipped.
        models: the learners after the last row; None if a row could not be learned.
        reasons: why a row could not be learned: the weights diverged, or the parameters do not suit it; None if all rows
            were learned.
    """

    settings: list[Params]
    losses: Array
    models: list[Learner | None]
    reasons: list[str | None]

    @property
    def best(self) -> Params:
        """The parameters with the smallest loss."""
        return self.settings[self._place()]

    @property
    def best_model(self) -> Learner:
        """The learner with the smallest loss, after the last row."""
        model = self.models[self._place()]
        assert model is not None  # its loss is finite
        return model

    def _place(self) -> int:
        finite = np.isfinite(self.losses)
        if finite.any():
            return int(np.where(finite, self.losses, np.inf).argmin())
        if np.isnan(self.losses).all():
            raise ValueError(f"{WHERE}: every row was skipped, so no setting is better than another")
        reason = next((reason for reason in self.reasons if reason is not None), "its loss is beyond the range of float64")
        raise ValueError(f"{WHERE}: no setting has a finite loss, so there is no best one. The first that failed: {reason}")

    def table(self, rows: int | None = None) -> Table:
        """Settings and losses, best first."""
        order = np.argsort(self.losses, kind="stable")[:rows]
        names = list(dict.fromkeys(name for setting in self.settings for name in setting))
        lines: list[list[Any]] = [[*(_cell(self.settings[i], name) for name in names), float(self.losses[i])] for i in order]
        return Table([*names, self._measure], lines)

    def plot(self, *, ax: Any = None, path: Any = None) -> Any:
        """Plots the losses over the parameter with the most values, one line for each setting of the others (matplotlib)."""
        return plots.draw_settings(self.settings, self.losses.tolist(), self._measure, ax=ax, path=path)

    @property
    def _measure(self) -> str:
        kinds = {model._estimator_type for model in self.models if model is not None}
        return "error rate" if kinds == {"classifier"} else "mse"

    def __len__(self) -> int:
        return len(self.settings)

    def __str__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def _cell(setting: Params, name: str) -> Cell:
    """A number with all its digits; anything else as text."""
    if name not in setting:
        return Cell(None, "")
    value = setting[name].item() if isinstance(setting[name], np.generic) else setting[name]
    return Cell(value if value is None or type(value) in (bool, int, float) else str(value), str(value))


def sweep(
    learner: Learner,
    grid: Grid,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    jobs: int | None = None,
) -> Sweep:
    """Runs every setting of a grid over the same rows, on all cores.

    The rows are read and converted once for all settings of a thread, and all of these learn a block while it is in the
    cache. Each setting gives exactly the result of ``run`` with these parameters. A setting whose weights diverge, or that
    cannot learn a row, stops there; the others continue.

    Args:
        learner: a learner with the parameters that do not vary. It is not changed.
        grid: lists of values by parameter, all combinations of which are tried; or a list of settings.
        X: as in the learner's ``run``: (T, d) array, frame, or sparse rows.
        y: (T,) labels, or several a row if the learner supports it.
        sample_weight: (T,) weights of the rows.
        jobs: the number of threads; None for as many as there are cores.

    >>> import driftline as dl
    >>> X, y = dl.streams.Rotating(rate=0.01, noise=0.1, seed=0).take(2000)
    >>> result = dl.sweep(dl.RLS(), {"forgetting": [0.9, 0.99, 1.0], "ridge": [0.1, 10.0]}, X, y)
    >>> len(result), result.best["forgetting"], result.best_model.n_seen_
    (6, 0.9, 2000)
    """
    if not isinstance(learner, Learner):
        raise TypeError(f"{WHERE}: learner must be a driftline learner, such as RLS(), got {learner!r}")
    settings = settings_of(grid, WHERE)
    jobs = COUNT.or_none().require(WHERE, "jobs", jobs)
    candidates = [_Candidate(learner.clone(setting)) for setting in settings]
    blocks = reader(learner.clone(settings[0]), X, y, sample_weight, WHERE)
    _learn_all(candidates, blocks, min(jobs or cores(), len(candidates)))
    losses = np.array([candidate.loss for candidate in candidates])
    return Sweep(
        settings, losses, [candidate.model for candidate in candidates], [candidate.reason for candidate in candidates]
    )


class _Candidate:
    """One setting's learner and loss so far."""

    def __init__(self, model: Learner) -> None:
        self.model: Learner | None = model
        self.reason: str | None = None
        self._total, self._count = 0.0, 0

    def learn(self, start: int, X: Any, y: Any, weight: Array | None) -> None:
        """Learns a block of rows that begins at ``start``, unless an earlier row was refused."""
        if self.model is None:
            return
        try:
            run = self.model.run(X, y, sample_weight=weight)
        except RowRefusedError as error:
            self.model, self.reason = None, _place(error, start)
            return
        except (ValueError, TypeError) as error:
            if start == 0:
                raise
            raise (TypeError if isinstance(error, TypeError) else ValueError)(_place(error, start)) from error
        losses = run.losses
        if run.skipped:
            losses = losses[~np.isnan(losses)]
        with np.errstate(over="ignore"):
            self._total += float(losses.sum())
        self._count += losses.size

    @property
    def loss(self) -> float:
        """The mean loss so far."""
        if self.model is None:
            return np.inf
        return self._total / self._count if self._count else np.nan


def _place(error: Exception, start: int) -> str:
    return str(error) if start == 0 else f"{WHERE}: in the rows from {start} on, numbered from there, {error}"


def _learn_all(candidates: list[_Candidate], blocks: Callable[[], Blocks], threads: int) -> None:
    """Learns block by block, each thread for its share of the settings. An error or interrupt soon ends all threads."""
    ended = threading.Event()

    def learn(share: list[_Candidate]) -> None:
        try:
            for block in blocks():
                for candidate in share:
                    if ended.is_set():
                        return
                    candidate.learn(*block)
        except BaseException:
            ended.set()
            raise

    shares = [candidates[first::threads] for first in range(threads)]
    with ThreadPoolExecutor(threads) as pool:
        try:
            others = [pool.submit(learn, share) for share in shares[1:]]
            learn(shares[0])
            for other in others:
                other.result()
        except BaseException:
            ended.set()
            raise
