"""``dfop-table3``: accuracy of Sparse-DFOP, S-RLS, GMF-RLS and ASVB-L on high-dimensional data."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from driftline.evaluate import MARKS, Cell, Table, plots, spread_text
from papers.dfop_contest import ORDER, OVERLAP, points
from papers.dfop_data import FORMAT, Dataset, missing
from papers.dfop_published import table_3
from papers.dfop_sparse_contest import COMPRESSED, NAMES, RIVALS, SETTING, WHOLE, WIDEST, Contest, columns, contest, datasets
from papers.pictures import NEUTRAL, panels
from papers.target import Check, Context, Findings

CLOSE = 1.0  # points of accuracy
OUTCOMES = {"win": "is significantly better than", "tie": "is neither better nor worse than", "loss": "is worse than"}
READ = {WHOLE: "all inputs", COMPRESSED: "compressed rows"}


class Record(NamedTuple):
    """An accuracy in per cent, the paper's if it has one, and Sparse-DFOP's win, tie or loss against the method."""

    data_set: str
    inputs: int
    method: str
    mean: float
    std: float
    parameter: float
    broken_at: int | None
    sparse_dfop_does: str
    paper_mean: float | None
    paper_std: float | None
    paper_does: str

    @property
    def shown(self) -> Cell:
        """The accuracy as a table cell."""
        return Cell(self.mean, spread_text(self.mean, self.std) + MARKS.get(self.sparse_dfop_does, ""))


def compute(context: Context) -> Findings:
    """Runs the paper's protocol on the generated stream and the available files."""
    sets = datasets(context)
    return judge(sets, contest(context, sets), missing(context, sets, NAMES))


def judge(sets: Sequence[Dataset], found: Contest, left_out: Sequence[str] = ()) -> Findings:
    """Findings from the accuracies of all subsets."""
    records = records_of(sets, found)
    return Findings(
        numbers=Table(Record._fields, records),
        checks=checks(records),
        draw=lambda: draw(records),
        summary=[table(records)],
        remarks=[*REMARKS, *breakdowns(records), OVERLAP],
        left_out=left_out,
    )


def records_of(sets: Sequence[Dataset], found: Contest) -> list[Record]:
    """All accuracies, by data set; methods for which a data set is too wide are left out."""
    means, spreads, tests = points(found.comparison.mean()), points(found.comparison.std()), found.comparison.tests()
    records = []
    for i, dataset in enumerate(sets):
        inputs, label = dataset.taken()[0].shape[1], dataset.label
        for k, column in enumerate(columns()):
            if (label, column) in found.chosen:
                numbers = (float(means[i, k]), float(spreads[i, k]), found.chosen[label, column])
                stop, does = found.broken.get((label, column)), tests[label].get(column, ("",))[0]
                records.append(Record(label, inputs, column, *numbers, stop, does, *printed(dataset.name, column)))
    return records


def printed(data_set: str, column: str) -> tuple[float | None, float | None, str]:
    """The paper's mean and deviation for a method, whatever the reading, and Sparse-DFOP's result against it."""
    paper = table_3().get(data_set, {}).get(column.split(",")[0])
    return (None, None, "") if paper is None else (100 * paper.mean, 100 * paper.std, paper.outcome)


def checks(records: Sequence[Record]) -> list[Check]:
    """Checks that Sparse-DFOP has the paper's accuracy, and its results against the others."""
    found = []
    for label in dict.fromkeys(record.data_set for record in records):
        own = [record for record in records if record.data_set == label]
        best = own[0]
        if best.paper_mean is not None:
            off = best.mean - best.paper_mean
            found.append(
                Check(
                    f"{label}: Sparse-DFOP's accuracy is within {CLOSE:g} point of the paper's",
                    abs(off) <= CLOSE,
                    f"{best.mean:.2f} here, {best.paper_mean:.1f} there",
                )
            )
        for rival in (record for record in own if record.method.split(",")[0] in RIVALS):
            name, reading = rival.method.split(", ")
            does = rival.paper_does or "win"
            found.append(
                Check(
                    f"{label}: Sparse-DFOP {OUTCOMES[does]} {name} on {READ[reading]}",
                    rival.sparse_dfop_does == does,
                    f"{best.mean:.2f} against {rival.mean:.2f}, a {rival.sparse_dfop_does or 'score without a test'}",
                )
            )
    return found


def table(records: Sequence[Record]) -> Table:
    """The accuracies and the paper's, side by side."""
    by_key = {(record.data_set, record.method): record for record in records}
    rows: list[list[Any]] = []
    for label in dict.fromkeys(record.data_set for record in records):
        first = by_key[label, "Sparse-DFOP"]
        cells: list[Any] = [label, first.inputs, _paper(first), first.shown, _shown(by_key.get((label, "DFOP")))]
        for name in RIVALS:
            cells.append(_paper(by_key[label, f"{name}, {COMPRESSED}"]))
            cells += [_shown(by_key.get((label, f"{name}, {reading}"))) for reading in (WHOLE, COMPRESSED)]
        rows.append(cells)
    header = ["data set", "inputs", "Sparse-DFOP, paper", "here", "DFOP, all inputs"]
    for name in RIVALS:
        header += [f"{name}, paper", WHOLE, COMPRESSED]
    return Table(
        header, rows, "Accuracy in per cent. • Sparse-DFOP is significantly better, ◦ worse (paired t-tests at 95 %)."
    )


def _paper(record: Record) -> str:
    if record.paper_mean is None or record.paper_std is None:
        return "-"
    return f"{record.paper_mean:.1f} ± {record.paper_std:.1f}{MARKS.get(record.paper_does, '')}"


def _shown(record: Record | None) -> Cell | str:
    return "-" if record is None else record.shown


REMARKS = (
    ORDER,
    "The paper's Table 2 has sets of 47,236 and of 1,355,191 inputs. S-RLS and GMF-RLS keep a matrix of the square of "
    "that, 18 GB and 15 TB: there they cannot have been run on all inputs. The paper does not say on what they were. So"
    f" both readings are here, all inputs up to {WIDEST:,} of them.",
    "S-RLS and GMF-RLS are derived from the criteria that are stated of them: least squares in which weights below a "
    "threshold have no part, and least squares with Geman and McClure's penalty, added to the recursion as Eksioglu and"
    " Tanc do. The paper that introduces them was not available; thresholds, penalties and the start may be others there.",
    "ASVB-L is derived from its model: a scale mixture of normal densities that amounts to Laplace's prior, and a posterior "
    "that is a product. Each factor is updated once for each row. Its own paper was not available; the updates may differ.",
    "The state-space rows are those of Fig. 3, with the sign of the label to predict; they are not in the "
    "paper's table. Neither is Spam.",
)


def breakdowns(records: Sequence[Record]) -> list[str]:
    """Says where a recursion stopped giving finite predictions."""
    broken = [f"{r.method} on {r.data_set} (row {r.broken_at:,})" for r in records if r.broken_at is not None]
    if not broken:
        return []
    return [
        f"No finite prediction from some row on, in at least one subset: {'; '.join(broken)}. Columns that add up to a "
        "constant leave directions that no row excites, where S grows as forgetting^-t until rounding makes it "
        "indefinite. DFOP and Sparse-DFOP are the same kind of recursion; the library holds that growth."
    ]


def draw(records: Sequence[Record]) -> Any:
    """Draws a row of marks per data set: open for the paper's accuracies, filled for those computed here."""
    names = list(dict.fromkeys(record.data_set for record in records))
    figure, (ax,) = panels(1, width=9.0, height=2.4 + 0.7 * len(names))
    for number, column in enumerate(columns()):
        own = [record for record in records if record.method == column]
        at = np.array([names.index(record.data_set) for record in own]) + 0.1 * (number - 3.5)
        colour, mark = plots.COLOURS[number % len(plots.COLOURS)], "osD^vP<>"[number]
        wide = [record.std for record in own]
        ax.errorbar([r.mean for r in own], at, xerr=wide, fmt=mark, color=colour, markersize=5, label=column, capsize=2)
        there = [(r.paper_mean, place) for r, place in zip(own, at, strict=True) if r.paper_mean is not None]
        ax.plot(*np.array(there).reshape(-1, 2).T, mark, color=colour, markerfacecolor="none", markersize=9, linestyle="")
    ax.plot([], [], "o", color=NEUTRAL, markerfacecolor="none", markersize=9, linestyle="", label="the paper's")
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set_xlabel("accuracy, per cent (mean and standard deviation over ten subsets)")
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return figure


TEXT = {"setting": SETTING, "format": FORMAT}
