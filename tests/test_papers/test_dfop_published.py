"""The paper's numbers agree with its statements about them, which would reveal errors in copying them."""

import pytest

from papers.dfop_fig2 import from_printed, ordered
from papers.dfop_published import METHODS, REGRESSIONS, TABLE_5, table_1, table_3, table_4


def test_dfop_is_first_on_13_of_20_data_sets():
    table = table_1()
    assert len(table) == 20
    assert sum(row["DFOP"].mean == max(number.mean for number in row.values()) for row in table.values()) == 13


@pytest.mark.parametrize(
    ("method", "counts"),
    [
        ("RLS", (18, 2, 0)),
        ("SVM-fix", (17, 3, 0)),
        ("SVM-ada", (18, 2, 0)),
        ("DWM", (14, 2, 4)),
        ("ECDD", (17, 1, 2)),
        ("ADL", (17, 3, 0)),
        ("AdaBoost.OL", (17, 3, 0)),
        ("HybridForest", (14, 4, 2)),
        ("1NN-win", (15, 1, 4)),  # the paper's last row gives 14, 2, 4
    ],
)
def test_the_marks_add_up_to_the_printed_counts(method, counts):
    outcomes = [row[method].outcome for row in table_1().values()]
    assert tuple(outcomes.count(word) for word in ("win", "tie", "loss")) == counts


def test_robustness_is_a_sum_of_ratios():
    table = table_1()
    for method, score in from_printed(METHODS, list(table)).items():
        by_hand = sum(row[method].mean / min(number.mean for number in row.values()) for row in table.values())
        assert score == pytest.approx(by_hand, rel=1e-12)
    assert [name for name, _ in ordered(from_printed(METHODS, list(table)))][:2] == ["DFOP", "DWM"]


def test_the_last_column_of_table_5_follows_from_the_others():
    products = [period * rate for period, rate in TABLE_5.values()]
    assert products == pytest.approx([4, 4, 4, 4, 3, 1, 2, 2, 2, 2, 18, 10])


def test_dfop_has_the_least_error_on_three_of_four_regressions():
    table = table_4()
    first = [name for name in REGRESSIONS if min(table, key=lambda method: table[method][name].mean) == "DFOP"]
    assert first == ["hyperplane", "SRU-2", "Debutanizer"]


def test_sparse_dfop_is_first_on_11_of_14_data_sets():
    table = table_3()
    assert len(table) == 14
    assert sum(row["Sparse-DFOP"].mean == max(number.mean for number in row.values()) for row in table.values()) == 11


@pytest.mark.parametrize(("method", "counts"), [("S-RLS", (11, 1, 2)), ("GMF-RLS", (11, 1, 2)), ("ASVB-L", (10, 2, 2))])
def test_the_marks_of_table_3_add_up(method, counts):
    outcomes = [row[method].outcome for row in table_3().values()]
    assert tuple(outcomes.count(word) for word in ("win", "tie", "loss")) == counts
