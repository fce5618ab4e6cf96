"""Compares learners: tuned on separate rows, repeated, and tested for significance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TextIO

import numpy as np

from driftline.base.rules import COUNT, PROBABILITY, WHOLE, choice
from driftline.evaluate.adapters import names_of, predicts_labels
from driftline.evaluate.cases import as_cases
from driftline.evaluate.comparison import Comparison
from driftline.evaluate.contest import Contest, Job, Outcome, Trial, chosen, loss_of, tuning_jobs
from driftline.evaluate.grid import Params
from driftline.evaluate.metrics import as_metrics
from driftline.evaluate.progress import Progress
from driftline.evaluate.sources import has_labels
from driftline.evaluate.workers import run_jobs

WHERE = "compare"


def compare(
    learners: Any,
    streams: Any,
    *,
    repeats: int = 10,
    rows: int | None = None,
    protocol: str | None = None,
    grid: Mapping[str, Any] | None = None,
    tune: Any = 0.1,
    metrics: Any = None,
    reference: str | None = None,
    level: float = 0.95,
    delay: int = 0,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: bool | TextIO = True,
) -> Comparison:
    """Runs learners on the same sequences, several of each stream, and tests whether they differ significantly.

    The given learners are templates: every sequence starts with an untrained copy. A learner with a parameter ``seed`` gets
    a different one in each repetition. A learner that diverges, or rejects a row, gets the worst score and is listed in
    ``failures``.

    Args:
        learners: a list, or a mapping from names to learners. A class, or a function that makes a learner, also works.
        streams: a stream, a list, or a mapping from names to streams. A stream can be a seeded stream, a function that makes
            one from a seed, fixed rows (X, y), or a River dataset.
        repeats: the number of sequences of each stream.
        rows: the number of rows of a sequence (with "subsets": of the rows from which the subsets are cut); required for
            endless streams.
        protocol: "repeats" draws each sequence with its own seed; "subsets" takes overlapping subsets of 4/5 of the rows
            that start at T/50, 2T/50, …, T/5 (for ten). The default is "repeats" if a stream can be drawn again.
        grid: learner -> parameter -> values to try, or learner -> list of settings. The setting with the smallest cumulative
            squared error (for classifiers: the fewest mistakes) on a separate sequence is used.
        tune: the tuning data for streams that cannot be drawn again: a share of the rows, taken from the beginning and not
            used otherwise; or a mapping from stream names to rows (X, y) or streams.
        metrics: names or :class:`Metric` objects; "mse" by default, or "accuracy" for labels.
        reference: the learner that the others are tested against; the first by default.
        level: the significance level, such as 0.95.
        delay: the number of rows by which labels are late.
        seed: determines the seeds of all sequences.
        n_jobs: the number of parallel processes; 1 for none. By default every core, if the work takes more than a few
            seconds.
        progress: show progress on a terminal or in a notebook.

    >>> import driftline as dl
    >>> learners = {"Kalman": dl.Kalman(noise=0.5), "RLS": dl.RLS(), "Ridge": dl.Ridge()}
    >>> grid = {"Kalman": {"drift": [1e-5, 1e-4, 1e-3]}, "RLS": {"forgetting": [0.8, 0.9, 0.99]}}
    >>> stream = dl.streams.Rotating(rate=0.5, unit="deg", noise=0.5)
    >>> result = compare(learners, stream, rows=500, repeats=5, grid=grid, n_jobs=1)
    >>> result.chosen["Rotating"]["RLS"], result.win_tie_loss()["Ridge"].win
    ({'forgetting': 0.9}, 1)
    """
    named = names_of(learners, WHERE)
    repeats = COUNT.require(WHERE, "repeats", repeats)
    grid = grid or {}
    level = PROBABILITY.require(WHERE, "level", level)
    reference = choice(named).require(WHERE, "reference", reference or next(iter(named)))
    rows = COUNT.or_none().require(WHERE, "rows", rows)
    cases = as_cases(streams, rows, repeats, protocol, WHOLE.require(WHERE, "seed", seed), tune, bool(grid))
    if metrics is None:
        labels = all(has_labels(case.data) for case in cases.values()) or any(map(predicts_labels, named.values()))
        metrics = "accuracy" if labels else "mse"
    contest = Contest(named, cases, as_metrics(metrics, WHERE), WHOLE.require(WHERE, "delay", delay))
    trials = _tune(contest, grid, n_jobs, progress)
    best = {stream: {name: chosen(tried) for name, tried in by_name.items()} for stream, by_name in trials.items()}
    jobs = [
        Job(stream, name, best.get(stream, {}).get(name, {}), repetition)
        for stream in cases
        for repetition in range(repeats)
        for name in named
    ]
    with Progress(len(jobs), "runs", show=progress) as bar:
        outcomes = run_jobs(contest, jobs, n_jobs, bar)
    _raise_if_all_refuse(jobs, outcomes)
    return _result(contest, jobs, outcomes, best, trials, reference, level)


def _raise_if_all_refuse(jobs: Sequence[Job], outcomes: Sequence[Outcome]) -> None:
    """Raises ValueError if all learners refuse a sequence: the rows are at fault."""
    refused: dict[tuple[str, int | None], list[Outcome]] = {}
    for job, outcome in zip(jobs, outcomes, strict=True):
        refused.setdefault((job.stream, job.repetition), []).append(outcome)
    for (stream, repetition), together in refused.items():
        if all(outcome.refused for outcome in together):
            raise ValueError(f"{WHERE}: every learner refuses repetition {repetition} of {stream}: {together[0].failure}")


def _tune(
    contest: Contest, grid: Mapping[str, Any], n_jobs: int | None, progress: bool | TextIO
) -> dict[str, dict[str, list[Trial]]]:
    """The trials on the tuning sequences, by stream and learner."""
    jobs = tuning_jobs(contest, grid)
    with Progress(len(jobs), "trials", show=progress) as bar:
        outcomes = run_jobs(contest, jobs, n_jobs, bar)
    trials: dict[str, dict[str, list[Trial]]] = {}
    for job, outcome in zip(jobs, outcomes, strict=True):
        trials.setdefault(job.stream, {}).setdefault(job.learner, []).append(
            Trial(job.params, loss_of(outcome), outcome.failure)
        )
    return trials


def _result(
    contest: Contest,
    jobs: Sequence[Job],
    outcomes: Sequence[Outcome],
    best: dict[str, dict[str, Params]],
    trials: dict[str, dict[str, list[Trial]]],
    reference: str,
    level: float,
) -> Comparison:
    streams, learners = list(contest.cases), list(contest.learners)
    shape = (len(streams), len(outcomes) // (len(streams) * len(learners)), len(learners))

    def arranged(values: list[float]) -> np.ndarray[Any, Any]:
        return np.array(values).reshape(shape).transpose(0, 2, 1)

    return Comparison(
        streams=streams,
        learners=learners,
        metrics={metric.name: metric for metric in contest.metrics},
        scores={metric.name: arranged([o.values[metric.name] for o in outcomes]) for metric in contest.metrics},
        seconds=arranged([outcome.seconds for outcome in outcomes]),
        chosen=best,
        trials=trials,
        failures=[
            (job.stream, job.learner, job.repetition or 0, outcome.failure)
            for job, outcome in zip(jobs, outcomes, strict=True)
            if outcome.failure is not None
        ],
        reference=reference,
        level=level,
        protocols={name: case.protocol for name, case in contest.cases.items()},
    )
