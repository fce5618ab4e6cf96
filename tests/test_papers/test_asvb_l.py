import numpy as np
import pytest
from scipy.integrate import quad

from papers.asvb_l import ASVBL, FLAT


def rows(count=80, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, d))
    return X, 1.5 * X[:, 0] + 0.1 * rng.normal(size=count)


def plain(X, y, forgetting):
    """The factors one coordinate at a time, with explicit sums over the rows."""
    d = X.shape[1]
    w, a, b, beta, found = np.zeros(d), np.ones(d), np.ones(d), 1.0, []
    for t in range(len(y)):
        found.append(w @ X[t])
        old = forgetting ** np.arange(t, -1, -1.0)
        past, labels = X[: t + 1], y[: t + 1]
        w = w.copy()
        variance = np.zeros(d)
        for j in range(d):
            rest = labels - past @ w + past[:, j] * w[j]
            precision = old @ past[:, j] ** 2 + a[j]
            w[j] = (old * past[:, j]) @ rest / precision
            variance[j] = 1 / (beta * precision)
        expected = old @ (labels - past @ w) ** 2 + sum(old @ past[:, j] ** 2 * variance[j] for j in range(d))
        square = w**2 + variance
        beta = (2 * FLAT + old.sum() + d) / (2 * FLAT + expected + a @ square)
        a = np.sqrt(b / (beta * square))
        b = (FLAT + 1) / (FLAT + (1 / a + 1 / b) / 2)
    return np.array(found)


@pytest.mark.parametrize("forgetting", [1.0, 0.95])
def test_a_row_updates_each_factor_once(forgetting):
    X, y = rows()
    assert ASVBL(forgetting).predictions(X, y) == pytest.approx(plain(X, y, forgetting), rel=1e-8, abs=1e-10)


def test_the_means_of_the_scales_match_their_density():
    """The density is exp(-(u a + b / a) / 2) a^(-3/2), the product of the prior of a and the density of w."""
    u, b = 0.7, 2.3

    def moment(power):
        return quad(lambda a: a ** (power - 1.5) * np.exp(-(u * a + b / a) / 2), 0, np.inf)[0]

    mean = np.sqrt(b / u)
    assert moment(1) / moment(0) == pytest.approx(mean)
    assert moment(-1) / moment(0) == pytest.approx(1 / mean + 1 / b)


def test_the_prior_is_a_laplace_density():
    """A normal density of precision beta a, mixed over the inverse gamma density of a, is exp(-|w| sqrt(beta b))."""
    beta, b = 1.7, 0.9

    def density(w):
        mixed = lambda a: np.sqrt(beta * a) * np.exp(-beta * a * w * w / 2) * a**-2 * np.exp(-b / (2 * a))  # noqa: E731
        return quad(mixed, 0, np.inf)[0]

    rates = [np.log(density(w) / density(w + 0.5)) / 0.5 for w in (0.3, 1.0, 2.0)]
    assert rates == pytest.approx([np.sqrt(beta * b)] * 3, rel=1e-5)


def test_irrelevant_inputs_get_weights_near_0():
    X, y = rows(400, 30)
    model = ASVBL(1.0)
    model.predictions(X, y)
    least_squares = np.linalg.lstsq(X, y, rcond=None)[0]
    assert np.median(np.abs(model.w[1:])) < 0.1 * np.median(np.abs(least_squares[1:]))
    assert model.w[0] == pytest.approx(1.5, abs=0.02)


def test_predictions_are_nan_after_an_infinite_label():
    X, y = rows(10)
    y[4] = np.inf
    found = ASVBL(1.0).predictions(X, y)
    assert np.isfinite(found[:5]).all()
    assert np.isnan(found[5:]).all()
