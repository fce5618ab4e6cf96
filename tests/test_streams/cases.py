"""A small stream of every kind, for the laws that all of them obey."""

from driftline.streams import (
    SEA,
    Concat,
    First,
    Hyperplane,
    Join,
    MovingGaussians,
    Repeat,
    Rotating,
    StateSpace,
    Stream,
    Switching,
)

ROWS = 3000  # every case has at least this many rows, from three chunks

CASES: dict[str, Stream] = {
    "rotating": Rotating(rate=0.01, power=0.5, noise=1.0, seed=1),
    "switching": Switching(rate=2.0, unit="deg", every=700, d=12, seed=2),
    "sea": SEA(rows=3500, seed=3),
    "hyperplane": Hyperplane(rows=3100, stages=4, seed=4),
    "hyperplane for regression": Hyperplane(task="regression", d=3, rows=3000, seed=5),
    "moving gaussians": MovingGaussians(kind="2CDT", seed=6),
    "moving gaussians in 5 dimensions": MovingGaussians(kind="UG-2C-5D", rows=5000, seed=7),
    "state space": StateSpace(d=15, sparsity=4, every=450, seed=8),
    "slow state space": StateSpace(d=5, sparsity=5, decay=0.99, seed=9),
    "first": First(Rotating(seed=10), rows=3010),
    "concat": Concat(SEA(rows=1100, seed=11), SEA(rows=700, thresholds=[2], seed=12), SEA(rows=1200, seed=13)),
    "join": Join(Rotating(d=10, seed=14), StateSpace(d=10, seed=15), at=900, width=1400, shape="sigmoid", seed=16),
    "abrupt join": Join(SEA(seed=17), SEA(seed=18), at=1024),
    "repeat": Repeat(Hyperplane(rows=650, stages=2, seed=19)),
    "nested": Repeat(Repeat(SEA(rows=300, seed=20), times=2) + SEA(rows=211, seed=21), times=4),
}
