"""Sparse-DFOP: its matrix, its input formats, new features, and recovered sparse weights."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import fdot, mpf
from scipy.optimize import linprog
from scipy.stats import kstest

import driftline as dl
from driftline.checks.tools import same
from driftline.linear.pursuit import basis_pursuit, largest
from tests.cases import for_each
from tests.reference import Case, Outcome, Precise, Reference
from tests.streams import Array, assert_same_state, drifting
from tests.test_linear import test_dfop as dfop
from tests.test_linear.random_matrices import random_matrix

MATRICES = ["gaussian", "bernoulli", "sparse"]


def plain(
    X: Array,
    y: Array,
    *,
    forget_rate: float = 0.01,
    prior: float = 100.0,
    dim: int = 100,
    sparsity: int = 10,  # only used to recover weights, so irrelevant here
    matrix: str = "gaussian",
    seed: int = 0,
    intercept: bool = False,
) -> Outcome:
    """Zhao et al., Algorithm 2, lines 3 to 5, with the prediction made before them; the weights are those of x."""
    M = random_matrix(dim, X.shape[1], seed, matrix)
    psi = X @ M.T
    if intercept:
        psi = np.column_stack([psi, np.ones(len(psi))])
    compressed = dfop.plain(psi, y, forget_rate=forget_rate, prior=prior)
    weights = compressed.weights[:, :dim] @ M
    if intercept:
        weights = np.column_stack([weights, compressed.weights[:, dim]])
    return Outcome(compressed.predictions, weights, compressed.covariance)


def precise(rows, labels, *, dim, sparsity, matrix, seed, **parameters):
    """DFOP on M x, with the entries of M taken exactly."""
    columns = [[mpf(entry) for entry in column] for column in random_matrix(int(dim), len(rows[0]), int(seed), matrix).T]
    psi = [[fdot(row, entries) for entries in zip(*columns, strict=True)] for row in rows]
    compressed = dfop.precise(psi, labels, **parameters)
    return Precise(compressed.predictions, [fdot(column, compressed.weights) for column in columns], compressed.covariance)


CASES = [
    Case(forget_rate=0.08, prior=20.0, dim=6, seed=3),
    Case(forget_rate=0.08, prior=20.0, dim=7, seed=4, matrix="bernoulli"),
    Case(forget_rate=0.08, prior=20.0, dim=9, seed=5, matrix="sparse"),
    Case(forget_rate=0.05, prior=2.0, dim=20, matrix="sparse"),
]
REFERENCE = Reference(plain, CASES, precise, accuracy=lambda X: {"dim": 8})


def columns_of(model: dl.SparseDFOP, columns: Array) -> Array:
    return model._core.columns(np.asarray(columns, dtype=np.int64)).reshape(len(columns), model.dim).T


def at_column(column: int, value: float = 1.0) -> sp.csr_array:
    """A row that is only as wide as its single entry requires."""
    return sp.csr_array((np.array([value]), np.array([column]), np.array([0, 1])), shape=(1, column + 1))


def test_columns_beyond_2_to_the_52_are_refused_on_input(tmp_path):
    model = dl.SparseDFOP(dim=4)
    for column in (2**52 + 1, 2**53, 2**60):
        row = at_column(column)
        for call in (
            lambda row=row: model.learn_one(row, 1.0),
            lambda row=row: model.run(row, [1.0]),
            lambda row=row: model.predict_one(row),
        ):
            with pytest.raises(ValueError, match=r"SparseDFOP\..*columns; their numbers must not exceed 2\^52"):
                call()
    model.learn_one(at_column(2**52), 1.0)
    model.save(tmp_path / "model")
    assert dl.load(tmp_path / "model").n_features_in_ == 2**52 + 1


def test_rows_that_are_not_learned_add_no_features():
    model = dl.SparseDFOP(dim=4, missing="skip")
    model.learn_one(at_column(2), 1.0)
    before = model.__getstate__()
    model.learn_one(at_column(9, np.nan), 1.0)
    model.learn_one(at_column(9), np.nan)
    model.run(at_column(9, np.nan), [1.0])
    model.learn_one(at_column(9), 1.0, sample_weight=0.0)
    run = model.run(at_column(9), [1.0], sample_weight=[0.0])
    assert run.predictions.shape == (1,)
    assert model.n_skipped_ == 3
    assert same(model.__getstate__(), {**before, "skipped": 3})
    model.run(sp.vstack([at_column(9, np.nan), at_column(9)]).tocsr(), [1.0, 1.0])
    assert model.n_features_in_ == 10


def met(features: int, **parameters: object) -> dl.SparseDFOP:
    """A learner that has seen `features` features."""
    model = dl.SparseDFOP(**parameters)
    model.learn_one(sp.csr_array((1, features)), 0.0)
    return model


def holding(model: dl.SparseDFOP, v: Array) -> dl.SparseDFOP:
    """The learner, with its compressed weights set to v."""
    state = model.__getstate__()
    state["core"]["weights"][: len(v)] = v
    model.__setstate__(state)
    return model


def sparse_stream(rows: int, features: int, entries: int, seed: int = 0) -> tuple[sp.csr_array, Array]:
    rng = np.random.default_rng(seed)
    columns = np.sort([rng.choice(features, size=entries, replace=False) for _ in range(rows)], axis=1)
    starts = np.arange(0, rows * entries + 1, entries)
    X = sp.csr_array((rng.normal(size=rows * entries), columns.ravel(), starts), shape=(rows, features))
    return X, X @ rng.normal(size=features) + 0.1 * rng.normal(size=rows)


# The matrix.


@pytest.mark.parametrize("matrix", MATRICES)
@for_each("dim, seed", [(1, 0), (5, 2**64 - 1), (8, 1), (100, 7), (131, 12345)])
def test_the_matrix_equals_the_one_from_numpys_philox(matrix, dim, seed):
    ours = columns_of(met(50, dim=dim, seed=seed, matrix=matrix), np.arange(50))
    np.testing.assert_allclose(ours, random_matrix(dim, 50, seed, matrix), rtol=1e-13, atol=1e-15)


def test_gaussian_entries_are_normal_and_columns_uncorrelated():
    M = columns_of(met(1, dim=400, seed=3), np.arange(500)) * 20
    assert kstest(M.ravel(), "norm").pvalue > 0.01
    products = M.T @ M / 400
    assert np.abs(products[~np.eye(500, dtype=bool)].mean()) < 5 / (500 * 20)
    assert np.abs(products - np.eye(500)).max() < 6 / 20 * np.sqrt(2)


def test_bernoulli_entries_are_fair_and_independent_signs():
    M = columns_of(met(1, dim=700, matrix="bernoulli", seed=3), np.arange(500)) * np.sqrt(700)
    np.testing.assert_allclose(M, random_matrix(700, 500, 3, "bernoulli") * np.sqrt(700), rtol=1e-14)
    np.testing.assert_allclose(np.abs(M), 1.0, rtol=1e-14)
    assert np.abs(M.sum()) < 5 * np.sqrt(M.size)
    for products in (M.T @ M / np.sqrt(700), M @ M.T / np.sqrt(500)):
        assert np.abs(products[~np.eye(len(products), dtype=bool)]).max() < 6


def test_sparse_columns_have_one_entry_in_each_of_eight_parts_and_length_one():
    M = columns_of(met(1, dim=96, matrix="sparse"), np.arange(4000))
    assert ((M.reshape(8, 12, 4000) != 0).sum(axis=1) == 1).all()
    np.testing.assert_allclose((M**2).sum(axis=0), 1.0, rtol=1e-14)
    uses = np.abs(M).sum(axis=1) * np.sqrt(8)
    assert np.abs(uses - 4000 / 12).max() < 5 * np.sqrt(4000 / 12)
    assert np.abs(M.sum()) * np.sqrt(8) < 5 * np.sqrt(32000)


def test_any_column_can_be_computed_at_any_time():
    far = 2**52
    row = sp.csr_array((np.ones(1), np.array([far]), np.array([0, 1])), shape=(1, far + 1))
    model = dl.SparseDFOP(forget_rate=0.5, prior=1.0, dim=4, intercept=False)
    model.learn_one(row, 1.0)
    psi = columns_of(model, [far])[:, 0]
    k = psi / 0.5
    np.testing.assert_allclose(model.compressed_coef_, k / (2 + psi @ k), rtol=1e-14)
    assert model.n_features_in_ == far + 1


# Input formats.


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_sparse_dense_and_named_rows_give_the_same_results(matrix, dtype):
    X, y = sparse_stream(60, 40, 6)
    make = lambda: dl.SparseDFOP(dim=12, matrix=matrix, dtype=dtype)  # noqa: E731
    compressed, dense, looped, named = make(), make(), make(), make()
    wanted = compressed.run(X, y).predictions
    np.testing.assert_array_equal(dense.run(X.toarray(), y).predictions, wanted)
    named.learn_one({f"x{j}": 0.0 for j in range(40)}, y[0], sample_weight=0.0)
    for t in range(60):
        row = X[t : t + 1]
        assert looped.predict_one(row) == wanted[t]
        looped.learn_one(row, y[t])
        first = {f"x{j}": 0.0 for j in range(40)} if t == 0 else {}
        entries = {f"x{j}": value for j, value in reversed(list(zip(row.indices.tolist(), row.data.tolist(), strict=True)))}
        named.learn_one({**first, **entries}, y[t])
    for other in (dense, looped, named):
        assert_same_state(other, compressed)
    np.testing.assert_array_equal(compressed.predict(X), dense.predict(X.toarray()))


def test_coef_and_intercept_are_the_weights_with_which_rows_are_predicted():
    X, y = sparse_stream(80, 300, 5)
    model = dl.SparseDFOP(dim=20)
    run = model.run(X, y, weights_every=40)
    np.testing.assert_allclose(X @ model.coef_ + model.intercept_, model.predict(X), rtol=1e-11, atol=1e-12)
    np.testing.assert_array_equal(run.weights[-1], np.append(model.coef_, model.intercept_))
    np.testing.assert_allclose(columns_of(model, np.arange(300)).T @ model.compressed_coef_, model.coef_, atol=1e-13)


def test_the_state_does_not_grow_with_the_features():
    sizes = []
    for features in (10, 10**6):
        X, y = sparse_stream(20, features, 5)
        model = dl.SparseDFOP(matrix="sparse")
        model.run(X, y)
        sizes.append(sum(array.nbytes for array in model.__getstate__()["core"].values()))
    assert sizes[0] == sizes[1]


# Features that appear during the stream.


def test_sparse_rows_may_have_any_width():
    X, y = sparse_stream(60, 50, 4)
    narrow, wide = X[:, :20].tocsr(), X
    grown, full = dl.SparseDFOP(dim=10), dl.SparseDFOP(dim=10)
    grown.run(narrow, y)
    assert grown.n_features_in_ == 20
    full.run(sp.hstack([narrow, sp.csr_array((60, 30))]).tocsr(), y)
    np.testing.assert_array_equal(grown.run(wide, y).predictions, full.run(wide, y).predictions)
    grown.learn_one(wide[:1], 1.0)
    full.learn_one(wide[:1], 1.0)
    assert_same_state(grown, full)


def test_predicting_ignores_columns_that_were_never_learned():
    X, y = sparse_stream(30, 20, 4)
    model = dl.SparseDFOP(dim=10)
    model.run(X, y)
    wider = sp.hstack([X, sp.csr_array(np.ones((30, 5)))]).tocsr()
    np.testing.assert_array_equal(model.predict(wider), model.predict(X))
    assert model.predict_one(wider[:1]) == model.predict_one(X[:1])
    assert model.n_features_in_ == 20


def test_an_unlimited_number_of_names_keep_their_columns():
    rng = np.random.default_rng(0)
    model, table = dl.SparseDFOP(dim=8, intercept=False), dl.SparseDFOP(dim=8, intercept=False)
    X = np.zeros((50, 52))
    y = rng.normal(size=50)
    for t in range(50):
        X[t, [0, t + 1, t + 2]] = rng.normal(size=3)
        model.learn_one({"always": X[t, 0], f"n{t}": X[t, t + 1], f"n{t + 1}": X[t, t + 2]}, y[t])
    table.run(sp.csr_array(X), y)
    assert model.feature_names_in_.tolist() == ["always", *(f"n{t}" for t in range(51))]
    np.testing.assert_allclose(model.coef_, table.coef_, rtol=1e-12, atol=1e-12)


def test_a_table_wider_than_the_names_is_refused():
    model = dl.SparseDFOP(dim=5)
    model.learn_one({"a": 1.0, "b": 2.0}, 1.0)
    model.learn_one(sp.csr_array([[1.0, 0.0]]), 1.0)
    before = model.__getstate__()
    for act in (model.run, model.partial_fit):
        with pytest.raises(ValueError, match="x has 3 features, but the model knows the names of 2"):
            act(sp.csr_array(np.ones((1, 3))), [1.0])
    with pytest.raises(ValueError, match="knows the names of 2"):
        model.learn_one(sp.csr_array(np.ones((1, 3))), 1.0)
    np.testing.assert_equal(model.__getstate__(), before)


def test_copies_have_their_own_names(tmp_path):
    model = dl.SparseDFOP(dim=5)
    model.learn_one({"a": 1.0}, 1.0)
    state = model.__getstate__()
    model.save(tmp_path / "model")
    model.learn_one({"b": 1.0}, 1.0)
    twin = dl.SparseDFOP()
    twin.__setstate__(state)
    for old in (twin, dl.load(tmp_path / "model")):
        assert old.feature_names_in_.tolist() == ["a"]
        old.learn_one({"b": 1.0}, 1.0)
        assert_same_state(old, model)
        assert old.feature_names_in_.tolist() == ["a", "b"]


def test_a_refused_row_adds_no_feature():
    model = dl.SparseDFOP(dim=5)
    model.learn_one(sp.csr_array([[1.0]]), 1.0)
    before = model.__getstate__()
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="feature 2"):
            model.learn_one(sp.csr_array([[1.0, 0.0, bad]]), 1.0)
        with pytest.raises(ValueError, match="row 1, feature 2"):
            model.run(sp.csr_array([[1.0, 0.0, 1.0], [1.0, 0.0, bad]]), [1.0, 1.0])
    np.testing.assert_equal(model.__getstate__(), before)


# Directions without excitation.


def test_the_weights_stay_in_the_span_of_the_rows_however_long_the_stream():
    """v is a combination of the columns of the features that occurred; wind-up would move it out of their span."""
    rng = np.random.default_rng(1)
    X = np.zeros((20_000, 60))
    X[:, :5] = rng.normal(size=(20_000, 5))
    y = X[:, :5] @ rng.normal(size=5) + 0.1 * rng.normal(size=20_000)
    model = dl.SparseDFOP(forget_rate=0.05, dim=40)
    model.run(X, y)
    v, M = model.compressed_coef_, columns_of(model, np.arange(5))
    outside = v - M @ np.linalg.lstsq(M, v, rcond=None)[0]
    assert np.linalg.norm(outside) < 1e-6 * np.linalg.norm(v)
    assert 0 < model.certificate().events["capped"] < 1000
    assert np.linalg.eigvalsh(model.covariance_)[[0, -1]].min() > 0


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_units_do_not_matter(unit):
    """Rows in another unit, with the prior in its inverse square, give the same predictions, even if growth is capped."""
    X, y = sparse_stream(3000, 3, 2)
    ours = dl.SparseDFOP(forget_rate=0.05, prior=1.0, dim=15, intercept=False)
    theirs = dl.SparseDFOP(forget_rate=0.05, prior=unit**-2, dim=15, intercept=False)
    np.testing.assert_allclose(theirs.run(X * unit, y).predictions, ours.run(X, y).predictions, rtol=1e-6, atol=1e-6)
    assert ours.certificate().events["capped"] == theirs.certificate().events["capped"] > 0


# Recovering.


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("seed", range(3))
def test_recover_finds_ten_weights_of_a_thousand_from_a_hundred_numbers(matrix, seed):
    rng = np.random.default_rng(seed)
    w = np.zeros(1000)
    w[rng.choice(1000, size=10, replace=False)] = rng.normal(size=10)
    model = met(1000, dim=100, seed=seed, matrix=matrix)
    holding(model, columns_of(model, np.arange(1000)) @ w)
    np.testing.assert_allclose(model.recover(), w, atol=1e-10)
    np.testing.assert_allclose(model.recover(3), largest(w, 3), atol=1e-10)


def test_recover_finds_the_support_on_the_papers_stream():
    X, y = dl.streams.StateSpace().take(2000)
    model = dl.SparseDFOP(forget_rate=2e-3, dim=100, sparsity=10)
    model.run(sp.csr_array(X), y)
    assert np.flatnonzero(model.recover()).tolist() == list(range(10))


@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), dim=st.integers(2, 12), features=st.integers(1, 90))
def test_basis_pursuit_on_some_columns_solves_the_program_on_all(seed, dim, features):
    """For any v in the range of M, sparse or not: M w = v, and no such w has a smaller norm."""
    model = met(features, dim=dim, seed=seed)
    M = columns_of(model, np.arange(features))
    v = M @ np.random.default_rng(seed).normal(size=features)
    w = basis_pursuit(model._core.columns, model._core.transpose, v, features)
    np.testing.assert_allclose(M @ w, v, atol=1e-6 * np.abs(v).max())
    shortest = linprog(np.ones(2 * features), A_eq=np.hstack([M, -M]), b_eq=v, method="highs").fun
    assert np.abs(w).sum() == pytest.approx(shortest, rel=1e-5)


def test_recover_is_zero_at_the_start_and_refuses_a_bad_sparsity():
    with pytest.raises(ValueError, match=r"SparseDFOP\.recover: the learner is not fitted"):
        dl.SparseDFOP().recover()
    model = met(20, dim=5)
    assert not model.recover().any()
    for bad in (0, -1, 1.5, "all"):
        with pytest.raises(ValueError, match=r"SparseDFOP\.recover: sparsity must be a whole number of at least 1"):
            model.recover(bad)


# Parameters and states.


def test_parameters_of_the_matrix_cannot_change_once_it_was_used():
    model = met(5, dim=10)
    for change in ({"dim": 11}, {"seed": 1}, {"matrix": "sparse"}):
        with pytest.raises(ValueError, match=f"{next(iter(change))} cannot change once the learner has learned"):
            model.set_params(**change)
    model.set_params(sparsity=3, forget_rate=0.1)
    assert np.count_nonzero(holding(model, np.ones(10)).recover()) == 3


def test_seeds_give_different_matrices_and_are_checked():
    X, y = drifting(0, d=5)
    runs = [dl.SparseDFOP(dim=2, seed=seed).run(X, y).predictions for seed in (0, 0, 1, 2**64 - 1)]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert len({run.tobytes() for run in runs}) == 3
    for bad in (-1, 2**64, 0.5, True):
        with pytest.raises(ValueError, match="seed must be a whole number"):
            dl.SparseDFOP(seed=bad)


@pytest.mark.parametrize("features", [-1.0, 0.5, 1e300, np.nan])
def test_a_state_with_impossible_features_is_refused(features):
    model = met(5, dim=10)
    state = model.__getstate__()
    state["core"]["features"][0] = features
    with pytest.raises(ValueError, match="features"):
        model.__setstate__(state)


def test_a_state_of_another_dim_is_refused():
    state = met(5, dim=10).__getstate__()
    state["params"]["dim"] = 11
    with pytest.raises(ValueError, match="another dim"):
        dl.SparseDFOP().__setstate__(state)
