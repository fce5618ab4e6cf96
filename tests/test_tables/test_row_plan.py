"""Rows that bring nothing new take a short way through the encoder, which must lead where the long way leads."""

import datetime as dt
import types

import numpy as np
import pandas as pd
import pytest

import driftline as dl
from driftline.tables.encoder import Columns
from tests.cases import for_each
from tests.streams import assert_same_state

LEARNERS = {
    "RLS": dl.RLS,
    "NLMS in float32": lambda **options: dl.NLMS(dtype="float32", **options),
    "Auto": dl.Auto,
    "Network": lambda **options: dl.Network([dl.RLS(), dl.NLMS()], **options),
    "pipeline": lambda **options: (dl.features.Standardize() | dl.features.Lags(y=2) | dl.RLS()).set_params(**options),
}


def mixed_rows(count, holes):
    """Rows of numbers, text and times; with some values and keys missing if ``holes``."""
    rng = np.random.default_rng(count)
    rows = []
    for t in range(count):
        row = {
            "a": float(rng.normal()),
            "b": int(rng.integers(-9, 9)),
            "on": bool(rng.integers(2)),
            "c": np.float32(rng.normal()),
            "shop": str(rng.choice(["north", "south", "east"])),
            "when": dt.datetime(2026, 1, 1) + dt.timedelta(hours=5 * t),
            "day": dt.date(2026, 1, 1) + dt.timedelta(days=t),
            "clock": dt.time(t % 24, t % 60),
            "took": dt.timedelta(seconds=t),
        }
        for name in list(row) if holes else ():
            if t > 3 and rng.random() < 0.2:
                row[name] = (None, float("nan"), pd.NaT, pd.NA)[rng.integers(4)]
        for name in list(row):
            if t > 3 and holes and rng.random() < 0.1:
                del row[name]
        rows.append(row)
    return rows, rng.normal(size=count).tolist()


@pytest.fixture(params=LEARNERS)
def make(request):
    return LEARNERS[request.param]


@for_each("missing", ["raise", "mean", "last", "zero"])
def test_the_short_way_leads_where_the_long_way_leads(make, missing):
    """A mapping that is not a plain dict takes the long way."""
    rows, labels = mixed_rows(120, holes=missing != "raise")
    short, long = make(missing=missing), make(missing=missing)
    for t, (x, y) in enumerate(zip(rows, labels, strict=True)):
        other = types.MappingProxyType(x)
        assert short.predict_one(x) == long.predict_one(other)
        assert short.predict_one({**x, "unknown": 1.0}) == long.predict_one(other)
        if t > 60:
            assert short.predict_interval(x, 0.5) == long.predict_interval(other, 0.5)
        weight = None if t % 3 else 0.5 * (t % 2)
        short.learn_one(x, y, sample_weight=weight)
        long.learn_one(other, y, sample_weight=weight)
    assert dl.checks.tools.same(short.__getstate__(), long.__getstate__())


@for_each("missing, saved", [("raise", True), ("mean", False), ("last", True)])
def test_late_labels_lead_where_the_long_way_leads(make, missing, saved):
    """Rows are asked before columns and texts appear that are known when they are told."""
    rows, labels = mixed_rows(120, holes=missing != "raise")
    short, long, waiting = make(missing=missing), make(missing=missing), []
    for x, y in zip(rows, labels, strict=True):
        tickets = short.ask(x, delay=3), long.ask(types.MappingProxyType(x), delay=3)
        assert tickets[0].prediction == tickets[1].prediction
        assert tickets[0].interval(0.5) == tickets[1].interval(0.5)
        waiting.append((tickets, y))
        if len(waiting) == 4:
            (one, other), y = waiting.pop(0)
            short.tell(dl.Ticket.from_bytes(one.to_bytes()) if saved else one, y)
            long.tell(other, y)
            assert one.told != saved
    assert dl.checks.tools.same(short.__getstate__(), long.__getstate__())
    with pytest.raises(ValueError, match="the ticket has already been told its label"):
        long.tell(other, y)


def test_known_rows_do_not_take_the_long_way(monkeypatch, make):
    """Otherwise these tests would prove nothing."""
    rows, labels = mixed_rows(120, holes=True)
    models = {"mean": make(missing="mean"), "raise": make()}
    whole = mixed_rows(120, holes=False)[0]
    for x, complete, y in zip(rows, whole, labels, strict=True):
        models["mean"].learn_one(x, y)
        models["raise"].learn_one(complete, y)
    monkeypatch.setattr(Columns, "copy", lambda self: pytest.fail("a copy of the columns was made"))
    for model, x in ((models["mean"], rows[50]), (models["raise"], whole[50])):
        model.predict_one(x)
        model.predict_interval(x)
        model.learn_one(x, 1.0)
        model.learn_one(x, 2.0, sample_weight=0.25)
        model.tell(model.ask(x), 1.0)
        model.tell(model.ask(x, delay=2), 2.0, sample_weight=0.25)


def test_arrays_and_lists_are_filled_in_as_in_a_run(make, rows):
    X, y = rows
    X[::7, 1] = X[5::11, 0] = np.nan
    run, looped, listed = make(missing="mean"), make(missing="mean"), make(missing="mean")
    predictions = run.run(X, y).predictions
    for x, label, prediction in zip(X, y, predictions, strict=True):
        assert looped.predict_one(x) == listed.predict_one(x.tolist()) == prediction
        looped.learn_one(x, label)
        listed.learn_one(tuple(x.tolist()), label)
    assert_same_state(looped, run)
    assert_same_state(listed, run)


BAD = (
    {"a": float("inf")},
    {"a": "text"},
    {"a": 1j},
    {"b": 10**400},
    {"shop": 3.0},
    {"when": "noon"},
    {"clock": dt.date.min},
    {"day": []},
)


@pytest.mark.parametrize("missing", ["raise", "mean"])
def test_a_bad_value_is_refused_by_name_and_changes_nothing(make, missing):
    rows, labels = mixed_rows(40, holes=missing == "mean")
    model = make(missing=missing)
    for x, y in zip(rows, labels, strict=True):
        model.learn_one(x, y)
    before = model.__getstate__()
    for bad in BAD:
        (name,) = bad
        for act in (lambda x: model.learn_one(x, 1.0), model.predict_one, model.predict_interval, model.ask):
            with pytest.raises((TypeError, ValueError), match=rf"\.\w+: .*x.*'{name}'"):
                act({**rows[0], **bad})
    with pytest.raises(ValueError, match="y is infinity"):
        model.learn_one(rows[0], float("inf"))
    ticket = model.ask(rows[0])
    with pytest.raises(ValueError, match="y is infinity"):
        model.tell(ticket, float("inf"))
    assert not ticket.told
    assert dl.checks.tools.same(before, model.__getstate__())


def test_a_mean_beyond_the_range_stays_in_it():
    run, looped = dl.NLMS(missing="mean"), dl.NLMS(missing="mean")
    column = [1e308, 1e308, None, -1e308, None, 1e308] * 3
    run.run(pd.DataFrame({"a": pd.Series(column, dtype=float)}), np.zeros(18))
    for value in column:
        looped.learn_one({"a": value}, 0.0)
    assert dl.checks.tools.same(run.__getstate__(), looped.__getstate__())
