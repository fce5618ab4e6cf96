"""Streams with known drift: seeded, and the same each time they are taken."""

from driftline.streams.rotating import Rotating, Switching

__all__ = ["Rotating", "Switching"]
