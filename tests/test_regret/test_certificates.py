"""The wording and limits of ``certificate()``; other tests check its identities and bounds."""

import math

import numpy as np
import pytest

import driftline as dl
from driftline import regret

rng = np.random.default_rng(11)
X = rng.normal(size=(300, 3))
y = X @ [1.0, -2.0, 0.5] + 0.3 * rng.normal(size=300)

IDENTITY_ONLY = [dl.Ridge(), dl.RLS(), dl.DFOP(), dl.Kalman()]
BOUNDED = [dl.AAR(), dl.AROWR(), dl.WEMM(), dl.LASER(), dl.WeightedLASER()]


@pytest.mark.parametrize("learner", IDENTITY_ONLY + BOUNDED, ids=lambda learner: type(learner).__name__)
def test_run_and_loop_certify_the_same(learner):
    one, other = (type(learner)(**learner.get_params()) for _ in range(2))
    one.run(X, y)
    for row, label in zip(X, y, strict=True):
        other.learn_one(row, label)
    assert one.certificate().comparator == pytest.approx(other.certificate().comparator, rel=1e-12)
    assert one.certificate().conditions == other.certificate().conditions


@pytest.mark.parametrize("learner", IDENTITY_ONLY, ids=lambda learner: type(learner).__name__)
def test_without_a_theorem_there_is_no_bound(learner):
    model = type(learner)(**learner.get_params())
    model.run(X, y)
    certificate = model.certificate()
    assert certificate.comparator > 0
    assert certificate.bound is None
    assert certificate.slack is None


@pytest.mark.parametrize("learner", BOUNDED, ids=lambda learner: type(learner).__name__)
def test_with_a_theorem_the_bound_is_above_loss_and_comparator(learner):
    model = type(learner)(**learner.get_params())
    model.run(X, y)
    certificate = model.certificate()
    assert all(certificate.conditions.values())
    assert certificate.loss <= certificate.bound
    assert certificate.comparator <= certificate.bound
    assert certificate.slack == certificate.bound - certificate.loss


def test_laser_reports_its_conditions():
    model = dl.LASER(ridge=2.0, drift_cost=50.0, clip=1.0)
    model.run(X, y)
    assert model.certificate().bound is None
    assert model.certificate().conditions == {
        "ridge < drift_cost: 2 < 50": True,
        "every label lies within clip = 1": False,
    }


def test_wemm_reports_its_condition():
    model = dl.WEMM()
    model.run(X, y)
    assert model.certificate().conditions == {"x'Sx < 1 on every row": True}


def test_the_reason_why_an_identity_ended_is_reported():
    resetting = dl.CRRLS(period=100)
    resetting.run(X, y)
    assert resetting.certificate().comparator is None
    assert resetting.certificate().conditions == {"S was never reset": False}
    projecting = dl.ARCOR(schedule=None, radius=0.5)
    projecting.run(X, y)
    assert projecting.certificate().conditions == {"the weights never left the ball": False}


def test_laser_with_a_fixed_comparator_is_aar():
    still, fixed = dl.LASER(ridge=2.0, drift_cost=math.inf), dl.AAR(ridge=2.0)
    still.run(X, y)
    fixed.run(X, y)
    assert still.certificate().comparator == pytest.approx(fixed.certificate().comparator, rel=1e-12)
    assert still.certificate().loss < still.certificate().bound < fixed.certificate().bound


@pytest.mark.parametrize("scale", [1e-100, 1e-8, 1e8, 1e100])
def test_units_of_the_features_do_not_break_the_determinant(scale):
    plain, scaled = dl.AROWR(ridge=1.0, intercept=False), dl.AROWR(ridge=1.0, intercept=False)
    other = X * np.array([1.0, scale, 1.0])
    plain.run(X[:, [0, 2]], y)
    scaled.run(other, y)
    bound = regret.arowr(dl.AROWR(ridge=1.0, intercept=False), other, y)
    assert scaled.certificate().bound == pytest.approx(bound.value, rel=1e-9)


@pytest.mark.parametrize("learner", BOUNDED[:2] + BOUNDED[3:], ids=lambda learner: type(learner).__name__)
def test_sums_that_overflow_certify_nothing_and_raise_nothing(learner):
    model = type(learner)(**learner.get_params())
    model.run(np.full((5, 2), 1e150), np.full(5, 1e200))
    certificate = model.certificate()
    assert certificate.bound is None
    assert certificate.comparator is None
    assert certificate.conditions["the sums stay within the range of float64"] is False


def test_before_the_first_row_the_certificate_is_empty():
    assert dl.AAR().certificate() == dl.Certificate(loss=0.0)


def test_float32_certifies_to_its_own_accuracy():
    model = dl.AAR(dtype="float32")
    model.run(X, y)
    exact = regret.aar(dl.AAR(), X, y)
    assert model.certificate().bound == pytest.approx(exact.value, rel=1e-4)
