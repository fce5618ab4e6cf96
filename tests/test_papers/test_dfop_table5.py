import numpy as np
import pytest

from driftline import streams
from papers import dfop_table5
from papers.dfop_data import Dataset
from papers.dfop_table5 import RATES, Swept

from . import dfop_plain


def test_accuracies_match_the_explicit_solution():
    stream = streams.MovingGaussians(kind="2CHT", rows=200, seed=4)
    X, y = stream.take()
    found = dfop_table5.sweep(Dataset("2CHT", True, stream))
    assert len(found) == len(RATES) + 1
    for rate, own in ((0.01, found[RATES.index(0.01)]), (0.2, found[RATES.index(0.2)]), (1 / 400, found[-1])):
        expected = 100 * dfop_plain.right(dfop_plain.before(dfop_plain.with_one(X), y, rate, 100.0), y)
        assert own == pytest.approx(expected)


def swept(name, best, at_recommended=90.0, slope=2.0):
    """An accuracy of 90 % at the best rate, falling with the distance from it."""
    values = 90 - slope * np.abs(np.log10(RATES) - np.log10(best))
    return Swept(name, f"{name}, made here", values, at_recommended)


@pytest.mark.parametrize(
    ("rows", "failing"),
    [
        ([swept("2CHT", 0.01), swept("SEA", 0.001), swept("1CDT", 0.005)], []),
        ([swept("2CHT", 0.1, slope=0.5), swept("1CHT", 0.01), swept("1CDT", 0.01)], [0]),
        ([swept("SEA", 0.001), swept("hyperplane", 0.002)], [1]),
        ([swept("2CHT", 0.01, slope=5.0), swept("1CDT", 0.002, slope=5.0)], [2]),
        ([swept("2CHT", 0.01, at_recommended=80.0)], [3]),
    ],
)
def test_the_verdict_follows_the_accuracies(rows, failing):
    checks = dfop_table5.judge(rows).checks
    assert [i for i, check in enumerate(checks) if not check.holds] == failing
