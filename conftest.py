"""Settings that must stand before NumPy is imported; pytest's workers and the processes that tests start inherit them."""

import os

# Threads of OpenBLAS and OpenMP wait for each other in loops: with a worker on every core they take most of the time.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")
