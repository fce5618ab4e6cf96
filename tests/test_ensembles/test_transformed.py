"""Transformed labels: the learner on them, smearing by its errors, intervals through the inverse."""

import copy
import math
import pickle

import numpy as np
import pytest

import driftline as dl
from driftline.base.levels import as_spread
from driftline.delayed.stepper import Stepper
from driftline.features import Lags, Standardize
from tests.cases import for_each
from tests.reference import Array, Case, Outcome, Reference
from tests.test_linear import test_rls as rls

FORWARD = {
    "log": np.log,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "logit": lambda y: np.log(y / (1 - y)),
    "asinh": np.arcsinh,
}
INVERSE = {
    "log": np.exp,
    "log1p": np.expm1,
    "sqrt": lambda z: max(z, 0.0) ** 2,
    "logit": lambda z: 1 / (1 + np.exp(-z)),
    "asinh": np.sinh,
}


def skewed(transformation="log", rows=400, seed=0, size=0.7):
    """Labels that are linear, with noise of two sizes, on a transformed scale."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    z = 2 + X @ [0.5, -0.3, 0.2] + size * np.where(np.arange(rows) < rows // 2, 0.3, 1) * rng.normal(size=rows)
    z = np.abs(z) if transformation in ("log1p", "sqrt") else z
    return X, np.array([INVERSE[transformation](value) for value in z])


def smeared(inverse, z, labels_z, late=0, zeros=16, kept=100):
    """The means by the plain formula, one row at a time. The first row's error is that of a model that knows nothing."""
    errors, answers = [0.0] * zeros, []
    for t, value in enumerate(z):
        known = t - late - 1
        if known > late:
            errors.append(labels_z[known] - z[known])
        window = np.array(errors[-kept:])
        most = 3 / 0.676 * np.mean(np.sqrt(np.abs(window))) ** 2
        answers.append(np.mean([inverse(value + min(max(error, -most), most)) for error in window]))
    return np.array(answers)


def plain(X: Array, y: Array, *, transformation: str | None = None) -> Outcome:
    """RLS on the labels, or on their inverse hyperbolic sines; the answers of these are smeared."""
    z = y if transformation is None else np.log(y + np.sqrt(y**2 + 1))
    within = rls.plain(X, z)
    if transformation is None:
        return Outcome(predictions=within.predictions, weights=within.weights)
    return Outcome(predictions=smeared(np.sinh, within.predictions, z), weights=within.weights)


REFERENCE = Reference(plain, [Case(), Case(transformation="asinh")])


@pytest.mark.parametrize("transformation", INVERSE)
def test_answers_are_those_of_the_learner_on_transformed_labels(transformation):
    X, y = skewed(transformation)
    model = dl.Transformed(dl.RLS(forgetting=0.99), transformation)
    run = model.run(X, y, level=0.8)
    plain = dl.RLS(forgetting=0.99).run(X, FORWARD[transformation](y), level=0.8)
    np.testing.assert_allclose(
        run.predictions,
        smeared(INVERSE[transformation], plain.predictions, FORWARD[transformation](y)),
        rtol=1e-9,
        atol=1e-12,
    )
    inverse = np.vectorize(INVERSE[transformation], otypes=[float])
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(run.lower, inverse(plain.lower), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(run.upper, inverse(plain.upper), rtol=1e-9, atol=1e-12)
    assert model.certificate().loss == pytest.approx(run.losses.sum(), rel=1e-9)
    assert model.certificate().bound is None
    assert not all(model.certificate().conditions.values())


@pytest.mark.parametrize("delay", [1, 24])
def test_late_labels_count_when_they_are_known(delay):
    X, y = skewed()
    by_table, by_ticket, plain = dl.Transformed(dl.RLS(), "log"), dl.Transformed(dl.RLS(), "log"), dl.RLS()
    out, z = (
        Stepper(by_table, delay).table(X, y, spread=as_spread("", 0.8)),
        Stepper(plain, delay).table(X, np.log(y), spread=as_spread("", 0.8)),
    )
    np.testing.assert_allclose(out.predictions, smeared(np.exp, z.predictions, np.log(y), delay), rtol=1e-9)
    np.testing.assert_allclose(out.lower, np.exp(z.lower), rtol=1e-12)
    tickets = []
    for t, x in enumerate(X):
        tickets.append(dl.Ticket.from_bytes(by_ticket.ask(x, delay).to_bytes()))
        assert tickets[t].prediction == out.predictions[t]
        assert tickets[t].interval(0.8) == (out.lower[t], out.upper[t])
        if t >= delay:
            by_ticket.tell(tickets[t - delay], y[t - delay])
        if t % 50 == 0:
            by_ticket = dl.from_bytes(by_ticket.to_bytes())
    assert by_ticket.to_bytes() == by_table.to_bytes()


def test_the_mean_is_less_biased_than_the_median_and_follows_the_noise():
    """Errors of a mean sum to about 0 in both halves, whose noise differs; those of the median do not."""
    X, y = skewed(rows=8000, size=1.0)
    run = dl.Transformed(dl.RLS(forgetting=1.0), "log").run(X, y)
    median = np.exp(dl.RLS(forgetting=1.0).run(X, np.log(y)).predictions)
    late = np.arange(8000) >= 4400
    assert abs(run.errors[late].mean()) < 0.05 * y[late].mean()
    assert (y - median)[late].mean() > 0.25 * y[late].mean()
    assert run.losses[late].sum() < np.square(y - median)[late].sum()


def test_one_outlier_does_not_dominate_the_mean():
    X, y = skewed(rows=600, size=0.3)
    y[300] *= 1e12
    run = dl.Transformed(dl.Ridge(ridge=100.0), "log").run(X, y)
    plain = np.exp(dl.Ridge(ridge=100.0).run(X, np.log(y)).predictions)
    assert (run.predictions[301:] < 2 * plain[301:]).all()


@for_each(
    "transformation, words",
    [
        ("log", r'y is 0 in row 7, but "log" takes labels above 0; "log1p" takes those above -1, "asinh" any$'),
        ("sqrt", r'y is -2 in row 7, but "sqrt" takes labels of at least 0; "asinh" takes any$'),
        ("log1p", r'y is -1 in row 7, but "log1p" takes labels above -1; "asinh" takes any$'),
        ("logit", r'y is 1 in row 7, but "logit" takes labels between 0 and 1$'),
        ((lambda y: np.log(y - 2), lambda z: np.exp(z) + 2), r"y is 2 in row 7, for which forward gives -inf$"),
        ((lambda y: math.log(y - 2), lambda z: math.exp(z) + 2), r"y is 2 in row 7, for which forward gives nan$"),
    ],
)
def test_a_label_outside_the_domain_is_refused(transformation, words):
    bad = {"sqrt": -2.0, "log1p": -1.0, "logit": 1.0, "log": 0.0}.get(
        transformation if isinstance(transformation, str) else "", 2.0
    )
    good = 0.5 if transformation == "logit" else 3.0
    for missing in ("raise", "skip"):
        for model in (
            dl.Transformed(dl.RLS(), transformation, missing=missing),
            Standardize() | dl.Transformed(dl.RLS(missing=missing), transformation),
            dl.Network([dl.Transformed(dl.RLS(missing=missing), transformation)], missing=missing),
        ):
            X, y = np.random.default_rng(0).normal(size=(20, 2)), np.full(20, good)
            model.run(X, y)
            before = model.__getstate__()["core"]["weights"].copy()
            y[7] = bad
            with pytest.raises(ValueError, match=words):
                model.run(X, y)
            ticket = model.ask(X[0])
            for learn, asked in ((model.learn_one, X[0]), (model.tell, ticket)):
                with pytest.raises(ValueError, match=words.replace(" in row 7", "")):
                    learn(asked, bad)
            assert model.n_seen_ == 20
            np.testing.assert_array_equal(model.__getstate__()["core"]["weights"], before)
            model.tell(ticket, good)
    with pytest.raises(ValueError, match=words):
        dl.Fleet(dl.Transformed(dl.RLS(), transformation)).run(np.arange(20) % 2, X, y)


def test_functions_act_as_the_name_does_and_are_not_saved():
    X, y = skewed()
    named = dl.Transformed(dl.RLS(), "log").run(X, y, level=0.9)
    for functions in ((np.log, np.exp), (math.log, math.exp)):
        model = dl.Transformed(dl.RLS(), functions)
        run = model.run(X, y, level=0.9)
        np.testing.assert_allclose(run.predictions, named.predictions, rtol=1e-12)
        np.testing.assert_allclose(run.upper[20:], named.upper[20:], rtol=1e-12)
        with pytest.raises(ValueError, match=r"^Transformed.save: transformation holds functions, which cannot be saved"):
            model.to_bytes()
        with pytest.raises(ValueError, match="transformation"):
            model.ask(X[0]).to_bytes()
        again = pickle.loads(pickle.dumps(model))
        assert again.predict_one(X[0]) == model.predict_one(X[0])
    with pytest.raises(ValueError, match="forward must increase with the label"):
        dl.Transformed(dl.RLS(), (np.negative, np.negative)).run(X, y)
    for bad in ("ln", np.log, (np.log,), (np.log, 3)):
        with pytest.raises(ValueError, match="Transformed: transformation must be one of 'log', 'log1p'"):
            dl.Transformed(dl.RLS(), bad)


@for_each("learner", [dl.RLS(), dl.Auto(), dl.LMS(implicit=True), Standardize() | Lags(y=2) | dl.RLS()])
def test_limits_hold_on_the_users_scale(learner):
    X, y = skewed()
    y = np.clip(y, 3, 12)
    model = dl.Transformed(learner, "log", low=3, high=12)
    assert (model.low, model.high, dl.Transformed(dl.RLS(low=0), "log").low) == (3, 12, None)
    one = copy.deepcopy(model)
    run = model.run(X, y, level=0.8)
    for t, x in enumerate(X):
        assert one.predict_one(x) == run.predictions[t]
        assert one.predict_interval(x, 0.8) == (run.lower[t], run.upper[t])
        assert one.ask(x).interval(0.8) == (run.lower[t], run.upper[t])
        one.learn_one(x, y[t])
    assert one.to_bytes() == model.to_bytes()
    for answers in (run.predictions, run.lower, run.upper):
        assert answers.min() >= 3
        assert answers.max() <= 12
    with pytest.raises(ValueError, match=r"y is 2, below low=3"):
        model.learn_one(X[0], 2.0)


def test_in_every_verb():
    """Forecasts, fleets, ids, columns of text, and wrappers around it."""
    X, y = skewed(rows=120)
    forecaster = dl.Forecaster(dl.Transformed(dl.RLS(), "log"), steps=3)
    forecaster.run(X, y)
    plain = dl.Forecaster(dl.RLS(), steps=3)
    plain.run(X, np.log(y))
    forecast, z = forecaster.forecast(X[:3], level=0.8), plain.forecast(X[:3], level=0.8)
    np.testing.assert_allclose(forecast.lower, np.exp(z.lower))
    np.testing.assert_allclose(forecast.upper, np.exp(z.upper))
    assert (dl.from_bytes(forecaster.to_bytes()).forecast(X[:3]).predictions == forecast.predictions).all()
    keys = np.arange(120) % 2
    fleet = dl.Fleet(dl.Transformed(dl.RLS(), "log"))
    run = fleet.run(keys, X, y, level=0.8)
    alone = dl.Transformed(dl.RLS(), "log").run(X[keys == 1], y[keys == 1], level=0.8)
    np.testing.assert_array_equal(run.predictions[keys == 1], alone.predictions)
    np.testing.assert_array_equal(run.upper[keys == 1], alone.upper)
    for model in (dl.Transformed(dl.RLS(), "log"), Standardize() | dl.Transformed(dl.RLS(), "log")):
        pending = dl.Pending(model)
        for t, (x, label) in enumerate(zip(X, y, strict=True)):
            row = {"a": x[0], "b": x[1], "day": "sun" if t % 7 == 0 else "week"}
            lower, upper = pending.predict_interval(t, row, 0.5)
            assert 0 <= lower <= upper
            pending = dl.from_bytes(pending.to_bytes()) if t % 40 == 39 else pending
            pending.learn_one(t, label)
        assert pending.learner.n_seen_ == 120
    assert dl.Auto(experts=[dl.Transformed(dl.RLS(), "log")]).run(X, y).losses.sum() > 0
    nested = dl.Transformed(dl.Transformed(dl.RLS(), "asinh"), "log")
    inner = dl.Transformed(dl.RLS(), "asinh").run(X, np.log(y), level=0.8)
    np.testing.assert_allclose(nested.run(X, y, level=0.8).upper, np.exp(inner.upper), rtol=1e-12)
    assert nested.ask(X[0]).interval(0.8) == nested.predict_interval(X[0], 0.8)


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        ((np.log, np.sqrt), "inverse makes nan of -"),
        ((np.log, lambda z: z), "inverse must undo forward"),
        ((np.log, lambda z: np.exp(-z)), "inverse must undo forward"),
        ((lambda y: (y**0.3 - 1) / 0.3, lambda z: (0.3 * z + 1) ** (1 / 0.3)), "inverse makes nan of -.*clip it"),
    ],
    ids=["another", "none", "falling", "in part"],
)
def test_an_inverse_that_does_not_undo_forward_is_refused(pair, words):
    X, y = skewed(rows=120)
    model = dl.Transformed(dl.RLS(), pair)
    with pytest.raises(ValueError, match=words):
        model.run(X, y**3 / 50, level=0.99)
    assert model.n_seen_ == 0


def test_a_pooled_fleet_answers_within_the_domain():
    X, y = skewed(rows=600)
    keys = np.arange(600) % 5
    for learner in (dl.Transformed(dl.RLS(), "log"), Standardize() | dl.Transformed(dl.RLS(), "log")):
        fleet = dl.Fleet(learner, pooled=True)
        run = fleet.run(keys, X, y, level=0.9, quantiles=[0.05, 0.95])
        new = fleet.predict_interval(77, X[0])
        assert min(run.predictions.min(), run.lower.min(), run.quantiles.min(), *new) >= 0
        assert np.mean((run.lower <= y) & (y <= run.upper)) == pytest.approx(0.9, abs=0.03)


def test_a_classifier_needs_a_learner_of_either_sign():
    with pytest.raises(ValueError, match="learner must take the labels -1 and 1"):
        dl.Classifier(dl.Transformed(dl.RLS(), "log"))
    assert dl.Classifier(dl.Transformed(dl.RLS(), "asinh")) is not None


def test_errors_beyond_the_range_are_learned_without_a_warning():
    """Answers of asinh grow exponentially: with labels of this size, they leave the range when the noise is large."""
    rng = np.random.default_rng(0)
    X, y = 1e150 * rng.normal(size=(60, 2)), 1e300 * np.abs(rng.normal(size=60))
    model = dl.Transformed(dl.RLS(), "asinh")
    model.run(X, y)
    assert model.n_seen_ == 60


def test_the_transformation_must_be_named_with_the_learner():
    with pytest.raises(ValueError, match=r'^Transformed: name the transformation of the labels, .*"log" for labels above 0'):
        dl.Transformed(dl.Auto())
    with pytest.raises(ValueError, match="name the transformation"):
        dl.Transformed(dl.RLS(), "log").set_params(transformation=None)


def test_without_arguments_labels_are_learned_as_they_are():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = X @ [1.0, 2.0] + rng.normal(size=300)
    plain, around = dl.RLS().run(X, y, level=0.9, quantiles=[0.1]), dl.Transformed().run(X, y, level=0.9, quantiles=[0.1])
    for name in ("predictions", "lower", "upper", "quantiles"):
        np.testing.assert_array_equal(getattr(around, name), getattr(plain, name))


def test_people_read_the_name_of_the_learner_within(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 1)), np.exp(rng.normal(size=100))
    model = dl.Transformed(dl.RLS(), "log")
    model.run(X, y).report(tmp_path / "r.html", X, model=model, target="sales")
    page = (tmp_path / "r.html").read_text()
    assert "<h1>RLS (log) following sales</h1>" in page
    assert "root mean squared error of RLS (log)" in page
