import numpy as np
import pytest

import papers
from papers import dfop_table4
from papers.dfop_published import table_4
from papers.dfop_table4 import RATES, Errors, Measured

from . import dfop_plain
from .dfop_files import write


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("rate", [0.0, 0.05])
def test_errors_match_the_explicit_solution_in_both_orders(rate, intercept):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    y = X @ [1.0, -1.0] + 0.5 + 0.1 * rng.normal(size=100)
    found = dfop_table4.errors(dfop_table4.Job((X, y), rate, intercept))
    rows = dfop_plain.with_one(X) if intercept else X
    for i in range(10):
        at = slice(2 * (i + 1), 2 * (i + 1) + 80)
        for own, predict in ((found.before, dfop_plain.before), (found.after, dfop_plain.after)):
            expected = 100 * np.mean(np.square(y[at] - predict(rows[at], y[at], rate, 100.0)))
            assert own[i] == pytest.approx(expected, rel=1e-6)
    first = 100 * np.mean(np.square(y[:10] - dfop_plain.before(rows[:10], y[:10], rate, 100.0)))
    assert found.tuning == pytest.approx(first, rel=1e-6)


def invented(name, dfop=None, rls=None):
    """The paper's errors unless others are given; the rate 0.1 is the best one on the first rows."""
    paper, spread = table_4(), np.linspace(-1e-4, 1e-4, 10)
    own = {}
    for rate in RATES:
        mean = (rls or paper["RLS"][name].mean) if rate == 0 else (dfop or paper["DFOP"][name].mean)
        for intercept in (False, True):
            own[rate, intercept] = Errors(mean + spread * (1 + rate), mean + spread, abs(rate - 0.1))
    return {name: Measured(own, 1.0)}


def test_the_papers_own_errors_pass_and_others_do_not():
    assert dfop_table4.judge(invented("SRU-1")).verdict == "agrees"
    assert dfop_table4.judge(invented("Debutanizer")).verdict == "agrees"
    worse = dfop_table4.judge(invented("Debutanizer", dfop=3.0)).checks
    assert [check.holds for check in worse] == [False, False, False]
    far = dfop_table4.judge(invented("SRU-1", rls=0.6)).checks
    assert [check.holds for check in far] == [True, True, False]
    assert (
        dfop_table4.judge(invented("SRU-1", dfop=0.01)).verdict == "agrees in part"
    )  # below the ensembles, unlike the paper


def test_the_rate_is_chosen_on_the_first_rows_and_a_remark_says_if_it_is_the_largest():
    measured = invented("SRU-1")["SRU-1"]
    assert measured.chosen() == 0.1
    assert dfop_table4.rate_for("hyperplane", measured) == 0.002
    assert not dfop_table4.at_the_edge({"SRU-1": measured})
    own = {key: Errors(e.before, e.after, -key[0]) for key, e in measured.errors.items()}
    assert "largest of the grid" in dfop_table4.at_the_edge({"SRU-1": Measured(own, 1.0)})[0]


def test_files_add_data_sets_and_the_others_are_named(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    write(tmp_path / "debutanizer.csv", X, X.sum(axis=1))
    result = papers.run("dfop-table4", quick=True, out=tmp_path / "out", data=tmp_path, jobs=1, progress=False)
    assert {record["data_set"] for record in result.findings.numbers.records()} == {"hyperplane", "Debutanizer"}
    assert len(result.findings.left_out) == 2
    assert "no evidence" in result.files["md"].read_text()
