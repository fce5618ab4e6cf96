from dataclasses import replace

import numpy as np
import pytest

from driftline.regret import best_fixed
from driftline.regret.min_max import wemm_weights
from papers import wemm_fig3_1
from papers.wemm_fig3_1 import GRID, PANELS, RIDGE, Y


@pytest.fixture(scope="module")
def pasts():
    return [wemm_fig3_1.several((3, number)) for number in range(6)]


def test_the_objective_is_the_regret_to_the_best_fixed_weights():
    X, y, x = wemm_fig3_1.past_rows(1, 2)
    o = wemm_fig3_1.objective(X, y, x, PANELS[2])
    weights = wemm_weights(np.vstack([X, x]), RIDGE)

    def objective(label, prediction):
        best = best_fixed(np.vstack([X, x]), np.append(y, label), RIDGE, sample_weight=weights)
        return (label - prediction) ** 2 - best.value

    for i, j in ((0, 0), (150, 10), (300, 200), (77, 33)):
        assert o.values[i, j] == pytest.approx(objective(GRID[i], GRID[j]) - objective(0.0, 0.0), rel=1e-9, abs=1e-9)


def test_the_shapes_match_the_thesis(pasts):
    assert wemm_fig3_1.judge(pasts).verdict == "agrees"
    for left, centre, right in pasts:
        assert left.alpha > 0 > centre.alpha
        assert right.alpha == pytest.approx(0, abs=1e-12)
        assert abs(left.learner) <= Y


def test_exchanging_panels_changes_the_verdict(pasts):
    turned = wemm_fig3_1.judge([[right, left, centre] for left, centre, right in pasts])
    assert [check.holds for check in turned.checks] == [True, False, True, False, False]  # each panel has its own prediction


def test_a_learner_with_other_predictions_is_detected(pasts):
    for number in range(3):
        changed = [[replace(o, learner=o.learner + 1) if k == number else o for k, o in enumerate(past)] for past in pasts]
        assert wemm_fig3_1.judge(changed).verdict == "agrees in part"
