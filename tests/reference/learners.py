"""The references of all learners, by registered name."""

import importlib
from pathlib import Path

from driftline.base.registry import regressors

from . import Reference

ROOT = Path(__file__).parents[2]
ELSEWHERE = {"auto", "kernel"}  # meta-learners; their own tests compare them with other plain versions


def path_of(name: str) -> Path:
    """The test file of a learner, relative to the repository."""
    folder = regressors()[name].__module__.split(".")[1]
    return Path(f"tests/test_{folder}/test_{name}.py")


def _find(name: str) -> Reference | None:
    path = path_of(name)
    if not (ROOT / path).exists():
        return None
    return getattr(importlib.import_module(".".join(path.with_suffix("").parts)), "REFERENCE", None)


NAMES = [name for name, cls in regressors().items() if cls.__module__.startswith("driftline.") and name not in ELSEWHERE]
REFERENCES: dict[str, Reference] = {name: found for name in NAMES if (found := _find(name)) is not None}
