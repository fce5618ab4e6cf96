"""Interrupts: handled between stretches of rows, after which the fleet knows exactly what it has learned."""

import signal
import sys

import numpy as np
import pytest

import driftline as dl

from .apart import keyed_rows, require_same, run_apart

pytestmark = pytest.mark.usefixtures("heeds_interrupts")

NAMES = np.array([f"key {key}" for key in range(40)])


class Interrupting:
    """A core that sends SIGINT, as Ctrl-C does, during one of its calls."""

    def __init__(self, core, verb, number):
        self._core, self._verb, self._left = core, verb, number

    def __getattr__(self, name):
        method = getattr(self._core, name)
        if name != self._verb:
            return method

        def interrupted(*arguments):
            self._left -= 1
            if self._left == 0:
                signal.raise_signal(signal.SIGINT)
            return method(*arguments)

        return interrupted


@pytest.fixture
def short_stretches(monkeypatch):
    """Stretches of 100 rows of RLS with 3 features."""
    monkeypatch.setattr("driftline.fleet.call.ROW", 0)
    monkeypatch.setattr("driftline.fleet.call.STRETCH", 100 * 16)
    monkeypatch.setattr("driftline.fleet.call.ROWS_FOR_A_THREAD", 1)


@pytest.mark.parametrize("fresh", [True, False])
@pytest.mark.parametrize(
    ("verb", "number", "learned"), [("run", 1, 100), ("run", 3, 300), ("run", 10, 950), ("accept", 1, 950)]
)
def test_the_rows_before_an_interrupt_stay_learned(verb, number, learned, fresh, short_stretches, monkeypatch):
    keys, X, y = keyed_rows(keys=40, count=1000)
    fleet = dl.Fleet(dl.RLS(), named=True)
    first = 0 if fresh else 50
    if first:
        fleet.learn_many(NAMES[keys[:first]], X[:first], y[:first])
    fitting = fleet._models._fitting
    with monkeypatch.context() as patch:
        patch.setattr(
            fleet._models, "_fitting", lambda *a: (lambda c, s, n: (Interrupting(c, verb, number), s, n))(*fitting(*a))
        )
        with pytest.raises(KeyboardInterrupt) as caught:
            fleet.learn_many(NAMES[keys[first : first + 950]], X[first : first + 950], y[first : first + 950])
    core = fleet._models.core
    fleet._models.core = getattr(core, "_core", core)
    done = first + learned
    models, _ = run_apart(dl.RLS(), NAMES[keys[:done]], X[:done], y[:done]) if done else ({}, None)
    assert fleet.keys_ == list(models)
    for key, model in models.items():
        require_same(fleet[key], model)
    notes = getattr(caught.value, "__notes__", [])
    assert notes == ([f"Fleet.learn_many: {learned} of 950 rows were learned"] if learned else [])
    more = np.arange(done, 1000 + done) % 1000
    fleet.learn_many(NAMES[keys[more]], X[more], y[more])
    every = np.arange(1000 + done) % 1000
    for key, model in run_apart(dl.RLS(), NAMES[keys[every]], X[every], y[every])[0].items():
        require_same(fleet[key], model)


@pytest.mark.parametrize("number", [1, 3])
def test_an_interrupt_rolls_back_learners_that_may_refuse_a_row(number, short_stretches, monkeypatch):
    keys, X, y = keyed_rows(keys=40, count=1000)
    fleet = dl.Fleet(dl.LMS(rate=0.1), named=True)
    fleet.learn_many(NAMES[keys[:50]], X[:50], y[:50])
    before = fleet.keys_, [fleet[key] for key in fleet.keys_]
    core = fleet._models.core
    fleet._models.core = Interrupting(core, "run", number)
    monkeypatch.setattr("driftline.fleet.call.STRETCH", 100 * 4)
    with pytest.raises(KeyboardInterrupt) as caught:
        fleet.learn_many(NAMES[keys[50:]], X[50:], y[50:])
    fleet._models.core = core
    assert fleet.keys_ == before[0]
    for key, model in zip(*before, strict=True):
        require_same(fleet[key], model)
    assert not getattr(caught.value, "__notes__", [])


def test_an_interrupt_in_a_python_schedule_undoes_the_whole_call():
    def forgetting(t):
        if t == 10:
            signal.raise_signal(signal.SIGINT)
        return 0.9

    keys, X, y = keyed_rows()
    fleet = dl.Fleet(dl.RLS(forgetting=forgetting), named=True)
    fleet.learn_many(NAMES[keys[:10]], X[:10], y[:10])
    before = fleet.keys_, [fleet[key] for key in fleet.keys_]
    with pytest.raises(KeyboardInterrupt):
        fleet.learn_many(NAMES[keys], X, y)
    assert fleet.keys_ == before[0]
    for key, model in zip(*before, strict=True):
        require_same(fleet[key], model)


def test_stretches_change_nothing(short_stretches):
    keys, X, y = keyed_rows(keys=40, count=1000)
    for learner in (dl.RLS(), dl.LMS(), dl.RLS(forgetting=lambda t: 1 - 1 / (t + 3)), dl.WEMM(ridge=9.0)):
        fleet = dl.Fleet(learner, 40, jobs=2)
        models, predictions = run_apart(learner, keys, X, y)
        assert np.array_equal(fleet.run(keys, X, y).predictions, predictions)
        for key, model in models.items():
            require_same(fleet[key], model)


def test_skipped_rows_are_counted_over_all_stretches(short_stretches):
    keys, X, y = keyed_rows(keys=40, count=1000)
    X[::7, 0] = np.nan
    assert dl.Fleet(dl.RLS(missing="skip"), 40).run(keys, X, y).skipped == len(X[::7])


def test_an_interrupt_at_the_end_of_a_call_releases_the_fleet(tmp_path):
    """A trace function raises at the point where the call releases the fleet, if that happens in Python at all."""
    keys, X, y = keyed_rows(40, 60)
    fleet = dl.Fleet(dl.RLS(), 40)

    def interrupt(frame, event, argument):
        if frame.f_code.co_name == "__exit__" and frame.f_back.f_code.co_name == "learn_many":
            raise KeyboardInterrupt

    before = sys.gettrace()
    sys.settrace(interrupt)
    try:
        fleet.learn_many(keys, X, y)
    except KeyboardInterrupt:
        sys.settrace(before)
        fleet.save(tmp_path / "fleet")
    finally:
        sys.settrace(before)
    assert fleet.n_seen_.sum() == 60
    fleet.save(tmp_path / "fleet")


def test_an_interrupted_drop_leaves_names_and_models_consistent():
    keys, X, y = keyed_rows(keys=40, count=1000)
    fleet = dl.Fleet(dl.RLS(), named=True)
    fleet.learn_many(NAMES[keys], X, y)
    models = {key: fleet[key] for key in fleet.keys_}
    core = fleet._models.core
    fleet._models.core = Interrupting(core, "drop", 1)
    with pytest.raises(KeyboardInterrupt):
        fleet.drop(NAMES[5:15])
    fleet._models.core = core
    left = set(NAMES) - set(NAMES[5:15])
    assert set(fleet.keys_) == left
    for key in fleet.keys_:
        require_same(fleet[key], models[key])
    fleet.learn_many(NAMES[keys], X, y)
    assert set(fleet.keys_) == set(NAMES)
