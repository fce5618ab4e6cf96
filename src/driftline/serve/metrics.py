"""Numbers for Prometheus, in OpenMetrics or in Prometheus's own text format."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import driftline
from driftline.evaluate.baselines import LastAndMean

PLAIN, OPEN = "text/plain; version=0.0.4; charset=utf-8", "application/openmetrics-text; version=1.0.0; charset=utf-8"
_OF_ENGINE = {
    "commits": "Committed groups of calls.",
    "entries": "Calls written to the log.",
    "learned": "Learned rows.",
    "snapshots": "Saved learners.",
    "refused_full": "Calls refused because the disk was full.",
    "webhook_sent": "Alarms delivered to the webhook.",
    "webhook_dropped": "Alarms that could not be delivered to the webhook.",
    "early_dropped": "Labels dropped because their rows did not come, or because the model refused them.",
}
_OF_MODELS = {
    "driftline_model_rows": ("counter", "rows", "Labels that a model has learned."),
    "driftline_model_waiting": ("gauge", "waiting", "Rows that wait for their labels."),
    "driftline_model_early": ("gauge", "early", "Labels that wait for their rows."),
    "driftline_model_dropped": ("counter", "dropped", "Rows dropped because too many were waiting."),
    "driftline_alarms": ("counter", "alarms", "Labels at which the errors of a model became larger."),
    "driftline_unscored": ("counter", "unscored", "Labels left out of the scores: their error is unknown or too large."),
}


class Family(NamedTuple):
    """A metric with its samples.

    Attributes:
        name: without the suffixes of its samples.
        kind: a type of OpenMetrics.
        about: its help text.
        samples: the suffix of each sample, its labels and its value.
    """

    name: str
    kind: str
    about: str
    samples: Iterable[tuple[str, Mapping[str, str], float]]


def families(
    counts: Mapping[str, int], models: Mapping[str, Mapping[str, Any]], gauges: Mapping[str, float]
) -> list[Family]:
    """The metrics of a service.

    Args:
        counts: what the engine counted.
        models: the counters of each model, by its name.
        gauges: further numbers that go up and down.
    """
    found = [Family("driftline_build", "info", "Version.", [("_info", {"version": driftline.__version__}, 1)])]
    found += [Family(f"driftline_{name}", "counter", _OF_ENGINE[name], [("_total", {}, n)]) for name, n in counts.items()]
    for name, (kind, part, about) in _OF_MODELS.items():
        suffix = "_total" if kind == "counter" else ""
        found.append(Family(name, kind, about, [(suffix, {"model": model}, own[part]) for model, own in models.items()]))
    found += _scores({model: own["sums"] for model, own in models.items()})
    for name, gauge in gauges.items():
        found.append(Family(f"driftline_{name}", "gauge", name.replace("_", " ").capitalize() + ".", [("", {}, gauge)]))
    return found


def _scores(models: Mapping[str, Mapping[str, float]]) -> list[Family]:
    """The sums of errors of models and baselines."""

    def samples(suffix: str, own: str, of_baseline: str) -> list[tuple[str, Mapping[str, str], float]]:
        places = {"model": own, **{name: f"{of_baseline} {name}" for name in LastAndMean.names}}
        return [
            (suffix, {"model": model, "predictor": predictor}, sums.get(place, 0.0))
            for model, sums in models.items()
            for predictor, place in places.items()
        ]

    misses = [
        ("_total", {"model": model, "predictor": "model"}, sums.get("judged", 0.0) - sums.get("inside finite", 0.0))
        for model, sums in models.items()
    ]
    squared, absolute = samples("_sum", "squared", "squared"), samples("_sum", "absolute", "absolute")
    return [
        Family("driftline_squared_error", "summary", "Sum of the squared errors of the scored labels.", squared),
        Family("driftline_absolute_error", "summary", "Sum of the absolute errors of the scored labels.", absolute),
        Family("driftline_scored", "counter", "Labels whose error is in these sums.", samples("_total", "rows", "known")),
        Family("driftline_misses", "counter", "Scored labels outside their interval.", misses),
    ]


def text(found: Iterable[Family], *, openmetrics: bool) -> str:
    """The metrics as text."""
    lines = []
    for family in found:
        kind, name = family.kind, family.name
        if not openmetrics:  # this format names counters with their suffix, and has no type for information
            name += {"counter": "_total", "info": "_info"}.get(kind, "")
            kind = "gauge" if kind == "info" else kind
        lines += [f"# HELP {name} {family.about}", f"# TYPE {name} {kind}"]
        for suffix, labels, value in family.samples:
            inside = ",".join(f'{label}="{text}"' for label, text in labels.items())
            lines.append(f"{family.name}{suffix}{f'{{{inside}}}' if inside else ''} {value!r}")
    return "\n".join([*lines, *(["# EOF"] if openmetrics else []), ""])


def resident() -> int:
    """Bytes of memory of this process; 0 if the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0
