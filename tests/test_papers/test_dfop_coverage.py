import numpy as np

from papers import dfop_coverage


def test_distances_above_the_bound_change_the_verdict():
    shape = (len(dfop_coverage.STREAMS), 100, len(dfop_coverage.RATES), len(dfop_coverage.DELTAS) + 1)
    found = np.full(shape, 0.5)
    best = {"small drift": 1, "large drift": 3, "no drift": 0}
    for name, j in best.items():
        found[list(dfop_coverage.STREAMS).index(name), :, j, -1] = 0.1
    assert [check.holds for check in dfop_coverage.judge(found).checks] == [True, True]
    found[0, :6, 0, 1] = 2.0  # six of a hundred, where five are allowed
    assert [check.holds for check in dfop_coverage.judge(found).checks] == [False, True]
    found[0, 5, 0, 1] = 0.5
    assert [check.holds for check in dfop_coverage.judge(found).checks] == [True, True]
