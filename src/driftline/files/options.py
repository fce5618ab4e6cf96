"""Options for reading a file and turning its columns into features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Self

from driftline.base.rules import WHOLE, choice
from driftline.errors import closest
from driftline.tables.categories import CATEGORIES
from driftline.tables.missing import WORDS

REGRESS, CLASSIFY = TASKS = ("regress", "classify")
_TASK = choice(TASKS)
NULLS = ("", "NA", "N/A", "n/a", "na", "#N/A", "NaN", "nan", "-nan", "NULL", "null", "None", "none", "?")


@dataclass(frozen=True)
class Options:
    """Options for reading a file and turning its columns into features.

    Each field is a keyword of :func:`open_rows` and an entry of a run's state. All but ``target_needed`` and ``optional``
    are options of the command line.

    Attributes:
        target: the column of the labels; None if there is none.
        task: "regress" if the target holds numbers, "classify" if it holds classes, which are read as text.
        features: the columns to use; None for all but the target.
        drop: columns to leave out.
        id: the column of the rows' ids, which is not a feature.
        key: the column that selects a row's model; it is not a feature.
        time: the column of the rows' times. Plain numbers only order the rows.
        time_format: how times are written, as in ``strptime``, if not like 2026-03-01 12:00.
        text: columns to treat as categories though they look like numbers.
        na: further spellings of a missing value.
        missing: what a missing value means: "mean" (of the values so far, the default), "last" (the last value) or "zero" in
            the place of a number, "skip" to leave out rows that lack a value, or "raise" to refuse the file. One word for
            all columns, or a word by column, with "" for all others.
        categories: how many texts of a column get their own feature.
        delimiter: what separates the values of a line; None to detect it.
        target_needed: whether to refuse a file without the target.
        optional: columns named by other fields that the file may lack.
    """

    target: str | None = None
    task: str = REGRESS
    features: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    id: str | None = None
    key: str | None = None
    time: str | None = None
    time_format: str | None = None
    text: tuple[str, ...] = ()
    na: tuple[str, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    categories: int = CATEGORIES
    delimiter: str | None = None
    target_needed: bool = field(default=True, metadata={"kept": False})
    optional: tuple[str, ...] = field(default=(), metadata={"kept": False})

    def __post_init__(self) -> None:
        for name in ("features", "drop", "text", "na"):
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, (given,) if isinstance(given, str) else tuple(given))
        words: Any = self.missing
        object.__setattr__(self, "missing", {"": words} if isinstance(words, str) else dict(words or {}))
        if self.delimiter is not None:
            object.__setattr__(self, "delimiter", self.delimiter.replace("\\t", "\t"))
        self._check()

    def _check(self) -> None:
        if both := self._chosen.intersection(self.drop):
            raise ValueError(f"{min(both)} is in both features and drop; name it once")
        if self.target is not None and self.target in (*(self.features or ()), *self.drop):
            raise ValueError(f"{self.target} is the target: it cannot be among features or drop")
        if self.id is not None and self.id in (self.target, self.time, *(self.features or ()), *self.drop):
            raise ValueError(f"{self.id} is the id: it cannot be the target, the time, or among features or drop")
        if self.key is not None and self.key in (self.target, self.time, self.id, *(self.features or ()), *self.drop):
            raise ValueError(f"{self.key} is the key: it cannot be the target, the time, the id, or among features or drop")
        if self.time is not None and self.time in self.text:
            raise ValueError(f"{self.time} is the time: it cannot be among text")
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise ValueError(f"delimiter must be one character, got {self.delimiter!r}")
        for name, policy in self.missing.items():
            if policy not in WORDS:
                of = f" for {name!r}" if name else ""
                raise ValueError(f"missing{of} must be one of {', '.join(WORDS)}, got {policy!r}.{closest(policy, WORDS)}")
        WHOLE.require("Options", "categories", self.categories)
        _TASK.require("Options", "task", self.task)

    def wants(self, name: str) -> bool:
        """Whether a column is read."""
        return name in (self.time, self.target, self.id, self.key) or self.is_feature(name)

    def is_feature(self, name: str) -> bool:
        """Whether a column is a feature. The time column may only order the rows."""
        return name not in self._left_out and (self.features is None or name in self._chosen)

    @cached_property
    def _chosen(self) -> frozenset[str]:
        return frozenset(self.features or ())

    @cached_property
    def _left_out(self) -> frozenset[str | None]:
        return frozenset((*self.drop, self.target, self.id, self.key))

    @property
    def named(self) -> list[str]:
        """The columns that the file must have, besides the target."""
        others = filter(None, (self.time, self.id, self.key, *self.missing))
        return [name for name in (*(self.features or ()), *self.drop, *self.text, *others) if name not in self.optional]

    @cached_property
    def texts(self) -> Mapping[str, None]:
        """The columns that are always read as text, in order."""
        classes = self.target if self.task == CLASSIFY else None
        return dict.fromkeys((*self.text, *(name for name in (self.id, self.key, classes) if name is not None)))

    @property
    def nulls(self) -> list[str]:
        """Every spelling of a missing value."""
        return [*NULLS, *self.na]

    def plain(self) -> dict[str, Any]:
        """The options as plain values for JSON, by name."""
        return {name: list(value) if isinstance(value := getattr(self, name), tuple) else value for name in _KEPT}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Inverts :meth:`plain`; ignores further entries, and raises KeyError if one is missing."""
        return cls(**{name: plain[name] for name in _KEPT})


_KEPT = [each.name for each in fields(Options) if each.metadata.get("kept", True)]
