"""Random numbers of the targets, each from the run's seed and a key of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def generator(seed: int | Sequence[int], *key: int) -> np.random.Generator:
    """The generator that belongs to a seed and a key."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def seeds(seed: int, repeats: int) -> tuple[int, list[int]]:
    """A seed for tuning, and one for each repetition; the first ones are the same for any number of them."""
    tuning, *others = np.random.SeedSequence(seed).generate_state(repeats + 1).tolist()
    return tuning, others
