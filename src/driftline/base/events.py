"""Events: what changed in a stream, and when."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from driftline import _core
from driftline.base.rules import number
from driftline.storage import codec
from driftline.storage.codec import Stateful
from driftline.tables import kinds
from driftline.tables.block import MAPPINGS, NUMBERS, RowBlock, as_block
from driftline.tables.inputs import Array, Name

# In the order of cpp/include/driftline/events/kinds.hpp.
KINDS = (
    "label_level", "label_scale", "label_spread", "label_stuck", "label_late", "input_range", "input_stuck", "input_moved",
    "input_units", "input_missing", "category_new", "effect_changed", "noise", "outliers", "season_shifted", "clock_jump",
    "unknown",
)  # fmt: skip
SENTENCES = {
    "label_level": "{who} is {after} on average, instead of {before}",
    "label_scale": "{who} is {after} on average, instead of {before}",
    "label_spread": "{who} varies by {after}, and by {before} before",
    "label_stuck": "{who} is stuck at {after}",
    "label_late": "{who} comes {after} rows later: each row has the value of an earlier one",
    "input_range": "{who} is {after}, outside its range, which ended at {before}",
    "input_stuck": "{who} is stuck at {after}",
    "input_moved": "{who} is {after} on average, instead of {before}",
    "input_units": "{who} is {after} on average, instead of {before}: other units",
    "category_new": "{who} has a new value, {after}",
    "effect_changed": "the effect of {who} on {target} changed: {after} for each unit, and {before} before",
    "noise": "{who} is noisier: what cannot be predicted grew from {before} to {after}",
    "clock_jump": "the times of the rows jump by {after}, usually by {before}",
    "unknown": "errors are {after}, and were {before} before; no cause stands out",
}
WIDEST = 128  # inputs; wider rows are watched without them
MOST_TEXTS = 4096  # told apart in a column; all later ones count as one
PIECE = 8192  # rows of a frame that are converted at once
BEFORE, FEWEST_BEFORE = 2048, 128  # rows with which a period is compared


@dataclass(frozen=True)
class Event:
    """A change in a stream.

    Attributes:
        row: the estimated first row of the change, 0-based.
        found: the row that gave it away.
        kind: what changed: see :doc:`/events`.
        column: the name of the input, or its number if it has none; None if the labels changed.
        before, after: the figure that changed, which depends on the kind.
        confidence: from 0 to 1.
        text: the new value of an input that holds texts; None for other events.
    """

    row: int
    found: int
    kind: str
    column: Name | int | None
    before: float
    after: float
    confidence: float
    text: str | None = None

    def __str__(self) -> str:
        return f"row {self.row:,}: {self.sentence()}"

    def sentence(self, target: str = "the label", number: Callable[[float], str] = "{:.4g}".format) -> str:
        """What changed, in words.

        Args:
            target: the name of the label.
            number: writes a number.
        """
        before, after = number(self.before), number(self.after) if self.text is None else repr(self.text)
        who = target if self.column is None else str(self.column)
        if self.kind in ("label_scale", "input_units") and self.before:
            return f"{who} is {number(self.after / self.before)} times what it was: on average {after}, instead of {before}"
        if self.kind == "season_shifted":
            return f"{who} keeps its rhythm, but is {after} rows off"
        if self.kind == "outliers":
            return f"{after} outliers of {who}" if self.after > 1 else f"an outlier of {who}"
        if self.kind == "input_missing":
            return f"{who} is missing in {self.after:.0%} of the rows, and was in {self.before:.0%}"
        return SENTENCES[self.kind].format(who=who, target=target, before=before, after=after)


class Watch(Stateful):
    """Watches labels, predictions and inputs, and finds what changed: see :doc:`/events`.

    It keeps the latest rows, up to 4,096, so its memory does not grow with the stream. Events do not depend on how the rows
    are cut into blocks. Rows of more than 128 inputs are watched without them.

    Args:
        false_every: the least average number of rows between two false alarms of the errors, as in :class:`Alarm`.

    >>> import driftline as dl
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2)) + 8
    >>> y = X @ [1.0, 2.0] + 0.3 * rng.normal(size=2000)
    >>> X[1500:, 1] *= 3.6
    >>> watch = dl.Watch()
    >>> watch.update_many(y, dl.RLS().run(X, y).predictions, X)
    >>> [(event.kind, event.column, event.row) for event in watch.events]
    [('input_units', 1, 1500)]
    """

    def __init__(self, *, false_every: float = 10_000) -> None:
        self.false_every = float(number(ge=10).require("Watch", "false_every", false_every))
        self._core = _core.Watch(math.log(self.false_every))
        self._names: Sequence[Name] | None = None
        self._codes: dict[Name, dict[str, int]] = {}  # of texts, by column

    def update(self, y: float, prediction: float, x: Any = None) -> None:
        """Takes one row; ``x`` is its inputs, a sequence of numbers."""
        self.update_many([y], [prediction], None if x is None else [x])

    def update_many(self, y: Any, predictions: Any, X: Any = None) -> None:
        """Takes rows in order. A missing label, prediction or input is NaN.

        Args:
            y: (T,) labels.
            predictions: (T,) made before the labels were seen.
            X: (T, d) array or frame of the inputs.
        """
        where = "Watch.update_many"
        labels = np.ascontiguousarray(y, dtype=np.float64)
        predicted = np.ascontiguousarray(predictions, dtype=np.float64)
        if labels.ndim != 1 or labels.shape != predicted.shape:
            shapes = f"got shapes {labels.shape} and {predicted.shape}"
            raise ValueError(f"{where}: y and predictions must have one dimension and the same length, {shapes}")
        if X is None or not len(labels):
            self._core.add(labels, predicted, np.empty((len(labels), 0)), [])
            return
        block = as_block(X, where)
        if len(block) != len(labels):
            raise ValueError(f"{where}: X has {len(block)} rows, y has {len(labels)}")
        if self._names is None:
            self._names = block.names
        step = len(labels) if _is_plain(block) else PIECE
        for start in range(0, len(labels), step):
            rows = slice(start, min(start + step, len(labels)))
            table, coded = as_watched(block, rows, where, self._codes)
            self._core.add(labels[rows], predicted[rows], table, coded)

    @property
    def events(self) -> list[Event]:
        """The events so far, sorted by row. A change is judged by the rows since, so the latest event may change yet."""
        return as_events(np.asarray(self._core.events()), self._names, self._codes)

    def __getstate__(self) -> dict[str, Any]:
        core: dict[str, Any] = self._core.get_state()
        names = None if self._names is None else list(self._names)
        return {"false_every": self.false_every, "names": names, "codes": self._codes, **core}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(false_every=state["false_every"])  # type: ignore[misc]
        self._core.set_state(state)
        self._names = state["names"]
        self._codes = {name: dict(codes) for name, codes in state["codes"].items()}

    def __repr__(self) -> str:
        return f"Watch(false_every={self.false_every:g})"


codec.register(Watch, "Watch")


def _is_plain(block: RowBlock) -> bool:
    return block.kind == NUMBERS and block.values.dtype in (np.float64, np.float32)


def as_watched(block: RowBlock, rows: slice, where: str, codes: dict[Name, dict[str, int]]) -> tuple[Array, list[bool]]:
    """Rows as numbers, and which columns are codes of texts; no columns if there are too many. Times are not watched."""
    if block.kind == MAPPINGS or block.columns > WIDEST:
        return np.empty((rows.stop - rows.start, 0)), []
    if _is_plain(block):
        return block.values[rows], []
    columns, coded = [], []
    for name, given in block.given(rows.start, rows.stop, where).items():
        values = np.zeros(rows.stop - rows.start)
        if given.kind == kinds.TEXT:
            known = codes.setdefault(name, {})
            texts = given.values.values
            numbers = np.full(len(texts) + 1, np.nan)  # the last one is for missing texts
            used, firsts = np.unique(given.values.codes, return_index=True)
            for code in used[np.argsort(firsts)].tolist():  # in the order of the rows, however they are cut into blocks
                if code >= 0:
                    numbers[code] = known.get(texts[code], MOST_TEXTS)
                    if len(known) < MOST_TEXTS:
                        numbers[code] = known.setdefault(texts[code], len(known))
            values = numbers[given.values.codes]
        elif given.kind in (kinds.NUMBER, kinds.TRUTH):
            values = np.asarray(given.values, dtype=np.float64)
        columns.append(values)
        coded.append(given.kind == kinds.TEXT)
    return np.column_stack(columns), coded


def explain(y: Array, errors: Array, X: Any, start: int, stop: int, where: str) -> list[Event]:
    """What distinguishes rows ``start`` to before ``stop`` from the 2,048 rows before: :meth:`driftline.Run.explain`."""
    if not 0 <= start < stop <= len(y):
        raise ValueError(f"{where}: start and stop must be in order, from 0 to {len(y):,}, got {start:,} and {stop:,}")
    if start < FEWEST_BEFORE:
        raise ValueError(f"{where}: start must be at least {FEWEST_BEFORE}, to compare with the rows before, got {start:,}")
    rows = slice(max(0, start - BEFORE), stop)
    table, names = np.empty((stop - rows.start, 0)), None
    coded: list[bool] = []
    codes: dict[Name, dict[str, int]] = {}
    if X is not None:
        block = as_block(X, where)
        table, coded = as_watched(block, rows, where, codes)
        names = block.names
    found = explain_rows(y[rows], errors[rows], table, coded, start - rows.start, names, codes)
    return [replace(event, row=event.row + rows.start, found=start) for event in found]


def explain_rows(
    y: Array,
    errors: Array,
    table: Array,
    coded: list[bool],
    start: int,
    names: Sequence[Name] | None,
    codes: Mapping[Name, dict[str, int]],
) -> list[Event]:
    """What distinguishes the rows from ``start`` on from those before."""
    labels, missed = (np.ascontiguousarray(values, dtype=np.float64) for values in (y, errors))
    found = _core.explain(labels, missed, np.asarray(table, dtype=np.float64), start, len(labels), coded)
    return as_events(np.asarray(found), names, codes)


def as_events(table: Array, names: Sequence[Name] | None, codes: Mapping[Name, dict[str, int]]) -> list[Event]:
    """The events in a table of the core; ``codes`` are those of the texts of each column."""
    found = []
    for row, at, kind, column, before, after, confidence in table.tolist():
        place = None if column < 0 else int(column) if names is None else names[int(column)]
        text = _text(codes[place], after) if KINDS[int(kind)] == "category_new" and place in codes else None
        found.append(Event(int(row), int(at), KINDS[int(kind)], place, before, after, confidence, text))
    return found


def _text(codes: dict[str, int], code: float) -> str:
    return next((text for text, each in codes.items() if each == code), "another text")
