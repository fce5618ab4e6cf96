"""The page's description of the learner, as plain values and an array of weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftline.base.learner import Learner
from driftline.base.stability import concerns


def model_summary(model: Learner) -> dict[str, Any]:
    """The current name, parameters, feature names, weights and certificate of a learner."""
    return {
        "learner": model._title,
        "call": repr(model),
        "parameters": {name: repr(value) for name, value in model.get_params(deep=False).items()},
        "by_feature": bool(model._traits.by_feature),
        "seen": model.n_seen_,
        "skipped": model.n_skipped_,
        "explained": model.explain() if hasattr(model, "explain") else "",
        "warnings": concerns(model),
        "memory": model._memory() if model.n_seen_ else None,
        **_weights(model),
        "certificate": _certificate(model),
    }


def _weights(model: Learner) -> dict[str, Any]:
    if not model.n_seen_ or not model._traits.by_feature or model.coef_.ndim > 1:
        return {"names": [], "weights": np.empty(0), "intercept": None}
    names = getattr(model, "feature_names_in_", None)
    return {
        "names": [] if names is None else [str(name) for name in names],
        "weights": np.array(model.coef_, dtype=np.float64),
        "intercept": float(model.intercept_) if model.intercept else None,
    }


def _certificate(model: Learner) -> dict[str, Any]:
    certificate = model.certificate()
    return {
        "loss": certificate.loss,
        "comparator": certificate.comparator,
        "bound": certificate.bound,
        "slack": certificate.slack,
        "conditions": dict(certificate.conditions),
        "events": dict(certificate.events),
    }
