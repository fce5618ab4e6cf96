"""Tables with late labels: all rows are learned, or none."""

import numpy as np
import pytest

import driftline as dl
from driftline.base import late
from driftline.checks.tools import require_same
from driftline.features import Lags, Standardize

LEARNERS = {
    "rls": dl.RLS,
    "auto": dl.Auto,
    "pipeline": lambda: Standardize() | Lags(y=2) | dl.RLS(),
    "network": lambda: dl.Network([dl.RLS(), dl.LMS()]),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_a_refused_table_leaves_a_new_learner_untrained(name):
    """The core was made for the table's columns; if kept, it would refuse a table with other columns."""
    model, other = LEARNERS[name](), LEARNERS[name]()
    before = model.__getstate__()
    with pytest.raises(ValueError, match="NaN"):
        late.run(model, np.ones((4, 2)), np.array([1.0, 2.0, np.nan, 3.0]), 1, late.NOTHING, where="test")
    require_same(model.__getstate__(), before, "after the table")
    X, y = np.random.default_rng(2).normal(size=(9, 3)), np.arange(9.0)
    for learner in (model, other):
        late.run(learner, X, y, 1, late.NOTHING, where="test")
    require_same(model.__getstate__(), other.__getstate__(), "after another table")
