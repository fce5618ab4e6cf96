"""Means over repetitions with their confidence intervals."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


def half_width(values: NDArray[Any]) -> NDArray[Any]:
    """Half of the 95 % confidence interval of the mean over the first axis, by Student's distribution; NaN for one value.

    >>> half_width(np.array([1.0, 2.0, 3.0])).round(4).tolist()
    2.4841
    """
    from scipy.special import stdtrit

    count = len(values)
    if count < 2:
        return np.full(values.shape[1:], math.nan)
    spread = np.std(values, axis=0, ddof=1) / math.sqrt(count)
    wide: NDArray[Any] = stdtrit(count - 1, 0.975) * spread
    return wide
