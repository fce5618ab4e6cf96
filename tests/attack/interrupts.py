"""Interrupts at every line of driftline's code, for every learner."""

import time

import numpy as np

from driftline.base import registry
from tests.test_base.test_guard import CALLS, LABELS, interrupt_everywhere


def attack(seconds, seed):
    """Learners and calls in a random order, until the time is up; at least one."""
    until, rng = time.monotonic() + seconds, np.random.default_rng(seed)
    pairs = [(name, call) for name in registry.learners() for call in CALLS]
    calls = lines = 0
    for place in rng.permutation(len(pairs)):
        name, call = pairs[place]
        model = registry.learners()[name]()
        y = np.where(LABELS > 0, "up", "down") if model._estimator_type == "classifier" else LABELS
        try:
            lines += interrupt_everywhere(model, call, y)
        except BaseException as error:
            error.add_note(f"{call} of {name}")
            raise
        calls += 1
        if time.monotonic() > until:
            break
    return f"{lines:,} interrupts of {calls} calls out of {len(pairs)}"
