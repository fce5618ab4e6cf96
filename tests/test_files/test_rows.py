"""Readers: every format gives the same rows, whatever the block size, and errors name what cannot be read."""

import gzip
from contextlib import closing

import numpy as np
import pytest

import driftline as dl
from driftline.files import DataError, Options, Rows, arrow_tables, lines, open_rows
from driftline.files.digests import Digests, of_rows
from driftline.files.lines import LineBlocks
from driftline.files.opening import open_source
from tests.cases import for_each
from tests.test_cli.tables import as_csv, mixed, write
from tests.test_files.encoding import encoded

FORMATS = ["a.csv", "a.csv.gz", "a.parquet", "a.arrow", "a.arrows", "a.jsonl"]


@pytest.mark.parametrize("name", FORMATS)
def test_small_blocks_give_the_same_rows_as_large_ones(tmp_path, monkeypatch, name):
    path = write(mixed(300), tmp_path / name)
    X, y, names = encoded(open_rows(path, target="load"))
    for constant, value in (("BLOCK", 700), ("FIRST", 300), ("LEAST", 1)):
        monkeypatch.setattr(lines, constant, value)
    monkeypatch.setattr(lines, "PEEK", 100)
    monkeypatch.setattr(arrow_tables, "ROWS", 7)
    rows = open_rows(path, target="load")
    small = encoded(rows)
    assert small[2] == names
    np.testing.assert_array_equal(small[0], X)
    np.testing.assert_array_equal(small[1], y)


@pytest.mark.parametrize("name", FORMATS)
@for_each("done", [0, 1, 99, 100, 101, 299, 300])
def test_rows_that_were_read_before_are_left_out(tmp_path, name, done):
    path, options = write(mixed(300), tmp_path / name), Options(target="load")
    first = Digests()
    with Rows(path, options, done=Digests()) as rows:
        for block in rows.reader.blocks():
            first.add(of_rows(block.table, block.kinds)[: done - first.count])
    with Rows(path, options, done=first) as rows:
        rows.start()
        blocks = list(iter(rows.next_raw, None))
    assert sum(len(block) for block in blocks) == 300 - done
    starts = [block.start for block in blocks]
    assert starts == [done + sum(len(block) for block in blocks[:place]) for place in range(len(blocks))]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_detected(tmp_path, delimiter):
    path = tmp_path / "a.csv"
    path.write_bytes(as_csv(mixed(50), delimiter))
    X, _, names = encoded(open_rows(path, target="load"))
    expected, _, expected_names = encoded(open_rows(write(mixed(50), tmp_path / "b.csv"), target="load"))
    assert names == expected_names
    np.testing.assert_array_equal(X, expected)


def read(tmp_path, content, **options):
    path = tmp_path / "a.csv"
    path.write_bytes(content.encode())
    return encoded(open_rows(path, target="y", **options))


@pytest.mark.parametrize(
    ("text", "names", "X"),
    [
        ("x;y\n1,5;2\n-2,25;3,5\n", ["x"], [[1.5], [-2.25]]),
        ("\ufeffx,y\n1,2\n", ["x"], [[1.0]]),
        ("x,y\r\n1,2\r\n3,4\r\n", ["x"], [[1.0], [3.0]]),
        ("\n\nx,y\n1,2\n\n3,4\n", ["x"], [[1.0], [3.0]]),
        ("x,y\n1,2\n3,4", ["x"], [[1.0], [3.0]]),
        ('x,y\n"a, b",2\n"line\nbreak",4\n', ["x=a, b", "x=line\nbreak"], [[1.0, 0.0], [0.0, 1.0]]),
        ('x,y\n5" pipe,2\nplain,4\n', ['x=5" pipe', "x=plain"], [[1.0, 0.0], [0.0, 1.0]]),
        ("x,e,y\n1,,2\n2,,3\n", ["x"], [[1.0], [2.0]]),
        (",y\n7,2\n", ["column 1"], [[7.0]]),
        (" x , y\n 1 , 2\n", ["x"], [[1.0]]),
        ("x,y\n?,2\n1,3\nNA,4\n", ["x", "x is missing"], [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]),
    ],
)
def test_variants_of_csv_are_read(tmp_path, text, names, X):
    found = read(tmp_path, text)
    assert found[2] == names
    np.testing.assert_array_equal(found[0], X)


def test_options_change_what_is_read(tmp_path):
    assert read(tmp_path, "x,y\n1,2\n2,3\n", text=["x"])[2] == ["x=1", "x=2"]
    assert read(tmp_path, "x,y\n1,2\nnix,3\n", na=["nix"])[2] == ["x", "x is missing"]
    assert read(tmp_path, "x y\n1 2\n", delimiter=" ")[2] == ["x"]
    names, X = read(tmp_path, "t,y\nday 365 of 2025 at 06,2\n", time="t", time_format="day %j of %Y at %H")[2::-2]
    assert X[0, names.index("t: day sin")] == pytest.approx(1.0)
    with pytest.raises(DataError, match="time_format"):
        read(tmp_path, "t,y\nat six,2\n", time="t")


def test_an_error_is_worded_for_python_or_for_the_command_line(tmp_path):
    with pytest.raises(DataError) as caught:
        read(tmp_path, "x,y\n1,2\n2,3\nlots,4\n")
    source = tmp_path / "a.csv"
    words = f"{source}, line 4, column 'x': 'lots' is not a number, unlike most of the column. Use "
    assert str(caught.value).startswith(words + "na='lots' if it means a missing value")
    assert caught.value.spelled(as_flags=True).startswith(words + "--na lots if it means a missing value")


def test_evaluate_accepts_a_reader(tmp_path):
    path = write(mixed(200).drop_columns(["when"]), tmp_path / "a.csv")
    learner = dl.RLS(missing="mean")
    dl.evaluate.prequential(learner, open_rows(path, target="load"), progress=False)
    model = dl.RLS(missing="mean")
    for _, _run in dl.files.follow(model, open_rows(path, target="load")):
        pass
    for name in ("wind", "on", "where=north"):
        known = [list(each.feature_names_in_).index(name) for each in (learner, model)]
        assert learner.coef_[known[0]] == pytest.approx(model.coef_[known[1]])


def test_a_line_ends_outside_quotes(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b'a,b\n"1\n2",3\n4,5\n')
    with closing(open_source(path)) as opened:
        blocks = LineBlocks(opened, quotes=True)
        assert blocks.header() == b"a,b"
        assert list(blocks) == [(b'"1\n2",3\n4,5\n', 2)]


def test_memory_stays_bounded_while_packed_data_is_large(tmp_path):
    """A small gzipped file may hold one endless line."""
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"a,y\n" + b"1" * (40 * 2**20), 1))
    with pytest.raises(DataError, match="the line is longer than 16 MB"):
        list(open_rows(path, target="y"))
