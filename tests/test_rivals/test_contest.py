"""The evaluation protocol of the rivals, and its stored results."""

import json

import numpy as np
import pytest

from benchmarks.rivals import contest, gathering, holdout
from benchmarks.rivals.methods import CLASSIFICATION, ORDER, REGRESSION, Method
from driftline.evaluate import subsets
from papers.rivals import PAPER, Rivals, fingerprint


def last_label(X, y, seed):
    return np.concatenate([[1.0], y[:-1]])


def test_a_method_is_scored_on_the_papers_subsets():
    y = np.where(np.random.default_rng(0).random(100) < 0.5, 1.0, -1.0)
    found = contest.measure(CLASSIFICATION, Method(last_label, PAPER, "driftline", ""), np.ones((100, 1)), y)
    expected = [np.mean(last_label(None, y[a:b], 0) == y[a:b]) for a, b in subsets(100)]
    assert found["scores"] == expected
    assert found["subsets"] == list(range(10))


def test_a_slow_method_is_run_on_fewer_subsets_over_the_same_span():
    slow = Method(last_label, PAPER, "numba", "", budget=20_000)
    assert contest.chosen(10_000, 2, slow) == [0, 9]
    assert contest.chosen(5000, 2, slow) == [0, 3, 6, 9]
    assert contest.chosen(5000, 200, slow) == [0, 9]
    assert contest.chosen(100, 2, slow) == list(range(10))


def test_predictions_that_are_not_finite_are_a_breakdown():
    assert contest.score(REGRESSION, np.array([0.0, np.nan]), np.zeros(2)) is None
    assert contest.score(REGRESSION, np.array([1e200, 0.0]), np.zeros(2)) is None
    assert contest.score(REGRESSION, np.array([1.0, 0.0]), np.zeros(2)) == 0.5
    assert contest.score(CLASSIFICATION, np.array([0.0, -3.0]), np.array([1.0, 1.0])) == 0.5


def test_stored_measurements_are_gathered_and_not_repeated(tmp_path, monkeypatch):
    X, y = np.arange(40.0).reshape(20, 2), np.tile([1.0, -1.0], 10)
    calls = []

    def counted(X, y, seed):
        calls.append(seed)
        return last_label(X, y, seed)

    monkeypatch.setattr(contest, "methods", lambda *about: {"RLS": Method(counted, PAPER, "driftline", "words")})
    for task in ORDER:
        contest.run(task, iter([("SEA, file", X, y)]), tmp_path, [])
    first = len(calls)
    contest.run(CLASSIFICATION, iter([("SEA, file", X, y)]), tmp_path, [])
    assert len(calls) == first == 2 * 11  # ten subsets and a warm-up
    content = json.loads(gathering.lines(gathering.gathered(tmp_path)))
    kept = Rivals(content).on(CLASSIFICATION, "SEA, file", X, y)["RLS"]
    assert kept.scores.tolist() == pytest.approx(
        [contest.score(CLASSIFICATION, last_label(X, y[a:b], 0), y[a:b]) for a, b in subsets(20)]
    )
    assert Rivals(content).methods(CLASSIFICATION)["RLS"].words == "words"
    assert not Rivals(content).on(CLASSIFICATION, "SEA, file", X, y[::-1])
    assert not Rivals(content).on(CLASSIFICATION, "2CHT, file", X, y)


def test_scores_on_different_rows_are_not_gathered(tmp_path):
    folder = tmp_path / CLASSIFICATION / "SEA, file"
    folder.mkdir(parents=True)
    (tmp_path / REGRESSION).mkdir()
    record = {"origin": "", "words": "", "library": "", "subsets": [0], "scores": [1.0], "microseconds": 1.0}
    for name, rows in (("DFOP", 3), ("RLS", 4)):
        own = record | {"fingerprint": fingerprint(np.ones((rows, 1)), np.ones(rows))}
        (folder / f"{name}.json").write_text(json.dumps(own))
    with pytest.raises(ValueError, match="other rows"):
        gathering.gathered(tmp_path)


def test_fresh_rows_are_counted_for_each_sample():
    found = holdout.counts("SEA", 3, rows=200, every=50, fresh=40)
    assert len(found) == 4
    assert all(20 <= count <= 40 for count in found)
