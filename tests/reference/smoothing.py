"""Exponential smoothing in innovations form, in plain NumPy: a grid of models, weighted by likelihood (docs/forecasts.md).

Every model is written out row by row, with one array for each season's values by phase:

    f = l + phi b + sum s;  e = y - f;  l = l + phi b + alpha e;  b = phi b + alpha beta e;  s += gamma (1 - alpha) e / n
"""

from __future__ import annotations

from itertools import product

import numpy as np

LEVELS = (0.02, 0.08, 0.2, 0.4, 0.65, 0.95)
TRENDS = ((0.0, 1.0), (0.05, 0.9), (0.3, 0.9), (0.05, 0.98), (0.2, 0.98))  # beta, phi
SEASONAL = (0.0, 0.08, 0.25, 0.5)
KEEP, OUT_OF_SIGHT = 0.995, 14


def centred_means(y, season):
    """Means over a season around each row, the two ends of an even one counting half; NaN at the edges."""
    half = season // 2
    weights = np.ones(2 * half + 1)
    if season % 2 == 0:
        weights[[0, -1]] = 0.5
    found = np.full(len(y), np.nan)
    for t in range(half, len(y) - half):
        window = y[t - half : t + half + 1]
        known = np.isfinite(window)
        if 2 * weights[known].sum() > season:
            found[t] = np.average(window[known], weights=weights[known])
    return found


def decomposed(y, seasons):
    """The profile of each season, the shorter one first, and the line through the rest."""
    rest, profiles = np.array(y), []
    for season in seasons:
        off = rest - centred_means(rest, season)
        phases = [off[phase::season][np.isfinite(off[phase::season])] for phase in range(season)]
        profile = np.array([phase.mean() if len(phase) else 0.0 for phase in phases])
        profile -= profile.mean()
        profiles.append(profile)
        rest = rest - profile[np.arange(len(y)) % season]
    known = np.isfinite(rest)
    slope, level = np.polyfit(np.flatnonzero(known), rest[known], 1)
    return profiles, level, slope


class Model:
    """One model of the grid, started by a pass backwards in time."""

    def __init__(self, y, alpha, beta, phi, gamma, seasons, parameters):
        self.alpha, self.beta, self.phi, self.gamma, self.parameters = alpha, beta, phi, gamma, parameters
        profiles, level, slope = decomposed(y, seasons)
        self.seasons = [profile.copy() for profile in profiles]
        self.level, self.trend = level + slope * len(y), -slope if beta > 0 else 0.0
        for t in reversed(range(len(y))):
            self.error(y[t], t)
        self.trend, self.squares, self.rows, self.row = -self.trend, 0.0, 0.0, 0
        for value in y:
            self.learn(value)

    def error(self, y, t):
        """Takes a step at row t; returns the error."""
        moved = self.level + self.phi * self.trend
        error = y - moved - sum(season[t % len(season)] for season in self.seasons)
        self.level, self.trend = moved, self.phi * self.trend
        if np.isfinite(error):
            self.level += self.alpha * error
            self.trend += self.alpha * self.beta * error
            for season in self.seasons:
                season[t % len(season)] += self.gamma * (1 - self.alpha) * error / len(self.seasons)
        return error

    def learn(self, y):
        error = self.error(y, self.row)
        self.row += 1
        if np.isfinite(error):
            self.squares, self.rows = KEEP * self.squares + error**2, KEEP * self.rows + 1

    def forecast(self, steps):
        ahead = [sum(self.phi ** (j + 1) for j in range(h)) for h in range(1, steps + 1)]
        season = [sum(s[(self.row + h) % len(s)] for s in self.seasons) for h in range(steps)]
        return self.level + self.trend * np.array(ahead) + season


class Grid:
    """All models, fitted to some labels."""

    def __init__(self, y, seasons):
        y = np.asarray(y, dtype=np.float64)
        self.least = max(1e-8 * np.nanvar(y), 1e-300)
        self.models = []
        for chosen in ([], list(seasons)) if seasons else ([],):
            fitted = 1 + sum(season - 1 for season in chosen)
            for alpha, (beta, phi), gamma in product(LEVELS, TRENDS, SEASONAL if chosen else (0.0,)):
                parameters = fitted + 1 + 2 * (beta > 0) + (gamma > 0)
                self.models.append(Model(y, alpha, beta, phi, gamma, chosen, parameters))

    def learn(self, y):
        for model in self.models:
            model.learn(y)

    def weights(self):
        """By likelihood, with Akaike's correction for the number of parameters."""
        rows, squares, count = (
            np.array([getattr(model, name) for model in self.models]) for name in ("rows", "squares", "parameters")
        )
        criteria = rows * np.log(squares / np.maximum(rows, 1) + self.least)
        criteria += 2 * count * rows / np.maximum(rows - count - 1, 0.5)
        off = criteria - criteria.min()
        found = np.where(off < OUT_OF_SIGHT, np.exp(-off / 2), 0.0)
        return found / found.sum()

    def forecast(self, steps):
        return self.weights() @ np.array([model.forecast(steps) for model in self.models])
