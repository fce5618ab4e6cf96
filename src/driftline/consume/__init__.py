"""Rows from a queue into a model, predictions out: :func:`consume`, and adapters for Redis streams and others.

A source of your own is a class with the methods of :class:`Source`. Each adapter needs the extra of its name.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from driftline.consume.entries import Entry, Fields, Reply, Source
    from driftline.consume.loop import Counts, consume
    from driftline.consume.service import ServiceModel
    from driftline.consume.state import StateModel

__all__ = ["Counts", "Entry", "Fields", "Reply", "ServiceModel", "Source", "StateModel", "consume"]
_MODULES = ("entries", "loop", "service", "state")


def __getattr__(name: str) -> Any:
    """A public name, imported on first use: the command line starts without them."""
    if name in __all__:
        for module in _MODULES:
            if hasattr(found := import_module(f"driftline.consume.{module}"), name):
                return getattr(found, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
