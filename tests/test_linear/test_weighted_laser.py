"""WeightedLASER, from LASER's figure with row weights, and from the game that it solves."""

import math

import numpy as np
import pytest
from numpy.linalg import inv

import driftline as dl
from driftline import regret
from driftline.regret.drifting import weighted_information
from tests.reference import Array, Case, Outcome, Reference, game, outcome
from tests.reference.recursion import second_order


def plain(X: Array, y: Array, *, ridge: float = 1.0, drift_cost: float = 1000.0, max_weight: float = 4.0) -> Outcome:
    """Moroshko's thesis, Fig. 5.1, with the weight a on each row: the D/e form."""
    identity = np.eye(X.shape[1])
    D: Array = ridge * drift_cost / (drift_cost - ridge) * identity
    e = np.zeros(X.shape[1])
    predictions, weights = [], []
    for x, label in zip(X, y, strict=True):
        faded, before = inv(identity + D / drift_cost) @ e, inv(inv(D) + identity / drift_cost)
        s = x @ inv(before) @ x
        a = min(1 / (1 - s), max_weight) if s < 1 else max_weight
        D = before + a * np.outer(x, x)
        predictions.append(a * (x @ inv(D) @ faded))
        e = faded + a * label * x
        weights.append(inv(D) @ e)
    return outcome(X, predictions, weights, inv(D))


def precise(rows, labels, *, ridge, drift_cost, max_weight):
    return second_order(
        rows,
        labels,
        start=1 / ridge - 1 / drift_cost,
        add=1 / drift_cost,
        noise="complement",
        least_noise=1 / max_weight,
        shrink=True,
    )


CASES = [Case(), Case(ridge=0.7, drift_cost=4.0), Case(ridge=50.0, drift_cost=1000.0, max_weight=1.5)]
REFERENCE = Reference(plain, CASES, precise)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("T", [1, 2, 4])
def test_weights_and_predictions_solve_the_game(seed, T):
    """The game is solved by search: the least weight that bounds it, then the answer with the smallest worst case."""
    rng = np.random.default_rng(1000 * T + seed)
    d = 1 + seed % 3
    b, c, A = 10 ** rng.uniform(-0.5, 1.5), 10 ** rng.uniform(1.6, 3), [1.0, 2.5, 6.0][seed % 3]
    X, y = rng.normal(size=(T, d)), rng.normal(size=T)
    limit = 50.0  # of the labels, well above every prediction
    weights: list[float] = []
    run = dl.WeightedLASER(ridge=b, drift_cost=c, max_weight=A, intercept=False).run(X, y)
    for t in range(T):

        def cost(a: float, label: float, t: int = t) -> float:
            labels = np.append(y[:t], label)
            return game.cost_of_the_comparator(X[: t + 1], labels, np.array([*weights, a]), b, c)

        weights.append(game.smallest_weight(cost, A))
        answer = game.best_answer(lambda label, a=weights[-1], cost=cost: cost(a, label), limit)
        assert run.predictions[t] == pytest.approx(answer, rel=1e-9, abs=1e-9)
    expected, _, _ = weighted_information(X, dl.WeightedLASER(ridge=b, drift_cost=c, max_weight=A))
    np.testing.assert_allclose(weights, expected, rtol=1e-9)


def test_with_weights_of_1_it_is_laser():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(200, 4)), rng.normal(size=200)
    one, other = dl.WeightedLASER(drift_cost=5.0, max_weight=1), dl.LASER(drift_cost=5.0)
    np.testing.assert_array_equal(one.run(X, y).predictions, other.run(X, y).predictions)
    assert one.certificate().bound == pytest.approx(other.certificate().bound, rel=1e-12)


def test_without_drift_and_limit_it_is_wemm():
    rng = np.random.default_rng(4)
    X, y = rng.uniform(-1, 1, size=(200, 4)), rng.normal(size=200)
    one, other = dl.WeightedLASER(ridge=6.0, drift_cost=math.inf, max_weight=math.inf), dl.WEMM(ridge=6.0)
    np.testing.assert_allclose(one.run(X, y).predictions, other.run(X, y).predictions, rtol=1e-12, atol=1e-14)


def test_without_a_limit_a_row_that_has_no_weight_is_refused():
    model = dl.WeightedLASER(ridge=4.0, drift_cost=8.0, max_weight=math.inf, intercept=False)
    model.learn_one([1.0], 1.0)
    with pytest.raises(ValueError, match="x'Sx >= 1"):
        model.learn_one([9.0], 1.0)
    assert model.n_seen_ == 1


def test_a_row_along_directions_long_unseen_has_the_largest_weight():
    """S grows by I/c a row, so that any row reaches s = 1 in time: the limit on the weights decides then."""
    X = np.zeros((400, 2))
    X[:, 0], X[-1] = 0.5, (0.0, 1.0)
    model = dl.WeightedLASER(ridge=10.0, drift_cost=100.0, max_weight=4.0, intercept=False)
    weights, shrunk, _ = weighted_information(X, model)
    assert weights[-1] == 4.0
    assert shrunk[-1] > 0
    assert (shrunk[:-1] == 0).all()
    assert model.run(X, np.ones(400)).predictions.shape == (400,)


def adversary(kind: str, rng: np.random.Generator, model: dl.Learner, x: Array, t: int) -> float:
    if kind == "opposite":
        return -math.copysign(1.0, model.predict_one(x))
    if kind == "growing":
        return -math.copysign(1.0 + t / 50, model.predict_one(x))
    if kind == "switching":
        return float(x[0] if (t // 20) % 2 else -x[0])
    return float(rng.choice([-1.0, 1.0]) * rng.exponential() ** 3)


@pytest.mark.parametrize("kind", ["opposite", "growing", "switching", "heavy tails"])
@pytest.mark.parametrize("max_weight", [1.0, 4.0, 1e6])
@pytest.mark.parametrize(("ridge", "drift_cost"), [(0.5, 1.0), (8.0, 20.0), (20.0, 1e4)])
def test_the_bound_holds_row_by_row_against_adversaries(kind, max_weight, ridge, drift_cost):
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(150, 3)) * (1.0, 0.1, 2.0), []
    model = dl.WeightedLASER(ridge=ridge, drift_cost=drift_cost, max_weight=max_weight)
    for t, x in enumerate(X):
        y.append(adversary(kind, rng, model, x, t))
        model.learn_one(x, y[-1])
        live = model.certificate()
        assert live.loss <= live.bound
    comparator = regret.comparator(model, X, y)
    assert live.comparator == pytest.approx(comparator.value, rel=1e-9)
    for u in (None, comparator.weights, np.zeros(4), regret.best_fixed(X, y, ridge, intercept=True)):
        bound = regret.weighted_laser(model, X, y, u)
        assert bound.applies
        assert bound.observed <= bound.value * (1 + 1e-12)
    assert live.bound <= regret.weighted_laser(model, X, y).value * (1 + 1e-9)


def test_the_certificate_is_an_identity_while_no_weight_is_limited():
    """Then the value of the game is the comparator's cost: the loss equals the bound."""
    rng = np.random.default_rng(8)
    X, y = rng.uniform(-1, 1, size=(300, 3)), 10 * rng.normal(size=300)
    model = dl.WeightedLASER(ridge=30.0, drift_cost=3e4, max_weight=2.0)
    model.run(X, y)
    live = model.certificate()
    assert live.comparator == pytest.approx(live.loss, rel=1e-12)
    assert live.bound == pytest.approx(live.loss, rel=1e-12)


@pytest.mark.parametrize("drift_cost", [50.0, 1e3, math.inf])
def test_the_sum_of_the_weights_above_1_is_logarithmic_but_for_the_drift(drift_cost):
    """The lemma in docs/mathematics.md: at most A (log det(D_T / b) + sum of tr D_t-1 / c)."""
    rng = np.random.default_rng(9)
    X = rng.uniform(-0.5, 0.5, size=(200, 3))
    model = dl.WeightedLASER(ridge=5.0, drift_cost=drift_cost, max_weight=4.0, intercept=False)
    weights, shrunk, D = weighted_information(X, model)
    assert (shrunk == 0).all()
    traces = sum(np.trace(weighted_information(X[:t], model)[2]) for t in range(200))
    right = 4.0 * (np.linalg.slogdet(D / 5.0)[1] + traces / drift_cost)
    assert np.sum(weights - 1) <= right


def test_the_bound_without_weights_beats_lasers_where_labels_are_large_and_errors_small():
    rng = np.random.default_rng(10)
    X = rng.uniform(-1, 1, size=(500, 2))
    y = 20 + X @ [1.0, -1.0] + 0.01 * rng.normal(size=500)
    weighted = regret.weighted_laser(dl.WeightedLASER(ridge=5.0, drift_cost=1e6), X, y)
    plain_bound = regret.laser_theorem_12(dl.LASER(ridge=5.0, drift_cost=1e6), X, y)
    assert weighted.value < plain_bound.value
    assert weighted.observed < plain_bound.observed
