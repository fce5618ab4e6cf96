"""Sparse-DFOP's matrix computed independently, from NumPy's Philox generator and SciPy's normal quantiles."""

import numpy as np
from scipy.special import ndtri

from tests.reference import Array

STRATA = 8


def words_of(column: int, kind: int, seed: int, count: int) -> Array:
    """`count` words of 64 random bits."""
    key, counter = (np.array(words, dtype=np.uint64) for words in ([seed, 0], [0, column, kind, 0]))
    return np.asarray(np.random.Philox(key=key, counter=counter).random_raw(count))


def gaussian_column(dim: int, column: int, seed: int) -> Array:
    """Normal quantiles of (k + 1/2) / 2^52, where k is the upper 52 bits of each word."""
    words = words_of(column, 0, seed, dim)
    return np.asarray(ndtri(((words >> np.uint64(12)).astype(float) + 0.5) / 2**52) / np.sqrt(dim))


def bernoulli_column(dim: int, column: int, seed: int) -> Array:
    """Signs by the bits of the words, the lowest first."""
    words = words_of(column, 2, seed, -(-dim // 64))
    bits = [int(word) >> shift & 1 for word in words for shift in range(64)]
    return (1.0 - 2.0 * np.array(bits[:dim])) / np.sqrt(dim)


def sparse_column(dim: int, column: int, seed: int) -> Array:
    """One entry in each of eight strata; of its 32 bits the lowest is the sign, and the others give the place."""
    words = words_of(column, 1, seed, 4)
    halves = [int(word) >> shift & 0xFFFFFFFF for word in words for shift in (0, 32)]
    strata = min(dim, STRATA)
    entries = np.zeros(dim)
    for part, bits in enumerate(halves[:strata]):
        first, end = part * dim // strata, (part + 1) * dim // strata
        entries[first + (bits >> 1) * (end - first) // 2**31] = (-1) ** (bits & 1) / np.sqrt(strata)
    return entries


def random_matrix(dim: int, columns: int, seed: int, matrix: str) -> Array:
    """M, dim by columns."""
    column = {"gaussian": gaussian_column, "bernoulli": bernoulli_column, "sparse": sparse_column}[matrix]
    return np.column_stack([column(dim, j, seed) for j in range(columns)])
