"""The sparse, high-dimensional stream of the Sparse-DFOP paper."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from driftline.base.rules import Count, NotNegative, Whole, number
from driftline.streams.base import Replay, Rows
from driftline.streams.keyed import ROWS, SHOCKS, TARGET, generator, uniforms
from driftline.streams.registry import source
from driftline.streams.source import Source
from driftline.tables.inputs import Array

FORGOTTEN = 1e-17  # a shock that contributes less than this to the state is not added


@source
@dataclass(frozen=True, repr=False)
class StateSpace(Source):
    r"""Many inputs, only a few of them ever non-zero, each an autoregressive process; the weights jump at regular intervals.

    .. math:: r_{t+1} = decay \cdot r_t + \xi_t, \quad x_{t+1} = (r_t, 0, \ldots, 0), \quad y_t = w_t \cdot x_t + noise

    The shocks :math:`\xi` are uniform in [-1, 1], one for each of the first ``sparsity`` inputs. These inputs have variance
    1 / (3 (1 - decay²)) and autocorrelation decay^k at lag k. Their weights start with variance 1; all other weights are 0.
    ``holdout`` draws independent rows.

    Args:
        d: the number of inputs, D in the paper.
        sparsity: the number of inputs that are not always 0, s in the paper.
        every: rows between two jumps of the weights.
        jump: the variance of the change of each such weight at a jump.
        noise: variance of the noise on the labels.
        decay: the share of the state that is left after a row, up to 0.99.
        seed: the seed of the rows and the weights.

    References: :cite:`zhao2021`, Eq. (23) and Section 6.2, which states neither the initial weights nor the noise.

    >>> stream = StateSpace(noise=0.0)
    >>> X, y = stream.take(600)
    >>> X.shape, int((X != 0).sum(axis=1).max()), np.flatnonzero(np.diff(stream.weights[:, 0])).tolist()
    ((600, 1000), 10, [499])
    """

    d: Count = 1000
    sparsity: Count = 10
    every: Count = 500
    jump: NotNegative = 0.1
    noise: NotNegative = 0.01
    decay: Annotated[float, number(ge=0, le=0.99)] = 0.1
    seed: Whole = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sparsity > self.d:
            raise ValueError(f"StateSpace: sparsity must be at most d, {self.d}, got {self.sparsity!r}")

    @property
    def _memory(self) -> int:
        """The number of rows after which a shock is forgotten."""
        return 0 if self.decay == 0 else math.ceil(math.log(FORGOTTEN) / math.log(self.decay))

    def _chunk(self, chunk: int, replay: Replay) -> Rows:
        at, memory = self._span(chunk), self._memory
        # Shock i + memory enters row i, so that the first row has a past too.
        shocks = 2 * uniforms(self.seed, (SHOCKS, *replay), at[0], at[-1] + 1 + memory, self.sparsity) - 1
        state = np.zeros(self.sparsity)
        for row, shock in enumerate(shocks):
            state = shocks[row] = self.decay * state + shock
        return self._labelled(shocks[memory:], at, generator(self.seed, ROWS, *replay, chunk))

    def _draw(self, rng: np.random.Generator, at: Array) -> Rows:
        state = np.zeros((len(at), self.sparsity))
        for _ in range(self._memory + 1):
            state = self.decay * state + rng.uniform(-1, 1, size=state.shape)
        return self._labelled(state, at, rng)

    def _labelled(self, state: Array, at: Array, rng: np.random.Generator) -> Rows:
        X = np.zeros((len(at), self.d))
        X[:, : self.sparsity] = state
        y = np.einsum("ts,ts->t", state, self._support(at)) + rng.normal(scale=math.sqrt(self.noise), size=len(at))
        return X, y

    def _target(self, at: Array) -> Array:
        weights = np.zeros((len(at), self.d))
        weights[:, : self.sparsity] = self._support(at)
        return weights

    def _support(self, at: Array) -> Array:
        """The nonzero weights: their start plus the jumps so far."""
        jumps = at // self.every
        needed = int(jumps.max(initial=0)) + 1
        path: Array = self.__dict__.get("_path", np.empty((0, self.sparsity)))
        if len(path) < needed:
            steps = generator(self.seed, TARGET).normal(size=(2 * needed, self.sparsity))
            steps[1:] *= math.sqrt(self.jump)
            path = self.__dict__["_path"] = np.cumsum(steps, axis=0)
        support: Array = path[jumps]
        return support
