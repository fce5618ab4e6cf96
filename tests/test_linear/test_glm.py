"""Generalised linear models, compared with their definition, with 50 digits and with scikit-learn."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf
from scipy import optimize, special
from sklearn.linear_model import GammaRegressor, LogisticRegression, PoissonRegressor, QuantileRegressor
from sklearn.metrics import log_loss, mean_gamma_deviance, mean_pinball_loss, mean_poisson_deviance

import driftline as dl
from driftline.features import Standardize
from driftline.losses import Absolute, Huber, Pinball, Squared
from tests.cases import for_each

LOSS = {  # of u = w.x
    "poisson": lambda u, y: np.exp(u) - y * u,
    "gamma": lambda u, y: u + y * np.exp(-u),
    "logistic": lambda u, y: np.logaddexp(0, u) - y * u,
    "huber": lambda u, y: np.where(abs(y - u) <= 1, (y - u) ** 2 / 2, abs(y - u) - 0.5),
}
INFORMATION = {
    "poisson": lambda u, y: np.exp(u),
    "gamma": lambda u, y: 1.0,
    "logistic": lambda u, y: special.expit(u) * special.expit(-u),
    "huber": lambda u, y: float(abs(y - u) <= 1),
}
MEAN = {"poisson": np.exp, "gamma": np.exp, "logistic": special.expit, "huber": lambda u: u}
LINKED = ("poisson", "gamma", "logistic")


def rows_of(loss, seed, rows=300, d=3):
    """Rows and labels of a generalised linear model."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, d)) * 0.5
    u = X @ rng.normal(size=d) + 0.3
    draw = {
        "poisson": lambda: rng.poisson(np.exp(u)),
        "gamma": lambda: rng.gamma(2.0, np.exp(u) / 2.0),
        "logistic": lambda: rng.random(rows) < special.expit(u),
    }
    return X, np.asarray(draw[loss]() if loss in draw else u + rng.standard_t(3, size=rows), dtype=float)


def plain(X, y, loss, *, forgetting=1.0, drift=0.0, ridge=1.0):
    """The definition: the new u by minimisation along S x, in floats with explicit inverses."""
    w, S, predictions = np.zeros(X.shape[1]), np.eye(X.shape[1]) / ridge, []
    for x, label in zip(X, y, strict=True):
        S = S / forgetting + drift * np.eye(len(w))
        f, r = w @ x, x @ S @ x
        predictions.append(MEAN[loss](f))
        found = optimize.minimize_scalar(
            lambda t: (t * r) ** 2 / (2 * r) + LOSS[loss](f + t * r, label),  # noqa: B023 - called at once
            bracket=(-1, 1), tol=1e-12,
        )  # fmt: skip
        w = w + found.x * (S @ x)
        S = np.linalg.inv(np.linalg.inv(S) + INFORMATION[loss](w @ x, label) * np.outer(x, x))
    return np.array(predictions), w, S


@for_each("loss", LOSS)
def test_a_model_follows_its_definition(loss):
    for number, options in enumerate(({}, {"forgetting": 0.95, "ridge": 0.1}, {"drift": 0.01, "ridge": 3.0})):
        X, y = rows_of(loss, seed=number, rows=60)
        model = dl.GLM(loss=loss, intercept=False, **options)
        predictions, w, S = plain(X, y, loss, **options)
        np.testing.assert_allclose(model.run(X, y).predictions, predictions, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(model.coef_, w, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(model.covariance_, S, rtol=1e-5, atol=1e-8)


SLOPE = {
    "poisson": lambda u, y: mp.exp(u) - y,
    "gamma": lambda u, y: 1 - y * mp.exp(-u),
    "logistic": lambda u, y: 1 / (1 + mp.exp(-u)) - y,
}


@for_each("loss", LINKED)
def test_the_implicit_step_is_exact_for_small_and_for_huge_variances(loss):
    """One feature and one row: w becomes u / x, where u solves u = r (-slope(u)), compared with 40 digits."""
    labels = {"poisson": (0, 1, 7, 1e6), "gamma": (1e-9, 1, 1e6), "logistic": (0, 0.3, 1)}[loss]
    for y in labels:
        for r in (1e-8, 1e-3, 1.0, 50.0, 1e6, 1e12):
            model = dl.GLM(loss=loss, ridge=1 / r, intercept=False)
            model.learn_one([1.0], float(y))
            with mp.workdps(40):
                u = solved(SLOPE[loss], mpf(y), mpf(r))
                assert abs(mpf(model.coef_[0]) - u) <= mpf(2e-14) * (1 + abs(u)), (y, r)


def solved(slope, y, r):
    """The root of u + r slope(u), which increases, by halving an interval around it."""
    low, high = mpf(-1), mpf(1)
    while low + r * slope(low, y) > 0:
        low *= 2
    while high + r * slope(high, y) < 0:
        high *= 2
    for _ in range(140):
        middle = (low + high) / 2
        low, high = (low, middle) if middle + r * slope(middle, y) > 0 else (middle, high)
    return low


@given(
    loss=st.sampled_from(sorted(LOSS)),
    size=st.floats(1e-3, 1e3),
    ridge=st.floats(1e-6, 1e3),
    label=st.floats(0, 1),
    data=st.data(),
)
def test_the_loss_of_a_row_never_rises(loss, size, ridge, label, data):
    x = np.array(data.draw(st.lists(st.floats(-1, 1), min_size=1, max_size=4))) * size
    model = dl.GLM(loss=loss, ridge=ridge)
    X, y = rows_of(loss, seed=4, rows=5, d=len(x))
    model.partial_fit(X, y)
    y = label if loss == "logistic" else 1e-3 + 50 * label
    before = model.coef_ @ x + model.intercept_
    model.learn_one(x, y)
    after = model.coef_ @ x + model.intercept_
    least, most = LOSS[loss](after, y), LOSS[loss](before, y)
    assert least <= most + 1e-9 * (1 + abs(most))


def test_the_squared_loss_is_that_of_rls_and_kalman_bit_for_bit():
    X, y = rows_of("huber", 1)
    for model, other in (
        (dl.GLM(loss=Squared(), forgetting=0.98), dl.RLS(forgetting=0.98, ridge=1.0)),
        (dl.GLM(loss=Squared(), drift=0.01), dl.Kalman(noise=1.0, drift=0.01, ridge=1.0)),
    ):
        ours, theirs = model.run(X, y, level=0.9), other.run(X, y, level=0.9)
        np.testing.assert_array_equal(ours.predictions, theirs.predictions)
        np.testing.assert_array_equal(ours.upper, theirs.upper)
    wide = dl.GLM(loss=Huber(1e9), forgetting=0.98).run(X, y).predictions
    np.testing.assert_allclose(wide, dl.RLS(forgetting=0.98, ridge=1.0).run(X, y).predictions, rtol=1e-9, atol=1e-12)


@for_each("loss", LINKED)
def test_weights_reach_those_of_a_fit_to_all_rows(loss):
    """The difference from the penalised maximum likelihood falls like log T / T, faster than the spread of the weights."""
    X, y = rows_of(loss, seed=6, rows=100_000)
    options = {"alpha": 1.0 / len(y), "tol": 1e-9, "max_iter": 10_000, "fit_intercept": False}
    fitted = {
        "poisson": lambda: PoissonRegressor(**options).fit(X, y).coef_,
        "gamma": lambda: GammaRegressor(**options).fit(X, y).coef_,
        "logistic": lambda: LogisticRegression(C=1.0, tol=1e-9, fit_intercept=False, max_iter=10_000).fit(X, y).coef_[0],
    }[loss]()
    model = dl.GLM(loss=loss, intercept=False).fit(X, y)
    spread = np.sqrt(np.diag(model.covariance_))
    assert (np.abs(model.coef_ - fitted) / spread).max() < 0.4


def test_quantiles_reach_those_of_a_fit_to_all_rows():
    rng = np.random.default_rng(2)
    X = rng.uniform(size=(20_000, 2))
    y = 1e4 * (X @ [1.0, -2.0] + rng.exponential(size=20_000))  # in units far from those of the ridge
    for level in (0.1, 0.5, 0.9):
        model = dl.GLM(loss=Pinball(level)).fit(X, y)
        fitted = QuantileRegressor(quantile=level, alpha=0.0).fit(X[:4000], y[:4000])
        assert np.abs(model.predict(X) - fitted.predict(X)).mean() < 800
        assert abs((y < model.predict(X)).mean() - level) < 0.01
    same = dl.GLM(loss=Absolute()).fit(X, y).predict(X), dl.GLM(loss="pinball").fit(X, y).predict(X)
    np.testing.assert_array_equal(*same)


def test_losses_are_those_of_scikit_learn():
    score = {
        "poisson": lambda y, p: mean_poisson_deviance(y, p) / 2,
        "gamma": lambda y, p: mean_gamma_deviance(y, p) / 2,
        "logistic": lambda y, p: log_loss(y, p),
        "pinball": lambda y, p: mean_pinball_loss(y, p),
    }
    for loss, theirs in score.items():
        X, y = rows_of(loss, 3)
        run = dl.GLM(loss=loss).run(X, y)
        assert run.losses.mean() == pytest.approx(theirs(y, run.predictions), rel=1e-12), loss


def test_labels_of_another_kind_are_errors_that_name_the_row():
    for loss, bad, words in (
        ("poisson", -1.0, "but loss='poisson' takes labels of at least 0"),
        ("gamma", 0.0, "but loss='gamma' takes labels above 0"),
        ("logistic", 2.0, "but loss='logistic' takes labels from 0 to 1"),
    ):
        X, y = rows_of(loss, 1, rows=10)
        y[7] = bad
        model = dl.GLM(loss=loss)
        with pytest.raises(ValueError, match=rf"GLM.run: y is .* in row 7, {words}"):
            model.run(X, y)
        assert model.n_seen_ == 0
        model.fit(X[:5], y[:5])
        state = model.to_bytes()
        for learn in (
            lambda: model.learn_one(X[0], bad),  # noqa: B023
            lambda: model.tell(model.ask(X[0]), bad),  # noqa: B023
            lambda: dl.Fleet(model.clone()).learn_one("a", X[0], bad),  # noqa: B023
        ):
            with pytest.raises(ValueError, match=words):
                learn()
        assert model.to_bytes() == state


def test_parameters_are_checked():
    with pytest.raises(ValueError, match="GLM: forgetting and drift exclude each other"):
        dl.GLM(forgetting=0.9, drift=0.1)
    with pytest.raises(ValueError, match="GLM: loss must be one of 'poisson', 'gamma', 'logistic', 'pinball', 'huber'"):
        dl.GLM(loss="hinge")
    with pytest.raises(ValueError, match="GLM: loss must be"):
        dl.GLM(loss=dl.losses.Logistic())
    with pytest.raises(ValueError, match="Classifier: learner must take the labels -1 and 1"):
        dl.Classifier(dl.GLM(loss="logistic"))
    with pytest.raises(ValueError, match="Averaged: learner must be None or a regressor with a weight for each feature"):
        dl.Averaged(dl.GLM())


@for_each("loss", LINKED)
def test_every_way_of_learning_gives_the_same_bits(loss):
    X, y = rows_of(loss, 9)
    names = ["a", "b", "c"]
    model = dl.GLM(loss=loss, forgetting=0.99)
    run = model.run(X, y, level=0.9, quantiles=[0.1, 0.9])
    looped, told, fleet, fed = (
        model.clone(),
        model.clone(),
        dl.Fleet(model.clone(), intervals=True),
        dl.Pending(model.clone()),
    )
    restored = model.clone()
    restored.run(X[:150], y[:150])
    restored = dl.from_bytes(restored.to_bytes())
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        assert looped.predict_one(x) == run.predictions[t] == told.predict_one(dict(zip(names, x, strict=True)))
        assert looped.predict_interval(x, 0.9) == (run.lower[t], run.upper[t])
        assert fleet.predict_one("k", x) == run.predictions[t]
        looped.learn_one(x, label)
        told.tell(told.ask(dict(zip(names, x, strict=True)), delay=0), label)
        fleet.learn_one("k", x, label)
        assert fed.predict_one(str(t), x) == run.predictions[t]
        fed.learn_one(str(t), label)
    np.testing.assert_array_equal(restored.run(X[150:], y[150:]).predictions, run.predictions[150:])
    np.testing.assert_array_equal(looped.covariance_, model.covariance_)


def test_a_kernel_and_other_wrappers_take_the_kind_of_label_from_within():
    X, y = rows_of("poisson", 2)
    model = dl.GLM()
    run, dual = model.run(X, y, level=0.9), dl.Kernel(dl.GLM(), kernel="linear")
    np.testing.assert_allclose(dual.run(X, y, level=0.9).predictions, run.predictions, rtol=1e-9)
    for wrapper in (dual, Standardize() | dl.GLM(), dl.Network([dl.GLM(), dl.RLS()])):
        assert wrapper.low == 0
        with pytest.raises(ValueError, match="y is -1"):
            wrapper.learn_one(X[0], -1.0)


def test_counts_are_covered_and_never_negative():
    """A mean that rises from 1 to 20: intervals are as wide as the counts at hand vary."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 3, size=(20_000, 1))
    mean = np.exp(x[:, 0])
    y = rng.poisson(mean).astype(float)
    run = dl.GLM(loss="poisson").run(x, y, level=0.9, quantiles=[0.05, 0.95])
    assert run.lower[100:].min() >= 0
    assert run.predictions.min() > 0
    inside = (run.lower <= y) & (y <= run.upper)
    for low, high in ((1, 3), (3, 8), (8, 20)):
        part = (mean >= low) & (mean < high)
        assert 0.86 < inside[part].mean() < 0.97
    assert np.corrcoef(run.upper[1000:] - run.lower[1000:], np.sqrt(mean[1000:]))[0, 1] > 0.9


def test_wild_labels_and_rows_leave_everything_finite():
    rng = np.random.default_rng(1)
    for loss in (*LINKED, "pinball", "huber"):
        X = rng.normal(size=(400, 3)) * 10.0 ** rng.uniform(-150, 150, size=(400, 1))
        y = 10.0 ** rng.uniform(-300, 150, size=400) if loss != "logistic" else rng.integers(0, 2, size=400).astype(float)
        for options in ({"forgetting": 0.9}, {"drift": 1.0}, {"ridge": 1e-12}):
            model = dl.GLM(loss=loss, **options)
            run = model.run(X, y, level=0.9)
            assert np.isfinite(run.predictions).all(), (loss, options)
            assert np.isfinite(model.coef_).all()
            assert np.isfinite(model.covariance_).all()


@for_each("loss", ("poisson", "gamma"))
def test_a_mean_is_at_most_ten_times_the_largest_label_once_32_are_known(loss):
    """exp(w.x) of a row far from all others could be any number, and one such row would outweigh all others in a score."""
    X, y = rows_of(loss, seed=8, rows=60)
    model = dl.GLM(loss=loss, intercept=False)
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        far = 1e3 * np.sign(model.predict_one(x) - 1) * x if t else x
        plainly = math.exp(min(float(model.coef_ @ far), 700)) if t else 1.0
        most = 10 * max(y[:t].max(), 1.0 if loss == "poisson" else 0.0) if t >= 32 else math.inf
        assert model.predict_one(far) == pytest.approx(min(plainly, most), rel=1e-9)
        assert model.ask(far).prediction == model.predict_one(far)
        model.learn_one(x, label)
    far = 1e4 * model.coef_
    assert model.predict_one(far) == 10 * y.max()
    assert model.predict_interval(far)[1] >= model.predict_one(far)
    assert model.predict(far[None])[0] == model.predict_one(far)


@for_each("loss", LINKED)
def test_wild_scales_do_not_spoil_the_mean_loss(loss):
    """Features in units from 1e-8 to 1e8, and rows from a thousandth to a thousand times as long."""
    rng = np.random.default_rng(11)
    scale = 10.0 ** rng.uniform(-8, 8, size=4)
    Z = rng.normal(size=(20_000, 4)) * 10.0 ** rng.uniform(-3, 3, size=(20_000, 1))
    u = np.clip(0.5 * Z @ [1.0, -1.0, 0.5, 0.2], -4, 4)
    draw = {
        "poisson": lambda: rng.poisson(np.exp(u)).astype(float),
        "gamma": lambda: rng.gamma(1.0, np.exp(u)),
        "logistic": lambda: (rng.random(20_000) < special.expit(u)).astype(float),
    }
    y = draw[loss]()
    for options in ({}, {"forgetting": 0.99}, {"drift": 1e-4}):
        run = dl.GLM(loss=loss, **options).run(Z * scale, y)
        assert np.isfinite(run.losses).all()
        if loss != "logistic":
            assert run.predictions[32:].max() <= 10 * y.max()


def test_sample_weights_are_repetitions_of_the_loss():
    """A weight c multiplies the loss: the new u solves u = r c (-slope(u))."""
    model = dl.GLM(loss="poisson", ridge=0.5, intercept=False)
    model.learn_one([1.0], 4.0, sample_weight=3.0)
    u = float(optimize.brentq(lambda u: u + 2.0 * 3.0 * (math.exp(u) - 4.0), -50, 50, xtol=1e-15))
    assert model.coef_[0] == pytest.approx(u, rel=1e-12)
    assert 1 / model.covariance_[0, 0] == pytest.approx(0.5 + 3.0 * math.exp(u), rel=1e-12)
