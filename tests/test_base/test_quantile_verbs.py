"""Every verb of every kind of learner gives the same quantiles; class labels have none."""

import pickle

import numpy as np
import pytest

import driftline as dl
from driftline.features import Lags, Standardize

LEVELS = (0.1, 0.5, 0.9)
KINDS = {
    "plain": dl.RLS(),
    "auto": dl.Auto(),
    "limits": dl.Auto(low=0.5, high=3.0),
    "transformed": dl.Transformed(dl.RLS(), "log"),
    "pipeline": Standardize() | Lags(y=2) | dl.RLS(),
    "network": dl.Network([dl.RLS(), dl.NLMS()]),
    "averaged": dl.Averaged(dl.RLS()),
    "kernel": dl.Kernel(dl.RLS()),
    "own experts": dl.Auto(experts=[dl.RLS(), dl.NLMS()]),
    "selective": dl.Selective(dl.RLS()),
    "link": dl.GLM(loss="gamma"),
    "sparse": dl.SparseDFOP(dim=2),
}


def stream():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(260, 3))
    return X, np.clip(np.exp(X @ [0.3, 0.2, -0.1] + 0.2 * rng.normal(size=260)), 0.5, 3.0)


@pytest.mark.parametrize("kind", KINDS)
def test_every_verb_gives_the_same_quantiles(kind):
    X, y = stream()
    model = KINDS[kind].clone()
    run = model.run(X[:200], y[:200], quantiles=LEVELS)
    plain = KINDS[kind].clone().run(X[:200], y[:200])
    np.testing.assert_array_equal(run.predictions, plain.predictions)  # asking changes nothing
    one = model.predict_quantiles(X[200], LEVELS)
    assert (np.diff(one) >= 0).all()
    others = {
        "ticket": model.ask(X[200]).quantiles(LEVELS),
        "saved ticket": dl.Ticket.from_bytes(model.ask(X[200]).to_bytes()).quantiles(LEVELS),
        "pickle": pickle.loads(pickle.dumps(model)).predict_quantiles(X[200], LEVELS),
        "file": dl.from_bytes(model.to_bytes()).predict_quantiles(X[200], LEVELS),
        "run": pickle.loads(pickle.dumps(model)).run(X[200:201], y[200:201], quantiles=LEVELS).quantiles[0],
        "one by one": [model.predict_quantiles(X[200], (level,))[0] for level in LEVELS],
    }
    for name, found in others.items():
        np.testing.assert_array_equal(found, one, err_msg=name)
    table = model.predict_quantiles(X[200:], LEVELS)
    assert table.shape == (60, 3)
    assert (np.diff(table, axis=1) >= 0).all()
    if kind == "limits":
        assert 0.5 <= table.min() <= table.max() <= 3.0


@pytest.mark.parametrize("kind", ["plain", "auto", "transformed", "pipeline"])
@pytest.mark.parametrize("pooled", [False, True])
def test_fleets_have_quantiles_that_survive_saving(kind, pooled):
    X, y = stream()
    keys = np.arange(len(y)) % 3
    fleet = dl.Fleet(KINDS[kind].clone(), intervals=True, pooled=pooled)
    run = fleet.run(keys, X, y, quantiles=LEVELS)
    assert run.quantiles.shape == (260, 3)
    found = fleet.predict_quantiles(keys[:9], X[:9], LEVELS)
    assert (np.diff(found, axis=1) >= 0).all()
    np.testing.assert_array_equal(dl.from_bytes(fleet.to_bytes()).predict_quantiles(keys[:9], X[:9], LEVELS), found)
    if not pooled:
        alone = KINDS[kind].clone()
        alone.run(X[keys == 1], y[keys == 1])
        wanted = [alone.predict_quantiles(x, LEVELS) for x in X[:9][keys[:9] == 1]]
        np.testing.assert_allclose(found[keys[:9] == 1], wanted, rtol=1e-9)


def test_class_labels_have_no_quantiles():
    X, y = stream()
    labels = np.where(y > 1, "a", "b")
    model = dl.Classifier(dl.RLS())
    model.run(X, labels)
    for ask in (
        lambda: model.predict_quantiles(X[0], LEVELS),
        lambda: model.predict_quantiles(X, LEVELS),
        lambda: model.run(X, labels, quantiles=LEVELS),
        lambda: model.ask(X[0]).quantiles(LEVELS),
        lambda: dl.Fleet(dl.Classifier(dl.RLS())).run(labels, X, labels, quantiles=LEVELS),
        lambda: dl.evaluate.prequential(dl.Classifier(dl.RLS()), (X, labels), quantiles=LEVELS, progress=False),
    ):
        with pytest.raises(ValueError, match="class labels have no quantiles"):
            ask()
