"""Constructors that apply the papers' tuning rules, and the checks of parameters."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import driftline as dl
from driftline.base import registry
from tests.cases import for_each
from tests.streams import drifting

positive = st.floats(1e-3, 1e3)


@given(st.floats(1.0, 100.0, exclude_min=True))
def test_arcor_for_drift_sets_the_power_of_its_corollary(p):
    """A total drift of the order T^(1/p): q = 2p/(p + 1)."""
    model = dl.ARCOR.for_drift(p)
    assert model.schedule == pytest.approx(2 * p / (p + 1), rel=1e-14)
    assert 1 <= model.schedule < 2


def test_arcor_for_drift_that_ends_uses_the_limit_and_passes_parameters_on():
    model = dl.ARCOR.for_drift(math.inf, noise=3.0, radius=2.0, intercept=False, dtype="float32")
    assert model.schedule == 2.0
    assert (model.noise, model.radius, model.intercept, model.dtype) == (3.0, 2.0, False, "float32")


@given(st.floats(1e-6, 10.0))
def test_arcor_for_drift_follows_the_remark_on_low_noise(epsilon):
    """p = -(1 + epsilon): q = 2 + 2 / epsilon."""
    assert dl.ARCOR.for_drift(-(1 + epsilon)).schedule == pytest.approx(2 + 2 / epsilon, rel=1e-9)


def test_arcor_for_a_fixed_target_resets_once_and_then_never_again():
    X, y = np.ones((3000, 1)), np.ones(3000)
    assert dl.ARCOR.for_drift(-1 - 1e-9, intercept=False).run(X, y).resets.tolist() == [1]
    assert dl.ARCOR.for_drift(-math.inf).schedule == dl.ARCOR.for_drift(math.inf).schedule == 2.0


@pytest.mark.parametrize("p", [1.0, 0.5, 0.0, -0.5, -1.0, math.nan, "2", None])
def test_arcor_for_drift_states_the_valid_range_of_p(p):
    with pytest.raises(ValueError, match=r"ARCOR\.for_drift: p must be in \(1, inf\], or in \[-inf, -1\), got"):
        dl.ARCOR.for_drift(p)


@given(positive, st.integers(1, 10**6), st.integers(1, 500), positive, positive)
def test_laser_for_drift_sets_the_cost_of_equation_6_8(V, T, d, X, Y):
    """c = (sqrt(2) T Y^2 d X / V)^(2/3), with the source's misprint corrected; the ridge stays below c."""
    model = dl.LASER.for_drift(V=V, T=T, d=d, X=X, Y=Y)
    assert model.drift_cost**1.5 == pytest.approx(math.sqrt(2) * T * Y**2 * d * X / V, rel=1e-12)
    assert 0 < model.ridge < model.drift_cost


def test_the_cost_of_equation_6_8_minimises_the_terms_of_the_bound():
    """The terms are V c + Y^2 T d sqrt(8 X^2 / c); their derivative vanishes at c."""
    V, T, d, X, Y = 3.0, 2000, 20, 5.0, 2.0

    def terms(c: float) -> float:
        return V * c + Y**2 * T * d * 2 * math.sqrt(2) * X / math.sqrt(c)

    best = dl.LASER.for_drift(V=V, T=T, d=d, X=X, Y=Y).drift_cost
    assert terms(best) < min(terms(0.999 * best), terms(1.001 * best))


def test_laser_for_drift_passes_parameters_on_and_checks_relations():
    model = dl.LASER.for_drift(V=1.0, T=100, d=2, X=1.0, Y=1.0, ridge=0.3, clip=2.0, intercept=False)
    assert (model.ridge, model.clip, model.intercept) == (0.3, 2.0, False)
    with pytest.raises(ValueError, match="ridge must be less than drift_cost"):
        dl.LASER.for_drift(V=1e9, T=1, d=1, X=1.0, Y=1.0, ridge=1.0)


def test_laser_for_no_drift_is_aar():
    """The thesis: for V = 0 the drift cost is infinite."""
    model = dl.LASER.for_drift(V=0.0, T=100, d=3, X=1.0, Y=1.0, ridge=0.7)
    assert (model.drift_cost, model.ridge) == (math.inf, 0.7)
    assert dl.LASER.for_drift(V=0, T=100, d=3, X=1.0, Y=1.0).ridge == 1.0
    X, y = drifting(3, 100, 3)
    np.testing.assert_allclose(model.run(X, y).predictions, dl.AAR(ridge=0.7).run(X, y).predictions, rtol=1e-12)


@for_each("name", ["V", "T", "d", "X", "Y"])
@for_each("bad", [0.0, -1.0, math.nan, math.inf, "1"])
def test_laser_for_drift_names_the_invalid_argument(name, bad):
    if (name, bad) == ("V", 0.0):
        return
    least = r"\[0" if name == "V" else r"\(0"
    with pytest.raises(ValueError, match=rf"LASER\.for_drift: {name} must be in {least}, inf\)"):
        dl.LASER.for_drift(**{"V": 1.0, "T": 10, "d": 2, "X": 1.0, "Y": 1.0, name: bad})


def test_dfop_for_a_period_forgets_at_the_rate_of_its_inverse():
    """Zhao et al., Section 6.4: 1 / T0 for a target that changes every T0 rows."""
    for kind in (dl.DFOP, dl.SparseDFOP):
        model = kind.for_period(1000, prior=5.0, intercept=False)
        assert (model.forget_rate, model.prior, model.intercept) == (1e-3, 5.0, False)
        assert kind.for_period(2.5).forget_rate == 0.4
        for bad in (1, 0.5, -3.0, math.nan, math.inf, "10", None):
            with pytest.raises(ValueError, match=rf"{kind.__name__}\.for_period: T0 must be in \(1, inf\), got"):
                kind.for_period(bad)


def test_learners_that_are_built_for_drift_run():
    X, y = drifting(1, 200, 4)
    for model in (dl.ARCOR.for_drift(2.0), dl.LASER.for_drift(V=200 * 4 * 0.04, T=200, d=4, X=4.0, Y=12.0)):
        assert np.mean(model.run(X, y).losses) < np.var(y)


@pytest.mark.parametrize("name", sorted(registry.regressors()))
def test_the_defaults_follow_a_standardised_stream(name):
    """They do far better than the mean. EG's weights are on the simplex, so its target is too.

    That of Transformed is linear on its own scale.
    """
    X, y = drifting(5, 3000, 4, step=0.003)
    if name == "eg":
        y = X @ [0.7, 0.2, 0.1, 0.0] + 0.1 * y
    if name == "transformed":
        y = np.sinh(y / np.std(y))
    bounds = {"budget": 30} if name == "kernel" else {}  # otherwise every row would become a point
    run = registry.regressors()[name](**bounds).run(X, y)
    assert np.mean(run.losses[500:]) < 0.5 * np.var(y)


def test_relations_between_parameters_are_checked_wherever_they_change():
    with pytest.raises(ValueError, match="LASER: ridge must be less than drift_cost"):
        dl.LASER(ridge=2.0, drift_cost=2.0)
    model = dl.LASER(ridge=1.0, drift_cost=2.0)
    with pytest.raises(ValueError, match="LASER: ridge must be less than drift_cost"):
        model.set_params(drift_cost=0.5)
    with pytest.raises(ValueError, match="LASER: ridge must be less than drift_cost"):
        model.ridge = 3.0
    assert (model.ridge, model.drift_cost) == (1.0, 2.0)
    model.set_params(ridge=5.0, drift_cost=9.0)
    assert (model.ridge, model.drift_cost) == (5.0, 9.0)


@for_each(
    "make, message",
    [
        (lambda: dl.RLS(forgetting=0.0), r"RLS: forgetting must be in \(0, 1\]"),
        (lambda: dl.RLS(forgetting=[0.9, 1.1]), r"RLS: forgetting must be in \(0, 1\]"),
        (lambda: dl.RLS(forgetting=[]), r"RLS: forgetting must be in \(0, 1\]"),
        (lambda: dl.Divide("0.9"), r"Divide: forgetting must be in \(0, 1\]"),
        (lambda: dl.DFOP(forget_rate=1.0), r"DFOP: forget_rate must be in \(0, 1\)"),
        (lambda: dl.DFOP(forget_rate=[0.1, 0.0]), r"DFOP: forget_rate must be in \(0, 1\), or a function or sequence of"),
        (lambda: dl.DFOP(forget_rate=lambda t: 1.0).learn_one([1.0], 1.0), r"DFOP: forget_rate\(1\) is out of range: 1\.0"),
        (
            lambda: dl.DFOP(forget_rate=lambda t: 0.6 * t).run([[1.0]] * 3, [1.0] * 3),
            r"DFOP: forget_rate\(2\) is out of range",
        ),
        (lambda: dl.Kalman(drift=-1e-9), r"Kalman: drift must be in \[0, inf\)"),
        (lambda: dl.Add(-1.0), r"Add: drift must be in \[0, inf\)"),
        (lambda: dl.CRRLS(period=0), "CRRLS: period must be a whole number of at least 1"),
        (lambda: dl.CRRLS(period=2.5), "CRRLS: period must be a whole number of at least 1"),
        (lambda: dl.Every(0), "Every: period must be a whole number of at least 1"),
        (lambda: dl.ARCOR(schedule=0.9), "ARCOR: schedule must be None or a power"),
        (lambda: dl.ARCOR(schedule=[0.5, 0.0]), "ARCOR: schedule must be None or a power"),
        (lambda: dl.Below(None), "Below: schedule must be a power"),
        (lambda: dl.ARCOR(radius=0.0), r"ARCOR: radius must be None or in \(0, inf\]"),
        (lambda: dl.NLMS(rate=2.0), r"NLMS: rate must be in \(0, 2\)"),
        (lambda: dl.SecondOrder(noise="1"), "SecondOrder: noise must be"),
        (lambda: dl.SecondOrder(time=0.9), r"SecondOrder: time must be None or Divide\(...\) or Add\(...\)"),
        (lambda: dl.SecondOrder(reset=5), r"SecondOrder: reset must be None or Every\(...\) or Below\(...\)"),
    ],
)
def test_a_wrong_parameter_is_named_with_its_rule(make, message):
    with pytest.raises(ValueError, match=message):
        make()


numbers: list[Any] = [np.float64(0.5), np.float32(0.5), Fraction(1, 2), 0.5]


@pytest.mark.parametrize("half", numbers, ids=lambda value: type(value).__name__)
def test_any_numeric_type_is_accepted_as_a_number(half):
    X, y = drifting(2, 20, 3)
    for make in (
        lambda v: dl.RLS(forgetting=v, ridge=v),
        lambda v: dl.RLS(forgetting=[v, v]),
        lambda v: dl.DFOP(forget_rate=v, prior=v),
        lambda v: dl.SecondOrder(start=v, time=dl.Divide(v), noise=v, radius=v, clip=v),
        lambda v: dl.SecondOrder(time=dl.Add(v)),
        lambda v: dl.ARCOR(schedule=1 + v),
        lambda v: dl.GD(rate=v / 64, loss=dl.losses.Huber(threshold=v)),
        lambda v: dl.EG(rate=v / 8, norm=v),
    ):
        np.testing.assert_array_equal(make(half).run(X, y).predictions, make(0.5).run(X, y).predictions)


@pytest.mark.parametrize("three", [np.int64(3), np.int8(3), 3])
def test_any_integer_type_is_accepted_as_a_whole_number(three):
    X, y = drifting(2, 20, 3)
    for make in (
        lambda v: dl.CRRLS(period=v),
        lambda v: dl.SecondOrder(reset=dl.Every(v)),
        lambda v: dl.ARCOR(schedule=v),
        lambda v: dl.SecondOrder(reset=dl.Below(v)),
    ):
        ours, theirs = make(three).run(X, y), make(3).run(X, y)
        np.testing.assert_array_equal(ours.predictions, theirs.predictions)
        np.testing.assert_array_equal(ours.resets, theirs.resets)


# Schedules.


def test_a_schedule_is_called_only_for_rows_that_exist():
    asked: list[int] = []
    model = dl.RLS(forgetting=lambda t: asked.append(t) or 0.9)
    X, y = drifting(1, 50, 3)
    model.run(X[:20], y[:20])
    for x, label in zip(X[20:], y[20:], strict=True):
        model.learn_one(x, label)
    assert set(asked) == set(range(1, 51))


def test_a_schedule_as_long_as_the_stream_is_enough():
    factors = np.linspace(0.5, 1.0, 50)
    X, y = drifting(1, 50, 3)
    function, sequence = dl.RLS(forgetting=lambda t: factors[t - 1]), dl.RLS(forgetting=factors)
    np.testing.assert_array_equal(function.run(X, y).predictions, sequence.run(X, y).predictions)
    with pytest.raises(IndexError):
        function.learn_one(X[0], 1.0)
    assert function.n_seen_ == 50
    sequence.learn_one(X[0], 1.0)


@pytest.mark.parametrize("bad", [0.0, 1.5, math.nan, "x", None])
def test_an_invalid_value_of_a_schedule_is_named_and_nothing_is_learned(bad):
    X, y = drifting(1, 50, 3)
    model = dl.RLS(forgetting=lambda t: bad if t == 31 else 0.9)
    model.run(X[:10], y[:10])
    weights = model.coef_
    with pytest.raises(ValueError, match=r"forgetting\(31\)"):
        model.run(X[10:], y[10:])
    np.testing.assert_array_equal(model.coef_, weights)
    assert model.n_seen_ == 10
    resetting = dl.ARCOR(noise=0.1, schedule=lambda i: bad if i == 3 else 0.5)
    if bad != 1.5:
        with pytest.raises(ValueError, match=r"schedule\(3\)"):
            resetting.run(X, y)


def test_a_schedule_may_underflow_to_zero():
    """10^-324 is 0 in float64: a threshold that is never reached."""
    X, y = drifting(1, 30, 2)
    assert dl.ARCOR(schedule=lambda i: 10.0**-i).run(X, y).resets.size >= 1
    assert dl.ARCOR(schedule=500.0).run(X, y).resets.size == 1


def test_a_schedule_may_have_thousands_of_values():
    X, y = drifting(1, 10_000, 2)
    function = dl.RLS(forgetting=lambda t: 1 - 0.5 / t)
    sequence = dl.RLS(forgetting=[1 - 0.5 / t for t in range(1, 10_001)])
    np.testing.assert_array_equal(function.run(X, y).predictions, sequence.run(X, y).predictions)
    often = dl.ARCOR(noise=0.01, schedule=lambda i: 0.5)
    assert often.run(X, y).resets.size > 5000


def test_scheduled_forgetting_cannot_be_changed_silently():
    """set_params either takes effect from the next row, or raises."""
    X, y = drifting(1, 30, 2)
    model = dl.RLS(forgetting=[0.9, 0.8], intercept=False)
    model.run(X, y)
    with pytest.raises(ValueError, match="forgetting cannot change"):
        model.set_params(forgetting=1.0)
    assert model.forgetting == [0.9, 0.8]
    constant = dl.RLS(forgetting=0.9, intercept=False)
    constant.run(X, y)
    before = np.linalg.inv(constant.covariance_)
    constant.set_params(forgetting=0.5)
    constant.learn_one(X[0], y[0])
    np.testing.assert_allclose(np.linalg.inv(constant.covariance_), 0.5 * before + np.outer(X[0], X[0]), rtol=1e-9)
