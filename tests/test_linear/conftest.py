"""The stream shared by the tests of the references."""

import numpy as np
import pytest

from tests.reference import Array


@pytest.fixture(params=[0, 1])
def stream(request: pytest.FixtureRequest) -> tuple[Array, Array]:
    """60 rows of 4 features; the weights follow a random walk; labels of both signs."""
    rng = np.random.default_rng(request.param)
    X = rng.normal(size=(60, 4))
    w = np.cumsum(0.2 * rng.normal(size=(60, 4)), axis=0) + rng.normal(size=4)
    return X, np.sum(X * w, axis=1) + 0.3 * rng.normal(size=60)
