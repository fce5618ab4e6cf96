"""``dfop-table1``: accuracy on streams with distribution change."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from driftline.evaluate import Comparison, Table, plots
from papers.dfop_contest import (
    LEARNERS,
    NO_EVIDENCE,
    ORDER,
    OTHER_PRIORS,
    OVERLAP,
    PRIOR,
    SETTING,
    WINDOW_CHOICE,
    Others,
    contest,
    others,
)
from papers.dfop_data import FORMAT, Dataset, from_files, made_here, missing
from papers.dfop_published import Printed
from papers.dfop_records import FIRST, LATE, Record, records_of, tables, with_prior
from papers.dfop_windup import RATE, WindUp, wind_up
from papers.pictures import NEUTRAL, panels
from papers.rival_tables import (
    NOT_HAD,
    PROTOCOL,
    READINGS,
    Rival,
    ahead,
    count,
    methods_table,
    paper_methods,
    rivals_of,
    run_live,
    scores_table,
)
from papers.rivals import CLASSIFICATION, About, load
from papers.target import Check, Context, Findings

CLOSE = 1.5  # points of accuracy


def compute(context: Context) -> Findings:
    """Runs the paper's protocol on the generated streams and the available files."""
    datasets = made_here(context) + from_files(context)
    comparison = contest(context, datasets)
    besides = context.map(others, datasets, "data sets")
    electricity = [dataset for dataset in datasets if dataset.name == "Electricity"]
    winding = wind_up(*electricity[0].taken()) if electricity else None
    found = [] if context.quick else rivals_of(datasets, comparison)
    return judge(datasets, comparison, besides, winding, missing(context, datasets), found)


def judge(
    datasets: Sequence[Dataset],
    comparison: Comparison,
    besides: Sequence[Others],
    winding: WindUp | None = None,
    left_out: Sequence[str] = (),
    found: Sequence[Rival] = (),
) -> Findings:
    """Findings from the scores of the comparison, DFOP's other accuracies, and those of rivals."""
    records = records_of(datasets, comparison, besides)
    own = {record.label: record.mean for record in records if (record.method, record.predicted) == ("DFOP", FIRST)}
    about = load().methods(CLASSIFICATION) if found else {}
    run = list(dict.fromkeys(rival.method for rival in found))
    words = [PROTOCOL, READINGS, ahead([*run_live(datasets, comparison), *found], about, own, False)] if found else []
    return Findings(
        numbers=Table(Record._fields, [*records, *rival_records(records, found)]),
        checks=[*checks(records, winding), *rival_checks(found)],
        draw=lambda: draw(records),
        summary=[*tables(records, comparison, run), *rival_summary(found, about)],
        remarks=[*remarks(records, winding), *words],
        left_out=[*left_out, *NOT_HAD],
    )


def rival_records(records: Sequence[Record], found: Sequence[Rival]) -> list[Record]:
    """Adds the rivals' accuracies to the numbers; NaN where the paper has none."""
    dfop = {record.label: record for record in records}
    return [
        Record(
            *dfop[rival.data_set][:5], rival.method, FIRST, rival.mean, rival.std, rival.p_value, rival.dfop_does,
            *(rival.paper or Printed(math.nan, math.nan)),
        )
        for rival in found
    ]  # fmt: skip


def rival_checks(found: Sequence[Rival]) -> list[Check]:
    """Checks whether DFOP wins against each of the paper's rivals as there, on the same data sets."""
    checks = []
    for method in dict.fromkeys(rival.method for rival in found if rival.paper is not None):
        own = [rival for rival in found if rival.method == method and rival.paper is not None]
        here = count([rival.dfop_does for rival in own])
        there = count([rival.paper.outcome for rival in own if rival.paper is not None])
        statement = f"DFOP wins against {method} on more data sets than it loses, as in the paper"
        checks.append(Check(statement, here.win > here.loss, f"wins/ties/losses {here} here, {there} in the paper"))
    return checks


def rival_summary(found: Sequence[Rival], about: Mapping[str, About]) -> list[Table]:
    """Tables: the paper's rivals with its figures, other methods, and all methods with their cost."""
    if not found:
        return []
    rest = [method for method in about if method not in paper_methods(about)]
    return [
        scores_table(found, paper_methods(about), "The paper's rivals: accuracy in per cent, the marks as above."),
        scores_table(found, rest, "Methods that the paper does not have: accuracy in per cent, the marks as above."),
        methods_table(found, about, "All rivals: on how many data sets DFOP wins, ties and loses, and what a row costs."),
    ]


def checks(records: Sequence[Record], winding: WindUp | None) -> list[Check]:
    """Checks the paper's statements, separately for files and streams."""
    found: list[Check] = []
    for made, where in ((0, "files"), (1, "streams made here")):
        own = [record for record in records if record.predicted == FIRST and record.made_here == made]
        for stated, rates in ((1, "the rates of Table 5"), (0, "rates chosen here")):
            part = [r for r in own if r.method == "DFOP" and r.rate_stated == stated and not r.fitted]
            if part:
                found.append(near("DFOP", part, f"{where}, {rates}"))
        for rival in ("RLS", "1NN-win"):
            against = [record for record in own if record.method == rival]
            if against:
                found += [near(rival, against, where), same_outcome(rival, against, where)]
    if winding is not None:
        broken = "never breaks down" if winding.broken_at is None else f"has no number from row {winding.broken_at:,} on"
        found.append(
            Check(
                f"on Electricity at the rate {RATE:g}, where the printed recursion winds up to NaN, the library's does not",
                winding.finite and winding.broken_at is not None,
                f"as printed it {broken} of {winding.rows:,}; the library's predictions are "
                f"{'all' if winding.finite else 'not all'} finite, accuracy {100 * winding.accuracy:.2f} %",
            )
        )
    return found


def near(method: str, own: Sequence[Record], where: str) -> Check:
    """Whether a method's accuracies are close to the paper's."""
    far = [f"{record.data_set} {record.off:+.2f}" for record in own if not abs(record.off) <= CLOSE]
    close = [abs(record.off) for record in own if abs(record.off) <= CLOSE]
    rest = f"at most {max(close):.2f} points off" if close else ""
    evidence = f"off by {', '.join(far)}{f'; elsewhere {rest}' if rest else ''}" if far else rest
    return Check(f"{method}'s accuracy is within {CLOSE:g} points of the paper's, {where}", not far, evidence)


def same_outcome(rival: str, own: Sequence[Record], where: str) -> Check:
    """Whether DFOP wins, ties and loses where it does in the paper."""
    other = [record for record in own if record.dfop_does != record.paper_dfop_does]
    words = [f"; {r.data_set}: {r.dfop_does} here, {r.paper_dfop_does} there" for r in other]
    return Check(
        f"DFOP wins, ties or loses against {rival} as in the paper, {where}",
        not other,
        f"{len(own) - len(other)} of {len(own)} the same{''.join(words)}",
    )


def remarks(records: Sequence[Record], winding: WindUp | None) -> list[str]:
    """Remarks that a reader needs to judge the numbers."""
    found = [ORDER, NO_EVIDENCE]
    unfitted = [record for record in records if record.method == "DFOP" and not record.fitted]
    off = {order: np.mean([abs(r.off) for r in unfitted if r.predicted == order]) for order in (FIRST, LATE)}
    nearer = min(off, key=lambda order: off[order])
    found.append(
        "Which of the two orders made the paper's table? DFOP's accuracies here are, on average over the data sets without "
        f"fitted parameters, {off[FIRST]:.2f} points away from the paper's when rows are predicted first and "
        f"{off[LATE]:.2f} when they are predicted after learning: its figures look like those of predicting "
        f"{'first' if nearer == FIRST else 'after learning'}."
    )
    found += [by_prior(unfitted), WINDOW_CHOICE]
    if any(record.data_set == "Spam" for record in records):
        found.append("The words of a Spam file are a selection among tens of thousands, and need not be those of the paper.")
    if winding is not None:
        found.append(
            "Wind-up: inputs of Electricity stay the same for thousands of rows, and P grows as (1 - rate)^-t in "
            f"directions that are not excited. At the rate {RATE:g} the recursion as printed {_broke(winding)}. The "
            f"library holds the growth (on {winding.capped:,} of {winding.rows:,} rows): {100 * winding.accuracy:.2f} % "
            "over all rows."
        )
    return [*found, OVERLAP]


def by_prior(unfitted: Sequence[Record]) -> str:
    """How far DFOP is from the paper with each prior."""
    words = []
    for prior, predicted in ((PRIOR, FIRST), *((prior, with_prior(prior)) for prior in OTHER_PRIORS)):
        off = {record.label: abs(record.off) for record in unfitted if record.predicted == predicted}
        worst = max(off, key=lambda label: off[label])
        words.append(f"{prior:g}: {np.mean(list(off.values())):.2f}, at most {off[worst]:.2f} ({worst})")
    return (
        "The paper does not state its prior either. DFOP's distance from the paper's figures, in points, on average over "
        f"the data sets without fitted parameters, by the prior: {'; '.join(words)}."
    )


def _broke(winding: WindUp) -> str:
    if winding.broken_at is None:
        return f"stays finite, and has {100 * winding.printed:.2f} %"
    return f"gives NaN from row {winding.broken_at:,} on, which leaves it {100 * winding.printed:.2f} %"


def draw(records: Sequence[Record]) -> Any:
    """Draws a row of marks per data set: open for the paper's accuracies, filled for those computed here."""
    own = [record for record in records if record.predicted == FIRST]
    names = list(dict.fromkeys(record.label for record in own))
    figure, (ax,) = panels(1, width=9.0, height=1.6 + 0.42 * len(names))
    for number, (learner, mark) in enumerate(zip(LEARNERS, "osD", strict=True)):
        shift = 0.22 * (number - 1)
        mine = [record for record in own if record.method == learner]
        at = np.array([names.index(record.label) for record in mine]) + shift
        colour = plots.COLOURS[number]
        x, wide = [record.mean for record in mine], [record.std for record in mine]
        ax.errorbar(x, at, xerr=wide, fmt=mark, color=colour, markersize=5, label=f"{learner}, here", capsize=2)
        there = [record.paper_mean for record in mine]
        ax.plot(there, at, mark, markerfacecolor="none", color=colour, markersize=9, linestyle="", label=f"{learner}, paper")
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    for edge in range(1, len(names)):
        ax.axhline(edge - 0.5, color=NEUTRAL, linewidth=0.4, alpha=0.4)
    ax.set(
        xlabel="accuracy, per cent (mean and standard deviation over ten subsets)",
        title="Accuracy, predicted before learning",
    )
    handles, labels = ax.get_legend_handles_labels()
    marks = dict(zip(labels, handles, strict=True))
    order = [f"{learner}, {where}" for learner in LEARNERS for where in ("here", "paper")]
    figure.legend([marks[name] for name in order], order, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return figure


TEXT = {"setting": SETTING, "format": FORMAT}
