"""What a resumed run makes of a source or an output that changed meanwhile, and of pipes."""

import json
import os
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import driftline as dl
from tests.test_cli.calling import call, outcome, predictions
from tests.test_cli.tables import as_csv, as_json_lines, mixed, write

FORMATS = ["a.csv", "a.csv.gz", "a.jsonl", "a.parquet", "a.arrow", "a.arrows"]
WORDS = "not as it was when it was read before; new rows must be appended at the end. To start over, leave out --resume"


def sorted_rows(rows):
    """Rows in the order of a column, as an export may have them: more than 64 KB in any format."""
    t = np.arange(rows)
    return pa.table({"t": t, "x": np.sin(1.0 * t), "name": [f"n{each % 7}" for each in t], "load": np.cos(1.0 * t)})


@pytest.fixture
def run(capsys, tmp_path):
    def run(source, *more):
        return call(capsys, "run", source, "-t", "load", "-m", "rls", "--quiet", "--state", tmp_path / "state", *more)

    return run


@pytest.fixture
def piped(monkeypatch, run):
    """A run over bytes that come through a pipe."""

    def piped(data, *more):
        out, into = os.pipe()
        with os.fdopen(into, "wb") as stream:  # small enough for the pipe's buffer
            stream.write(data)
        with os.fdopen(out, "rb") as source, monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", source)
            return run("-", *more)

    return piped


@pytest.mark.parametrize("name", FORMATS)
def test_rows_inserted_far_behind_the_start_are_refused_and_the_first_is_named(run, tmp_path, name):
    whole, source = sorted_rows(50_100), tmp_path / name
    before = pa.concat_tables([whole.slice(0, 45_000), whole.slice(45_100, 5_000)])
    write(before, source)
    assert run(source)[0] == 0
    saved = (tmp_path / "state").read_bytes()
    write(whole, source)
    place = {"parquet": "row 45,000", "arrow": "row 45,000", "arrows": "row 45,000", "jsonl": "line 45,001"}
    at = place.get(name.rpartition(".")[2], "line 45,002")
    assert run(source, "--resume") == (2, "", f"driftline run: {source}, {at}: row 45,000 is {WORDS}\n")
    assert (tmp_path / "state").read_bytes() == saved


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("kind", ["removed", "last changed", "swapped", "cut off"])
def test_other_changes_are_refused(run, tmp_path, name, kind):
    table, source = mixed(600).drop_columns(["where"]), tmp_path / name
    write(table, source)
    assert run(source, "--key" if name == "a.csv" else "--drop", "on")[0] == 0
    order = {
        "removed": [t for t in range(600) if t != 300],
        "last changed": [*range(599), 0],
        "swapped": [*range(400), 401, 400, *range(402, 600)],
        "cut off": list(range(599)),
    }[kind]
    write(table.take(order), source)
    words = {"removed": "row 300", "last changed": "row 599", "swapped": "row 400"}
    expected = f"{words[kind]} is {WORDS}" if kind in words else "has 599 rows, but 600 were read before"
    code, out, err = run(source, "--key" if name == "a.csv" else "--drop", "on", "--resume")
    assert (code, out) == (2, "")
    assert expected in err


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("rows", [300, 333])
def test_the_same_rows_written_again_are_resumed(capsys, run, tmp_path, name, rows):
    """Neither times of files, nor row groups, nor the order of columns, nor unused columns matter."""
    table, source = mixed(333), tmp_path / name
    whole = write(table, tmp_path / f"whole.{name}")
    outcome(capsys, "run", whole, "-t", "load", "-m", "rls", "--drop", "one", "--out", tmp_path / "whole.csv")
    write(table.slice(0, 300), source)
    more = ["--drop", "one", "--out", tmp_path / "out.csv"]
    assert run(source, *more)[0] == 0
    again = table.slice(0, rows)
    again = again.set_column(again.schema.get_field_index("one"), "one", pa.array(np.zeros(rows)))
    if name == "a.parquet":
        pyarrow.parquet.write_table(again.select(again.schema.names[::-1]), source, row_group_size=41)
    elif name == "a.csv":
        source.write_bytes(as_csv(again).replace(b"\n", b"\r\n"))
    else:
        write(again, source)
    os.utime(source, (1, 1))
    assert run(source, *more, "--resume") == (0, "", "")
    assert predictions(tmp_path / "out.csv").equals(predictions(tmp_path / "whole.csv").slice(0, rows))


def test_a_last_line_without_a_line_break_may_be_followed_by_rows_but_not_continued(run, tmp_path):
    source = tmp_path / "a.csv"
    lines = ["x,load", *(f"{t % 7},{t % 5}" for t in range(100))]
    source.write_text("\n".join(lines))
    assert run(source)[0] == 0
    source.write_text("\n".join([*lines, "3,4"]))
    assert run(source, "--resume")[0] == 0
    assert dl.load(tmp_path / "state").n_seen_ == 101
    source.write_text("\n".join([*lines, "3,45"]))
    assert run(source, "--resume") == (2, "", f"driftline run: {source}, line 102: row 100 is {WORDS}\n")


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["t", "z", "name", "load"], "lacks the column 'x'; the rows that were read before had other columns"),
        (["t", "x", "name", "load", "more"], "has the new column 'more'; the rows that were read before had other columns"),
    ],
)
def test_other_columns_are_refused(run, tmp_path, name, names, words):
    source, table = write(sorted_rows(100), tmp_path / name), sorted_rows(200)
    assert run(source)[0] == 0
    write(pa.table([*table.columns, table.column(0)][: len(names)], names=names), source)
    code, _, err = run(source, "--resume")
    assert (code, words in err) == (2, True)


def test_a_label_file_that_changed_is_refused(capsys, tmp_path):
    rows = ["id,x,when", *(f"i{t},{t % 7},2026-01-01 {t // 60:02}:{t % 60:02}:00" for t in range(200))]
    labels = ["id,y,when", *(f"i{t},{t % 7},2026-01-01 {t // 60:02}:{t % 60:02}:30" for t in range(150))]
    source, late = tmp_path / "a.csv", tmp_path / "labels.csv"
    source.write_text("\n".join(rows))
    late.write_text("\n".join(labels))
    arguments = ["run", source, "-t", "y", "-m", "rls", "--id", "id", "--labels", late, "--time", "when", "--quiet"]
    arguments += ["--state", tmp_path / "state", "--resume"]
    assert call(capsys, *arguments) == (0, "", "")
    late.write_text("\n".join([*labels, "i150,3,2026-01-01 02:50:00"]))
    assert call(capsys, *arguments) == (0, "", "")
    late.write_text("\n".join([*labels[:100], "i99,5,2026-01-01 01:39:30", *labels[101:]]))
    assert call(capsys, *arguments) == (2, "", f"driftline run: {late}, line 101: row 99 is {WORDS}\n")


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("how", ["finished", "part"])
def test_predictions_that_changed_anywhere_are_not_resumed(run, tmp_path, ending, how):
    source, out = write(sorted_rows(3000), tmp_path / "a.csv"), tmp_path / f"out.{ending}"
    assert run(source, "--out", out)[0] == 0
    write(sorted_rows(3100), source)
    table = predictions(out)
    values = table.column("prediction").to_pylist()
    values[70] += 1e-9
    table = table.set_column(table.schema.get_field_index("prediction"), "prediction", pa.array(values))
    if ending == "parquet":
        pyarrow.parquet.write_table(table, out)
    else:
        lines = out.read_text().splitlines()
        lines[71] = lines[71].replace("2", "3", 1)
        out.write_text("\n".join([*lines, ""]))
    changed = out.read_bytes()
    place = "row 70" if ending == "parquet" else "line 72"
    code, _, err = run(source, "--out", out, "--resume")
    assert code == 2
    assert f"{out}: does not hold the predictions that it held when the state was saved: {place} is not as it was" in err
    assert out.read_bytes() == changed


def test_a_pipe_goes_on_with_its_next_row(capsys, piped, tmp_path):
    table = mixed(500)
    for begin, end in ((0, 200), (200, 201), (201, 500)):
        assert piped(as_json_lines(table.slice(begin, end - begin)), "--resume", "--out", tmp_path / "out.csv")[0] == 0
    whole = write(table, tmp_path / "whole.jsonl")
    outcome(capsys, "run", whole, "-t", "load", "-m", "rls", "--out", tmp_path / "whole.csv")
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_a_pipe_may_follow_a_file(run, piped, tmp_path):
    table = mixed(500)
    assert run(write(table.slice(0, 300), tmp_path / "history.csv"))[0] == 0
    assert piped(as_csv(table.slice(300)), "--resume")[0] == 0
    model = dl.load(tmp_path / "state")
    assert model.n_seen_ + model.n_skipped_ == 500


def test_a_pipe_that_is_fed_from_its_start_leaves_out_the_rows_learned_before(capsys, piped, tmp_path):
    table, more = mixed(500), ["--resume", "--out", tmp_path / "out.csv"]
    assert piped(as_json_lines(table.slice(0, 200)), *more)[0] == 0
    assert piped(as_json_lines(table), *more, "--from-start")[0] == 0
    whole = write(table, tmp_path / "whole.jsonl")
    outcome(capsys, "run", whole, "-t", "load", "-m", "rls", "--out", tmp_path / "whole.csv")
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
    lines = as_json_lines(table).splitlines(keepends=True)
    code, _, err = piped(b"".join([*lines[:100], *lines[101:]]), *more, "--from-start")
    assert (code, f"standard input, line 101: row 100 is {WORDS}" in err) == (2, True)


def test_a_redirected_file_is_read_as_a_file(monkeypatch, run, tmp_path):
    """Such a command may be repeated every night."""
    source, state = tmp_path / "a.csv", tmp_path / "state"
    for rows in (300, 400):
        write(mixed(400).slice(0, rows), source)
        with source.open() as opened, monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", opened)
            assert run("-", "--resume") == (0, "", "")
        model = dl.load(state)
        assert model.n_seen_ + model.n_skipped_ == rows


def test_a_pipe_that_seems_to_start_over_is_warned_about(piped):
    data = as_json_lines(mixed(300))
    for part, refed in ((data, False), (data, True), (b"".join(data.splitlines(keepends=True)[100:]), False)):
        code, out, _ = piped(part, "--resume", "--json")
        assert code == 0
        warned = [words.partition(",")[0] for words in json.loads(out)["warnings"]]
        assert warned == ["the pipe began with the rows that were learned first"] * refed


def test_from_start_needs_resume(capsys, tmp_path):
    source = write(mixed(50), tmp_path / "a.csv")
    code, _, err = call(capsys, "run", source, "-t", "load", "--from-start")
    assert (code, "--from-start needs --resume" in err) == (2, True)
