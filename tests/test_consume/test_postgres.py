"""PostgreSQL tables, with a real server."""

import threading

import pytest

pytest.importorskip("psycopg")
pytest.importorskip("starlette")

import psycopg

import driftline as dl
from driftline.consume import StateModel, consume
from driftline.consume.postgres import PostgresTable
from tests.test_consume.drill import Drill


def test_whatever_is_killed_each_entry_is_learned_once(postgresql, tmp_path):
    drill = Drill(postgresql, tmp_path, entries=1000, batch=50, name="kills")
    try:
        drill.run(kills=2)
        drill.check()
    finally:
        drill.close()


def test_rows_whose_transaction_ends_after_that_of_later_rows_are_not_missed(postgresql, tmp_path):
    """A consumer that only asked for larger numbers than the last would never see them."""
    postgresql.execute(
        "CREATE TABLE late (id bigint GENERATED ALWAYS AS IDENTITY, u float8, day date, price numeric, y float8)"
    )
    insert = "INSERT INTO late (u, day, price, y) VALUES (%s, '2026-03-01', 1.5, 2) RETURNING id"
    source, model = PostgresTable(postgresql.address, "late", predictions="late_out"), StateModel(tmp_path / "m", dl.RLS())

    def learned():
        return consume(source, model, seconds=0.01, until_idle=True).learned

    with psycopg.connect(postgresql.address) as slow:
        (first,) = slow.execute(insert, (1.0,)).fetchone()
        ((second,),) = postgresql.execute(insert, 2.0)
        assert first < second
        assert learned() == 0  # the second could be learned, but then the first would be missed
    assert learned() == 2
    postgresql.execute(insert, 3.0)
    assert learned() == 1
    assert [record["id"] for record in postgresql.sent("late_out")] == ["1", "2", "3"]
    assert "day" in " ".join(dl.load(tmp_path / "m").feature_names_in_)


def test_a_notification_wakes_the_consumer_and_labels_are_in_a_table_of_their_own(postgresql, tmp_path):
    postgresql.execute("CREATE TABLE told (n bigint GENERATED ALWAYS AS IDENTITY, id text, u float8)")
    postgresql.execute("CREATE TABLE told_labels (n bigint GENERATED ALWAYS AS IDENTITY, id text, y float8)")
    source = PostgresTable(postgresql.address, "told", labels="told_labels", by="n", notify="told")
    model, done = StateModel(tmp_path / "m", dl.RLS()), threading.Event()
    thread = threading.Thread(target=lambda: consume(source, model, seconds=600.0, stop=lambda: len(model.seen) == 2))
    thread.start()
    while not postgresql.execute("SELECT 1 FROM pg_stat_activity WHERE query LIKE 'SELECT max%%told_labels%%'"):
        done.wait(0.01)
    postgresql.execute("INSERT INTO told_labels (id, y) VALUES ('a', 2.0)")
    postgresql.execute("INSERT INTO told (id, u) VALUES ('a', 1.0)")
    postgresql.execute("NOTIFY told")
    thread.join(60)
    assert not thread.is_alive()
    assert dl.load(tmp_path / "m").n_seen_ == 1


def test_of_two_consumers_of_a_group_only_one_commits(postgresql):
    postgresql.execute("CREATE TABLE pair (id bigint, u float8, y float8)")
    postgresql.execute("INSERT INTO pair VALUES (1, 1.0, 1.0)")
    one, two = (PostgresTable(postgresql.address, "pair", predictions="pair_out") for _ in range(2))
    for source in (one, two):
        source.open()
    try:
        entries = [source.read(5, 0.1) for source in (one, two)]
        assert [len(part) for part in entries] == [1, 1]
        one.finish(entries[0], [{"id": "1", "prediction": 1.0}], [])
        with pytest.raises(two.lost, match="another consumer of the group driftline is at work"):
            two.finish(entries[1], [{"id": "1", "prediction": 1.0}], [])
    finally:
        one.close()
        two.close()
    assert postgresql.count("pair_out") == 1


def test_a_column_that_is_no_integer_is_refused(postgresql):
    postgresql.execute("CREATE TABLE worded (id text, u float8)")
    postgresql.execute("INSERT INTO worded VALUES ('a', 1.0)")
    source = PostgresTable(postgresql.address, "worded")
    source.open()
    with pytest.raises(TypeError, match=r"worded\.id must be a column of integers, got 'a'"):
        source.read(1, 0.0)
    source.close()


def test_durations_are_read_in_seconds(postgresql):
    postgresql.execute("CREATE TABLE waits (id int, wait interval)")
    postgresql.execute("INSERT INTO waits VALUES (1, '1 day 90 seconds')")
    source = PostgresTable(postgresql.address, "waits")
    source.open()
    [entry] = source.read(1, 0.0)
    source.close()
    assert entry.content["wait"] == 86_490.0
