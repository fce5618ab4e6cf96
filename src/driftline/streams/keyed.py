"""Random numbers by key: every piece of a stream can be generated on its own, in any order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from driftline.tables.inputs import Array

CHUNK = 1024  # rows generated together; a stream's numbers depend on it

ROWS, TARGET, HOLDOUT, COINS, SHOCKS = range(5)  # purposes of a key, which share no random numbers


def generator(seed: int | Sequence[int], *key: int) -> np.random.Generator:
    """The generator for a seed and a key.

    >>> int(generator(7, ROWS, 3).integers(1000)) == int(generator(7, ROWS, 3).integers(1000))
    True
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def uniforms(seed: int, key: tuple[int, ...], start: int, stop: int, width: int) -> Array:
    """Rows ``start`` to ``stop`` of an endless table of uniform numbers in [0, 1), for a seed and a key.

    >>> bool((uniforms(0, (COINS,), 1000, 1100, 2)[50] == uniforms(0, (COINS,), 1050, 1051, 2)[0]).all())
    True
    """
    first = start // CHUNK
    chunks = [generator(seed, *key, chunk).random((CHUNK, width)) for chunk in range(first, -(-stop // CHUNK))]
    if not chunks:
        return np.empty((0, width))
    return np.concatenate(chunks)[start - first * CHUNK : stop - first * CHUNK]
