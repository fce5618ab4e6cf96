import numpy as np
import pytest

from driftline.linear import DFOP
from papers.dfop_windup import as_printed, wind_up

from . import dfop_plain


def test_the_printed_recursion_is_the_weighted_least_squares_of_eq_3():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.choice([-1.0, 1.0], size=60)
    np.testing.assert_allclose(
        as_printed(X, y, 0.1, 50.0), dfop_plain.before(dfop_plain.with_one(X), y, 0.1, 50.0), rtol=1e-7
    )


def test_on_rows_that_excite_all_directions_both_recursions_agree():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(300, 3)), rng.choice([-1.0, 1.0], size=300)
    found = wind_up(X, y)
    assert (found.broken_at, found.finite, found.capped) == (None, True, 0)
    assert found.printed == found.accuracy == dfop_plain.right(as_printed(X, y, 0.05, 100.0), y)


def test_constant_inputs_break_only_the_printed_recursion():
    """Two constant inputs and the intercept leave two directions without excitation."""
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.normal(size=4000), np.full(4000, 0.4), np.full(4000, -0.3)])
    y = np.sign(X[:, 0])
    found = wind_up(X, y, forget_rate=0.2)
    assert found.broken_at is not None
    assert found.printed < found.accuracy
    assert found.finite
    assert found.capped > 0
    alone = DFOP(forget_rate=0.2, prior=100.0).run(X[:, :1], y).predictions
    assert found.accuracy == pytest.approx(dfop_plain.right(alone, y), abs=0.01)
