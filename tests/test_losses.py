"""The losses of GD and EG: values, slopes, kinks, and the same numbers in native code and in Python."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp

import driftline as dl
from driftline.losses import Absolute, Hinge, Huber, Logistic, Loss, Perceptron, Pinball, Squared
from tests.cases import for_each
from tests.reference import losses as reference
from tests.streams import drifting, signs, weights_of

ON_SIGNS = (Logistic, Hinge, Perceptron)
LOSSES = [
    Squared(),
    Absolute(),
    Huber(),
    Huber(threshold=0.3),
    Pinball(),
    Pinball(level=0.9),
    *(kind() for kind in ON_SIGNS),
]
SAME = [
    (Squared(), reference.squared()),
    (Absolute(), reference.absolute()),
    (Huber(threshold=0.3), reference.huber(threshold=0.3)),
    (Pinball(level=0.9), reference.pinball(level=0.9)),
    (Logistic(), reference.logistic()),
    (Hinge(), reference.hinge()),
    (Perceptron(), reference.perceptron()),
]


class InPython:
    """A loss that the native core does not know."""

    def __init__(self, loss: Loss) -> None:
        self.loss = loss

    def value(self, y: float, prediction: float) -> float:
        return self.loss.value(y, prediction)

    def gradient(self, y: float, prediction: float) -> float:
        return self.loss.gradient(y, prediction)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@given(st.floats(-5, 5), st.floats(-5, 5))
def test_a_gradient_is_the_slope_of_its_value(loss, y, prediction):
    if isinstance(loss, ON_SIGNS):
        y = math.copysign(1.0, y)
    kinks = [0.0, y, y - getattr(loss, "threshold", 0.0), y + getattr(loss, "threshold", 0.0)]
    if min(abs(prediction - kink) for kink in kinks) > 1e-4:
        slope = (loss.value(y, prediction + 1e-5) - loss.value(y, prediction - 1e-5)) / 2e-5
        assert loss.gradient(y, prediction) == pytest.approx(slope, rel=1e-5, abs=1e-8)
    assert loss.value(y, prediction) >= 0


@pytest.mark.parametrize(("ours", "theirs"), SAME, ids=[repr(ours) for ours, _ in SAME])
@given(st.floats(-50, 50), st.floats(-50, 50))
def test_a_loss_matches_its_definition(ours, theirs, y, prediction):
    if isinstance(ours, ON_SIGNS):
        y = math.copysign(1.0, y)
    with mp.workdps(50):
        value, gradient = float(theirs.value(y, prediction)), float(theirs.gradient(y, prediction))
    assert ours.value(y, prediction) == pytest.approx(value, rel=1e-12, abs=1e-300)
    assert ours.gradient(y, prediction) == pytest.approx(gradient, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@for_each("norm", [None, 2.0, "GD"])
def test_native_code_and_python_take_the_same_steps(loss, norm):
    X, y = drifting(4, 60, 5)
    y = signs(y) if isinstance(loss, ON_SIGNS) else y

    def make(loss):
        return dl.GD(rate=0.02, loss=loss) if norm == "GD" else dl.EG(rate=0.05, norm=norm, loss=loss)

    native, python, one_by_one = make(loss), make(InPython(loss)), make(InPython(loss))
    ours, theirs = native.run(X, y, weights_every=1), python.run(X, y, weights_every=1)
    np.testing.assert_allclose(ours.predictions, theirs.predictions, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ours.weights, theirs.weights, rtol=1e-12, atol=1e-12)
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        assert one_by_one.predict_one(x) == theirs.predictions[t]
        one_by_one.learn_one(x, label)
    np.testing.assert_array_equal(weights_of(one_by_one), weights_of(python))


@pytest.mark.parametrize("loss", [Squared(), Absolute(), Huber(), Pinball(level=0.9)], ids=repr)
def test_a_correct_prediction_changes_no_weight(loss):
    assert loss.gradient(1.5, 1.5) == 0
    assert loss.value(1.5, 1.5) == 0
    model = dl.GD(rate=0.5, loss=loss, intercept=False)
    model.learn_one([1.0, 2.0], 0.0)
    np.testing.assert_array_equal(model.coef_, [0.0, 0.0])


def test_the_squared_gradient_has_a_factor_of_two_and_lms_does_not():
    gd, lms = dl.GD(rate=0.1, intercept=False), dl.LMS(rate=0.1, intercept=False)
    for model in (gd, lms):
        model.learn_one([2.0], 3.0)
    assert gd.coef_[0] == pytest.approx(0.1 * 2 * 3 * 2)
    assert lms.coef_[0] == pytest.approx(0.1 * 3 * 2)


def test_pinball_finds_its_quantile_and_absolute_the_median():
    y = np.random.default_rng(0).exponential(size=60_000)
    for loss, level in ((Pinball(level=0.9), 0.9), (Absolute(), 0.5), (Pinball(), 0.5)):
        model = dl.GD(rate=0.004, loss=loss)
        model.run(np.zeros((len(y), 1)), y)
        assert model.intercept_ == pytest.approx(-math.log(1 - level), rel=0.1)


def test_gd_with_the_perceptron_loss_is_the_perceptron():
    """Each mistake adds y x to w = 0. Where y (u.x) >= 1 on all rows, there are at most (R |u|)^2 mistakes."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(4000, 3))
    X = X[np.abs(X @ [1.0, -2.0, 0.5]) > 0.3]
    y = np.sign(X @ [1.0, -2.0, 0.5])
    run = dl.GD(rate=1.0, loss="perceptron", intercept=False).run(X, y, weights_every=1)
    w, mistakes = np.zeros(3), 0
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        wrong = label * (w @ x) <= 0
        w, mistakes = w + wrong * label * x, mistakes + wrong
        np.testing.assert_allclose(run.weights[t], w, rtol=1e-12, atol=1e-12)
    assert 0 < mistakes <= (np.linalg.norm(X, axis=1).max() * np.linalg.norm([1.0, -2.0, 0.5]) / 0.3) ** 2


def test_gd_with_the_hinge_loss_leaves_rows_beyond_the_margin():
    model = dl.GD(rate=0.5, loss="hinge", intercept=False)
    for x, y, expected in (([1.0], 1.0, 0.5), ([1.0], 1.0, 1.0), ([1.0], 1.0, 1.0), ([2.0], -1.0, 0.0)):
        model.learn_one(x, y)
        assert model.coef_[0] == expected


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_losses_are_finite_wherever_floats_are(loss):
    for y in (-1e300, -1.0, 1.0, 1e300):
        for prediction in (-1e150, -800.0, 0.0, 800.0, 1e150):
            label = math.copysign(1.0, y) if isinstance(loss, ON_SIGNS) else y
            assert math.isfinite(loss.gradient(label, prediction))


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf"), "1", None])
def test_the_parameters_of_a_loss_are_checked(bad):
    with pytest.raises(ValueError, match="Huber: threshold must be"):
        Huber(threshold=bad)
    with pytest.raises(ValueError, match="Pinball: level must be"):
        Pinball(level=bad)
    with pytest.raises(ValueError, match="Pinball: level must be"):
        Pinball(level=1.0)


@pytest.mark.parametrize("bad", ["hinges", "", None, 3, Squared, object()])
def test_a_value_that_is_not_a_loss_is_refused(bad):
    with pytest.raises(ValueError, match="GD: loss must be one of 'squared'"):
        dl.GD(loss=bad)
    with pytest.raises(ValueError, match="EG: loss must be one of 'squared'"):
        dl.EG(loss=bad)


def test_a_number_is_not_a_loss_whatever_methods_it_has() -> None:
    class Number(float):
        value = gradient = lambda self, y, prediction: 0.0

    for kind in (dl.GD, dl.EG):
        with pytest.raises(ValueError, match="loss must be"):
            kind(loss=Number())


@pytest.mark.parametrize("slope", [float("nan"), float("inf")])
def test_a_custom_gradient_that_is_not_a_number_is_refused_and_nothing_is_learned(slope):
    class Broken(InPython):
        def gradient(self, y: float, prediction: float) -> float:
            return slope if y > 2 else super().gradient(y, prediction)

    X, y = drifting(1, 40, 3)
    y = np.clip(y, -2, 2)
    model = dl.GD(rate=0.05, loss=Broken(Squared()))
    model.run(X, y)
    before = weights_of(model)
    y[7] = 3.0
    with pytest.raises(ValueError, match="row 7"):
        model.run(X, y)
    with pytest.raises(ValueError, match="gradient"):
        model.learn_one(X[0], 3.0)
    np.testing.assert_array_equal(weights_of(model), before)
    assert model.n_seen_ == 40


def test_a_custom_loss_that_raises_leaves_the_learner_unchanged():
    class Moody(InPython):
        def gradient(self, y: float, prediction: float) -> float:
            if y > 2:
                raise ArithmeticError("not today")
            return super().gradient(y, prediction)

    X, y = drifting(1, 40, 3)
    y = np.clip(y, -2, 2)
    model = dl.EG(rate=0.05, norm=3.0, loss=Moody(Squared()))
    model.run(X, y)
    before = weights_of(model)
    y[20] = 3.0
    with pytest.raises(ArithmeticError, match="not today"):
        model.run(X, y)
    np.testing.assert_array_equal(weights_of(model), before)


def test_a_custom_loss_equals_the_built_in_one_with_the_same_formula():
    class Mine:
        def value(self, y: float, prediction: float) -> float:
            return (prediction - y) ** 2

        def gradient(self, y: float, prediction: float) -> float:
            return 2 * (prediction - y)

    X, y = drifting(seed=5, d=5)
    for make in (lambda loss: dl.GD(rate=0.01, loss=loss), lambda loss: dl.EG(rate=0.02, norm=2.0, loss=loss)):
        ours, theirs = make(Mine()).run(X, y, weights_every=1), make("squared").run(X, y, weights_every=1)
        np.testing.assert_allclose(ours.predictions, theirs.predictions, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(ours.weights, theirs.weights, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("loss", [*reference.LOSSES.values(), reference.huber(0.3), reference.pinball(0.9)])
def test_the_gradient_of_a_reference_is_the_slope_of_its_loss(loss):
    for y, f in [(1.0, 0.8), (1.0, 4.0), (-1.0, 0.2), (-1.0, -3.0)]:
        slope = (loss.value(y, f + 1e-4) - loss.value(y, f - 1e-4)) / 2e-4
        assert float(loss.gradient(y, f)) == pytest.approx(float(slope), rel=1e-6, abs=1e-6)
