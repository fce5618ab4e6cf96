"""Forecasters and pending rows under copying, threads and interrupts: always consistent, and copies are independent."""

import copy
import pickle
import threading
from functools import partial

import numpy as np
import pytest

import driftline as dl
from driftline.delayed import undo
from driftline.delayed.parallel import in_parallel
from driftline.delayed.stepper import Stepper
from driftline.features import Lags, Standardize
from tests import patience
from tests.cases import for_each
from tests.test_base.test_guard import interrupted_at, landmarks

RNG = np.random.default_rng(5)
X = RNG.normal(size=(40, 2))
Y = X @ [1.0, 2.0] + 0.1 * RNG.normal(size=40)

LEARNERS = {
    "rls": dl.RLS,
    "auto": dl.Auto,
    "pipeline": lambda: Standardize() | Lags(y=2) | dl.RLS(),
    "network": lambda: dl.Network([dl.RLS(), dl.NLMS()]),
}


def forecaster(name):
    made = dl.Forecaster(LEARNERS[name](), 3, known=[1])
    made.run(X[:20], Y[:20])
    return made


def pending(name):
    made = dl.Pending(LEARNERS[name](), most=8)
    for number in range(8):
        made.predict_one(number, X[number])
    for number in range(3):
        made.learn_one(number, Y[number])
    made.hold_one(4, 1.0)
    return made


def pending_with_texts(name):
    """The last row has no new text: its label is learned before its ticket, which wraps another, is marked as told."""
    made = dl.Pending(LEARNERS[name](), most=8)
    for number, color in enumerate(["red", "blue", "red"]):
        made.predict_one(number, {"color": color, "size": float(number)})
    for number in range(2):
        made.learn_one(number, Y[number])
    return made


MODELS = {"forecaster": forecaster, "pending": pending}
LEARN = {
    "forecaster": lambda model: model.learn_one(X[20], Y[20]),
    "pending": lambda model: model.learn_one(5, Y[5]),
}
COPIES = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": lambda model: pickle.loads(pickle.dumps(model))}


@for_each("way", COPIES)
@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("kind", MODELS)
def test_a_copy_is_equal_and_independent(kind, name, way):
    model = MODELS[kind](name)
    before = model.to_bytes()
    other = COPIES[way](model)
    assert other.to_bytes() == before
    LEARN[kind](other)
    assert model.to_bytes() == before
    LEARN[kind](model)
    assert model.to_bytes() == other.to_bytes() != before


@for_each("way", COPIES)
@pytest.mark.parametrize("name", [*LEARNERS, "classifier"])
def test_a_copied_ticket_is_told_on_its_own(name, way):
    model = dl.Classifier() if name == "classifier" else LEARNERS[name]()
    for x, y in zip(X[:10], Y[:10], strict=True):
        model.learn_one({"a": x[0], "b": x[1]}, "up" if name == "classifier" and y > 0 else float(name == "classifier") or y)
    ticket = model.ask({"a": 1.0, "b": 2.0})
    other = COPIES[way](ticket)
    assert other.to_bytes() == ticket.to_bytes()
    model.tell(ticket, 1.0)
    assert not other.told
    model.tell(other, 1.0)
    with pytest.raises(ValueError, match="already been told"):
        model.tell(other, 1.0)


def test_a_second_thread_is_refused_and_nothing_is_lost(monkeypatch):
    """The second call comes while the first is paused; it must neither learn nor undo what the first learns."""
    model, quiet = forecaster("rls"), forecaster("rls")
    arrived, go_on = threading.Event(), threading.Event()
    check = dl.Forecaster._check_width

    def halting(self, *arguments):
        if threading.current_thread() is not threading.main_thread():
            arrived.set()
            assert go_on.wait(patience.SECONDS)
        check(self, *arguments)

    monkeypatch.setattr(dl.Forecaster, "_check_width", halting)
    first = threading.Thread(target=LEARN["forecaster"], args=(model,))
    first.start()
    assert arrived.wait(patience.SECONDS)
    for call in (LEARN["forecaster"], lambda model: model.run(X, Y), lambda model: model.forecast(X[:2]), copy.copy):
        with pytest.raises(RuntimeError, match="Forecaster: the model is in use by another thread"):
            call(model)
    with pytest.raises(RuntimeError, match="in use by another thread"):
        model.to_bytes()
    go_on.set()
    first.join()
    LEARN["forecaster"](quiet)
    assert model.to_bytes() == quiet.to_bytes()


def test_a_second_thread_cannot_use_the_waiting_rows_during_a_call():
    model = pending("rls")
    with model._guard.claim():
        refused = []

        def call():
            for verb in (
                lambda: model.predict_one(9, X[9]),
                lambda: model.learn_one(5, 1.0),
                lambda: model.hold_one(5, 1.0),
            ):
                try:
                    verb()
                except RuntimeError as error:
                    refused.append(str(error))

        other = threading.Thread(target=call)
        other.start()
        other.join()
    assert len(refused) == 3
    assert all("Pending: the model is in use by another thread" in words for words in refused)


CALLS = {
    "forecaster learns": (forecaster, LEARN["forecaster"]),
    "forecaster runs": (forecaster, lambda model: model.run(X[20:23], Y[20:23])),
    "pending learns": (pending, LEARN["pending"]),
    "pending learns a row with texts": (pending_with_texts, lambda model: model.learn_one(2, Y[2])),
    "pending withdraws": (pending, lambda model: model.withdraw_one(4)),
    "pending asks": (pending, lambda model: [model.predict_one(number, X[number]) for number in range(8, 12)][:0]),
}


@pytest.mark.parametrize("name", ["rls", "pipeline", "network"])
@pytest.mark.parametrize("call", CALLS)
def test_an_interrupt_at_any_line_leaves_it_consistent_and_unlocked(call, name, monkeypatch):
    """A call is done completely or not at all; a row that was predicted before the interrupt may keep waiting."""
    monkeypatch.setattr("driftline.delayed.parallel.cores", lambda: 1)  # a trace sees one thread
    make, act = CALLS[call]
    start, done = make(name), make(name)
    act(done)
    whole = {start.to_bytes(), done.to_bytes()}
    if call == "pending asks":
        for number in range(8, 12):
            start.predict_one(number, X[number])
            whole.add(start.to_bytes())
        start = make(name)
    act(copy.copy(start))  # the first call derives the traits of the learner, which copies share
    places = landmarks(partial(act, copy.copy(start)))
    assert len(places) > 5
    for place in places:
        model = copy.copy(start)
        assert interrupted_at(place, partial(act, model))
        assert model.to_bytes() in whole, f"line {place}"


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("calls", [0, 3, undo.MOST_CALLS, undo.MOST_CALLS + 2])
def test_a_call_that_fails_between_two_steps_is_undone(calls, name, monkeypatch):
    """The calls since the last export are repeated; with other models, or in another order, the bytes would differ."""
    model, quiet = forecaster(name), forecaster(name)
    for t in range(calls):
        for each in (model, quiet):
            each.learn_one(X[t % 40], Y[t % 40])
    row, steps = Stepper.row, []

    def failing(stepper, *arguments):
        steps.append(stepper)
        if len(steps) == 2:
            raise KeyboardInterrupt
        return row(stepper, *arguments)

    monkeypatch.setattr(Stepper, "row", failing)
    with pytest.raises(KeyboardInterrupt):
        LEARN["forecaster"](model)
    assert len(steps) > 1
    assert model.to_bytes() == quiet.to_bytes()
    LEARN["forecaster"](model)
    LEARN["forecaster"](quiet)
    assert model.to_bytes() == quiet.to_bytes()


def test_an_interrupt_while_threads_start_leaves_none_running(monkeypatch):
    """An executor does not know a thread that is still being started, which would keep learning."""
    monkeypatch.setattr("driftline.delayed.parallel.cores", lambda: 2)
    start, threads = threading.Thread.start, []

    def interrupted(thread):
        threads.append(thread)
        start(thread)
        raise KeyboardInterrupt

    model = forecaster("auto")
    before = model.to_bytes()
    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.run(X[20:], Y[20:])
    monkeypatch.undo()
    assert model.to_bytes() == before
    for thread in threads:
        thread.join(patience.SECONDS)
    assert model.to_bytes() == before
    other = forecaster("auto")
    assert np.array_equal(model.run(X[20:], Y[20:]).predictions, other.run(X[20:], Y[20:]).predictions, equal_nan=True)


def test_an_error_in_one_thread_ends_the_others():
    ended = []

    def work(number):
        if number == 1:
            raise ValueError("the second")
        ended.append(number)
        return number

    with pytest.raises(ValueError, match="the second"):
        in_parallel(work, 1000)
    assert len(ended) < 999
    assert in_parallel(lambda number: number * number, 50) == [number**2 for number in range(50)]
