"""How the keys of a pooled fleet differ from the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftline.fleet import Fleet
from driftline.fleet.packed import Packed
from driftline.tables.inputs import Array

FEWEST = 20  # rows of a key whose weights are compared
APART = 4.0  # how many times the usual distance from the median makes a weight worth a word


@dataclass(frozen=True)
class PoolFacts:
    """How one key differs from the others.

    Attributes:
        key: its name.
        share: the share of its own model in its next prediction.
        level: its recent mean label, less the median of these over the keys.
        pool: the recent RMSE of the shared model on its rows.
        own: that of its own model.
        feature: the feature whose weight differs most from that of the other keys; None if none stands out.
        weight: this weight.
        usual: the median of this weight over the keys.
    """

    key: str
    share: float
    level: float
    pool: float
    own: float
    feature: str | None = None
    weight: float = np.nan
    usual: float = np.nan

    @property
    def factor(self) -> float:
        """How many times larger the errors of the shared model are."""
        return self.pool / self.own if self.own > 0 else 1.0


def pool_facts(fleet: Fleet) -> list[PoolFacts]:
    """The keys that have errors, those first for which their own model is better than the shared one by most."""
    table = fleet.summary()
    level = table["level"] - (np.nanmedian(table["level"]) if np.isfinite(table["level"]).any() else 0.0)
    words = _weights(fleet, table["rows"])
    shares, pool, own = table["share"], np.sqrt(table["pool_mse"]), np.sqrt(table["own_mse"])
    found = [
        PoolFacts(str(key), shares[at], level[at], pool[at], own[at], *words.get(at, (None, np.nan, np.nan)))
        for at, key in enumerate(fleet.keys_)
        if np.isfinite(own[at])
    ]
    return sorted(found, key=lambda fact: -fact.factor)


def _weights(fleet: Fleet, rows: Array) -> dict[int, tuple[str, float, float]]:
    """For keys with a weight far from the others': the feature, the weight and the median of this weight."""
    if not isinstance(fleet._models, Packed) or not fleet.learner._traits.by_feature or fleet._models.core is None:
        return {}
    names = fleet._models.names or [f"x{place}" for place in range(fleet.n_features_in_)]
    known = np.flatnonzero(rows >= max(FEWEST, 2 * len(names)))
    if len(known) < 3 or not names:
        return {}
    weights = np.asarray(fleet.coef_, dtype=np.float64)[known]
    usual = np.median(weights, axis=0)
    spread = 1.4826 * np.median(np.abs(weights - usual), axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.nan_to_num(np.abs(weights - usual) / spread, nan=0.0)
    most = apart.argmax(axis=1)
    return {
        int(key): (str(names[j]), float(weights[row, j]), float(usual[j]))
        for row, (key, j) in enumerate(zip(known, most, strict=True))
        if apart[row, j] >= APART
    }
