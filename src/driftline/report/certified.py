"""A certificate in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from driftline.report import words

EVENTS = {  # of docs/certificates.md
    "resets": "the covariance was reset by the learner’s rule",
    "projections": "the weights were brought back into the ball",
    "capped": "forgetting was limited to keep the covariance within its bound",
    "repaired": "the covariance was repaired after rounding",
    "retuned": "a parameter was changed during learning, or the model was created from moments",
    "saturated": "a number was clipped to its range",
    "expert_resets": "an expert was restarted",
    "rescalings": "features were rescaled",
    "outliers": "an outlying label was not learned",
}


def certified(certificate: Mapping[str, Any]) -> list[str]:
    """Sentences about the bounds proven for the loss."""
    loss, comparator, bound = (certificate[name] for name in ("loss", "comparator", "bound"))
    found = [f"The squared errors add up to {words.number(loss)}."]
    if bound is not None:
        share = f" (they are {words.share(loss / bound)} of that)" if bound > 0 else ""
        found.append(f"It is proven that they stay below {words.number(bound)}{share}.")
    if comparator is not None:
        found.append(f"The best weights in hindsight have a loss of {words.number(comparator)}, penalties included.")
    if bound is None:
        failed = [condition for condition, holds in certificate["conditions"].items() if not holds]
        why = f": a bound would require that {words.listed(failed)}" if failed else ""
        found.append(f"No theorem bounds them for this learner on this stream{why}.")
    return found


def happened(certificate: Mapping[str, Any]) -> list[str]:
    """What happened to the state, and how often."""
    events = certificate["events"].items()
    return [f"{words.times(count).capitalize()}, {EVENTS.get(event, event.replace('_', ' '))}." for event, count in events]
