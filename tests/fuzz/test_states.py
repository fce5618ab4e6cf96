"""Exported states with numbers that learning cannot produce: each is refused, or its predictions stay finite."""

import numpy as np
import pytest

from driftline.base import registry
from tests.cases import for_each
from tests.states import leaves, replaced

from .calls import require_finite

HARD = (-1.0, 0.0, 1e30, -1e30, 1e308, -1e308, 1e-300, 3e9)
PLACES = 100  # the most numbers changed in one state


def learned(name, dtype):
    rng = np.random.default_rng(5)
    model = registry.learners()[name](dtype=dtype)
    labels = rng.normal(size=9) if name in registry.regressors() else rng.integers(4, size=9)
    model.run(rng.uniform(-0.4, 0.4, size=(9, 3)), labels)
    return model


def with_hard_numbers(core):
    """Copies of a state's arrays, each with one number replaced."""
    arrays = dict(leaves(core))
    places = [(name, place) for name, array in arrays.items() for place in range(array.size)]
    rng = np.random.default_rng(0)
    for number in rng.permutation(len(places))[:PLACES]:
        name, place = places[number]
        for value in HARD:
            changed = arrays[name].copy()
            with np.errstate(over="ignore"):
                changed.flat[place] = value
            if np.isfinite(changed.flat[place]):
                yield f"{name}[{place}] = {value}", replaced(core, name, changed)


@for_each("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", registry.learners())
def test_a_state_with_hard_numbers_is_refused_or_stays_finite(name, dtype):
    model = learned(name, dtype)
    state = model.__getstate__()
    row, taken = np.array([0.3, -0.2, 0.1]), 0
    for what, core in with_hard_numbers(state["core"]):
        twin = type(model)(**model.get_params(deep=False))
        try:
            twin.__setstate__({**state, "core": core})
        except ValueError:
            continue
        taken += 1
        for _ in range(3 if twin.n_features_in_ == 3 else 0):
            try:
                assert model._estimator_type != "regressor" or np.isfinite(twin.predict_one(row)), what
                twin.learn_one(row, 1.0)
            except ValueError:  # such numbers may make the row impossible to learn
                pass
            require_finite(twin)
    assert taken
