"""Calls that are interrupted anywhere, or cut off by a fork, leave the model consistent and unlocked."""

import contextlib
import copy
import os
import signal
import sys
import threading

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin

import driftline as dl
from driftline.checks.tools import same
from driftline.features import Standardize
from driftline.linear.policies import Divide
from tests import patience
from tests.cases import for_each

PACKAGE = os.path.dirname(dl.__file__) + os.sep
ROWS = np.random.default_rng(0).normal(size=(12, 3))
LABELS = ROWS @ [1.0, 2.0, 3.0]
BAD = np.where(np.arange(12)[:, None] == 9, np.nan, ROWS)

MODELS = {
    "rls": dl.RLS,
    "classifier": dl.Classifier,
    "averaged": dl.Averaged,
    "pipeline": lambda: Standardize() | dl.RLS(),
    "network": lambda: dl.Network([dl.RLS(), dl.LMS()]),
    "sparse_dfop": lambda: dl.SparseDFOP(dim=4),
}


def refused(model, y):
    with pytest.raises(ValueError, match="NaN"):
        model.run(BAD, y)


CALLS = {
    "run": lambda model, y: model.run(ROWS, y),
    "partial_fit": lambda model, y: model.partial_fit(ROWS, y),
    "fit": lambda model, y: model.fit(ROWS, y),
    "a run that fails": refused,
    "learn_one that grows": lambda model, y: model.learn_one({"new": 1.0, "a": 2.0}, y[0]),
}

ROW_CALLS = {
    "learn_one": lambda model, y: model.learn_one(ROWS[0], y[0]),
    "tell": lambda model, y: model.tell(model.ask(ROWS[0]), y[0]),
    "learn_one that skips": lambda model, y: model.learn_one(ROWS[0], None),
    "tell that skips": lambda model, y: model.tell(model.ask(BAD[9]), y[0]),
}


def traced(call, act, wanted):
    """Makes a call, and calls act with each frame of driftline before its next line or opcode."""

    def trace(frame, event, _):
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        frame.f_trace_opcodes = wanted == "opcode"
        if event == wanted:
            act(frame)
        return trace

    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(None)


def interrupted_at(place, call, event="line"):
    """Makes a call, and sends SIGINT before the given line or opcode of driftline; returns whether that was reached."""
    count = 0

    def interrupt(_):
        nonlocal count
        count += 1
        if count == place + 1:
            signal.raise_signal(signal.SIGINT)

    with contextlib.suppress(KeyboardInterrupt):
        traced(call, interrupt, event)
    return count > place


def landmarks(call):
    """The steps at which a call reaches a line for the first or the last time; the steps between repeat them."""
    lines = []
    traced(call, lambda frame: lines.append((frame.f_code, frame.f_lineno)), "line")
    first = dict(zip(reversed(lines), reversed(range(len(lines))), strict=True))
    last = dict(zip(lines, range(len(lines)), strict=True))
    return sorted({*first.values(), *last.values()})


@pytest.mark.usefixtures("heeds_interrupts")
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", MODELS)
def test_an_interrupt_at_any_line_leaves_the_model_consistent_and_unlocked(name, call):
    """An interrupt can come between any two steps of Python. Either the whole call is learned, or nothing."""
    y = np.where(LABELS > 0, "up", "down") if name == "classifier" else LABELS
    assert interrupt_everywhere(MODELS[name](), call, y) > 20


def interrupt_everywhere(model, call, y, event="line", every=1):
    """Interrupts a call at each of its lines or opcodes, and checks the model each time; returns how many there were."""
    act = {**CALLS, **ROW_CALLS}[call]
    if call.endswith("skips"):
        model.set_params(missing="skip")
    if call == "learn_one that grows":
        model.learn_one({"a": 1.0, "b": 2.0}, y[0])
    else:
        model.run(ROWS, y)
    before = copy.deepcopy(model.__getstate__())  # SparseDFOP's names grow in place; restoring a state truncates them
    act(model, y)
    after = model.__getstate__()
    place = 0
    model.__setstate__(before)
    while interrupted_at(place, lambda: act(model, y), event):
        state = model.__getstate__()
        assert same(state, before) or same(state, after), f"{event} {place}"
        model.__setstate__(before)
        with model._guard.claim(only=True):  # no other claim exists
            place += every
    assert same(model.__getstate__(), after)
    return place


@pytest.mark.usefixtures("heeds_interrupts")
def test_a_handler_of_the_users_is_called_once_and_after_the_change():
    model, called = dl.Network([dl.RLS(), dl.LMS()]), []
    model.run(ROWS, LABELS)
    signal.signal(signal.SIGINT, lambda *_: called.append(model.learners_[1].n_seen_))
    count = 0

    def interrupt(_):
        nonlocal count
        count += 1
        if count == 8:
            signal.raise_signal(signal.SIGINT)

    traced(lambda: model.learn_one(ROWS[0], LABELS[0]), interrupt, "line")
    assert called == [13]
    signal.raise_signal(signal.SIGINT)
    assert called == [13, 13]


@pytest.mark.usefixtures("heeds_interrupts")
def test_an_interrupt_stops_a_function_of_the_users_at_once():
    reached = []

    def factor(t):
        if t == 20:
            signal.raise_signal(signal.SIGINT)
        reached.append(t)
        return 0.9

    model = dl.RLS(forgetting=factor)
    model.run(ROWS, LABELS)
    before = model.__getstate__()
    with pytest.raises(KeyboardInterrupt):
        model.run(ROWS, LABELS)
    assert 20 not in reached
    assert same(model.__getstate__(), before)


class Waits:
    """A loss that pauses a run while another thread does something."""

    def __init__(self):
        self.arrived, self.go_on = threading.Event(), threading.Event()

    def value(self, y, prediction):
        return (prediction - y) ** 2

    def gradient(self, y, prediction):
        self.arrived.set()
        assert self.go_on.wait(patience.SECONDS)
        return 2 * (prediction - y)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_has_the_model_as_it_was_before_the_run_of_another_thread():
    loss = Waits()
    loss.go_on.set()
    model = dl.GD(loss=loss)
    model.run(ROWS, LABELS)
    before = model.__getstate__()
    loss.arrived.clear()
    loss.go_on.clear()
    thread = threading.Thread(target=lambda: model.run(ROWS, LABELS))
    thread.start()
    assert loss.arrived.wait(patience.SECONDS)
    with pytest.raises(RuntimeError, match="in use by another thread"):
        model.run(ROWS, LABELS)
    child = os.fork()
    if child == 0:
        try:
            loss.go_on.set()
            whole = same(model.__getstate__(), before)
            model.run(ROWS, LABELS)
            os._exit(0 if whole and model.n_seen_ == 24 else 1)
        finally:
            os._exit(2)
    loss.go_on.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert model.n_seen_ == 24


class CallingBack:
    """A user's function or object, in all the forms that models take, which calls its own model once."""

    def __init__(self, act):
        self.act, self.model, self.error = act, None, None

    def __deepcopy__(self, _):
        return self

    def __eq__(self, other):
        return isinstance(other, CallingBack)

    __hash__ = object.__hash__

    def call_back(self):
        if self.model is not None:
            model, self.model = self.model, None
            try:
                self.act(model)
            except RuntimeError as error:
                self.error = str(error)

    def factor(self, _):
        self.call_back()
        return 0.9

    def similarity(self, a, b):
        self.call_back()
        return float(np.exp(-np.sum((np.asarray(a) - np.asarray(b)) ** 2)))

    def value(self, y, prediction):
        return (prediction - y) ** 2

    def gradient(self, y, prediction):
        self.call_back()
        return 2 * (prediction - y)


class CallingMean(RegressorMixin, BaseEstimator):
    """Predicts the mean, and calls its own model once while it predicts."""

    def __init__(self, caller=None):
        self.caller = caller

    def fit(self, X, y):
        self.mean_ = np.mean(y)
        return self

    def predict(self, X):
        self.caller.call_back()
        return np.full(len(X), self.mean_)


CALLERS = {
    "a factor": lambda own: dl.RLS(forgetting=own.factor),
    "a threshold": lambda own: dl.ARCOR(schedule=own.factor, noise=0.01),
    "a factor of a policy": lambda own: dl.SecondOrder(time=Divide(own.factor)),
    "a loss": lambda own: dl.GD(rate=0.01, loss=own),
    "a multiplicative loss": lambda own: dl.EG(rate=0.01, loss=own),
    "a kernel": lambda own: dl.Kernel(dl.RLS(), kernel=own.similarity),
    "a factor in a kernel": lambda own: dl.Kernel(dl.RLS(forgetting=own.factor)),
    "a factor in a pipeline": lambda own: Standardize() | dl.RLS(forgetting=own.factor),
    "a factor in a network": lambda own: dl.Network([dl.RLS(forgetting=own.factor), dl.LMS()]),
    "a factor in an average": lambda own: dl.Averaged(dl.RLS(forgetting=own.factor)),
    "an estimator": lambda own: dl.Refit(CallingMean(own), every=4, window=8),
}
CALLED_BACK = {
    "learn_one": lambda model: model.learn_one(ROWS[0], 1.0),
    "tell": lambda model: model.tell(model.ask(ROWS[0]), 1.0),
    "run": lambda model: model.run(ROWS, LABELS),
    "fit": lambda model: model.fit(ROWS, LABELS),
    "set_params": lambda model: model.set_params(missing="skip"),
    "predict_one": lambda model: model.predict_one(ROWS[0]),
    "predict_interval": lambda model: model.predict_interval(ROWS[0]),
    "ask": lambda model: model.ask(ROWS[0]),
}
CALLS_OUT = {
    "learn_one": lambda model: model.learn_one(ROWS[1], 2.0),
    "tell": lambda model: model.tell(model.ask(ROWS[1]), 2.0),
    "run": lambda model: model.run(ROWS, LABELS),
}


@for_each("verb", CALLED_BACK)
@pytest.mark.parametrize("kind", CALLERS)
def test_a_users_function_cannot_call_its_own_model_and_the_model_learns_as_if_it_had_not_tried(kind, verb):
    for name, call in CALLS_OUT.items():
        for rows in (0, 12):
            own, quiet = CallingBack(CALLED_BACK[verb]), CallingBack(None)
            model, other = CALLERS[kind](own), CALLERS[kind](quiet)
            if rows:
                model.run(ROWS, LABELS)
                other.run(ROWS, LABELS)
            own.model = model
            call(model)
            call(other)
            if own.model is None:  # the function was called
                assert "cannot call the model" in own.error, (name, rows, own.error)
            assert rows == 0 or own.model is None or kind == "a kernel"
            assert same(model.__getstate__()["core"], other.__getstate__()["core"]), (name, rows)


def test_a_function_of_one_model_may_call_another_model():
    helper = dl.RLS()

    def factor(_):
        helper.learn_one(ROWS[0], 1.0)
        return 0.9

    model = dl.RLS(forgetting=factor)
    for x, y in zip(ROWS, LABELS, strict=True):
        model.learn_one(x, y)
    assert model.n_seen_ == 12
    assert helper.n_seen_ >= 12
