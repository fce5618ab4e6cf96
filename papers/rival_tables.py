"""Compares the rivals' scores with DFOP's and the paper's: paired tests, counts of wins, and tables."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftline.evaluate import MARKS, Cell, Comparison, Table, WinTieLoss, spread_text, verdict
from papers.dfop_contest import LEARNERS, points
from papers.dfop_data import Dataset
from papers.dfop_published import Printed, table_1
from papers.rivals import CLASSIFICATION, PAPER, About, Kept, load

OUTCOMES = ("win", "tie", "loss")
PROTOCOL = (
    "The rivals predict and learn the same rows in the same order as DFOP. `make rivals DATA=DIR` measured them; their "
    "scores come with the library and are shown for data sets whose rows are the same. A slow method was run on two or more "
    "of the ten subsets, spread evenly, and is compared with DFOP on these. Two subsets leave a t-test one degree of "
    "freedom: it then finds few differences significant."
)
READINGS = (
    "The paper states few of its rivals' settings. Base learners, windows and batches are choices made here. The kernel "
    "of SVM-win and the base models for regression were chosen knowing the paper's figures, and AdaBoost.OL's inputs "
    "were scaled after a first run without. A rival that does worse here than in the paper may gain from other settings."
)
NOT_HAD = (
    "ADL: its paper was not available, the rules by which its network grows and shrinks do not follow from a summary, and "
    "neither River nor CapyMOA has it.",
    "HybridForest: the paper that defines its hybrid power was not available, and neither River nor CapyMOA has it.",
)


class Rival(NamedTuple):
    """A rival's score on a data set; DFOP wins, ties or loses against it on the same subsets.

    Attributes:
        data_set: its name, and the origin of the rows.
        method: the rival.
        mean, std: mean and deviation of its scores, in the table's unit.
        subsets: how many of the ten it was run on.
        microseconds: processor time per row.
        dfop_does: "win", "tie" or "loss".
        p_value: from the paired t-test.
        paper: the paper's number, if it has one.
    """

    data_set: str
    method: str
    mean: float
    std: float
    subsets: int
    microseconds: float
    dfop_does: str
    p_value: float
    paper: Printed | None

    @property
    def shown(self) -> Cell:
        """The score as a table cell."""
        return Cell(self.mean, spread_text(self.mean, self.std) + MARKS[self.dfop_does])


def compared(
    data_set: str,
    kept: Mapping[str, Kept],
    dfop: NDArray[Any],
    paper: Mapping[str, Printed],
    lower_is_better: bool = False,
    unit: float = 100.0,
) -> list[Rival]:
    """All rivals on a data set against DFOP's scores on its ten subsets, given in the table's unit."""
    found = []
    for method, (at, scores, microseconds) in kept.items():
        own = unit * scores
        outcome, test = verdict(dfop[list(at)], own, lower_is_better)
        spread = float(np.std(own, ddof=1)) if np.isfinite(own).all() else np.nan
        numbers = (float(own.mean()), spread, len(at), microseconds)
        found.append(Rival(data_set, method, *numbers, outcome, test.p_value, paper.get(method)))
    return found


def rivals_of(datasets: Sequence[Dataset], comparison: Comparison) -> list[Rival]:
    """The rivals' accuracies on the data sets on which they were run."""
    found: list[Rival] = []
    for i, dataset in enumerate(datasets):
        kept = load().on(CLASSIFICATION, dataset.label, *dataset.taken())
        others = {method: own for method, own in kept.items() if method not in LEARNERS}
        dfop = points(comparison.scores["accuracy"][i, 0])
        found += compared(dataset.label, others, dfop, table_1()[dataset.name])
    return found


def run_live(datasets: Sequence[Dataset], comparison: Comparison) -> list[Rival]:
    """The same for RLS and 1NN-win, which are part of the comparison itself; their times are unknown."""
    found: list[Rival] = []
    for dataset, scores in zip(datasets, comparison.scores["accuracy"], strict=True):
        subsets = tuple(range(scores.shape[1]))
        kept = {method: Kept(subsets, own, np.nan) for method, own in zip(LEARNERS, scores, strict=True) if method != "DFOP"}
        found += compared(dataset.label, kept, points(scores[0]), table_1()[dataset.name])
    return found


def count(outcomes: Sequence[str]) -> WinTieLoss:
    """How often DFOP wins, ties and loses.

    >>> str(count(["win", "loss", "win"]))
    '2/0/1'
    """
    return WinTieLoss(*(list(outcomes).count(word) for word in OUTCOMES))


def scores_table(rivals: Sequence[Rival], methods: Sequence[str], caption: str) -> Table:
    """One row per data set and one column per method; the paper's methods show its figure before ours."""
    by_key = {(rival.data_set, rival.method): rival for rival in rivals}
    there = [method for method in methods if any(rival.method == method for rival in rivals)]
    quoted = {rival.method for rival in rivals if rival.paper is not None}
    rows: list[list[Any]] = []
    for data_set in dict.fromkeys(rival.data_set for rival in rivals):
        cells: list[Any] = [data_set]
        for method in there:
            own = by_key.get((data_set, method))
            if method in quoted:
                cells.append("" if own is None or own.paper is None else _printed(own.paper))
            cells.append("" if own is None else own.shown)
        rows.append(cells)
    header = ["data set"]
    for method in there:
        header += [f"{method}, paper", "here"] if method in quoted else [method]
    return Table(header, rows, caption)


def methods_table(rivals: Sequence[Rival], about: Mapping[str, About], caption: str, reference: str = "DFOP") -> Table:
    """One row per method: the reference's wins, ties and losses here and in the paper, and the cost per row."""
    rows: list[list[Any]] = []
    for method, (origin, words, library) in about.items():
        own = [rival for rival in rivals if rival.method == method]
        if own:
            printed = [rival.paper.outcome for rival in own if rival.paper is not None]
            there = str(count(printed)) if printed else ""
            cost = float(np.median([rival.microseconds for rival in own]))
            here = str(count([rival.dfop_does for rival in own]))
            rows.append([method, origin, words, library, len(own), here, there, cost])
    header = ["method", "whose", "as run here", "library", "data sets", f"{reference}: win/tie/loss", "paper", "µs a row"]
    return Table(header, rows, caption)


def ahead(rivals: Sequence[Rival], about: Mapping[str, About], dfop: Mapping[str, float], lower_is_better: bool) -> str:
    """A paragraph on where DFOP is not the best method, and which one is."""
    words = []
    for data_set, own in dfop.items():
        scores = {rival.method: rival.mean for rival in rivals if rival.data_set == data_set and rival.dfop_does == "loss"}
        if scores:
            best = (min if lower_is_better else max)(scores, key=lambda method: scores[method])
            others = f", {len(scores) - 1} more" if len(scores) > 1 else ""
            words.append(f"{data_set}: {best} {scores[best]:.4g} ({about[best].origin}{others}), DFOP {own:.4g}")
    if not words:
        return "No method is significantly better than DFOP on any of these data sets."
    where = f"on {len(words)} of {len(dfop)} data sets"
    return f"At least one method is significantly better than DFOP {where}. The best of them: {'; '.join(words)}."


def paper_methods(about: Mapping[str, About]) -> list[str]:
    """The methods that the paper compares with."""
    return [method for method, own in about.items() if own.origin == PAPER]


def _printed(number: Printed) -> str:
    digits = 2 if number.mean > 20 else 3
    return f"{number.mean:.{digits}f} ± {number.std:.{digits}f}{MARKS.get(number.outcome, '')}"
