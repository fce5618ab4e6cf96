"""``laser-fig7-1``: LASER and four others on the thesis's four streams, and the readings in which its order holds."""

import math
from collections.abc import Mapping
from itertools import product
from typing import Any, NamedTuple, get_args

import numpy as np

from driftline import ARCOR, AROWR, CRRLS, LASER, NLMS, Kalman, Learner
from driftline.evaluate import Cell, Table
from driftline.streams import Rotating, Switching
from papers.pictures import band, colours, legend_below, panels
from papers.race import Course, Inputs, RaceResult, race
from papers.target import Check, Context, Findings

FIVE = ("NLMS", "AROWR", "ARCOR", "CRRLS", "LASER")
LEADERS = ("LASER", "Kalman")
ARCORS = ("ARCOR", "ARCOR, no ball", "ARCOR, q = 3, no ball")  # from the widest grid to the narrowest
DEGREE = math.pi / 180
RATES = (1e-4, 3e-4, 1e-3, 3e-3, 0.01, DEGREE, 0.03, 0.1, 0.2, 0.3)  # radians a row
NOISES = (0.0, 0.05)
# Approximate mean of |x|^2 under each reading of the inputs, for which the grids are made.
SIZES: dict[Inputs, float] = {"as drawn": 525.0, "rows of norm 1": 1.0, "norms of at most 1": 0.16}


class Reading(NamedTuple):
    """One way to read the thesis: the scaling of the inputs, the noise, and the drift.

    ``rate`` is in radians a row; with switches it is that of the first row, and falls as 1/t.
    """

    inputs: Inputs
    noise: float
    switches: bool
    rate: float

    @property
    def course(self) -> str:
        """Its name in tables."""
        return f"{self.inputs}, noise {self.noise:g}, {'switches' if self.switches else 'constant drift'}, {turn(self.rate)}"


def turn(rate: float) -> str:
    """An angle in words."""
    return "1 degree" if rate == DEGREE else f"{rate:g} rad"


def readings(quick: bool) -> list[Reading]:
    """Every reading: inputs, noise, and the rate of the drift or the unit of 1/t."""
    rates, units = ((DEGREE, 0.2), (DEGREE,)) if quick else (RATES, (DEGREE, 1.0))
    inputs: tuple[Inputs, ...] = get_args(Inputs)
    constant = [Reading(i, noise, False, rate) for i, noise, rate in product(inputs, NOISES, rates)]
    return constant + [Reading(i, noise, True, rate) for i, noise, rate in product(inputs, NOISES, units)]


def course(reading: Reading, rows: int) -> Course:
    """The stream of a reading."""
    if reading.switches:
        return Course(Switching(rate=reading.rate, power=1.0, every=50, noise=reading.noise), rows, reading.inputs)
    return Course(Rotating(rate=reading.rate, noise=reading.noise), rows, reading.inputs)


def grid(size: float, quick: bool) -> dict[str, list[Learner]]:
    """Candidates for inputs with a mean |x|^2 of about ``size``."""
    step = 6 if quick else 1
    noises = size * 10.0 ** np.arange(-5, 5.1, 0.5)[::step]
    free = {q: [ARCOR(noise=float(noise), schedule=q, intercept=False) for noise in noises] for q in (1.0, 1.5, 2.0, 3.0)}
    balls = [ARCOR(**(learner.get_params() | {"radius": 1.0})) for each in free.values() for learner in each]
    loose: list[Learner] = [learner for each in free.values() for learner in each]
    forgettings = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999, 1.0)[::step]
    periods = (2, 3, 5, 7, 10, 20, 30, 50, 100, 500, None)[::step]
    costs = [(c, share * c) for c in size * 10.0 ** np.arange(-4, 8.1, 0.25)[::step] for share in (1e-3, 0.1, 0.9)]
    return {
        "NLMS": [NLMS(rate=float(rate), eps=0.0, intercept=False) for rate in 10.0 ** np.arange(-3, 0.29, 0.1)[::step]],
        "AROWR": [AROWR(noise=float(noise), intercept=False) for noise in noises],
        **dict(zip(ARCORS, ([*balls, *loose], loose, [*free[3.0]]), strict=True)),
        "CRRLS": [CRRLS(forgetting=f, period=period, intercept=False) for f, period in product(forgettings, periods)],
        "LASER": [LASER(ridge=float(b), drift_cost=float(c), intercept=False) for c, b in costs],
        "Kalman": [Kalman(noise=1.0, drift=float(1 / c), ridge=float(b), intercept=False) for c, b in costs],
    }


def compute(context: Context) -> Findings:
    """Runs every reading, each tuned on its own sequence."""
    found = readings(context.quick)
    rows = context.pick(2000, 200)
    grids = {inputs: grid(size, context.quick) for inputs, size in SIZES.items()}
    courses = {reading.course: course(reading, rows) for reading in found}
    candidates = {reading.course: grids[reading.inputs] for reading in found}
    outcomes = race(context, courses, candidates, context.pick(100, 3), points=50)
    return judge({reading: outcomes[reading.course] for reading in found})


def statements(outcome: RaceResult, leader: str = "LASER", arcor: str = "ARCOR") -> dict[str, bool]:
    """The thesis's statements on constant drift, with other learners in place of LASER and ARCOR if given."""
    five = [{"LASER": leader, "ARCOR": arcor}.get(name, name) for name in FIVE]
    return {
        "AROWR is the worst": all(outcome.beats(name, "AROWR") for name in five if name != "AROWR"),
        "ARCOR is behind CR-RLS and NLMS": outcome.beats("CRRLS", arcor) and outcome.beats("NLMS", arcor),
        "CR-RLS is ahead of NLMS": outcome.beats("CRRLS", "NLMS"),
        f"{leader} is the best": all(outcome.beats(leader, name) for name in five if name != leader),
    }


def judge(outcomes: Mapping[Reading, RaceResult]) -> Findings:
    """Checks the thesis's statements in the plain reading, and finds the other readings in which they hold."""
    constant = {reading: outcome for reading, outcome in outcomes.items() if not reading.switches}
    switching = {reading: outcome for reading, outcome in outcomes.items() if reading.switches}
    held = {reading: list(statements(outcome).values()) for reading, outcome in constant.items()}
    checks = []
    for number, statement in enumerate(statements(next(iter(constant.values())))):
        others = sum(each[number] for each in held.values())
        checks.append(
            Check(
                f"constant drift, both noises: {statement}",
                all(each[number] for reading, each in held.items() if plain(reading)),
                f"holds in {others} of {len(held)} readings",
            )
        )
    ahead = {reading: outcome.beats("ARCOR", "LASER") for reading, outcome in switching.items()}
    checks.append(
        Check(
            "switches, both noises: ARCOR is ahead of LASER",
            all(holds for reading, holds in ahead.items() if plain(reading)),
            f"holds in {sum(ahead.values())} of {len(ahead)} readings",
        )
    )
    return Findings(
        numbers=Table(
            ["inputs", "noise", "drift", "rate", "learner", "setting", "rows", "loss", "low", "high", "zero"],
            records(outcomes),
        ),
        checks=checks,
        draw=lambda: draw(outcomes),
        summary=[losses(outcomes), leads(constant), orders(constant)],
        remarks=remarks(constant),
    )


def plain(reading: Reading) -> bool:
    """The reading of the figure: inputs as drawn, and angles in degrees."""
    return reading.inputs == "as drawn" and reading.rate == DEGREE


def records(outcomes: Mapping[Reading, RaceResult]) -> list[list[Any]]:
    """Curves in the plain readings, and final losses in all others."""
    found: list[list[Any]] = []
    for reading, outcome in outcomes.items():
        drift = "switches" if reading.switches else "constant"
        for name in outcome.learners:
            setting = ", ".join(f"{key}={value:.4g}" for key, value in outcome.chosen[name].items() if value is not None)
            points = list(zip(outcome.at.tolist(), *(curve.tolist() for curve in outcome.band(name)), strict=True))
            kept = points if plain(reading) else points[-1:]
            found += [
                [reading.inputs, reading.noise, drift, reading.rate, name, setting, *point, float(outcome.zero.mean())]
                for point in kept
            ]
    return found


def losses(outcomes: Mapping[Reading, RaceResult]) -> Table:
    """The mean losses in the plain readings, best of the five in bold."""
    rows: list[list[Any]] = []
    for reading, outcome in outcomes.items():
        if plain(reading):
            best = outcome.ordered(FIVE)[0]
            cells = [Cell(outcome.mean(name), f"{outcome.mean(name):,.0f}", name == best) for name in outcome.learners]
            rows.append([reading.course, *cells])
    names = next(iter(outcomes.values())).learners
    return Table(["stream", *names], rows, "Mean cumulative squared loss; the best of the thesis's five in bold.")


def leads(constant: Mapping[Reading, RaceResult]) -> Table:
    """The rates of a constant drift at which LASER, or Kalman in its place, is the best of the five."""
    rows: list[list[Any]] = []
    for (inputs, noise), own in by_reading(constant).items():
        best = [[rate for rate, out in own.items() if statements(out, who)[f"{who} is the best"]] for who in LEADERS]
        rows.append([inputs, noise, *map(_rates, best)])
    caption = "Constant drift: radians a row at which LASER, or Kalman in its place, is the best of five."
    return Table(["inputs", "noise", *LEADERS], rows, caption)


def orders(constant: Mapping[Reading, RaceResult]) -> Table:
    """The rates at which all of the thesis's statements on constant drift hold, by how ARCOR is tuned."""
    rows: list[list[Any]] = []
    for ((inputs, noise), own), who in product(by_reading(constant).items(), LEADERS):
        whole = [[rate for rate, out in own.items() if all(statements(out, who, arcor).values())] for arcor in ARCORS]
        rows.append([inputs, noise, who, *map(_rates, whole)])
    caption = "Constant drift: radians a row at which the thesis's whole order holds, by ARCOR's grid."
    return Table(["inputs", "noise", "in LASER's place", *ARCORS], rows, caption)


def by_reading(constant: Mapping[Reading, RaceResult]) -> dict[tuple[Inputs, float], dict[float, RaceResult]]:
    """Outcomes by the rate, for each reading of the inputs and each noise."""
    found: dict[tuple[Inputs, float], dict[float, RaceResult]] = {}
    for reading, outcome in constant.items():
        found.setdefault((reading.inputs, reading.noise), {})[reading.rate] = outcome
    return found


def _rates(rates: list[float]) -> str:
    return ", ".join(f"{rate:.3g}" for rate in rates) or "none"


def remarks(constant: Mapping[Reading, RaceResult]) -> list[str]:
    """Remarks on why LASER is behind, from its recursion without shrinking, and on what its lead is worth."""
    ratios = {reading: outcome.mean("LASER") / outcome.mean("Kalman") for reading, outcome in constant.items()}
    leading = [reading for reading, outcome in constant.items() if statements(outcome)["LASER is the best"]]
    shares = [constant[r].mean("LASER") / float(constant[r].zero.mean()) for r in leading]
    apart = [ratio for reading, ratio in ratios.items() if plain(reading)]
    words = [
        "Kalman is LASER's recursion without the division of its predictions by 1 + s. In the readings of the figure, LASER "
        f"loses {min(apart):.3g} to {max(apart):.3g} times as much on constant drift: to follow the target it needs a small "
        "drift cost, s is then large, and predictions of the right direction are too short."
    ]
    if leading:
        words.append(
            f"LASER is the best of the five in {len(leading)} of {len(constant)} readings. It loses {min(shares):.0%} to "
            f"{max(shares):.0%} of what predicting 0 loses there: noise is a large part of the labels, or the target turns "
            "too fast to be followed. Short predictions then cost little, or pay.".replace("%", " %")
        )
    whole = {who: [r for r, out in constant.items() if _in_order(out, who)] for who in LEADERS}
    words.append(
        f"The thesis's whole order on constant drift holds in {len(whole['LASER'])} readings with LASER, and in "
        f"{len(whole['Kalman'])} with Kalman in its place, where ARCOR may have any of its three grids"
        + (
            ". The readings of the figure are among the latter."
            if all(r in whole["Kalman"] for r in constant if plain(r))
            else "."
        )
    )
    return words


def _in_order(outcome: RaceResult, leader: str) -> bool:
    return any(all(statements(outcome, leader, arcor).values()) for arcor in ARCORS)


def draw(outcomes: Mapping[Reading, RaceResult]) -> Any:
    """Draws the thesis's four panels above, and below the losses by rate of a constant drift in four readings."""
    figure, axes = panels(8, rows=2, width=4.0, height=3.5)
    own = colours([*FIVE, "Kalman"])
    shown = sorted(
        (reading for reading in outcomes if plain(reading)), key=lambda reading: (reading.noise, reading.switches)
    )
    for ax, reading in zip(axes[:4], shown, strict=True):
        outcome = outcomes[reading]
        for name, colour in own.items():
            band(ax, outcome.at, *(curve / 1000 for curve in outcome.band(name)), color=colour, label=name, **_dashes(name))
        drift = "t⁻¹ degrees a row, switches" if reading.switches else "1 degree a row"
        ax.set(title=f"{drift}, noise {reading.noise:g}", xlabel="row", yscale="log")
        ax.set_ylim(bottom=min(outcome.band(name)[0][len(outcome.at) // 10] for name in own) / 1000)
    axes[0].set_ylabel("cumulative squared loss, thousands")
    scans: list[tuple[Inputs, float]] = [("as drawn", 0.0), ("as drawn", 0.05), ("rows of norm 1", 0.05)]
    scans.append(("norms of at most 1", 0.05))
    for ax, (inputs, noise) in zip(axes[4:], scans, strict=True):
        chosen = [r for r in outcomes if not r.switches and (r.inputs, r.noise) == (inputs, noise)]
        for name, colour in own.items():
            shares = [outcomes[r].mean(name) / outcomes[r].zero.mean() for r in chosen]
            ax.plot([r.rate for r in chosen], shares, color=colour, marker=".", **_dashes(name))
        ax.set(title=f"Inputs: {inputs}; noise {noise:g}", xlabel="constant drift, radians a row", xscale="log")
        ax.set_yscale("log" if inputs == "as drawn" else "linear")
    axes[4].set_ylabel("loss / loss of predicting 0")
    legend_below(figure, axes[0], columns=6)
    return figure


def _dashes(name: str) -> dict[str, Any]:
    return {"linestyle": "--"} if name == "Kalman" else {"linewidth": 2.6} if name == "LASER" else {}
