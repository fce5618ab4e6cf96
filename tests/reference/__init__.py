"""Plain references of the linear learners, each from its paper's own form.

They are slow and use explicit inverses. Names and parameters are the public ones. None
of them handles an intercept: append a column of ones. Sparse-DFOP alone does, for its
intercept is no column of X.
"""

from collections.abc import Callable

from .drifting import dfop, kalman, laser, rls
from .ensembles import averaged, network, pipeline
from .first_order import eg, gd, lms, nlms
from .high_dimension import sparse_dfop
from .outcome import Outcome
from .resetting import arcor, crrls
from .stationary import aar, arowr, ridge, wemm

REFERENCES: dict[str, Callable[..., Outcome]] = {
    "lms": lms,
    "nlms": nlms,
    "gd": gd,
    "eg": eg,
    "ridge": ridge,
    "rls": rls,
    "aar": aar,
    "arowr": arowr,
    "crrls": crrls,
    "arcor": arcor,
    "wemm": wemm,
    "laser": laser,
    "kalman": kalman,
    "dfop": dfop,
    "sparse_dfop": sparse_dfop,
    "network": network,
    "averaged": averaged,
    "pipeline": pipeline,
}

__all__ = ["REFERENCES", "Outcome"]
