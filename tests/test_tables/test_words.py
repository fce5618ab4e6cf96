"""What a missing value means: one word for all columns, or a word by column."""

import numpy as np
import pandas as pd
import pytest

import driftline as dl
from driftline.checks.tools import require_same, require_same_state
from driftline.features import Standardize
from tests.cases import for_each

LEARNERS = {
    "rls": dl.RLS,
    "nlms": dl.NLMS,
    "auto": dl.Auto,
    "network": lambda **given: dl.Network([dl.RLS(), dl.Ridge()], **given),
    "pipeline": lambda **given: (Standardize() | dl.RLS()).set_params(**given),
}
BY_COLUMN = {"": "raise", "a": "last", "b": "mean", "c": "zero", "d": "skip", "town": "mean"}


def holed(count=150, seed=0):
    """Rows that lack a value here and there, but in no column at first."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({name: rng.normal(size=count) for name in "abcde"})
    frame["town"] = rng.choice(["Rome", "Oslo"], count)
    y = frame["a"] - frame["c"] + (frame["town"] == "Oslo") + rng.normal(scale=0.1, size=count)
    for name in ("a", "b", "c", "d", "town"):
        frame.loc[rng.random(count) < 0.15, name] = None
    frame.loc[0] = [0.1, 0.2, 0.3, 0.4, 0.5, "Rome"]
    return frame, y.to_numpy().copy()


def by_hand(frame, words):
    """The rows as a learner that skips should see them; None where a row is left out."""
    last, sums, counts, marks = {}, dict.fromkeys("abc", 0.0), dict.fromkeys("abc", 0), set()
    for row in frame.to_dict("records"):
        if any(row[name] != row[name] and words.get(name, words[""]) == "skip" for name in "abcde"):
            yield None
            continue
        x = {}
        for name in "abcde":
            if row[name] == row[name]:
                x[name] = last[name] = row[name]
                if name in sums:
                    sums[name], counts[name] = sums[name] + row[name], counts[name] + 1
            else:
                word = words.get(name, words[""])
                x[name] = {"last": last[name], "mean": sums.get(name, 0.0) / max(counts.get(name, 1), 1), "zero": 0.0}[word]
                marks.add(f"{name} is missing")
                x[f"{name} is missing"] = 1.0
        x["town is missing" if row["town"] is None or row["town"] != row["town"] else f"town={row['town']}"] = 1.0
        yield x


@pytest.mark.parametrize("words", [BY_COLUMN, {"": "last", "d": "skip", "e": "raise"}, {"": "zero", "b": "mean"}])
def test_each_column_is_filled_in_by_its_own_word(words):
    frame, y = holed()
    model, plain = dl.RLS(missing=words), dl.RLS()
    for row, x, label in zip(frame.to_dict("records"), by_hand(frame, words), y.tolist(), strict=True):
        if x is None:
            assert np.isnan(model.predict_one(row))
        elif {*x} <= {*plain._names} if plain._names else False:
            assert model.predict_one(row) == plain.predict_one(x)
        model.learn_one(row, label)
        if x is not None:
            plain.learn_one(x, label)
    assert np.array_equal(model.coef_, plain.coef_)
    assert model.feature_names_in_.tolist() == plain.feature_names_in_.tolist()
    assert model.n_skipped_ == len(y) - plain.n_seen_


@for_each("words", ["mean", "last", "zero", BY_COLUMN])
@pytest.mark.parametrize("name", LEARNERS)
def test_run_loop_tickets_and_copies_agree(name, words):
    frame, y = holed()
    y[[7, 31]] = y[[7, 31]] if words is BY_COLUMN else np.nan
    one, many, late = (LEARNERS[name](missing=words) for _ in range(3))
    predicted = []
    for row, label in zip(frame.to_dict("records"), y.tolist(), strict=True):
        predicted.append(one.predict_one(row))
        one.learn_one(row, label)
        ticket = late.ask(row, delay=0)
        np.testing.assert_array_equal(ticket.prediction, predicted[-1])
        late.tell(dl.Ticket.from_bytes(ticket.to_bytes()), label)
    require_same(many.run(frame, y).predictions, np.array(predicted), "predictions")
    require_same_state(many, one, "run")
    require_same_state(late, one, "tickets")
    again = dl.from_bytes(one.to_bytes())
    assert again.get_params(deep=False)["missing"] == words
    row = {"a": None, "e": 0.1, "town": None}
    require_same(again.predict_one(row), one.predict_one(row), "a loaded model")


@pytest.mark.parametrize("word", ["mean", "last", "zero"])
def test_arrays_have_columns_too(word):
    frame, y = holed()
    X = frame[list("abc")].to_numpy(dtype=float)
    by_array, by_name = dl.RLS(missing=word), dl.RLS(missing=word)
    names = {str(place): name for place, name in enumerate("abc")}
    expected = by_name.run(frame[list("abc")].rename(columns={b: a for a, b in names.items()}), y).predictions
    np.testing.assert_array_equal(by_array.run(X, y).predictions, expected)


def test_a_column_that_must_have_a_value_is_named_where_it_has_none():
    frame, y = holed()
    frame.loc[40, "e"] = None
    model = dl.RLS(missing=BY_COLUMN)
    with pytest.raises(ValueError, match=r"RLS\.run: X has NaN in row 40, feature 'e'; "):
        model.run(frame, y)
    assert model.n_seen_ == 0
    model.run(frame[:40], y[:40])
    with pytest.raises(ValueError, match=r"RLS\.learn_one: x has NaN in feature 'e'; "):
        model.learn_one(frame.iloc[40].to_dict(), 1.0)


@pytest.mark.parametrize("words", ["raise", {"a": "mean"}, {"": "raise", "a": "mean"}])
def test_a_row_without_a_label_is_refused_by_the_word_raise(words):
    frame, y = holed()
    frame = frame[["a", "e"]].assign(a=frame["a"].fillna(0.0) if words == "raise" else frame["a"])
    y[17] = np.nan
    model = dl.RLS(missing=words)
    with pytest.raises(ValueError, match=r"RLS\.run: y is NaN in row 17"):
        model.run(frame, y)
    with pytest.raises(ValueError, match=r"RLS\.learn_one: y is NaN"):
        model.learn_one({"a": 1.0, "e": 2.0}, np.nan)


@pytest.mark.parametrize("words", ["skip", "mean", "last", "zero", {"": "skip", "a": "last"}])
def test_a_row_without_a_label_is_predicted_and_left_out_by_every_other_word(words):
    frame, y = holed()
    y[[17, 60]] = np.nan
    frame = frame[["a", "e"]]
    model, wanted = dl.RLS(missing=words), dl.RLS(missing=words)
    run = model.run(frame, y)
    keep = np.isfinite(y)
    wanted.run(frame[keep], y[keep])
    assert np.array_equal(model.coef_, wanted.coef_)
    there = frame["a"].notna().to_numpy() if words == "skip" else np.ones(len(y), dtype=bool)
    assert np.isfinite(run.predictions[[17, 60]]).tolist() == there[[17, 60]].tolist()


@pytest.mark.parametrize("words", ["fill", {"a": "fill"}, {}, {"a": None}, 3, ["mean"], None])
def test_other_words_are_refused(words):
    wanted = "'raise', 'skip', 'mean', 'last', 'zero', or a mapping from columns to these"
    with pytest.raises(ValueError, match=f"RLS: missing must be one of {wanted}, got"):
        dl.RLS(missing=words)


def test_a_trained_model_keeps_its_words():
    frame, y = holed()
    model = dl.RLS(missing="mean")
    model.run(frame, y)
    for words in ("last", "skip", {"a": "mean"}):
        with pytest.raises(ValueError, match="missing cannot change once the learner has learned"):
            model.set_params(missing=words)
    assert model.missing == "mean"
    assert model.clone({"missing": BY_COLUMN}).missing == BY_COLUMN


@pytest.mark.parametrize("x", [{"a": np.timedelta64(5)}, [np.timedelta64(5)], np.array([5], "m8")])
def test_a_duration_without_a_unit_is_refused(x):
    """NumPy casts it to any unit as it is: five of what?"""
    model = dl.RLS()
    with pytest.raises(ValueError, match=r"has a duration without a unit; give one, as in np.timedelta64\(5, 's'\)"):
        model.learn_one(x, 1.0)
    assert model.n_seen_ == 0
    dl.RLS(missing="mean").learn_one({"a": np.timedelta64("NaT"), "b": 1.0}, 1.0)


def test_several_labels_a_row_are_refused_with_a_way_out():
    with pytest.raises(ValueError, match="prequential: y must have one dimension, got 2; use one model for each label"):
        dl.evaluate.prequential(dl.RLS(), (np.ones((5, 2)), np.ones((5, 2))))
