import numpy as np
import pytest

import driftline as dl
import papers
from papers import Context, dfop_sparse_contest, dfop_table3
from papers.dfop_data import Dataset
from papers.dfop_published import table_3
from papers.dfop_sparse_contest import COMPRESSED, WHOLE, WIDEST, Job, Score, columns, gather, scores
from papers.sparse_rls import GMFRLS

from . import dfop_plain
from .dfop_files import write


def classes(rows: int, inputs: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((rows, inputs)) < 0.2, 1.0, 0.0)
    return X, np.where(X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=rows) >= 0, 1.0, -1.0)


def test_scores_match_the_learners_on_the_rows_of_the_subset():
    X, y = classes(150, 5)
    found = scores(Job(X, y, 7))
    one = dfop_plain.with_one(X)
    assert found["DFOP", WHOLE, 0.0].right == pytest.approx(dfop_plain.right(dfop_plain.before(one, y, 2e-3, 100.0), y))
    sparse = dl.SparseDFOP(forget_rate=2e-3, prior=100.0, dim=100, seed=7).run(X, y).predictions
    assert found["Sparse-DFOP", COMPRESSED, 0.0].right == pytest.approx(np.mean((sparse >= 0) == (y > 0)))
    rival = GMFRLS(0.998, 0.2, 0.1).predictions(one, y)
    assert found["GMF-RLS", WHOLE, 0.1].right == pytest.approx(np.mean((rival >= 0) == (y > 0)))
    assert {key[:2] for key in found if key[0] == "S-RLS"} == {("S-RLS", WHOLE), ("S-RLS", COMPRESSED)}


def test_compression_preserves_inner_products_on_average():
    rows = np.eye(3)[[0, 1, 0]] * 2.0
    products = [psi @ psi.T for psi in (dfop_sparse_contest.compressed(rows, seed) for seed in range(300))]
    np.testing.assert_allclose(np.mean(products, axis=0), rows @ rows.T, atol=0.15)


def test_data_too_wide_for_a_square_matrix_is_only_run_compressed():
    X, y = classes(10, WIDEST + 1)
    assert {reading for _, reading, _ in scores(Job(X, y, 0))} == {COMPRESSED}


def test_nan_counts_as_wrong_whatever_the_label():
    found = dfop_sparse_contest.scored(np.array([1.0, np.nan, np.nan, np.nan]), np.array([1.0, -1.0, 1.0, -1.0]))
    assert found == Score(0.25, 1)


def subsets_of(right):
    """Two data sets of three subsets, with made-up accuracies for each column."""
    noise = np.random.default_rng(0).normal(scale=1e-4, size=(2, 3, len(columns())))
    keys = {column: (column.split(",")[0], column.split(", ")[-1] if "," in column else "", 0.1) for column in columns()}
    return [
        [{keys[column]: Score(right[column] + noise[i, j, k], None) for k, column in enumerate(columns())} for j in range(3)]
        for i in range(2)
    ]


def judged(**changes):
    right = dict.fromkeys(columns(), 0.6) | {"Sparse-DFOP": 0.83} | changes
    sets = [Dataset("a9a", False, classes(20, 3)), Dataset("Spam", False, classes(20, 4))]
    return dfop_table3.judge(sets, gather([dataset.label for dataset in sets], subsets_of(right)))


def test_the_threshold_that_is_best_on_average_counts():
    low, high = ("S-RLS", WHOLE, 0.001), ("S-RLS", WHOLE, 0.1)
    base = {(name, COMPRESSED, 0.0): Score(0.5, None) for name in ("Sparse-DFOP",)}
    parts = [base | {low: Score(0.9, None), high: Score(0.6, 40)}, base | {low: Score(0.5, 9), high: Score(0.6, 30)}]
    found = gather(["a set"], [parts])
    column = f"S-RLS, {WHOLE}"
    assert found.chosen["a set", column] == 0.001
    assert found.broken["a set", column] == 9
    assert found.comparison.scores["accuracy"][0, columns().index(column)].tolist() == [0.9, 0.5]
    assert ("a set", "DFOP") not in found.chosen


def test_the_papers_own_order_agrees():
    findings = judged()
    assert findings.verdict == "agrees"
    assert len(findings.checks) == 13  # the accuracy on a9a, and on each set three rivals in two readings


@pytest.mark.parametrize(
    ("changes", "failing"),
    [
        ({"Sparse-DFOP": 0.815}, [0]),
        ({f"GMF-RLS, {WHOLE}": 0.83}, [3, 9]),
        ({f"S-RLS, {COMPRESSED}": 0.9}, [2, 8]),
    ],
)
def test_the_verdict_follows_the_accuracies(changes, failing):
    assert [i for i, check in enumerate(judged(**changes).checks) if not check.holds] == failing


def test_the_papers_numbers_are_shown_only_for_its_own_data_sets():
    table = judged().summary[0]
    a9a, spam = table.rows
    assert a9a[2] == "83.0 ± 0.3"
    assert a9a[table.columns.index("GMF-RLS, paper")] == "65.7 ± 0.3 •"
    assert spam[2] == "-"
    assert table_3()["a9a"]["GMF-RLS"].mean == 0.657


def test_a_quick_run_without_files_uses_the_generated_stream():
    findings = dfop_table3.compute(Context(quick=True, jobs=1, progress=False))
    assert {row[0] for row in findings.numbers.rows} == {"state space, made here"}
    assert any("a9a" in words for words in findings.left_out)
    assert findings.draw().axes


def test_files_are_run_and_the_page_describes_the_rivals(tmp_path):
    X, y = classes(60, 6)
    write(tmp_path / "a9a.csv", X, y)
    result = papers.run("dfop-table3", quick=True, out=tmp_path / "out", data=tmp_path, jobs=1, progress=False)
    text = result.files["md"].read_text()
    assert "a9a, file" in text
    assert "83.0 ± 0.3" in text
    assert "was not available" in text
    assert "ASVB-L" in text
