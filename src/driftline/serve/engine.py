"""The engine thread: applies calls in log order, commits them in groups, and answers once they are on disk."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from driftline.serve.call_queue import BusyError, CallQueue, QueuedCall, deliver, refuse
from driftline.serve.classes import ClassAnswer, Classes
from driftline.serve.learners import Config, Served
from driftline.serve.limits import Limits
from driftline.serve.models import EarlyLabel, Model, Refused, Steps, Told, collect, finished
from driftline.serve.problems import Problem
from driftline.serve.replica import Replica
from driftline.serve.requests import BatchTable, Row
from driftline.serve.store import FullError, Group, LogEntry, LostError, Snapshot, Store
from driftline.serve.unit import Answer, Unit
from driftline.serve.webhook import Webhook

_log = logging.getLogger("driftline.serve")
Said = Answer | ClassAnswer | Problem
_SLICE = 0.02  # seconds of saving, or of a long call, between two groups
_TURN = 0.05  # seconds of beginning calls between two groups
_UNFINISHED = object()
_LOOK = 0.5  # seconds between checks of which service leads
_FOLLOWS = "another instance is the leader, or the store cannot be reached"
_UNSURE = "the connection to the store was lost; the call may or may not have been written: repeat it with its id"


@dataclass(slots=True)
class LongCall:
    """A call that may let others go ahead.

    Attributes:
        call: the call.
        steps: its work, once it has begun.
        seconds: processor time that it has taken.
    """

    call: QueuedCall
    steps: Steps[Any] | None = None
    seconds: float = 0.0


class Engine:
    """The models of a service and their log. :meth:`call` is for the event loop; all else runs in the engine's thread.

    A group of calls is applied in memory, then committed. If the commit fails, memory is ahead of the log: the engine
    recovers everything from the log and refuses the calls.

    Args:
        store: holds the log.
        limits: the limits of the service.
        webhook: where alarms are sent, if anywhere.
    """

    def __init__(self, store: Store, limits: Limits, webhook: Webhook | None = None) -> None:
        self.store, self.limits, self._webhook = store, limits, webhook
        self.counts = dict.fromkeys(("commits", "entries", "learned", "snapshots", "refused_full", "early_dropped"), 0)
        self.full = False
        self._looked = 0.0
        self._queue = CallQueue(limits.queue)
        self._thread = threading.Thread(target=self._work, name="driftline-engine", daemon=True)
        self._probed = 0.0
        self.log = Replica(store, limits)
        self._drop_group()
        self._untidy, self._saving, self._checked = True, False, 0
        self._at_work: Counter[int] = Counter()  # calls that work on a model, by its number
        self._long: deque[LongCall] = deque()
        self._late: list[QueuedCall] = []  # changes of models that other calls work on
        try:
            self.leading = self._lead()
        except BaseException:
            store.close()
            raise

    def _begin_group(self) -> None:
        self._group = Group()
        self._fresh: dict[tuple[int, str], Told] = {}
        self._alarms: list[dict[str, Any]] = []

    def _drop_group(self) -> None:
        """Forgets changes that are not in the log; the models must be read again, if there were any."""
        self._begin_group()
        self._forgetting: dict[int, int] = {}  # models, and the label up to which ids may be forgotten

    # Which service leads.

    def _lead(self) -> bool:
        """Takes the lead, unless another service has it."""
        if not self.store.lead():
            return False
        self.log.recover()
        self._untidy, self._saving, self._checked = True, False, self.log.last
        if self.log.moved and not self.log.aside:  # the entries of models aside are still to be replayed
            self.store.settle()
        return True

    def _stand_by(self) -> None:
        """Takes the lead if it is free, and otherwise follows the leader."""
        try:
            self.leading = self._lead()
        except (LostError, FullError) as error:
            self.store.close()
            _log.error("%s; this service could not take over", error)
        if self.leading:
            self.full = False
            _log.info("this service is now the leader", extra={"more": {"entries": self.log.last}})
        else:
            self.log.follow()

    # Calls. A call that raises Problem has changed nothing.

    def _require_lead(self) -> None:
        """Refuses changes while another service leads; it may know more than this one."""
        if not self.leading:
            raise Problem(503, _FOLLOWS)

    def model(self, name: str) -> Model:
        """The model with this name or alias; raises Problem 404 if there is none."""
        name = self.log.aliases.get(name, name)
        if name in self.log.unreadable:
            raise Problem(503, f"the model {name} cannot be read: {self.log.unreadable[name]}")
        try:
            return self.log.models[name]
        except KeyError:
            raise Problem(404, f"there is no model {name!r}") from None

    def _free(self, name: str) -> Model:
        """The model with this name or alias, for a change; raises BusyError if a call works on it."""
        model = self.model(name)
        if self._at_work[model.number]:
            raise BusyError
        return model

    @contextmanager
    def _working_on(self, model: Model) -> Iterator[None]:
        """Keeps other calls from changing a model, while this call lets them go ahead."""
        self._at_work[model.number] += 1
        try:
            yield
        finally:
            self._at_work[model.number] -= 1

    def _next_number(self) -> int:
        return self.log.last + 1

    def put(self, name: str, config: dict[str, Any]) -> tuple[bool, dict[str, Any]]:
        """Creates a model. Returns whether it is new, and its status."""
        self._require_lead()
        known = self.log.models.get(name)
        if known is not None:
            if known.config != config:
                raise Problem(409, f"the model {name} already exists with a different configuration")
            return False, known.status()
        model = self._new_model(name, config)
        self._room()
        self._add(model)
        return True, model.status()

    def put_file(self, name: str, config: Config, learners: dict[str, Served]) -> tuple[bool, Config]:
        """Creates a model with trained learners by key. Returns whether it is new, and its status."""
        self._require_lead()
        known = self.log.models.get(name)
        if known is not None:
            if known.config != config:
                raise Problem(409, f"the model {name} already exists and was not made from this file: choose another name")
            return False, known.status()
        made = self._new_model(name, config)
        if len(learners) > self.limits.keys:
            raise Problem(422, f"the file has {len(learners)} keys, and a model at most {self.limits.keys}")
        units = [Unit(key, learner, made.spread) for key, learner in learners.items()]
        if any(unit.features > self.limits.features for unit in units):
            raise Problem(422, f"the model has more than {self.limits.features} features")
        self._room()
        self._add(made, [Snapshot(made.number, unit.key, 0, unit.to_bytes({})) for unit in units])
        return True, made.status()

    def alias(self, alias: str, name: str) -> bool:
        """Lets an alias stand for a model; returns whether the alias is new."""
        self._require_lead()
        if alias in self.log.models or alias in self.log.unreadable:
            raise Problem(409, f"there is a model {alias!r}, which cannot be an alias", field="name")
        if name not in self.log.models:
            raise Problem(404, f"there is no model {name!r}", field="model")
        new = alias not in self.log.aliases
        if new and len(self.log.aliases) >= self.limits.models:
            raise Problem(422, f"the service already has {self.limits.models} aliases, the maximum")
        self._room()
        self.log.aliases[alias] = self._group.aliases[alias] = name
        return new

    def remove_alias(self, alias: str) -> None:
        """Removes an alias, not its model."""
        self._require_lead()
        if alias not in self.log.aliases:
            raise Problem(404, f"there is no alias {alias!r}")
        self._room()
        del self.log.aliases[alias]
        self._group.aliases[alias] = None

    def delete(self, name: str) -> None:
        """Removes a model and everything it learned. One that has aliases is refused."""
        self._require_lead()
        name = self.log.aliases.get(name, name)
        if aliases := [alias for alias, of in self.log.aliases.items() if of == name]:
            raise Problem(409, f"{', '.join(aliases)} stands for the model {name}: move or delete the alias first")
        if name not in self.log.unreadable:
            model = self._free(name)
            self._room()
            self._remove(model)
            return
        self._room()
        self._group.deleted.append(self.log.remove_unreadable(name))

    def reset(self, name: str) -> dict[str, Any]:
        """Replaces a model by a new one of the same configuration; returns its status."""
        self._require_lead()
        model = self._free(name)
        fresh = self._new_model(model.name, model.config)
        self._room()
        self._remove(model)
        self._add(fresh)
        return fresh.status()

    def copy(self, name: str, to: str, replace: bool) -> dict[str, Any]:
        """Creates a model with all that another one learned, its scores and its waiting rows; returns its status."""
        self._require_lead()
        model, known = self._free(name), self.log.models.get(to)
        if model is known:
            raise Problem(409, f"the model {name} cannot be copied to itself", field="to")
        if known is not None:
            self._free(to)
        if known is not None and not replace:
            raise Problem(409, f"the model {to} already exists", field="to")
        made = self._new_model(to, model.config)
        if model.classes is not None:
            made.classes = Classes(model.classes.labels, self.limits.classes)
        self._room()
        snapshots = [Snapshot(made.number, key, unit.place, model.snapshot(key)) for key, unit in model.units.items()]
        recent = model.scores.slots_state()
        made.scores.restore_slots(self.log.last, recent)
        if known is not None:
            self._remove(known)
        self._add(made, snapshots)
        self._group.recent.append((made.number, self.log.last, recent))
        for id, label in model.early.items():
            self._set_early(made, id, label)
        return made.status()

    def _new_model(self, name: str, config: dict[str, Any]) -> Model:
        """A model that is not in the service yet; raises Problem 409 if its name is an alias."""
        if name in self.log.unreadable:
            raise Problem(409, f"the model {name} already exists, but cannot be read: {self.log.unreadable[name]}")
        if name in self.log.aliases:
            raise Problem(409, f"{name} is an alias of the model {self.log.aliases[name]}")
        if name not in self.log.models and len(self.log.models) >= self.limits.models:
            raise Problem(422, f"the service already has {self.limits.models} models, the maximum")
        return Model(self.log.newest + 1, name, config, time.time(), self.limits)

    def _add(self, model: Model, snapshots: Sequence[Snapshot] = ()) -> None:
        for snapshot in snapshots:
            model.add(snapshot.data)
        model.order_ids()
        if model.classes is not None:
            model.meet_classes()
            self._group.classes += [(model.number, *new) for new in model.classes.take_unsaved()]
        self._group.snapshots += snapshots
        self.log.add(model)
        self._group.created.append((model.number, model.name, model.config, model.since))

    def _remove(self, model: Model) -> None:
        self.log.remove(model)
        self._group.deleted.append(model.number)
        self._untidy = True

    def predict(self, name: str, rows: Sequence[Row], body: bytes, report: bool = False) -> Steps[list[Said]]:
        """Predicts rows; those with an id then wait for their labels. Refused rows have a problem if it is to report."""
        changes = any(row.id is not None for row in rows)
        if changes:
            self._require_lead()
        model = self._free(name) if changes else self.model(name)
        with self._working_on(model):
            return (yield from self._predict(model, rows, body, report))

    def _predict(self, model: Model, rows: Sequence[Row], body: bytes, report: bool) -> Steps[list[Said]]:
        refused: Refused = {} if report else None
        new, answers = model.new_questions(rows, self._recall(model.number, rows), refused)
        for index, row in enumerate(rows):
            if row.id is None and not (refused and index in refused):
                try:
                    answers[index] = model.ask(row, index)
                except Problem as problem:
                    collect(refused, index, problem)
                if index < len(rows) - 1:
                    yield
        if new:
            self._room()
            found, gone = yield from model.wait(rows, new, None, self._next_number, refused)
            if found:
                note: dict[str, Any] = {"answers": [answer.plain() for _, answer in found]}
                note |= {"rows": [index for index, _ in found]} if len(found) < len(rows) else {}
                self._append(model, "predict", time.time(), body, {**note, "gone": gone} if gone else note)
            for index, made in found:
                answers[index] = made
            self._learn_early(model, [rows[index].id or "" for index, _ in found])
        problems, said = _problems(rows, new, refused), dict[str | None, Answer]()  # ids that come twice have one answer
        outcomes: list[Said] = []
        for index, (row, answer) in enumerate(zip(rows, answers, strict=True)):
            if index in problems:
                outcomes.append(problems[index])
            else:
                outcomes.append(model.said(said[row.id] if answer is None else answer))
            if answer is not None:
                said[row.id] = answer
        return outcomes

    def forecast(self, name: str, rows: Sequence[Row]) -> Steps[list[Answer]]:
        """Forecasts the next rows of a model."""
        model = self.model(name)
        with self._working_on(model):
            return (yield from model.forecast(rows))

    def learn(self, name: str, rows: Sequence[Row], body: bytes, report: bool = False) -> Steps[dict[str, Any]]:
        """Learns rows, all or none; or those that can be learned, with an outcome for each, if it is to report.

        Returns how many were new, how many were known already, and how many wait for their rows, if any.
        """
        self._require_lead()
        model = self._free(name)
        with self._working_on(model):
            if model.classes is None:
                return (yield from self._learn(model, rows, body, {} if report else None))
            known, refused = len(model.classes.labels), dict[int, Problem]() if report else None
            try:
                found = yield from self._learn(model, model.classes.numbered(rows, refused), body, refused)
            except BaseException:
                model.classes.cut(known)
                raise
            self._group.classes += [(model.number, *new) for new in model.classes.take_unsaved()]
            return found

    def _learn(self, model: Model, rows: Sequence[Row], body: bytes, refused: Refused) -> Steps[dict[str, Any]]:
        """Learns rows whose labels are numbers; reports on each unless ``refused``, which may have some already, is None."""
        new, early = model.new_labels(rows, self._recall(model.number, rows), refused)
        if new or early:
            self._room()
        tried = new
        if new:
            at, before = time.time(), model.learned
            told = yield from model.learn(rows, new, self._next_number, at, refused)
            self._alarms += [{"model": model.name, **alarm} for learned, alarm in model.alarms if learned >= before]
            new = [index for index in new if index not in refused] if refused else new
            if new:
                self._append(model, "learn", at, body, {"rows": new} if len(new) < len(rows) else {})
            for row in told:
                model.labels += 1
                self._fresh[model.number, row.id] = row
                self._group.told.append((model.number, model.labels, row))
                self._set_early(model, row.id, None)
            self._group.learned += len(new)
            if model.labels // 1_000 > (model.labels - len(told)) // 1_000:
                self._forgetting[model.number] = model.labels - self.limits.remembered
        for index in early:
            self._set_early(model, rows[index].id or "", EarlyLabel(rows[index].key, float(rows[index].y or 0.0)))
        found = {"learned": len(new), "known": len(rows) - len(new) - len(early)}
        if early:
            found["early"] = len(early)
        if refused is None:
            return found
        words = {**dict.fromkeys(new, "learned"), **dict.fromkeys(early, "early")}
        problems = _problems(rows, tried, refused)
        outcomes = [problems[index] if index in problems else words.get(index, "known") for index in range(len(rows))]
        return {**found, "known": outcomes.count("known"), "rows": outcomes}

    def _set_early(self, model: Model, id: str, label: EarlyLabel | None) -> None:
        """Lets a label wait for its row, or removes it."""
        if label is None and model.early.pop(id, None) is None:
            return
        if label is not None:
            if len(model.early) >= self.limits.early:
                self.counts["early_dropped"] += 1
                self._set_early(model, next(iter(model.early)), None)
            model.early[id] = label
        self._group.early[model.number, id] = label

    def _learn_early(self, model: Model, ids: list[str]) -> None:
        """Learns the labels that came before these rows. One that cannot be learned is dropped, and its row waits."""
        labels = [(id, label) for id in ids if (label := model.early.get(id)) is not None]
        if labels:
            rows = [Row(id, label.key, None, label.y) for id, label in labels]
            told = rows if model.classes is None else model.classes.labelled(rows)
            body = json.dumps({"rows": [{"id": row.id, "y": row.y} | ({"key": row.key} if row.key else {}) for row in told]})
            outcomes = finished(self._learn(model, rows, body.encode(), {}))["rows"]
            for row, outcome in zip(rows, outcomes, strict=True):
                if isinstance(outcome, Problem):
                    _log.warning("the label that came before its row was refused: %s", outcome.detail)
                    self.counts["early_dropped"] += 1
                    self._set_early(model, row.id or "", None)

    def _recall(self, model: int, rows: Sequence[Row]) -> Callable[[str], Told | None]:
        """A function that finds the record of an id; the ids of a batch are looked up at once."""
        ids = rows.ids or [] if isinstance(rows, BatchTable) else [row.id for row in rows if row.id is not None]
        if len(ids) < 2:
            return partial(self._remembered, model)
        told = self.store.told_among(model, ids)

        def recall(id: str) -> Told | None:
            return self._remembered(model, id) if id in told or (model, id) in self._fresh else None

        return recall

    def _remembered(self, model: int, id: str) -> Told | None:
        return self._fresh.get((model, id)) or self.store.remembered(model, id)

    def _append(self, model: Model, kind: str, at: float, body: bytes, note: dict[str, Any]) -> None:
        self.log.last += 1
        text = json.dumps(note).encode() if note else b""
        self.log.bytes += len(body) + len(text)
        self._group.entries.append(LogEntry(self.log.last, model.number, kind, at, body, text))
        self.log.mark(model, self.log.last)

    def _room(self) -> None:
        """Refuses writes while the disk is full."""
        if self.full and time.monotonic() - self._probed > 1:
            self._probed = time.monotonic()
            self.full = not self.store.probe()
        if self.full:
            self.counts["refused_full"] += 1
            raise Problem(507, "the disk is full; nothing was changed, and everything acknowledged is safe")

    # The thread.

    async def call(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Runs a function, usually a method of this class, in the thread, and waits until its changes are on disk."""
        if not self._thread.is_alive():
            raise Problem(503, "the service is stopping, or has failed")
        return await self._queue.submit(work, *arguments)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Finishes pending calls, saves what changed, and closes the store."""
        self._queue.end()
        self._thread.join()
        if self._webhook is not None:
            self._webhook.stop()

    def counters(self) -> dict[str, int]:
        """What happened since the service started, by name."""
        return self.counts | (self._webhook.counts if self._webhook is not None else {})

    @property
    def waiting_calls(self) -> int:
        """The number of calls that wait for the thread."""
        return self._queue.size + len(self._late) + len(self._long)

    @property
    def log_length(self) -> int:
        """The number of entries that a recovery would replay."""
        return self.log.last - self.log.cut

    @property
    def alive(self) -> bool:
        """Whether the engine accepts calls."""
        return self._thread.is_alive()

    def _work(self) -> None:
        calls: list[QueuedCall] = []
        try:
            going = True
            while going or self._long or self._late:
                calls = []
                if going:
                    calls, going = self._queue.take(wait=not (self._long or self._late))
                calls, self._late = [*self._late, *calls], []
                try:
                    self._turn(calls)
                except LostError as error:
                    _log.error("%s; this service is not the leader until it can take over again", error)
                    self.leading, self.log.known = False, self.log.known and not self._group
                    self._drop_group()
            if self.leading:
                self._save(seconds=30.0)
        except BaseException:
            _log.critical("the engine failed; the log holds all that was acknowledged", exc_info=True)
            refuse([*calls, *self._drop_long()], Problem(504, _UNSURE))
            raise
        finally:
            self.store.close()
            refuse(self._queue.rest(), Problem(503, "the service has stopped"))

    def _turn(self, calls: list[QueuedCall]) -> None:
        """Serves calls; a service that does not lead tries to take the lead, and answers only questions."""
        now, mine = time.monotonic(), [*calls, *(long.call for long in self._long)]
        due = now - self._looked > _LOOK
        if due:
            self._looked = now
        if due and not self.leading:
            self._stand_by()
        if not self.log.known:
            self._drop_long()
            refuse(mine, Problem(503, _FOLLOWS))
            return
        try:
            if due and self.leading:  # a service that only answers questions must also notice that it lost the lead
                self.store.check()
            worked = bool(calls or self._long)
            if worked:
                self._take(calls)
            if not self.leading:
                return
            try:
                self._keep_short() if worked else self._tidy()
            except FullError as error:  # the calls are done, and this will be retried
                _log.error("the store cannot be truncated: %s", error)
        except LostError:
            self._drop_long()
            refuse(mine, Problem(504, _UNSURE))  # calls that were already answered stay answered
            self._late = []
            raise

    def _take(self, calls: list[QueuedCall]) -> None:
        """Applies calls, goes on with a long one, commits what is done and answers."""
        done: list[tuple[QueuedCall, Any]] = []
        if self._long:
            self._go_on(self._long.popleft(), done)
        end = time.monotonic() + _TURN
        for call in calls:
            if time.monotonic() < end:
                self._go_on(LongCall(call), done)
            else:
                self._late.append(call)
        while self._group and self.leading:  # again if the disk has room once more by the time the calls are repeated
            self._commit()
            if self.full:  # questions get answers; changes are refused
                again, done = [call for call, _ in done] + self._drop_long(), []
                for call in again:
                    self._go_on(LongCall(call), done)
        deliver(done)

    def _go_on(self, long: LongCall, done: list[tuple[QueuedCall, Any]]) -> None:
        """Works on a call for some time; adds its outcome to ``done`` if it ends."""
        try:
            outcome = long.call.outcome(partial(self._work_on, long))
        except BusyError:
            self._late.append(long.call)
            return
        if outcome is _UNFINISHED:
            self._long.append(long)
        else:
            done.append((long.call, outcome))

    def _work_on(self, long: LongCall) -> Any:
        if long.steps is None:
            found = long.call.work(*long.call.arguments)
            if not isinstance(found, Generator):
                return found
            long.steps = found
        began, end = time.thread_time(), time.monotonic() + _SLICE
        try:
            next(long.steps)
            while time.monotonic() < end:
                next(long.steps)
        except StopIteration as stop:
            return stop.value
        long.seconds += time.thread_time() - began
        if long.seconds > self.limits.work:
            words = f"the rows take more than {self.limits.work:g} s of processor time, and nothing was changed: send fewer"
            long.steps.throw(Problem(413, words, field="rows"))
        return _UNFINISHED

    def _drop_long(self) -> list[QueuedCall]:
        """Undoes the long calls, and returns them."""
        dropped, self._long = self._long, deque()
        for long in dropped:
            if long.steps is not None:
                long.steps.close()
        return [long.call for long in dropped]

    def _commit(self) -> None:
        """Writes the group to disk. If the disk is full, recovers memory from the log."""
        try:
            self.store.commit(self._group)
            self.counts["commits"] += 1
            self.counts["entries"] += len(self._group.entries)
            self.counts["learned"] += self._group.learned
            for alarm in self._alarms:
                _log.warning("alarm", extra={"more": alarm})
                if self._webhook is not None:
                    self._webhook.send(alarm)
        except FullError as error:
            _log.error("the log cannot be written: %s; calls are refused until it can", error)
            self.full, self._probed = True, time.monotonic()
            try:
                self.log.recover()
            except FullError as again:
                self.store.close()
                raise LostError(f"the log cannot be read: {again}") from again
            self._drop_group()
        else:
            self._begin_group()

    # Trimming the log.

    def _keep_short(self) -> None:
        """While the log is long, saves the units that changed longest ago, for a short time after each group."""
        for number, through in self._forgetting.items():
            self.store.forget(number, through)
        self._forgetting.clear()
        if self.log.last - self._checked < 100 and not self._saving and self.log.bytes <= self.limits.log:
            return
        self._checked = self.log.last
        waiting = sum(len(model.ids) for model in self.log.models.values())
        most = self.limits.entries + 4 * waiting  # with many waiting rows saving is slow, so do it less often
        part = 2 if self._saving else 1
        self._saving = self.log.last - self.log.cut > most // part or self.log.bytes > self.limits.log // part
        if self._saving and not self.full:
            self._save(_SLICE)

    def _save(self, seconds: float) -> None:
        self.counts["snapshots"] += self.log.save(seconds, self._at_work)

    def _tidy(self) -> None:
        if self._untidy and not self.full:
            self._untidy = self.store.tidy()


def _problems(rows: Sequence[Row], tried: Sequence[int], refused: Refused) -> dict[int, Problem]:
    """The problems of rows; those that repeat one of the rows ``tried`` that the learner refused have the same."""
    found = dict(refused or {})
    firsts = {rows[index].id: index for index in tried if index in found}
    for index, row in enumerate(rows if firsts else ()):
        if row.id is not None and index not in found and row.id in firsts:
            found[index] = found[firsts[row.id]]
    return found
