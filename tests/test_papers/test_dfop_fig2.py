import numpy as np
import pytest

from driftline.evaluate import Accuracy, Comparison
from papers import dfop_fig2
from papers.dfop_data import Dataset


def judged(scores):
    datasets = [Dataset("SEA", True, None), Dataset("2CHT", False, None)]
    values = np.repeat(np.array(scores)[:, :, None], 10, axis=2)
    names = ["DFOP", "RLS", "1NN-win"]
    comparison = Comparison(
        [d.label for d in datasets], names, {"accuracy": Accuracy()}, {"accuracy": values}, values, reference="DFOP"
    )
    return dfop_fig2.judge(datasets, comparison)


def test_the_score_is_the_sum_of_ratios_to_the_smallest():
    found = judged([[0.9, 0.6, 0.8], [0.8, 0.5, 0.4]])
    scores = {(r["accuracies"], r["method"]): r["robustness"] for r in found.numbers.records()}
    assert scores["run here", "DFOP"] == pytest.approx(0.9 / 0.6 + 0.8 / 0.4)
    assert scores["run here", "RLS"] == pytest.approx(1 + 0.5 / 0.4)
    assert found.checks[-1].holds


def test_a_better_rival_changes_the_verdict():
    assert judged([[0.9, 0.6, 0.8], [0.8, 0.5, 0.6]]).verdict == "agrees"
    found = judged([[0.7, 0.6, 0.9], [0.8, 0.5, 0.9]])
    assert found.verdict == "agrees in part"
    assert [check.holds for check in found.checks if "among the methods run here" in check.statement] == [False, True]


def test_a_file_replaces_the_stream():
    made, files = [Dataset("SEA", True, 1), Dataset("1CDT", True, 2)], [Dataset("SEA", False, 3)]
    assert [(d.name, d.rows) for d in dfop_fig2.each_once(made, files)] == [("SEA", 3), ("1CDT", 2)]
