"""Warnings where nothing holds a learner's predictions near the labels: short memories, and predictions that ran away."""

from __future__ import annotations

import math
import sys
import warnings
from typing import TYPE_CHECKING

from driftline.errors import DriftlineWarning

if TYPE_CHECKING:
    from driftline.base.learner import Learner

_FAR = 10  # times the largest label
_REMEDIES = "a longer memory, forgetting that keeps the prior (RLS with keep_prior=True), or Auto"


def concerns(learner: Learner) -> list[str]:
    """Why a learner's predictions are not to be trusted, each reason with its remedies; empty where there is none."""
    return [words for words in (short_memory(learner), far_predictions(learner)) if words]


def warn_of_memory(learner: Learner) -> None:
    """Warns, once for each model, of a memory that is too short. Called when the core is made or grows."""
    _warn_once(learner, "memory", short_memory(learner))


def warn_of_range(learner: Learner) -> None:
    """Warns, once for each model, of predictions far beyond the labels. Called at the end of a run."""
    _warn_once(learner, "range", far_predictions(learner))


def _warn_once(learner: Learner, kind: str, words: str) -> None:
    if words and kind not in learner._warned:
        issue(words)
        learner._warned = learner._warned | {kind}


def issue(words: str) -> None:
    """Warns in the name of the line that called driftline."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("driftline."):
        level, frame = level + 1, frame.f_back
    warnings.warn(words, DriftlineWarning, stacklevel=level)


def short_memory(learner: Learner, width: int | None = None) -> str:
    """A sentence where the learner, or one within it, forgets rows faster than they could determine its weights.

    Args:
        learner: with a core, unless the width is given.
        width: of the weights; None is that of the learner's core.
    """
    if width is None and learner._core is None:
        return ""
    for member in getattr(learner._core, "members", ()):
        if words := short_memory(member):
            return words
    memory = learner._unbounded_memory()
    if memory is None:
        return ""
    width = learner._weights.shape[-1] if width is None else width
    if memory >= width:
        return ""
    return (
        f"{type(learner).__name__}: a memory of {memory:.3g} rows is too short to determine {width} weights, so predictions "
        f"may run away. Remedies: {_REMEDIES}"
    )


def far_predictions(learner: Learner) -> str:
    """A sentence where predictions have left the range of the labels by far. O(1), from the sums of the core."""
    if learner._core is None:
        return ""
    sums = learner._sums()
    label, error = sums.get("largest_label", 0.0), math.sqrt(sums.get("largest_loss", 0.0))
    if not 0 < (_FAR + 1) * label < error or not learner._may_run_away:
        return ""
    return (
        f"{type(learner).__name__}: predictions missed labels by up to {error:.3g}, though no label is larger than "
        f"{label:.3g}. Remedies: {_remedies(learner)}"
    )


def _remedies(learner: Learner) -> str:
    members = getattr(learner._core, "members", None)
    if members:
        return _remedies(members[0])
    if learner._unbounded_memory() is not None:
        return _REMEDIES
    return "a smaller rate, or Auto" if "rate" in learner._params else "features of one scale (Standardize), or Auto"
