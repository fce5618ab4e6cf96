"""A certificate in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from driftline.report import words

EVENTS = {  # of docs/certificates.md
    "resets": "the covariance was reset by the learner’s rule",
    "projections": "the weights were brought back into the ball",
    "capped": "forgetting was held back, so that the covariance stayed within its limit",
    "repaired": "the covariance was repaired after rounding",
    "retuned": "a parameter was changed on the way, or the model began with moments",
    "saturated": "a number was held at the end of its range",
    "expert_resets": "an expert was started again",
    "rescalings": "features were scaled anew",
    "outliers": "a label far out was not learned",
}


def certified(certificate: Mapping[str, Any]) -> list[str]:
    """Sentences about the bounds that are proven for the loss."""
    loss, comparator, bound = (certificate[name] for name in ("loss", "comparator", "bound"))
    found = [f"The squared errors add up to {words.number(loss)}."]
    if bound is not None:
        share = f", of which this is {words.share(loss / bound)}" if bound > 0 else ""
        found.append(f"It is proven that they stay below {words.number(bound)}{share}.")
    if comparator is not None:
        found.append(f"The best weights in hindsight, with the learner’s own penalties, come to {words.number(comparator)}.")
    if bound is None:
        failed = [condition for condition, holds in certificate["conditions"].items() if not holds]
        why = f": it would need that {words.listed(failed)}" if failed else ""
        found.append(f"No theorem bounds them for this learner on this stream{why}.")
    return found


def happened(certificate: Mapping[str, Any]) -> list[str]:
    """What happened to the state, and how often."""
    events = certificate["events"].items()
    return [f"{words.times(count).capitalize()}, {EVENTS.get(event, event.replace('_', ' '))}." for event, count in events]
