"""The loop and its models, with sources and services within the process."""

import json
import re
from itertools import islice

import numpy as np
import pytest

pytest.importorskip("httpx")

import driftline as dl
from driftline.client import ServiceError
from driftline.consume import Counts, Entry, Fields, ServiceModel, StateModel, consume
from driftline.errors import ModelFileError
from tests.cases import for_each


class Lines:
    """A list of entries as a queue, which forgets at each ``open`` what was read and not finished."""

    lost = (ConnectionError,)

    def __init__(self, contents, *, positions=True, breaks=()):
        self.contents, self.positions, self.breaks = contents, positions, list(breaks)
        self.done, self.out, self.rejected = 0, [], []

    def open(self):
        self.at = self.done

    def read(self, most, seconds):
        numbers = list(islice(range(self.at, len(self.contents)), most))
        self.at += len(numbers)
        return [Entry(f"#{n}", self.contents[n], False, ("list", n) if self.positions else None) for n in numbers]

    def finish(self, entries, predictions, rejected):
        if self.breaks and self.breaks.pop(0):
            raise ConnectionError("gone")
        self.out += predictions
        self.rejected += rejected
        self.done += len(entries)

    def close(self):
        pass


def rows(count, seed=0):
    rng = np.random.default_rng(seed)
    return [{"id": f"r{n}", "u": float(u), "y": float(3 * u)} for n, u in enumerate(rng.normal(size=count))]


@pytest.mark.parametrize("positions", [True, False])
def test_a_batch_that_could_not_be_committed_is_learned_once_also_by_another_process(tmp_path, positions):
    contents, path = rows(50), tmp_path / "m.drift"
    source = Lines(contents, positions=positions, breaks=[False, True, False, True, True])
    counts = consume(source, StateModel(path, dl.RLS()), batch=7, seconds=0.01, until_idle=True)
    assert (counts.lost, counts.learned, counts.known, counts.entries) == (3, 50 - 14, 14, 50)
    expected, answers = dl.RLS(), []
    for row in contents:
        answers.append(expected.predict_one({"u": row["u"]}))
        expected.learn_one({"u": row["u"]}, row["y"])
    assert [record["prediction"] for record in source.out] == answers
    assert [record["id"] for record in source.out] == [row["id"] for row in contents]
    assert dl.load(path).to_bytes() == expected.to_bytes()
    source.done, record = 43, source.out.pop()  # as if the last commit, of one entry, had been lost with its process
    consume(source, StateModel(path, dl.RLS()), seconds=0.01, until_idle=True)
    assert dl.load(path).to_bytes() == expected.to_bytes()
    assert source.out[49:] == [record]


def test_a_reply_that_was_not_sent_is_sent_by_the_next_process(tmp_path):
    contents = [*rows(3), {"id": "bad", "u": 1.0, "y": 1e200}, {"id": "w", "u": 2.0}]
    source, model = Lines(contents), StateModel(tmp_path / "m.drift", dl.RLS(high=1e9))
    source.finish = lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        consume(source, model)
    again = Lines(contents)
    counts = consume(again, StateModel(tmp_path / "m.drift", dl.RLS()), seconds=0.01, until_idle=True)
    assert (counts.known, counts.learned, counts.rejected) == (4, 0, 1)
    assert [record["id"] for record in again.out] == ["r0", "r1", "r2", "w"]
    assert [record["id"] for record in again.rejected] == ["#3"]
    assert "high" in again.rejected[0]["error"]


def test_labels_wait_for_rows_and_rows_for_labels(tmp_path):
    contents = [
        {"id": "a", "u": 1.0},
        {"id": "b", "y": 5.0},
        {"id": "b", "u": 2.0},
        {"id": "a", "y": 2.0},
        {"id": "a", "y": 2.0},
    ]
    path, expected = tmp_path / "m.drift", dl.RLS()
    for part in range(1, 6):  # each with a model that is read from the file
        counts = consume(Lines(contents[:part]), StateModel(path, dl.RLS()), seconds=0.01, until_idle=True)
    assert (counts.known, counts.learned, counts.early) == (5, 0, 0)
    a = expected.ask({"u": 1.0})
    expected.tell(expected.ask({"u": 2.0}), 5.0)
    expected.tell(a, 2.0)
    assert dl.load(path).to_bytes() == expected.to_bytes()
    model = StateModel(path, dl.RLS(), waiting=2)
    consume(Lines([{"id": f"q{n}", "u": 1.0} for n in range(9)], positions=False), model, seconds=0.01, until_idle=True)
    assert (len(model.waiting), model.dropped) == (2, 7)


def test_rows_with_keys_go_to_a_fleet(tmp_path):
    contents = [{"id": f"{n}", "shop": f"s{n % 3}", "u": float(n), "y": n % 3 + 0.0} for n in range(30)]
    contents += [{"id": "late", "shop": "s1", "u": 1.0}, {"id": "late", "y": 4.0}, {"id": "none", "u": 1.0, "y": 1.0}]
    source, expected = Lines(contents), dl.Fleet(dl.RLS())
    fields = Fields(key="shop")
    counts = consume(source, StateModel(tmp_path / "m", dl.Fleet(dl.RLS())), fields, batch=4, seconds=0.01, until_idle=True)
    for row in contents[:30]:
        expected.learn_one(row["shop"], {"u": row["u"]}, row["y"])
    expected.learn_one("s1", {"u": 1.0}, 4.0)
    found = dl.load(tmp_path / "m")
    assert {key: found[key].to_bytes() for key in found.keys_} == {key: expected[key].to_bytes() for key in expected.keys_}
    assert (counts.learned, counts.rejected) == (31, 1)
    assert source.out[-1]["key"] == "s1"


def test_a_file_of_another_kind_is_not_replaced(tmp_path):
    path = tmp_path / "m.drift"
    dl.RLS().save(path)
    with pytest.raises(ModelFileError, match="was not written by driftline consume"):
        StateModel(path, dl.RLS())


POISON = [
    ("7", "an object of names and values, got int"),
    ("{", "Expecting property name"),
    (b"\xff\xfe{", "decode"),
    (None, "an object of names and values, got NoneType"),
    ({"u": 1.0, "y": "high"}, "y must be a number, got 'high'"),
    ('{"u": NaN, "y": 1}', "u must be finite, got nan"),
    ({"u": 1.0, "y": float("inf")}, "y must be a number, got inf"),
    ({"u": [1.0], "y": 1.0}, "u must be a number, text, true, false or null, got list"),
    ('{"u": ' + "9" * 400 + ', "y": 1}', "too large"),
    ('{"u": 1, "y": ' + "9" * 400 + "}", "too large"),
    ('{"u": "\\ud800", "y": 1}', "surrogates not allowed"),
    ('{"id": "\\ud800", "u": 1}', "surrogates not allowed"),
    ({"id": "a"}, "there is neither a feature nor a y"),
]


@for_each("content, words", POISON)
def test_poison_is_set_aside_with_a_reason(content, words):
    with pytest.raises((ValueError, OverflowError), match=re.escape(words)):
        Fields().read(Entry("#1", content))


def test_poison_does_not_stop_the_rest(tmp_path):
    said, source = [], Lines([content for content, _ in POISON] + [{"u": 1.0, "y": 2.0}])
    counts = consume(source, StateModel(tmp_path / "m", dl.RLS()), until_idle=True, seconds=0.01, say=said.append)
    assert (counts.rejected, counts.learned, len(source.rejected), len(said)) == (len(POISON), 1, len(POISON), len(POISON))
    json.dumps(source.rejected)


def test_text_fields_are_numbers_where_they_can_be_and_ids_stay_text():
    row = Fields(drop=["note"]).read(
        Entry("1-0", {"id": "007", "u": "1.5", "v": "", "w": "x", "note": "?", "y": "2"}, text=True)
    )
    assert (row.id, row.x, row.y) == ("007", {"u": 1.5, "v": None, "w": "x"}, 2.0)


def test_a_queue_without_ids_needs_one_in_each_entry():
    with pytest.raises(ValueError, match="there is no field 'id', and the queue gives its entries no ids"):
        Fields().read(Entry(None, {"u": 1.0}))


class Small:
    """A client of a service that takes two rows a call, and is away at times."""

    def __init__(self, away):
        self.away, self.learned = away, []

    def predict_rows(self, name, rows, on_error):
        return self._answer(rows, lambda row: {"id": row["id"], "prediction": 0.0})

    def learn_rows(self, name, rows, on_error):
        return {"rows": self._answer(rows, lambda row: self.learned.append(row["id"]) or {"result": "learned"})}

    def _answer(self, rows, answer):
        if self.away.pop(0) if self.away else False:
            raise ServiceError(503, "stopping")
        if len(rows) > 2 or "huge" in rows[0]["id"]:
            raise ServiceError(413, "too large")
        return [answer(row) for row in rows]


def test_batches_too_large_for_the_service_are_halved_and_a_busy_service_is_asked_again():
    contents = rows(9)
    contents[4]["id"] = "huge"
    source, client = Lines(contents), Small([True, False, False, True])
    counts = consume(source, ServiceModel(client, "m"), seconds=0.01, until_idle=True)
    assert client.learned == [row["id"] for row in contents if row["id"] != "huge"]
    assert (counts.lost, counts.learned, counts.rejected, counts.predicted) == (2, 8, 1, 8)
    assert source.rejected[0]["error"] == "too large"


def test_a_refusal_of_the_service_ends_the_consumer():
    class Unknown(Small):
        def _answer(self, rows, answer):
            raise ServiceError(404, "there is no model")

    source = Lines(rows(3))
    with pytest.raises(ServiceError, match="no model"):
        consume(source, ServiceModel(Unknown([]), "m"))
    assert source.done == 0


def test_the_counts_are_metrics():
    text = Counts(entries=7, last=1.5).text()
    assert "# TYPE driftline_consume_entries_total counter\ndriftline_consume_entries_total 7\n" in text
    assert "# TYPE driftline_consume_last_commit_seconds gauge\ndriftline_consume_last_commit_seconds 1.5\n" in text
