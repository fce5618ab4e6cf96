"""Hashing: the same places and signs as scikit-learn, every form of rows, and learners on hashed features."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction import FeatureHasher

import driftline as dl
from driftline.checks.tools import require_same_state, same
from driftline.features import Hashing, Lags, Standardize
from tests.streams import looped

VALUES = st.one_of(st.floats(-10, 10), st.integers(-5, 5), st.text(max_size=5))
MAPPINGS = st.lists(st.dictionaries(st.text(max_size=9), VALUES, max_size=6), min_size=1, max_size=5)


@given(rows=MAPPINGS, n=st.integers(1, 40))
def test_places_and_signs_match_scikit_learn(rows, n):
    theirs = FeatureHasher(n, input_type="dict").transform(rows).toarray()
    np.testing.assert_allclose(Hashing(n).transform(rows).toarray(), theirs, atol=1e-12)
    for row, wanted in zip(rows, theirs, strict=True):
        dense = np.zeros(n)
        for place, value in Hashing(n).transform_one(row).items():
            dense[place] = value
        np.testing.assert_allclose(dense, wanted, atol=1e-12)


def test_a_name_has_the_same_place_in_every_process():
    code = "from driftline.features import Hashing; print(Hashing(997).transform_one({'größe': 2.0, ('a', 1): 3.0}))"
    said = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1
    assert eval(said.pop()) == Hashing(997).transform_one({"größe": 2.0, ("a", 1): 3.0})


def test_hashing_preserves_inner_products_on_average():
    """Averaged over draws of different names, the product is within five standard errors."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 30))
    products = []
    for draw in range(2000):
        rows = [{f"{draw}, {j}": value for j, value in enumerate(values)} for values in (a, b)]
        z = Hashing(16).transform(rows).toarray()
        products.append(z[0] @ z[1])
    assert abs(np.mean(products) - a @ b) < 5 * np.std(products) / np.sqrt(len(products))


def test_every_form_of_the_same_rows_gives_the_same_features():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20, 5)) * (rng.random(size=(20, 5)) < 0.6)
    wanted = Hashing(7).transform(X).toarray()
    numbered = [{str(j): value for j, value in enumerate(row)} for row in X]
    for form in (X.tolist(), sp.csr_array(X), sp.csc_matrix(X), numbered, pd.DataFrame(X, columns=list("01234"))):
        np.testing.assert_allclose(Hashing(7).transform(form).toarray(), wanted, atol=1e-12)
    np.testing.assert_allclose([Hashing(7).transform_one(row) for row in X], wanted, atol=1e-12)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA], ids=str)
@pytest.mark.parametrize("dtype", [object, "string", "category"])
def test_a_missing_cell_in_a_column_of_text_is_missing(missing, dtype):
    frame = pd.DataFrame({"c": pd.Series(["red", missing, "blue"], dtype=dtype), "d": [1.0, 2.0, 3.0]})
    y = [1.0, 2.0, 3.0]
    model, wanted = (Hashing(8) | dl.RLS(missing="skip") for _ in range(2))
    run = model.run(frame, y)
    assert run.skipped == 1
    assert np.isnan(run.predictions).tolist() == [False, True, False]
    for row, label in zip([{"c": "red", "d": 1.0}, {"c": missing, "d": 2.0}, {"c": "blue", "d": 3.0}], y, strict=True):
        wanted.learn_one(row, label)
    assert same(model.__getstate__()["core"], wanted.__getstate__()["core"])
    with pytest.raises(ValueError, match=r"Pipeline\.run: X has NaN in row 1"):
        (Hashing(8) | dl.RLS()).run(frame, y)
    with pytest.raises(ValueError, match="X has NaN in row 1"):
        Hashing(8).transform(frame)


def test_a_column_of_text_and_numbers_is_hashed_like_mappings():
    frame = pd.DataFrame({"c": ["red", 2.5, "blue"], "d": [1.0, 2.0, 3.0]})
    rows = frame.to_dict("records")
    np.testing.assert_array_equal(Hashing(9).transform(frame).toarray(), Hashing(9).transform(rows).toarray())


def test_a_sum_that_overflows_is_refused():
    row = {
        name: 1e308 if Hashing(1).places([name])[1][0] > 0 else -1e308 for name in "abc"
    }  # all of the same sign after hashing
    for call in (
        lambda: Hashing(1).transform_one(row),
        lambda: Hashing(1).transform([{"a": 1.0}, row]),
        lambda: (Hashing(1) | dl.RLS()).learn_one(row, 1.0),
        lambda: (Hashing(1) | dl.RLS()).run([{"a": 1.0}, row], [1.0, 1.0]),
    ):
        with pytest.raises(ValueError, match="infinity"):
            call()


def test_text_in_frames_is_hashed_like_text_in_mappings():
    frame = pd.DataFrame({"colour": ["red", "blue", "red"], "size": [1.0, 2.0, 3.0]})
    rows = frame.to_dict("records")
    np.testing.assert_array_equal(Hashing(9).transform(frame).toarray(), Hashing(9).transform(rows).toarray())
    model = Hashing(9) | dl.RLS()
    model.run(frame, [1.0, 2.0, 3.0])
    looped = Hashing(9) | dl.RLS()
    for row, label in zip(rows, [1.0, 2.0, 3.0], strict=True):
        looped.learn_one(row, label)
    require_same_state(model, looped, "state")


@pytest.fixture
def visits():
    """Rows whose feature names come and go, with a target that depends on some of them."""
    rng = np.random.default_rng(4)
    rows, labels = [], []
    for _ in range(300):
        colour = str(rng.choice(["red", "green", "blue"]))
        rows.append({"colour": colour, "size": float(rng.normal()), f"session {rng.integers(1000)}": 0.01})
        labels.append({"red": 1.0, "green": -1.0, "blue": 0.0}[colour] + 0.5 * rows[-1]["size"])
    return rows, np.array(labels)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Hashing(64) | dl.RLS(),
        lambda: Hashing(64) | Standardize() | Lags(y=2) | dl.RLS(),
        lambda: Hashing(64) | dl.NLMS(),
    ],
    ids=["rls", "longer", "nlms"],
)
def test_a_learner_on_hashed_features_takes_any_names_in_fixed_memory(make, visits, tmp_path):
    rows, y = visits
    model, loop = make(), make()
    run = model.run(rows, y)
    np.testing.assert_array_equal(run.predictions, looped(loop, rows, y))
    require_same_state(loop, model, "state")
    assert np.mean(run.losses[100:]) < 0.5 * np.var(y)
    assert model.n_features_in_ == 64
    model.save(tmp_path / "model")
    for twin in (dl.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert twin.predict_one(rows[0]) == model.predict_one(rows[0])
        np.testing.assert_array_equal(twin.predict(rows), model.predict(rows))


def test_first_order_learners_take_sparse_hashed_rows(visits):
    rows, y = visits
    sparse = Hashing(2**20).transform(rows)
    assert sparse.nnz <= 3 * len(rows)
    run = dl.NLMS().run(sparse, y)
    small = Hashing(2**12).transform(rows)
    by_hand = dl.NLMS().run(small.toarray(), y)
    np.testing.assert_allclose(dl.NLMS().run(small, y).predictions, by_hand.predictions, atol=1e-12)
    assert np.mean(run.losses[100:]) < np.var(y)


@pytest.mark.parametrize(
    "bad", [{"a": np.nan}, {"a": np.inf}, {"a": None}, {"a": object()}, {"a": [1.0]}, {"a": 1j}, 3.0, None, "text"]
)
def test_bad_rows_are_refused_and_leave_no_trace(bad):
    model = Hashing(8) | Lags(y=1) | dl.RLS()
    model.learn_one({"a": 1.0}, 2.0)
    before = pickle.dumps(model)
    for act in (model.predict_one, lambda x: model.learn_one(x, 1.0), lambda x: model.run([{"a": 1.0}, x], [1.0, 2.0])):
        with pytest.raises((ValueError, TypeError), match="Pipeline"):
            act(bad)
    with pytest.raises((ValueError, TypeError), match="Hashing"):
        Hashing(8).transform_one(bad)
    assert pickle.dumps(model) == before


def test_rows_with_missing_values_are_skipped():
    model = Hashing(8) | dl.RLS(missing="skip")
    run = model.run([{"a": 1.0}, {"a": np.nan}, {"b": "x"}], [1.0, 2.0, 3.0])
    assert run.skipped == 1
    assert np.isnan(run.predictions[1])


def test_hashing_must_be_the_first_transformer():
    with pytest.raises(ValueError, match="Hashing must be the first transformer"):
        Standardize() | Hashing(8) | dl.RLS()
    with pytest.raises(ValueError, match="Hashing"):
        (Hashing(8) | Standardize()).run(np.ones((3, 2)))
    with pytest.raises(ValueError, match="a member of an ensemble"):
        dl.Network([Hashing(8) | dl.RLS()])
    for n in (0, 1.5, 2**31, "many"):
        with pytest.raises(ValueError, match="n must be"):
            Hashing(n)


@pytest.mark.parametrize("row", [[0.5, -1.0, 2.0], {"size": 3.0, "colour": "red"}], ids=["array", "text"])
def test_a_ticket_is_the_prediction_and_is_learned_like_the_row(row):
    """Also if it is the first one after a run or a load, and if it is stored as bytes."""
    model, plain = (Hashing(8) | dl.RLS() for _ in range(2))
    for t in range(20):
        for each in (model, plain):
            each.learn_one({"size": t % 3, "colour": "blue"} if isinstance(row, dict) else [t % 3, 1.0, t % 5], t % 2)
    model = dl.from_bytes(model.to_bytes())
    for _ in range(2):
        ticket = dl.Ticket.from_bytes(model.ask(row, delay=0).to_bytes())
        assert ticket.prediction == model.predict_one(row)
        model.tell(ticket, 1.0)
        plain.learn_one(row, 1.0)
        require_same_state(model, plain, "the state")


def test_a_text_and_a_feature_of_its_name_are_both_asked():
    model = Hashing(8) | dl.RLS()
    row = {"colour=red": 2.0, "colour": "red"}
    model.learn_one(row, 1.0)
    assert model.ask(row).prediction == model.ask(row).prediction == model.predict_one(row) != 0
    pending = dl.Pending(model)
    first = pending.predict_one("a", row)
    assert dl.from_bytes(pending.to_bytes()).predict_one("a", row) == first


def test_hashed_rows_can_be_forecast():
    """Rows that wait for their labels are hashed once, by the names of their columns."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)), rng.normal(size=50)
    frame = pd.DataFrame(X, columns=list("abc"))
    for rows in (X, frame, frame.assign(tree=np.where(X[:, 0] > 0, "oak", "ash"))):
        run = dl.Forecaster(Hashing(8) | dl.RLS(), 3).run(rows, y)
        np.testing.assert_array_equal(run.predictions[:, 0], (Hashing(8) | dl.RLS()).run(rows, y).predictions)
        model, tickets, asked = Hashing(8) | dl.RLS(), [], []
        for x, label in zip(rows if rows is X else rows.to_dict("records"), y, strict=True):
            tickets.append((model.ask(x, delay=2), label))
            asked.append(tickets[-1][0].prediction)
            if len(tickets) > 2:
                model.tell(*tickets.pop(0))
        np.testing.assert_array_equal(run.predictions[2:, 2], asked[2:])
