"""Periodic fits of an estimator along a stream: which rows they use, when they start, and when they come into use."""

from __future__ import annotations

import copy
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from driftline.base.model import as_objects
from driftline.errors import warn
from driftline.tables.inputs import Array

_FEWEST = 32  # minimal number of rows for a fit before the first regular one


class Fits:
    """The recent rows and labels, the estimator in use, and the one that comes into use next.

    Args:
        estimator: the estimator to copy and fit.
        every: the number of rows between the starts of fits.
        window: the largest number of rows used for a fit.
        lags: the lags of the labels that are appended to the features.
        features: the number of features.
    """

    def __init__(self, estimator: Any, every: int, window: int, lags: tuple[int, ...], features: int) -> None:
        self._estimator, self._every, self._window, self._lags = estimator, every, window, lags
        self._takes_missing = _takes_missing(estimator)
        parts = (part * every >> half for half in range(2, every.bit_length() + 2) for part in (3, 2))
        self._early = [count for count in parts if count >= _FEWEST]  # early fits start after these row counts
        self._rows = np.empty((0, features + len(lags)))
        self._targets = np.empty(0)
        self.labels = np.empty(0)  # newest last, as many as the longest lag needs
        self._range = np.array([np.inf, -np.inf])  # of all labels
        self._count = 0
        self.started = self.failed = 0
        self._serving: Any = None
        self._next: Any = None  # a fitted estimator, an error message, or a future of either
        self._due = -1  # the row count at which it comes into use

    def get_state(self) -> dict[str, Array]:
        """Everything but the parameters. Waits for a fit in progress."""
        estimators = as_objects([self._serving, self._fitted()])
        numbers = np.array([self._count, self.started, self.failed, self._due], dtype=np.float64)
        rows = {"rows": self._rows.copy(), "targets": self._targets.copy(), "labels": self.labels.copy()}
        return {"estimators": estimators, "numbers": numbers, "range": self._range.copy(), **rows}

    def set_state(self, state: dict[str, Array]) -> None:
        """Restores what :meth:`get_state` returned."""
        self._serving, self._next = state["estimators"]
        self._count, self.started, self.failed, self._due = (int(number) for number in state["numbers"])
        names = ("rows", "targets", "labels", "range")
        self._rows, self._targets, self.labels, self._range = (state[name].copy() for name in names)

    def grow(self, features: int, more: int) -> None:
        """Adds features, which were 0 in earlier rows. A fitted estimator keeps using the features it was fitted on."""
        self._rows = np.insert(self._rows, [features] * more, 0.0, axis=1)

    @property
    def looks_back(self) -> bool:
        """Whether the estimator uses lags."""
        return bool(self._lags)

    def lagged(self, delay: int, labels: Array) -> Array:
        """The lagged labels of a row ``delay`` rows after the next one of ``labels``; NaN for those before the first."""
        out = np.full(len(self._lags), np.nan)
        for k, lag in enumerate(self._lags):
            multiple = (delay + lag) // lag * lag
            back = lag if lag <= delay and lag == k + 1 else multiple - delay
            if back <= len(labels):
                out[k] = labels[-back]
        return out

    def ranges(self, news: Array) -> tuple[Array, Array]:
        """The range of all labels widened by half at each end: before each of the new labels, and after the last."""
        low = np.minimum.accumulate(np.append(self._range[0], news))
        high = np.maximum.accumulate(np.append(self._range[1], news))
        reach = np.where(high >= low, 0.5 * high - 0.5 * low, 0.0)
        with np.errstate(over="ignore"):
            return np.where(high >= low, low - reach, -np.inf), np.where(high >= low, high + reach, np.inf)

    def predict(self, rows: Array, lagged: Array, first: Array) -> Array:
        """The predictions of the estimator in use; ``first`` for rows it cannot predict."""
        out, usable = first.copy(), self._usable(lagged)
        if self._serving is None or not usable.any():
            return out
        estimator, low, high, width = self._serving
        features = width - len(self._lags)
        predicted = estimator.predict(np.column_stack([rows[usable, :features], lagged[usable]]))
        predicted = np.asarray(predicted, dtype=np.float64).reshape(-1)
        reach = 0.5 * (high - low)
        out[usable] = np.clip(np.nan_to_num(predicted), low - reach, high + reach)
        return out

    def add(self, rows: Array, lagged: Array, y: Array, learned: Array | bool = True) -> None:
        """Adds rows and labels, at most :attr:`until` of them; a fit may then come into use or start.

        Lags count all these rows, but only those marked ``learned`` are used for fits.
        """
        usable = self._usable(lagged) & learned
        if usable.any():
            new = np.column_stack([rows[usable], lagged[usable]])
            self._rows = np.concatenate([self._rows, new])[-self._window :]
            self._targets = np.concatenate([self._targets, y[usable]])[-self._window :]
        self._range = np.array([min(self._range[0], y.min()), max(self._range[1], y.max())])
        self.labels = np.concatenate([self.labels, y])[-max(self._lags, default=1) - self._every :]
        self._count += len(y)
        self._serve()
        if self._count % self._every == 0 or self._count in self._early:
            self._begin()

    @property
    def until(self) -> int:
        """The number of rows to learn before a fit starts or comes into use."""
        regular = self._every * (self._count // self._every + 1)
        begins = min(fit - self._count for fit in (*self._early, regular) if fit > self._count)
        return begins if self._next is None else min(begins, max(self._due - self._count, 1))

    def _fitted(self) -> Any:
        """The estimator that comes into use next, after waiting for it, or an error message."""
        if isinstance(self._next, Future):
            self._next = self._next.result()
        return self._next

    def _begin(self) -> None:
        X, y = self._rows[-self._window :].copy(), self._targets[-self._window :].copy()
        if len(y) < (1 if self._count >= self._every else _FEWEST):
            return
        self._serve(now=True)  # if fits start faster than they come into use
        fresh = copy.deepcopy(self._estimator)
        pool = ThreadPoolExecutor(1)
        self._next = pool.submit(_fit, fresh, X, y)
        pool.shutdown(wait=False)
        self._due = self._count + min(self._count, self._every) // 10
        self.started += 1
        self._serve()

    def _serve(self, now: bool = False) -> None:
        if self._next is None or not (now or self._count >= self._due):
            return
        fitted, self._next, self._due = self._fitted(), None, -1
        if not isinstance(fitted, str):
            self._serving = fitted
            return
        self.failed += 1
        warn(f"Refit: a fit failed, so the previous one stays in use: {fitted}")

    def _usable(self, lagged: Array) -> Array:
        """Which rows can be passed to the estimator, judged by their lagged labels, (rows, lags)."""
        missing = np.isnan(lagged).sum(axis=1)
        return np.asarray(missing < max(len(self._lags), 1)) if self._takes_missing else missing == 0


def _fit(estimator: Any, X: Array, y: Array) -> tuple[Any, float, float, int] | str:
    """The fitted estimator, the range of its labels and its number of columns; or an error message."""
    try:
        return estimator.fit(X, y), y.min(), y.max(), X.shape[1]
    except Exception as error:  # whatever an estimator raises, the learner carries on
        return f"{type(error).__name__}: {error}"


def _takes_missing(estimator: Any) -> bool:
    """Whether an estimator's scikit-learn tags allow NaN in its inputs."""
    tags = getattr(estimator, "__sklearn_tags__", None)
    return tags is not None and bool(tags().input_tags.allow_nan)
