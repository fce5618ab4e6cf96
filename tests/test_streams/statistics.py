"""Checks of samples against closed forms: five standard errors, exceeded by chance once in 1.7 million cases."""

import numpy as np
from scipy import stats


def assert_share(hits, probability):
    """Assert that the share of true values matches the probability."""
    error = np.sqrt(probability * (1 - probability) / len(hits))
    assert abs(np.mean(hits) - probability) <= 5 * error


def assert_mean(values, mean):
    """Assert that independent values have this mean."""
    error = np.std(values, axis=0) / np.sqrt(len(values))
    assert (np.abs(np.mean(values, axis=0) - mean) <= 5 * error).all()


def assert_covariance(X, covariance):
    """Assert the second moments around 0 of independent rows with Gaussian or lighter tails."""
    found = X.T @ X / len(X)
    spread = np.diag(covariance)
    error = np.sqrt((np.outer(spread, spread) + np.square(covariance)) / len(X))
    assert (np.abs(found - covariance) <= 5 * error).all()


def assert_uniform(values, low, high, bins=20):
    """Assert by the chi-square test that values are uniform on [low, high]."""
    assert values.min() >= low
    assert values.max() <= high
    counts, _ = np.histogram(values, bins=bins, range=(low, high))
    assert stats.chisquare(counts).pvalue > 1e-6


def assert_normal(values, variance):
    """Assert by the Kolmogorov-Smirnov test that values are Gaussian with mean 0 and this variance."""
    assert stats.kstest(values, "norm", args=(0, np.sqrt(variance))).pvalue > 1e-6
