"""The state of a bucket between two batches, as bytes; redistributes buckets."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from driftline.fleet import Fleet
from driftline.storage.model_file import from_bytes
from driftline.tables.inputs import Array

PARTS = ("fleet", "seen", "waiting", "hashes")

Parts = tuple[bytes, bytes, bytes, bytes]
Waiting = dict[tuple[str, str], list[float]]  # by key and id, as text: the features and the prediction


@dataclass
class State:
    """A fleet and what is known of its keys.

    Attributes:
        fleet: the models.
        seen: the order of the last row of each key; empty where keys are kept for ever.
        waiting: rows that wait for their labels.
        hashes: of the keys, by Spark: their remainder is the bucket.
    """

    fleet: Fleet
    seen: Array = field(default_factory=lambda: np.empty(0))
    waiting: Waiting = field(default_factory=dict)
    hashes: Array = field(default_factory=lambda: np.empty(0, dtype=np.int32))

    @classmethod
    def of(cls, parts: Sequence[bytes]) -> State:
        """The state that ``parts`` were made of."""
        fleet, seen, waiting, hashes = parts
        places: Waiting = {(key, name): numbers for key, name, *numbers in json.loads(waiting)}
        return cls(from_bytes(fleet), np.frombuffer(seen), places, np.frombuffer(hashes, dtype=np.int32))

    def parts(self) -> Parts:
        """As bytes, in the order of ``PARTS``."""
        waiting = [[*place, *numbers] for place, numbers in self.waiting.items()]
        return self.fleet.to_bytes(), self.seen.tobytes(), json.dumps(waiting).encode(), self.hashes.tobytes()

    def keep(self, stay: Array) -> None:
        """Lets go all keys but these, with their rows that wait."""
        gone = [key for key, stays in zip(self.fleet.keys_, stay, strict=True) if not stays]
        self.fleet.drop(gone)
        self.seen = self.seen[stay] if len(self.seen) else self.seen
        self.hashes = self.hashes[stay]
        texts = {str(key) for key in gone}
        self.waiting = {place: numbers for place, numbers in self.waiting.items() if place[0] not in texts}


def divided(parts: Sequence[bytes], buckets: int) -> Iterator[tuple[int, Parts]]:
    """The keys of a state among as many buckets: the number and the state of each that gets any."""
    numbers = State.of(parts).hashes % buckets
    for number in np.unique(numbers):
        state = State.of(parts)
        state.keep(numbers == number)
        yield int(number), state.parts()


def merged(states: Sequence[State]) -> State:
    """One state of several that have no key in common."""
    return State(
        Fleet.merge(state.fleet for state in states),
        np.concatenate([state.seen for state in states]),
        {place: numbers for state in states for place, numbers in state.waiting.items()},
        np.concatenate([state.hashes for state in states]),
    )
