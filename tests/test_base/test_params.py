"""Hyper-parameters: their rules, which may change later, and numbers at the ends of the range."""

import math
from fractions import Fraction

import numpy as np
import pytest

import driftline as dl
from driftline.checks.tools import fresh, same
from tests.cases import for_each
from tests.states import leaves

RULES = [
    (dl.RLS, "forgetting", [1, 1e-9, 0.5, [0.5, 1.0]], [0, 1.2, -0.1, math.inf, [], [0.5, 2.0], "0.9", None, True]),
    (dl.RLS, "ridge", [1e-9, 5, 1e9], [0, -1, math.inf, None, "1", True, 10**400]),
    (dl.LMS, "rate", [1e-9, 100], [0, -1, math.inf, None]),
    (dl.LMS, "implicit", [True, False], [0, 1, None, "yes"]),
    (dl.NLMS, "rate", [0.1, 1.999], [0, 2, -1]),
    (dl.NLMS, "eps", [0, 1], [-1e-9, math.inf]),
    (dl.GD, "loss", ["squared", "huber", dl.losses.Pinball(0.1)], ["no", None, dl.losses.Huber, object(), 3]),
    (dl.EG, "norm", [None, 0.1, 10], [0, -1, math.inf]),
    (dl.AAR, "clip", [None, 0.1], [0, -1, math.inf]),
    (dl.CRRLS, "period", [1, 5, None, math.inf, np.int32(4)], [0, -1, 1.5, True, "5"]),
    (dl.ARCOR, "schedule", [1, 2.5, None, [0.5], abs], [0.5, [], [0.0], -1, "2"]),
    (dl.ARCOR, "radius", [None, 0.1, math.inf], [0, -1]),
    (dl.WEMM, "ridge", [None, 3.0], [0, -1, math.inf]),
    (dl.LASER, "drift_cost", [2.0, math.inf], [0, -1, 1.0, 0.5]),
    (dl.Kalman, "drift", [0, 0.1], [-1e-9, math.inf]),
    (dl.DFOP, "forget_rate", [0.001, 0.999], [0, 1, -0.5]),
    (dl.SecondOrder, "time", [None, dl.Add(0.1), dl.Divide(0.5)], [0.5, "add", dl.Every(2)]),
    (dl.SecondOrder, "reset", [None, dl.Every(2), dl.Below(2.0)], [2, dl.Add(0.1)]),
    (dl.SecondOrder, "noise", [0.1, "complement"], [0, "other", None]),
    (dl.Ridge, "intercept", [True, False], [1, 0, None, "True"]),
    (dl.Ridge, "dtype", ["float64", "float32"], ["float16", np.float32, None, "f8"]),
    (dl.Ridge, "missing", ["raise", "skip"], ["drop", None, True]),
]


@pytest.mark.parametrize(("kind", "name", "good", "bad"), RULES, ids=[f"{kind.__name__}-{name}" for kind, name, *_ in RULES])
def test_a_rule_accepts_good_values_and_refuses_bad_ones(kind, name, good, bad):
    model = kind()
    for value in good:
        assert kind(**{name: value}).get_params()[name] is value
        assert model.set_params(**{name: value}).get_params()[name] is value
    before = model.get_params()
    for value in bad:
        for act in (kind, model.set_params):
            with pytest.raises(ValueError, match=rf"^{kind.__name__}: (ridge must be less than )?{name}"):
                act(**{name: value})
    assert all(model.get_params()[key] is value for key, value in before.items())


def test_messages_have_the_rule_and_the_value():
    with pytest.raises(ValueError, match=r"^RLS: forgetting must be in \(0, 1\], or .*, got 1\.2$"):
        dl.RLS(forgetting=1.2)
    with pytest.raises(ValueError, match=r"^LASER: ridge must be less than drift_cost, got ridge=2.0 and drift_cost=1.0$"):
        dl.LASER(ridge=2.0, drift_cost=1.0)
    unknown = r"^RLS has no parameter 'forget'; it has forgetting, ridge, keep_prior, half_life, per, "
    unknown += "intercept, dtype, missing, low, high, late_rows$"
    with pytest.raises(TypeError, match=unknown):
        dl.RLS(forget=0.9)
    with pytest.raises(ValueError, match=unknown):
        dl.RLS().set_params(forget=0.9)


def test_several_parameters_change_together_or_not_at_all():
    model = dl.LASER(ridge=1.0, drift_cost=2.0)
    model.set_params(ridge=5.0, drift_cost=10.0)
    assert (model.ridge, model.drift_cost) == (5.0, 10.0)
    with pytest.raises(ValueError, match="LASER: ridge must be less"):
        model.set_params(missing="skip", drift_cost=4.0)
    assert (model.ridge, model.drift_cost, model.missing) == (5.0, 10.0, "raise")


def test_relations_hold_between_numbers_of_any_kind():
    """Comparing a fraction with a NumPy number would overflow."""
    model = dl.LASER(ridge=Fraction(1, 3), drift_cost=np.uint64(2**64 - 1))
    assert model.ridge < model.drift_cost
    with pytest.raises(ValueError, match="LASER: ridge must be less"):
        dl.LASER(ridge=np.uint64(2**64 - 1), drift_cost=Fraction(10, 3))


def test_parameters_take_effect_from_the_next_row_on(rows):
    X, y = rows
    changed, switched = dl.RLS(forgetting=0.9), dl.RLS(forgetting=[0.9] * 100 + [0.5])
    changed.run(X[:100], y[:100])
    changed.set_params(forgetting=0.5)
    changed.run(X[100:], y[100:])
    switched.run(X, y)
    assert np.array_equal(changed.coef_, switched.coef_)


def test_parameters_that_can_no_longer_change_keep_their_values(rows):
    for model, change in (
        (dl.EG(norm=2.0), {"norm": None}),
        (dl.ARCOR(), {"schedule": 1.5}),
        (dl.ARCOR(), {"noise": 2.0}),
        (dl.RLS(forgetting=[0.9]), {"forgetting": 0.8}),
        (dl.Kalman(), {"drift": 0}),
        (dl.SecondOrder(), {"time": dl.Add(0.1)}),
        (dl.SecondOrder(), {"reset": dl.Every(3)}),
        (dl.SecondOrder(), {"radius": 1.0}),
    ):
        model.run(*rows)
        before = model.__getstate__()
        with pytest.raises(ValueError, match=f"^{type(model).__name__}: {next(iter(change))} cannot change once"):
            model.set_params(**change)
        assert same(before, model.__getstate__())
        fresh(model).set_params(**change)


def test_numbers_of_other_types_compute_like_python_numbers(rows):
    """np.float16 would overflow at 65504, np.int8 at 127, and native code does not accept a fraction."""
    for odd, plain in ((np.float16(0.5), 0.5), (Fraction(1, 2), 0.5), (np.int8(100), 100.0), (np.float32(0.25), 0.25)):
        for kind, name in ((dl.RLS, "ridge"), (dl.LMS, "rate"), (dl.AROWR, "noise"), (dl.EG, "norm"), (dl.Kalman, "drift")):
            if name == "rate" and plain > 1:
                continue
            one, other = kind(**{name: odd}), kind(**{name: plain})
            assert np.array_equal(one.run(*rows).predictions, other.run(*rows).predictions)
            assert one.certificate() == other.certificate()
            assert one.get_params()[name] is odd


EXTREMES = [5e-324, 1e-300, 1e-150, 1e-40, 1e-8, 0.999999, 1e8, 1e40, 1e150, 1e300, 1.7e308]


@for_each("dtype", ["float64", "float32"])
def test_no_accepted_parameter_breaks_the_state(learner, dtype):
    """At the ends of the range 1/ridge is infinite, the noise vanishes, and a step overflows."""
    rng = np.random.default_rng(5)
    X, y = rng.uniform(-0.7, 0.7, size=(100, 3)), rng.normal(size=100)
    streams = [
        (X, y),
        (X * (rng.random((100, 3)) < 0.3), y),
        (np.zeros((20, 3)), y[:20]),
        (X * 1e8, y * 1e-8),
        (X * 1e-20, y * 1e20),
    ]
    fixed = {"intercept", "dtype", "missing", "loss", "implicit", "shrink", "time", "reset", "schedule", "period"}
    names = [name for name in learner.get_params() if name not in fixed]
    for i in range(60):
        chosen = {name: EXTREMES[rng.integers(len(EXTREMES))] for name in names if rng.random() < 0.7}
        try:
            model = fresh(learner, dtype=dtype, intercept=bool(i % 2), **chosen)
            run = model.run(*streams[i % 5])
        except ValueError:
            continue
        assert np.isfinite(run.predictions).all(), model
        assert all(np.isfinite(part).all() for _, part in leaves(model.__getstate__()["core"])), model
        model.__setstate__(model.__getstate__())
        model.certificate()


def test_period_may_be_longer_than_any_stream(rows):
    never, late = dl.CRRLS(period=None), dl.CRRLS(period=10**30)
    assert np.array_equal(never.run(*rows).predictions, late.run(*rows).predictions)
    assert dl.CRRLS(period=10**400).run(*rows).resets.size == 0


def test_what_follows_from_the_parameters_follows_them_when_they_change(rows):
    """Untrained or trained, by set_params, by an attribute, in a copy, and when a change is refused."""
    model = dl.GLM(loss="poisson")
    with pytest.raises(ValueError, match="takes labels of at least 0"):
        model.learn_one([1.0], -1.0)
    model.set_params(loss="huber")
    model.learn_one([1.0], -1.0)

    X, y = rows
    model = dl.RLS(low=-1.0, high=1.0).fit(X, np.clip(y, -1.0, 1.0))
    copied = model.clone(include_attributes=True)
    model.high = 3.0
    model.learn_one(X[0], 2.0)
    with pytest.raises(ValueError, match="above high=1"):
        copied.learn_one(X[0], 2.0)
    with pytest.raises(ValueError, match="low must be less than high"):
        model.set_params(low=5.0)
    with pytest.raises(ValueError, match="below low=-1"):
        model.learn_one(X[0], -2.0)


def test_policies_check_what_was_given_and_trust_their_defaults():
    assert dl.Divide(0.5) == dl.Divide(0.5, keep_prior=False)
    for given in ({"forgetting": 1.5}, {"forgetting": 0.5, "keep_prior": None}, {"forgetting": 0.5, "per": 0}):
        with pytest.raises(ValueError, match="Divide: "):
            dl.Divide(**given)
