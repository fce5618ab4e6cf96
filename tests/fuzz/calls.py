"""Random calls: ``python -m tests.fuzz.calls 100000 0`` makes 100,000 calls with seed 0.

Every call must end with a clear exception and an unchanged state, or with success and a finite state. The calls run in a
separate process, so that a crash of the interpreter is noticed.
"""

import collections
import contextlib
import faulthandler
import hashlib
import sys
import warnings

import numpy as np

from driftline.base import registry
from driftline.checks.tools import same
from driftline.errors import DriftlineWarning
from tests.states import leaves

from .objects import HostileError, anything, mapping, number, spoilt

CLEAR = (ValueError, TypeError, HostileError)
VERBS = ("predict_one", "learn_one", "run", "predict", "partial_fit", "fit", "score", "set_params", "make", "set", "ask")
ANSWERS = ("coef_", "intercept_", "n_features_in_", "feature_names_in_", "n_seen_", "n_skipped_", "covariance_")


def make_model(rng):
    """A learner that is new, or that learned three unnamed features, or three named ones."""
    classes = list(registry.regressors().values())
    options = {"intercept": bool(rng.integers(2)), "dtype": ("float64", "float32")[rng.integers(2)]}
    model = classes[rng.integers(len(classes))](missing=("raise", "raise", "skip")[rng.integers(3)], **options)
    pick = rng.integers(3)
    if pick == 1:
        model.run(rng.uniform(-0.5, 0.5, size=(9, 3)), rng.normal(size=9))
    if pick == 2:
        for row in rng.uniform(-0.5, 0.5, size=(9, 3)):
            model.learn_one(dict(zip("abc", row.tolist(), strict=True)), float(rng.normal()))
    return model


def random_row(rng):
    pick = rng.integers(6)
    if pick == 0:
        return rng.normal(size=3)
    if pick == 1:
        return mapping(rng)
    if pick == 2:
        return spoilt(rng, rng.normal(size=3))
    return anything(rng)


def random_table(rng):
    pick = rng.integers(4)
    if pick == 0:
        return rng.normal(size=(4, 3))
    return spoilt(rng, rng.normal(size=(4, 3))) if pick == 1 else anything(rng)


def random_labels(rng):
    pick = rng.integers(4)
    if pick < 2:
        return rng.normal(size=4)
    return [number(rng) for _ in range(4)] if pick == 2 else anything(rng)


def random_options(rng, *names):
    return {name: anything(rng) for name in names if rng.random() < 0.2}


def random_parameters(rng, model):
    names = [*model.get_params(), "no_such_parameter"]
    return {names[i]: anything(rng) for i in rng.permutation(len(names))[: rng.integers(1, 3)]}


def call(rng, model, verb):
    """Makes one random call; returns its result."""
    if verb == "predict_one":
        return model.predict_one(random_row(rng))
    if verb == "learn_one":
        label = number(rng) if rng.random() < 0.8 else anything(rng)
        return model.learn_one(random_row(rng), label, **random_options(rng, "sample_weight"))
    if verb == "run":
        return model.run(random_table(rng), random_labels(rng), **random_options(rng, "sample_weight", "weights_every"))
    if verb in ("partial_fit", "fit", "score"):
        return getattr(model, verb)(random_table(rng), random_labels(rng), **random_options(rng, "sample_weight"))
    if verb == "predict":
        return model.predict(random_table(rng))
    if verb == "set_params":
        return model.set_params(**random_parameters(rng, model))
    if verb == "make":
        return use(rng, type(model)(**random_parameters(rng, model)))
    if verb == "set":
        name = list(model.get_params())[rng.integers(len(model.get_params()))]
        return setattr(model, name, anything(rng))
    with contextlib.suppress(AttributeError):
        getattr(model, ANSWERS[rng.integers(len(ANSWERS))])
    return model.certificate(), repr(model), model.get_params()


def use(rng, model):
    """A learner that accepted its parameters must run, or raise a clear error."""
    before = model.__getstate__()
    try:
        model.run(rng.uniform(-0.5, 0.5, size=(9, 3)), rng.normal(size=9))
    except CLEAR:
        assert same(before, model.__getstate__()), "a refused run changed the state"
    require_finite(model)


def require_finite(model):
    for name, values in leaves(model.__getstate__().get("core", {})):
        assert np.isfinite(values).all(), f"{name} is not finite: {values}"


def judge(rng, model, verb, before):
    """Makes a call. It must raise a clear error and change nothing, or leave a finite state."""
    try:
        answer = call(rng, model, verb)
    except CLEAR as error:
        if not error.args:
            raise AssertionError("an exception without a message") from error
        if not same(before, model.__getstate__()):
            raise AssertionError("a refused call changed the state") from error
        return "refused"
    require_finite(model)
    if verb == "predict_one" and model.missing == "raise":
        assert np.isfinite(answer).all(), f"the prediction is {answer}"
    return "taken"


def main(calls, seed):
    faulthandler.enable()
    warnings.simplefilter("error")
    warnings.simplefilter("ignore", DriftlineWarning)
    warnings.filterwarnings("ignore", "(Hostile)?.*__(float|index|int)__ returned non-")
    warnings.filterwarnings("ignore", "A column-vector|X (does not|has)")
    rng = np.random.default_rng(seed)
    counts, digest = collections.Counter(), hashlib.sha256()
    model = make_model(rng)
    for i in range(calls):
        if rng.random() < 0.05:
            model = make_model(rng)
        before, verb = model.__getstate__(), VERBS[rng.integers(len(VERBS))]
        try:
            counts[verb, judge(rng, model, verb, before)] += 1
        except BaseException as error:
            error.add_note(f"call {i} of seed {seed}: {verb} of {model!r}")
            raise
        for _, values in leaves(before.get("core", {})):
            digest.update(values.tobytes())
    for (verb, how), count in sorted(counts.items()):
        print(f"{verb:12} {how:8} {count:8,}")
    print(f"all of it    {digest.hexdigest()}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
