"""Frames and mappings of every kind give the same model as hand-made features, a file or a loop, and survive saving."""

import copy
import datetime as dt
import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline import files
from driftline.checks.tools import require_same
from driftline.features import Lags, Standardize
from driftline.tables import cells
from tests.cases import for_each

FRAMES = {
    "pandas": lambda columns: pd.DataFrame(
        {name: pd.Series(values, dtype=_DTYPES.get(name)) for name, values in columns.items()}
    ),
    "polars": lambda columns: pl.DataFrame(columns, schema_overrides=_SCHEMA, strict=False),
    "arrow": lambda columns: pa.table({name: pa.array(values, _TYPES[name]) for name, values in columns.items()}),
}
_DTYPES = {"tree": object, "when": "datetime64[us, Europe/Berlin]", "day": object}
_SCHEMA = {"tree": pl.String, "load": pl.Float64, "when": pl.Datetime("us", "Europe/Berlin"), "day": pl.Date}
_TYPES = {"tree": pa.string(), "load": pa.float64(), "when": pa.timestamp("us", "Europe/Berlin"), "day": pa.date32()}
BERLIN = pd.Timestamp("2026-03-28 20:00", tz="Europe/Berlin")

LEARNERS = {
    "rls": dl.RLS,
    "arcor": lambda **options: dl.ARCOR(radius=2.0, **options),
    "eg": lambda **options: dl.EG(**options),
    "auto": dl.Auto,
    "network": dl.Network,
    "averaged": lambda **options: dl.Averaged(dl.LMS(**options)),
    "pipeline": lambda **options: Standardize() | Lags(y=2) | dl.RLS(**options),
}


def columns_of(rows, *, missing=False, seed=0):
    rng = np.random.default_rng(seed)
    hole = (lambda: rng.random() < 0.2) if missing else (lambda: False)
    return {
        "tree": [None if hole() else ("oak", "ash", "elm")[int(rng.integers(1 + (t > 5) + (t > 20)))] for t in range(rows)],
        "load": [None if hole() else float(rng.normal()) for _ in range(rows)],
        "when": [None if hole() else (BERLIN + pd.Timedelta(hours=3 * t)).to_pydatetime() for t in range(rows)],
        "day": [None if hole() else dt.date(2026, 1, 1) + dt.timedelta(days=t) for t in range(rows)],
    }


def rows_of(columns):
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def looped(model, rows, y, weight=None):
    predicted = []
    for t, (row, label) in enumerate(zip(rows, y.tolist(), strict=True)):
        predicted.append(model.predict_one(row))
        model.learn_one(row, label, sample_weight=None if weight is None else float(weight[t]))
    return np.array(predicted)


@for_each("missing", ["raise", "mean"])
@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("name", LEARNERS)
def test_a_frame_of_any_library_equals_the_loop_over_its_rows(name, library, missing):
    columns, y = columns_of(80, missing=missing == "mean"), np.random.default_rng(1).normal(size=80)
    by_table, by_row = LEARNERS[name](missing=missing), LEARNERS[name](missing=missing)
    run = by_table.run(FRAMES[library](columns), y)
    np.testing.assert_array_equal(run.predictions, looped(by_row, rows_of(columns), y))
    require_same(by_table.__getstate__(), by_row.__getstate__(), "state")
    frame = FRAMES[library](columns)
    if name != "auto":  # which predicts tables as if no label came in between
        np.testing.assert_array_equal(by_table.predict(frame), [by_row.predict_one(row) for row in rows_of(columns)])


@st.composite
def streams(draw):
    """Columns and labels with gaps, weights with zeros, and places to cut the table."""
    rows = draw(st.integers(1, 40))
    column = {
        "tree": st.one_of(st.none(), st.sampled_from(["a", "b", "", "missing", "other", "é" * 300])),
        "load": st.one_of(st.none(), st.floats(-10, 10)),
        "price": st.one_of(st.none(), st.floats(-10, 10)),
        "open": st.one_of(st.none(), st.booleans()),
        "when": st.one_of(st.none(), st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1))),
    }
    columns = {name: draw(st.lists(values, min_size=rows, max_size=rows)) for name, values in column.items()}
    y = draw(st.lists(st.one_of(st.just(np.nan), st.floats(-5, 5)), min_size=rows, max_size=rows))
    weight = draw(st.lists(st.sampled_from([0.0, 1.0, 2.0]), min_size=rows, max_size=rows))
    cuts = sorted({0, rows, *draw(st.lists(st.integers(0, rows), max_size=3))})
    return columns, np.array(y), np.array(weight), cuts


ARROW = {"tree": pa.string(), "load": pa.float64(), "price": pa.float64(), "open": pa.bool_(), "when": pa.timestamp("us")}


@settings(max_examples=60)
@given(streams(), st.sampled_from(["skip", "mean"]), st.sampled_from(["rls", "eg", "pipeline"]))
def test_cutting_the_table_changes_nothing_and_neither_do_rows_that_are_not_learned(case, missing, name):
    columns, y, weight, cuts = case
    table = pa.table({column: pa.array(values, ARROW[column]) for column, values in columns.items()})
    by_table, by_row, by_learned = (LEARNERS[name](missing=missing) for _ in range(3))
    rows = rows_of(columns)
    predicted = [
        by_table.run(table.slice(first, last - first), y[first:last], sample_weight=weight[first:last]).predictions
        for first, last in pairwise(cuts)
    ]
    np.testing.assert_array_equal(np.concatenate(predicted), looped(by_row, rows, y, weight))
    require_same(by_table.__getstate__(), by_row.__getstate__(), "state")
    if by_row._traits.looks_back and by_row.n_skipped_:
        return  # skipped rows keep their place in the lags
    for row, label, share in zip(rows, y.tolist(), weight.tolist(), strict=True):
        whole = missing == "mean" or None not in row.values()
        if np.isfinite(label) and share and whole:
            by_learned.learn_one(row, label, sample_weight=share)
    by_row._skipped = 0
    require_same(by_learned.__getstate__(), by_row.__getstate__(), "the state of the rows that were learned")


@pytest.mark.parametrize("missing", ["raise", "mean"])
def test_a_file_gives_the_same_bits_as_the_frame(tmp_path, missing):
    columns, y = columns_of(300, missing=missing == "mean"), np.random.default_rng(2).normal(size=300)
    table = FRAMES["arrow"](columns)
    pa.parquet.write_table(table.append_column("y", pa.array(y)), tmp_path / "rows.parquet")
    by_file, by_frame = dl.RLS(missing=missing), dl.RLS(missing=missing)
    opened = files.open_rows(tmp_path / "rows.parquet", target="y")
    predicted = np.concatenate([run.predictions for _, run in files.follow(by_file, opened)])
    np.testing.assert_array_equal(by_frame.run(table, y).predictions, predicted)
    assert list(by_file.feature_names_in_) == list(by_frame.feature_names_in_)
    require_same(by_file.__getstate__(), by_frame.__getstate__(), "state")


def test_the_mean_and_the_flag_equal_those_computed_by_hand():
    """Compares columns with gaps and the same columns filled in with NumPy."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(200, 3)), rng.normal(size=200)
    X[rng.random(X.shape) < 0.3] = np.nan
    X[0], X[1] = [1.0, 2.0, 3.0], np.nan  # all columns and flags exist from the second row on
    known = np.isfinite(X)
    sums, counts = np.cumsum(np.where(known, X, 0.0), axis=0), np.cumsum(known, axis=0)
    filled = X.copy()
    for t in range(1, 200):
        filled[t] = np.where(known[t], X[t], sums[t - 1] / counts[t - 1])
    model = dl.Ridge(missing="mean")
    model.run(X, y)
    plain = dl.Ridge().fit(np.column_stack([filled, ~known]), y)
    np.testing.assert_allclose(model._weights, plain._weights, rtol=1e-9, atol=1e-12)


def test_a_ticket_keeps_the_values_that_ask_filled_in():
    """The mean moves before the label arrives, but the ticket's row does not change."""
    model = dl.Ridge(missing="mean")
    for value in (1.0, 3.0):
        model.learn_one({"load": value}, 0.0)
    model.learn_one({"load": None}, 0.0)
    ticket = model.ask({"load": None})
    model.learn_one({"load": 100.0}, 1.0)
    twin = copy.deepcopy(model)
    model.tell(dl.Ticket.from_bytes(ticket.to_bytes()), 5.0)
    twin._core.learn([2.0, 1.0], 5.0)  # bypasses the columns
    np.testing.assert_allclose(model._weights, twin._weights, rtol=1e-12)


@for_each("keep", [
    lambda model: dl.from_bytes(model.to_bytes()),
    lambda model: pickle.loads(pickle.dumps(model)),
    copy.copy,
    copy.deepcopy,
    lambda model: model.clone(include_attributes=True),
])  # fmt: skip
@pytest.mark.parametrize("name", [*LEARNERS, "classifier"])
def test_copies_keep_the_columns(name, keep):
    columns = columns_of(60, missing=True)
    rows, y = rows_of(columns), np.random.default_rng(4).normal(size=60)
    if name == "classifier":
        y = np.where(y > 0, "high", "low")
    model = dl.Classifier(missing="mean") if name == "classifier" else LEARNERS[name](missing="mean")
    for row, label in zip(rows[:40], y[:40].tolist(), strict=True):
        model.learn_one(row, label)
    twin = keep(model)
    for row, label in zip(rows[40:], y[40:].tolist(), strict=True):
        assert twin.predict_one(row) == model.predict_one(row)
        twin.learn_one(row, label)
        model.learn_one(row, label)
    require_same(twin.__getstate__(), model.__getstate__(), "state")
    assert model.clone()._columns is None


def forged(change):
    model = dl.RLS(missing="mean")
    for row, label in zip(rows_of(columns_of(40, missing=True)), range(40), strict=True):
        model.learn_one(row, float(label))
    state = copy.deepcopy(model._to_file())
    change(state["columns"])
    return state


@for_each("change", [
    lambda columns: columns["features"].pop(),
    lambda columns: columns["features"].reverse(),
    lambda columns: columns["columns"].pop(),
    lambda columns: columns["columns"][0][1].update(values=["oak"]),
    lambda columns: columns["columns"][0][1].update(values=[str(t) for t in range(60)]),
    lambda columns: columns["columns"][0][1].update(kind="number"),
    lambda columns: columns["columns"][0][1].update(missed="yes"),
    lambda columns: columns["columns"][1][1].update(count=-1),
    lambda columns: columns["columns"][1][1].update(total=float("nan")),
    lambda columns: columns["columns"][1][1].update(policy="zero"),
    lambda columns: columns["columns"][1][1].pop("total"),
    lambda columns: columns.update(columns=3),
    lambda columns: columns.pop("named"),
])  # fmt: skip
def test_a_file_with_inconsistent_columns_is_refused(change):
    dl.RLS(missing="mean")._from_file(forged(lambda columns: None))
    with pytest.raises((ValueError, KeyError, TypeError)):
        dl.RLS(missing="mean")._from_file(forged(change))


def test_tickets_respect_the_limit_on_text_values():
    model = dl.RLS()
    tickets = [model.ask({"tree": f"tree {t}"}) for t in range(60)]
    for ticket in tickets:
        model.tell(ticket, 1.0)
    assert model.n_features_in_ == 51
    assert model.feature_names_in_[-1] == "tree is other"


def test_clashing_feature_names_stay_distinct():
    model = dl.RLS()
    model.learn_one({"tree=oak": 0.5, "tree": "oak"}, 1.0)
    assert list(model.feature_names_in_) == ["tree=oak", "tree=oak'"]


def test_filling_cannot_be_switched_on_or_off_after_rows_are_learned():
    for before, after in (("mean", "skip"), ("raise", "mean")):
        model = dl.RLS(missing=before)
        model.learn_one([1.0], 1.0)
        with pytest.raises(ValueError, match="cannot change"):
            model.set_params(missing=after)
        assert model.missing == before


def test_error_messages_say_what_to_do():
    with pytest.raises(ValueError, match="give a frame, or a mapping"):
        dl.RLS().learn_one(["oak", 1.0], 1.0)
    with pytest.raises(ValueError, match="give a frame, or a mapping"):
        dl.RLS().run(np.array([["oak", 1.0]], dtype=object), [1.0])
    model = dl.RLS()
    model.run(pd.DataFrame({"tree": ["oak", "ash"], "load": [1.0, 2.0]}), [1.0, 2.0])
    with pytest.raises(ValueError, match="NaN in row 1, feature 'tree'"):
        model.run(pd.DataFrame({"tree": ["oak", None], "load": [1.0, 2.0]}), [1.0, 2.0])
    with pytest.raises(ValueError, match="column 'tree' must hold text, as before, but holds a number"):
        model.run(pd.DataFrame({"tree": [1.0], "load": [1.0]}), [1.0])
    with pytest.raises(ValueError, match=r"x\['tree'\] must be text, got 2.0"):
        model.learn_one({"tree": 2.0, "load": 1.0}, 1.0)
    with pytest.raises(ValueError, match=r"x\['load'\] must be a number, got a time"):
        model.learn_one({"tree": "oak", "load": dt.datetime(2026, 1, 1)}, 1.0)
    with pytest.raises(ValueError, match="unseen at fit time"):
        model.predict(pd.DataFrame({"bush": ["oak"], "load": [1.0]}))


def test_categories_durations_and_times_of_day_become_features():
    frame = pd.DataFrame({
        "size": pd.Categorical(["s", "m", "s"]),
        "took": pd.to_timedelta([1, 2, 3], unit="min"),
        "at": [dt.time(0), dt.time(6), dt.time(12)],
        "grade": pd.array([1, None, 3], dtype="Int64"),
    })  # fmt: skip
    model = dl.RLS(missing="mean")
    model.run(frame, [1.0, 2.0, 3.0])
    names = ["size=s", "took", "at: day sin", "at: day cos", "at: half-day sin", "at: half-day cos", "grade", "size=m"]
    assert list(model.feature_names_in_) == [*names, "grade is missing"]
    row = model._columns.row(cells.of_mapping({"took": dt.timedelta(minutes=2), "at": dt.time(6)}, ""), "", grow=False)
    assert row["took"] == 120.0
    np.testing.assert_allclose([row["at: day sin"], row["at: day cos"]], [1.0, 0.0], atol=1e-12)
