"""Recovery from the log and its snapshots: after kills, damage, a full disk, and on another processor."""

import sqlite3
import threading

import numpy as np
import pytest

import driftline as dl
from driftline.serve.engine import Engine
from driftline.serve.problems import Problem, StoreError
from driftline.serve.sqlite import FILE, SqliteStore, backup
from driftline.serve.store import FullError, LogEntry, LostError
from tests import patience
from tests.test_serve.tools import Direct, copy_of, drive, library_account, read_log, same_bits


@pytest.mark.parametrize("learner", ["rls", "auto", "lms"])
def test_a_recovered_model_matches_the_library_bit_for_bit(tmp_path, learner):
    with Direct(tmp_path / "a") as service:
        service.put("m", learner=learner)
        waiting = drive(service, "m", np.random.default_rng(0), 60)
        before, model = service.status("m"), service.export("m")
        killed = copy_of(tmp_path / "a", tmp_path / "b")
    account, answers = library_account(killed)["m", ""]
    assert same_bits(model, account)
    with Direct(killed) as again:
        assert again.status("m") == before
        assert same_bits(again.export("m"), account)
        for one in waiting:
            again.learn("m", id=one, y=1.0)
        assert again.status("m")["waiting"] == 0
    assert answers


@pytest.mark.parametrize("entries", [1, 7])
def test_snapshots_and_a_log_truncated_after_them_change_nothing(tmp_path, entries, monkeypatch):
    """One unit is saved at a time, so units include different amounts of the log."""
    monkeypatch.setattr("driftline.serve.engine._SLICE", 0.0)
    monkeypatch.setattr(Engine, "_keep_short", lambda self: self.log.last % entries or self._save(0.0))
    keys = ("u", "v", "w")
    with Direct(tmp_path / "plain", entries=10**6) as service, monkeypatch.context() as patch:
        patch.setattr(Engine, "_keep_short", lambda self: None)
        service.put("k", learner="rls", keyed=True)
        drive(service, "k", np.random.default_rng(2), 80, keys)
        expected = [service.export("k", key) for key in keys], service.status("k")["mse"]
    with Direct(tmp_path / "cut") as service:
        service.put("k", learner="rls", keyed=True)
        waiting = drive(service, "k", np.random.default_rng(2), 80, keys)
        assert service.engine.counts["snapshots"] > 5
        killed = copy_of(tmp_path / "cut", tmp_path / "killed")
    with Direct(killed) as again:
        assert again.engine.log.cut > 0
        assert ([again.export("k", key) for key in keys], again.status("k")["mse"]) == expected
        assert list(again.engine.log.models["k"].ids) == waiting


def test_a_damaged_entry_is_named_and_stops_the_start(tmp_path):
    with Direct(tmp_path / "a") as service:
        service.put("m", learner="rls")
        drive(service, "m", np.random.default_rng(3), 20)
        killed = copy_of(tmp_path / "a", tmp_path / "b")
    for statement, words in (
        ("UPDATE log SET body = replace(body, '1', '2') WHERE number = 5", "entry 5 of the log is damaged"),
        ("UPDATE log SET at = at + 1 WHERE number = 6", "entry 6 of the log is damaged"),
        ("DELETE FROM log WHERE number = 7", "entry 7 of the log is missing"),
    ):
        spoiled = copy_of(killed, tmp_path / words[:7])
        with sqlite3.connect(spoiled / FILE) as database:
            assert database.execute(statement).rowcount == 1
        database.close()
        with pytest.raises(StoreError, match=words):
            Direct(spoiled)


def test_a_half_written_tail_is_dropped_and_a_damaged_middle_is_not(tmp_path):
    with Direct(tmp_path / "a") as service:
        service.put("m", learner="rls")
        for number in range(40):
            service.learn("m", x=[float(number)], y=1.0)
        killed = copy_of(tmp_path / "a", tmp_path / "b")
    log = killed / f"{FILE}-wal"
    whole = log.read_bytes()
    seen = set()
    for kept in (len(whole) - 100, len(whole) - 4096, len(whole) // 2):
        log.write_bytes(whole[:kept])
        with Direct(copy_of(killed, tmp_path / f"tail{kept}")) as again:
            learner, last = dl.from_bytes(again.export("m")), again.engine.log.last
        expected = dl.RLS()
        for number in range(last):
            expected.learn_one([float(number)], 1.0)
        assert learner.to_bytes() == expected.to_bytes()
        seen.add(last)
    assert max(seen) == 39
    assert min(seen) < 30
    for at in (len(whole) // 2, 40):
        log.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(StoreError, match="damaged at frame"):
            Direct(copy_of(killed, tmp_path / f"middle{at}"))


def test_a_full_disk_refuses_with_507_and_loses_nothing(tmp_path):
    with Direct(tmp_path / "a") as service:
        service.put("m", learner="rls")
        service.predict("m", id="w", x=[1.0])
        database = service.engine.store._db
        pages = database.execute("PRAGMA page_count").fetchone()[0]
        database.execute(f"PRAGMA max_page_count = {pages + 3}")
        learned = 0
        with pytest.raises(Problem) as refused:  # noqa: PT012 - which of them is refused depends on SQLite's pages
            for _ in range(1000):
                service.learn("m", x=[float(learned)], y=1.0)
                learned += 1
        assert refused.value.status == 507
        for _ in range(3):
            with pytest.raises(Problem, match="the disk is full"):
                service.learn("m", id="w", y=2.0)
        assert service.status("m")["rows"] == learned > 0
        assert service.predict("m", x=[1.0])
        database.execute("PRAGMA max_page_count = 1000000")
        service.engine._probed = 0.0
        assert service.learn("m", id="w", y=2.0) == {"learned": 1, "known": 0}
        killed = copy_of(tmp_path / "a", tmp_path / "b")
        model = service.export("m")
    with Direct(killed) as again:
        assert again.export("m") == model


def test_a_call_that_is_repeated_after_a_full_disk_is_acknowledged_only_once_it_is_on_disk(tmp_path, monkeypatch):
    """The disk has room again while the models are recovered, for a moment."""
    with Direct(tmp_path) as service:
        service.put("m", learner="rls")
        engine, commit, recover = service.engine, service.engine.store.commit, service.engine.log.recover
        failures = [FullError("no room"), FullError("no room again")]

        def full(group):
            if failures:
                raise failures.pop()
            commit(group)

        def slow():
            recover()
            engine._probed = 0.0

        monkeypatch.setattr(engine.store, "commit", full)
        monkeypatch.setattr(engine.log, "recover", slow)
        assert service.learn("m", id="a", x=[1.0], y=2.0) == {"learned": 1, "known": 0}
        assert len(read_log(tmp_path)[1]) == 1
        assert engine.counts["learned"] == 1


def test_a_disk_too_full_to_read_refuses_the_call_and_the_service_goes_on(tmp_path, monkeypatch):
    """PostgreSQL may need the disk to answer a query."""
    with Direct(tmp_path) as service:
        service.put("m", learner="rls")

        def full(*_):
            monkeypatch.undo()
            raise FullError("no room")

        monkeypatch.setattr(service.engine.store, "remembered", full)
        with pytest.raises(Problem, match="the disk is full; nothing was changed") as refused:
            service.learn("m", id="a", x=[1.0], y=2.0)
        assert refused.value.status == 507
        assert service.learn("m", id="a", x=[1.0], y=2.0) == {"learned": 1, "known": 0}


@pytest.mark.parametrize("part", ["forget", "tidy"])
def test_a_disk_too_full_for_housekeeping_does_not_stop_the_service(tmp_path, monkeypatch, part):
    refused = threading.Event()

    def full(*_):
        refused.set()
        raise FullError("no room")

    with Direct(tmp_path, remembered=1000) as service:
        service.put("m", learner="lms")
        monkeypatch.setattr(service.engine.store, part, full)
        service.learn("m", *[{"id": str(number), "x": [0.1], "y": 0.0} for number in range(1000)])
        service.engine._untidy = True
        assert refused.wait(patience.SECONDS)
        monkeypatch.undo()
        assert (
            service.learn("m", *[{"id": str(number), "x": [0.1], "y": 0.0} for number in range(1000, 2000)])["learned"]
            == 1000
        )
        assert service.learn("m", id="2000", x=[0.1], y=0.0) == {"learned": 1, "known": 0}
        with pytest.raises(Problem, match="is waiting for its label"):
            service.learn("m", id="0", y=0.0)


@pytest.mark.parametrize("written", [False, True])
def test_a_call_during_the_loss_of_the_store_is_unsure_and_its_repetition_is_learned_once(tmp_path, monkeypatch, written):
    with Direct(tmp_path) as service:
        service.put("m", learner="rls")
        store, commit = service.engine.store, service.engine.store.commit

        def lose(group):
            monkeypatch.undo()
            if written:
                commit(group)
            raise LostError("gone")

        monkeypatch.setattr(store, "commit", lose)
        with pytest.raises(Problem, match="may or may not have been written") as refused:
            service.learn("m", id="a", x=[1.0], y=2.0)
        assert refused.value.status == 504
        answer, statuses = None, set()
        while answer is None:  # until it is the leader again and has recovered from the log
            try:
                answer = service.learn("m", id="a", x=[1.0], y=2.0)
            except Problem as problem:
                statuses.add(problem.status)
        assert statuses <= {503}
        assert answer == {"learned": int(not written), "known": int(written)}
        assert service.status("m")["rows"] == 1


def test_a_second_service_on_the_folder_is_refused(tmp_path):
    with Direct(tmp_path), pytest.raises(StoreError, match="another service"):
        SqliteStore(tmp_path)


def test_a_log_from_another_processor_is_replayed_and_its_answers_are_kept(tmp_path, caplog):
    with Direct(tmp_path / "a") as service:
        service.put("m", learner="rls")
        service.learn("m", x=[1.0], y=1.0)
        answer = service.predict("m", id="q", x=[1.0])[0]
        killed = copy_of(tmp_path / "a", tmp_path / "b")
    given = repr(answer[0])
    other = repr(float(np.nextafter(answer[0], 2)))
    with sqlite3.connect(killed / FILE) as database:
        row = database.execute("SELECT number, model, kind, at, body, note FROM log WHERE kind = 'predict'").fetchone()
        entry = LogEntry(*row[:5], row[5].replace(given.encode(), other.encode()))
        assert entry.note != row[5]
        database.execute("UPDATE log SET note = ?, checksum = ? WHERE number = ?", (entry.note, entry.checksum(), row[0]))
    database.close()
    with pytest.raises(StoreError, match="replays to a different answer"):
        Direct(copy_of(killed, tmp_path / "same"))
    with sqlite3.connect(killed / FILE) as database:
        database.execute('UPDATE meta SET value = replace(value, \'"machine": "\', \'"machine": "other \')')
    database.close()
    with Direct(killed) as again:
        assert again.predict("m", id="q", x=[1.0])[0][0] == float(other)
    assert "1 answers differ" in caplog.text


def test_a_backup_of_a_running_service_contains_all_acknowledged_calls(tmp_path):
    with Direct(tmp_path / "a") as service:
        service.put("m", learner="rls")
        drive(service, "m", np.random.default_rng(4), 30)
        model = service.export("m")
        backup(tmp_path / "a", tmp_path / "copy")
        service.learn("m", x={"a": 1.0}, y=1.0)
    with Direct(tmp_path / "copy") as again:
        assert again.export("m") == model
    with pytest.raises(FileExistsError):
        backup(tmp_path / "a", tmp_path / "copy")
