"""Warnings about predictions that may leave the range of the labels, or have done so."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from driftline.errors import warn
from driftline.tables.inputs import Array

if TYPE_CHECKING:
    from driftline.base.learner import Learner

_FAR = 10  # times the largest label
_SQUARES = sys.float_info.max  # sums of squares stop here
_UNDETERMINED = 1e-9  # smallest eigenvalue of the correlations in S; independent inputs have about forgetting^width
_REMEDIES = "a longer memory, forgetting that keeps the prior (RLS with keep_prior=True), or Auto"


def concerns(learner: Learner) -> list[str]:
    """Reasons not to trust a learner's predictions, each with its remedies; empty if there are none."""
    return [words for words in (short_memory(learner), far_predictions(learner)) if words]


def warn_of_memory(learner: Learner) -> None:
    """Warns of a memory that is too short, once for each model. Called when the core is made or grows."""
    if "memory" not in learner._warned and _forgetful(learner) is not None:
        learner._next_look = 2 * learner.n_seen_  # the check takes O(d^3)
        if words := short_memory(learner):
            _warn(learner, "memory", words)


def warn_of_range(learner: Learner) -> None:
    """Warns of predictions that ran away, once for each model. Called after a run, and by save."""
    if "range" not in learner._warned and (words := far_predictions(learner)):
        _warn(learner, "range", words)
    if learner._next_look is not None and learner.n_seen_ >= learner._next_look:
        warn_of_memory(learner)


def _warn(learner: Learner, kind: str, words: str) -> None:
    warn(words)
    learner._warned = learner._warned | {kind}


def short_memory(learner: Learner) -> str:
    """A warning if the learner, or one within it, forgets rows before they determine its weights.

    Whether it does depends on the rows. Until there are twice as many rows as weights, the warning is about a risk.
    """
    forgetful = _forgetful(learner)
    if forgetful is None:
        return ""
    width, memory = forgetful._weights.shape[-1], forgetful._traits.unbounded_memory
    if forgetful.n_seen_ < 2 * width:
        return risk_of_memory(forgetful, width)
    if _are_determined(forgetful.covariance_):  # type: ignore[attr-defined]
        return ""
    return (
        f"{type(forgetful).__name__}: a memory of {memory:.3g} rows does not determine {width} weights: inputs are constant "
        f"or collinear for longer than that, so predictions may run away. Remedies: {_REMEDIES}"
    )


def risk_of_memory(learner: Learner, width: int) -> str:
    """A warning of the risk if the memory holds fewer rows than there are weights."""
    memory = learner._traits.unbounded_memory
    if memory is None or memory >= width:
        return ""
    return (
        f"{type(learner).__name__}: a memory of {memory:.3g} rows is less than the {width} weights. If inputs stay "
        f"constant or collinear for longer than that, predictions may run away. Remedies: {_REMEDIES}"
    )


def _forgetful(learner: Learner) -> Learner | None:
    """The learner, or its first nested one, that remembers fewer rows than it has weights and does not bound them."""
    if learner._core is None:
        return None
    for member in getattr(learner._core, "members", ()):
        if (forgetful := _forgetful(member)) is not None:
            return forgetful
    memory = learner._traits.unbounded_memory
    return None if memory is None or memory >= learner._core.weights().shape[-1] else learner


def _are_determined(covariance: Array) -> bool:
    scale = np.sqrt(np.diag(covariance).astype(np.float64))
    if not (np.isfinite(scale).all() and scale.min() > 0):
        return False
    return bool(np.linalg.eigvalsh(covariance / scale / scale[:, None])[0] > _UNDETERMINED)


def far_predictions(learner: Learner) -> str:
    """A warning if predictions are far outside the labels' range, or squared errors overflow. O(1), from the sums."""
    if learner._core is None:
        return ""
    members: Sequence[Learner] = getattr(learner._core, "members", ())
    if len(members) == 1 and learner._traits.may_run_away:  # an average of weights runs away with them
        return far_predictions(members[0])
    return far(learner, learner._sums())


def far(learner: Learner, sums: Mapping[str, float]) -> str:
    """Like :func:`far_predictions`, from the sums of a learner like this one."""
    label, loss = sums.get("largest_label", 0.0), sums["largest_loss"]
    name, error, overflowed = type(learner).__name__, math.sqrt(loss), sums["loss"] >= _SQUARES
    if 0 < (_FAR + 1) * label < error and learner._traits.may_run_away:
        return (
            f"{name}: predictions missed labels by {_size(error, loss)}, though no label is larger than {label:.3g}. "
            f"Remedies: {_remedies(learner)}"
        )
    if overflowed:
        return (
            f"{name}: the sum of squared errors left the range of float64, so RMSE, R² and the certificate mean nothing. "
            f"The largest error is {_size(error, loss)}. Remedies: leave out rows with such labels, or scale the labels"
        )
    return ""


def _size(error: float, loss: float) -> str:
    return "more than 1e150" if loss >= _SQUARES else f"up to {error:.3g}"


def _remedies(learner: Learner) -> str:
    if learner._traits.unbounded_memory is not None:
        return _REMEDIES
    return "a smaller rate, or Auto" if "rate" in learner._params else "features of one scale (Standardize), or Auto"
