"""Settings of the whole run: those of NumPy, which must stand before its import, and those of the garbage collector."""

import gc
import os

# Threads of OpenBLAS and OpenMP wait for each other in loops: with a worker on every core they take most of the time.
# Pytest's workers and the processes that tests start inherit this.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")


def pytest_collection_finish():
    """Modules and tests stay until the end: no later collection has to walk through a million objects again."""
    gc.collect()
    gc.freeze()
