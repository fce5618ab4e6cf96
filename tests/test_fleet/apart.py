"""What a fleet stands for: a dictionary of learners, each given the rows of its key."""

import numpy as np

import driftline as dl


def keyed_rows(keys=5, count=300, d=3, seed=3):
    """Rows of several keys in random order, each with a target of its own that drifts."""
    rng = np.random.default_rng(seed)
    which = rng.integers(keys, size=count)
    X = rng.uniform(-0.7, 0.7, size=(count, d)) / np.sqrt(max(d, 3) / 3)
    weights = rng.normal(size=(keys, d)) + np.cumsum(0.02 * rng.normal(size=(count, 1, 1)), axis=0)
    return which, X, np.einsum("td,td->t", X, weights[np.arange(count), which]) + 0.1 * rng.normal(size=count)


def run_apart(learner, keys, X, y, **more):
    """The models by key, and the predictions in the order of the rows."""
    models = {key: learner.clone() for key in dict.fromkeys(keys.tolist())}
    predictions = np.empty(len(y))
    for key, model in models.items():
        mine = keys == key
        predictions[mine] = model.run(X[mine], y[mine], **{name: value[mine] for name, value in more.items()}).predictions
    return models, predictions


def require_same(model, other):
    """Two models that nothing tells apart, the tracker of intervals aside."""
    assert type(model) is type(other)
    assert model.n_seen_ == other.n_seen_
    assert model.n_skipped_ == other.n_skipped_
    if model.n_seen_ == 0:
        return
    assert np.array_equal(model.coef_, other.coef_)
    assert model.intercept_ == other.intercept_
    if hasattr(type(model), "covariance_"):
        assert np.array_equal(model.covariance_, other.covariance_)
    assert model.certificate() == other.certificate()


def in_a_fleet(learner):
    """Whether learners of this kind can be in a fleet."""
    try:
        dl.Fleet(learner, 1)
    except (TypeError, ValueError):
        return False
    return True
