"""``driftline run``: along a file or a pipe, predict, then learn, and keep what is needed to go on."""

from __future__ import annotations

import queue
import shlex
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any

import numpy as np

from driftline.base.learner import Learner
from driftline.base.run import Run
from driftline.cli import checkpoint
from driftline.cli.checkpoint import Checkpoint, StateError
from driftline.cli.locks import locked
from driftline.cli.outputs import Mark, Output, open_output
from driftline.cli.scoring import add_run, make_scorer, standing
from driftline.cli.signals import Stop
from driftline.errors import DriftlineWarning
from driftline.evaluate import Progress
from driftline.evaluate.scorer import Scorer
from driftline.files import Block, DataError, Follower, Options, Rows
from driftline.files.follower import ALIGNED, Stretch, joined
from driftline.files.opening import JSON_LINES
from driftline.files.raw import RawBlock
from driftline.files.rows import same_source
from driftline.report import Chronicle
from driftline.report.clock import InUTC
from driftline.report.page import check_jinja, write_page
from driftline.storage import atomic

SAVE_EVERY = 5.0  # seconds
WAIT = 0.1  # seconds until a signal is heeded while nothing arrives
PIECE = 0.2  # seconds of learning until a signal is heeded


@dataclass
class Request:
    """What ``driftline run`` was asked for."""

    source: str
    options: Options
    model: Learner
    settings: dict[str, Any]  # as they are kept in a state, by option
    delay: int = 0
    level: float | None = None
    out: str | None = None
    report: Path | None = None
    state: Path | None = None
    resume: bool = False
    save_every: int | None = None
    command: list[str] = field(default_factory=list)
    show: bool = False


@dataclass
class Outcome:
    """What came of a run, for the summary."""

    source: str
    model: Learner
    names: list[str]
    score: Scorer
    rows: int
    resumed_at: int
    stopped: str
    seconds: float
    reading: float
    learning: float
    backwards: int
    untold: str | None  # a column that could have said when, for the report
    crowded: dict[str, int]  # columns of more texts than have features of their own, and how many have


def run(request: Request) -> Outcome:
    """Does what was asked for. DataError, StateError, OutputError, InUseError or OSError where it cannot be done."""
    if request.report is not None:
        check_jinja()  # at once, not after the work
    outputs = {"--out": request.out, "--report": request.report, "--state": request.state}
    with locked("run", outputs) as confirm, Stop() as stop, warnings.catch_warnings():
        warnings.simplefilter("ignore", DriftlineWarning)  # the summary has them
        return Job(request, stop, confirm).run()


class Job:
    """One run along a source. ``confirm`` is called before a file is written: its locks are still held, or it raises."""

    def __init__(self, request: Request, stop: Stop, confirm: Callable[[], None]) -> None:
        self.request, self.stop, self.confirm = request, stop, confirm
        self.began = perf_counter()
        kept = self._kept()
        self.rows = Rows(
            request.source,
            request.options,
            known=None if kept is None else kept.known,
            skip=0 if kept is None else kept.rows,
        )
        self.model = request.model if kept is None else kept.model
        self.follower = Follower(self.model, delay=request.delay, level=request.level)
        self.score = make_scorer(request.delay, request.level)
        self.done = self.resumed_at = 0
        self.chronicle: Chronicle | None = None
        self.learning = 0.0
        self.speed = 1000.0  # rows a second, at first a guess
        self.saved_at, self.saved_rows = monotonic(), 0
        try:
            if kept is not None:
                self._go_on(kept)
            elif request.report is not None:
                self.chronicle = Chronicle(target=request.options.target or "y", level=request.level, delay=request.delay)
            self.output = self._open_output(kept)
        except BaseException:
            self.rows.close()
            raise

    def _kept(self) -> Checkpoint | None:
        request = self.request
        if request.state is None:
            return None
        atomic.sweep(atomic.target(request.state))
        if not request.resume or not request.state.exists():
            checkpoint.check_replaceable(request.state)
            return None
        kept = checkpoint.load(request.state)
        checkpoint.check_settings(kept.settings, request.settings, request.state)
        return kept

    def _go_on(self, kept: Checkpoint) -> None:
        if not same_source(kept.source, self.rows):
            raise StateError(
                f"{self.request.state}: was saved by a run along another source: "
                f"the beginning of {self.rows.name} is not the same"
            )
        self.done = self.resumed_at = self.saved_rows = kept.rows
        self.score.restore(kept.parts["score"])
        self.follower.restore(kept.parts["late"])
        if self.request.report is not None:
            if "report" not in kept.parts:
                raise StateError(f"{self.request.state}: was saved by a run without --report, which needs every row")
            self.chronicle = Chronicle.restore(kept.parts["report"])

    def _open_output(self, kept: Checkpoint | None) -> Output:
        ending = ".jsonl" if self.rows.reader.opened.format == JSON_LINES else ".csv"
        mark = None if kept is None else Mark(**(kept.written or {}))
        return open_output(self.request.out, ending=ending, kept=self.request.state is not None, mark=mark)

    def run(self) -> Outcome:
        """From the first row that is not done to the last, or until asked to stop."""
        request = self.request
        try:
            with Progress(self.rows.count, start=self.done, show=request.show) as bar:
                self.rows.start()
                for raw in self._arriving():
                    self._learn(raw, bar)
            self._finish()
        except BrokenPipeError:
            self.stop.asked = "a closed pipe"
            self._finish()
        except BaseException:
            if self.saved_rows == 0 or request.state is None:
                self.output.discard()
            else:
                self.output.abandon()
            raise
        finally:
            self.rows.close()
        return self._outcome()

    def _arriving(self) -> Iterator[RawBlock]:
        while not self.stop:
            try:
                raw = self.rows.next_raw(timeout=WAIT)
            except queue.Empty:
                self._save_if_due()
                continue
            if raw is None:
                self._check_end()
                return
            self._begin_anew()
            yield raw

    def _begin_anew(self) -> None:
        """Removes a state that is not resumed: its predictions are about to be overwritten."""
        if self.done == 0 and self.request.state is not None:
            self.confirm()
            atomic.target(self.request.state).unlink(missing_ok=True)

    def _check_end(self) -> None:
        if self.rows.reader.seen < self.resumed_at:
            raise StateError(
                f"{self.request.state}: was saved after {self.resumed_at:,} rows, "
                f"and {self.rows.name} has {self.rows.reader.seen:,}"
            )

    def _learn(self, raw: RawBlock, bar: Progress) -> None:
        begin = 0
        while begin < len(raw) and not self.stop:
            end = min(len(raw), begin + self._next_rows(raw.start + begin))
            piece = raw.piece(begin, end)
            began = perf_counter()
            block = self.rows.encode(piece)
            run = self._follow(block)
            spent = perf_counter() - began
            self.learning += spent
            self.speed = (end - begin) / max(spent, 1e-6)
            self._take(block, run)
            self.done, begin = piece.start + len(piece), end
            bar.advance(len(piece), self.rows.share(piece.consumed), lambda: standing(self.score, self.model))
            self._save_if_due()

    def _next_rows(self, row: int) -> int:
        """How many rows to take at once: few enough to heed a signal soon."""
        rows = max(64, int(self.speed * PIECE))
        if self.request.save_every:
            rows = min(rows, self.request.save_every - row % self.request.save_every)
        if self.chronicle is not None:  # which is quick where rows begin at the multiple of a power of 2
            rows -= (row + rows) % min(ALIGNED, 1 << (rows.bit_length() - 1))
        return rows

    def _follow(self, block: Block) -> Run:
        runs: list[Run] = []
        shown = self.chronicle is not None and self.model._by_feature  # there are weights to be shown
        try:
            for stretch in self.follower.stretches(
                block, self.chronicle.weights_every if self.chronicle and shown else None
            ):
                self._chronicle(stretch)
                runs.append(stretch.run)
        except DataError as error:
            raise error.within(self.rows.name) from error
        return joined(runs)

    def _chronicle(self, stretch: Stretch) -> None:
        if self.chronicle is not None:
            X = stretch.X if stretch.X.shape[1] else None
            times = stretch.times if stretch.times is None or stretch.zone is None else InUTC(stretch.times)
            self.chronicle.add(stretch.run, X, stretch.y, times=times, model=self.model)

    def _take(self, block: Block, run: Run) -> None:
        add_run(self.score, run, block)
        columns = {"row": np.arange(block.start, block.start + len(block))}
        if block.times is not None:
            columns["time"] = block.times
        assert block.y is not None
        columns |= {"target": block.y, "prediction": run.predictions}
        if run.lower is not None and run.upper is not None:
            columns |= {"lower": run.lower, "upper": run.upper}
        self.output.write(columns, block.zone)

    def _save_if_due(self) -> None:
        if self.request.state is None or self.done == self.saved_rows:
            return
        every = self.request.save_every
        if self.done // every > self.saved_rows // every if every else monotonic() - self.saved_at > SAVE_EVERY:
            self._save()

    def _save(self) -> None:
        """The output first: a state never speaks of rows that are not written."""
        request = self.request
        if request.state is None:
            return
        self.confirm()
        written = self.output.sync()
        parts: dict[str, dict[str, Any]] = {"score": self.score.state(), "late": self.follower.state()}
        if self.chronicle is not None:
            parts["report"] = self.chronicle.state()
        Checkpoint(
            model=self.model,
            settings=request.settings,
            source=self.rows.fingerprint(),
            rows=self.done,
            written=None if request.out is None else asdict(written),
            known=self.rows.state(),
            parts=parts,
        ).save(request.state)
        self.saved_at, self.saved_rows = monotonic(), self.done

    def _finish(self) -> None:
        """Saves what was asked for, and puts it in its place."""
        if self.done == 0:
            if not self.stop:
                raise DataError("has names and no rows", source=self.rows.name)
            self.output.discard()
            return
        if self.score.baselines is not None and not self.score.baselines.any_label and not self.stop:
            raise DataError("no row has a target", source=self.rows.name, column=self.request.options.target)
        if self.done > self.resumed_at:
            self._save()
        self.confirm()
        self.output.place()
        if self.chronicle is not None and self.request.report is not None and self._page_is_due(self.request.report):
            command = shlex.join(["driftline", *self.request.command])
            write_page(self.chronicle, self.request.report, command=command)

    def _page_is_due(self, page: Path) -> bool:
        """Not where every row was done before, and the page was written after the state that says so."""
        if self.done > self.resumed_at or self.request.state is None or not page.exists():
            return True
        return page.stat().st_mtime_ns < self.request.state.stat().st_mtime_ns

    def _outcome(self) -> Outcome:
        return Outcome(
            source=self.rows.name,
            model=self.model,
            names=self.rows.names,
            score=self.score,
            rows=self.done,
            resumed_at=self.resumed_at,
            stopped=self.stop.asked,
            seconds=perf_counter() - self.began,
            reading=self.rows.seconds,
            learning=self.learning,
            backwards=self.rows.encoder.backwards,
            untold=self.rows.encoder.dated() if self.request.report and not self.request.options.time else None,
            crowded=self.rows.encoder.crowded(),
        )
