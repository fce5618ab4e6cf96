"""Categories that a model has not learned, and rows that bring new features."""

import copy
import json

import numpy as np
import pandas as pd
import pytest

import driftline as dl
from driftline.checks.tools import require_same, require_same_state
from driftline.errors import ModelFileError
from driftline.features import Lags, Polynomial, RandomFourier, Standardize
from tests.cases import for_each

LEVELS = {"oak": 10.0, "ash": 20.0, "elm": 36.0}
LEARNERS = {
    "rls": dl.RLS,
    "ridge": dl.Ridge,
    "kalman": dl.Kalman,
    "nlms": dl.NLMS,
    "network": lambda: dl.Network([dl.RLS(), dl.Ridge()]),
    "pipeline": lambda: Standardize() | dl.RLS(),
    "lags": lambda: Lags(y=2) | dl.RLS(),
    "auto": dl.Auto,
}
BENDING = {
    "polynomial": lambda: Polynomial(2) | dl.RLS(),
    "scaled polynomial": lambda: Standardize() | Polynomial(2) | dl.RLS(),
    "fourier": lambda: RandomFourier(80, gamma=0.5) | dl.RLS(),
    "kernel": lambda: dl.Kernel(dl.RLS(), budget=40),
    "in a network": lambda: dl.Network([Polynomial(2) | dl.RLS(), dl.Ridge()]),
}
GROWING = {
    "network": lambda: dl.Network([dl.RLS(forgetting=0.9), dl.NLMS()], dl.RLS()),
    "copies": dl.Network,
    "eg": lambda: dl.Network([dl.EG(rate=0.1), dl.RLS()]),
    "nested": lambda: dl.Network([dl.Network([dl.RLS(), dl.Ridge()]), dl.LMS(rate=0.01)]),
    "experts": lambda: dl.Auto(experts=[dl.RLS(), dl.Ridge()]),
    "auto": dl.Auto,
    "averaged": lambda: dl.Averaged(dl.NLMS()),
    "classifier": lambda: dl.Classifier(dl.Network([dl.RLS(), dl.Ridge()])),
    "kernel": lambda: dl.Kernel(dl.RLS()),
    "pipeline": lambda: dl.Network([Standardize() | dl.RLS(), dl.Ridge()]),
    "lags": lambda: Lags(y=2) | dl.Network([dl.RLS(), dl.Ridge()]),
    "sparse": dl.SparseDFOP,
}


def rows(count, seed=0, texts=tuple(LEVELS)):
    rng = np.random.default_rng(seed)
    tree, load = rng.choice(texts, count), rng.normal(size=count)
    y = 100 + np.array([LEVELS[each] for each in tree]) + 2 * load + rng.normal(size=count)
    return pd.DataFrame({"tree": tree, "load": load}), y


def shares_of(trees):
    """The share of each text in the last 100 to 199 rows."""
    recent = trees[max(0, len(trees) // 100 - 1) * 100 :]
    return {tree: recent.count(tree) / len(recent) for tree in dict.fromkeys(recent)}


@pytest.mark.parametrize("count", [7, 99, 100, 250])
def test_an_unknown_text_gets_the_average_of_least_squares_on_one_hot_rows(count):
    X, y = rows(count)
    model = dl.Ridge(ridge=0.5)
    model.run(X, y)
    trees = X["tree"].tolist()
    texts = list(dict.fromkeys(trees))
    table = np.column_stack([*(X["tree"] == text for text in texts), X["load"], np.ones(count)]).astype(float)
    weights = np.linalg.solve(table.T @ table + 0.5 * np.eye(len(texts) + 2), table.T @ y)
    shares = shares_of(trees)
    average = np.array([*(shares.get(text, 0.0) for text in texts), 0.3, 1.0]) @ weights
    assert model.predict_one({"tree": "yew", "load": 0.3}) == pytest.approx(average, rel=1e-9)
    assert model.predict(pd.DataFrame({"tree": ["yew"], "load": [0.3]}))[0] == pytest.approx(average, rel=1e-9)
    assert model.ask({"tree": "yew", "load": 0.3}).prediction == pytest.approx(average, rel=1e-9)


@pytest.mark.parametrize("name", LEARNERS)
def test_an_unknown_text_errs_no_more_than_the_average_over_the_known_ones(name):
    """Forgetting leaves the level that known texts deviate from undetermined, by hundreds after some thousand rows."""
    X, y = rows(3000)
    model = LEARNERS[name]()
    model.run(X, y)
    ahead, labels = rows(200, seed=1)
    known = [model.predict(ahead.assign(tree=text)) for text in LEVELS]
    average = np.mean(known, axis=0)
    error = model.predict(ahead.assign(tree="yew")) - labels
    assert np.sqrt(np.mean(error**2)) <= 1.3 * np.sqrt(np.mean((average - labels) ** 2))
    first = ahead.iloc[:1].assign(tree="yew")
    run = copy.deepcopy(model).run(first, labels[:1])
    assert run.predictions[0] == model.predict_one(first.to_dict("records")[0])


@pytest.mark.parametrize("name", BENDING)
def test_an_unknown_text_is_the_most_frequent_one_to_a_model_that_is_not_linear_in_the_features(name):
    """Products and waves of shares are like no row that it has learned: predictions were off by up to millions."""
    X, y = rows(1500, texts=["elm", "oak", "ash", "ash"])
    model = BENDING[name]()
    model.run(X, y)
    shares = shares_of(X["tree"].tolist())
    frequent = max(shares, key=shares.get)
    expected = model.predict_one({"tree": frequent, "load": 0.3})
    for again in (model, dl.from_bytes(model.to_bytes()), copy.copy(model)):
        assert again.predict_one({"tree": "yew", "load": 0.3}) == expected
        assert again.ask({"tree": "yew", "load": 0.3}).prediction == expected
    row = pd.DataFrame({"tree": ["yew"], "load": [0.3]})
    assert model.predict(row)[0] == pytest.approx(model.predict(row.assign(tree=frequent))[0], rel=1e-9)
    assert copy.deepcopy(model).run(row, [120.0]).predictions[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", ["rls", "ridge", "kalman", "nlms", "auto"])
def test_learning_is_that_of_one_hot_rows(name):
    """Averages change predictions before a text is learned, and nothing that is learned from it."""
    X, y = rows(300)
    by_text, by_number = LEARNERS[name](), LEARNERS[name]()
    for row, label in zip(X.to_dict("records"), y.tolist(), strict=True):
        by_text.learn_one(row, label)
        by_number.learn_one({f"tree={row['tree']}": 1.0, "load": row["load"]}, label)
    require_same(by_text.__getstate__()["core"], by_number.__getstate__()["core"], "state")


@pytest.mark.parametrize("name", LEARNERS)
def test_other_names_for_the_texts_change_nothing(name):
    X, y = rows(250)
    names = {"oak": "x", "ash": "missing", "elm": "other"}
    one, other = LEARNERS[name](), LEARNERS[name]()
    expected = one.run(X, y).predictions
    np.testing.assert_array_equal(other.run(X.assign(tree=X["tree"].map(names)), y).predictions, expected)
    assert other.predict_one({"tree": "oak", "load": 0.2}) == one.predict_one({"tree": "x", "load": 0.2})


@pytest.mark.parametrize("name", [*LEARNERS, *BENDING])
def test_a_text_stays_unknown_until_its_first_label_arrives(name):
    X, y = rows(300)
    model = {**LEARNERS, **BENDING}[name]()
    model.run(X, y)
    row = {"tree": "yew", "load": 0.5}
    tickets = [model.ask(row, delay=0) for _ in range(3)]
    assert {ticket.prediction for ticket in tickets} == {model.predict_one(row)}
    learned = copy.deepcopy(model)
    learned.learn_one(row, 125.0)
    model.tell(dl.Ticket.from_bytes(tickets[0].to_bytes()), 125.0)
    require_same_state(model, learned, "state")
    for ticket in tickets[1:]:
        model.tell(ticket, 125.0)
    assert model.feature_names_in_[-1] == "tree=yew"
    again = dl.from_bytes(model.to_bytes())
    assert again.predict_one({"tree": "fir"}) == model.predict_one({"tree": "fir"})


@pytest.mark.parametrize("name", ["rls", "ridge", "lags"])
def test_each_step_of_a_forecaster_takes_the_average_for_an_unknown_text_in_the_last_row(name):
    """The models of all steps are the same whatever the text of the last row, from which none of them has learned yet."""
    X, y = rows(300)
    forecaster = dl.Forecaster(LEARNERS[name](), steps=3, known=["load"])
    forecaster.run(X, y)

    def forecast(tree):
        after = copy.deepcopy(forecaster)
        after.learn_one({"tree": tree, "load": 0.2}, 121.0)
        return after.forecast([{"load": load} for load in (0.1, -0.5, 1.0)]).predictions

    trees = X["tree"].tolist()
    for step in (1, 2, 3):  # whose model has learned rows with the trees of as many rows before
        shares = shares_of(trees[: len(trees) + 1 - step])
        average = sum(share * forecast(tree)[step - 1] for tree, share in shares.items())
        assert forecast("yew")[step - 1] == pytest.approx(average, rel=1e-9)


def test_a_text_that_was_never_missing_is_unknown_where_it_is_missing():
    X, y = rows(150)
    model = dl.RLS(missing="mean")
    model.run(X, y)
    assert model.predict_one({"tree": None, "load": 0.2}) == model.predict_one({"tree": "yew", "load": 0.2})
    model.learn_one({"tree": None, "load": 0.2}, 100.0)
    assert "tree is missing" in model.feature_names_in_


@pytest.mark.parametrize("counts", [[[1], [0]], [[100], [100]], [[100], [-1]], [[100], [0.5]], [[100, 0], [0]], [[100]]])
def test_forged_counts_are_refused(counts):
    model = dl.RLS()
    model.run(*rows(120, texts=("oak",)))
    state = model.__getstate__()
    state["columns"]["columns"][0][1]["counts"] = counts
    with pytest.raises(ModelFileError, match="the columns do not agree with the features"):
        dl.RLS().__setstate__(state)


def growing_rows(seed, texts):
    rng, found = np.random.default_rng(seed), []
    for t in range(14):
        row = {"a": float(rng.normal()), "b": float(rng.normal())}
        row |= {name: float(rng.normal()) for name in "cdef" if t > 3 and rng.random() < 0.3}
        if texts:
            row["tree"] = "xyzuvw"[int(rng.integers(2 + t // 4))]
        found.append((row, float(rng.normal()), None if rng.random() < 0.7 else 0.5))
    return found


@for_each("texts", [False, True])
@for_each("missing", ["raise", "skip", "mean"])
@pytest.mark.parametrize("name", GROWING)
def test_a_row_with_new_features_is_learned_as_its_ticket_is(name, missing, texts):
    for seed in range(3):
        by_row, by_ticket = (GROWING[name]().set_params(missing=missing) for _ in range(2))
        for row, label, weight in growing_rows(seed, texts):
            y = ("low" if label < 0 else "high") if name == "classifier" else label
            by_row.learn_one(row, y, sample_weight=weight)
            by_ticket.tell(by_ticket.ask(row, delay=0), y, sample_weight=weight)
            require_same_state(by_ticket, by_row, "state")


KEYLESS = {"rls": dl.RLS, "kalman": dl.Kalman, "pipeline": lambda **given: (Standardize() | dl.RLS()).set_params(**given)}


@pytest.mark.parametrize("name", KEYLESS)
def test_a_row_without_a_key_for_text_has_a_missing_text(name):
    """With 0 in all features of the column, a row would ask for the level that the texts deviate from."""
    X, y = rows(300)
    for word in ("raise", "skip", "mean"):
        model = KEYLESS[name](missing=word)
        model.run(X, y)
        if word == "raise":
            for ask in (model.predict_one, model.ask, lambda x, model=model: model.learn_one(x, 1.0)):
                with pytest.raises(ValueError, match=r"x lacks 'tree'.*missing=\"skip\".*missing=\"mean\""):
                    ask({"load": 0.3})
            assert model.n_seen_ == 300
            continue
        lacking, empty = copy.deepcopy(model), copy.deepcopy(model)
        for row in ({"load": 0.3}, pd.Series({"load": 0.3}), {}):
            filled = {"load": 0.0, **row, "tree": None}
            np.testing.assert_equal(lacking.predict_one(row), empty.predict_one(filled))
            np.testing.assert_equal(lacking.predict_interval(row), empty.predict_interval(filled))
            np.testing.assert_equal(lacking.ask(row).prediction, empty.ask(filled).prediction)
            if word == "mean":
                assert lacking.predict_one(row) == model.predict_one({**filled, "tree": "yew"})
        for label in (120.0, 125.0):  # the second time, the marker of missing texts is known
            lacking.learn_one({"load": 0.3}, label)
            empty.learn_one({"load": 0.3, "tree": None}, label)
            lacking.tell(lacking.ask({"load": 0.2}), label)
            empty.tell(empty.ask({"load": 0.2, "tree": None}), label)
        require_same_state(lacking, empty, "state")


def test_a_row_with_a_feature_of_a_text_does_not_lack_the_text():
    X, y = rows(300)
    model = dl.RLS()
    model.run(X, y)
    assert model.predict_one({"load": 0.3, "tree=oak": 1.0}) == model.predict_one({"load": 0.3, "tree": "oak"})


def test_rows_of_a_file_without_a_key_for_text_are_those_of_a_loop(tmp_path):
    X, y = rows(300)
    mappings = [*X.to_dict("records"), *[{"load": 0.5}] * 3]
    labels = [*y.tolist(), 120.0, 121.0, 122.0]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({**row, "y": label}) + "\n" for row, label in zip(mappings, labels, strict=True)))
    parts = [run.predictions for _, run in dl.files.follow(dl.RLS(missing="mean"), dl.files.open_rows(path, target="y"))]
    model, expected = dl.RLS(missing="mean"), []
    for row, label in zip(mappings, labels, strict=True):
        expected.append(model.predict_one(row))
        model.learn_one(row, label)
    np.testing.assert_array_equal(np.concatenate(parts), expected)


def test_a_row_that_was_asked_before_a_column_of_text_came_is_learned_without_it():
    model = dl.RLS()
    model.learn_one({"load": 1.0}, 1.0)
    ticket = model.ask({"load": 2.0})
    model.learn_one({"load": 2.0, "tree": "oak"}, 2.0)
    model.tell(ticket, 3.0)
    assert model.n_seen_ == 3
