import math

import numpy as np
import pytest

from papers import Context, dfop_fig5
from papers.dfop_data import Dataset
from papers.dfop_fig5 import NATIVE, PLAIN, SPARSE, Timed


def times(inputs=500, **seconds):
    base = {SPARSE + PLAIN: 2.0, SPARSE + NATIVE: 1.0, "DFOP" + NATIVE: 10.0}
    base |= {name + PLAIN: 20.0 for name in ("S-RLS", "GMF-RLS", "DFOP")}
    return Timed("a set", inputs, {name: np.array([value, value]) for name, value in (base | seconds).items()})


@pytest.mark.parametrize(
    ("changes", "held"),
    [
        ({}, [True, True]),
        ({"S-RLS" + PLAIN: 1.9}, [False, True]),
        ({"DFOP" + NATIVE: 0.9}, [True, False]),
    ],
)
def test_the_verdict_follows_the_times(changes, held):
    assert [check.holds for check in dfop_fig5.judge([times(**changes)]).checks] == held


def test_methods_that_were_not_run_are_not_judged():
    wide = Timed("wide", 50_000, {SPARSE + NATIVE: np.ones(2), SPARSE + PLAIN: np.ones(2)})
    assert math.isnan(wide.ratio("DFOP" + NATIVE, SPARSE + NATIVE))
    findings = dfop_fig5.judge([wide, times()])
    assert len(findings.checks) == 2
    assert findings.summary[0].rows[0][-1] is None
    assert findings.draw().axes


def test_ratios_compare_times_of_the_same_round():
    found = Timed("a set", 2, {"slow": np.array([2.0, 8.0, 30.0]), "fast": np.array([1.0, 2.0, 3.0])})
    assert found.ratio("slow", "fast") == 4.0


def test_every_method_is_timed_on_the_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    found = dfop_fig5.timed(Dataset("a9a", False, (X, np.sign(X[:, 0]))), seed=0, rounds=2)
    assert len(found.seconds) == 6
    assert all(values.shape == (2,) and (values > 0).all() for values in found.seconds.values())


def test_a_quick_run_gives_numbers_and_a_picture():
    findings = dfop_fig5.compute(Context(quick=True, jobs=1, progress=False))
    assert all(np.isfinite(row[-1]) for row in findings.numbers.rows)
    assert findings.draw().axes
    assert any("ASVB-L" in words for words in findings.left_out)
