"""The numbers of ``dfop-table1``, one record per accuracy, and the tables that show them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from driftline.evaluate import MARKS, Cell, Comparison, Table, spread_text
from papers.dfop_contest import LEARNERS, OTHER_PRIORS, PRIOR, Others, points
from papers.dfop_data import Dataset
from papers.dfop_published import METHODS, Printed, table_1

FIRST, LATE, WHOLE = "before learning", "after learning", "before learning, all rows"
CAPTION = (
    "Accuracy in per cent. • DFOP is significantly better, ◦ worse (paired t-tests at 95 %). The last column predicts "
    "each row with weights that have learned it, as line 5 of Algorithm 1 does; the columns before it predict first."
)


class Record(NamedTuple):
    """An accuracy in per cent, and the paper's; flags are 0 or 1."""

    data_set: str
    made_here: int
    fitted: int
    rate_stated: int
    forget_rate: float
    method: str
    predicted: str
    mean: float
    std: float | None
    p_value: float | None
    dfop_does: str
    paper_mean: float
    paper_std: float
    paper_dfop_does: str

    @property
    def label(self) -> str:
        """The data set's name, and the origin of the rows."""
        return f"{self.data_set}, {'made here' if self.made_here else 'file'}"

    @property
    def off(self) -> float:
        """Points above the paper's figure."""
        return self.mean - self.paper_mean

    @property
    def shown(self) -> Cell:
        """The accuracy as a table cell."""
        text = f"{self.mean:.2f}" if self.std is None else spread_text(self.mean, self.std)
        return Cell(self.mean, text + MARKS.get(self.dfop_does, ""))

    @property
    def printed(self) -> str:
        """The paper's accuracy as a table cell."""
        return printed(Printed(self.paper_mean, self.paper_std, self.paper_dfop_does))


def with_prior(prior: float) -> str:
    """The label for rows predicted before learning, with another prior."""
    return f"{FIRST}, prior {prior:g}"


def printed(number: Printed) -> str:
    """A number of the paper, with its mark."""
    return f"{number.mean:.2f} ± {number.std:.2f}{MARKS.get(number.outcome, '')}"


def records_of(datasets: Sequence[Dataset], comparison: Comparison, besides: Sequence[Others]) -> list[Record]:
    """All accuracies, data set by data set."""
    found: list[Record] = []
    means, spreads, tests = points(comparison.mean()), points(comparison.std()), comparison.tests()
    for i, (dataset, other) in enumerate(zip(datasets, besides, strict=True)):
        about = (dataset.name, int(dataset.made_here), int(dataset.fitted), int(dataset.stated), dataset.forget_rate)
        paper = table_1()[dataset.name]
        for k, method in enumerate(LEARNERS):
            outcome, test = tests[dataset.label].get(method, ("", None))
            numbers = (float(means[i, k]), float(spreads[i, k]), None if test is None else test.p_value, outcome)
            found.append(Record(*about, method, FIRST, *numbers, *paper[method]))
        for predicted, shares in ((LATE, other.after_learning), *((with_prior(p), s) for p, s in other.by_prior.items())):
            mean, std = float(points(shares).mean()), float(np.std(points(shares), ddof=1))
            found.append(Record(*about, "DFOP", predicted, mean, std, None, "", *paper["DFOP"]))
        found.append(Record(*about, "DFOP", WHOLE, 100 * other.all_rows, None, None, "", *paper["DFOP"]))
    return found


def tables(records: Sequence[Record], comparison: Comparison, run: Sequence[str] = ()) -> list[Table]:
    """Tables: accuracies and the paper's, DFOP's by prior, and the paper's for methods not in ``run``."""
    quoted = [name for name in METHODS if name not in (*LEARNERS, *run)]
    by_key = {(record.label, record.method, record.predicted): record for record in records}
    rows: list[list[Any]] = []
    priors: list[list[Any]] = []
    for label in dict.fromkeys(record.label for record in records):
        own = {method: by_key[label, method, FIRST] for method in LEARNERS}
        dfop = {how: by_key[label, "DFOP", how] for how in (WHOLE, LATE)}
        pairs = [cell for record in own.values() for cell in (record.printed, record.shown)]
        rows.append([label, f"{own['DFOP'].forget_rate:g}", *pairs, dfop[WHOLE].shown, dfop[LATE].shown])
        by_prior = [by_key[label, "DFOP", with_prior(prior)].shown for prior in OTHER_PRIORS]
        priors.append([label, own["DFOP"].printed, own["DFOP"].shown, *by_prior])
    if len(rows) > 1:
        counts = comparison.win_tie_loss()
        rows.append(["DFOP: win/tie/loss", "", "", "", "", str(counts["RLS"]), "", str(counts["1NN-win"]), "", ""])
    pairs_of = [f"{method}, {where}" for method in LEARNERS for where in ("paper", "here")]
    names = dict.fromkeys(record.data_set for record in records)
    return [
        Table(["data set", "rate", *pairs_of, "DFOP, all T rows", "DFOP, after learning"], rows, CAPTION),
        Table(
            ["data set", "paper", *(f"prior {prior:g}" for prior in (PRIOR, *OTHER_PRIORS))],
            priors,
            "DFOP's accuracy by the prior, which the paper does not state; it says that it is typically large.",
        ),
        Table(
            ["data set", *quoted],
            [[name, *(printed(table_1()[name][method]) for method in quoted)] for name in names],
            "The paper's figures for its other methods, which are not run here.",
        ),
    ]
