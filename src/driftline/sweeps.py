"""A whole grid of hyper-parameters over one stream at once."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from driftline import inputs
from driftline.base import Learner
from driftline.errors import DivergenceError
from driftline.inputs import Array, Table

if TYPE_CHECKING:
    from driftline.evaluate import Table as Printed

WHERE = "sweep"
BLOCK_BYTES = 2**20  # of X: what stays in the cache while one setting after another learns it


@dataclass(frozen=True, eq=False)
class Sweep:
    """What came out of a sweep.

    Attributes:
        settings: the parameters that were tried, in the order of the grid.
        losses: the mean squared error of each, predicted before learned; infinite where its weights diverged.
        models: the learners as the last row left them; None where one diverged.
    """

    settings: list[dict[str, Any]]
    losses: Array
    models: list[Learner | None]

    @property
    def best(self) -> dict[str, Any]:
        """The parameters with the least loss."""
        if not np.isfinite(self.losses).any():
            raise ValueError("sweep: every setting diverged, there is no best one")
        return self.settings[int(np.argmin(self.losses))]

    def table(self, rows: int | None = None) -> Printed:
        """Settings and losses, the best first."""
        from driftline.evaluate import Table as Printed

        order = np.argsort(self.losses, kind="stable")[:rows]
        names = list(dict.fromkeys(name for setting in self.settings for name in setting))
        lines: list[list[Any]] = [
            [*(str(self.settings[i].get(name, "")) for name in names), float(self.losses[i])] for i in order
        ]
        return Printed([*names, "mse"], lines)

    def __len__(self) -> int:
        return len(self.settings)

    def __str__(self) -> str:
        return str(self.table())


def sweep(
    learner: Learner,
    grid: Mapping[str, Iterable[Any]] | Iterable[Mapping[str, Any]],
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    jobs: int | None = None,
) -> Sweep:
    """Runs every setting of a grid over the same rows, on all cores.

    The rows are read and converted once for all settings of a thread, and each block of them is learned by all while it is
    in the cache. Each setting gives exactly what ``run`` of a learner with these parameters gives.

    Args:
        learner: says the kind and the parameters that do not vary. It is not changed.
        grid: lists of values by parameter, of which every combination is tried; or the settings themselves.
        X: (T, d) array or frame.
        y: (T,) labels.
        sample_weight: (T,) weights of the rows.
        jobs: threads; None for as many as there are cores.

    >>> import driftline as dl
    >>> X, y = dl.streams.Rotating(rate=0.01, noise=0.1, seed=0).take(2000)
    >>> result = dl.sweep(dl.RLS(), {"forgetting": [0.9, 0.99, 1.0], "ridge": [0.1, 10.0]}, X, y)
    >>> len(result), result.best["forgetting"]
    (6, 0.9)
    """
    settings = _settings(grid)
    models: list[Learner | None] = [learner.clone(setting) for setting in settings]
    table = inputs.as_table(X, WHERE)
    labels = inputs.as_vector(y, table.rows, WHERE, "y")
    weight = inputs.as_weights(sample_weight, table.rows, WHERE)
    if jobs is not None and (isinstance(jobs, bool) or not isinstance(jobs, (int, np.integer)) or jobs < 1):
        raise ValueError(f"{WHERE}: jobs must be None or a whole number of at least 1, got {jobs!r}")
    threads = min(int(jobs or os.cpu_count() or 1), len(models))
    totals, counts = np.zeros(len(models)), np.zeros(len(models))
    shares = [range(first, len(models), threads) for first in range(threads)]
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda share: _learn(models, share, table, labels, weight, totals, counts), shares))
    with np.errstate(invalid="ignore", divide="ignore"):
        losses = np.where([model is None for model in models], np.inf, totals / counts)
    return Sweep(settings, losses, models)


def _settings(grid: Any) -> list[dict[str, Any]]:
    if isinstance(grid, Mapping):
        values = [_values(name, some) for name, some in grid.items()]
        settings = [dict(zip(grid, combination, strict=True)) for combination in itertools.product(*values)]
    else:
        settings = [dict(setting) for setting in grid]
    if not settings:
        raise ValueError(f"{WHERE}: the grid is empty")
    return settings


def _values(name: str, some: Any) -> Sequence[Any]:
    if isinstance(some, (str, bytes)) or not isinstance(some, Iterable):
        raise ValueError(f"{WHERE}: the grid needs a list of values for {name}, got {some!r}")
    return list(some)


def _rows_at_once(columns: int) -> int:
    return max(256, BLOCK_BYTES // (8 * columns))


def _learn(
    models: list[Learner | None],
    share: range,
    table: Table,
    y: Array,
    weight: Array | None,
    totals: Array,
    counts: Array,
) -> None:
    """Teaches a thread's share of the models, block by block."""
    for start, block in table.blocks(_rows_at_once(table.columns)):
        rows = slice(start, start + len(block))
        for i in share:
            model = models[i]
            if model is None:
                continue
            try:
                run = model.run(block, y[rows], sample_weight=None if weight is None else weight[rows])
            except DivergenceError:
                models[i] = None
                continue
            except Exception as error:
                error.add_note(f"while {model!r} learned the block that begins at row {start}")
                raise
            with np.errstate(over="ignore"):
                losses = run.losses
            known = np.isfinite(losses) if run.skipped else slice(None)
            totals[i] += losses[known].sum()
            counts[i] += losses[known].size
