"""driftline: regression on streams whose target keeps changing.

Names are imported when they are first asked for, so that nothing waits for what it does not use.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from driftline import checks, evaluate, features, files, losses, regret, reproduce, streams
    from driftline.alarms import Alarm
    from driftline.base import Learner
    from driftline.certificate import Certificate
    from driftline.ensembles import Auto, Averaged, Classifier, Network
    from driftline.errors import DivergenceError, ModelFileError, RowRefusedError
    from driftline.features import Pipeline
    from driftline.fleet import Fleet
    from driftline.kernels import Kernel
    from driftline.linear import (
        AAR,
        ARCOR,
        AROWR,
        CRRLS,
        DFOP,
        EG,
        GD,
        LASER,
        LMS,
        NLMS,
        RLS,
        WEMM,
        Add,
        Below,
        Divide,
        Every,
        Kalman,
        Ridge,
        SecondOrder,
        SparseDFOP,
    )
    from driftline.model_file import load
    from driftline.results import Run
    from driftline.sweeps import Sweep, sweep

__version__ = "0.1.0"

__all__ = [
    "AAR",
    "ARCOR",
    "AROWR",
    "CRRLS",
    "DFOP",
    "EG",
    "GD",
    "LASER",
    "LMS",
    "NLMS",
    "RLS",
    "WEMM",
    "Add",
    "Alarm",
    "Auto",
    "Averaged",
    "Below",
    "Certificate",
    "Classifier",
    "DivergenceError",
    "Divide",
    "Every",
    "Fleet",
    "Kalman",
    "Kernel",
    "Learner",
    "ModelFileError",
    "Network",
    "Pipeline",
    "Ridge",
    "RowRefusedError",
    "Run",
    "SecondOrder",
    "SparseDFOP",
    "Sweep",
    "checks",
    "evaluate",
    "features",
    "files",
    "load",
    "losses",
    "regret",
    "reproduce",
    "streams",
    "sweep",
]

# Where the names are, those first that the others need.
_HOMES = (
    "errors", "certificate", "alarms", "results", "base", "linear", "ensembles", "features", "kernels", "sweeps",
    "model_file", "fleet",
)  # fmt: skip


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if not TYPE_CHECKING:  # to a type checker there are the names above, and no others

    def __getattr__(name: str) -> Any:
        if name.islower() and not name.startswith("_"):
            try:
                return importlib.import_module(f"driftline.{name}")
            except ModuleNotFoundError as error:
                if error.name != f"driftline.{name}":
                    raise
        if name in __all__:
            for home in _HOMES:
                found = vars(importlib.import_module(f"driftline.{home}"))
                if name in found:
                    return globals().setdefault(name, found[name])
        raise AttributeError(f"module 'driftline' has no attribute {name!r}")
