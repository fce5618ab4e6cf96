"""Methods that the DFOP paper compares with and that are not learners of the library."""

from typing import Any

import numpy as np


class NearestInWindow:
    """The label of the nearest of the last ``window`` rows: the paper's 1NN-win.

    Distances are Euclidean, and the oldest row wins ties. Before the first row the prediction is 0.

    >>> model = NearestInWindow(window=2)
    >>> for x, y in [(0.0, 1.0), (1.0, -1.0), (5.0, 1.0)]:
    ...     model.learn_one(np.array([x]), y)
    >>> model.predict_one(np.array([0.0])), model.predict_one(np.array([4.0]))
    (-1.0, 1.0)
    """

    def __init__(self, window: int = 100) -> None:
        self.window = window
        self._x: Any = None
        self._y = np.zeros(window)
        self._seen = 0

    def predict_one(self, x: Any) -> float:
        """The label of the nearest remembered row."""
        if self._seen == 0:
            return 0.0
        held = min(self._seen, self.window)
        oldest = self._seen % self.window if held == self.window else 0
        off = self._x[:held] - x
        distance = np.einsum("nd,nd->n", off, off)
        nearest = np.flatnonzero(distance == distance.min())
        return float(self._y[nearest[np.argmin((nearest - oldest) % held)]])

    def learn_one(self, x: Any, y: float) -> None:
        """Remembers a row, in place of the oldest."""
        if self._x is None:
            self._x = np.zeros((self.window, len(x)))
        place = self._seen % self.window
        self._x[place], self._y[place] = x, y
        self._seen += 1
