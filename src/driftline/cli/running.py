"""``driftline run``: predicts and learns the rows of a file or pipe, and saves what is needed to resume."""

from __future__ import annotations

import queue
import shlex
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any

from driftline.base.learner import Learner
from driftline.base.levels import NO_SPREAD, Spread
from driftline.cli import checkpoint
from driftline.cli.checkpoint import Checkpoint, StateError
from driftline.cli.errors import StoppedError
from driftline.cli.keyed import Keyed
from driftline.cli.locks import locked
from driftline.cli.matching import Matching
from driftline.cli.measures import Errors, WrongClasses, standing
from driftline.cli.outputs import Output, open_output
from driftline.cli.signals import Stop
from driftline.cli.tasks import Columns, Following, Forecasting, Task
from driftline.delayed import Forecaster, Pending
from driftline.errors import DriftlineWarning
from driftline.evaluate import Progress
from driftline.files import DataError, Options, Rows
from driftline.files.digests import Digests
from driftline.files.errors import HaltedError, no_column
from driftline.files.follower import ALIGNED
from driftline.files.ids import Labels
from driftline.files.options import CLASSIFY
from driftline.files.raw import Block
from driftline.fleet import Fleet
from driftline.report import RunLog
from driftline.report.key_log import KeyLog
from driftline.report.page import check_jinja
from driftline.storage import atomic
from driftline.tables.categories import crowded

SAVE_EVERY = 5.0  # seconds
WAIT = 0.1  # seconds between checks for signals while nothing arrives
PIECE = 0.2  # seconds of learning between checks for signals
CLOSED = "a closed pipe"
PATIENCE = 10.0  # seconds to wait for the last rows to be counted, where a pipe cannot be asked to end
GRACE = 5.0  # seconds to learn what was read of a pipe before a request to stop


@dataclass
class Request:
    """The options of ``driftline run``."""

    source: str
    options: Options
    model: Learner
    settings: dict[str, Any]  # as stored in a state, by option
    delay: int = 0
    spread: Spread = NO_SPREAD
    steps: int | None = None  # how many rows ahead to forecast; None to predict each row
    known: tuple[str, ...] | None = None  # the columns known ahead; None for all
    smoothing: bool | None = None  # mix in forecasts from the labels alone; None if the learner is auto
    seasons: list[int] | None = None  # their lengths; None to find them
    labels: str | None = None  # a file of labels by id
    pooled: bool = False  # keys learn from each other
    out: str | None = None
    report: Path | None = None
    state: Path | None = None
    resume: bool = False
    from_start: bool = False  # a pipe brings the rows done before again
    save_every: int | None = None
    command: list[str] = field(default_factory=list)
    show: bool = False


@dataclass
class RunResult:
    """The result of a run, for the summary."""

    source: str
    task: Task
    names: list[str]
    rows: int
    resumed_at: int
    refed: bool  # the pipe began with the rows that were learned first
    replaced: bool  # the state of an earlier run was there, and is gone
    delay: int
    more: bool
    stopped: str
    unlearned: int  # rows that were read of a pipe, but not learned before the run had to stop
    cut_off: bool  # whether the pipe was read to within a row
    seconds: float
    reading: float
    learning: float
    backwards: int
    unused_time: str | None  # a column that could have been --time, for the report
    crowded: dict[str, int]  # columns with more texts than the limit for own features, and the limit


def run(request: Request) -> RunResult:
    """Carries out a run. Raises DataError, StateError, OutputError, InUseError or OSError if it cannot."""
    if request.report is not None:
        check_jinja()  # now, not after the work
    outputs = {"--out": request.out, "--report": request.report, "--state": request.state}
    with locked("run", outputs) as confirm, Stop() as stop, warnings.catch_warnings():
        warnings.simplefilter("ignore", DriftlineWarning)  # the summary shows them
        try:
            return FileRun(request, stop, confirm).run()
        except HaltedError:
            raise StoppedError(f"stopped by {stop.asked} before the first row; no file is written") from None


class FileRun:
    """One run over a source. ``confirm`` is called before a file is written; it raises if a lock was lost."""

    def __init__(self, request: Request, stop: Stop, confirm: Callable[[], None]) -> None:
        self.request, self.stop, self.confirm = request, stop, confirm
        self.began = perf_counter()
        kept = self._kept()
        self.digests = None if request.state is None else Digests() if kept is None else kept.source
        self.rows = Rows(
            request.source,
            request.options,
            known=None if kept is None else kept.known,
            done=self.digests,
            from_start=request.from_start,
            halt=stop.halt,
        )
        self.unlearned, self.ended = 0, False
        self.done = self.resumed_at = 0
        self.replaced = False
        self.more = False  # whether more was learned after the last row
        self.learning = 0.0
        self.speed = 5000.0  # rows per second; a guess at first
        self.saved_at, self.saved_rows = monotonic(), 0
        try:
            self.task = self._make_task(kept)
            if kept is not None:
                self._go_on(kept)
            self.output = self._open_output(kept)
        except BaseException:
            self.rows.close()
            raise

    def _make_task(self, kept: Checkpoint | None) -> Task:
        request, log = self.request, None
        if request.options.id is not None:
            before = None if kept is None else kept.parts.get("labels")
            labels = None if request.labels is None else Labels(request.labels, request.options, before)
            return Matching(Pending(request.model) if kept is None else kept.model, request.spread, labels)
        if request.options.key is not None:
            return self._make_keyed(kept)
        if request.report is not None:
            log = RunLog(target=request.options.target or "y", level=request.spread.level, delay=request.delay)
        if kept is not None and request.report is not None:
            if "report" not in kept.parts:
                raise StateError(f"{request.state}: was saved by a run without --report, and a report needs every row")
            log = RunLog.restore(kept.parts["report"])
        if request.steps is None:
            measure = WrongClasses() if request.options.task == CLASSIFY else Errors()
            return Following(request.model if kept is None else kept.model, measure, request.delay, request.spread, log)
        self._check_known()
        time = [] if request.options.time is None else [request.options.time]
        known = None if request.known is None else list(dict.fromkeys([*request.known, *time]))
        options: dict[str, Any] = {"smoothing": request.smoothing, "seasons": request.seasons}
        model = Forecaster(request.model, request.steps, known, **options) if kept is None else kept.model
        return Forecasting(model, request.spread, log)

    def _make_keyed(self, kept: Checkpoint | None) -> Task:
        request, history = self.request, self.request.report is not None
        if kept is not None and history and kept.parts["keys"]["pieces"] is None:
            raise StateError(f"{request.state}: was saved by a run without --report, and a report needs every row")
        options: dict[str, Any] = {"intervals": bool(request.spread), "pooled": request.pooled}
        fleet = Fleet(request.model, named=True, alarms=True, **options) if kept is None else kept.model
        return Keyed(fleet, request.options, request.spread, KeyLog(history), KeyLog(history) if fleet.pooled else None)

    def _check_known(self) -> None:
        """Checks that the columns given as known ahead exist, if the file's columns are known."""
        known = self.request.known or ()
        names = self.rows.columns() if known else ()
        for name in known:
            if names and name not in names:
                raise no_column(name, names, self.rows.name, "which --known names")

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
        self.done = self.resumed_at = self.saved_rows = kept.rows
        self.task.restore(kept.parts)

    def _open_output(self, kept: Checkpoint | None) -> Output:
        return open_output(self.request.out, ending=self.rows.ending, mark=None if kept is None else kept.written)

    def run(self) -> RunResult:
        """Takes the rows that are not done yet, until the last one or a request to stop."""
        request = self.request
        try:
            with Progress(self.rows.count, start=self.done, show=request.show) as bar:
                self.rows.start()
                for raw in self._arriving():
                    self._learn(raw, bar)
            self._count_unlearned()
            self._finish()
        except BrokenPipeError:
            self.stop.ask(CLOSED)
            self._count_unlearned()
            self._finish()
        except BaseException:
            if self.saved_rows == 0 or request.state is None:
                self.output.discard()
            else:
                self.output.abandon()
            raise
        finally:
            self.rows.close()
            self.task.close()
        return self._result()

    def _has_to_stop(self) -> bool:
        """Whether to stop now: rows that will not come again are learned first, as far as there is time."""
        return bool(self.stop.asked) and (self.rows.from_start or monotonic() - self.stop.since > GRACE)

    def _count_unlearned(self) -> None:
        """Counts the rows that were read, will not come again, and are not learned."""
        if not self.stop.asked or self.rows.from_start or self.ended:
            return
        with suppress(DataError, queue.Empty):  # nothing after it can be counted
            while (raw := self.rows.next_raw(timeout=PATIENCE)) is not None:
                self.unlearned += len(raw)

    def _arriving(self) -> Iterator[Block]:
        while not self._has_to_stop():
            try:
                raw = self.rows.next_raw(timeout=WAIT)
            except queue.Empty:
                self._save_if_due()
                continue
            if raw is None:
                self.ended = True
                self.more = not self.stop.asked and self.task.finish()
                return
            self._check_known()  # now the columns of JSON lines are known
            self._begin_anew()
            yield raw

    def _begin_anew(self) -> None:
        """Removes a state that is not resumed: its predictions are about to be overwritten."""
        if self.done == 0 and self.request.state is not None:
            self.confirm()
            self.replaced = self.request.state.exists()
            atomic.target(self.request.state).unlink(missing_ok=True)

    def _learn(self, raw: Block, bar: Progress) -> None:
        begin, rows = 0, len(raw)
        try:
            while begin < rows and not self._has_to_stop():
                end = min(rows, begin + self._next_rows(raw.start + begin))
                piece = raw.piece(begin, end)
                columns, zone = self._take(piece)
                self.done, begin = raw.start + end, end
                if len(columns["row"]):  # rows that only bring labels have no predictions
                    self.output.write(columns, zone)
                bar.advance(
                    len(piece), self.rows.share(piece.consumed), lambda: standing(self.task.score, self.task.learner)
                )
                self._save_if_due()
        finally:
            self.unlearned += rows - begin

    def _take(self, piece: Block) -> tuple[Columns, str | None]:
        began = perf_counter()
        try:
            taken = self.task.take(self.rows, piece)
        except DataError as error:
            raise error.within(self.rows.name) from error
        spent = perf_counter() - began
        self.learning += spent
        self.speed = len(piece) / max(spent, 1e-6)
        if self.digests is not None:
            self.digests.add(piece.digests)
        return taken

    def _next_rows(self, row: int) -> int:
        """How many rows to take at once: few enough to respond to signals soon."""
        rows = max(self.task.least_rows, int(self.speed * PIECE))
        if self.request.save_every:
            rows = min(rows, self.request.save_every - row % self.request.save_every)
        if self.task.run_log is not None:  # snapshots are fastest if blocks begin at multiples of a power of 2
            rows -= (row + rows) % min(ALIGNED, 1 << (rows.bit_length() - 1))
        return rows

    def _save_if_due(self) -> None:
        if self.request.state is None or self.done == self.saved_rows:
            return
        every = self.request.save_every
        if self.done // every > self.saved_rows // every if every else monotonic() - self.saved_at > SAVE_EVERY:
            self._save()

    def _save(self) -> None:
        """Saves the output first, so that a state never counts rows that are not written."""
        request = self.request
        if request.state is None or self.digests is None:
            return
        self.confirm()
        Checkpoint(
            model=self.task.model,
            settings=request.settings,
            source=self.digests,
            written=self.output.sync(),
            known=self.rows.state(),
            parts=self.task.state(),
        ).save(request.state)
        self.saved_at, self.saved_rows = monotonic(), self.done

    def _finish(self) -> None:
        """Saves all requested files and moves them into place."""
        if self.done == 0:
            if not self.stop.asked:
                raise DataError("has a header but no rows", source=self.rows.name)
            self.output.discard()
            return
        baselines = self.task.score.baselines
        if baselines is not None and not baselines.any_label and not self.stop.asked:
            raise DataError("no row has a target", source=self.rows.name, column=self.request.options.target)
        if self.done > self.resumed_at or self.more:
            self._save()
        self.confirm()
        self.output.place()
        if self.request.report is not None and self._page_is_due(self.request.report):
            self.task.write_page(self.request.report, shlex.join(["driftline", *self.request.command]))

    def _page_is_due(self, page: Path) -> bool:
        """Whether to write the page: not if all rows were done before and the page is newer than the state."""
        if self.done > self.resumed_at or self.request.state is None or not page.exists():
            return True
        return page.stat().st_mtime_ns < self.request.state.stat().st_mtime_ns

    def _result(self) -> RunResult:
        return RunResult(
            source=self.rows.name,
            task=self.task,
            names=self.task.features,
            rows=self.done,
            resumed_at=self.resumed_at,
            refed=self.rows.refed,
            replaced=self.replaced,
            delay=self.request.delay,
            more=self.more,
            stopped=self.stop.asked,
            unlearned=0 if self.rows.from_start else self.unlearned,
            cut_off=self.rows.cut_off,
            seconds=perf_counter() - self.began,
            reading=self.rows.seconds,
            learning=self.learning,
            backwards=self.rows.maker.backwards,
            unused_time=self.rows.maker.dated if self.request.report and not self.request.options.time else None,
            crowded=crowded(self.task.columns),
        )
