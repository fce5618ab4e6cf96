"""A second thread for the experts outside the linear core: the same bits, and no thread left behind."""

import subprocess
import sys

import pytest

from tests import patience

SCRIPT = """
import hashlib, numpy as np, driftline as dl
rng = np.random.default_rng(0)
X = rng.standard_normal((2000, 3))
y = np.where(np.arange(2000) < 900, X @ [1.0, 2.0, 3.0], X @ [3.0, 1.0, -2.0]) + rng.standard_normal(2000)
y[700] = 1e6  # a label that goes alone
X[1200, 1] = np.nan
model = dl.Auto(missing="skip")
runs = [model.run(X[:1500], y[:1500], level=0.9, weights_every=50), model.run(X[1500:], y[1500:], level=0.9)]
digest = hashlib.sha256(model.to_bytes())
for run in runs:
    for array in (run.predictions, run.lower, run.upper):
        digest.update(array.tobytes())
digest.update(runs[0].weights.tobytes())
print(digest.hexdigest())
"""


@pytest.fixture(scope="module")
def digests():
    found = {}
    for threads in ("1", "2"):
        environment = {"DRIFTLINE_THREADS": threads, "PYTHONPATH": ":".join(path for path in sys.path if path)}
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=patience.SECONDS,
        )
        found[threads] = done.stdout
    return found


def test_one_thread_and_two_give_the_same_bits(digests):
    assert digests["1"] == digests["2"]


def test_a_run_gives_the_bits_of_the_loop(digests):
    """Repeats the script row by row."""
    rows = SCRIPT.replace("runs = [", "one = dl.Auto(missing='skip')\nfor x, t in zip(X, y): one.learn_one(x, t)\nruns = [")
    rows += "\nassert one.to_bytes() == model.to_bytes()\n"
    done = subprocess.run([sys.executable, "-c", rows], capture_output=True, text=True, timeout=patience.SECONDS)
    assert done.returncode == 0, done.stderr
