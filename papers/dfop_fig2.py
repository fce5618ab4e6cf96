"""``dfop-fig2``: robustness over the data sets of Table 1."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from driftline.evaluate import Comparison, Table, plots, robustness
from papers.dfop_contest import LEARNERS, ORDER, SETTING, WINDOW_CHOICE, contest
from papers.dfop_data import FORMAT, Dataset, from_files, made_here, missing
from papers.dfop_published import METHODS, table_1
from papers.pictures import panels
from papers.rival_tables import NOT_HAD, PROTOCOL, READINGS, Rival, rivals_of
from papers.rivals import BASELINE, CLASSIFICATION, load
from papers.target import Check, Context, Findings

MOST = "Methods run here on every data set"
ALL = "Data sets run here with every method"


def compute(context: Context) -> Findings:
    """Computes the scores of the paper's printed accuracies, and of the methods run here."""
    datasets = each_once(made_here(context), from_files(context))
    comparison = contest(context, datasets)
    found = [] if context.quick else rivals_of(datasets, comparison)
    return judge(datasets, comparison, missing(context, datasets), found)


def each_once(made: Sequence[Dataset], files: Sequence[Dataset]) -> list[Dataset]:
    """Every data set once: from its file, if there is one."""
    named = {dataset.name: dataset for dataset in made} | {dataset.name: dataset for dataset in files}
    return list(named.values())


def judge(
    datasets: Sequence[Dataset], comparison: Comparison, left_out: Sequence[str] = (), found: Sequence[Rival] = ()
) -> Findings:
    """Findings from the comparison's accuracies, those of rivals, and the printed ones."""
    all_printed = from_printed(METHODS, list(table_1()))
    same_printed = from_printed(LEARNERS, [dataset.name for dataset in datasets])
    here = comparison.robustness()
    count = len(datasets)
    wide = over_all(comparison, found)
    records: list[list[Any]] = [["the paper's accuracies", len(table_1()), *item] for item in all_printed.items()]
    records += [["the paper's accuracies, methods and data sets run here", count, *item] for item in same_printed.items()]
    records += [["run here", count, *item] for item in here.items()]
    records += [[how, len(sets), *item] for how, (sets, scores) in wide.items() for item in scores.items()]
    made = sum(dataset.made_here for dataset in datasets)
    rows: list[list[Any]] = [[name, same_printed[name], here[name]] for name in LEARNERS]
    ranking: list[list[Any]] = [list(item) for item in ordered(all_printed)]
    caption = f"Robustness over {count} data sets, {made} of them made here: the sum of accuracy / least accuracy."
    return Findings(
        numbers=Table(["accuracies", "data_sets", "method", "robustness"], records),
        checks=[
            *extremes(all_printed, f"by the paper's own {len(table_1())} x {len(METHODS)} accuracies"),
            *extremes(here, f"among the methods run here, on {count} data sets"),
            *first_of_the_papers(wide),
        ],
        draw=lambda: draw_wide(all_printed, wide) if wide else draw(all_printed, here, same_printed, count),
        summary=[
            Table(["method", "from the paper's accuracies", "run here"], rows, caption),
            Table(
                ["method", "robustness"],
                ranking,
                f"Robustness of all methods over {len(table_1())} data sets, from the accuracies that the paper prints.",
            ),
            *(
                Table(["method", "robustness"], [list(item) for item in ordered(scores)], f"{how}: {len(sets)} data sets.")
                for how, (sets, scores) in wide.items()
            ),
        ],
        remarks=[
            ORDER,
            "The figure prints no numbers. The score follows from accuracies: for all 13 methods it is computed from those "
            "printed in Table 1, and for DFOP, RLS and 1NN-win again from accuracies of this run.",
            "hyperplane and the UG streams made here have parameters that were fitted to the paper's accuracies of DFOP. "
            "They count in the score of this run, so that it is weaker evidence than the data sets without such "
            "parameters are.",
            WINDOW_CHOICE,
            "The score depends on which methods are compared.",
            *([PROTOCOL, READINGS] if found else ()),
        ],
        left_out=[*left_out, *NOT_HAD],
    )


def over_all(comparison: Comparison, found: Sequence[Rival]) -> dict[str, tuple[list[str], dict[str, float]]]:
    """Data sets and robustness: for methods run on all data sets, and for all methods on data sets where all were run.

    Baselines are left out: they would be least accurate nearly everywhere, and would set the unit of all scores. So are
    methods that were run on fewer than half of the data sets.
    """
    if not found:
        return {}
    baselines = [method for method, about in load().methods(CLASSIFICATION).items() if about.origin == BASELINE]
    kept = [rival for rival in found if rival.method not in baselines]
    means: dict[tuple[str, str], float] = {(rival.data_set, rival.method): rival.mean for rival in kept}
    own = 100 * comparison.mean()
    means |= {(s, m): float(own[i, k]) for i, s in enumerate(comparison.streams) for k, m in enumerate(comparison.learners)}
    measured = [s for s in comparison.streams if any(rival.data_set == s for rival in found)]
    run = Counter(method for name, method in means if name in measured)
    methods = [method for method, times in run.items() if 2 * times >= len(measured)]
    complete = [m for m in methods if all((s, m) in means for s in measured)]
    shared = [s for s in measured if all((s, m) in means for m in methods)]
    parts = {MOST: (measured, complete)} | ({ALL: (shared, methods)} if shared and len(complete) < len(methods) else {})
    return {
        how: (sets, dict(zip(own_methods, scored(means, sets, own_methods), strict=True)))
        for how, (sets, own_methods) in parts.items()
    }


def scored(means: Mapping[tuple[str, str], float], sets: Sequence[str], methods: Sequence[str]) -> list[float]:
    """The robustness of each method over some data sets."""
    table = np.array([[means[name, method] for method in methods] for name in sets])
    scores: list[float] = robustness(table, lower_is_better=False).tolist()
    return scores


def first_of_the_papers(wide: Mapping[str, tuple[list[str], dict[str, float]]]) -> list[Check]:
    """Whether DFOP is the most robust of the paper's methods that were run."""
    checks = []
    for how, (sets, scores) in wide.items():
        theirs = {method: score for method, score in scores.items() if method in METHODS}
        checks += extremes(theirs, f"among {len(theirs)} of the paper's methods run here, on {len(sets)} data sets ({how})")
    return checks


def from_printed(methods: Sequence[str], names: Sequence[str]) -> dict[str, float]:
    """Robustness of methods on data sets, from the accuracies of Table 1.

    >>> round(from_printed(("DFOP", "RLS"), ["SEA", "2CDT"])["DFOP"], 3)  # 87.99 / 84.54 + 96.36 / 62.24
    2.589
    """
    table = table_1()
    means = np.array([[table[name][method].mean for method in methods] for name in names])
    return dict(zip(methods, robustness(means, lower_is_better=False).tolist(), strict=True))


def ordered(scores: Mapping[str, float]) -> list[tuple[str, float]]:
    """The scores, best first."""
    return sorted(scores.items(), key=lambda item: -item[1])


def extremes(scores: Mapping[str, float], where: str) -> list[Check]:
    """Whether DFOP has the greatest score and RLS the least."""
    ranking = ordered(scores)
    top = f"DFOP {scores['DFOP']:.2f}, best other {max(v for n, v in ranking if n != 'DFOP'):.2f}"
    low = f"RLS {scores['RLS']:.2f}, least other {min(v for n, v in ranking if n != 'RLS'):.2f}"
    return [
        Check(f"DFOP is the most robust, {where}", ranking[0][0] == "DFOP", top),
        Check(f"RLS is the least robust, {where}", ranking[-1][0] == "RLS", low),
    ]


def draw_wide(printed: Mapping[str, float], wide: Mapping[str, tuple[list[str], dict[str, float]]]) -> Any:
    """Draws bars for all methods from the paper's accuracies, and for all methods run here."""
    figure, axes = panels(1 + len(wide), width=5.2, height=6.4)
    label = "sum over {} data sets of accuracy / least accuracy"
    plots.draw_bars(printed, label.format(len(table_1())), "From the paper's accuracies", ax=axes[0])
    for ax, (how, (sets, scores)) in zip(axes[1:], wide.items(), strict=True):
        plots.draw_bars(scores, label.format(len(sets)), how, ax=ax)
    return figure


def draw(printed: Mapping[str, float], here: Mapping[str, float], same: Mapping[str, float], count: int) -> Any:
    """Draws bars for all methods from the paper's accuracies, and for those run here."""
    figure, (left, right) = panels(2, width=5.2, height=4.6)
    plots.draw_bars(printed, "sum over 20 data sets of accuracy / least accuracy", "From the paper's accuracies", ax=left)
    names = [name for name, _ in reversed(ordered(here))]
    for number, (where, scores) in enumerate((("from the paper's accuracies", same), ("run here", here))):
        sizes = [scores[name] for name in names]
        bars = right.barh(
            np.arange(len(names)) + 0.36 * number - 0.18, sizes, 0.34, color=plots.COLOURS[1 - number], label=where
        )
        right.bar_label(bars, [f"{size:.2f}" for size in sizes], padding=4, fontsize=9)
    right.set_yticks(range(len(names)), names)
    right.margins(x=0.12)
    label = f"sum over {count} data sets of accuracy / least accuracy"
    right.set(xlabel=label, title="The methods that are run here")
    handles, labels = right.get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], loc="outside lower right", ncols=2, frameon=False, fontsize=9)
    return figure


TEXT = {"setting": SETTING, "format": FORMAT}
