"""The result of a comparison: scores, tests, tables and pictures."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from driftline.base.rules import choice
from driftline.evaluate import plots, statistics
from driftline.evaluate.contest import Trial, spelled
from driftline.evaluate.grid import Params
from driftline.evaluate.metrics import Metric
from driftline.evaluate.statistics import PairedTest, Ranks
from driftline.evaluate.tables import Cell, Table, Value, finite, write
from driftline.tables.inputs import Array

MARKS = {"win": " •", "tie": "", "loss": " ◦"}
PROTOCOL_WORDS = {"repeats": "repetitions", "subsets": "consecutive subsets"}


class WinTieLoss(NamedTuple):
    """The number of streams on which the reference is significantly better, neither, or worse."""

    win: int
    tie: int
    loss: int

    def __str__(self) -> str:
        return f"{self.win}/{self.tie}/{self.loss}"


@dataclass(frozen=True, eq=False)
class Comparison:
    """The scores of learners on streams, with repetitions.

    Attributes:
        streams, learners: their names.
        metrics: the metrics by name.
        scores: metric -> (streams, learners, repetitions) values.
        seconds: (streams, learners, repetitions) time spent predicting and learning.
        chosen: stream -> learner -> the parameters that tuning chose.
        trials: stream -> learner -> every setting that was tried, with its loss.
        failures: stream, learner, repetition and message of every failure.
        reference: the learner that the others are compared with.
        level: the significance level.
        protocols: stream -> how its sequences were taken, "repeats" or "subsets".
    """

    streams: list[str]
    learners: list[str]
    metrics: Mapping[str, Metric]
    scores: dict[str, Array]
    seconds: Array
    chosen: dict[str, dict[str, Params]] = field(default_factory=dict)
    trials: dict[str, dict[str, list[Trial]]] = field(default_factory=dict)
    failures: list[tuple[str, str, int, str]] = field(default_factory=list)
    reference: str = ""
    level: float = 0.95
    protocols: dict[str, str] = field(default_factory=dict)

    @property
    def repeats(self) -> int:
        """The number of sequences of each stream."""
        return int(self.seconds.shape[2])

    def _metric(self, metric: str | None) -> Metric:
        name = metric or next(iter(self.metrics))
        return self.metrics[choice(self.metrics).require("Comparison", "metric", name)]

    def _ranked(self, metric: str | None, verb: str) -> Metric:
        chosen = self._metric(metric)
        if not chosen.ranked:
            raise ValueError(f"Comparison.{verb}: {chosen.name} cannot rank learners: neither more nor less is better")
        return chosen

    def mean(self, metric: str | None = None) -> Array:
        """Means over the repetitions, (streams, learners)."""
        means: Array = self.scores[self._metric(metric).name].mean(axis=2)
        return means

    def std(self, metric: str | None = None) -> Array:
        """Standard deviations over the repetitions, (streams, learners); NaN if there is only one."""
        if self.repeats < 2:
            return np.full(self.seconds.shape[:2], np.nan)
        with np.errstate(over="ignore", invalid="ignore"):
            deviations: Array = self.scores[self._metric(metric).name].std(axis=2, ddof=1)
        return deviations

    def tests(
        self, metric: str | None = None, reference: str | None = None
    ) -> dict[str, dict[str, tuple[statistics.Verdict, PairedTest]]]:
        """Whether the reference wins, ties or loses, and the paired t-test behind it, by stream and other learner."""
        chosen = self._ranked(metric, "tests")
        own = self._index(reference)
        return {
            stream: {
                name: statistics.verdict(by_learner[own], by_learner[i], chosen.lower_is_better, self.level)
                for i, name in enumerate(self.learners)
                if i != own
            }
            for stream, by_learner in zip(self.streams, self.scores[chosen.name], strict=True)
        }

    def _index(self, reference: str | None) -> int:
        name = choice(self.learners).require("Comparison", "reference", reference or self.reference)
        return self.learners.index(name)

    def win_tie_loss(self, metric: str | None = None, reference: str | None = None) -> dict[str, WinTieLoss]:
        """The number of streams on which the reference wins, ties and loses, for each other learner."""
        tests = self.tests(metric, reference)
        others = list(next(iter(tests.values())))
        found = {name: [by_name[name][0] for by_name in tests.values()] for name in others}
        return {name: WinTieLoss(*(said.count(word) for word in ("win", "tie", "loss"))) for name, said in found.items()}

    def robustness(self, metric: str | None = None) -> dict[str, float]:
        """Sum over the streams of a learner's mean relative to the worst learner's; higher is better.

        A learner that failed on a stream adds 0 there, and does not count as the worst.

        References: :cite:`zhao2021`, Section 6.1.
        """
        chosen = self._ranked(metric, "robustness")
        sums = statistics.robustness(self.mean(chosen.name), chosen.lower_is_better)
        return dict(zip(self.learners, sums.tolist(), strict=True))

    def ranks(self, metric: str | None = None, over: Literal["streams", "repeats"] | None = None) -> Ranks:
        """Mean ranks over the streams, with Friedman's test and Nemenyi's critical difference.

        Args:
            metric: by default the first one.
            over: "streams" ranks the means on each stream; "repeats" ranks every repetition, so the result holds only for
                these streams. By default "streams" if there are several.
        """
        chosen = self._ranked(metric, "ranks")
        over = over or ("streams" if len(self.streams) > 1 else "repeats")
        choice(("streams", "repeats")).require("Comparison.ranks", "over", over)
        blocks = self.mean(chosen.name)
        if over == "repeats":
            blocks = self.scores[chosen.name].transpose(0, 2, 1).reshape(-1, len(self.learners))
        return statistics.compare_ranks(self.learners, blocks, chosen.lower_is_better, self.level)

    def table(self, metric: str | None = None, reference: str | None = None) -> Table:
        """One stream a row: mean ± deviation of each learner, the best in bold.

        The mark • means that the reference is significantly better than this learner, ◦ that it is worse. The last rows are
        the reference's win/tie/loss against each learner, and the mean ranks. Coverage and width have none of these, because
        intervals should be narrow and their coverage should equal the level.
        """
        chosen = self._metric(metric)
        own = self.learners[self._index(reference)]
        tests = self.tests(metric, own) if chosen.ranked else {}
        means, deviations = self.mean(metric), self.std(metric)
        rows: list[list[Value | Cell]] = []
        for stream, mean, std in zip(self.streams, means, deviations, strict=True):
            best = mean.min() if chosen.lower_is_better else mean.max()
            cells: list[Value | Cell] = [stream]
            for name, middle, spread in zip(self.learners, mean.tolist(), std.tolist(), strict=True):
                mark = "" if name == own or not chosen.ranked else MARKS[tests[stream][name][0]]
                cells.append(Cell(middle, spread_text(middle, spread) + mark, bold=chosen.ranked and middle == best))
            rows.append(cells)
        if chosen.ranked and len(self.learners) > 1:
            counts = self.win_tie_loss(metric, own)
            rows.append([f"{own}: win/tie/loss", *(str(counts[name]) if name in counts else "" for name in self.learners)])
            ranks = rank_means(self, chosen)
            rows.append(["mean rank", *(Cell(ranks[name], f"{ranks[name]:.2f}") for name in self.learners)])
        return Table(["stream", *self.learners], rows, self._caption(chosen, own))

    def _caption(self, metric: Metric, own: str) -> str:
        words = " or ".join(dict.fromkeys(PROTOCOL_WORDS[p] for p in self.protocols.values())) or "repetitions"
        marks = f"; • {own} is significantly better, ◦ worse (paired t-test, {self.level:.0%})".replace("%", " %")
        text = f"{metric.title}, mean ± standard deviation over {self.repeats} {words}"
        return text + (marks if metric.ranked and len(self.learners) > 1 and self.repeats > 1 else "")

    def record_table(self) -> Table:
        """All numbers: one stream, learner and metric a row."""
        columns = ["stream", "learner", "metric", "mean", "std", "p_value", "reference_does", "seconds", "parameters"]
        rows: list[list[Value | Cell]] = []
        for metric, kind in self.metrics.items():
            tests: Mapping[str, Any] = self.tests(metric) if kind.ranked else {}
            means, deviations = self.mean(metric), self.std(metric)
            for s, stream in enumerate(self.streams):
                for k, learner in enumerate(self.learners):
                    outcome, test = tests.get(stream, {}).get(learner, (None, None))
                    params = self.chosen.get(stream, {}).get(learner, {})
                    numbers = [float(means[s, k]), float(deviations[s, k]), None if test is None else test.p_value]
                    seconds = float(self.seconds[s, k].mean())
                    rows.append([stream, learner, metric, *numbers, outcome, seconds, spelled(params)])
        return Table(columns, rows)

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """Every mean, deviation and p-value as comma-separated values."""
        return self.record_table().to_csv(path)

    def to_markdown(self, path: str | os.PathLike[str] | None = None, metric: str | None = None) -> str:
        """The table of one metric in Markdown."""
        return self.table(metric).to_markdown(path)

    def to_latex(self, path: str | os.PathLike[str] | None = None, metric: str | None = None) -> str:
        """The table of one metric in LaTeX."""
        return self.table(metric).to_latex(path)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """The score of every repetition, the parameters chosen, and the records of :meth:`record_table`."""
        content = {
            "streams": self.streams,
            "learners": self.learners,
            "protocols": self.protocols,
            "reference": self.reference,
            "level": self.level,
            "scores": {name: values.tolist() for name, values in self.scores.items()},
            "seconds": self.seconds.tolist(),
            "chosen": self.chosen,
            "failures": self.failures,
            "records": self.record_table().records(),
        }
        return write(json.dumps(finite(content), ensure_ascii=False, indent=1, default=repr) + "\n", path)

    def plot(
        self,
        kind: Literal["scores", "ranks", "robustness"] = "scores",
        metric: str | None = None,
        *,
        ax: Any = None,
        path: Any = None,
    ) -> Any:
        """Plots the comparison; returns matplotlib's axes.

        Args:
            kind: "scores", means and deviations on every stream; "ranks", the diagram of critical differences; "robustness",
                one bar a learner.
            metric: by default the first one.
            ax: axes to draw on; new ones by default.
            path: a file to write the picture to.
        """
        chosen = self._metric(metric)
        choice(("scores", "ranks", "robustness")).require("Comparison.plot", "kind", kind)
        if kind == "ranks":
            ranks = self.ranks(chosen.name)
            title = f"Ranks by {chosen.title}: learners joined by a bar do not differ at {self.level:.0%}".replace("%", " %")
            return plots.draw_ranks(ranks.mean, ranks.critical_difference, title, ax=ax, path=path)
        if kind == "robustness":
            label = f"sum over {len(self.streams)} streams of the ratio to the worst learner"
            return plots.draw_bars(self.robustness(chosen.name), label, f"Robustness: {chosen.title}", ax=ax, path=path)
        means = {
            stream: dict(zip(self.learners, zip(mean.tolist(), std.tolist(), strict=True), strict=True))
            for stream, mean, std in zip(self.streams, self.mean(chosen.name), self.std(chosen.name), strict=True)
        }
        title = f"Mean and standard deviation over {self.repeats} repetitions"
        return plots.draw_points(means, chosen.title, title, ax=ax, path=path)

    def __str__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def rank_means(comparison: Comparison, metric: Metric) -> dict[str, float]:
    """Mean ranks over the streams."""
    ranks = statistics.rank_rows(comparison.mean(metric.name), metric.lower_is_better).mean(axis=0)
    return dict(zip(comparison.learners, ranks.tolist(), strict=True))


def spread_text(mean: float, std: float) -> str:
    """A mean and its deviation, rounded to the digits that are significant.

    >>> spread_text(12.34567, 0.0234), spread_text(1234.5, 67.8), spread_text(0.5, float("nan"))
    ('12.346 ± 0.023', '1234 ± 68', '0.5')
    """
    if not np.isfinite(std) or not np.isfinite(mean):
        return f"{mean:.4g}"
    if std == 0:
        return f"{mean:.4g} ± 0"
    digits = 1 - int(np.floor(np.log10(std)))
    if digits > 8 or abs(mean) >= 1e7:
        return f"{mean:.4g} ± {std:.2g}"
    return f"{mean:.{max(0, digits)}f} ± {std:.{max(0, digits)}f}"
