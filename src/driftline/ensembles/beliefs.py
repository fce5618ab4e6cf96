"""Describes what Auto has found out, in names and sentences."""

from __future__ import annotations

import math
from dataclasses import dataclass

from driftline._core import Expert, Time
from driftline.tables.inputs import Array

_VIEWS = {
    -2: "the mean of the labels",
    -1: "the last label",
    0: "raw",
    1: "raw and two labels",
    2: "standardised",
    3: "standardised and two labels",
    4: "standardised and many labels",
    5: "standardised and earlier rows",
    6: "standardised, squares and two labels",
}
_LOOK_BACK = (-1, 1, 3, 4, 5, 6)  # views that include earlier labels or rows
_FEW = 64  # rows that the units are estimated from
_SINCE_JUMP = 0.4  # fraction of the rows; an expert that can reset and remembers less has restarted
_SHOWN = 0.05  # fraction of the weight or the variance; smaller ones are not mentioned
_PART = 0.2  # fraction of the rows; a memory at least this long is no sign of drift
_MINOR = 0.1  # fraction of the weight; a band below it is named if it dominates the mean drift
# Bands of memory: from, to, name, and what a memory of that length says about the target. No expert has a memory longer
# than about 1,000 rows, so Auto cannot tell a slower target from a constant one. Without noise a few rows are enough, so
# a short memory costs nothing and does not prove that the target moves.
_BANDS = (
    (500, math.inf, "500 rows or more", "the target is at rest, or moves so slowly that old rows still count"),
    (100, 500, "100 to 499 rows", "the target moves slowly, if at all"),
    (10, 100, "10 to 99 rows", "the target drifts, or its labels have little noise"),
    (0, 10, "fewer than 10 rows", "the target moves fast, or its labels have so little noise that a few rows determine it"),
)


def name_of(expert: Expert) -> str:
    """An expert's feature view and its kind of forgetting."""
    if expert.view < 0:
        return _VIEWS[expert.view]
    if expert.time == Time.DIVIDE:
        memory = f"memory {1 / (1 - expert.amount):.0f}"
    elif expert.time == Time.ADD:
        memory = f"drift {expert.amount:g}"
    else:
        memory = f"resets to {expert.reset:g}"
    return f"{_VIEWS[expert.view]}, {memory}, start {expert.start:g}"


TEAM = (
    "the linear core",
    "autoregression in differences",
    "profiles",
    "baselines",
    "trees",
    "trees on the core's residual",
    "trees on the features alone",
    "the linear core, clipped",
    "a stack of all experts",
)
_TREES = slice(4, 7)  # the tree ensembles in TEAM


@dataclass(frozen=True)
class Team:
    """The experts besides the linear core, and their findings.

    Attributes:
        shares: the weight of each member, in the order of ``TEAM``.
        profiles: keys as (first feature, second or -1, share of label variance explained).
        gains: each column's share of the gain of splits, for the trees, the residual trees and the feature trees.
        names: the names of the features.
    """

    shares: Array
    profiles: list[tuple[int, int, float]]
    gains: tuple[Array, Array, Array]
    names: list[str]


def in_words(experts: list[Expert], team: Team, rows: int, memory: float, drift: float, sums: dict[str, float]) -> str:
    """Describes the team's weights and findings, then the linear core, then outliers.

    The statement about the speed of the target follows from the printed numbers: the rounded memory of the core, and the
    shares of its experts.
    """
    ranked = sorted(experts, key=lambda expert: -expert.share)[:3]
    lines = [
        _weights(team, rows),
        *_findings(team),
        _speed(experts, rows, max(round(memory), 1)),
        _shares(experts, drift),
        _past(sum(expert.share for expert in experts if expert.view in _LOOK_BACK)),
        "Its largest weights: " + "; ".join(f"{name_of(expert)} ({_percent(expert.share)})" for expert in ranked) + ".",
    ]
    if outliers := int(sums["outliers"]):
        were = "was" if outliers == 1 else "were"
        lines.append(f"{_count(outliers, 'outlying label')}, which no expert explained, {were} not learned.")
    return "\n".join(lines)


def _weights(team: Team, rows: int) -> str:
    ranked = sorted(zip(team.shares.tolist(), TEAM, strict=True), reverse=True)
    shown = [f"{name} {_percent(share)}" for share, name in ranked if share >= _SHOWN or name == TEAM[0]]
    return f"Weights after {_count(rows, 'row')}: {', '.join(shown)}."


def _findings(team: Team) -> list[str]:
    """Describes what the profiles explain and what the trees split on."""
    lines = []
    if best := max(team.profiles, key=lambda key: key[2], default=None):
        first, second, explained = best
        pair = f"pair of values of {team.names[first]} and {team.names[second]}"
        key = pair if second >= 0 else f"value of {team.names[first]}"
        if explained >= _SHOWN:
            lines.append(f"The mean label of each {key} explains {_percent(explained)} of the labels' variance.")
    if team.shares[_TREES].sum() >= _SHOWN:
        gains = _gains(team)
        top = [item for item in sorted(gains.items(), key=lambda item: -item[1])[:3] if item[1] >= _SHOWN]
        if top:
            lines.append("Trees split mostly on " + ", ".join(f"{name} ({_percent(gain)})" for name, gain in top) + ".")
    return lines


def _gains(team: Team) -> dict[str, float]:
    """Each input's share of the gain of splits, averaged over the tree ensembles by weight."""
    fixed = ("the last labels",) * 8 + ("labels of a season ago",) * 7 + ("profiles",) * 24 + ("other experts",) * 3
    few = ("the last labels",) * 3 + ("other experts",) * 2
    total = dict.fromkeys((*team.names, *fixed), 0.0)
    twice = tuple(name for name in team.names for _ in range(2))
    columns = ((*fixed, *twice), (*few, *twice), team.names)
    for share, gains, names in zip(team.shares[_TREES], team.gains, columns, strict=True):
        for name, gain in zip(names, gains.tolist(), strict=True):
            total[name] += float(share) * gain / float(team.shares[_TREES].sum())
    return total


def _count(number: float, what: str) -> str:
    return f"{number:,.0f} {what}{'s' if round(number) != 1 else ''}"


def _speed(experts: list[Expert], rows: int, memory: int) -> str:
    if rows < _FEW:
        return "The linear core cannot tell yet how fast the target moves."
    restarted = [expert for expert in experts if expert.reset > 0 and expert.memory < _SINCE_JUMP * rows]
    anew = sum(expert.share for expert in restarted)
    if anew > 0.5:
        ago = max(expert.memory for expert in restarted if expert.share >= 0.1 * anew)
        verdict = f"experts started over about {_count(ago, 'row')} ago, as after a jump; the target has been steady since"
    elif _spread(experts) > math.log(10):
        verdict = "the experts disagree about how fast the target moves"
    elif _PART * rows <= memory < _BANDS[0][0]:
        verdict = "there is no sign yet that the target moves"
    else:
        verdict = next(says for least, _, _, says in _BANDS if memory >= least)
    return f"The linear core remembers about {_count(memory, 'row')}: {verdict}."


def _spread(experts: list[Expert]) -> float:
    """The weighted standard deviation of the logarithms of the experts' memories."""
    logs = [math.log(max(expert.memory, 1)) for expert in experts]
    mean = sum(expert.share * log for expert, log in zip(experts, logs, strict=True))
    return math.sqrt(sum(expert.share * (log - mean) ** 2 for expert, log in zip(experts, logs, strict=True)))


def _shares(experts: list[Expert], drift: float) -> str:
    """The weight of each band and the mean drift; also the drift without the dominant band, if that has little weight."""
    shares, drifts = {}, {}
    for least, most, name, _ in _BANDS:
        band = [expert for expert in experts if least <= round(expert.memory) < most]
        shares[name] = sum(expert.share for expert in band)
        drifts[name] = sum(expert.share * expert.drift for expert in band)
    by_memory = ", ".join(f"{_percent(share)} on {name}" for name, share in shares.items() if share > 0)
    source = max(drifts, key=lambda name: drifts[name])
    rest, others = sum(drifts.values()) - drifts[source], sum(shares.values()) - shares[source]
    minor = shares[source] < _MINOR and drifts[source] > rest
    without = f", and {rest / others:.2g} without the experts with {source}" if minor else ""
    return f"Its weight by memory: {by_memory}. The mean drift is {drift:.2g}{without}."


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.005 else "less than 1 %"


def _past(share: float) -> str:
    helps = "help a lot" if share >= 0.5 else "help" if share >= 0.1 else "help little"
    return f"Earlier labels and rows {helps}: its experts that use them have {_percent(share)} of its weight."
