"""The weights of the experts along a run, and in the report."""

import re

import numpy as np
import pytest

import driftline as dl
from driftline.features import Standardize
from driftline.report import RunLog, charts
from driftline.report.contributions import contributions, ranked
from driftline.report.facts import Facts
from driftline.report.page import render

MIXERS = {
    "auto": dl.Auto,
    "network": lambda: dl.Network([dl.Ridge(), dl.RLS(forgetting=0.9)]),
    "own experts": lambda: dl.Auto(experts=[dl.RLS(forgetting=0.9)]),
    "behind transformers": lambda: Standardize() | dl.Auto(),
}


def stream(rows=700):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(rows, 3))
    slope = np.where(np.arange(rows) % 600 < 300, 3.0, -3.0)
    return X, slope * X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=rows)


@pytest.mark.parametrize("kind", MIXERS)
def test_shares_are_those_of_the_model_at_each_snapshot(kind):
    X, y = stream()
    run, model = MIXERS[kind]().run(X, y, weights_every=64), MIXERS[kind]()
    assert run.shares.shape == (10, len(run.experts))
    for place, row in enumerate(run.snapshots):
        model.run(X[64 * place : row + 1], y[64 * place : row + 1])
        inner = getattr(model, "learner_", model)
        known = inner.weights_
        if kind in ("network", "own experts"):
            expected = list(known.values()) if isinstance(known, dict) else known
            np.testing.assert_array_equal(run.shares[place], expected)
        else:  # the linear core has the sum of its experts' shares
            assert run.shares[place].sum() == pytest.approx(1)
            named = dict(zip(run.experts, run.shares[place], strict=True))
            assert {name: known[name] for name in run.experts[1:]} == {name: named[name] for name in run.experts[1:]}
            linear = sum(share for name, share in known.items() if name not in run.experts[1:])
            assert named["the linear core"] == pytest.approx(linear)


@pytest.mark.parametrize("kind", MIXERS)
def test_requesting_shares_changes_no_prediction(kind):
    X, y = stream(300)
    plain, asked = (MIXERS[kind]().run(X, y, weights_every=every).predictions for every in (None, 7))
    np.testing.assert_array_equal(plain, asked)


def test_a_learner_that_mixes_nothing_has_no_shares():
    run = dl.RLS().run(*stream(100), weights_every=10)
    assert (run.shares, run.experts) == (None, ())


def followed(X, y, cuts):
    model, log = dl.Auto(), RunLog(level=0.9)
    for start, stop in zip([0, *cuts], [*cuts, len(y)], strict=True):
        every = log.weights_every(stop - start)
        run = model.run(X[start:stop], y[start:stop], level=0.9, weights_every=every)
        log.add(run, X[start:stop], y[start:stop], model=model)
        log = RunLog.restore(log.state())
    log.add(dl.Run(np.empty(0), np.empty(0)), None, [], model=model)
    return log


def test_the_chart_of_shares_is_the_same_however_the_stream_was_cut():
    X, y = stream(2_000)
    pages = [re.sub("<footer>.*</footer>", "", render(followed(X, y, cuts))) for cuts in ([], [1, 640, 1_111])]
    assert pages[0] == pages[1]


def test_the_chart_shows_the_heaviest_experts():
    X, y = stream(2_000)
    log = followed(X, y, [])
    chart = charts.shares(Facts(log))
    run = dl.Auto().run(X, y, weights_every=4)
    mean = dict(zip(run.experts, run.shares.mean(axis=0), strict=True))
    heavy = sorted((name for name in mean if mean[name] >= 0.02), key=mean.__getitem__, reverse=True)
    assert [line.label for line in chart.lines] == heavy
    rows = chart.x.astype(int)
    for line in chart.lines:
        np.testing.assert_array_equal(line.values, run.shares[(rows + 1) // 4 - 1, run.experts.index(line.label)])


def test_coefficients_of_one_expert_among_others_are_not_shown_as_the_models():
    """Auto's coefficients are those of its linear core; if trees dominate, they say nothing about the predictions."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 3))
    listed = {}
    for name, y in {"bent": 5 * np.sign(X[:, 0] * X[:, 1]), "straight": X @ [3.0, -2.0, 1.0]}.items():
        model, log = dl.Auto(), RunLog()
        run = model.run(X, y, weights_every=log.weights_every(len(y)))
        log.add(run, X, y, model=model)
        facts = Facts(log)
        listed[name] = [feature.weight for feature in ranked(facts, contributions(facts), 10)[0]]
    assert listed["bent"] == [None] * 3
    assert listed["straight"] == pytest.approx([3.0, -2.0, 1.0], rel=0.05)
