"""``arcor-fig2``: cumulative loss of AROWR, NLMS and ARCOR on the paper's two streams, in both units of the angle."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from driftline import ARCOR, AROWR, NLMS, Learner
from driftline.evaluate import Cell, Table
from driftline.streams import Rotating, Switching
from papers.pictures import band, bands, colours, legend_below, panels
from papers.race import Course, RaceResult, race
from papers.target import Check, Context, Findings

POWERS = (1.0, 1.5, 2.0, 3.0)  # q of ARCOR
FREE = "ARCOR, no ball"
ORDER = ("AROWR", "NLMS", "ARCOR")  # from the worst to the best
UNITS = {"deg": "degrees", "rad": "radians"}
RATES = tuple(float(r) for r in 10.0 ** np.arange(-3, 0.29, 0.1))
NOISES = tuple(float(r) for r in 10.0 ** np.arange(-3, 6.1, 0.25))


def streams(rows: int) -> dict[str, Course]:
    """The paper's two streams, in degrees and in radians."""
    found = {}
    for unit, words in UNITS.items():
        found[f"drift, {words}"] = Course(Rotating(power=0.01, unit=unit, noise=2.0), rows)  # type: ignore[arg-type]
        found[f"drift and switches, {words}"] = Course(
            Switching(power=0.5, every=50, unit=unit, noise=2.0),  # type: ignore[arg-type]
            rows,
        )
    return found


def grid(quick: bool) -> dict[str, list[Learner]]:
    """NLMS's rate, AROWR's noise, ARCOR's noise for each q, and ARCOR's noise and q together, with and without its ball."""
    step = 4 if quick else 1
    noises = NOISES[::step]
    found: dict[str, list[Learner]] = {
        "AROWR": [AROWR(noise=noise, intercept=False) for noise in noises],
        "NLMS": [NLMS(rate=rate, eps=0.0, intercept=False) for rate in RATES[::step]],
    }
    for q in POWERS:
        found[f"ARCOR, q = {q:g}"] = [ARCOR(noise=noise, schedule=q, radius=1.0, intercept=False) for noise in noises]
    found["ARCOR"] = [learner for q in POWERS for learner in found[f"ARCOR, q = {q:g}"]]
    found[FREE] = [ARCOR(noise=noise, schedule=q, intercept=False) for q in POWERS for noise in noises]
    return found


def compute(context: Context) -> Findings:
    """Tunes on one sequence of each stream, then runs on the others."""
    courses = streams(context.pick(2000, 400))
    own = grid(context.quick)
    return judge(race(context, courses, dict.fromkeys(courses, own), context.pick(100, 3)))


def judge(outcomes: Mapping[str, RaceResult]) -> Findings:
    """The paper's order on each stream, by paired tests."""
    records: list[list[Any]] = []
    checks = {}
    for course, outcome in outcomes.items():
        for name in outcome.learners:
            setting = ", ".join(f"{key}={value:g}" for key, value in outcome.chosen[name].items())
            points = zip(outcome.at.tolist(), *(curve.tolist() for curve in outcome.band(name)), strict=True)
            records += [[course, name, setting, *point] for point in points]
        means = ", ".join(f"{name} {outcome.mean(name):,.0f}" for name in ORDER)
        checks[course] = Check(
            f"{course}: AROWR worst, NLMS second, ARCOR best",
            all(outcome.beats(better, worse) for worse, better in pairwise(ORDER)),
            f"mean losses: {means}",
        )
    names = next(iter(outcomes.values())).learners
    rows: list[list[Any]] = [
        [course, _whole(float(out.zero.mean())), *(_whole(out.mean(name)) for name in names)]
        for course, out in outcomes.items()
    ]
    caption = "Mean cumulative squared loss. ARCOR without a q: tuned over q too."
    return Findings(
        numbers=Table(["stream", "learner", "setting", "rows", "loss", "low", "high"], records),
        checks=[*checks.values(), *(gaps(course, outcomes[course]) for course in checks if checks[course].holds)],
        draw=lambda: draw(outcomes),
        summary=[Table(["stream", "predicting 0", *names], rows, caption)],
        remarks=[remark(outcomes, checks)],
    )


def gaps(course: str, outcome: RaceResult) -> Check:
    """Checks the paper's second statement, if the first holds."""
    half = int(np.searchsorted(outcome.at, outcome.at[-1] / 2))
    middles = [outcome.gap(worse, better)[0] for worse, better in pairwise(ORDER)]
    words = " and ".join(f"{gap[half]:,.0f} to {gap[-1]:,.0f}" for gap in middles)
    grow = all(gap[-1] > gap[half] > 0 for gap in middles)
    return Check(f"{course}: the gaps grow with time", grow, f"from row {outcome.at[half]:,} to the end from {words}")


def _whole(value: float) -> Cell:
    return Cell(value, f"{value:,.0f}")


def remark(outcomes: Mapping[str, RaceResult], checks: Mapping[str, Check]) -> str:
    """Says which unit agrees, and where no learner can track the target."""
    agree = [words for words in UNITS.values() if all(check.holds for name, check in checks.items() if name.endswith(words))]
    lost = [course for course, out in outcomes.items() if min(map(out.mean, out.learners)) > 0.99 * float(out.zero.mean())]
    words = "The paper does not name the unit of the angle. "
    words += f"Its claim holds on both streams in {' and '.join(agree)}. " if agree else "Its claim holds in no unit. "
    if lost:
        words += (
            f"On {' and '.join(lost)} no learner is more than 1 % better than predicting 0: the target cannot be tracked. "
        )
    return words + (
        "ARCOR's radius is 1, the norm of the target and the least that the paper's theorem allows; the last column is "
        "without a ball. The paper shows a few values of q that it does not name, and does not say how one would be chosen."
    )


def draw(outcomes: Mapping[str, RaceResult]) -> Any:
    """Draws cumulative losses above, and below the difference between ARCOR's and NLMS's losses on each sequence."""
    figure, axes = panels(2 * len(outcomes), rows=2, width=3.9, height=3.4)
    powers = [f"ARCOR, q = {q:g}" for q in POWERS]
    own = colours(["AROWR", "NLMS", *powers])
    for number, (course, outcome) in enumerate(outcomes.items()):
        above, below = axes[number], axes[number + len(outcomes)]
        for name, colour in own.items():
            line = "-" if name in powers else "--"
            thousands = (curve / 1000 for curve in outcome.band(name))
            band(above, outcome.at, *thousands, color=colour, label=name, linestyle=line)
        differences = {name: [curve / 1000 for curve in outcome.gap(name, "NLMS")] for name in powers}
        bands(below, outcome.at, differences, own)
        below.axhline(0, color=own["NLMS"], linestyle="--")
        above.set(title=course[0].upper() + course[1:], xlabel="row", ylim=(0, None))
        below.set(xlabel="row")
    axes[0].set_ylabel("cumulative squared loss, thousands")
    axes[len(outcomes)].set_ylabel("loss minus that of NLMS, thousands")
    legend_below(figure, axes[0], columns=6)
    return figure
