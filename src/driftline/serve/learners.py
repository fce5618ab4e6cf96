"""Creates the learner that a request describes, or reads it from a model file."""

from __future__ import annotations

import base64
from hashlib import sha256
from typing import Any

from driftline.base import registry
from driftline.base.learner import Learner
from driftline.delayed import Forecaster, Pending
from driftline.errors import ModelFileError, closest
from driftline.fleet import Fleet
from driftline.serve.problems import Problem
from driftline.storage import model_file

Config = dict[str, Any]
Served = Learner | Forecaster | Fleet  # a fleet whose keys learn from each other
_SERVED = ("Regressor", "Classifier")
UNTRAINED = "untrained"  # the part of a configuration that holds the learner of a file, untrained


def untrained(learner: Served) -> Served:
    """A learner of the same parameters that has learned nothing."""
    if isinstance(learner, Fleet):
        return Fleet(learner.learner, named=True, pooled=learner._options.pooled)
    return learner.clone()


def base_of(config: Config) -> Served:
    """The untrained learner of a configuration; raises Problem 422 if there is no such learner."""
    if UNTRAINED in config:
        base: Served = model_file.from_bytes(base64.b64decode(config[UNTRAINED]))
        return base
    base = learner_of(config)
    for name in ("steps", "quantiles"):
        if base._estimator_type == "classifier" and config.get(name) is not None:
            raise Problem(422, f"classes have no {name}", field=name)
    if config.get("pooled"):
        return _pooled(base, config)
    return base if config["steps"] is None else Forecaster(base, config["steps"])


def _pooled(base: Learner, config: Config) -> Fleet:
    if not config["keyed"] or config["steps"] is not None:
        raise Problem(422, "pooled needs a keyed model without steps", field="pooled")
    try:
        return Fleet(base, named=True, pooled=True)
    except ValueError as error:
        raise Problem(422, str(error), field="pooled") from None


def learner_of(spec: Config, field: str = "learner") -> Learner:
    """A learner from its name and its parameters; raises Problem 422 if there is no such learner."""
    known, name = registry.learners(), spec["learner"]
    known = {name: cls for name, cls in known.items() if cls._river_kind in _SERVED}
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


def of_file(data: bytes, config: Config) -> tuple[Config, dict[str, Served]]:
    """The configuration of the model in a file, and its learner by key; raises Problem 422 if it cannot be served."""
    try:
        model = model_file.from_bytes(data)
    except ModelFileError as error:
        raise Problem(422, f"the body is not a model file: {str(error).removeprefix('from_bytes: ')}") from None
    if isinstance(model, Pending):
        if len(model):
            raise Problem(422, f"{len(model)} rows of the file wait for their labels, which the service does not know")
        model = model.learner
    keyed = isinstance(model, Fleet)
    if isinstance(model, Fleet) and model.start is not None:
        raise Problem(422, "the service cannot run a fleet whose keys have a start")
    pooled = isinstance(model, Fleet) and model.pooled
    if isinstance(model, Fleet) and pooled and not (model._options.named and all(type(key) is str for key in model.keys_)):
        raise Problem(422, "the keys of a pooled fleet must be texts for the service: create it with named=True")
    base = model.learner if isinstance(model, (Fleet, Forecaster)) else model
    if not isinstance(base, Learner) or base._river_kind not in _SERVED:
        raise Problem(422, f"the file holds a {type(base).__name__}; the service runs learners, forecasters and fleets")
    found = {str(key): model[key] for key in model.keys_} if keyed and not pooled else {"": model}
    empty = untrained(base if keyed and not pooled else model).to_bytes()
    own: Config = {"pooled": True} if pooled else {}
    own |= {"steps": model.steps if isinstance(model, Forecaster) else None, "keyed": keyed}
    content = {"file": sha256(data).hexdigest(), UNTRAINED: base64.b64encode(empty).decode()}
    return {**config, **_plain(base), **own, **content}, found


def _described(learner: Learner) -> str:
    """The name of a learner, as in requests; the name of its class if it has no other."""
    try:
        return registry.name_of(type(learner))
    except ValueError:
        return type(learner).__name__


def _plain(value: Any) -> Any:
    """A parameter as a request would write it."""
    if isinstance(value, Learner):
        params = {name: _plain(part) for name, part in value.get_params(deep=False).items()}
        return {"learner": _described(value), "params": params}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value if isinstance(value, (int, float, str, type(None))) else repr(value)
