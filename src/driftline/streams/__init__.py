"""Generated streams with known drift: seeded, repeatable, and easy to combine."""

from driftline.streams.base import Stream
from driftline.streams.concat import Concat
from driftline.streams.first import First
from driftline.streams.hyperplane import Hyperplane
from driftline.streams.join import Join
from driftline.streams.moving_gaussians import MovingGaussians
from driftline.streams.registry import make, names, source, table
from driftline.streams.repeat import Repeat
from driftline.streams.rotating import Rotating, Switching
from driftline.streams.sea import SEA
from driftline.streams.source import Source
from driftline.streams.state_space import StateSpace

__all__ = [
    "SEA",
    "Concat",
    "First",
    "Hyperplane",
    "Join",
    "MovingGaussians",
    "Repeat",
    "Rotating",
    "Source",
    "StateSpace",
    "Stream",
    "Switching",
    "make",
    "names",
    "source",
    "table",
]
