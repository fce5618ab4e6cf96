"""The rows of a comparison: one sequence to tune on, and one for each repetition."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from driftline.base.rules import PROBABILITY, Rule, choice
from driftline.evaluate.adapters import unused
from driftline.evaluate.sources import Pair, Source, as_rows, as_table, is_dataset
from driftline.tables.block import MAPPINGS, RowBlock

PROTOCOLS = ("repeats", "subsets")
_TUNING_SHARE = Rule(PROBABILITY.check, f"a share {PROBABILITY.words}, or rows to tune on")


def subsets(rows: int, count: int = 10) -> list[tuple[int, int]]:
    """Starts and ends of consecutive subsets of 4/5 of the rows; ten of them start at T/50, 2T/50, …, T/5.

    >>> subsets(1000)[0], subsets(1000)[-1], len(subsets(1000))
    ((20, 820), (200, 1000), 10)
    """
    length = 4 * rows // 5
    starts = [i * rows // (5 * count) for i in range(1, count + 1)]
    return [(start, start + length) for start in starts]


def seeds(seed: int, repeats: int) -> tuple[int, list[int]]:
    """The seed of the tuning sequence, and those of the repetitions, which do not depend on their number."""
    tuning, *others = np.random.SeedSequence(seed).generate_state(repeats + 1).tolist()
    return tuning, others


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """A stream, and how to take sequences from it.

    Args:
        data: (X, y), a stream, or a function that makes either from a seed.
        rows: rows of a sequence; None for all.
        repeats: how many sequences.
        protocol: "repeats" draws each with its own seed; "subsets" cuts them out of one, see :func:`subsets`.
        seed: the seed from which the sequences' seeds are derived.
        tuning: (X, y) or a stream to tune on; or, if the data cannot be drawn again, the share of its first rows to set
            aside for it.
    """

    data: Any
    rows: int | None
    repeats: int
    protocol: str
    seed: int
    tuning: Any

    def sequence(self, repetition: int) -> Pair:
        """The rows of a repetition."""
        if self.protocol == "repeats":
            return self._drawn(seeds(self.seed, self.repeats)[1][repetition])
        rows = as_rows(self._one(), "compare")
        aside = self._set_aside(len(rows))
        start, stop = subsets(len(rows) - aside, self.repeats)[repetition]
        return _pair(rows[aside + start : aside + stop])

    def tuning_sequence(self) -> Pair:
        """The rows to tune on; no repetition contains them."""
        if self.tuning is not None and not isinstance(self.tuning, float):
            return materialise(self.tuning, self.rows)
        if redrawable(self.data):
            return self._drawn(seeds(self.seed, self.repeats)[0])
        rows = as_rows(self._one(), "compare")
        return _pair(rows[: self._set_aside(len(rows))])

    def _set_aside(self, rows: int) -> int:
        if isinstance(self.tuning, float) and not redrawable(self.data):
            return int(self.tuning * rows)
        return 0

    def _one(self) -> Pair:
        if callable(self.data) and not hasattr(self.data, "take"):
            return self._drawn(self.seed)
        return materialise(self.data, self.rows)

    def _drawn(self, seed: int) -> Pair:
        return materialise(redraw(self.data, seed), self.rows)


def redrawable(data: Any) -> bool:
    """Whether another seed gives other rows of the same kind."""
    if isinstance(data, tuple):
        return False
    seeded = dataclasses.is_dataclass(data) and any(field.name == "seed" for field in dataclasses.fields(data))
    return hasattr(data, "reseeded") or seeded or (callable(data) and not hasattr(data, "take"))


def redraw(data: Any, seed: int) -> Any:
    """The same kind of data from another seed."""
    if hasattr(data, "reseeded"):
        return data.reseeded(seed)
    if callable(data):
        return data(seed)
    return dataclasses.replace(data, seed=seed)


def materialise(data: Any, rows: int | None) -> Pair:
    """All rows as one table with its labels."""
    if isinstance(data, tuple) and len(data) == 2:
        block = as_rows(data, "compare")
        return _pair(block if rows is None else block[:rows])
    if hasattr(data, "take") and not is_dataset(data):
        length = rows if rows is not None else getattr(data, "length", None)
        if length is None:
            raise ValueError(f"compare: give rows: {type(data).__name__} is endless")
        return _pair(as_rows(data.take(length), "compare"))
    blocks = list(Source(data, rows, "compare").blocks())
    if not blocks:
        raise ValueError(f"compare: {type(data).__name__} has no rows")
    y = np.concatenate([_pair(block)[1] for block in blocks])
    if all(block.kind == MAPPINGS for block in blocks):
        return [x for block in blocks for x in block.values], y
    return np.concatenate([as_table(block)[0] for block in blocks]), y


def _pair(rows: RowBlock) -> Pair:
    return rows.raw, rows.labels


def as_cases(
    streams: Any, rows: int | None, repeats: int, protocol: str | None, seed: int, tune: Any, tuned: bool
) -> dict[str, Case]:
    """Cases by name: one stream, a list, or a mapping that names them."""
    cases: dict[str, Case] = {}
    for name, data in _named(streams).items():
        again = redrawable(data)
        chosen = choice(PROTOCOLS).require("compare", "protocol", protocol or ("repeats" if again else "subsets"))
        if chosen == "repeats" and not again:
            raise ValueError(f"compare: {name} cannot be drawn again with another seed: give protocol='subsets'")
        tuning = tune.get(name) if isinstance(tune, Mapping) else tune
        if isinstance(tuning, (int, float)):
            tuning = _TUNING_SHARE.require("compare", "tune", tuning)
        if not tuned:
            tuning = None
        elif tuning is None and not again:
            raise ValueError(f"compare: give tune: {name} cannot be drawn again for tuning")
        cases[name] = Case(data, rows, repeats, chosen, seed, tuning)
    return cases


def _named(streams: Any) -> dict[str, Any]:
    if isinstance(streams, Mapping):
        named = {str(name): data for name, data in streams.items()}
    else:
        named = {}
        several = isinstance(streams, list) or (isinstance(streams, tuple) and not _are_rows(streams))
        for data in streams if several else [streams]:
            named[unused("rows" if isinstance(data, tuple) else _name(data), named)] = data
    if not named:
        raise ValueError("compare: there are no streams")
    return named


def _are_rows(pair: tuple[Any, ...]) -> bool:
    """Whether a tuple is a table with its labels, not several streams."""
    return len(pair) == 2 and not any(redrawable(item) or is_dataset(item) for item in pair)


def _name(data: Any) -> str:
    maker: Callable[..., Any] | type = data if hasattr(data, "__name__") else type(data)
    return str(maker.__name__)
