"""The figures in high dimension: traces compared with the learners, and verdicts on made-up traces."""

import numpy as np
import pytest

import driftline as dl
from papers import dfop_fig3, dfop_fig4
from papers.sparse_dfop_traces import Job, Race, Trace, race, rival_losses, stages, trace
from papers.sparse_rls import rivals


@pytest.fixture(scope="module")
def found() -> Trace:
    return trace(Job(seed=3, rows=1000, every=500))


def test_a_trace_matches_runs_of_the_learners_on_all_rows(found):
    stream = dl.streams.StateSpace(seed=3)
    X, y = stream.take(1000)
    plain = dl.DFOP(forget_rate=2e-3, prior=100.0, intercept=False)
    projected = dl.SparseDFOP(forget_rate=2e-3, prior=100.0, dim=100, seed=3, intercept=False)
    for k, model in enumerate((plain, projected)):
        losses = model.run(X, y).losses
        np.testing.assert_allclose(found.losses[k], losses.reshape(2, 500).mean(axis=1), rtol=1e-9)
    w = stream.weights[-1]
    assert found.distances[0, -1] == pytest.approx(np.linalg.norm(w - plain.coef_), rel=1e-9)
    assert found.distances[1, -1] == pytest.approx(np.linalg.norm(w - projected.recover()), rel=1e-6)
    assert found.distances[2, -1] == pytest.approx(np.linalg.norm(w[:10] - projected.coef_[:10]), rel=1e-9)
    assert found.lengths[-1] == pytest.approx(np.linalg.norm(w))
    assert found.supports.tolist() == [True, True]


def test_a_race_has_the_errors_of_a_trace(found):
    other = race(Job(seed=3, rows=1000, every=500))
    np.testing.assert_allclose(other.losses, found.losses, rtol=1e-9)
    assert (other.seconds > 0).all()
    assert other.excited > 0


def test_rivals_give_the_same_losses_on_only_the_used_inputs():
    X, y = dl.streams.StateSpace(d=30, seed=2).take(200)
    found = rival_losses(X, y, 100)
    for rival, by_value in zip(found, rivals(2e-3, 100.0).values(), strict=True):
        runs = [((learner.predictions(X, y) - y) ** 2).reshape(2, 100).mean(axis=1) for learner in by_value.values()]
        np.testing.assert_allclose(rival, runs, rtol=1e-8)


def test_stages_begin_at_the_changes():
    assert stages(np.arange(8), 125).tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]


def stages_of_two(rises: bool = True) -> list[Trace]:
    """Traces of three stages with two windows each, which rise at each change and fall after it."""
    curve = np.array([4.0, 1.0] * 3 if rises else [1.0, 4.0] * 3)
    distances = np.array([curve, curve + 1, curve])
    return [Trace(np.array([curve, curve]), distances, np.full(6, 10.0), np.full(6, True))] * 2


def test_the_verdict_on_tracking_follows_the_curves():
    assert dfop_fig3.judge(stages_of_two(), 250).verdict == "agrees"
    assert dfop_fig3.judge(stages_of_two(rises=False), 250).verdict == "does not agree"


def races(ratio: float = 300.0, worse: float = 1.2, rivals: float = 3.0) -> list[Race]:
    curve = np.linspace(2.0, 1.0, 6)
    return [
        Race(
            np.array([curve, curve * worse]),
            np.array([ratio, 1.0]),
            90.0,
            np.array([[9 * curve, curve, 8 * curve]] * 2) * rivals,
        )
    ] * 2


@pytest.mark.parametrize(
    ("options", "held"),
    [
        ({}, [True, True, True]),
        ({"ratio": 249.0}, [True, True, False]),
        ({"worse": 0.9}, [False, True, True]),
        ({"worse": 2.5}, [True, False, True]),
        ({"rivals": 1.1}, [False, True, True]),
    ],
)
def test_the_verdict_on_errors_and_times_follows_the_numbers(options, held):
    assert [check.holds for check in dfop_fig4.judge(races(**options), 1500, 250).checks] == held
