from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
from scipy import stats

import driftline as dl
from driftline import evaluate
from driftline.evaluate.cases import seeds
from tests.test_evaluate.peers import Diverging, Zero

STREAMS = {
    "slow": dl.streams.Rotating(rate=0.1, unit="deg", noise=0.5),
    "fast": dl.streams.Rotating(rate=2.0, unit="deg", noise=0.5),
    "jumps": dl.streams.Switching(rate=0.1, unit="deg", every=100, noise=0.5),
}
LEARNERS = {"RLS": dl.RLS(forgetting=0.95), "Ridge": dl.Ridge(), "zero": Zero()}


@pytest.fixture(scope="module")
def result():
    return evaluate.compare(LEARNERS, STREAMS, rows=400, repeats=4, metrics=["mse", "mae"], n_jobs=1)


def test_scores_match_those_of_run_on_the_sequences(result):
    assert result.scores["mse"].shape == (3, 3, 4)
    for repetition, seed in enumerate(seeds(0, 4)[1]):
        X, y = STREAMS["fast"].reseeded(seed).take(400)
        run = dl.RLS(forgetting=0.95).run(X, y)
        np.testing.assert_allclose(result.scores["mse"][1, 0, repetition], run.losses.mean(), rtol=1e-12)
        np.testing.assert_allclose(result.scores["mae"][1, 0, repetition], np.abs(run.errors).mean(), rtol=1e-12)
        np.testing.assert_allclose(result.scores["mse"][1, 2, repetition], np.mean(y**2), rtol=1e-12)


def test_base_estimators_are_not_changed(result):
    assert LEARNERS["RLS"].n_seen_ == 0
    assert LEARNERS["zero"].seen == 0


def test_means_deviations_and_tests_match_numpy_and_scipy(result):
    scores = result.scores["mse"]
    np.testing.assert_allclose(result.mean(), scores.mean(axis=2))
    np.testing.assert_allclose(result.std("mae"), result.scores["mae"].std(axis=2, ddof=1))
    for s, stream in enumerate(STREAMS):
        for k, name in ((1, "Ridge"), (2, "zero")):
            expected = stats.ttest_rel(scores[s, 0], scores[s, k])
            outcome, test = result.tests()[stream][name]
            assert test.p_value == pytest.approx(expected.pvalue, rel=1e-9)
            significant = expected.pvalue < 0.05
            better = scores[s, 0].mean() < scores[s, k].mean()
            assert outcome == ("tie" if not significant else "win" if better else "loss")


def test_win_tie_loss_counts_streams_and_reverses_for_the_opponent(result):
    own = result.win_tie_loss()
    assert list(own) == ["Ridge", "zero"]
    assert all(sum(counts) == 3 for counts in own.values())
    other = result.win_tie_loss(reference="Ridge")["RLS"]
    assert (other.loss, other.tie, other.win) == own["Ridge"]
    assert str(own["zero"]) == "3/0/0"


def test_robustness_and_ranks_use_the_means(result):
    means = result.mean()
    np.testing.assert_allclose(list(result.robustness().values()), (means.max(axis=1, keepdims=True) / means).sum(axis=0))
    ranks = result.ranks()
    assert ranks.blocks == 3
    np.testing.assert_allclose(list(ranks.mean.values()), np.mean([stats.rankdata(row) for row in means], axis=0))
    assert result.ranks(over="repeats").blocks == 12


def test_tuning_takes_the_best_setting_of_another_sequence():
    grid = {"RLS": {"forgetting": [0.5, 0.9, 0.99]}}
    result = evaluate.compare({"RLS": dl.RLS(), "Ridge": dl.Ridge()}, STREAMS, rows=300, repeats=2, grid=grid, n_jobs=1)
    for stream in STREAMS:
        X, y = STREAMS[stream].reseeded(seeds(0, 2)[0]).take(300)
        losses = {f: dl.RLS(forgetting=f).run(X, y).losses.mean() for f in grid["RLS"]["forgetting"]}
        assert result.chosen[stream] == {"RLS": {"forgetting": min(losses, key=losses.get)}}
        tried = {trial.params["forgetting"]: trial.loss for trial in result.trials[stream]["RLS"]}
        assert tried == pytest.approx(losses, rel=1e-12)
        X, y = STREAMS[stream].reseeded(seeds(0, 2)[1][0]).take(300)
        best = dl.RLS(**result.chosen[stream]["RLS"]).run(X, y).losses.mean()
        s = result.streams.index(stream)
        assert result.scores["mse"][s, 0, 0] == pytest.approx(best, rel=1e-12)


def test_settings_that_a_learner_refuses_are_left_out():
    grid = {"LASER": {"ridge": [0.1, 10.0], "drift_cost": [1.0]}}
    result = evaluate.compare([dl.LASER()], STREAMS["slow"], rows=100, repeats=2, grid=grid, n_jobs=1)
    assert [trial.params["ridge"] for trial in result.trials["Rotating"]["LASER"]] == [0.1]
    with pytest.raises(ValueError, match="refuses every setting"):
        evaluate.compare([dl.LASER()], STREAMS["slow"], rows=100, grid={"LASER": [{"ridge": 2.0, "drift_cost": 1.0}]})
    with pytest.raises(ValueError, match="grid names RLS"):
        evaluate.compare([dl.LASER()], STREAMS["slow"], rows=100, grid={"RLS": {"forgetting": [1.0]}})


def test_parallel_processes_give_the_same_numbers():
    options = {"rows": 200, "repeats": 3, "grid": {"RLS": {"forgetting": [0.9, 0.99]}}}
    alone = evaluate.compare(LEARNERS, STREAMS, n_jobs=1, **options)
    several = evaluate.compare(LEARNERS, STREAMS, n_jobs=2, **options)
    assert alone.scores["mse"].tolist() == several.scores["mse"].tolist()
    assert alone.chosen == several.chosen
    assert alone.trials == several.trials


def test_a_learner_that_diverges_has_the_worst_score_and_is_reported():
    learners = {"RLS": dl.RLS(), "LMS": dl.LMS(rate=10.0), "peer": Diverging()}
    result = evaluate.compare(learners, STREAMS["slow"], rows=300, repeats=3, n_jobs=1)
    assert np.isinf(result.mean()[0, 1:]).all()
    assert result.win_tie_loss() == {"LMS": (1, 0, 0), "peer": (1, 0, 0)}
    assert {(name, repetition) for _, name, repetition, _ in result.failures} == {
        (name, i) for name in ("LMS", "peer") for i in range(3)
    }
    assert "inf" in str(result)


def test_a_learner_that_refuses_a_row_loses_and_the_others_continue():
    """WEMM needs |x|² < ridge: a row that is too long must not end an hour's comparison."""
    learners = {"RLS": dl.RLS(), "WEMM": dl.WEMM(ridge=1.0)}
    result = evaluate.compare(learners, STREAMS["slow"], rows=50, repeats=2, n_jobs=1)
    assert result.win_tie_loss()["WEMM"].win == 1
    assert "ridge" in result.failures[0][3]
    grid = {"WEMM": {"ridge": [1.0, 1e4]}}
    tuned = evaluate.compare(learners, STREAMS["slow"], rows=50, repeats=2, grid=grid, n_jobs=1)
    assert tuned.chosen["Rotating"]["WEMM"] == {"ridge": 1e4}
    assert tuned.trials["Rotating"]["WEMM"][0].loss == np.inf
    assert not tuned.failures


def test_rows_that_no_learner_accepts_are_an_error():
    X, y = np.ones((50, 2)), np.ones(50)
    X[30, 1] = np.nan
    with pytest.raises(ValueError, match=r"every learner refuses repetition 0 of rows: RLS.run: X has NaN in row 29"):
        evaluate.compare([dl.RLS(), dl.Ridge()], {"rows": (X, y)}, n_jobs=1)


def test_fixed_rows_follow_the_protocol_of_subsets():
    X, y = STREAMS["jumps"].take(500)
    result = evaluate.compare([dl.RLS(), dl.Ridge()], {"rows": (X, y)}, n_jobs=1)
    expected = [dl.Ridge().run(X[s : s + 400], y[s : s + 400]).losses.mean() for s in range(10, 101, 10)]
    np.testing.assert_allclose(result.scores["mse"][0, 1], expected, rtol=1e-12)
    assert result.protocols == {"rows": "subsets"}
    assert "10 consecutive subsets" in str(result)


def test_labels_are_scored_by_accuracy():
    result = evaluate.compare([dl.DFOP(), dl.Ridge()], dl.streams.SEA(rows=2000), repeats=2, n_jobs=1)
    assert list(result.metrics) == ["accuracy"]
    assert (result.mean() > 0.7).all()


def test_the_seed_of_a_learner_changes_with_the_repetition():
    class Seeded(Zero):
        def __init__(self, seed=10):
            super().__init__()
            self.seed = seed

        def get_params(self, deep=True):
            return {"seed": self.seed}

        def predict_one(self, x):
            return float(self.seed)

    rows = np.zeros((50, 1)), np.zeros(50)
    result = evaluate.compare([Seeded()], {"rows": rows}, repeats=3, metrics="mae", n_jobs=1)
    assert result.scores["mae"][0, 0].tolist() == [10.0, 11.0, 12.0]


def test_the_table_reads_like_the_papers(result):
    table = result.table()
    assert list(table.columns) == ["stream", "RLS", "Ridge", "zero"]
    text = str(table)
    assert "RLS: win/tie/loss" in text
    assert "mean rank" in text
    assert "•" in text
    _, *rows = csv.reader(io.StringIO(table.to_csv()))
    np.testing.assert_array_equal([[float(v) for v in row[1:]] for row in rows[:3]], result.mean())


def test_csv_and_json_parse_back_with_every_number(result):
    records = list(csv.DictReader(io.StringIO(result.to_csv())))
    assert len(records) == 3 * 3 * 2
    first = records[0]
    assert (first["stream"], first["learner"], first["metric"]) == ("slow", "RLS", "mse")
    assert float(first["mean"]) == result.mean()[0, 0]
    assert first["p_value"] == ""
    content = json.loads(result.to_json())
    assert content["scores"]["mse"] == result.scores["mse"].tolist()
    assert content["records"][1]["p_value"] == result.tests()["slow"]["Ridge"][1].p_value


def test_markdown_and_latex_show_the_best_in_bold(result, tmp_path):
    markdown = result.to_markdown(tmp_path / "table.md")
    assert markdown == (tmp_path / "table.md").read_text(encoding="utf-8")
    for s, line in enumerate(markdown.splitlines()[4:7]):
        cells = line.strip("| ").split(" | ")[1:]
        assert [cell.startswith("**") for cell in cells] == (result.mean()[s] == result.mean()[s].min()).tolist()
    assert r"$\pm$" in result.to_latex(metric="mae")


def test_one_repetition_has_no_deviation_and_no_significance():
    result = evaluate.compare([dl.RLS(), dl.Ridge()], STREAMS["fast"], rows=100, repeats=1, n_jobs=1)
    assert np.isnan(result.std()).all()
    assert result.win_tie_loss() == {"Ridge": (0, 1, 0)}
    assert "±" not in str(result).splitlines()[-4]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"repeats": 0}, "repeats must be"),
        ({"level": 1.0}, "level must be"),
        ({"reference": "LMS"}, "reference must be 'RLS', got 'LMS'"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"metrics": "mape"}, "metrics must be among"),
    ],
)
def test_wrong_arguments_are_refused_by_name(options, message):
    with pytest.raises(ValueError, match=message):
        evaluate.compare([dl.RLS()], STREAMS["slow"], **{"rows": 20} | options)


def test_interval_metrics_rank_no_learner():
    """Neither the widest intervals nor those with the highest coverage are the best: no mark, nothing bold, no rank."""
    stream = dl.streams.Rotating(rate=0.01, noise=0.1)
    learners = {"RLS": dl.RLS(forgetting=0.9), "Ridge": dl.Ridge()}
    result = evaluate.compare(learners, stream, rows=300, repeats=3, metrics=["mse", "coverage", "width"], n_jobs=1)
    for metric in ("coverage", "width"):
        text = result.to_markdown(metric=metric)
        assert not set("•◦*") & set(text)
        assert "rank" not in text
        assert np.isfinite(result.mean(metric)).all()
        for verb in (result.tests, result.win_tie_loss, result.robustness, result.ranks):
            with pytest.raises(ValueError, match=f"{metric} cannot rank learners"):
                verb(metric)
    assert "**" in result.to_markdown(metric="mse")
    records = {(row["learner"], row["metric"]): row for row in result.record_table().records()}
    assert records["Ridge", "width"]["reference_does"] is None
    assert records["Ridge", "mse"]["reference_does"] == "win"
