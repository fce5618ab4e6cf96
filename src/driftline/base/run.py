"""The result of a run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from driftline import extensions
from driftline.base import events
from driftline.base.alarm import Alarm
from driftline.base.events import Event, Watch
from driftline.base.levels import quantile_names
from driftline.tables.inputs import Array
from driftline.tables.outputs import as_frame

if TYPE_CHECKING:
    from driftline.base.learner import Learner

PAGES = (".html", ".htm")  # endings of a report's file


def require_page(path: str | os.PathLike[str], where: str) -> None:
    """Raises ValueError unless a report's file name ends in .html or .htm."""
    if os.path.splitext(path)[1].lower() not in PAGES:
        raise ValueError(f"{where}: a report is HTML: path must end in {' or '.join(PAGES)}, got {os.fspath(path)!r}")


def _numbered(name: str, values: Array) -> dict[str, Array]:
    """A column, or several numbered ones if a row has several values."""
    return {name: values} if values.ndim == 1 else {f"{name}_{n}": column for n, column in enumerate(values.T)}


@dataclass(frozen=True, eq=False)
class Run:
    """The result of predicting, then learning, row by row.

    Attributes:
        predictions: made before the label was seen, (T,), or (T, m) for m labels per row; NaN where the row was skipped.
        errors: label minus prediction, (T,).
        lower, upper: ends of the intervals, (T,); None if no level was given.
        resets: 0-based indices of the rows after which the covariance was reset.
        weights: snapshots of the weights, intercept last, one every ``weights_every`` rows; None if not requested.
        memory: about how many rows the weights rested on at each snapshot; None if not requested or not known.
        drift: estimated speed of the target at each snapshot; None unless the learner is Auto.
        shares: weight of each expert at each snapshot, (snapshots, k); None unless the learner mixes others.
        experts: names of these experts.
        level: coverage of the intervals; None if not requested.
        quantiles: of the labels, (T, k); None if not requested.
        quantile_levels: their levels, (k,).
        weights_every: rows between two snapshots; None if not requested.
        skipped: number of rows not learned because a value was missing.
        frames: the library of the input frame: pandas, polars or pyarrow; None for other inputs.
        own_losses: of the learner's own loss, (T,); None if that is the squared error.
        wanted: whether the label of each row was used, (T,); None unless the learner is Selective.
        chances: with which probability, given the rows before, (T,).
        inputs, labels: what was given to the run, not copies, for :attr:`events`; None if not known.
    """

    predictions: Array
    errors: Array
    lower: Array | None = None
    upper: Array | None = None
    resets: Array = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    weights: Array | None = None
    memory: Array | None = None
    drift: Array | None = None
    shares: Array | None = None
    experts: tuple[str, ...] = ()
    weights_every: int | None = None
    level: float | None = None
    quantiles: Array | None = None
    quantile_levels: Array | None = None
    skipped: int = 0
    frames: str | None = None
    own_losses: Array | None = None
    wanted: Array | None = None
    chances: Array | None = None
    inputs: Any = field(default=None, repr=False)
    labels: Array | None = field(default=None, repr=False)

    @property
    def losses(self) -> Array:
        """Squared errors, or the losses of a learner that has its own, (T,)."""
        if self.own_losses is not None:
            return self.own_losses
        with np.errstate(over="ignore"):
            return np.square(self.errors)

    @property
    def snapshots(self) -> Array:
        """0-based indices of the rows after which the snapshots were taken."""
        if self.weights_every is None:
            return np.empty(0, dtype=np.int64)
        return np.arange(self.weights_every, len(self) + 1, self.weights_every) - 1

    @cached_property
    def alarms(self) -> Array:
        """0-based indices of the rows at which an :class:`driftline.Alarm` found that errors had become larger."""
        return Alarm().update_many(self.errors if self.errors.ndim == 1 else np.linalg.norm(self.errors, axis=1))

    @cached_property
    def events(self) -> list[Event]:
        """What changed in the labels and the inputs, in order: see :doc:`/events`.

        They are found on first use in the arrays given to ``run``, to which the run keeps a reference: do not change these
        before.
        """
        watch = Watch()
        watch.update_many(self._targets("Run.events"), self.predictions, self.inputs)
        return watch.events

    def explain(self, start: int, stop: int) -> list[Event]:
        """What distinguishes rows ``start`` to before ``stop`` from the rows before, up to 2,048: see :doc:`/events`.

        Each input that changed is an event. If none did, the only event is what happened to the labels; "unknown" if nothing
        stands out.
        """
        return events.explain(self._targets("Run.explain"), self.errors, self.inputs, start, stop, "Run.explain")

    def _targets(self, where: str) -> Array:
        if self.errors.ndim > 1 or self.predictions.dtype.kind != "f":
            raise ValueError(f"{where}: the run must predict one number a row")
        with np.errstate(over="ignore", invalid="ignore"):
            return self.predictions + self.errors if self.labels is None else self.labels

    def to_frame(self, like: Any = None) -> Any:
        """The rows as a pandas, polars or Arrow frame.

        The columns are prediction, error, lower and upper if a level was given, quantile_0.05 and so on if quantiles were
        requested, and reset and alarm, which say whether the row caused one. With several labels per row, prediction and
        error columns are numbered.

        Args:
            like: "pandas", "polars" or "pyarrow", or a frame of one of them; the index of a pandas frame is kept. By
                default the library of the input frame, or else the first one that is imported.

        >>> import pandas as pd
        >>> import driftline as dl
        >>> table = pd.DataFrame({"wind": [1.0, 2.0, 3.0]}, index=["a", "b", "c"])
        >>> run = dl.RLS().run(table, [2.0, 4.0, 6.0], level=0.9)
        >>> run.to_frame(like=table)["error"].round(2).to_dict()
        {'a': 2.0, 'b': 1.99, 'c': 1.32}
        """
        columns = {**_numbered("prediction", self.predictions), **_numbered("error", self.errors)}
        if self.lower is not None and self.upper is not None:
            columns |= {"lower": self.lower, "upper": self.upper}
        if self.quantiles is not None and self.quantile_levels is not None:
            columns |= dict(zip(quantile_names(self.quantile_levels), self.quantiles.T, strict=True))
        columns["reset"] = np.isin(np.arange(len(self)), self.resets)
        if self.predictions.dtype.kind == "f":
            columns["alarm"] = np.isin(np.arange(len(self)), self.alarms)
        return as_frame(columns, like, self.frames, "Run.to_frame")

    def report(
        self,
        path: str | os.PathLike[str],
        X: Any = None,
        *,
        model: Learner | None = None,
        times: Any = None,
        names: Sequence[Any] | None = None,
        target: str = "y",
        command: str | None = None,
        title: str | None = None,
    ) -> None:
        """Writes one HTML file that shows the run; see :doc:`/report`. Needs the extra ``report``.

        A run holds neither its inputs nor the learner. The report shows them if they are given here.

        Args:
            path: the file to write or replace, .html or .htm.
            X: the inputs of the run, for the best fixed linear model in hindsight and the spread of the features; frames
                may contain text and times.
            model: the learner after the run, for its parameters, weights, memory and certificate.
            times: times of the rows, dates or numbers, for the axis.
            names: feature names, if neither X nor the learner has them.
            target: the name of the label.
            command: the command that repeats the run, shown at the end.
            title: by default the learner's and the target's name.
        """
        require_page(path, "Run.report")
        (display,) = extensions.load("report")
        display.write_report(
            self, path, X, model=model, times=times, names=names, target=target, command=command, title=title
        )

    def plot(
        self,
        X: Any = None,
        *,
        model: Learner | None = None,
        times: Any = None,
        names: Sequence[Any] | None = None,
        target: str = "y",
        path: str | os.PathLike[str] | None = None,
    ) -> Any:
        """The charts of :meth:`report` as a matplotlib figure, saved to ``path`` if given. Needs the extra ``plot``."""
        (display,) = extensions.load("report")
        return display.plot(self, X, model=model, times=times, names=names, target=target, path=path)

    def _repr_html_(self) -> str:
        (display,) = extensions.load("report")
        html: str = display.run_html(self)
        return html

    def __getstate__(self) -> dict[str, Any]:
        """All but the inputs, which belong to the caller: a copy finds events in the labels alone."""
        return {**self.__dict__, "inputs": None}

    def __len__(self) -> int:
        return len(self.predictions)

    def __repr__(self) -> str:
        with np.errstate(over="ignore"):
            mse = np.nanmean(self.losses) if np.isfinite(self.errors).any() else np.nan
        parts = [f"rows={len(self)}", f"mse={mse:.6g}"]
        if self.resets.size:
            parts.append(f"resets={self.resets.size}")
        if self.skipped:
            parts.append(f"skipped={self.skipped}")
        return f"Run({', '.join(parts)})"
