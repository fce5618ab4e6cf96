"""The range of the label, low= and high=, against plain clipping."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.base.levels import as_spread
from driftline.delayed.stepper import Stepper
from driftline.features import Lags, Standardize
from tests.cases import for_each


def counts(rows=900, seed=0):
    """A Poisson count that is mostly 0, and three features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    return X, rng.poisson(np.exp(0.4 * X[:, 0] - 0.3 + np.sin(np.arange(rows) / 90))).astype(float)


LEARNERS = {
    "rls": dl.RLS(forgetting=0.98),
    "laser": dl.LASER(),
    "arcor": dl.ARCOR(),
    "kalman": dl.Kalman(dtype="float32"),
    "lms": dl.LMS(),
    "eg": dl.EG(norm=5.0),
    "loss": dl.GD(loss=dl.losses.Huber(1.0)),
    "sparse": dl.SparseDFOP(dim=5),
    "kernel": dl.Kernel(budget=10),
    "pipeline": Standardize() | Lags(y=1) | dl.RLS(),
    "averaged": dl.Averaged(),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_the_state_is_that_without_limits_and_answers_are_clipped(name):
    """Limits change answers, and what depends on them: the scored errors, and so the widths."""
    X, y = counts()
    plain, limited = LEARNERS[name].clone(), LEARNERS[name].clone({"low": 0, "high": 6})
    y = np.minimum(y, 6)
    expected, run = plain.run(X, y, level=0.8), limited.run(X, y, level=0.8)
    np.testing.assert_array_equal(run.predictions, np.clip(expected.predictions, 0, 6))
    np.testing.assert_array_equal(run.errors, y - np.clip(expected.predictions, 0, 6))
    np.testing.assert_array_equal(plain._weights, limited._weights)
    assert (expected.predictions < 0).any()
    inside = (run.lower <= y) & (y <= run.upper)
    assert abs(inside[10:].mean() - 0.8) < 0.01  # exact over these rows but for the last factor, as without limits
    finite = np.isfinite(expected.lower)
    assert (run.upper - run.lower)[finite].mean() < (expected.upper - expected.lower)[finite].mean()


def test_a_certificate_holds_with_limits():
    """Labels lie inside, so clipping never adds to the loss: a bound on the loss of w.x bounds that of the answers."""
    X, y = counts()
    for kind in (dl.AAR, dl.AROWR, dl.LASER):
        plain, limited = kind(), kind(low=0)
        run = limited.run(X, y)
        plain.run(X, y)
        certificate = limited.certificate()
        assert certificate.comparator == plain.certificate().comparator
        assert certificate.bound == plain.certificate().bound
        assert run.losses.sum() == pytest.approx(certificate.loss, rel=1e-12)
        assert certificate.loss < plain.certificate().loss < certificate.bound


def test_limits_and_forsters_bound_hold_together():
    X, y = counts()
    run = dl.AAR(clip=1.5, low=0).run(X, y, level=0.9)
    np.testing.assert_array_equal(run.predictions, np.clip(dl.AAR().run(X, y).predictions, 0, 1.5))
    assert run.upper[20:].max() > 1.5  # labels may exceed a bound on the prediction
    assert run.lower.min() == 0


@settings(max_examples=25)
@given(
    low=st.none() | st.floats(-2, 0),
    width=st.none() | st.floats(0.1, 3),
    delay=st.integers(0, 30),
    level=st.sampled_from([0.5, 0.9, 0.99]),
    name=st.sampled_from([*LEARNERS, "auto"]),
    seed=st.integers(0, 5),
)
def test_every_answer_is_inside(low, width, delay, level, name, seed):
    """At once and late; before any interval is earned, its ends are the limits."""
    high = None if width is None else (0.0 if low is None else low) + width
    least, most = (-np.inf if low is None else low), (np.inf if high is None else high)
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 3))
    y = np.clip(X @ rng.normal(size=3) + rng.standard_t(2, size=150), least, most)
    model = {**LEARNERS, "auto": dl.Auto()}[name].clone({"low": low, "high": high})
    out = Stepper(model, delay).table(X, y, spread=as_spread("", level)) if delay else model.run(X, y, level=level)
    for answers in (out.predictions, out.lower, out.upper):
        assert answers.min() >= least
        assert answers.max() <= most
    assert (out.lower[0], out.upper[0]) == (least, most)


def test_several_labels_share_their_limits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    Y = np.abs(X @ rng.normal(size=(2, 3)) + rng.normal(size=(60, 3)))
    model = dl.RLS(low=0)
    run = model.run(X, Y)
    np.testing.assert_array_equal(run.predictions, np.maximum(dl.RLS().run(X, Y).predictions, 0))
    with pytest.raises(ValueError, match=r"^RLS.learn_one: y is -1, output 1, below low=0$"):
        model.learn_one(X[0], [1.0, -1.0, 2.0])
    Y[7, 2] = -0.5
    with pytest.raises(ValueError, match=r"^RLS.run: y is -0.5 in row 7, output 2, below low=0$"):
        model.run(X, Y)


@for_each("learner", [dl.RLS(low=0, high=6), dl.LMS(low=0, high=6), dl.Auto(low=0, high=6)])
def test_the_same_in_fleets(learner):
    """Packed or separate: bits of single models, the refusal names the row, and no key learns."""
    X, y = counts(240)
    y = np.minimum(y, 6)
    keys = np.arange(240) % 3
    fleet = dl.Fleet(learner, intervals=True)
    run = fleet.run(keys, X, y, level=0.8)
    for key in range(3):
        alone = learner.clone().run(X[keys == key], y[keys == key], level=0.8)
        np.testing.assert_array_equal(run.predictions[keys == key], alone.predictions)
        np.testing.assert_array_equal(run.lower[keys == key], alone.lower)
        np.testing.assert_array_equal(run.upper[keys == key], alone.upper)
    before = [model.n_seen_ for model in (fleet[0], fleet[1], fleet[2])]
    y[201] = 7
    with pytest.raises(ValueError, match="y is 7 in row 201, above high=6"):
        fleet.run(keys, X, y)
    with pytest.raises(ValueError, match="y is -1, below low=0"):
        fleet.learn_one(1, X[0], -1.0)
    assert [model.n_seen_ for model in (fleet[0], fleet[1], fleet[2])] == before


def test_the_same_in_forecasts_and_by_id():
    X, y = counts(200)
    forecaster = dl.Forecaster(dl.RLS(low=0), steps=3)
    run = forecaster.run(X, y, level=0.8)
    forecast = forecaster.forecast(X[:3], level=0.8)
    for answers in (run.predictions, run.lower, run.upper, forecast.predictions, forecast.lower, forecast.upper):
        assert np.nanmin(answers) >= 0
    with pytest.raises(ValueError, match=r"^Forecaster.run: y is -2 in row 1, below low=0$"):
        forecaster.run(X[:2], np.array([0.0, -2.0]))
    pending = dl.Pending(dl.RLS(low=0))
    pending.predict_one("a", X[0])
    for act in (pending.learn_one, pending.hold_one):
        with pytest.raises(ValueError, match="y is -2, below low=0"):
            act("a", -2.0)
    assert "a" in pending


def test_a_late_label_outside_is_refused_in_its_row():
    """Rows before it stay learned, and the refused one waits."""
    X, y = counts(40)
    y[25] = -1.0
    for model in (dl.RLS(low=0), dl.Averaged(low=0)):
        stepper = Stepper(model, 5)
        with pytest.raises(ValueError, match=r"y is -1.* below low=0"):
            stepper.table(X, y)
        assert (model.n_seen_, stepper.at) == (25, 25)


def test_wrappers_take_the_narrowest_limits_within():
    network = dl.Network([dl.RLS(low=-1), dl.Ridge(low=0, high=9), dl.LMS()], top=dl.ARCOR(high=5))
    assert (network.low, network.high) == (0, 5)
    pipeline = Standardize() | dl.RLS(low=2)
    assert (pipeline.low, pipeline.high) == (2, None)
    assert pipeline.set_params(high=4).high == 4
    assert dl.Averaged(dl.LMS(low=1), low=0).low == 0
    X, y = counts(200)
    run = network.run(X, np.minimum(y, 5), level=0.8)
    assert run.lower.min() == 0
    assert run.upper.max() == 5
    with pytest.raises(ValueError, match="Classifier: low must be None"):
        dl.Classifier(dl.RLS(low=0))
    with pytest.raises(ValueError, match=r"^Network: low must be less than high, got low=2 and high=1$"):
        dl.Network([dl.RLS(low=2), dl.RLS(high=1)])


def test_limits_of_a_trained_learner_can_change():
    """From the next row on, in every kind of core, and as part of the saved model."""
    X, y = counts(200)
    for learner in (dl.RLS(), dl.LMS(), dl.Auto(), dl.Averaged(), Standardize() | dl.RLS(), dl.Kernel(budget=5)):
        model, plain = learner.clone(), learner.clone()
        model.run(X, y)
        plain.run(X, y)
        model.set_params(low=0.5)
        model = dl.from_bytes(model.to_bytes())
        assert model.low == 0.5
        np.testing.assert_array_equal(model.predict(X), np.maximum(plain.predict(X), 0.5))
        with pytest.raises(ValueError, match=r"y is 0\.25, below low=0\.5"):
            model.learn_one(X[0], 0.25)
        model.set_params(low=None)
        np.testing.assert_array_equal(model.predict(X), plain.predict(X))


def test_bad_limits_are_refused():
    for limits in ({"low": 1, "high": 1}, {"low": 2.0, "high": 1.0}):
        with pytest.raises(ValueError, match="RLS: low must be less than high, got"):
            dl.RLS(**limits)
    for value in (np.nan, np.inf, "0", True):
        with pytest.raises(ValueError, match="RLS: low must be None or a finite number, got"):
            dl.RLS(low=value)
    with pytest.raises(ValueError, match=r"\[-clip, clip\] must overlap \[low, high\], got clip=1, low=2"):
        dl.AAR(clip=1, low=2)
    model = dl.RLS(low=0)
    with pytest.raises(ValueError, match="low must be less than high"):
        model.set_params(high=-1)
    assert model.get_params()["high"] is None
