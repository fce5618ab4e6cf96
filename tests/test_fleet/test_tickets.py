"""Late labels by key: each model of a fleet asks and is told as a separate learner."""

import copy
import pickle

import numpy as np
import pytest

import driftline as dl
from driftline.errors import ModelFileError
from driftline.features import Lags
from tests.cases import for_each

from .apart import keyed_rows, require_same

LEARNERS = [dl.RLS(), dl.NLMS(), dl.LASER(), dl.Auto(), Lags(y=2) | dl.RLS()]


def late(fleet, keys, X, y, delay):
    """Asks every row, tells it `delay` rows later, and returns predictions and intervals."""
    waiting, out = [], []
    for t, key in enumerate(keys):
        ticket = fleet.ask(key, X[t])
        out.append([ticket.prediction, *ticket.interval(0.8), *ticket.quantiles([0.2, 0.7])])
        waiting.append((ticket, y[t]))
        if len(waiting) > delay:
            fleet.tell(*waiting.pop(0))
    for ticket, label in waiting:
        fleet.tell(ticket, label)
    return np.array(out)


class Apart:
    """A learner for each key."""

    def __init__(self, learner):
        self.learner, self.models = learner, {}

    def ask(self, key, x):
        model = self.models.get(key) or self.learner.clone()
        ticket = model.ask(x)
        self.key_of = {**getattr(self, "key_of", {}), id(ticket): key}
        return ticket

    def tell(self, ticket, y):
        self.models.setdefault(self.key_of[id(ticket)], self.learner.clone()).tell(ticket, y)


@for_each("learner", LEARNERS)
def test_a_fleet_asks_and_tells_as_separate_models(learner):
    keys, X, y = keyed_rows(keys=3, count=90)
    fleet, apart = dl.Fleet(learner, intervals=True, alarms=True), Apart(learner)
    assert np.array_equal(late(fleet, keys.tolist(), X, y, 7), late(apart, keys.tolist(), X, y, 7))
    for key, model in apart.models.items():
        require_same(fleet[key], model, intervals=True)
    assert fleet.summary()["alarms"].tolist() == [0, 0, 0]


@for_each("learner", [dl.RLS(), dl.Auto()])
def test_tickets_at_once_are_the_loop(learner):
    keys, X, y = keyed_rows(keys=3, count=60)
    asked, looped = (dl.Fleet(learner, alarms=True, intervals=True) for _ in range(2))
    late(asked, keys.tolist(), X, y, 0)
    for key, x, label in zip(keys.tolist(), X, y, strict=True):
        looped.learn_one(key, x, label)
    assert asked.to_bytes() == looped.to_bytes()


def test_a_ticket_is_saved_copied_and_told_once():
    fleet = dl.Fleet(dl.RLS())
    fleet.learn_one("oslo", {"price": 1.0}, 2.0)
    for key in ("oslo", "rome"):
        ticket = fleet.ask(key, {"price": 2.0})
        assert key in repr(ticket)
        from_bytes = dl.FleetTicket.from_bytes(ticket.to_bytes())
        for kept in (from_bytes, copy.deepcopy(ticket), pickle.loads(pickle.dumps(ticket))):
            twin = copy.copy(fleet)
            twin.tell(kept, 3.0)
            assert (kept.key, kept.prediction, kept.told, ticket.told) == (key, ticket.prediction, True, False)
            with pytest.raises(ValueError, match="already been told"):
                twin.tell(kept, 3.0)
        assert ("rome" in fleet) is False
    with pytest.raises(ModelFileError, match="not a ticket of a fleet"):
        dl.FleetTicket.from_bytes(dl.RLS().to_bytes())
    named = dl.Fleet(dl.RLS(), named=True)
    with pytest.raises(ValueError, match=r"the key \('a', 1\.5\) cannot be saved"):
        named.ask(("a", 1.5), [1.0]).to_bytes()


@for_each("learner", [dl.RLS(), dl.Auto()])
def test_what_cannot_be_asked_or_told_changes_nothing(learner):
    fleet = dl.Fleet(learner, 2, named=True)
    for key, label in (("a", 1.0), ("b", 2.0)):
        fleet.learn_one(key, {"x": 1.0}, label)
    ticket, before = fleet.ask("a", {"x": 3.0}), fleet.to_bytes()
    model = learner.clone()
    for call, error, words in [
        (lambda: fleet.tell(model.ask([1.0]), 1.0), TypeError, "Fleet.tell: expected a FleetTicket from ask, got Ticket"),
        (lambda: fleet.tell(ticket, np.nan), ValueError, "NaN"),
        (lambda: fleet.tell(fleet.ask("c", {"x": 1.0}), 1.0), ValueError, "all 2 models are taken"),
        (lambda: fleet.ask("a", {"x": np.inf}), ValueError, "infinite|infinity"),
        (lambda: fleet.ask("a", {"x": 1.0}, delay=-1), ValueError, "delay must be"),
        (lambda: fleet.ask(None, {"x": 1.0}), ValueError, "missing value"),
        (lambda: fleet.tell(dl.FleetTicket("a", dl.NLMS().ask([1.0])), 1.0), ValueError, "belongs to another model"),
    ]:
        with pytest.raises(error, match=words):
            call()
    assert fleet.to_bytes() == before
    fleet.tell(ticket, 3.0)
    assert fleet["a"].n_seen_ == 2


def test_features_of_a_packed_fleet_stay_those_of_its_first_row():
    fleet = dl.Fleet(dl.RLS())
    first, second = fleet.ask("a", {"x": 1.0, "z": 1.0}), fleet.ask("b", {"x": 1.0, "z": 2.0})
    fleet.tell(first, 1.0)
    fleet.tell(second, 2.0)
    fleet.tell(fleet.ask("c", {"x": 1.0}), 3.0)
    assert fleet.coef_.shape == (3, 2)
    with pytest.raises(ValueError, match="'w' is new"):
        fleet.ask("a", {"w": 1.0})


def test_text_is_asked_and_told():
    fleet, model = dl.Fleet(dl.RLS()), dl.RLS()
    for shop, y in [("oslo", 1.0), ("rome", 2.0), ("oslo", 3.0)]:
        x = {"shop": shop}
        fleet.tell(fleet.ask("a", x), y)
        model.tell(model.ask(x), y)
    require_same(fleet["a"], model)
