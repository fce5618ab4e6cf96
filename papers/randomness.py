"""Random numbers for the targets, from the run's seed and separate keys."""

from collections.abc import Sequence

import numpy as np


def generator(seed: int | Sequence[int], *key: int) -> np.random.Generator:
    """The generator for a seed and a key."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def seeds(seed: int, repeats: int) -> tuple[int, list[int]]:
    """A seed for tuning, and one for each repetition, which do not depend on the number of repetitions."""
    tuning, *others = np.random.SeedSequence(seed).generate_state(repeats + 1).tolist()
    return tuning, others
