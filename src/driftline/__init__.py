"""driftline: regression on streams whose target keeps changing.

Names are imported when they are first used, to keep ``import driftline`` fast.
"""

import importlib
from typing import TYPE_CHECKING, Any

from driftline import extensions

if TYPE_CHECKING:
    from driftline import checks as checks
    from driftline import datasets as datasets
    from driftline import evaluate as evaluate
    from driftline import features as features
    from driftline import files as files
    from driftline import losses as losses
    from driftline import regret as regret
    from driftline import streams as streams
    from driftline.base.alarm import Alarm as Alarm
    from driftline.base.certificate import Certificate as Certificate
    from driftline.base.events import Event as Event
    from driftline.base.events import Watch as Watch
    from driftline.base.learner import Learner as Learner
    from driftline.base.run import Run as Run
    from driftline.base.ticket import Ticket as Ticket
    from driftline.delayed import Forecaster as Forecaster
    from driftline.delayed import Pending as Pending
    from driftline.ensembles import Auto as Auto
    from driftline.ensembles import Averaged as Averaged
    from driftline.ensembles import Classifier as Classifier
    from driftline.ensembles import Network as Network
    from driftline.ensembles import Refit as Refit
    from driftline.ensembles import Selective as Selective
    from driftline.ensembles import Transformed as Transformed
    from driftline.errors import DivergenceError as DivergenceError
    from driftline.errors import DriftlineWarning as DriftlineWarning
    from driftline.errors import ModelFileError as ModelFileError
    from driftline.errors import RowRefusedError as RowRefusedError
    from driftline.evaluate.sweep import Sweep as Sweep
    from driftline.evaluate.sweep import sweep as sweep
    from driftline.features import Pipeline as Pipeline
    from driftline.fleet import Fleet as Fleet
    from driftline.fleet import FleetForecaster as FleetForecaster
    from driftline.fleet import FleetTicket as FleetTicket
    from driftline.kernels import Kernel as Kernel
    from driftline.linear import *
    from driftline.moments import Moments as Moments
    from driftline.storage.model_file import from_bytes as from_bytes
    from driftline.storage.model_file import load as load

__version__ = "0.2.0"

_PACKAGES = ("checks", "datasets", "evaluate", "features", "files", "losses", "regret", "streams")
_HOMES = {  # of the public names; those of the linear learners are in driftline.linear
    "Alarm": "base.alarm",
    "Event": "base.events",
    "Watch": "base.events",
    "Auto": "ensembles",
    "Averaged": "ensembles",
    "Certificate": "base.certificate",
    "Classifier": "ensembles",
    "DivergenceError": "errors",
    "DriftlineWarning": "errors",
    "Fleet": "fleet",
    "FleetForecaster": "fleet",
    "FleetTicket": "fleet",
    "Forecaster": "delayed",
    "Kernel": "kernels",
    "Learner": "base.learner",
    "ModelFileError": "errors",
    "Moments": "moments",
    "Network": "ensembles",
    "Pending": "delayed",
    "Refit": "ensembles",
    "Selective": "ensembles",
    "Transformed": "ensembles",
    "Pipeline": "features",
    "RowRefusedError": "errors",
    "Run": "base.run",
    "Sweep": "evaluate.sweep",
    "Ticket": "base.ticket",
    "from_bytes": "storage.model_file",
    "load": "storage.model_file",
    "sweep": "evaluate.sweep",
}

_LEARNERS = (
    "driftline.ensembles.auto", "driftline.linear", "driftline.ensembles", "driftline.features", "driftline.kernels",
)  # fmt: skip
extensions.provide("learners", *_LEARNERS)
extensions.provide(
    "models", *_LEARNERS, "driftline.fleet", "driftline.moments", "driftline.delayed", "driftline.base.ticket"
)
extensions.provide("report", "driftline.report.display")
extensions.provide("fan", "driftline.evaluate.certainty")


def __dir__() -> list[str]:
    return sorted([*_public_names(), "__version__"])


def _public_names() -> list[str]:
    return sorted([*_PACKAGES, *_HOMES, *importlib.import_module("driftline.linear").__all__])


if not TYPE_CHECKING:  # a type checker sees the imports above

    def __getattr__(name: str) -> Any:
        if name in _PACKAGES:
            return importlib.import_module(f"driftline.{name}")
        if name == "__all__":
            return _public_names()
        if name in _HOMES:
            found = getattr(importlib.import_module(f"driftline.{_HOMES[name]}"), name)
        elif name[:1].isupper() and name in (linear := importlib.import_module("driftline.linear")).__all__:
            found = getattr(linear, name)
        else:
            raise AttributeError(f"module 'driftline' has no attribute {name!r}")
        return globals().setdefault(name, found)
