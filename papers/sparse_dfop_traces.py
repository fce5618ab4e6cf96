"""DFOP and Sparse-DFOP on the state-space stream: the data of the paper's figures in high dimension."""

import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftline import DFOP, SparseDFOP, streams
from papers.dfop_contest import PRIOR
from papers.sparse_rls import rivals

RATE, DIM, D, SPARSITY, STAGE = 2e-3, 100, 1000, 10, 500
LEARNERS = ("DFOP", "Sparse-DFOP")
RIVALS = ("S-RLS", "GMF-RLS")
SETTING = (
    f"StateSpace with D = {D} inputs, only {SPARSITY} of them ever nonzero, weights that jump by N(0, 0.1) every "
    f"{STAGE} rows, and noise of variance 0.01 on the labels; the weights start with variance 1. DFOP and Sparse-DFOP with "
    f"the forgetting rate {RATE:g} and the prior {PRIOR:g}, no intercept; Sparse-DFOP with a Gaussian matrix of {DIM} rows, "
    "fed with compressed rows. Rows are predicted before they are learned."
)


class Job(NamedTuple):
    """One repetition: the stream's seed, its rows, and the rows of a window."""

    seed: int
    rows: int
    every: int


class Trace(NamedTuple):
    """How well the learners tracked the stream.

    Attributes:
        losses: (learner, window), the mean squared error over each window of rows.
        distances: (estimate, window), |w - estimate| at its end, for DFOP, for Sparse-DFOP's recovered weights, and for
            Sparse-DFOP's ``coef_`` on the inputs that matter.
        lengths: (window,), |w| at its end.
        supports: (window,), whether exactly the right inputs are recovered at its end.
    """

    losses: NDArray[Any]
    distances: NDArray[Any]
    lengths: NDArray[Any]
    supports: NDArray[Any]


class Race(NamedTuple):
    """How well and how fast the learners were.

    Attributes:
        losses: (learner, window), the mean squared error over each window of rows.
        seconds: (learner,), processor time per row.
        excited: seconds per row of DFOP if every input varies.
        rivals: (rival, parameter, window), the mean squared error of S-RLS and GMF-RLS at each of their parameters.
    """

    losses: NDArray[Any]
    seconds: NDArray[Any]
    excited: float
    rivals: NDArray[Any]


ESTIMATES = ("DFOP", "Sparse-DFOP, recovered", "Sparse-DFOP, coef_")
STYLES: dict[str, dict[str, Any]] = {  # curves that coincide must both be visible
    "DFOP": {"linewidth": 4.0, "alpha": 0.45},
    "Sparse-DFOP": {"linewidth": 1.4},
    "Sparse-DFOP, recovered": {"linewidth": 1.4},
    "Sparse-DFOP, coef_": {"linewidth": 1.4, "linestyle": "--"},
    "S-RLS": {"linewidth": 1.4},
    "GMF-RLS": {"linewidth": 1.4, "linestyle": "--"},
}


def learners(seed: int) -> tuple[DFOP, SparseDFOP]:
    """Both learners, with the paper's settings."""
    dense = DFOP(forget_rate=RATE, prior=PRIOR, intercept=False)
    return dense, SparseDFOP(forget_rate=RATE, prior=PRIOR, dim=DIM, sparsity=SPARSITY, seed=seed, intercept=False)


def trace(job: Job) -> Trace:
    """Runs both learners over one stream, and measures them after every window."""
    from scipy.sparse import csr_array

    stream = streams.StateSpace(d=D, sparsity=SPARSITY, every=STAGE, seed=job.seed)
    X, y = stream.take(job.rows)
    compressed = csr_array(X)
    dense, sparse = learners(job.seed)
    losses, distances, lengths, supports = [], [], [], []
    for start in range(0, job.rows, job.every):
        rows = slice(start, start + job.every)
        runs = dense.run(X[rows], y[rows]), sparse.run(compressed[rows], y[rows])
        losses.append([run.losses.mean() for run in runs])
        w = stream.weights[rows][-1]
        recovered, effective = sparse.recover(), sparse.coef_ * (np.arange(D) < SPARSITY)
        distances.append([float(np.linalg.norm(w - estimate)) for estimate in (dense.coef_, recovered, effective)])
        lengths.append(float(np.linalg.norm(w)))
        supports.append(np.flatnonzero(recovered).tolist() == list(range(SPARSITY)))
    return Trace(np.array(losses).T, np.array(distances).T, np.array(lengths), np.array(supports))


def race(job: Job) -> Race:
    """Runs and times both learners on all rows at once."""
    from scipy.sparse import csr_array

    X, y = streams.StateSpace(d=D, sparsity=SPARSITY, every=STAGE, seed=job.seed).take(job.rows)
    dense, sparse = learners(job.seed)
    runs = [timed(dense, X, y), timed(sparse, csr_array(X), y)]
    full = np.random.default_rng(job.seed).standard_normal((D + 300, D))
    excited, _ = learners(job.seed)
    excited.run(full[:-100], np.zeros(D + 200))
    _, seconds = timed(excited, full[-100:], np.zeros(100))
    losses = np.array([found.reshape(-1, job.every).mean(axis=1) for found, _ in runs])
    return Race(losses, np.array([each for _, each in runs]), seconds, rival_losses(X, y, job.every))


def rival_losses(X: NDArray[Any], y: NDArray[Any], every: int) -> NDArray[Any]:
    """Mean squared errors of S-RLS and GMF-RLS at each of their parameters, (rival, parameter, window).

    They get only the inputs that are ever nonzero. On the others S stays diagonal and no weight moves, so predictions are
    the same as with all inputs.
    """
    used = np.ascontiguousarray(X[:, (X != 0).any(axis=0)])
    runs = [[rival.predictions(used, y) - y for rival in known.values()] for known in rivals(RATE, PRIOR).values()]
    means: NDArray[Any] = np.square(runs).reshape(len(RIVALS), -1, len(y) // every, every).mean(axis=-1)
    return means


def timed(learner: DFOP | SparseDFOP, X: Any, y: NDArray[Any]) -> tuple[NDArray[Any], float]:
    """The losses of a run, and its processor time per row in seconds."""
    began = time.process_time()
    run = learner.run(X, y)
    return run.losses, (time.process_time() - began) / len(y)


def stages(values: NDArray[Any], every: int) -> NDArray[Any]:
    """Splits the last axis, one value per window, into (stage, window of the stage)."""
    return values.reshape(*values.shape[:-1], -1, STAGE // every)
