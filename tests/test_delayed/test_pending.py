"""Rows that wait for their labels by id."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.errors import ModelFileError
from driftline.storage import codec


def stream(rows=60):
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (rows, 2))
    return X, X @ [1.0, 2.0] + 0.1 * rng.standard_normal(rows)


@settings(max_examples=30)
@given(order=st.permutations(range(12)), saves=st.sets(st.integers(0, 11)), make=st.sampled_from([dl.RLS, dl.Auto]))
def test_labels_in_any_order_equal_tickets_told_in_that_order(order, saves, make):
    X, y = stream(40)
    pending, model = dl.Pending(make().fit(X[:20], y[:20])), make().fit(X[:20], y[:20])
    tickets = {}
    for number in range(12):
        tickets[number] = model.ask(X[20 + number])
        assert pending.predict_one(number, X[20 + number]) == tickets[number].prediction
        assert pending.predict_interval(number, X[20 + number], 0.8) == tickets[number].interval(0.8)
    for place, number in enumerate(order):
        if place in saves:
            pending = dl.from_bytes(pending.to_bytes())
        pending.learn_one(number, y[20 + number])
        model.tell(tickets[number], y[20 + number])
    assert not len(pending)
    assert pending.learner.to_bytes() == model.to_bytes()


def test_an_id_predicted_again_gives_the_same_prediction_and_with_another_row_an_error():
    X, y = stream()
    pending = dl.Pending(dl.RLS().fit(X, y))
    first = pending.predict_one("a", X[0])
    pending.predict_one("b", X[1])
    pending.learn_one("b", 5.0)
    assert pending.learner.predict_one(X[0]) != first
    assert pending.predict_one("a", X[0]) == first
    with pytest.raises(ValueError, match="'a' belongs to a different row"):
        pending.predict_one("a", X[1])
    assert len(pending) == 1


def test_absent_names_count_as_0_when_a_row_is_predicted_again():
    pending = dl.Pending(dl.RLS())
    pending.predict_one(1, {"a": 1.0})
    pending.predict_one(2, {"b": 1.0})
    pending.learn_one(2, 1.0)
    assert pending.predict_one(1, {"a": 1.0, "b": 0.0}) == 0.0
    pending.learn_one(1, 2.0)
    assert list(pending.learner.feature_names_in_) == ["b", "a"]


def test_unknown_and_already_labelled_ids_are_refused_and_nothing_is_learned():
    X, y = stream()
    pending = dl.Pending(dl.RLS())
    pending.predict_one("a", X[0])
    pending.learn_one("a", y[0])
    for verb in (pending.learn_one, pending.hold_one):
        with pytest.raises(ValueError, match="'a' already has its label"):
            verb("a", y[0])
        with pytest.raises(ValueError, match="no row with the id 'z' is waiting"):
            verb("z", y[0])
    with pytest.raises(ValueError, match="'a' already has its label"):
        pending.predict_one("a", X[0])
    assert pending.learner.n_seen_ == 1


def test_a_refused_label_leaves_the_row_waiting():
    X, y = stream()
    pending = dl.Pending(dl.RLS())
    pending.predict_one("a", X[0])
    with pytest.raises(ValueError, match=r"(?i)nan"):
        pending.learn_one("a", float("nan"))
    pending.learn_one("a", y[0])
    assert pending.learner.n_seen_ == 1


def test_the_oldest_waiting_rows_are_dropped_and_counted():
    X, y = stream()
    pending = dl.Pending(dl.RLS(), most=3)
    for number in range(5):
        pending.predict_one(number, X[number])
    assert (len(pending), pending.n_dropped_, list(pending)) == (3, 2, [2, 3, 4])
    with pytest.raises(ValueError, match="no row with the id 1 is waiting"):
        pending.learn_one(1, y[1])
    pending.learn_one(3, y[3])
    again = dl.from_bytes(pending.to_bytes())
    assert (len(again), again.n_dropped_, again.most) == (2, 2, 3)


def test_a_held_label_is_corrected_or_withdrawn_before_it_is_learned(tmp_path):
    X, y = stream()
    pending, plain = dl.Pending(dl.RLS()), dl.RLS()
    for number in range(4):
        pending.predict_one(number, X[number])
    pending.hold_one(1, 1e9)
    pending.hold_one(0, y[0])
    pending.hold_one(1, y[1])
    pending.hold_one(2, y[2])
    pending.withdraw_one(2)
    assert pending.learner.n_seen_ == 0
    pending.save(tmp_path / "pending.drift")
    pending = dl.load(tmp_path / "pending.drift")
    assert pending.learn_held() == 2
    for number in (0, 1):
        plain.learn_one(X[number], y[number])
    np.testing.assert_array_equal(pending.learner.coef_, plain.coef_)
    assert list(pending) == [3]
    with pytest.raises(ValueError, match="2 was withdrawn"):
        pending.learn_one(2, y[2])


@pytest.mark.parametrize("name", [(1, 2), None, 1.0, True, b"a"], ids=str)
def test_ids_that_cannot_be_saved_are_refused_by_predict_one(name):
    pending = dl.Pending(dl.RLS())
    with pytest.raises(TypeError, match="predict_one: an id must be a string or an integer, got"):
        pending.predict_one(name, [0.0])
    assert len(pending) == 0


def test_numpy_ids_become_python_ids():
    pending = dl.Pending(dl.RLS())
    pending.predict_one(np.int64(3), [0.0])
    pending.predict_one(np.str_("a"), [0.0])
    assert list(map(type, dl.from_bytes(pending.to_bytes()))) == [int, str]
    pending.learn_one(3, 1.0)
    pending.learn_one("a", 1.0)


@pytest.mark.parametrize(("learner", "level"), [(dl.RLS(), 1.5), (dl.Classifier(), 0.9)], ids=["level", "classifier"])
def test_a_refused_prediction_drops_no_waiting_row(learner, level):
    pending = dl.Pending(learner, most=1)
    pending.predict_one("old", [1.0])
    with pytest.raises(ValueError, match=r"level must be|class labels have no interval"):
        pending.predict_interval("a", [1.0], level=level)
    assert (list(pending), pending.n_dropped_) == (["old"], 0)


@pytest.mark.parametrize("label", [float("nan"), "abc", None, [1.0, 2.0]], ids=str)
def test_a_label_that_cannot_be_learned_is_not_held(label):
    pending = dl.Pending(dl.NLMS())
    pending.predict_one("a", [1.0])
    with pytest.raises((TypeError, ValueError), match=r"Pending\.hold_one: y"):
        pending.hold_one("a", label)
    assert pending.learn_held() == 0


@pytest.mark.parametrize(
    ("learner", "label"),
    [
        (dl.RLS(), np.float64(2.0)),
        (dl.RLS(), np.array(2.0)),
        (dl.RLS(), np.array([1.0, 2.0])),
        (dl.Classifier(), np.str_("b")),
    ],
    ids=["number", "array", "outputs", "class"],
)
def test_a_held_label_survives_serialization_and_is_learned(learner, label):
    pending, plain = dl.Pending(learner.clone()), learner.clone()
    pending.predict_one("a", [1.0, 2.0])
    pending.hold_one("a", label)
    again = dl.from_bytes(pending.to_bytes())
    assert again.learn_held() == 1
    plain.tell(plain.ask([1.0, 2.0]), label)
    assert again.learner.to_bytes() == plain.to_bytes()


def test_errors_say_that_an_id_was_withdrawn():
    pending = dl.Pending(dl.RLS())
    pending.predict_one("a", [1.0])
    pending.withdraw_one("a")
    for again in (pending, dl.from_bytes(pending.to_bytes())):
        for verb in (again.learn_one, again.hold_one, again.learn_one):
            with pytest.raises(ValueError, match="'a' was withdrawn"):
                verb("a", 1.0)


@pytest.mark.parametrize("row", [{"a": np.nan, "b": 1.0}, [np.nan, 1.0]], ids=["mapping", "array"])
def test_a_row_with_a_missing_value_may_be_predicted_again(row):
    pending = dl.Pending(dl.RLS(missing="skip"))
    pending.predict_one("a", row)
    pending.predict_one("a", row)
    pending.learn_one("a", 1.0)
    assert (len(pending), pending.learner.n_skipped_) == (0, 1)


def test_rows_with_and_without_names_are_different_rows():
    pending = dl.Pending(dl.RLS())
    pending.predict_one("a", {"x": 1.0})
    with pytest.raises(ValueError, match="'a' belongs to a waiting row whose features have names, but now they have none"):
        pending.predict_one("a", [1.0])


def test_a_label_is_refused_if_parameters_changed_since_the_prediction():
    X, y = stream()
    pending = dl.Pending(dl.RLS().fit(X, y))
    pending.predict_one("a", X[0])
    pending.learner.set_params(forgetting=0.5)
    with pytest.raises(ValueError, match="parameters have changed since the row of the id 'a' was predicted"):
        pending.learn_one("a", 1.0)
    pending.learner.set_params(forgetting=dl.RLS().forgetting)
    pending.learn_one("a", 1.0)


def test_as_many_labelled_ids_are_remembered_as_rows_may_wait():
    pending = dl.Pending(dl.RLS(), most=2)
    for number in range(3):
        pending.predict_one(number, [1.0])
        pending.learn_one(number, 1.0)
    pending.predict_one(0, [1.0])
    with pytest.raises(ValueError, match="1 already has its label"):
        pending.predict_one(1, [1.0])


@pytest.mark.parametrize("damage", [lambda n: n[:-1], lambda n: np.append(n, 1.0)], ids=["too few", "too many"])
def test_packed_tickets_need_the_exact_count_of_numbers(damage):
    model = dl.RLS()
    arrays = codec.pack([model.ask([1.0, 2.0]), model.ask([3.0, 4.0])])
    assert [ticket.x.tolist() for ticket in codec.unpack(arrays)] == [[1.0, 2.0], [3.0, 4.0]]
    with pytest.raises(ModelFileError, match="a list does not agree with its numbers"):
        codec.unpack({**arrays, "value<f8": damage(arrays["value<f8"])})


def test_bad_arguments_are_refused():
    with pytest.raises(TypeError, match="learner must be a learner"):
        dl.Pending("rls")
    with pytest.raises(ValueError, match="most must be"):
        dl.Pending(dl.RLS(), most=0)


def test_the_same_row_is_recognised_in_float32_after_the_model_has_grown():
    pending = dl.Pending(dl.RLS(dtype="float32"))
    before = pending.predict_one("b", {"u": 0.3, "v": 0.2})
    pending.predict_one("q", {"u": 0.1})
    pending.learn_one("q", 1.0)
    assert pending.predict_one("b", {"u": 0.3, "v": 0.2}) == before
    with pytest.raises(ValueError, match="belongs to a different row"):
        pending.predict_one("b", {"u": 0.3, "v": 0.25})
