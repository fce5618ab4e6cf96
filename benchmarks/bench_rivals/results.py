"""Tables, verdicts and the picture of the results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import machine
from benchmarks.bench_rivals.methods import METHODS
from benchmarks.bench_rivals.task import DELAYS, SHORT
from benchmarks.report import Cell, Table, Verdict, verdict_table

AHEAD_OF = 0.99  # ratio of a rival's error to Auto's below which the rival is ahead
MOST_AHEAD = {(0, "lightgbm_500"): 1, (0, "lightgbm_100"): 2} | {(delay, "lightgbm_500"): 2 for delay in DELAYS[1:]}
PAIRS = (("auto_refit_500", "lightgbm_500"), ("auto_refit_100", "lightgbm_100"))
Kept = dict[str, dict[int, dict[str, dict[str, Any]]]]  # file -> delay -> method -> figures


def read(folder: Path) -> Kept:
    """All stored results."""
    found: Kept = {}
    for path in sorted(folder.glob("*/*/*.json")):
        if path.stem in METHODS:
            own = found.setdefault(path.parts[-3], {}).setdefault(int(path.parts[-2]), {})
            own[path.stem] = json.loads(path.read_text())
    return found


def ratios(kept: Kept, delay: int, method: str, figure: str = "mse", base: str = "auto") -> dict[str, float]:
    """The ratio of two methods' figures for each file that has both."""
    pairs = {name: by_delay.get(delay, {}) for name, by_delay in kept.items()}
    return {
        name: own[method][figure] / own[base][figure]
        for name, own in pairs.items()
        if figure in own.get(method, {}) and figure in own.get(base, {})
    }


def by_file(kept: Kept, delay: int, figure: str) -> Table:
    """Every method's figure relative to Auto's, a line for each file, and the geometric mean."""
    columns = {method: ratios(kept, delay, method, figure) for method in METHODS if method != "auto"}
    columns = {method: column for method, column in columns.items() if column}
    names = sorted({name for column in columns.values() for name in column})
    lines: list[list[Cell]] = [[name, *(column.get(name, "") for column in columns.values())] for name in names]
    lines.append(["geometric mean", *map(_mean, columns.values())])
    kinds = {"mse": "squared error", "mae": "absolute error", "interval": "interval score"}
    title = f"{kinds[figure].capitalize()} relative to Auto's, labels {_late(delay)}"
    return Table(title, ["file", *(METHODS[method].words for method in columns)], lines)


def summary(kept: Kept) -> Table:
    """Geometric means over the files of squared and absolute errors relative to Auto's, by delay."""
    columns = [(delay, figure) for figure in ("mse", "mae") for delay in DELAYS]
    lines: list[list[Cell]] = []
    for method in METHODS:
        found = [ratios(kept, delay, method, figure) for delay, figure in columns]
        if any(found):
            lines.append([METHODS[method].words, *(_mean(column) if column else "" for column in found)])
    header = ["method", *(f"{'squared' if figure == 'mse' else 'absolute'}, {_late(delay)}" for delay, figure in columns)]
    return Table("Errors relative to Auto's", header, lines, note="Geometric means over the files.")


def speeds(kept: Kept) -> Table:
    """Rows per CPU-second over all files with immediate labels, and Auto's relative to them."""
    lines: list[list[Cell]] = []
    for method, own in METHODS.items():
        runs = [by_delay[0] for by_delay in kept.values() if {method, "auto"} <= by_delay.get(0, {}).keys()]
        if runs:
            rate, auto = (_rate(runs, which) for which in (method, "auto"))
            each = [_rate([run], "auto") / _rate([run], method) for run in runs]
            lines.append([own.words, len(runs), rate, auto / rate, min(each), max(each)])
    header = ["method", "files", "rows/s", "Auto's over it", "least", "most"]
    return Table("Rows a second, labels at once", header, lines)


def intervals(kept: Kept) -> Table:
    """Coverage of the intervals at 0.9, and their score relative to Auto's: geometric means over the files."""
    lines: list[list[Cell]] = []
    for delay in DELAYS:
        for method in METHODS:
            score = ratios(kept, delay, method, "interval")
            if score:
                covered = [kept[name][delay][method]["coverage"] for name in score]
                name = f"{METHODS[method].words}, {_late(delay)}"
                lines.append([name, len(score), _mean(score), float(np.mean(covered)), min(covered)])
    return Table(
        "Intervals at level 0.9", ["method, labels", "files", "score relative to Auto's", "coverage", "minimum"], lines
    )


def verdicts(kept: Kept) -> list[Verdict]:
    """The measurements with their targets."""
    found = []
    for (delay, method), most in MOST_AHEAD.items():
        own = ratios(kept, delay, method)
        names = [name for name, ratio in own.items() if ratio < AHEAD_OF]
        what = f"{METHODS[method].words}, labels {_late(delay)}, ahead of Auto ({', '.join(names) or 'nowhere'})"
        found.append(Verdict(what, len(names), most, f"of {len(own)} files"))
    for delay in DELAYS:
        for method, base in PAIRS:
            own = ratios(kept, delay, method, base=base)
            if own:
                worst = max(own, key=own.__getitem__)
                what = f"{METHODS[method].words}, labels {_late(delay)}, over LightGBM at worst ({worst})"
                found.append(Verdict(what, own[worst], 1.01, "squared error"))
    long = [by_delay[0] for by_delay in kept.values() if {"auto", "lightgbm_three_lags"} <= by_delay.get(0, {}).keys()]
    long = [run for run in long if run["auto"]["rows"] >= SHORT]  # those that are refitted every 500 rows
    if long:
        share = _rate(long, "lightgbm_three_lags") / _rate(long, "auto")
        what = f"LightGBM's rows a second, three lags, every 500, on {len(long)} files of {SHORT:,} rows and more"
        found.append(Verdict(what, share, 0.25, "of Auto's"))
    return found


def draw(kept: Kept, path: Path) -> None:
    """Draws LightGBM's squared error relative to Auto's, with and without Refit among the experts, a line for each file."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    ticks = (0.8, 1, 1.5, 2, 3, 5, 10)
    figure, axes = plt.subplots(1, len(DELAYS), figsize=(12, 6), sharex=True, layout="constrained")
    for panel, delay in zip(axes, DELAYS, strict=True):
        panel.axvline(1, color="0.6", linewidth=1)
        first = ratios(kept, delay, "lightgbm_500")
        names = sorted(first, key=first.__getitem__)
        for base, style in (
            ("auto", {"marker": "o", "s": 30}),
            ("auto_refit_500", {"marker": "D", "s": 55, "facecolors": "none"}),
        ):
            own = ratios(kept, delay, "lightgbm_500", base=base)
            places = [min(own.get(name, np.nan), ticks[-1]) for name in names]
            color = "tab:blue" if base == "auto" else "tab:orange"
            panel.scatter(places, names, edgecolors=color, label=METHODS[base].words, **{"facecolors": color, **style})
        panel.set_xscale("log")
        panel.set_xticks(ticks, [*map(str, ticks[:-1]), "≥ 10"])
        panel.minorticks_off()
        panel.set_title(f"labels {_late(delay)}", fontsize=10)
        panel.tick_params(labelsize=7)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="lower left", ncols=2, fontsize=8, frameon=False)
    figure.supxlabel(
        "LightGBM's squared error, refitted every 500 rows, over that of Auto: right of 1, Auto is ahead", fontsize=9
    )
    figure.savefig(path, dpi=110)
    plt.close(figure)


def show(folder: Path, docs: Path | None) -> None:
    """Prints all tables and verdicts; with a folder for the docs, writes most of them and the picture there."""
    kept = read(folder)
    squared, absolute = ([by_file(kept, delay, figure) for delay in DELAYS] for figure in ("mse", "mae"))
    others = [intervals(kept), speeds(kept), verdict_table(verdicts(kept))]
    print("\n\n".join(table.text() for table in (*squared, *absolute, summary(kept), *others)))
    if docs is not None:
        pieces = [table.markdown() for table in (summary(kept), *squared, *others)]
        (docs / "bench_rivals.md").write_text("\n\n".join([*pieces, _facts()]) + "\n")
        draw(kept, docs / "bench_rivals.png")


def _facts() -> str:
    own = machine.circumstances()
    return f"Measured up to {own['date']} on {machine.machine()['processor']}; {own['versions']}."


def _late(delay: int) -> str:
    return "at once" if delay == 0 else f"{delay} rows late"


def _mean(column: dict[str, float]) -> float:
    return float(np.exp(np.mean(np.log(list(column.values())))))


def _rate(runs: list[dict[str, dict[str, Any]]], method: str) -> float:
    return float(sum(run[method]["rows"] for run in runs) / sum(run[method]["seconds"] for run in runs))
