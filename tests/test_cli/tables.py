"""A table with every kind of column, and functions that write it."""

import gzip
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

WORDS = ["north", "south", "east", "west"]


def mixed(rows=600, seed=3):
    """Numbers with gaps, text whose values appear one by one, times, booleans, a constant; labels with gaps."""
    rng = np.random.default_rng(seed)
    wind = rng.normal(size=rows)
    wind[rng.random(rows) < 0.05] = np.nan
    where = [WORDS[min(int(rng.integers(0, 4)), t // 100)] if rng.random() > 0.03 else None for t in range(rows)]
    when = np.datetime64("2026-03-01T00:00:00") + np.arange(rows) * np.timedelta64(1, "h")
    on = rng.random(rows) < 0.5
    level = np.array([0.0 if w is None else 2.0 + WORDS.index(w) for w in where])
    load = 10 + np.nan_to_num(wind) * (1 + np.arange(rows) / rows) + level + on + 0.1 * rng.normal(size=rows)
    load[rng.random(rows) < 0.04] = np.nan
    return pa.table(
        {
            "when": pa.array(when.astype("datetime64[s]")),
            "wind": pa.array(wind, from_pandas=True),
            "where": where,
            "on": on,
            "one": np.ones(rows),
            "load": pa.array(load, from_pandas=True),
        }
    )


def as_csv(table, delimiter=","):
    out = io.BytesIO()
    options = pyarrow.csv.WriteOptions(delimiter=delimiter)
    pyarrow.csv.write_csv(table, out, options)
    return out.getvalue()


def as_json_lines(table):
    rows = [{k: v.isoformat(sep=" ") if hasattr(v, "isoformat") else v for k, v in row.items()} for row in table.to_pylist()]
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def write(table, path):
    """Writes a table in the format of the path's suffix."""
    name = path.name
    if name.endswith(".parquet"):
        pyarrow.parquet.write_table(table, path, row_group_size=100)
    elif name.endswith((".arrow", ".feather")):
        pyarrow.feather.write_feather(table, path, chunksize=128)
    elif name.endswith(".arrows"):
        with pa.ipc.new_stream(path, table.schema) as stream:
            stream.write_table(table, max_chunksize=77)
    elif name.endswith(".jsonl"):
        path.write_bytes(as_json_lines(table))
    elif name.endswith(".gz"):
        path.write_bytes(gzip.compress(as_csv(table)))
    else:
        path.write_bytes(as_csv(table))
    return path
