"""Late labels: every learner gives the bits of a plain loop of ask and tell, in whatever form the rows come."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import driftline as dl
from driftline import evaluate
from driftline.base import registry
from tests.cases import for_each


def make(name):
    return {"eg": lambda: dl.EG(norm=10), "pipeline": lambda: dl.features.Lags(y=3) | dl.RLS()}.get(
        name, registry.regressors()[name]
    )()


def rows(count=160, width=3):
    rng = np.random.default_rng(4)
    X = 0.3 * rng.normal(size=(count, width))
    return X, X @ np.arange(1.0, width + 1) + np.sin(np.arange(count) / 4) + 0.1 * rng.normal(size=count)


def plainly(model, xs, y, delay, level=None):
    predicted, ends, waiting = [], [], []
    for x, label in zip(xs, y.tolist(), strict=True):
        ticket = model.ask(x, delay=delay)
        predicted.append(ticket.prediction)
        ends.append((np.nan, np.nan) if level is None else ticket.interval(level))
        waiting.append((ticket, label))
        if len(waiting) > delay:
            model.tell(*waiting.pop(0))
    for ticket, label in waiting:
        model.tell(ticket, label)
    return predicted, np.array(ends)


@for_each("delay", [1, 24])
@pytest.mark.parametrize("name", registry.regressors())
def test_every_learner_gives_the_bits_of_a_plain_loop(name, delay):
    X, y = rows()
    plain, model, named = make(name), make(name), make(name)
    expected, ends = plainly(plain, X, y, delay, 0.8)
    blocks = [(X[:70], y[:70]), (X[70:71], y[70:71]), (X[71:], y[71:])]
    result = evaluate.prequential({"it": model}, blocks, delay=delay, level=0.8, keep_predictions=True)
    assert result.predictions["it"].tolist() == expected
    finite = np.isfinite(ends).all(axis=1)
    assert result.totals["it"]["coverage"] == pytest.approx(np.mean(((ends[:, 0] <= y) & (y <= ends[:, 1]))[finite]))
    assert result.totals["it"]["width"] == pytest.approx(np.mean(ends[finite, 1] - ends[finite, 0]))
    assert model.n_seen_ == plain.n_seen_ == len(y)
    assert model.predict_one(X[0]) == plain.predict_one(X[0])
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    result = evaluate.prequential({"it": named}, (frame, y), delay=delay, keep_predictions=True)
    assert result.predictions["it"].tolist() == expected
    assert named.predict_one(dict(zip("abc", X[0].tolist(), strict=True))) == plain.predict_one(X[0])


@pytest.mark.parametrize("name", ["auto", "rls", "nlms", "network", "kernel"])
def test_mappings_with_new_names_work_with_late_labels(name):
    X, y = rows()
    mappings = [{k: v for k, v in zip("abc", row, strict=True) if k != "c" or t >= 50} for t, row in enumerate(X.tolist())]
    expected, _ = plainly(make(name), mappings, y, 7)
    model = make(name)
    result = evaluate.prequential({"it": model}, (mappings, y), delay=7, keep_predictions=True)
    assert result.predictions["it"].tolist() == expected
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]


def test_a_classifier_works_with_late_labels():
    X, y = rows()
    labels = np.where(y > 0, "up", "down")
    plain = dl.Classifier(dl.RLS())
    expected, _ = plainly(plain, X, labels, 5)
    result = evaluate.prequential({"it": dl.Classifier(dl.RLS())}, (X, labels), delay=5, keep_predictions=True)
    assert result.predictions["it"].tolist() == expected
    assert set(expected[50:]) == {"up", "down"}


def test_sparse_rows_work_with_late_labels_and_are_not_made_dense():
    y = rows()[1]
    wide = scipy.sparse.csr_array((np.ones(160), (np.arange(160), np.arange(160) % 5 * 10**12)), shape=(160, 10**13))
    expected, _ = plainly(dl.SparseDFOP(dim=8), [wide[[row]] for row in range(160)], y, 9)
    result = evaluate.prequential({"it": dl.SparseDFOP(dim=8)}, (wide, y), delay=9, keep_predictions=True)
    assert result.predictions["it"].tolist() == expected


def test_a_missing_label_is_skipped_when_it_would_have_arrived():
    X, y = rows()
    y[[0, 40, 41, 159]] = np.nan
    X[60, 1] = np.nan
    plain, model = dl.Auto(missing="skip"), dl.Auto(missing="skip")
    expected, _ = plainly(plain, X, y, 6)
    result = evaluate.prequential({"it": model}, (X, y), delay=6, keep_predictions=True)
    assert np.array_equal(result.predictions["it"], expected, equal_nan=True)
    assert model.n_skipped_ == plain.n_skipped_ == 5


def test_intervals_and_quantiles_of_late_labels_are_kept_as_they_were_issued():
    X, y = rows(400)
    model, levels = dl.Kalman(), [0.1, 0.5, 0.9]
    result = evaluate.prequential(
        {"it": dl.Kalman()},
        [(X[:90], y[:90]), (X[90:], y[90:])],
        delay=7,
        level=0.8,
        quantiles=levels,
        keep_predictions=True,
    )
    tickets, expected = [], []
    for t, x in enumerate(X):
        if t >= 8:
            model.tell(tickets[t - 8], y[t - 8])
        tickets.append(model.ask(x, delay=min(t, 7)))
        expected.append([*tickets[-1].interval(0.8), *tickets[-1].quantiles(levels), y[t] - tickets[-1].prediction])
    run = result.runs["it"]
    np.testing.assert_array_equal(np.column_stack([run.lower, run.upper, run.quantiles, run.errors]), expected)
    found = evaluate.coverage_by(run, y, X[:, 0] > 0)
    inside = [low <= label <= high for (low, high, *_), label in zip(expected, y, strict=True)]
    judged = np.isfinite(run.upper - run.lower)
    for group, coverage in enumerate(found["coverage"]):
        assert coverage == np.mean([each for t, each in enumerate(inside) if judged[t] and (X[t, 0] > 0) == group])


def test_the_error_names_the_refused_row():
    X, y = rows()
    y[33] = np.nan
    with pytest.raises(ValueError, match="y is NaN in row 33"):
        evaluate.prequential(dl.RLS(), [(X[:30], y[:30]), (X[30:], y[30:])], delay=6)
