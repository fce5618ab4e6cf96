"""Transformers on their own: values from plain formulas and from scikit-learn, states, and refused input."""

import copy
import pickle
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import driftline as dl
from driftline.features import TRANSFORMERS, Calendar, Hashing, Lags, Polynomial, RandomFourier, Standardize, Steps, UnitNorm
from tests.cases import for_each

RNG = np.random.default_rng(5)
X = RNG.normal(size=(60, 3)) * [1.0, 1e3, 1e-3] + [0.0, 50.0, 7.0]
Y = RNG.normal(size=60)
NAMES = ["a", "b", "c"]

EXAMPLES = {
    "calendar": lambda: Calendar(),
    "standardize": lambda: Standardize(),
    "fading": lambda: Standardize(forgetting=0.9),
    "unit_norm": lambda: UnitNorm(),
    "polynomial": lambda: Polynomial(3),
    "lags": lambda: Lags(y=2, x=3),
    "far_lags": lambda: Lags(y=[7], x=[0, 24]),
    "labels_alone": lambda: Lags(y=3, x=0),
    "rbf": lambda: RandomFourier(5, "rbf", 3, gamma=0.01),
    "laplace": lambda: RandomFourier(6, "laplace", seed=1, gamma=0.01),
    "steps": lambda: Standardize() | Lags(y=1, x=2) | Polynomial(2) | UnitNorm(),
}


@pytest.fixture(params=EXAMPLES)
def transformer(request):
    return EXAMPLES[request.param]()


def test_every_kind_has_an_example():
    assert {type(make()) for make in EXAMPLES.values()} == set(TRANSFORMERS) - {Hashing}  # Hashing has its own tests


# Numbers.


def test_standardize_uses_the_mean_and_deviation_of_the_rows_so_far():
    seen = Standardize().run(X)
    for t in range(1, len(X)):
        np.testing.assert_allclose(seen[t], (X[t] - X[: t + 1].mean(axis=0)) / X[: t + 1].std(axis=0), rtol=1e-9)
    assert not seen[0].any()
    assert (np.abs(seen) <= np.sqrt(np.arange(len(X)))[:, None] * (1 + 1e-12)).all()


def test_a_fitted_standardize_matches_scikit_learn():
    fresh = RNG.normal(size=(20, 3))
    ours, theirs = Standardize().fit(X), StandardScaler().fit(X)
    np.testing.assert_allclose(ours.transform(fresh), theirs.transform(fresh), rtol=1e-10)
    np.testing.assert_array_equal(ours.transform(fresh)[3], ours.transform_one(fresh[3]))


def test_moments_with_forgetting_are_the_weighted_ones():
    seen = Standardize(forgetting=0.8).run(X)
    for t in range(1, len(X)):
        weight = 0.8 ** np.arange(t, -1, -1)
        mean = np.average(X[: t + 1], axis=0, weights=weight)
        deviation = np.sqrt(np.average((X[: t + 1] - mean) ** 2, axis=0, weights=weight))
        np.testing.assert_allclose(seen[t], (X[t] - mean) / deviation, rtol=1e-9)


@pytest.mark.parametrize(("scale", "shift"), [(1e-8, 0.0), (1e8, 0.0), (1.0, 1e8), (1e-3, -1e6), (1e-200, 0), (1e200, 0)])
def test_standardize_is_invariant_to_units(scale, shift):
    plain = RNG.normal(size=(300, 1))
    moved = plain * scale + shift
    rounding = 1e-9 + 4e-16 * abs(shift) / scale
    np.testing.assert_allclose(Standardize().run(moved), Standardize().run(plain), rtol=0, atol=3 * np.sqrt(300) * rounding)


def test_standardize_survives_the_ends_of_the_range():
    far = np.finfo(float).max
    for column in ([far, -far, far, -far], [5e-324, 0.0, 5e-324, 0.0], [1e-310, 2e-310, -1e-310, 0.0], [far, 1.0, far, 0.0]):
        seen = Standardize().run(np.array(column)[:, None])
        assert (np.abs(seen[:, 0]) <= np.sqrt(np.arange(4)) * 1.01).all()
        assert np.isfinite(Standardize().fit(np.array(column)[:, None]).transform([[far], [-far], [0.0]])).all()
    np.testing.assert_allclose(Standardize().run([[far], [-far]]).ravel(), [0.0, -1.0])


def test_a_constant_feature_becomes_zero():
    constant = np.full((50, 2), 0.1)
    assert not Standardize().run(constant).any()
    assert not Standardize().fit(constant).transform(constant).any()


def test_unit_norm_divides_by_the_length():
    np.testing.assert_allclose(UnitNorm().transform(X), X / np.linalg.norm(X, axis=1)[:, None], rtol=1e-14)
    np.testing.assert_array_equal(UnitNorm().transform([[0.0, 0.0]]), [[0.0, 0.0]])
    far = np.finfo(float).max
    np.testing.assert_allclose(UnitNorm().transform([[far, far], [5e-324, 0.0]]), [[0.5**0.5] * 2, [1.0, 0.0]])


@pytest.mark.parametrize("degree", [1, 2, 3, 5])
@pytest.mark.parametrize("width", [1, 2, 4])
def test_polynomial_matches_scikit_learn(degree, width):
    rows = RNG.normal(size=(10, width))
    theirs = PolynomialFeatures(degree, include_bias=False).fit(rows)
    ours = Polynomial(degree).fit(rows)
    np.testing.assert_allclose(ours.transform(rows), theirs.transform(rows), rtol=1e-13)
    assert list(ours.get_feature_names_out()) == list(theirs.get_feature_names_out())
    assert list(ours.get_feature_names_out(NAMES[:1] * width)) == list(theirs.get_feature_names_out(NAMES[:1] * width))


def test_products_of_a_later_feature_follow_the_existing_ones():
    grown = Polynomial(3)
    grown.learn_one({"b": 2.0})
    grown.learn_one({"b": 2.0, "a": 3.0})
    row = grown.transform_one({"a": 3.0, "b": 2.0})
    assert list(row)[:3] == ["b", "b^2", "b^3"]
    whole = Polynomial(3).transform_one({"b": 2.0, "a": 3.0})
    assert row == {name: whole[name] for name in row}
    assert len(row) == len(whole) == 9


def test_lags_are_slices_of_the_past():
    line = np.vstack([np.zeros((3, 3)), X])
    wanted = [line[3 - lag : 63 - lag, j] for j in range(3) for lag in range(4)]
    np.testing.assert_array_equal(Lags(x=4).run(X), np.column_stack(wanted))
    labels = np.concatenate([np.zeros(5), Y])
    wanted = [labels[5 - lag : 65 - lag] for lag in (1, 5)] + [
        line[3 - lag : 63 - lag, j] for j in range(3) for lag in (3, 0)
    ]
    np.testing.assert_array_equal(Lags(y=[1, 5], x=[3, 0]).run(X, Y), np.column_stack(wanted))


@given(depth=st.integers(1, 200), rows=st.integers(1, 500), cut=st.integers(0, 500))
def test_a_delay_line_of_any_depth_keeps_its_order(depth, rows, cut):
    """Also if the line was moved back to the start of its buffer, or pickled halfway."""
    column = np.arange(1.0, rows + 1)[:, None]
    model = Lags(x=depth)
    cut = min(cut, rows)
    parts = [model.run(column[:cut])] if cut else []
    model = pickle.loads(pickle.dumps(model))
    parts += [model.run(column[cut:])] if cut < rows else []
    padded = np.concatenate([np.zeros(depth), column[:, 0]])
    wanted = np.column_stack([padded[depth - lag : depth - lag + rows] for lag in range(depth)])
    np.testing.assert_array_equal(np.concatenate(parts), wanted)


def kernel(name, gamma, A, B):
    gaps = A[:, None, :] - B[None, :, :]
    return np.exp(-gamma * ((gaps**2).sum(axis=2) if name == "rbf" else np.abs(gaps).sum(axis=2)))


@pytest.mark.parametrize("name", ["rbf", "laplace"])
@pytest.mark.parametrize("n", [7, 8])
def test_the_mean_of_the_products_over_seeds_is_the_kernel(name, n):
    """Each entry is within five standard errors; by chance, one such test in a thousand would fail."""
    rows = RNG.normal(size=(6, 3))
    products = []
    for seed in range(2000):
        z = RandomFourier(n, name, seed, gamma=0.3).transform(rows)
        products.append(z @ z.T)
    error = np.std(products, axis=0) / np.sqrt(len(products)) + 1e-12
    assert (np.abs(np.mean(products, axis=0) - kernel(name, 0.3, rows, rows)) < 5 * error).all()


def test_an_even_number_of_fourier_features_has_length_one():
    np.testing.assert_allclose(np.linalg.norm(RandomFourier(50, seed=4).transform(X), axis=1), 1.0, rtol=1e-12)


def kernel_ridge(within, between, y):
    return between @ np.linalg.solve(within + 0.1 * np.eye(len(y)), y)


@pytest.mark.parametrize("name", ["rbf", "laplace"])
def test_ridge_on_more_fourier_features_approaches_kernel_ridge(name):
    """It is exactly kernel ridge with the features' products as the kernel, whose error falls as 1 / sqrt(n)."""
    rows, fresh = RNG.uniform(-1, 1, size=(60, 2)), RNG.uniform(-1, 1, size=(40, 2))
    y = np.sin(3 * rows[:, 0]) * rows[:, 1]
    exact = kernel_ridge(kernel(name, 0.5, rows, rows), kernel(name, 0.5, fresh, rows), y)
    errors = {100: [], 6400: []}
    for n, found in errors.items():
        for seed in range(10):
            within, between = (RandomFourier(n, name, seed, gamma=0.5).transform(some) for some in (rows, fresh))
            near = kernel_ridge(within @ within.T, between @ within.T, y)
            found.append(np.mean((near - exact) ** 2))
            if n == 100 and seed == 0:
                model = RandomFourier(n, name, gamma=0.5) | dl.Ridge(ridge=0.1, intercept=False)
                np.testing.assert_allclose(model.fit(rows, y).predict(fresh), near, atol=1e-9)
    assert np.mean(errors[6400]) < np.mean(errors[100]) / 16
    assert np.mean(errors[6400]) < 0.01 * np.mean(exact**2)


def test_frequencies_of_a_feature_depend_only_on_the_seed_and_its_place():
    narrow, wide = (RandomFourier(9, seed=6).transform(X[:, :d]) for d in (2, 3))
    np.testing.assert_array_equal(RandomFourier(9, seed=6).transform(X * [1, 1, 0]), narrow)
    assert (narrow != wide).any()
    assert (RandomFourier(9, seed=7).transform(X) != wide).any()


# Every transformer.


def test_run_transforms_and_then_learns_row_by_row(transformer):
    whole = transformer.run(X, Y)
    pieces = transformer.clone()
    np.testing.assert_array_equal(np.vstack([pieces.run(x[None, :], [y]) for x, y in zip(X, Y, strict=True)]), whole)
    np.testing.assert_array_equal(pieces.transform(X), transformer.transform(X))
    looped = transformer.clone()
    for x, y in zip(X, Y, strict=True):
        looped.learn_one(x, y)
    np.testing.assert_array_equal(looped.transform(X), transformer.transform(X))


def test_mappings_give_the_same_result_as_arrays(transformer):
    by_name, by_place = transformer.clone(), transformer.clone()
    for x, y in zip(X, Y, strict=True):
        row = dict(zip(NAMES, x, strict=True))
        by_name.learn_one(row, y)
        by_place.learn_one(x, y)
        np.testing.assert_array_equal(list(by_name.transform_one(row).values()), by_place.transform_one(x))
    assert list(by_name.transform_one(row)) == list(by_name.get_feature_names_out())
    assert list(by_name.feature_names_in_) == NAMES
    assert by_name.transform_one({**row, "unknown": 1.0}) == by_name.transform_one(row)


@for_each("way", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_continue_identically_and_independently(transformer, way):
    transformer.run(X[:30], Y[:30])
    twin = way(transformer)
    ahead = twin.run(X[30:], Y[30:])
    np.testing.assert_array_equal(transformer.run(X[30:], Y[30:]), ahead)


BAD_ROWS = [[0.1, np.nan, 0.2], [0.1, np.inf, 0.2], [1.0], "abc", None, [[1.0, 2.0, 3.0]], ["a", 1.0, 2.0], [1j, 1, 1], []]


@for_each("bad", BAD_ROWS)
def test_bad_rows_are_refused_and_leave_no_trace(transformer, bad):
    transformer.run(X, Y)
    before = pickle.dumps(transformer)
    name = type(transformer).__name__
    for act in (
        lambda: transformer.learn_one(bad, 1.0),
        lambda: transformer.transform_one(bad),
        lambda: transformer.run([[0.1, 0.2, 0.3], bad], [1.0, 2.0]),
        lambda: transformer.transform([bad]),
        lambda: transformer.fit([[0.1, 0.2, 0.3], bad], [1.0, 2.0]),
    ):
        with pytest.raises((ValueError, TypeError), match=name):
            act()
    assert pickle.dumps(transformer) == before


def test_lags_of_labels_need_labels():
    for model in (Lags(y=2), Standardize() | Lags(y=2)):
        for act in (lambda: model.learn_one([1.0]), lambda: model.run(X), lambda: model.run(X, np.full(60, np.nan))):  # noqa: B023
            with pytest.raises(ValueError, match="y is"):
                act()
    Lags(x=3).learn_one([1.0])


@for_each(
    "make, words",
    [
        (lambda: Lags(y=-1), "y must be"),
        (lambda: Lags(x=1.5), "x must be"),
        (lambda: Lags(y=[0, 1]), "y must be"),
        (lambda: Lags(y=[1, 1]), "y must be"),
        (lambda: Lags(x=0), "leaves no features"),
        (lambda: Polynomial(0), "degree must be"),
        (lambda: RandomFourier(0), "n must be"),
        (lambda: RandomFourier(5, "cosine"), "kernel must be"),
        (lambda: RandomFourier(5, gamma=-1.0), "gamma must be"),
        (lambda: RandomFourier(5, seed=-1), "seed must be"),
        (lambda: Standardize(forgetting=0), "forgetting must be"),
        (lambda: Steps([]), "transformers must be"),
        (lambda: Steps([dl.RLS()]), "transformers must be"),
        (lambda: Polynomial(9).fit(np.ones((2, 50))), "more than 1000000"),
    ],
)
def test_parameters_are_checked(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_parameters_cannot_change_once_rows_were_seen():
    model = Standardize()
    model.set_params(forgetting=0.9).fit(X)
    with pytest.raises(ValueError, match="forgetting cannot change"):
        model.set_params(forgetting=0.5)
    assert model.forgetting == 0.9
    assert model.clone({"forgetting": 0.5}).forgetting == 0.5


def test_products_that_overflow_are_refused_by_row_and_feature():
    model = Polynomial(2)
    model.fit(X)
    with pytest.raises(ValueError, match="row 1 leaves the range"):
        model.transform([[1.0, 1.0, 1.0], [1e200, 1.0, 1.0]])


@pytest.mark.parametrize("lags", [range(1, 4), np.arange(1, 4), (1, 2, 3), [np.int64(1), 2, 3]], ids=str)
def test_lags_may_be_any_sequence(lags, tmp_path):
    wanted = Lags(y=[1, 2, 3], x=[1, 2, 3]).run(X, X[:, 0])
    np.testing.assert_array_equal(Lags(y=lags, x=lags).run(X, X[:, 0]), wanted)
    model = Lags(y=lags) | dl.RLS()
    model.run(X, X[:, 0])
    model.save(tmp_path / "model")
    twins = dl.load(tmp_path / "model"), copy.deepcopy(model), pickle.loads(pickle.dumps(model))
    assert [twin.predict_one(X[0]) for twin in twins] == [model.predict_one(X[0])] * 3
    assert "Lags" in repr(model)


def test_the_number_of_lags_may_be_a_numpy_integer():
    np.testing.assert_array_equal(Lags(y=np.int64(2)).run(X, X[:, 0]), Lags(y=2).run(X, X[:, 0]))


@pytest.mark.parametrize(
    "bad", ["12", b"12", np.ones((2, 2), dtype=int), np.array([1.5]), range(0), [1, 1], np.array(["1"])]
)
def test_an_invalid_sequence_of_lags_is_refused(bad):
    with pytest.raises(ValueError, match="Lags: y must be"):
        Lags(y=bad)


def test_a_second_thread_is_told_that_the_transformer_is_in_use():
    """The first thread learns a row with a slow __float__; the second one calls the transformer meanwhile."""
    model = Standardize().fit(X)
    told = []

    def others():
        for act in (
            lambda: model.learn_one(X[0]),
            lambda: model.transform_one(X[0]),
            lambda: model.run(X),
            lambda: model.partial_fit(X),
            lambda: model.fit(X),
            lambda: model.transform(X),
            lambda: copy.deepcopy(model),
        ):
            with pytest.raises(RuntimeError, match="Standardize: the model is in use by another thread"):
                act()
            told.append(act)

    class Slow:
        def __float__(self):
            thread = threading.Thread(target=others)
            thread.start()
            thread.join()
            return 1.0

    model.learn_one([Slow(), 2.0, 3.0])
    assert len(told) == 7
    wanted = Standardize().fit(X)
    wanted.learn_one([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(model.transform(X), wanted.transform(X))


def test_only_a_transformer_that_learns_must_be_fitted_before_transform():
    with pytest.raises(ValueError, match="not fitted"):
        Standardize().transform(X)
    assert Polynomial(2).transform(X).shape == (60, 9)


def test_scikit_learn_pipelines_accept_a_transformer():
    y = X @ [1.0, 1e-3, 1e3]
    ours = make_pipeline(Standardize(), dl.Ridge()).fit(X, y).predict(X)
    np.testing.assert_allclose(ours, make_pipeline(StandardScaler(), dl.Ridge()).fit(X, y).predict(X), rtol=1e-9)
