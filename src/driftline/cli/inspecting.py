"""``driftline inspect``: the contents of a model file."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from driftline.base.learner import Learner
from driftline.delayed import Forecaster, Pending
from driftline.errors import ModelFileError
from driftline.evaluate.tables import Table
from driftline.fleet import Fleet
from driftline.storage import model_file


def describe(path: Path) -> dict[str, Any]:
    """The contents of a model file, as plain values."""
    model, extra = model_file.load_with_extra(path)
    file = {"file": str(path), "bytes": path.stat().st_size}
    run = {} if extra is None else {"run": extra.plain.get("settings"), "rows_done": extra.plain.get("rows")}
    if isinstance(model, Forecaster):
        return file | _describe_forecaster(model) | {"run": None, "rows_done": None} | run
    if isinstance(model, Fleet):
        return file | _describe_fleet(model) | {"run": None, "rows_done": None} | run
    waiting = {"rows_waiting": len(model)} if isinstance(model, Pending) else {}
    if isinstance(model, Pending):
        model = model.learner
    if not isinstance(model, Learner):
        raise ModelFileError(f"{path}: holds a {type(model).__name__}, which can only be inspected from Python")
    found: dict[str, Any] = {
        **file,
        "model": repr(model),
        "rows_learned": model.n_seen_,
        "rows_skipped": model.n_skipped_,
        **waiting,
    }
    if model._core is None:
        return found
    found |= {
        "memory_rows": _finite(model._memory()),
        "weights": _weights(model),
        "intercept": _finite(model.intercept_) if model._traits.by_feature and np.ndim(model.intercept_) == 0 else None,
        "certificate": _certificate(model),
        **run,
    }
    if hasattr(model, "explain"):
        found["beliefs"] = model.explain()
    return found


def _describe_forecaster(model: Forecaster) -> dict[str, Any]:
    return {
        "model": repr(model),
        "rows_learned": model.n_seen_,
        "rows_skipped": model.learners_[0].n_skipped_,
        "steps": model.steps,
        "features": None if model._names is None else [str(name) for name in model._names],
        "known": None if model.known is None else [str(name) for name in model.known],
    }


def _describe_fleet(model: Fleet) -> dict[str, Any]:
    table = model.summary()
    return {
        "model": repr(model),
        "rows_learned": int(table["rows"].sum()),
        "rows_skipped": int(model.n_skipped_.sum()),
        "keys": len(model),
        "pooled": model.pooled,
        "keys_with_alarms": {str(key): int(n) for key, n in zip(table["key"], table["alarms"], strict=True) if n > 0},
    }


def _weights(model: Learner) -> dict[str, float | None]:
    if not model._traits.by_feature:
        return {}
    names = model._names or [f"x{place}" for place in range(model.n_features_in_)]
    coefs = np.asarray(model.coef_, dtype=np.float64)
    if coefs.ndim != 1:
        return {}
    return {str(name): _finite(value) for name, value in zip(names, coefs.tolist(), strict=True)}


def _certificate(model: Learner) -> dict[str, Any]:
    certificate = model.certificate()
    return {
        "loss": _finite(certificate.loss),
        "comparator": _finite(certificate.comparator),
        "bound": _finite(certificate.bound),
        "conditions": dict(certificate.conditions),
        "events": dict(certificate.events),
    }


def _finite(value: Any) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None


def in_words(found: dict[str, Any], top: int) -> str:
    """The same as text."""
    lines = [
        f"{found['file']}: {found['model']}, {found['bytes']:,} bytes",
        f"{found['rows_learned']:,} rows learned, {found['rows_skipped']:,} skipped",
    ]
    run = found.get("run")
    if run:
        lines.append(f"A run that predicts {run['target']!r}, {found['rows_done']:,} rows done; run --resume continues it")
    if "rows_waiting" in found:
        lines.append(f"{found['rows_waiting']:,} rows are waiting for their labels")
    if "steps" in found:
        ahead = "all of its features" if found["known"] is None else ", ".join(found["known"]) or "none of its features"
        lines.append(f"It forecasts {found['steps']:,} steps ahead, with {ahead} known ahead; use driftline forecast")
    if "keys" in found:
        raised = sorted(found["keys_with_alarms"].items(), key=lambda item: -item[1])
        lines.append(f"{found['keys']:,} keys, {len(raised):,} of them with an alarm")
        lines += [f"  {key}: {alarms:,}" for key, alarms in raised[:top]]
    if "weights" not in found:
        return "\n".join(lines)
    if found["memory_rows"] is not None:
        lines.append(f"Its memory is about {found['memory_rows']:,.0f} rows")
    if "beliefs" in found:
        lines.append(found["beliefs"])
    lines += ["", *_weight_lines(found, top), "", *_certificate_lines(found["certificate"])]
    return "\n".join(lines)


def _weight_lines(found: dict[str, Any], top: int) -> list[str]:
    weights = found["weights"]
    if not weights and found["intercept"] is None:
        return ["It does not have one weight for each feature"]
    ranked = sorted(weights.items(), key=lambda item: -abs(item[1] or 0.0))
    rows = [[name, value] for name, value in ranked[:top]]
    if len(ranked) > top:
        rows.append([f"… and {len(ranked) - top:,} more", None])
    if found["intercept"] is not None:
        rows.append(["(intercept)", found["intercept"]])
    return str(Table(["feature", "weight"], rows)).split("\n")


def _certificate_lines(certificate: dict[str, Any]) -> list[str]:
    lines = [f"sum of squared errors {_shown(certificate['loss'])}"]
    if certificate["comparator"] is not None:
        lines.append(f"the best weights in hindsight, with their penalty: {_shown(certificate['comparator'])}")
    if certificate["bound"] is not None:
        lines.append(f"proven to be at most {_shown(certificate['bound'])}")
    lines += [f"condition {'holds' if holds else 'fails'}: {words}" for words, holds in certificate["conditions"].items()]
    lines += [f"event: {words}, {count:,} times" for words, count in certificate["events"].items()]
    return lines


def _shown(value: float | None) -> str:
    return "out of range" if value is None else f"{value:.6g}"
