"""``dfop-table4``: mean squared error on regression streams."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftline import streams
from driftline.evaluate import Cell, Table, plots, spread_text, subsets, verdict
from papers.dfop_contest import ORDER, OVERLAP, PRIOR, SUBSETS, dfop_at
from papers.dfop_data import FORMAT, QUICK_ROWS, file_of, rate_of, read
from papers.dfop_published import Printed, table_4
from papers.pictures import NEUTRAL, panels
from papers.rival_tables import PROTOCOL, READINGS, Rival, ahead, compared, methods_table, scores_table
from papers.rivals import REGRESSION, load
from papers.target import Check, Context, Findings

RATES = (0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)  # 0 is RLS
FILES = {"SRU-1": "sru_y1", "SRU-2": "sru_y2", "Debutanizer": "debutanizer"}
TUNED_ON = 0.1  # share of the first rows
TUNED = "DFOP, tuned"  # the best rate on the first rows, with or without an intercept
SIGNS = "• DFOP is significantly better, ◦ worse (paired t-tests at 95 %)."
ENSEMBLES = ("OB", "AddExp.C", "EOS-ELM", "Learn++.NSE", "OAUE")


class Job(NamedTuple):
    """A learner on all subsets of a data set."""

    rows: Any
    rate: float
    intercept: bool


class Errors(NamedTuple):
    """Mean squared errors times 100 on the subsets, when rows are predicted before and after they are learned.

    ``tuning`` is the error, predicting first, on the rows for choosing a rate.
    """

    before: NDArray[Any]
    after: NDArray[Any]
    tuning: float


@dataclass(frozen=True, eq=False)
class Measured:
    """A data set's errors: (rate, intercept) -> errors; and the error of predicting the previous label, times 100."""

    errors: Mapping[tuple[float, bool], Errors]
    last_label: float

    def chosen(self) -> float:
        """The rate with the smallest error on the first rows."""
        return min(RATES[1:], key=lambda rate: self.errors[rate, False].tuning)

    def best(self) -> float:
        """The rate with the smallest error on the subsets, in hindsight."""
        return min(RATES[1:], key=lambda rate: float(self.errors[rate, False].before.mean()))


def errors(job: Job) -> Errors:
    """Errors of one learner on the subsets of a data set."""
    X, y = job.rows if isinstance(job.rows, tuple) else job.rows.take()
    first = max(2, int(TUNED_ON * len(y)))
    before, after = [], []
    for start, stop in subsets(len(y), SUBSETS):
        rows, labels = X[start:stop], y[start:stop]
        run = dfop_at(job.rate, job.intercept).run(rows, labels, weights_every=1)
        assert run.weights is not None
        late = np.einsum("td,td->t", run.weights[:, : rows.shape[1]], rows)
        late = late + run.weights[:, -1] if job.intercept else late
        before.append(run.losses.mean())
        after.append(np.mean(np.square(labels - late)))
    tuning = 100 * float(dfop_at(job.rate, job.intercept).run(X[:first], y[:first]).losses.mean())
    return Errors(100 * np.array(before), 100 * np.array(after), tuning)


def compute(context: Context) -> Findings:
    """The generated hyperplane, and the available files."""
    fewer = context.pick({}, {"rows": QUICK_ROWS})
    datasets: dict[str, Any] = {"hyperplane": streams.make("hyperplane", task="regression", seed=context.seed, **fewer)}
    lacking = []
    for name, stem in FILES.items():
        path = file_of(context, stem)
        if path is None:
            lacking.append(f"{name}: it needs the file {stem}.csv.gz with --data DIR ({FORMAT}).")
        else:
            X, y = read(path)
            keep = context.pick(len(y), QUICK_ROWS)
            datasets[name] = (X[:keep], y[:keep])
    keys = [(name, rate, intercept) for name in datasets for rate in RATES for intercept in (False, True)]
    found = context.map(errors, [Job(datasets[name], rate, intercept) for name, rate, intercept in keys], "runs")
    by_key = dict(zip(keys, found, strict=True))
    measured = {}
    for name, rows in datasets.items():
        y = (rows if isinstance(rows, tuple) else rows.take())[1]
        own = {(rate, intercept): by_key[name, rate, intercept] for rate in RATES for intercept in (False, True)}
        measured[name] = Measured(own, 100 * float(np.mean(np.square(np.diff(y)))))
    if context.quick:
        return judge(measured, lacking)
    return judge(measured, lacking, rivals_of(datasets, measured), further(context))


def rivals_of(datasets: Mapping[str, Any], measured: Mapping[str, Measured]) -> list[Rival]:
    """The rivals' errors on the data sets of the paper."""
    found: list[Rival] = []
    for name, rows in datasets.items():
        X, y = rows if isinstance(rows, tuple) else rows.take()
        kept = {method: own for method, own in load().on(REGRESSION, name, X, y).items() if method not in ("DFOP", "RLS")}
        own = measured[name]
        dfop = own.errors[rate_for(name, own), False].before
        found += compared(name, kept, dfop, {method: table_4()[method][name] for method in ENSEMBLES}, lower_is_better=True)
    return found


def further(context: Context) -> list[Rival]:
    """All methods' errors on files that are not in the paper, relative to the labels' variance, against tuned DFOP."""
    found: list[Rival] = []
    for name in load().data_sets(REGRESSION):
        path = None if name in table_4()["DFOP"] else file_of(context, name)
        if path is not None:
            X, y = read(path)
            kept = load().on(REGRESSION, name, X, y)
            if kept:
                unit = 100 / float(np.var(y))
                found += compared(name, kept, unit * kept[TUNED].scores, {}, lower_is_better=True, unit=unit)
    return found


def rate_for(name: str, measured: Measured) -> float:
    """The paper's rate for hyperplane; elsewhere it states none, and the rate chosen on the first rows is used."""
    return rate_of(name) if name == "hyperplane" else measured.chosen()


def judge(
    measured: Mapping[str, Measured],
    left_out: Sequence[str] = (),
    found_rivals: Sequence[Rival] = (),
    found_further: Sequence[Rival] = (),
) -> Findings:
    """Findings from the errors of every data set, rate and intercept, and from those of rivals."""
    paper = table_4()
    records: list[list[Any]] = []
    rows: list[list[Any]] = []
    for name, own in measured.items():
        for (rate, intercept), found in own.errors.items():
            numbers = [f(values) for values in (found.before, found.after) for f in (np.mean, _deviation)]
            records.append([name, "RLS" if rate == 0 else "DFOP", rate, int(intercept), *map(float, numbers), found.tuning])
        rate = rate_for(name, own)
        rows.append([name, "RLS", "", _printed(paper["RLS"][name]), *_cells(own, 0.0)])
        rows.append([name, "DFOP", f"{rate:g}", _printed(paper["DFOP"][name]), *_cells(own, rate)])
        if name != "hyperplane":
            best = own.best()
            rows.append([name, "DFOP, best rate in hindsight", f"{best:g}", "", *_cells(own, best)])
        rows.append([name, "the label before", "", "", Cell(own.last_label, f"{own.last_label:.3f}"), "", ""])
    columns = ["data set", "method", "rate", "paper", "here", "with an intercept", "after learning"]
    records += [[r.data_set, r.method, None, None, r.mean, r.std, None, None, None] for r in found_rivals]
    return Findings(
        numbers=Table(_COLUMNS, records),
        checks=[*checks(measured), *rival_checks(found_rivals, measured)],
        draw=lambda: draw(measured),
        summary=[Table(columns, rows, CAPTION), *rival_summary(measured, found_rivals, found_further)],
        remarks=[*REMARKS, *at_the_edge(measured), OVERLAP, *rival_remarks(measured, found_rivals, found_further)],
        left_out=left_out,
    )


def rival_checks(found: Sequence[Rival], measured: Mapping[str, Measured]) -> list[Check]:
    """Checks whether DFOP's error is below that of all ensembles run, if it is in the paper."""
    paper, checks = table_4(), []
    for name in dict.fromkeys(rival.data_set for rival in found):
        errors = {rival.method: rival.mean for rival in found if rival.data_set == name and rival.method in ENSEMBLES}
        dfop = float(measured[name].errors[rate_for(name, measured[name]), False].before.mean())
        best = min(errors, key=lambda method: errors[method])
        lowest = paper["DFOP"][name].mean < min(paper[method][name].mean for method in ENSEMBLES)
        statement = f"{name}: DFOP's error is {'below' if lowest else 'not below'} that of all ensembles run here"
        checks.append(Check(statement, (dfop < errors[best]) == lowest, f"{dfop:.3f}; {best} has {errors[best]:.3f}"))
    return checks


def rival_summary(measured: Mapping[str, Measured], found: Sequence[Rival], also: Sequence[Rival]) -> list[Table]:
    """Tables of the rivals' errors, on the paper's data sets and others; only the paper's figures if none was run."""
    if not found:
        paper = table_4()
        quoted: list[list[Any]] = [[method, *(_printed(paper[method][name]) for name in measured)] for method in ENSEMBLES]
        return [Table(["method", *measured], quoted, "The paper's figures for its ensembles, which are not run here.")]
    about = load().methods(REGRESSION)
    rest = [method for method in about if method not in ENSEMBLES]
    tables = [
        scores_table(found, ENSEMBLES, f"The paper's ensembles: mean squared error times 100. {SIGNS}"),
        scores_table(found, rest, f"Methods that the paper does not have, likewise. {SIGNS}"),
        methods_table(found, about, "All rivals, on the paper's data sets."),
    ]
    if also:
        unit = "squared error in per cent of the labels' variance"
        words = f"Files that the paper does not have: {unit}. {SIGNS.replace('DFOP', TUNED)}"
        tables += [scores_table(also, list(about), words), methods_table(also, about, "All methods on these files.", TUNED)]
    return tables


def rival_remarks(measured: Mapping[str, Measured], found: Sequence[Rival], also: Sequence[Rival]) -> list[str]:
    """Remarks on how the rivals were run, and where one of them is better."""
    if not found:
        return []
    about = load().methods(REGRESSION)
    dfop = {name: float(own.errors[rate_for(name, own), False].before.mean()) for name, own in measured.items()}
    tuned = {rival.data_set: rival.mean for rival in also if rival.method == TUNED}
    words = [PROTOCOL, READINGS, ahead(found, about, dfop, True)]
    return [*words, f"On the other files, beside {TUNED}: {ahead(also, about, tuned, True)}"] if also else words


_COLUMNS = [
    "data_set", "method", "forget_rate", "intercept", "mse_x100", "std", "mse_x100_after_learning", "std_after_learning",
    "mse_x100_first_rows",
]  # fmt: skip
CAPTION = (
    "Mean squared error times 100, mean and standard deviation over ten subsets. Rows are predicted before they are "
    "learned; the last column predicts them after, as line 5 of Algorithm 1 does."
)


def _deviation(values: NDArray[Any]) -> float:
    return float(np.std(values, ddof=1))


def _printed(number: Printed) -> str:
    return f"{number.mean:.3f} ± {number.std:.3f}"


def _cells(own: Measured, rate: float) -> list[Cell]:
    plain, shifted = own.errors[rate, False], own.errors[rate, True]
    parts = (plain.before, shifted.before, plain.after)
    return [Cell(float(v.mean()), spread_text(float(v.mean()), _deviation(v))) for v in parts]


def checks(measured: Mapping[str, Measured]) -> list[Check]:
    """Checks the paper's statements, on every available data set."""
    paper = table_4()
    found = []
    for name, own in measured.items():
        rate = rate_for(name, own)
        rls, dfop = own.errors[0.0, False].before, own.errors[rate, False].before
        outcome, test = verdict(dfop, rls, lower_is_better=True)
        where = f"{name} (whose parameters were fitted to this table)" if name == "hyperplane" else name
        found.append(
            Check(
                f"{where}: DFOP is significantly better than RLS",
                outcome == "win",
                f"{dfop.mean():.3f} against {rls.mean():.3f}, p = {test.p_value:.1g}",
            )
        )
        least = min(paper[method][name].mean for method in ENSEMBLES)
        lowest = paper["DFOP"][name].mean < least
        found.append(
            Check(
                f"{where}: DFOP's error is {'below' if lowest else 'not below'} the least that the paper prints for an "
                "ensemble",
                bool((dfop.mean() < least) == lowest),
                f"{dfop.mean():.3f} and {least:.3f}",
            )
        )
        if name != "hyperplane":
            ratio = float(dfop.mean()) / paper["DFOP"][name].mean
            rest = float(rls.mean()) / paper["RLS"][name].mean
            found.append(
                Check(
                    f"{name}: DFOP's and RLS's errors are within a quarter of the paper's",
                    bool(0.75 <= ratio <= 1.25 and 0.75 <= rest <= 1.25),
                    f"DFOP {ratio:.2f} times, RLS {rest:.2f} times the paper's",
                )
            )
    return found


REMARKS = (
    ORDER,
    "The norm of the weights and the noise of the hyperplane made here were fitted to the errors of RLS and DFOP in this "
    "very table. That they agree is no evidence.",
    "The paper states no forgetting rate for SRU and Debutanizer. The one that is used is chosen from "
    f"{', '.join(f'{rate:g}' for rate in RATES[1:])} by the error on the first tenth of the rows.",
    "Algorithm 1 has no intercept, and neither has the column that is compared with the paper: on SRU-1 the paper's RLS "
    "has a larger error than a constant would, which an intercept would prevent.",
    "The labels of SRU and Debutanizer change slowly. Predicting the label before, without any input, has the error "
    "shown in the last line of each data set; no method of the table may use that label as an input.",
)


def at_the_edge(measured: Mapping[str, Measured]) -> list[str]:
    """A remark if the chosen rate is the largest of the grid."""
    names = [name for name, own in measured.items() if name in FILES and own.chosen() == RATES[-1]]
    if not names:
        return []
    memory = f"a memory of about {1 / RATES[-1]:g} rows"
    return [f"On {', '.join(names)} the rate chosen is the largest of the grid, {RATES[-1]:g}, {memory}."]


def draw(measured: Mapping[str, Measured]) -> Any:
    """Draws one panel per data set: the error by rate, with and without an intercept, and the paper's errors as lines."""
    from matplotlib.ticker import LogLocator, NullFormatter

    figure, axes = panels(len(measured), width=6.5 if len(measured) == 1 else 4.8, height=4.2)
    paper = table_4()
    at = np.arange(len(RATES))
    for ax, (name, own) in zip(axes, measured.items(), strict=True):
        for k, intercept in enumerate((False, True)):
            means = [own.errors[rate, intercept].before.mean() for rate in RATES]
            wide = [_deviation(own.errors[rate, intercept].before) for rate in RATES]
            words = "with an intercept" if intercept else "no intercept"
            ax.errorbar(
                at, means, wide, marker="o", markersize=4, capsize=2, label=words, **(plots.style(k) | {"linestyle": "-"})
            )
        ax.axhline(paper["RLS"][name].mean, color=NEUTRAL, linestyle=":", label="RLS, paper")
        ax.axhline(paper["DFOP"][name].mean, color=plots.COLOURS[2], linestyle="--", label="DFOP, paper")
        ax.set_xticks(at, ["RLS", *(f"{rate:g}" for rate in RATES[1:])], rotation=45)
        ax.set(xlabel="forgetting rate", ylabel="mean squared error x 100", yscale="log", title=name)
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.legend(frameon=False, fontsize=8)
    return figure


TEXT = {"prior": PRIOR, "hyperplane_rate": rate_of("hyperplane"), "format": FORMAT}
