"""The reference for a fleet: a dictionary of learners, each given the rows of its key."""

import numpy as np

from driftline.fleet.core import has_fixed_size
from tests.states import leaves


def keyed_rows(keys=5, count=300, d=3, seed=3):
    """Rows of several keys in random order; each key has its own drifting target."""
    rng = np.random.default_rng(seed)
    which = rng.integers(keys, size=count)
    X = rng.uniform(-0.7, 0.7, size=(count, d)) / np.sqrt(max(d, 3) / 3)
    weights = rng.normal(size=(keys, d)) + np.cumsum(0.02 * rng.normal(size=(count, 1, 1)), axis=0)
    return which, X, np.einsum("td,td->t", X, weights[np.arange(count), which]) + 0.1 * rng.normal(size=count)


def run_apart(learner, keys, X, y, **more):
    """Models by key, and predictions in the order of the rows."""
    models = {key: learner.clone() for key in dict.fromkeys(keys.tolist())}
    predictions = np.empty(len(y))
    for key, model in models.items():
        mine = keys == key
        predictions[mine] = model.run(X[mine], y[mine], **{name: value[mine] for name, value in more.items()}).predictions
    return models, predictions


def require_same(model, other, intervals=False):
    """Assert that two models are identical; for fixed-size models the interval tracker counts only if `intervals`."""
    assert type(model) is type(other)
    assert model.n_seen_ == other.n_seen_
    assert model.n_skipped_ == other.n_skipped_
    if model.n_seen_ == 0:
        return
    state, expected = (dict(leaves(one.__getstate__()["core"])) for one in (model, other))
    assert state.keys() == expected.keys()
    for name in state:
        if name != "coverage" or intervals or not has_fixed_size(model):
            assert np.array_equal(state[name], expected[name], equal_nan=True), name
    if model._estimator_type == "regressor":
        assert model.certificate() == other.certificate()
