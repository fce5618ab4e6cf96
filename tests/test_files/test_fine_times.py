"""Times with more than six decimals are taken as in Parquet: cut to the microsecond."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from driftline.files import open_rows
from tests.cases import for_each
from tests.test_files.encoding import encoded

FRACTIONS = ["", ".5", ".123456", ".1234567", ".123456789"]


def read(path, **options):
    blocks = list(open_rows(path, target="load", time="when", **options))
    X, _, names = encoded(blocks)
    return X, np.concatenate([block.times for block in blocks]), names


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "text.parquet"])
@for_each("mark", ["", "Z", "+01:00"])
@for_each("first_row", [0, 30, 90])
def test_nine_decimals_are_read_alike_in_all_formats(tmp_path, monkeypatch, name, mark, first_row):
    """The first time with more than six decimals may come in a later block, when the others have shown what they are."""
    for constant, value in (("BLOCK", 400), ("FIRST", 400), ("LEAST", 1)):
        monkeypatch.setattr(f"driftline.files.lines.{constant}", value)
    fractions = [FRACTIONS[t % len(FRACTIONS)] if t >= first_row else FRACTIONS[t % 2] for t in range(100)]
    written = [f"2026-03-01T{t % 24:02}:00:{t % 60:02}{fraction}{mark}" for t, fraction in enumerate(fractions)]
    rows = [{"when": when, "load": float(t % 3)} for t, when in enumerate(written)]
    path = tmp_path / name
    if name == "a.csv":
        path.write_text("\n".join(["when,load", *(f"{row['when']},{row['load']}" for row in rows)]))
    elif name == "a.jsonl":
        path.write_text("\n".join(map(json.dumps, rows)))
    else:
        pyarrow.parquet.write_table(pa.Table.from_pylist(rows), path)
    bare = np.array([text.removesuffix(mark) if mark else text for text in written], dtype="datetime64[ns]")
    moments = bare - np.timedelta64(mark == "+01:00", "h")
    typed = pa.table({"when": pa.array(moments, pa.timestamp("ns", tz="UTC" if mark else None)), "load": np.arange(100) % 3})
    pyarrow.parquet.write_table(typed, tmp_path / "typed.parquet")
    X, times, names = read(path)
    expected, expected_times, expected_names = read(tmp_path / "typed.parquet")
    assert names == expected_names
    np.testing.assert_array_equal(times, expected_times)
    np.testing.assert_array_equal(times, moments.astype("datetime64[us]"))
    np.testing.assert_array_equal(X, expected)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_durations_of_every_unit_are_read_as_seconds(tmp_path, unit):
    scale = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    numbers = [0, 1, -5, 12345678901, 2**62, None]
    table = pa.table({"gap": pa.array(numbers, pa.duration(unit)), "load": np.arange(6.0)})
    pyarrow.feather.write_feather(table, tmp_path / "a.arrow")
    block = next(iter(open_rows(tmp_path / "a.arrow", target="load")))
    cut = 1000 if unit == "ns" else 1
    expected = [number // cut * cut / scale for number in numbers[:5]]
    np.testing.assert_allclose(block.X.values["gap"].values[:5], expected, rtol=1e-15)
