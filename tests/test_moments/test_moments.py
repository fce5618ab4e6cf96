"""Moments: chunks merged in any grouping give the model that learned all rows one by one."""

import functools
import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from tests.cases import for_each
from tests.test_storage.test_model_file import forge, parts, refuse


def stream(rows=2000, d=5, seed=0):
    """A stream with drifting weights and features of different sizes; the last feature is always 0."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, d)) * np.geomspace(0.1, 10, d) + 0.5
    X[:, -1] = 0.0
    weights = rng.normal(size=d) + np.cumsum(0.01 * rng.normal(size=(rows, d)), axis=0)
    return X, np.einsum("td,td->t", X, weights) + 3.0 + 0.2 * rng.normal(size=rows)


def moments_of(X, y, forgetting, intercept=True, **more):
    made = dl.Moments(forgetting=forgetting, intercept=intercept)
    made.learn_many(X, y, **more)
    return made


def sequential(forgetting, ridge=1.0, intercept=True):
    if forgetting == 1:
        return dl.Ridge(ridge=ridge, intercept=intercept)
    return dl.RLS(forgetting=forgetting, ridge=ridge, intercept=intercept)


@pytest.mark.parametrize("forgetting", [1.0, 0.9999, 0.99, 0.9])
@for_each("ridge", [1.0, 1e-4, 100.0])
@for_each("intercept", [True, False])
def test_the_model_equals_one_that_learned_row_by_row(forgetting, ridge, intercept):
    X, y = stream()
    expected = sequential(forgetting, ridge, intercept)
    expected.run(X, y)
    model = moments_of(X, y, forgetting, intercept).model(ridge)
    assert type(model) is type(expected)
    assert model.get_params() == expected.get_params()
    assert model.n_seen_ == 2000
    S, found = expected.covariance_[:4, :4], model.covariance_[:4, :4]  # without the feature that is always 0
    assert np.abs(found - S).max() <= 1e-10 * np.abs(S).max()
    assert model._sums()["value"] == pytest.approx(expected._sums()["value"], rel=1e-9)
    certificate = model.certificate()
    assert (certificate.comparator, certificate.bound) == (None, None)
    assert certificate.conditions["the rows were learned one by one, with these parameters"] is False
    assert model.coef_[-1] == expected.coef_[-1] == 0.0
    assert model.covariance_[4, 4] == pytest.approx(expected.covariance_[4, 4], rel=1e-9)
    again, labels = stream(seed=1)
    again[:, -1] = np.linspace(0, 3, 2000)  # the last feature becomes nonzero
    error = model.run(again, labels).predictions - expected.run(again, labels).predictions
    assert np.abs(error).max() <= 1e-9 * labels.std()


def test_the_model_matches_its_formula_in_50_digits():
    """w minimises sum of l^(t-i) (y_i - w.x_i)^2 + l^t ridge |w|^2, solved in 50 digits."""
    import mpmath

    X, y = stream(rows=60)
    with mpmath.workdps(50):
        keep, z = mpmath.mpf(0.95), [[*map(mpmath.mpf, row), mpmath.mpf(1)] for row in X.tolist()]
        A = mpmath.eye(6) * (keep**60 * mpmath.mpf(0.3))
        b = mpmath.zeros(6, 1)
        for t, row in enumerate(z):
            share = keep ** (59 - t)
            A += share * mpmath.matrix([[p * q for q in row] for p in row])
            b += share * mpmath.mpf(float(y[t])) * mpmath.matrix(row)
        w = [float(value) for value in mpmath.lu_solve(A, b)]
    model = moments_of(X, y, 0.95).model(0.3)
    assert np.allclose([*model.coef_, model.intercept_], w, rtol=1e-12, atol=1e-13)


@settings(max_examples=30)
@given(cuts=st.lists(st.integers(0, 600), max_size=7), forgetting=st.sampled_from([1.0, 0.999, 0.97]), draw=st.data())
def test_chunks_merged_in_any_tree_equal_the_whole(cuts, forgetting, draw):
    X, y = stream(rows=600)
    edges = [0, *sorted(cuts), 600]
    chunks = [
        moments_of(X[start:stop], y[start:stop], forgetting) if stop > start else dl.Moments(forgetting=forgetting)
        for start, stop in pairwise(edges)
    ]
    while len(chunks) > 1:
        place = draw.draw(st.integers(0, len(chunks) - 2))
        chunks[place : place + 2] = [chunks[place].then(chunks[place + 1])]
    model, expected = chunks[0].model(0.5), sequential(forgetting, 0.5)
    expected.run(X, y)
    assert chunks[0].n_seen_ == 600
    error = model.predict(X) - expected.predict(X)
    assert np.abs(error).max() <= 1e-12 * y.std()


@pytest.mark.parametrize("forgetting", [1.0, 0.999, 0.97])
def test_chunks_replayed_from_the_moments_before_them_equal_the_whole_run(forgetting):
    X, y = stream(rows=4000)
    edges = np.linspace(0, 4000, 9).astype(int)
    chunks = [moments_of(X[start:stop], y[start:stop], forgetting) for start, stop in pairwise(edges)]
    predictions = []
    for number, (start, stop) in enumerate(pairwise(edges)):
        prefix = functools.reduce(dl.Moments.then, chunks[:number], dl.Moments(forgetting=forgetting))
        predictions.append(prefix.model(2.0).run(X[start:stop], y[start:stop]).predictions)
    expected = sequential(forgetting, 2.0).run(X, y).predictions
    assert np.abs(np.concatenate(predictions) - expected).max() <= 1e-12 * y.std()


@pytest.mark.parametrize("forgetting", [1.0, 0.98])
def test_redundant_features_are_handled_as_in_learning_row_by_row(forgetting):
    X, y = stream(rows=3000)
    X = np.column_stack([X, X[:, 0], 2 * X[:, 1] - X[:, 0], np.ones(3000)])
    expected, model = sequential(forgetting), moments_of(X, y, forgetting).model()
    expected.run(X, y)
    assert np.abs(model.predict(X) - expected.predict(X)).max() <= 1e-11 * y.std()
    assert np.abs(model.run(X, y).predictions - expected.run(X, y).predictions).max() <= 1e-11 * y.std()


def test_sample_weights_are_applied():
    X, y = stream()
    weight = np.random.default_rng(0).integers(0, 4, 2000) / 2
    expected = sequential(0.99)
    expected.run(X, y, sample_weight=weight)
    made = moments_of(X, y, 0.99, sample_weight=weight)
    assert made.n_seen_ == expected.n_seen_ == np.count_nonzero(weight)
    assert np.abs(made.model().predict(X) - expected.predict(X)).max() <= 1e-12 * y.std()
    nothing = moments_of(X, y, 0.99, sample_weight=np.zeros(2000))
    assert nothing.n_seen_ == 0
    assert nothing.then(made).model().n_seen_ == made.n_seen_


def test_a_history_may_be_so_long_that_the_prior_is_forgotten():
    X, y = stream(rows=3000)
    made = moments_of(X, y, 0.5)
    for _ in range(3):
        made = made.then(made)
    model, expected = made.model(), sequential(0.5)
    for _ in range(8):
        expected.run(X, y)
    assert np.abs(model.predict(X[:100]) - expected.predict(X[:100])).max() <= 1e-7 * y.std()
    assert np.isfinite(model.run(X, y).predictions).all()


def test_merging_changes_neither_part_and_keeps_names():
    X, y = stream()
    frame = pd.DataFrame(X, columns=list("abcde"))
    first, second = moments_of(frame[:900], y[:900], 0.99), moments_of(X[900:], y[900:], 0.99)
    before = first.to_bytes(), second.to_bytes()
    whole = first.then(second)
    assert (first.to_bytes(), second.to_bytes()) == before
    assert whole.model().feature_names_in_.tolist() == list("abcde")
    assert whole.n_features_in_ == 5
    grown = pickle.loads(pickle.dumps(first))
    grown.learn_many(X[900:], y[900:])
    assert np.array_equal(grown.model().coef_, whole.model().coef_)


def test_moments_without_rows_give_a_fresh_learner():
    model = dl.Moments(forgetting=0.9, intercept=False).model(3.0)
    assert repr(model) == repr(dl.RLS(forgetting=0.9, ridge=3.0, intercept=False))
    assert model.n_seen_ == 0
    assert dl.from_bytes(dl.Moments().to_bytes()).n_features_in_ is None


def test_moments_survive_bytes_and_files(tmp_path):
    X, y = stream()
    made = moments_of(pd.DataFrame(X, columns=list("abcde")), y, 0.99)
    made.save(tmp_path / "moments")
    for twin in (dl.from_bytes(made.to_bytes()), dl.load(tmp_path / "moments")):
        assert repr(twin) == repr(made) == "Moments(forgetting=0.99, intercept=True)"
        assert twin.to_bytes() == made.to_bytes()
        assert twin.then(made).model().coef_.tolist() == made.then(made).model().coef_.tolist()


@pytest.mark.parametrize(
    ("array", "head"),
    [
        ({"triangle": lambda a: a[:-1]}, {}),
        ({"triangle": lambda a: a.T}, {}),
        ({"triangle": lambda a: a * np.nan}, {}),
        ({"largest": lambda a: -a}, {}),
        ({"largest": lambda a: a[:1]}, {}),
        ({}, {"rows": -1}),
        ({}, {"rows": 1.5}),
        ({}, {"weighted": 10**6}),
        ({}, {"forgetting": 2.0}),
        ({}, {"intercept": 1}),
        ({}, {"names": ["a", "b"]}),
        ({}, {"names": ["a", "a", "b", "c", "d"]}),
    ],
)
def test_forged_files_are_refused(array, head, tmp_path):
    X, y = stream()
    path = tmp_path / "moments"
    moments_of(X, y, 0.99).save(path)
    arrays, _, found = parts(path)
    changed = {name: np.ascontiguousarray(array[name](value)) if name in array else value for name, value in arrays.items()}
    forge(path, changed, {**found, **head})
    refuse(path)


def test_a_refused_call_changes_nothing():
    X, y = stream()
    made = moments_of(X, y, 0.99)
    before = made.to_bytes()
    bad, short = X.copy(), X[:, :3]
    bad[1500, 2] = np.nan
    for rows, labels, words in (
        (bad, y, r"^Moments\.learn_many: X has NaN in row 1500, feature 2"),
        (X, np.where(np.arange(2000) == 9, np.inf, y), r"^Moments\.learn_many: y is infinity in row 9"),
        (short, y, r"X has 3 features, but Moments is expecting 5"),
        (X, y[:-1], "X has 2000 rows, y has 1999"),
    ):
        with pytest.raises(ValueError, match=words):
            made.learn_many(rows, labels)
    for other, words in (
        (moments_of(X, y, 0.9), "forgetting is 0.99, but 0.9 in later"),
        (moments_of(X, y, 0.99, intercept=False), "intercept is True, but False in later"),
        (moments_of(short, y, 0.99), "there are 5 features, but 3 in later"),
    ):
        with pytest.raises(ValueError, match=rf"^Moments\.then: {words}"):
            made.then(other)
    named = [moments_of(pd.DataFrame(X, columns=list(names)), y, 0.99) for names in ("abcde", "abced")]
    with pytest.raises(ValueError, match=r"^Moments\.then: the features of later have other names"):
        named[0].then(named[1])
    with pytest.raises(TypeError, match=r"^Moments\.then: later must be Moments, got RLS"):
        made.then(dl.RLS())
    with pytest.raises(ValueError, match=r"^Moments\.model: ridge must be"):
        made.model(0.0)
    assert made.to_bytes() == before


@pytest.mark.parametrize("options", [{"forgetting": 0.0}, {"forgetting": 1.1}, {"forgetting": True}, {"intercept": 1}])
def test_parameters_out_of_range_are_refused(options):
    with pytest.raises(ValueError, match=rf"^Moments: {next(iter(options))} must be"):
        dl.Moments(**options)
