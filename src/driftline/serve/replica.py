"""The models of a service as its log says: read from snapshots and the log, and saved as snapshots."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from itertools import islice

from driftline.errors import ModelFileError
from driftline.serve.limits import Limits
from driftline.serve.models import Model, finished
from driftline.serve.problems import Problem, StoreError
from driftline.serve.requests import rows_of
from driftline.serve.store import FullError, LogEntry, LostError, Snapshot, Store, setting
from driftline.serve.unit import Answer

_log = logging.getLogger("driftline.serve")


class Replica:
    """The models of a log, which a leader changes together with the log, and others follow.

    Args:
        store: holds the log.
        limits: the limits of the service.

    Attributes:
        known: whether the models are as the log says.
        last, cut: the numbers of the last entry of the log, and of the last that was removed.
        bytes: those of the log, approximately.
        newest: the largest number that a model was ever given.
        models, numbered: the models by name and by number.
        aliases: the aliases, and the names of their models.
        unreadable: the names of models that this version cannot read, and why.
        aside: their numbers and names.
        dirty: changed units, and the first log entry after their snapshot.
        moved: whether the log was written in another setting.
    """

    def __init__(self, store: Store, limits: Limits) -> None:
        self.store, self.limits = store, limits
        self.known = self.moved = False
        self.last = self.cut = self.bytes = self.newest = 0
        self.models: dict[str, Model] = {}
        self.numbered: dict[int, Model] = {}
        self.aliases: dict[str, str] = {}
        self.unreadable: dict[str, str] = {}
        self.aside: dict[int, str] = {}
        self.dirty: dict[tuple[int, str], int] = {}
        self._held: int | None = None  # the first entry of the log that unreadable models need

    def follow(self) -> None:
        """Learns what the leader has learned since."""
        store = self.store
        try:
            with store.view():
                numbers = {number for number, *_ in store.models()}
                if not self.known or store.cut() > self.last or numbers != self.numbered.keys() | self.aside.keys():
                    self.recover()
                self._restore_classes()
                for entry in store.entries(self.last):
                    self.replay(entry)
                self.aliases, self.cut = store.aliases(), store.cut()
        except LostError:
            return  # what is known stays true
        except StoreError as error:
            _log.error("the log of the leader cannot be followed: %s", error)
            self.known = False

    def recover(self) -> None:
        """Loads the snapshots and replays the rest of the log, as it was first run. Raises StoreError on a mismatch."""
        store = self.store
        self.known = False
        self.models, self.numbered, self.unreadable, self.aside = {}, {}, {}, {}
        self.dirty, self._held = {}, None
        for number, name, config, since, labels in store.models():
            try:
                model = self.numbered[number] = self.models[name] = Model(number, name, config, since, self.limits)
                model.labels = labels
            except (Problem, ModelFileError) as error:
                self._set_aside(number, name, str(error))
        self.aliases = store.aliases()
        self.newest = store.newest_number()
        for snapshot in store.snapshots():
            if snapshot.model in self.aside:
                continue
            try:
                self.numbered[snapshot.model].add(snapshot.data)
            except ModelFileError as error:
                where = f"key {snapshot.key!r}: " if snapshot.key else ""
                name = self.numbered.pop(snapshot.model).name
                del self.models[name]
                self._set_aside(snapshot.model, name, where + str(error).removeprefix("from_bytes: "))
            except KeyError:
                raise StoreError(f"there is a snapshot of model {snapshot.model}, which does not exist") from None
        self._restore_classes()
        for number, id, label in store.early():
            if number in self.numbered:
                self.numbered[number].early[id] = label
        for number, place, state in store.recent():
            if number in self.numbered:
                self.numbered[number].scores.restore_slots(place, state)
        for model in self.numbered.values():
            model.order_ids()
        self.last = self.cut = store.cut()
        self.bytes = 0
        self.moved = store.written_by != setting()
        different = sum(map(self.replay, store.entries(self.last)))
        for model in self.numbered.values():
            model.order_ids()
        if self.moved:
            words = "the log was written by %s and replayed by %s; %d answers differ in their last bits, and stay as given"
            _log.warning(words, store.written_by, setting(), different)
        self.known = True

    def _restore_classes(self) -> None:
        for number, labels in self.store.classes().items():
            if number in self.numbered:
                self.numbered[number].restore_classes(labels)

    def _set_aside(self, number: int, name: str, reason: str) -> None:
        """Goes on without a model that cannot be read. Its snapshots and its log are kept for a version that can."""
        _log.error("the model %s cannot be read, and is kept as it is: %s", name, reason)
        self.unreadable[name], self.aside[number] = reason, name

    def replay(self, entry: LogEntry) -> int:
        """Applies a log entry. Returns the number of answers that differ from those given."""
        self.last = entry.number
        self.bytes += len(entry.body) + len(entry.note)
        if entry.model in self.aside and self._held is None:
            self._held = entry.number
        model = self.numbered.get(entry.model)
        if model is None:  # deleted since
            return 0
        rows = rows_of(entry.body)
        note = json.loads(entry.note) if entry.note else {}
        new = note.get("rows", range(len(rows)))
        different = 0
        try:
            if entry.kind == "learn":
                rows = rows if model.classes is None else model.classes.numbered(rows, None)
                finished(model.learn(rows, list(new), lambda: entry.number, entry.at))
            else:
                given = dict(zip(new, map(Answer.of_plain, note["answers"]), strict=True))
                waited = finished(model.wait(rows, list(new), note.get("gone", []), lambda: entry.number))
                for index, answer in waited[0]:
                    if answer != given[index]:
                        different += 1
                        model.correct(rows[index].id or "", given[index])
        except Problem as problem:
            raise StoreError(f"entry {entry.number} of the log does not replay: {problem.detail}") from problem
        if different and not self.moved:
            raise StoreError(f"entry {entry.number} of the log replays to a different answer from the one given")
        self.mark(model, entry.number)
        return different

    def mark(self, model: Model, number: int) -> None:
        """Notes what an entry of the log changed in a model."""
        for key in model.changed:
            self.dirty.setdefault((model.number, key), number)
        model.changed.clear()

    def add(self, model: Model) -> None:
        """Adds a new model."""
        self.newest = model.number
        self.models[model.name] = self.numbered[model.number] = model

    def remove(self, model: Model) -> None:
        """Removes a model."""
        del self.models[model.name], self.numbered[model.number]
        self.dirty = {place: first for place, first in self.dirty.items() if place[0] != model.number}

    def remove_unreadable(self, name: str) -> int:
        """Removes a model that cannot be read; returns its number."""
        del self.unreadable[name]
        (number,) = (number for number, of in self.aside.items() if of == name)
        del self.aside[number]
        self._held = self._held if self.aside else None
        return number

    # Snapshots.

    def save(self, seconds: float, at_work: Mapping[int, int]) -> int:
        """Saves units, those that changed longest ago first, and trims the log up to the first unsaved change.

        It ends after some time, or at a model that a call works on. Returns the number of units saved.
        """
        end = time.monotonic() + seconds
        snapshots = []
        for place in self.dirty:
            model, key = self.numbered[place[0]], place[1]
            if at_work[model.number]:  # its state may be that of a call that is undone
                break
            snapshots.append(Snapshot(*place, model.units[key].place, model.snapshot(key)))
            if time.monotonic() > end:
                break
        rest = dict(islice(self.dirty.items(), len(snapshots), None))
        cut = next(iter(rest.values()), self.last + 1) - 1
        saved = {snapshot.model for snapshot in snapshots}
        recent = [(number, self.last, self.numbered[number].scores.slots_state()) for number in saved]
        try:
            if snapshots or cut > self.cut:
                self.store.save(snapshots, recent, cut if self._held is None else min(cut, self._held - 1))
        except FullError as error:
            _log.error("snapshots cannot be written: %s", error)
            return 0
        self.bytes = self.bytes * (self.last - cut) // max(self.last - self.cut, 1)  # as if all entries had the same
        self.dirty, self.cut = rest, cut
        return len(snapshots)
