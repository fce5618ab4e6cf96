"""Times and durations in frames of every kind: the features of a run are those of a loop over Python's values."""

import datetime as dt
import math
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy.sparse import csr_array

import driftline as dl
from driftline.files import Options, Rows
from tests.cases import for_each

BERLIN = "Europe/Berlin"
START = dt.datetime(2025, 10, 25, 22, 10, 0, 123456, tzinfo=dt.UTC)  # some hours before the clocks go back
ROWS = 30
WHEN = [None if row == 7 else START + dt.timedelta(minutes=17 * row) for row in range(ROWS)]
LOCAL = [None if at is None else at.astimezone(ZoneInfo(BERLIN)) for at in WHEN]
SPANS = [None if row == 7 else dt.timedelta(seconds=1.5 * row - 3, microseconds=row) for row in range(ROWS)]
UNITS = ("s", "ms", "us", "ns")
COARSE = {"s": 1_000_000, "ms": 1_000, "us": 1, "ns": 1}


def learn_file(model, path):
    with Rows(path, Options(target="y")) as blocks:
        for block in blocks:
            model.run(block.X, block.y)


def arrow(values, kind, unit):
    """An Arrow array of a unit, with times rounded down to it."""
    exact = pa.array(values, kind("us")).cast(pa.int64()).to_pylist()
    rounded = [None if at is None else at // COARSE[unit] * COARSE[unit] for at in exact]
    return pa.array(rounded, pa.int64()).cast(kind("us")).cast(kind(unit))


def zoned(unit):
    return pa.timestamp(unit, tz=BERLIN)


def objects(values):
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return pd.DataFrame({"t": pd.Series(column, dtype=object)})


def pandas_arrow(values):
    return pd.DataFrame({"t": pd.Series(values, dtype=pd.ArrowDtype(values.type))})


def from_arrow(values):
    """The same column in every kind of frame that can hold it."""
    yield "pyarrow", pa.table({"t": values})
    yield "pandas with Arrow columns", pandas_arrow(values)
    if values.type != pa.time64("ns"):  # which Python's times cannot hold
        yield "pandas", pa.table({"t": values}).to_pandas()
    if values.type not in (pa.timestamp("s"), zoned("s"), pa.duration("s")):  # polars has no seconds
        yield "polars", pl.from_arrow(pa.table({"t": values}))


def cases():
    for unit in UNITS:
        for kind, values in (
            (zoned, LOCAL),
            (pa.timestamp, [at and at.replace(tzinfo=None) for at in LOCAL]),
            (pa.duration, SPANS),
        ):
            column = arrow(values, kind, unit)
            expected = column.cast(kind("us")).to_pylist()
            for library, frame in from_arrow(column):
                yield f"{library} {column.type}", frame, expected
    for name, take in (("date", dt.datetime.date), ("time", dt.datetime.time)):
        values = [None if at is None else take(at) for at in LOCAL]
        for library, frame in from_arrow(pa.array(values)):
            yield f"{library} {name}", frame, values
        yield f"objects {name}", objects(values), values
    yield "objects with a zone", objects(LOCAL), LOCAL
    yield "objects with an offset", objects([at and at.astimezone(dt.timezone(at.utcoffset())) for at in LOCAL]), LOCAL
    yield "Timestamps", objects([at and pd.Timestamp(at) for at in LOCAL]), LOCAL
    yield "objects of durations", objects(SPANS), SPANS
    yield "Timedeltas", objects([span and pd.Timedelta(span) for span in SPANS]), SPANS
    yield "NumPy's durations", objects([span and np.timedelta64(span) for span in SPANS]), SPANS
    yield "polars objects", pl.DataFrame({"t": pl.Series(SPANS, dtype=pl.Object)}), SPANS
    nanoseconds = [None if row == 7 else 999 + 123_456_789 * row for row in range(ROWS)]
    clocks = [at and (dt.datetime.min + dt.timedelta(microseconds=at // 1000)).time() for at in nanoseconds]
    for library, frame in from_arrow(pa.array(nanoseconds, pa.time64("ns"))):
        yield f"{library} time in nanoseconds", frame, clocks


CASES = {name: (frame, values) for name, frame, values in cases()}


@for_each("missing", ["skip", "mean"])
@pytest.mark.parametrize("name", CASES)
def test_a_run_over_a_frame_equals_a_loop_over_pythons_values(name, missing):
    frame, values = CASES[name]
    y = np.random.default_rng(0).normal(size=ROWS)
    framed, looped = dl.RLS(missing=missing), dl.RLS(missing=missing)
    run, predictions = framed.run(frame, y), []
    for value, label in zip(values, y, strict=True):
        predictions.append(looped.predict_one({"t": value}))
        looped.learn_one({"t": value}, label)
    assert framed.feature_names_in_.tolist() == looped.feature_names_in_.tolist()
    assert np.array_equal(run.predictions, predictions, equal_nan=True)
    assert np.array_equal(framed.predict(frame), [looped.predict_one({"t": value}) for value in values], equal_nan=True)


def test_hours_are_local_and_the_hour_that_summer_time_repeats_has_the_same_features_twice():
    """The first weight of a model that learned one row is proportional to the sine of its hour, by the wall clock."""
    for name, (frame, values) in CASES.items():
        if "tz=" in name or "zone" in name:
            model, place = dl.RLS(intercept=False), next(row for row, at in enumerate(values) if at.hour == 1)
            model.run(frame[place : place + 1], [1.0])
            day = 2 * math.pi * (values[place].hour + values[place].minute / 60) / 24
            assert model.coef_[0] / model.coef_[1] == pytest.approx(math.tan(day), rel=1e-2), name
    first, second = (dt.datetime(2025, 10, 26, 2, 30, fold=fold, tzinfo=ZoneInfo(BERLIN)) for fold in (0, 1))
    assert first.utcoffset() != second.utcoffset()
    model = dl.RLS()
    model.run(pa.table({"t": pa.array([first, second], zoned("us"))}), [1.0, 1.0])
    assert model.predict_one({"t": first}) == model.predict_one({"t": second})


def test_pandas_own_conversion_to_local_time_is_not_used_for_arrow_columns(monkeypatch):
    """Before version 3, it leaves the times of such columns in UTC."""
    from pandas.core.arrays import ArrowExtensionArray

    def in_utc(self, tz, *_, **__):
        return type(self)(self._pa_array.cast(pa.timestamp("us")))

    monkeypatch.setattr(ArrowExtensionArray, "_dt_tz_localize", in_utc)
    times = arrow(WHEN[:7], zoned, "us")
    framed, looped = dl.RLS(), dl.RLS()
    framed.run(pandas_arrow(times), np.arange(7.0))
    for label, value in enumerate(times.to_pylist()):
        looped.learn_one({"t": value}, float(label))
    assert np.array_equal(framed.coef_, looped.coef_)


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("pyarrow")])
def test_a_file_has_the_features_of_its_frame(name, tmp_path):
    frame, _ = CASES[name]
    frame = frame.slice(0, 7).append_column("y", pa.array(np.arange(7.0)))
    parquet.write_table(frame, tmp_path / "x.parquet", version="2.6", store_schema=True)
    stored = parquet.read_table(tmp_path / "x.parquet")
    model = dl.RLS(intercept=False)
    model.run(stored.drop_columns(["y"]), np.arange(7.0))
    other = dl.RLS(intercept=False)
    learn_file(other, tmp_path / "x.parquet")
    assert np.array_equal(model.coef_, other.coef_)


def test_nanoseconds_are_cut_off_alike_in_frames_files_and_loops(tmp_path):
    """Downwards, before 1970 and for negative durations too."""
    numbers = np.array([-1_500_000_000_001_999, -1_001, 1_999, 86_399_999_999_999])
    for kind in ("M8[ns]", "m8[ns]"):
        table = pa.table({"t": pa.array(numbers.view(kind)), "y": pa.array(np.arange(4.0))})
        parquet.write_table(table, tmp_path / "x.parquet", version="2.6")
        model, looped, filed = dl.RLS(), dl.RLS(), dl.RLS()
        model.run(table.drop_columns(["y"]), np.arange(4.0))
        for label, value in enumerate(numbers.view(kind)):
            looped.learn_one({"t": value}, float(label))
        learn_file(filed, tmp_path / "x.parquet")
        assert np.array_equal(model.coef_, looped.coef_)
        assert np.array_equal(model.coef_, filed.coef_)


@pytest.mark.parametrize(
    "make",
    [
        lambda n, spans: pd.DataFrame({"n": n, "t": pd.Series(spans)}),
        lambda n, spans: pd.DataFrame({"n": n, "t": pd.Series(spans, dtype=object)}),
        lambda n, spans: pl.DataFrame({"n": n, "t": spans}),
        lambda n, spans: pa.table({"n": n, "t": spans}),
    ],
    ids=["pandas", "objects", "polars", "pyarrow"],
)
def test_durations_are_seconds_wherever_numbers_are_taken(make):
    """In frames beside numbers, and for learners that keep no columns."""
    rng = np.random.default_rng(1)
    n, y, spans = (
        rng.normal(size=20),
        rng.normal(size=20),
        [dt.timedelta(microseconds=int(at)) for at in rng.integers(-9, 10**7, 20)],
    )
    frame, plain = make(n, spans), np.column_stack([n, [span.total_seconds() for span in spans]])
    for model in (
        dl.RLS(),
        dl.Auto(),
        dl.Kernel(dl.RLS()),
        dl.features.Lags(y=2) | dl.NLMS(),
        dl.features.Hashing(8) | dl.RLS(),
    ):
        twin, named = model.clone(), pd.DataFrame(plain, columns=["n", "t"])
        assert np.array_equal(model.run(frame, y).predictions, twin.run(named, y).predictions)
        assert model.predict_one({"n": 0.5, "t": spans[3]}) == twin.predict_one({"n": 0.5, "t": spans[3].total_seconds()})
    fleets = [dl.Fleet(dl.RLS()).run([0, 1] * 10, X, y).predictions for X in (frame, plain)]
    assert np.array_equal(*fleets)
    assert np.array_equal(
        dl.RLS().run(plain, np.array(spans, dtype="m8[us]")).predictions, dl.RLS().run(plain, plain[:, 1]).predictions
    )


def test_forecasters_take_durations_and_sparse_rows_too():
    rng = np.random.default_rng(2)
    spans, y = [dt.timedelta(seconds=int(at)) for at in rng.integers(-9, 9, 20)], rng.normal(size=20)
    listed, sparse, plain = (dl.Forecaster(dl.RLS(), steps=2) for _ in range(3))
    for span, label in zip(spans, y, strict=True):
        listed.learn_one([span], label)
        sparse.learn_one(csr_array([[span.total_seconds()]]), label)
        plain.learn_one([span.total_seconds()], label)
    expected = plain.forecast([[1.0], [2.0]]).predictions
    assert np.array_equal(listed.forecast([[1.0], [2.0]]).predictions, expected)
    assert np.array_equal(sparse.forecast(csr_array([[1.0], [2.0]])).predictions, expected)


def test_a_bad_cell_is_named_by_its_row_whatever_the_block(in_blocks_of):
    in_blocks_of(4)
    text = pd.DataFrame({"t": pd.Series(["a"] * 9 + [1.5], dtype=object), "n": 1.0})
    with pytest.raises(ValueError, match=r"RLS\.predict: column 't' holds text, but 1\.5 in row 9"):
        dl.RLS().fit(text[:9], np.ones(9)).predict(text)
    numbers = pd.DataFrame({"t": pd.Series([1.0] * 9 + [b"x"], dtype=object)})
    with pytest.raises(ValueError, match=r"RLS\.run: column 't'\[9\] must be a number"):
        dl.RLS().run(numbers, np.ones(10))
