"""Exported states, which may hold the states of a model's parts."""

from driftline.storage.codec import leaves

__all__ = ["leaves", "replaced"]


def replaced(state, place, value=None):
    """A copy with another value in a place, as :func:`leaves` names it; without a value, nothing is there."""
    name, _, rest = place.partition(".")
    if rest:
        return {**state, name: replaced(state[name], rest, value)}
    other = {key: part for key, part in state.items() if key != name}
    return other if value is None else {**other, name: value}
