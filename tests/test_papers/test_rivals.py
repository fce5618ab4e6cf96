"""Stored results of rivals: reading them, matching them with rows, tests against DFOP, and tables."""

import numpy as np
import pytest

from driftline.evaluate import Accuracy, Comparison, paired_t_test
from papers import dfop_fig1, dfop_fig2, dfop_table1, dfop_table4, rivals
from papers.dfop_contest import LEARNERS, OTHER_PRIORS, Others
from papers.dfop_data import Dataset
from papers.dfop_published import METHODS, Printed, table_1, table_4
from papers.rival_tables import ahead, compared, count, methods_table, scores_table
from papers.rivals import CLASSIFICATION, REGRESSION, About, Kept, Rivals, fingerprint, same

from .test_dfop_table4 import invented as errors_of

ABOUT = {"DWM": About("the paper's", "experts", "numba 1"), "Auto": About("driftline's", "defaults", "driftline")}
ABOUT |= {name: About("the paper's", "", "driftline") for name in ("RLS", "1NN-win")}


def test_rows_are_identified_by_their_values_and_order():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)), rng.normal(size=50)
    own = fingerprint(X, y)
    assert same(own, fingerprint(X * (1 + 1e-12), y))
    swapped = np.r_[1, 0, np.arange(2, 50)]
    for other in (
        fingerprint(X[:-1], y[:-1]),
        fingerprint(X[swapped], y[swapped]),
        fingerprint(X, -y),
        fingerprint(2 * X, y),
    ):
        assert not same(own, other)


def test_the_stored_results_are_complete():
    """Every method is described, and has a score for each of its subsets, at most ten."""
    kept = rivals.load()
    for task in (CLASSIFICATION, REGRESSION):
        about = kept.methods(task)
        for name in kept.data_sets(task):
            for method, own in kept.scores(task, name).items():
                assert about[method].origin in (rivals.PAPER, rivals.OURS, rivals.TODAY, rivals.BASELINE)
                assert len(own.subsets) == len(own.scores) >= 2
                assert set(own.subsets) <= set(range(10))
                assert own.microseconds > 0
                assert task == REGRESSION or ((own.scores >= 0) & (own.scores <= 1)).all()


def test_the_papers_rivals_were_run_on_ten_data_sets_or_more():
    kept = rivals.load()
    run = [kept.scores(CLASSIFICATION, name) for name in kept.data_sets(CLASSIFICATION)]
    counts = {method: sum(method in own for own in run) for method in METHODS if method != "DFOP"}
    assert sum(number >= 10 for number in counts.values()) >= 9
    there = [kept.scores(REGRESSION, name) for name in kept.data_sets(REGRESSION)]
    assert all(sum(method in own for own in there) >= 10 for method in ("RLS", *dfop_table4.ENSEMBLES))


def test_a_breakdown_is_infinite_and_loses():
    own = rivals.kept({"subsets": [0, 9], "scores": [0.5, None], "microseconds": 2.0})
    assert own.scores.tolist() == [0.5, np.inf]
    rival = compared("a", {"DWM": own}, np.full(10, 7.0), {}, lower_is_better=True)[0]
    assert rival.dfop_does == "win"


def test_a_rival_is_tested_against_dfop_on_its_own_subsets():
    dfop = 90.0 + np.arange(10.0)
    own = Kept((1, 4, 9), np.array([0.90, 0.92, 0.98]), 3.0)
    rival = compared("SEA, file", {"DWM": own}, dfop, {"DWM": Printed(87.0, 0.1, "win")})[0]
    test = paired_t_test(dfop[[1, 4, 9]], [90.0, 92.0, 98.0])
    assert rival.p_value == pytest.approx(test.p_value)
    assert rival.dfop_does == ("win" if test.p_value < 0.05 else "tie")
    assert (rival.mean, rival.subsets) == (pytest.approx(280 / 3), 3)


def some(dwm=0.8, auto=0.95, sets=("SEA, file", "2CHT, file")):
    rng = np.random.default_rng(0)
    found = []
    for name in sets:
        kept = {
            m: Kept(tuple(range(10)), v + rng.normal(scale=1e-3, size=10), 5.0) for m, v in (("DWM", dwm), ("Auto", auto))
        }
        found += compared(name, kept, np.full(10, 90.0), {"DWM": table_1()[name.split(",")[0]]["DWM"]})
    return found


def test_tables_count_wins_here_and_in_the_paper():
    found = some()
    assert str(count([rival.dfop_does for rival in found])) == "2/0/2"
    table = methods_table(found, ABOUT, "")
    assert [row[5:7] for row in table.rows] == [["2/0/0", "2/0/0"], ["0/0/2", ""]]
    scores = scores_table(found, ["DWM", "Auto", "never run"], "")
    assert scores.columns == ["data set", "DWM, paper", "here", "Auto"]
    assert scores.rows[0][1] == "87.04 ± 0.03 •"
    assert scores.rows[0][3].text.endswith("◦")


def test_the_paragraph_names_the_best_method_if_dfop_loses():
    words = ahead(some(), ABOUT, {"SEA, file": 90.0, "2CHT, file": 90.0}, lower_is_better=False)
    assert "on 2 of 2 data sets" in words
    assert "Auto 95" in words
    assert ahead(some(auto=0.5), ABOUT, {"SEA, file": 90.0}, lower_is_better=False).startswith("No method")


def comparison(names=("SEA", "2CHT")):
    datasets = [Dataset(name, False, None) for name in names]
    values = np.repeat(np.array([[[0.9], [0.6], [0.8]]] * len(names)), 10, axis=2)
    scores = {"accuracy": values + np.random.default_rng(0).normal(scale=1e-4, size=values.shape)}
    labels = [dataset.label for dataset in datasets]
    return datasets, Comparison(labels, list(LEARNERS), {"accuracy": Accuracy()}, scores, values, reference="DFOP")


def test_table_1_shows_rivals_and_checks_the_papers(monkeypatch):
    monkeypatch.setattr(
        dfop_table1, "load", lambda: Rivals({"methods": {CLASSIFICATION: {n: a._asdict() for n, a in ABOUT.items()}}})
    )
    datasets, own = comparison()
    besides = [Others([0.99] * 10, 0.9, dict.fromkeys(OTHER_PRIORS, [0.8] * 10)) for _ in datasets]
    findings = dfop_table1.judge(datasets, own, besides, None, (), some())
    check = findings.checks[-1]
    assert check.statement == "DFOP wins against DWM on more data sets than it loses, as in the paper"
    assert check.holds
    assert not dfop_table1.judge(datasets, own, besides, None, (), some(dwm=0.97)).checks[-1].holds
    records = [r for r in findings.numbers.records() if r["method"] == "Auto"]
    assert [r["dfop_does"] for r in records] == ["loss", "loss"]
    near = comparison()[1]
    near.scores["accuracy"][0, 2] = 0.999
    beaten = dfop_table1.judge(datasets, near, besides, None, (), some(auto=0.5))
    assert any("on 1 of 2 data sets. The best of them: SEA, file: 1NN-win 99.9" in words for words in beaten.remarks)
    quoted = next(table for table in findings.summary if "not run here" in table.caption)
    assert "DWM" not in quoted.columns
    assert "ADL" in quoted.columns
    assert any("ADL" in words for words in findings.left_out)


def test_fig_2_scores_all_methods_on_data_sets_with_all_methods():
    datasets, own = comparison()
    part = [rival for rival in some() if (rival.data_set, rival.method) != ("SEA, file", "Auto")]
    wide = dfop_fig2.over_all(own, part)
    sets, scores = wide[dfop_fig2.MOST]
    assert set(scores) == {"DFOP", "RLS", "1NN-win", "DWM"}
    assert len(sets) == 2
    assert scores["DFOP"] == pytest.approx(2 * 90 / 60, abs=0.01)
    sets, scores = wide[dfop_fig2.ALL]
    assert sets == ["2CHT, file"]
    assert scores["Auto"] == pytest.approx(95 / 60, abs=0.01)
    findings = dfop_fig2.judge(datasets, own, (), part)
    assert findings.draw().axes
    assert any("the paper's methods run here" in check.statement and check.holds for check in findings.checks)


def test_fig_1_shows_dwm_if_it_was_run_on_the_same_stream(monkeypatch):
    X, y = dfop_fig1.streams.make("sea", seed=0).take()
    counts = np.full((10, 4), 870).tolist()
    kept = Rivals({"holdout": {"SEA": {"fingerprint": fingerprint(X, y), "DWM": counts}}})
    monkeypatch.setattr(dfop_fig1, "load", lambda: kept)
    curves = np.full((10, 2, 4), 88.0)
    assert dfop_fig1.with_dwm("SEA", curves, seed=0)[:, 2].tolist() == np.full((10, 4), 87.0).tolist()
    assert dfop_fig1.with_dwm("SEA", curves, seed=1).shape == (10, 2, 4)
    assert dfop_fig1.with_dwm("hyperplane", curves, seed=0).shape == (10, 2, 4)


def test_table_4_compares_dfop_with_the_ensembles_that_were_run(monkeypatch):
    about = {name: About("the paper's", "", "")._asdict() for name in dfop_table4.ENSEMBLES}
    monkeypatch.setattr(dfop_table4, "load", lambda: Rivals({"methods": {REGRESSION: about}}))
    measured = errors_of("Debutanizer")
    paper = table_4()

    def found(shift):
        kept = {
            m: Kept((0, 9), np.full(2, (paper[m]["Debutanizer"].mean + shift) / 100), 1.0) for m in dfop_table4.ENSEMBLES
        }
        own = {m: paper[m]["Debutanizer"] for m in kept}
        dfop = measured["Debutanizer"].errors[0.1, False].before
        return compared("Debutanizer", kept, dfop, own, lower_is_better=True)

    findings = dfop_table4.judge(measured, (), found(0.0), ())
    assert findings.checks[-1].holds
    assert "OB has 0.577" in findings.checks[-1].evidence
    assert not dfop_table4.judge(measured, (), found(-0.5), ()).checks[-1].holds
    assert not any("not run here" in table.caption for table in findings.summary)
    assert any("At least one method" in words for words in dfop_table4.judge(measured, (), found(-0.5), ()).remarks)
