"""The ceilings of this machine: multiply-adds a second and bytes a second on one core, measured in the same run."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from benchmarks.native import compile_native

SECONDS, ROUNDS = 0.004, 60  # short: some of them are undisturbed on a busy machine too
SIZES = {"16 KiB": 2**14, "512 KiB": 2**19, "8 MiB": 2**23, "256 MiB": 2**28}


@dataclass(frozen=True)
class Ceilings:
    """Operations a second in float64 and float32, and bytes a second by the size of what is read and written."""

    double: float
    single: float
    bandwidth: dict[str, float]

    def arithmetic(self, d: int, single: bool = False) -> float:
        """Seconds that the 3 d² operations of a row take at least."""
        return 3 * d * d / (self.single if single else self.double)

    def traffic(self, d: int) -> float:
        """Seconds that it takes at least to read and write half of a d x d matrix of float64, where it then lies."""
        size = 8 * d * (d + 1) // 2
        place = next((name for name, limit in SIZES.items() if size <= limit), "256 MiB")
        return 2 * size / self.bandwidth[place]

    def raised(self, other: Ceilings) -> Ceilings:
        """The higher ones of two measurements."""
        bandwidth = {size: max(rate, other.bandwidth[size]) for size, rate in self.bandwidth.items()}
        return Ceilings(max(self.double, other.double), max(self.single, other.single), bandwidth)


def measure_ceilings() -> Ceilings:
    library = ctypes.CDLL(str(compile_native("ceilings.cpp", "-march=native", "-ffp-contract=fast", "-shared", "-fPIC")))
    for name in ("multiply_add_double", "multiply_add_float", "read_and_write"):
        getattr(library, name).restype = ctypes.c_double
    library.read_and_write.argtypes = [ctypes.c_void_p, ctypes.c_long, ctypes.c_long]
    library.multiply_add_double.argtypes = library.multiply_add_float.argtypes = [ctypes.c_long]
    return Ceilings(
        _fastest(library.multiply_add_double),
        _fastest(library.multiply_add_float),
        {name: _bandwidth(library.read_and_write, size) for name, size in SIZES.items()},
    )


def _bandwidth(read_and_write: Callable[[int, int, int], float], size: int) -> float:
    buffer = np.zeros(size // 8 + 8)
    place = (buffer.ctypes.data + 63) // 64 * 64
    return _fastest(lambda rounds: read_and_write(place, size // 8, rounds))


def _fastest(work: Callable[[int], float]) -> float:
    """The largest rate of several rounds: whatever disturbs makes it smaller."""
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
