"""scipy.sparse rows: the same results as from dense ones, whether the learner reads them as they are or makes them dense."""

from __future__ import annotations

import copy
from itertools import cycle
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from tests.cases import for_each
from tests.conftest import OwnLoss
from tests.streams import FIRST_ORDER, SECOND_ORDER, Array, assert_same_state

MAKERS = {
    **FIRST_ORDER,
    "GD, its own loss": lambda **kw: dl.GD(rate=0.05, loss=OwnLoss(), **kw),
    "EG, its own loss": lambda **kw: dl.EG(rate=0.05, norm=3.0, loss=OwnLoss(), **kw),
}


def sparse_stream(seed: int, rows: int = 120, d: int = 30, density: float = 0.15) -> tuple[sp.csr_array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, d)) * (rng.random((rows, d)) < density)
    X[rows // 3] = 0.0
    return sp.csr_array(X), X @ rng.normal(size=d) + 0.1 * rng.normal(size=rows)


def close(ours: Any, theirs: Any, tolerance: float = 1e-12) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.fixture(params=MAKERS)
def make(request):
    return MAKERS[request.param]


@for_each("intercept", [True, False])
def test_sparse_and_dense_rows_give_the_same_to_twelve_digits(make, intercept):
    X, y = sparse_stream(0)
    weight = np.random.default_rng(1).uniform(0, 1.5, size=len(y))
    weight[::9] = 0.0
    sparse, dense = make(intercept=intercept), make(intercept=intercept)
    ours = sparse.run(X, y, sample_weight=weight, weights_every=7)
    theirs = dense.run(X.toarray(), y, sample_weight=weight, weights_every=7)
    close(ours.predictions, theirs.predictions)
    close(ours.weights, theirs.weights)
    close(sparse.coef_, dense.coef_)
    close(sparse.intercept_, dense.intercept_)
    close(sparse._core.sums(), dense._core.sums())
    close(sparse.certificate().loss, dense.certificate().loss)
    close(sparse.predict(X), dense.predict(X.toarray()))
    close(sparse.predict(X.toarray()), dense.predict(X))
    assert sparse.score(X, y) == pytest.approx(dense.score(X.toarray(), y), rel=1e-12)


def test_float32_follows_dense_float32(make):
    X, y = sparse_stream(2)
    close(make(dtype="float32").run(X, y).predictions, make(dtype="float32").run(X.toarray(), y).predictions, 1e-5)


def test_one_row_at_a_time_equals_the_run_to_the_last_bit(make):
    X, y = sparse_stream(3)
    at_once, one_by_one, in_pieces = make(), make(), make()
    predictions = at_once.run(X, y).predictions
    for t in range(len(y)):
        assert one_by_one.predict_one(X[t : t + 1]) == predictions[t]
        one_by_one.learn_one(X[t : t + 1], y[t])
    in_pieces.partial_fit(X[:50], y[:50])
    in_pieces = copy.deepcopy(in_pieces)  # through the exported state
    in_pieces.partial_fit(X[50:], y[50:])
    assert_same_state(one_by_one, at_once)
    assert_same_state(in_pieces, at_once)


def test_reading_the_weights_changes_nothing(make):
    X, y = sparse_stream(4)
    looked, plain = make(), make()
    for t in range(40):
        looked.learn_one(X[t : t + 1], y[t])
        plain.learn_one(X[t : t + 1], y[t])
        assert np.isfinite(looked.coef_).all()
        looked.certificate()
    assert_same_state(looked, plain)


@settings(max_examples=20)
@given(seed=st.integers(0, 10_000), pattern=st.lists(st.booleans(), min_size=4, max_size=12))
def test_sparse_and_dense_rows_can_follow_one_another(seed, pattern):
    X, y = sparse_stream(seed, rows=8 * len(pattern), d=10, density=0.3)
    for make in MAKERS.values():
        mixed, dense = make(), make()
        for part, is_sparse in enumerate(pattern):
            rows = slice(8 * part, 8 * part + 8)
            ours = mixed.run(X[rows] if is_sparse else X[rows].toarray(), y[rows])
            close(ours.predictions, dense.run(X[rows].toarray(), y[rows]).predictions, 1e-11)


def test_snapshots_do_not_depend_on_blocks(in_blocks_of):
    X, y = sparse_stream(5)
    for make in (dl.NLMS, lambda: dl.SparseDFOP(dim=5)):
        wanted = make().run(X, y, weights_every=7).weights
        for block in (1, 5, 7, 64):
            in_blocks_of(block)
            np.testing.assert_array_equal(make().run(X, y, weights_every=7).weights, wanted)


def test_intervals_equal_those_of_dense_rows(make):
    X, y = sparse_stream(13)
    sparse, dense = make(), make()
    ours, theirs = sparse.run(X, y, level=0.8), dense.run(X.toarray(), y, level=0.8)
    close(ours.lower, theirs.lower, 1e-9)
    close(ours.upper, theirs.upper, 1e-9)
    close(sparse.predict_interval(X[:1], 0.9), dense.predict_interval(X[:1].toarray()[0], 0.9), 1e-9)


def test_every_scipy_format_gives_the_same_rows():
    X, y = sparse_stream(5)
    wanted = dl.NLMS().run(X, y).predictions
    wide = X.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    unsorted = sp.csr_array((X.data[::-1], X.indices[::-1], np.append(0, np.cumsum(np.diff(X.indptr)[::-1]))), shape=X.shape)
    forms = [X.tocsc(), X.tocoo(), X.tolil(), X.todok(), X.tobsr(), sp.csr_matrix(X), wide, unsorted[::-1]]
    for form in forms:
        np.testing.assert_array_equal(dl.NLMS().run(form, y).predictions, wanted)
    doubled = sp.csr_array((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)
    np.testing.assert_array_equal(dl.NLMS().run(doubled, y).predictions, wanted)
    assert doubled.nnz == 2 * X.nnz  # the user's matrix is unchanged
    whole = sp.csr_array(np.sign(X.toarray()).astype(np.int8))
    close(dl.NLMS().run(whole, y).predictions, dl.NLMS().run(whole.toarray(), y).predictions)


def test_a_one_dimensional_sparse_row_is_a_row():
    model, other = dl.NLMS(), dl.NLMS()
    model.learn_one(sp.coo_array(np.array([0.0, 2.0, 0.0])), 1.0)
    other.learn_one(sp.csr_array([[0.0, 2.0, 0.0]]), 1.0)
    assert_same_state(model, other)


@for_each("bad", [np.nan, np.inf, -np.inf, None])
def test_bad_values_are_refused_with_their_place_or_skipped(make, bad):
    X, y = sparse_stream(6)
    row = int(np.flatnonzero(np.diff(X.indptr))[5])
    entry = X.indptr[row]
    column, dense = X.indices[entry], X.toarray()
    X.data[entry] = dense[row, column] = np.nan if bad is None else bad
    labels = y.copy()
    labels[77] = np.nan
    strict, lenient, whole = make(), make(missing="skip"), make(missing="skip")
    strict.run(X[:3], y[:3])
    before = strict.__getstate__()
    with pytest.raises(ValueError, match=rf"X has \S+ in row {row}, feature {column}"):
        strict.run(X, y)
    with pytest.raises(ValueError, match="y is NaN in row 7"):
        strict.run(X[70:], labels[70:])
    np.testing.assert_equal(strict.__getstate__(), before)
    run, wanted = lenient.run(X, labels), whole.run(dense, labels)
    close(run.predictions, wanted.predictions)
    assert np.isnan(run.predictions[row])
    assert run.skipped == wanted.skipped == lenient.n_skipped_ == 2
    assert np.isnan(lenient.predict_one(X[row : row + 1]))
    lenient.learn_one(X[row : row + 1], 1.0)
    assert lenient.n_skipped_ == 3


def test_the_prediction_before_learning_comes_from_the_start_weights(make):
    X, _ = sparse_stream(7)
    assert make().predict_one(X[:1]) == pytest.approx(make().predict_one(X[:1].toarray()[0]), abs=1e-15)
    with pytest.raises(ValueError, match="not fitted"):
        make().predict(X)


@for_each("width", [29, 31])
def test_another_width_is_refused(make, width):
    model = make()
    model.run(*sparse_stream(8))
    row = sp.csr_array((1, width))
    for act in (lambda: model.run(row, [1.0]), lambda: model.predict(row)):
        with pytest.raises(ValueError, match=f"X has {width} features"):
            act()
    for act in (lambda: model.learn_one(row, 1.0), lambda: model.predict_one(row)):
        with pytest.raises(ValueError, match=f"x has {width} features, expected 30"):
            act()


def test_two_rows_are_refused_where_one_is_expected():
    with pytest.raises(ValueError, match=r"NLMS\.learn_one: x must be one row, got the shape \(2, 3\)"):
        dl.NLMS().learn_one(sp.csr_array((2, 3)), 1.0)


DENSE = {
    **SECOND_ORDER,
    "Auto": dl.Auto,
    "Kernel": lambda: dl.Kernel(dl.RLS()),
    "Network": lambda: dl.Network([dl.RLS(), dl.NLMS()]),
    "Averaged": lambda: dl.Averaged(dl.NLMS()),
    "filled": lambda: dl.RLS(missing="mean"),
    "pipeline": lambda: dl.features.Standardize() | dl.features.Lags(y=2) | dl.RLS(),
}
FORMATS = (sp.csr_array, sp.csr_matrix, sp.csc_matrix, sp.coo_array, sp.dok_array, sp.lil_matrix)


@pytest.mark.parametrize(("name", "form"), list(zip(DENSE, cycle(FORMATS), strict=False)))
def test_learners_of_dense_rows_make_sparse_ones_dense(name, form, in_blocks_of):
    """Every verb gives the same bits. Rows are made dense before a learner sees them, whatever their format."""
    in_blocks_of(16)
    make, (X, y) = DENSE[name], sparse_stream(9, rows=60, d=4)
    rows, dense, sparse, plain = form(X), X.toarray(), make(), make()
    ours, theirs = sparse.run(rows, y, level=0.8), plain.run(dense, y, level=0.8)
    assert np.array_equal(ours.predictions, theirs.predictions)
    assert np.array_equal(ours.upper, theirs.upper)
    one = form(X[7:8])
    assert sparse.predict_one(one) == plain.predict_one(dense[7])
    assert sparse.predict_interval(one) == plain.predict_interval(dense[7])
    sparse.learn_one(one, 1.0)
    plain.learn_one(dense[7], 1.0)
    sparse.tell(sparse.ask(one), 2.0)
    plain.tell(plain.ask(dense[7]), 2.0)
    sparse.partial_fit(rows, y)
    plain.partial_fit(dense, y)
    assert np.array_equal(sparse.predict(rows), plain.predict(dense))
    assert np.array_equal(sparse.predict_intervals(rows), plain.predict_intervals(dense))
    assert sparse.fit(rows, y).score(rows, y) == plain.fit(dense, y).score(dense, y)


def test_fleets_and_classifiers_make_sparse_rows_dense(in_blocks_of):
    in_blocks_of(16)
    X, y = sparse_stream(9, rows=60, d=4)
    dense, keys = X.toarray(), np.arange(60) % 3
    for learner in (dl.RLS(), dl.Auto()):
        sparse, plain = dl.Fleet(learner), dl.Fleet(learner)
        assert np.array_equal(sparse.run(keys, X, y).predictions, plain.run(keys, dense, y).predictions)
        sparse.learn_one(1, X[:1], 1.0)
        plain.learn_one(1, dense[0], 1.0)
        assert sparse.predict_one(1, X[:1]) == plain.predict_one(1, dense[0])
        bad = sp.csr_array(np.where(np.arange(60)[:, None] == 31, np.nan, dense))
        with pytest.raises(ValueError, match=r"Fleet\.run: X has NaN in row 31, feature 0"):
            sparse.run(keys, bad, y)
    sparse, plain = (dl.Classifier(dl.RLS()).fit(rows, y > 0) for rows in (X, dense))
    assert np.array_equal(sparse.predict_proba(X), plain.predict_proba(dense))


def test_the_output_of_scikit_learns_one_hot_encoder_is_taken():
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    rng = np.random.default_rng(3)
    X, y = rng.choice(["a", "b", "c"], size=(90, 2)), rng.normal(size=90)
    for learner in (dl.RLS(), dl.Ridge(), dl.Auto()):
        sparse, dense = (
            make_pipeline(OneHotEncoder(sparse_output=each), learner.clone()).fit(X, y) for each in (True, False)
        )
        assert np.array_equal(sparse.predict(X), dense.predict(X))


def test_a_matrix_too_wide_to_be_made_dense_is_refused_with_the_remedies(monkeypatch):
    monkeypatch.setattr("driftline.tables.inputs.WIDEST_DENSE", 3)
    X, y = sparse_stream(9, d=4)
    for act in (dl.RLS().run, dl.Auto().fit, (dl.features.Standardize() | dl.NLMS()).partial_fit):
        with pytest.raises(ValueError, match=r"X is a sparse matrix with 4 columns, and at most 3 are made dense; use LMS,"):
            act(X, y)
    with pytest.raises(ValueError, match=r"RLS\.learn_one: x is a sparse matrix with 4 columns.*give x\.toarray\(\)"):
        dl.RLS().learn_one(X[:1], 1.0)
    dl.NLMS().run(X, y)


@pytest.mark.parametrize(
    ("columns", "starts"),
    [([0, 99], [0, 2]), ([0, -1], [0, 2]), ([1, 0], [0, 2]), ([1, 1], [0, 2]), ([0, 1], [0, 3]), ([0, 1], [-1, 2])],
)
def test_broken_matrices_are_refused(columns, starts):
    """Users may write into a matrix's arrays; memory outside them must never be read."""
    X = sp.csr_array((np.ones(2), np.array([0, 1]), np.array([0, 2])), shape=(1, 3))
    assert X.has_canonical_format
    X.indices[:], X.indptr[:] = columns, starts
    in_order = columns not in ([1, 0], [1, 1])  # any order has a meaning where rows are made dense
    for model in (dl.NLMS(), dl.SparseDFOP(), *[dl.RLS()] * in_order):
        with pytest.raises(ValueError, match=r"\.run: X is not a valid sparse matrix"):
            model.run(X, [1.0])
        assert model.n_seen_ == 0


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_diverging_rates_are_refused_and_nothing_changes(dtype):
    X, y = sparse_stream(10)
    model, dense = dl.LMS(rate=1e6, dtype=dtype), dl.LMS(rate=1e6, dtype=dtype)
    X, y = sp.vstack([X] * 20).tocsr(), np.tile(y, 20)
    for act, rows in ((model.run, X), (dense.run, X.toarray())):
        with pytest.raises(dl.DivergenceError, match=r"rate=1000000\.0 is too large: a rate below"):
            act(rows, y)
    assert model.n_seen_ == 0


@pytest.mark.parametrize("scale", [1e150, 1e-150])
def test_rows_near_the_ends_of_the_range_are_learned_like_dense_ones(scale):
    X, y = sparse_stream(11)
    for make in (lambda: dl.NLMS(eps=0.0), lambda: dl.LMS(rate=1.0, implicit=True), lambda: dl.EG(norm=2.0)):
        close(make().run(X * scale, y).predictions, make().run(X.toarray() * scale, y).predictions, 1e-10)


def test_vanishing_weights_keep_their_digits():
    """EG± moves its whole weight from one feature to the next, far beyond the precision of a running sum."""
    d, rate, norm = 6, 0.375, 4.0
    X = np.zeros((540, d))
    X[np.arange(540), np.arange(540) // 15 % d] = np.where(np.arange(540) % 15 < 12, 8.0, -8.0)
    y = np.full(540, 40.0)  # out of reach, so that every slope is -1
    model = dl.EG(rate=rate, norm=norm, loss="absolute", intercept=False)
    run = model.run(sp.csr_array(X), y)
    with mpmath.workdps(60):
        logs = [mpmath.mpf(0)] * (2 * d)
        for t, x in enumerate(X.tolist()):
            shares = [mpmath.exp(log) for log in logs]
            w = [norm * (shares[i] - shares[d + i]) / sum(shares) for i in range(d)]
            assert run.predictions[t] == pytest.approx(float(mpmath.fdot(w, x)), rel=1e-12, abs=1e-12)
            logs = [log + rate * norm * value for log, value in zip(logs, [*x, *(-value for value in x)], strict=True)]
    assert max(logs) > 500


def test_an_exported_state_with_impossible_shares_is_refused():
    model = dl.EG()
    model.run(*sparse_stream(12))
    state = model.__getstate__()
    assert "shares" in state["core"]
    for bad in ([0.0, 0.0, 0.0], [-1.0, 0.0, 1.0], [2.0, 0.0, 1.0]):
        state["core"]["shares"][:] = bad
        with pytest.raises(ValueError, match="shares are out of range"):
            model.__setstate__(state)


@pytest.mark.parametrize("learner", [dl.RLS(), dl.Auto(), dl.NLMS()])
def test_sparse_labels_and_weights_are_refused_with_the_remedy(learner):
    X, y = np.arange(6.0)[:, None], sp.csr_array(np.arange(6.0)[:, None] % 2)
    with pytest.raises(ValueError, match=r"run: y is a sparse matrix; give y\.toarray\(\)\.ravel\(\)"):
        learner.clone().run(X, y)
    with pytest.raises(ValueError, match=r"run: sample_weight is a sparse matrix; give sample_weight\.toarray"):
        learner.clone().run(X, y.toarray().ravel(), sample_weight=y)
