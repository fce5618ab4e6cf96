import numpy as np
import pytest
from scipy.spatial import KDTree

from papers.dfop_rivals import NearestInWindow


@pytest.mark.parametrize("window", [1, 7, 40])
def test_the_prediction_is_the_label_of_the_nearest_of_the_last_rows(window):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 3)), rng.choice([-1.0, 1.0], size=120)
    model = NearestInWindow(window)
    assert model.predict_one(X[0]) == 0.0
    for t in range(120):
        if t:
            start = max(0, t - window)
            nearest = KDTree(X[start:t]).query(X[t])[1]
            assert model.predict_one(X[t]) == y[start + nearest]
        model.learn_one(X[t], y[t])


def test_among_equally_near_rows_the_oldest_counts():
    model = NearestInWindow(2)
    for y in (1.0, -1.0, 1.0):
        model.learn_one(np.zeros(1), y)
    assert model.predict_one(np.zeros(1)) == -1.0
