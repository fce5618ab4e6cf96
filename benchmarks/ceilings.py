"""The limits of this machine, measured in the same run: multiply-adds and bytes a second on one core."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from benchmarks.native import compile_native

SECONDS, ROUNDS = 0.004, 60  # short, so that some rounds are undisturbed even on a busy machine
LEAST_BYTES = 2**14  # smaller sizes are in the same cache


@dataclass(frozen=True)
class Ceilings:
    """Operations a second in float64 and float32, and bytes a second by the size of the data."""

    double: float
    single: float
    bandwidth: dict[int, float]

    def arithmetic(self, d: int, single: bool = False) -> float:
        """A lower bound, in seconds, for the 3 d² operations of a row."""
        return 3 * d * d / (self.single if single else self.double)

    def traffic(self, d: int) -> float:
        """A lower bound, in seconds, for reading and writing half of a d x d matrix of float64 in its cache."""
        return 2 * half_matrix(d) / self.bandwidth[max(half_matrix(d), LEAST_BYTES)]

    def raised(self, other: Ceilings) -> Ceilings:
        """The maxima of two measurements."""
        bandwidth = {size: max(rate, other.bandwidth[size]) for size, rate in self.bandwidth.items()}
        return Ceilings(max(self.double, other.double), max(self.single, other.single), bandwidth)


def half_matrix(d: int) -> int:
    """Bytes of half a d x d matrix of float64."""
    return 8 * d * (d + 1) // 2


def measure_ceilings(dimensions: Iterable[int]) -> Ceilings:
    library = ctypes.CDLL(str(compile_native("ceilings.cpp", "-march=native", "-ffp-contract=fast", "-shared", "-fPIC")))
    for name in ("multiply_add_double", "multiply_add_float", "read_and_write"):
        getattr(library, name).restype = ctypes.c_double
    library.read_and_write.argtypes = [ctypes.c_void_p, ctypes.c_long, ctypes.c_long]
    library.multiply_add_double.argtypes = library.multiply_add_float.argtypes = [ctypes.c_long]
    sizes = sorted({max(half_matrix(d), LEAST_BYTES) for d in dimensions})
    return Ceilings(
        _fastest(library.multiply_add_double),
        _fastest(library.multiply_add_float),
        {size: _bandwidth(library.read_and_write, size) for size in sizes},
    )


def _bandwidth(read_and_write: Callable[[int, int, int], float], size: int) -> float:
    buffer = np.zeros(size // 8 + 8)
    place = (buffer.ctypes.data + 63) // 64 * 64
    return _fastest(lambda rounds: read_and_write(place, size // 8, rounds))


def _fastest(work: Callable[[int], float]) -> float:
    """The largest rate of several rounds, because disturbances only reduce it."""
    rounds = 1
    while True:
        begin = perf_counter()
        work(rounds)
        if perf_counter() - begin > SECONDS:
            break
        rounds *= 2
    rates = []
    for _ in range(ROUNDS):
        begin = perf_counter()
        done = work(rounds)
        rates.append(done / (perf_counter() - begin))
    return max(rates)
