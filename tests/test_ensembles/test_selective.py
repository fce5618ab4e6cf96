"""Selective: learning from a share of the labels."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone

import driftline as dl


def stream(rows=400, seed=0, jump=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    w = np.tile(rng.normal(size=3), (rows, 1))
    if jump is not None:
        w[jump:] *= -1
    return X, np.sum(X * w, axis=1) + 0.3 * rng.normal(size=rows)


def selective(**options):
    return dl.Selective(dl.RLS(forgetting=0.98), **options)


def test_the_learner_gets_exactly_the_wanted_labels():
    X, y = stream()
    run = selective().run(X, y, level=0.9)
    plain = dl.RLS(forgetting=0.98).run(X, y, sample_weight=run.wanted.astype(float), level=0.9)
    np.testing.assert_array_equal(run.predictions, plain.predictions)
    np.testing.assert_array_equal(run.lower, plain.lower)
    changed = np.where(run.wanted, y, 1e6)
    again = selective().run(X, changed)
    np.testing.assert_array_equal(again.wanted, run.wanted)
    np.testing.assert_array_equal(again.predictions, run.predictions)


@pytest.mark.parametrize("budget", [0.05, 0.2, 0.5, 1.0])
def test_the_share_of_wanted_labels_is_the_budget(budget):
    X, y = stream(10_000, jump=5000)
    run = selective(budget=budget).run(X, y)
    assert abs(run.wanted[1000:].mean() - budget) < 0.15 * budget
    assert (run.chances >= 0.5 * budget).all()


def test_run_equals_the_loop_by_learn_one_or_ask_and_tell():
    X, y = stream(300)
    whole, loop, asked, parts = (selective() for _ in range(4))
    run = whole.run(X, y)
    for t in range(300):
        assert loop.predict_one(X[t]) == run.predictions[t]
        loop.learn_one(X[t], y[t])
        ticket = dl.Ticket.from_bytes(asked.ask(X[t], delay=0).to_bytes())
        assert (ticket.prediction, ticket.wanted, ticket.chance) == (run.predictions[t], run.wanted[t], run.chances[t])
        asked.tell(ticket, y[t] if ticket.wanted else None)
    cut = parts.run(X[:77], y[:77]), parts.run(X[77:], y[77:])
    np.testing.assert_array_equal(np.concatenate([one.wanted for one in cut]), run.wanted)
    for other in (loop, asked, parts):
        assert other.n_rows_ == 300
        assert other.n_seen_ == run.wanted.sum()
        assert other.mse_ == whole.mse_
        np.testing.assert_array_equal(other.coef_, whole.coef_)


def test_asking_changes_nothing_and_gives_the_same_answer():
    X, y = stream(200)
    model = selective()
    model.run(X, y)
    before = pickle.dumps(model)
    first = [model.ask(x).wanted for x in X]
    assert [model.ask(x).wanted for x in X] == first
    assert pickle.dumps(model) == before
    assert 0.02 < np.mean(first) < 0.6  # tickets asked at once are chosen row by row


def test_a_wanted_ticket_needs_its_label():
    X, y = stream(200)
    model = selective()
    ticket = model.ask(X[0])
    assert ticket.wanted
    assert ticket.chance == 1.0
    with pytest.raises((ValueError, TypeError)):
        model.tell(ticket)
    model.tell(ticket, y[0])
    assert dl.RLS().ask([1.0]).wanted


def test_tickets_that_are_not_wanted_need_not_be_told():
    X, y = stream(4000)
    model = selective()
    wanted = 0
    for x, label in zip(X, y, strict=True):
        ticket = model.ask(x)
        if ticket.wanted:
            model.tell(ticket, label)
            wanted += 1
    assert wanted == model.n_seen_ == model.n_rows_
    assert 0.15 < wanted / 4000 < 0.25


def test_the_estimate_of_the_loss_is_unbiased():
    """Over many streams, the importance-weighted mean agrees with the mean over all rows, within its standard error."""
    differences = []
    for seed in range(60):
        X, y = stream(300, seed, jump=150)
        model = selective()
        run = model.run(X, y)
        assert model.mse_ == pytest.approx(np.mean(run.losses * run.wanted / run.chances), rel=1e-9)
        differences.append(model.mse_ - run.losses.mean())
    assert abs(np.mean(differences)) < 3 * np.std(differences) / np.sqrt(60)


def test_more_labels_are_wanted_after_a_jump():
    shares = []
    for seed in range(8):
        X, y = stream(3000, seed, jump=2000)
        run = selective(budget=0.1).run(X, y)
        shares.append((run.wanted[1500:2000].mean(), run.wanted[2005:2060].mean()))
    before, after = np.mean(shares, axis=0)
    assert after > 1.5 * before


@pytest.mark.parametrize("delay", [1, 15])
def test_late_labels(delay):
    X, y = stream(600)
    model, tickets = selective(), []
    for t in range(600):
        tickets.append(model.ask(X[t]))
        if t >= delay:
            past = tickets[t - delay]
            model.tell(past, y[t - delay] if past.wanted else None)
    share = np.mean([ticket.wanted for ticket in tickets[100:]])
    assert 0.1 < share < 0.35
    assert model.n_rows_ == 600 - delay


def test_copies_saving_growth_names_and_errors(tmp_path):
    X, y = stream()
    model = selective()
    model.run(X, y)
    model.save(tmp_path / "model.drift")
    for twin in (dl.load(tmp_path / "model.drift"), dl.from_bytes(model.to_bytes()), copy.deepcopy(model)):
        np.testing.assert_array_equal(twin.run(X, y).wanted, copy.deepcopy(model).run(X, y).wanted)
    assert repr(clone(model)) == repr(model)
    names = dl.Selective()
    for row, label in zip(X[:30], y[:30], strict=True):
        names.learn_one({"a": row[0], "b": row[1]}, label)
    names.learn_one({"a": 1.0, "c": 2.0}, 3.0)
    with pytest.raises(ValueError, match="budget must be"):
        dl.Selective(budget=0.0)
    before = model.n_rows_
    with pytest.raises(ValueError, match="NaN"):
        model.learn_one([np.nan, 1.0, 1.0], 1.0)
    assert model.n_rows_ == before
    skipping = dl.Selective(dl.RLS(missing="skip"))
    gaps = X.copy()
    gaps[::10, 0] = np.nan
    run = skipping.run(gaps, y)
    assert run.skipped == 40
    assert not run.wanted[::10].any()
    assert skipping.n_rows_ == 360


def test_around_other_learners_in_fleets_and_pipelines():
    X, y = stream()
    for learner in (dl.Auto(), dl.GLM(loss="huber"), dl.DFOP(forget_rate="adaptive"), dl.LMS(rate=0.01)):
        run = dl.Selective(learner).run(X, y)
        assert 0.1 < run.wanted.mean() < 0.4
        assert np.isfinite(run.predictions).all()
    piped = dl.features.Standardize() | selective()
    piped.run(X, y)
    assert isinstance(piped.ask(X[0]).wanted, bool)
    keys = np.arange(len(y)) % 2
    fleet = dl.Fleet(selective())
    np.testing.assert_array_equal(fleet.run(keys, X, y).predictions[::2], selective().run(X[::2], y[::2]).predictions)


@pytest.mark.parametrize("size", [1e160, 1.7e308])
def test_errors_whose_squares_overflow_are_learned_like_others(size):
    """The label is learned before its error is recorded, so that an error there would leave half a row."""
    loop, run = selective(budget=0.5), selective(budget=0.5)
    X, y = stream()
    labels = size * np.sign(y)
    for x, label in zip(X, labels, strict=True):
        loop.learn_one(x, label)
    wanted = run.run(X, labels).wanted
    assert loop.n_seen_ == run.n_seen_ == wanted.sum()
