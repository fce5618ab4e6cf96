"""Checks of samples against closed forms: five standard errors, exceeded by chance once in 1.7 million times."""

import numpy as np
from scipy import stats


def assert_share(hits, probability):
    """The share of true values is the probability."""
    error = np.sqrt(probability * (1 - probability) / len(hits))
    assert abs(np.mean(hits) - probability) <= 5 * error


def assert_mean(values, mean):
    """The mean of independent values."""
    error = np.std(values, axis=0) / np.sqrt(len(values))
    assert (np.abs(np.mean(values, axis=0) - mean) <= 5 * error).all()


def assert_covariance(X, covariance):
    """The second moments of independent Gaussian rows (or of less heavy tails) around 0."""
    found = X.T @ X / len(X)
    spread = np.diag(covariance)
    error = np.sqrt((np.outer(spread, spread) + np.square(covariance)) / len(X))
    assert (np.abs(found - covariance) <= 5 * error).all()


def assert_uniform(values, low, high, bins=20):
    """The values are spread evenly over [low, high], by the chi-square test."""
    assert values.min() >= low
    assert values.max() <= high
    counts, _ = np.histogram(values, bins=bins, range=(low, high))
    assert stats.chisquare(counts).pvalue > 1e-6


def assert_normal(values, variance):
    """Gaussian around 0 with that variance, by Kolmogorov and Smirnov's test."""
    assert stats.kstest(values, "norm", args=(0, np.sqrt(variance))).pvalue > 1e-6
