import numpy as np
import pytest

from driftline.streams import Rotating
from papers import arcor_network
from papers.race import Course


@pytest.fixture(scope="module")
def found():
    job = arcor_network.Job(Course(Rotating(power=0.01, unit="deg", noise=2.0), 200), 3, 10.0)
    return job, *arcor_network.certified(job)


def test_the_recorded_certificates_match_the_losses_of_a_plain_run(found):
    job, curves, copies = found
    X, y = job.course.take(job.seed)
    model = arcor_network.network(job.noise)
    losses = np.cumsum(model.run(X, y).losses)
    at = arcor_network.marks(200)
    assert curves[0] == pytest.approx(losses[at - 1], rel=1e-9)
    said = np.column_stack([learner.clone().run(X, y).predictions for learner in model.learners])
    each = np.cumsum((y[:, None] - said) ** 2, axis=0)
    assert copies == pytest.approx(each[-1], rel=1e-9)
    assert curves[1] == pytest.approx(each.min(axis=1)[at - 1], rel=1e-9)


def test_a_loss_beyond_the_bound_changes_the_verdict(found):
    _, curves, copies = found
    at, chosen = {"it": arcor_network.marks(200)}, {"it": 10.0}
    good = {"it": (np.array([curves, curves]), np.array([copies, copies]))}
    assert arcor_network.judge(good, at, chosen).checks[0].holds
    worse = curves.copy()
    worse[0, 7] = worse[2, 7] + 1
    bad = {"it": (np.array([curves, worse]), np.array([copies, copies]))}
    assert not arcor_network.judge(bad, at, chosen).checks[0].holds


def test_an_allowance_that_grows_with_the_rows_is_detected(found):
    _, curves, copies = found
    at = {"it": arcor_network.marks(200)}
    steep = np.array([curves[0], curves[1], curves[1] + 50.0 * at["it"]])
    findings = arcor_network.judge({"it": (np.array([steep, steep]), np.array([copies, copies]))}, at, {"it": 10.0})
    assert not findings.checks[1].holds
