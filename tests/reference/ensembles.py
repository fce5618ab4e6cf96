"""The paper's network, from the references of its parts."""

import numpy as np

from .outcome import Array, Outcome
from .resetting import arcor


def network(X: Array, y: Array) -> Outcome:
    """ARCOR without resets and with q = 1, 2, 3, 4; on top ARCOR without resets, in the unit ball."""
    copies = [arcor(X, y, noise=1.0, radius=None, schedule=q) for q in (None, 1.0, 2.0, 3.0, 4.0)]
    top = arcor(np.column_stack([copy.predictions for copy in copies]), y, noise=1.0, radius=1.0, schedule=None)
    weights = sum(top.weights[:, c, None] * copy.weights for c, copy in enumerate(copies))
    return Outcome(predictions=top.predictions, weights=np.asarray(weights))
