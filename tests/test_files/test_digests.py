"""Digests of rows: the first change is found, whatever the format, the order of the columns and the blocks."""

import hashlib
import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.files import digests, open_rows
from driftline.files.digests import Digests, of_lines, of_rows
from driftline.tables.kinds import NUMBER, TEXT, TIMESTAMP, TRUTH
from tests.test_cli.tables import mixed, write


def hash_of(value):
    """64 bits that spread as those of rows do; the sums of a step tell such items apart, not small numbers."""
    return int.from_bytes(hashlib.blake2b(str(value).encode(), digest_size=8).digest())


items = st.integers(0, 5).map(hash_of)


def digested(values, cuts=(), step=1):
    found, values = Digests(step), np.array(values, dtype=np.uint64)
    for part in np.split(values, sorted(cuts)):
        found.add(part)
    return found


def of_file(path, **options):
    with open_rows(path, target="load", **options) as rows:
        return np.concatenate([of_rows(raw.table, raw.kinds) for raw in rows.reader.blocks()])


@given(st.lists(items, min_size=1, max_size=60), st.lists(items, min_size=1, max_size=60), st.integers(2, 9))
def test_the_first_difference_is_in_the_step_that_is_named(old, new, most):
    before, digests.MOST = digests.MOST, most
    try:
        kept = digested(old)
        now = digested(new[: len(old)], step=kept.step)
    finally:
        digests.MOST = before
    assert len(kept.sums) <= most
    unlike = [place for place, (one, other) in enumerate(zip(old, new, strict=False)) if one != other]
    found = now.difference(kept)
    if found is not None:
        assert unlike[0] in found
    else:  # what follows the last whole step of the shorter one cannot be compared
        assert not unlike or unlike[0] >= len(new) // kept.step * kept.step


@given(st.lists(items, max_size=40), st.lists(st.integers(0, 40), max_size=5))
def test_the_blocks_do_not_matter(values, cuts):
    one, other = digested(values), digested(values, cuts)
    assert one.difference(other) is None
    assert (one.count, one.step, one.sums.tolist()) == (other.count, other.step, other.sums.tolist())


def test_a_digest_is_kept_for_each_row_of_a_short_file_and_for_several_rows_of_a_long_one():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 2**63, size=1_000_000, dtype=np.uint64)
    kept = digested(values, cuts=range(0, 1_000_000, 30_011))
    assert (kept.step, kept.sums.nbytes) == (16, 250_000)
    restored = Digests.restored(kept.state())
    for place in (0, 65_536, 777_777, 999_999):
        changed = values.copy()
        changed[place] += np.uint64(1)
        found = digested(changed, step=16).difference(restored)
        assert place in found
        assert len(found) == 16


def test_every_format_gives_the_same_digests(tmp_path):
    table = mixed(300)
    expected = of_file(write(table, tmp_path / "a.csv"))
    for name in ("a.csv.gz", "a.parquet", "a.arrow", "a.arrows", "a.jsonl"):
        assert np.array_equal(of_file(write(table, tmp_path / name)), expected), name
    shuffled = write(table.select(table.schema.names[::-1]), tmp_path / "b.csv")
    assert np.array_equal(of_file(shuffled), expected)
    (tmp_path / "c.csv").write_bytes((tmp_path / "a.csv").read_bytes().replace(b"\n", b"\r\n"))
    assert np.array_equal(of_file(tmp_path / "c.csv"), expected)


@pytest.mark.parametrize("column", ["when", "wind", "where", "on", "load"])
def test_every_kind_of_column_counts(tmp_path, column):
    table = mixed(300)
    values = table.column(column).to_pylist()
    values[200], values[201] = values[201], None
    place = table.schema.get_field_index(column)
    changed = table.set_column(place, column, pa.array(values, table.schema.field(column).type))
    before, after = (of_file(write(each, tmp_path / "a.parquet")) for each in (table, changed))
    assert set(np.flatnonzero(before != after)) <= {200, 201}
    assert before[201] != after[201]


def test_a_column_that_appears_late_leaves_earlier_rows_as_they_were(tmp_path):
    lines = [json.dumps({"x": t, "load": t % 3}) for t in range(50)]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(lines))
    before = of_file(path)
    path.write_text("\n".join([*lines, json.dumps({"x": 1, "new": "a", "load": 2})]))
    assert np.array_equal(of_file(path)[:50], before)


def test_swapped_values_of_two_columns_differ():
    table = pa.table({"a": [1.0, 2.0], "b": [2.0, 2.0], "c": ["x", None]})
    swapped = pa.table({"a": [2.0, 2.0], "b": [1.0, 2.0], "c": ["x", None]})
    kinds = {"a": NUMBER, "b": NUMBER, "c": TEXT}
    assert (of_rows(table, kinds) == of_rows(swapped, kinds)).tolist() == [False, True]


def test_zero_and_false_are_not_missing():
    kinds = {"a": NUMBER, "b": TRUTH, "c": TEXT, "d": TIMESTAMP}
    one = {"a": [0.0], "b": [False], "c": [""], "d": [np.datetime64("1970-01-01", "us")]}
    whole = of_rows(pa.table(one), kinds)
    for name in one:
        assert of_rows(pa.table({each: values for each, values in one.items() if each != name}), kinds) != whole


def test_lines_are_told_apart():
    found = of_lines(b"a,b\n\n1,2\na,b\n")
    assert len(found) == 4
    assert found[0] == found[3]
    assert len(set(found.tolist())) == 3
