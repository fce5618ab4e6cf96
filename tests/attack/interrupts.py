"""Sends SIGINT at every line of driftline's code, and between opcodes, for every learner and for nested learners."""

import signal
import time

import numpy as np
from sklearn.linear_model import LinearRegression

import driftline as dl
from driftline.base import registry
from driftline.features import Lags
from tests.conftest import NESTED, VARIANTS
from tests.test_base.test_guard import CALLS, LABELS, ROW_CALLS, interrupt_everywhere

_MODELS = {
    **registry.learners(),
    **{name: VARIANTS[name] for name in NESTED},
    "average_of_a_network": lambda: dl.Averaged(dl.Network([dl.RLS(), dl.Kalman()])),
    "classifier_of_a_pipeline": lambda: dl.Classifier(Lags(y=2) | dl.RLS()),
    "auto_with_a_pipeline": lambda: dl.Auto(experts=[Lags(y=2) | dl.RLS()]),
    "network_of_a_refit": lambda: dl.Network([dl.Refit(LinearRegression(), every=10, lags=[1]), dl.RLS()]),
}


def attack(seconds, seed):
    """Interrupts pairs of learner and call in random order until the time is up; at least one pair."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
    until, rng = time.monotonic() + seconds, np.random.default_rng(seed)
    pairs = [(name, call) for name in _MODELS for call in (*CALLS, *ROW_CALLS)]
    calls = places = 0
    for place in rng.permutation(len(pairs)):
        name, call = pairs[place]
        model = _MODELS[name]()
        y = np.where(LABELS > 0, "up", "down") if model._estimator_type == "classifier" else LABELS
        y = y if model._traits.labels is None else np.abs(y)
        try:
            places += interrupt_everywhere(model, call, y)
            if call in ROW_CALLS:
                interrupt_everywhere(_MODELS[name](), call, y, "opcode", every=int(rng.integers(7, 20)))
        except BaseException as error:
            error.add_note(f"{call} of {name}")
            raise
        calls += 1
        if time.monotonic() > until:
            break
    return f"{places:,} interrupts of {calls} calls out of {len(pairs)}"
