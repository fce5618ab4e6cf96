"""Creates the learner that a request describes."""

from __future__ import annotations

from typing import Any

from driftline.base import registry
from driftline.base.learner import Learner
from driftline.errors import closest
from driftline.serve.problems import Problem


def learner_of(spec: dict[str, Any], field: str = "learner") -> Learner:
    """A learner from its name and its parameters; raises Problem 422 if there is no such learner."""
    known, name = registry.regressors(), spec["learner"]
    if name not in known:
        raise Problem(422, f"there is no learner {name!r}.{closest(name, known)}", field=field)
    try:
        return known[name](**{key: _value_of(value) for key, value in spec.get("params", {}).items()})
    except (TypeError, ValueError, OverflowError) as error:
        raise Problem(422, f"{error}", field="params") from None


def _value_of(value: Any) -> Any:
    """A parameter; an object that names a learner is that learner."""
    if isinstance(value, list):
        return [_value_of(item) for item in value]
    if isinstance(value, dict) and isinstance(value.get("learner"), str) and value.keys() <= {"learner", "params"}:
        if not isinstance(value.get("params", {}), dict):
            raise Problem(422, "params must be an object", field="params")
        return learner_of(value, "params")
    return value
