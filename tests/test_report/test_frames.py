"""Reports of runs whose rows are frames with text and times."""

from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest

import driftline as dl
from driftline.report import RunLog
from driftline.report.alarms import alarm_lines
from driftline.report.contributions import contributions
from driftline.report.facts import Facts

ROWS = 3_000


@pytest.fixture(scope="module")
def rows():
    """Sales by shop, hour and price; some shops open later."""
    rng = np.random.default_rng(0)
    shop = rng.choice(["north", "south"], size=ROWS).astype(object)
    shop[1_000:][rng.random(2_000) < 0.3] = "harbour"
    frame = pd.DataFrame(
        {
            "price": rng.normal(size=ROWS),
            "shop": shop,
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(ROWS), "h"),
        }
    )
    y = 3 * (shop == "south") - 5 * (shop == "harbour") + frame["price"].to_numpy() + 0.3 * rng.normal(size=ROWS)
    return frame, np.asarray(y, dtype=float)


def log_of(frame, y, cuts=(), resume=False, model=None):
    model = dl.RLS(forgetting=0.999) if model is None else model
    log = RunLog()
    for start, stop in pairwise([0, *cuts, len(y)]):
        piece, every = frame[start:stop], log.weights_every(stop - start)
        run = model.run(piece, y[start:stop], level=0.9, weights_every=every)
        log.add(run, piece, y[start:stop], model=model)
        log = RunLog.restore(log.state()) if resume else log
    return log, model


@pytest.mark.parametrize("library", [pd.DataFrame, lambda frame: pl.from_pandas(frame)], ids=["pandas", "polars"])
def test_a_report_of_a_frame_with_text_names_the_features_of_the_learner(rows, library, tmp_path):
    frame, y = library(rows[0]), rows[1]
    model = dl.RLS(forgetting=0.999)
    run = model.run(frame, y)
    run.report(tmp_path / "page.html", frame, model=model)
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "shop=harbour" in text
    assert "when: day</th>" in text
    log = RunLog.of(run, frame, model=model)
    assert log.names == list(model.feature_names_in_)
    run.report(tmp_path / "page.html", frame)  # the features are the same without the model
    assert RunLog.of(run, frame).names == log.names


def test_features_of_a_frame_equal_those_encoded_by_hand(rows):
    frame, y = rows
    log, model = log_of(frame, y)
    numbers = pd.DataFrame({"price": frame["price"]})
    for name in model.feature_names_in_:
        if name.startswith("shop="):
            numbers[name] = (frame["shop"] == name.removeprefix("shop=")).astype(float)
    assert numbers.shape[1] == 4
    hour = 2 * np.pi * frame["when"].dt.hour.to_numpy() / 24
    numbers["when: day sin"], numbers["when: day cos"] = np.sin(hour), np.cos(hour)
    found = log.hindsight.triangles()
    gram = np.einsum("nij,nik->jk", found, found)[1:-2, 1:-2]
    for one in numbers.columns:
        for other in numbers.columns:
            places = [log.names.index(name) for name in (one, other)]
            expected = float(numbers[one].to_numpy()[1:] @ numbers[other].to_numpy()[1:])
            assert gram[places[0], places[1]] == pytest.approx(expected, rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("resume", [False, True])
def test_pages_do_not_depend_on_block_boundaries(rows, resume):
    whole, _ = log_of(*rows)
    cut, _ = log_of(*rows, cuts=(512, 1_024, 2_048), resume=resume)
    assert cut.names == whole.names
    first, second = (contributions(Facts(each)) for each in (whole, cut))
    assert second.names == first.names
    assert second.whole == pytest.approx(first.whole, rel=1e-9)
    assert second.windows == pytest.approx(first.windows, rel=1e-6, abs=1e-9)


def test_a_text_value_never_seen_before_is_named_as_a_cause(rows):
    frame = rows[0].copy()
    frame["shop"] = np.where(np.arange(ROWS) < 2_000, "north", "pier")
    y = np.where(np.arange(ROWS) < 2_000, 1.0, -4.0) * frame["price"].to_numpy() + 0.2 * np.random.default_rng(1).normal(
        size=ROWS
    )
    model = dl.RLS(forgetting=0.98)
    log = RunLog.of(model.run(frame, y), frame, model=model)
    line = alarm_lines(Facts(log), None)[0]
    assert line.causes[0] == "shop has a new value, 'pier'."


def test_names_of_a_frame_with_text_are_its_own(rows, tmp_path):
    frame, y = rows
    run = dl.RLS().run(frame, y)
    with pytest.raises(ValueError, match="names must be None for a frame with text or times"):
        run.report(tmp_path / "page.html", frame, names=["a", "b", "c"])


def test_a_column_that_changes_its_kind_is_refused_and_nothing_changes(rows):
    frame, y = rows
    log, _ = log_of(frame[:1_024], y[:1_024])
    before = log.state()
    bad = frame[1_024:1_100].assign(shop=1.0)
    run = dl.Run(predictions=np.zeros(76), errors=y[1_024:1_100])
    with pytest.raises(ValueError, match="column 'shop' must hold text, as before"):
        log.add(run, bad, y[1_024:1_100])
    after = log.state()
    assert before.keys() == after.keys()
    for key, value in before.items():
        np.testing.assert_array_equal(after[key], value, err_msg=key)
