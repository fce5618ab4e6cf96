"""Auto's experts outside the linear core: compared with plain versions, and without access to later labels."""

import numpy as np
import pytest

import driftline as dl
from tests.reference import profiles as plain_profiles
from tests.reference import scale as plain_scale
from tests.reference import team as plain
from tests.reference import trees as plain_trees

CORE, DIFFERENCES, PROFILES, USUAL, TREES, RESIDUAL_TREES, FEATURE_TREES, CUT, STACK = range(9)


def seasonal(rows, seed=0, d=2):
    """Hour, weekday and noise; the label depends on the hour, the weekday and its own past."""
    rng = np.random.default_rng(seed)
    t = np.arange(rows)
    X = np.column_stack([t % 24, t // 24 % 7, *rng.normal(size=(d, rows))]).astype(float)
    own = np.zeros(rows)
    for i in range(1, rows):
        own[i] = 0.8 * own[i - 1] + rng.normal()
    return X, 50 + 10 * np.sin(X[:, 0] / 4) * (X[:, 1] < 5) + 2 * X[:, 2] + own


def all_predictions(X, y, delay=0):
    """Each expert's predictions, and Auto's, if the labels come ``delay`` rows late."""
    model, predicted, predictions, waiting, variances = dl.Auto(), np.zeros((len(y), 9)), [], [], []
    for t in range(len(y)):
        waiting.append(model.ask(X[t], delay=delay))
        predictions.append(waiting[-1].prediction)
        variances.append(waiting[-1].numbers[5])
        if model._core is not None:
            predicted[t] = model._core.said(X[t], delay)
        if t >= delay:
            model.tell(waiting[t - delay], y[t - delay])
    return predicted, np.array(predictions), np.array(variances)


@pytest.mark.parametrize("delay", [0, 4, 23])
@pytest.mark.parametrize("k", [150, 401])
def test_no_expert_uses_a_label_before_it_arrives(delay, k):
    """Changing the labels from row k on changes no expert's prediction before row k + delay + 1."""
    X, y = seasonal(500)
    other = y.copy()
    other[k:] = np.random.default_rng(1).normal(size=500 - k) * 30
    (predicted, predictions, variances), (others, different, unlike) = (all_predictions(X, of, delay) for of in (y, other))
    np.testing.assert_array_equal(predicted[: k + delay + 1], others[: k + delay + 1])
    np.testing.assert_array_equal(predictions[: k + delay + 1], different[: k + delay + 1])
    np.testing.assert_array_equal(variances[: k + delay + 1], unlike[: k + delay + 1])
    later = predicted[k + delay + 1 :] != others[k + delay + 1 :]
    assert later.any(axis=0).all()  # every expert learns from these labels once they arrive


@pytest.mark.parametrize("delay", [0, 6])
@pytest.mark.parametrize("d", [1, 3])
def test_differences_match_the_plain_version(delay, d):
    rng = np.random.default_rng(d)
    X, y = rng.normal(size=(300, d)) * 10.0 ** np.arange(d), np.cumsum(rng.normal(size=300)) + 100
    predicted, *_ = all_predictions(X, y, delay)
    np.testing.assert_allclose(predicted[:, DIFFERENCES], plain.by_differences(X, y, predicted[:, CORE], delay), rtol=1e-6)


@pytest.mark.parametrize(("delay", "d"), [(0, 2), (6, 2), (0, 13)])
def test_profiles_and_baselines_match_the_plain_version(delay, d):
    """Hour and weekday are keys, and a pair of keys; noise has more than 64 values, and is divided into bins.

    With 13 columns of noise there are more keys than slots.
    """
    X, y = seasonal(700, seed=11, d=d)
    predicted, *_ = all_predictions(X, y, delay)
    by_fit, by_usual = plain_profiles.run(X, y, predicted[:, CORE], delay)
    np.testing.assert_allclose(predicted[:, PROFILES], by_fit, rtol=1e-6)
    np.testing.assert_allclose(predicted[:, USUAL], by_usual, rtol=1e-6)


@pytest.mark.parametrize(("delay", "seed", "rows"), [(0, 12, 1100), (4, 51, 440)])
def test_trees_match_the_plain_version(delay, seed, rows):
    """By row 440 all trees are fitted, and most have been replaced. Beyond 1,024 rows, trees are fitted on samples.

    Trees see the experts' predictions before clipping. From the first row that trees learn on, none is clipped.
    """
    X, y = seasonal(rows, seed=seed)
    y[400] += 18  # an error that counts as ten usual ones; the label is not an outlier
    predicted, *_ = all_predictions(X, y, delay)
    for t in range(16 + delay, rows):
        low, high = y[: t - delay].min(), y[: t - delay].max()
        assert (np.abs(predicted[t, DIFFERENCES:TREES] - 0.5 * (low + high)) < 0.99 * (high - low)).all()
    np.testing.assert_allclose(predicted[:, TREES : FEATURE_TREES + 1], plain_trees.run(X, y, predicted, delay), rtol=1e-6)


def test_the_stack_and_the_final_mixture_match_the_plain_version():
    X, y = seasonal(400, seed=2)
    predicted, predictions, _ = all_predictions(X, y)
    np.testing.assert_allclose(predicted[:, STACK], plain.stack(predicted[:, :CUT], y), rtol=1e-8)
    mixed = plain.final_mixture(predicted, y)
    np.testing.assert_allclose(predictions, plain.near_the_newest(mixed, y), rtol=1e-8)
    assert np.abs(predictions - mixed)[:60].max() > 0.01
    np.testing.assert_allclose(predictions[60:], mixed[60:], rtol=1e-8)


def test_a_first_prediction_stays_near_the_newest_label_until_labels_have_changed_as_much():
    """The label is the feature, which grows by 1 a row; then it falls to 3, and does so again."""
    x = np.append(np.arange(20.0), [3.0, 19.0, 3.0])
    predicted, predictions, _ = all_predictions(x[:, None], x)
    assert predicted[20, CORE] < 4
    assert predictions[20] == pytest.approx(19 - 1.5)
    assert predictions[22] < 4


@pytest.mark.parametrize("delay", [0, 6])
def test_the_scale_of_the_errors_matches_the_plain_version(delay):
    """Errors depend on the hour. They shrink to a thousandth, and what was learned before is then of no use."""
    rng = np.random.default_rng(13)
    t = np.arange(1200)
    X = np.column_stack([t % 24, *rng.normal(size=(2, 1200))]).astype(float)
    noise = rng.normal(size=1200) * np.where(t % 24 < 12, 0.3, 3) * np.where(t < 600, 1, 1e-3)
    y = X @ [0.5, 2, -1] + noise
    predicted, predictions, variances = all_predictions(X, y, delay)
    np.testing.assert_allclose(variances, plain_scale.variances(X, y, predicted, predictions, delay), rtol=1e-6)
    assert variances[300:500].max() > 10 * variances[300:500].min()


def test_profiles_learn_a_table_of_two_features_that_no_linear_model_fits():
    rng = np.random.default_rng(3)
    t = np.arange(4000)
    table = 10 * rng.normal(size=(24, 5))  # a week of five days, which no lag of the core's experts matches
    X = np.column_stack([t % 24, t // 24 % 5, rng.normal(size=4000)]).astype(float)
    y = table[t % 24, t // 24 % 5] + rng.normal(size=4000)
    predicted, predictions, _ = all_predictions(X, y)
    errors = np.mean(np.square(predicted[2000:] - y[2000:, None]), axis=0)
    assert errors[PROFILES] < 1.3  # the noise has variance 1
    assert errors[USUAL] < 2
    assert errors[CORE] > 10
    assert np.mean(np.square(predictions[2000:] - y[2000:])) < 1.2


def test_trees_learn_a_target_that_is_neither_linear_nor_seasonal():
    rng = np.random.default_rng(4)
    X = rng.uniform(-1, 1, size=(5000, 3))
    y = 5 * np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0) + rng.normal(size=5000)
    run = dl.Auto().run(X, y)
    assert run.losses[4000:].mean() < 0.25 * y.var()


def test_predictions_outside_the_labels_range_are_clipped_if_that_has_paid():
    """The labels stay at a few levels, so no prediction a tenth of their range outside has ever been right."""
    rng = np.random.default_rng(5)
    y = np.repeat(rng.choice([0.0, 1.0, 5.0], size=80), rng.integers(5, 60, size=80))
    y = y + 0.01 * rng.normal(size=len(y))
    X = rng.normal(size=(len(y), 2))
    run = dl.Auto().run(X, y)
    low, high = y.min() - 0.1 * np.ptp(y), y.max() + 0.1 * np.ptp(y)
    assert ((run.predictions[300:] > low) & (run.predictions[300:] < high)).all()
    last_value = np.mean(np.square(np.diff(y))[299:])
    assert run.losses[300:].mean() < 1.1 * last_value


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_run_equals_the_loop_and_a_copy_continues_alike(dtype, weighted):
    X, y = seasonal(1200, seed=6)
    weight = np.random.default_rng(7).uniform(0, 3, size=1200) if weighted else None
    whole, loop = dl.Auto(dtype=dtype), dl.Auto(dtype=dtype)
    wanted = whole.run(X, y, sample_weight=weight).predictions
    got = []
    for t in range(1200):
        got.append(loop.predict_one(X[t]))
        loop.learn_one(X[t], y[t], sample_weight=None if weight is None else weight[t])
        if t in (40, 700):
            loop = dl.from_bytes(loop.to_bytes())
    np.testing.assert_array_equal(got, wanted)
    assert whole.to_bytes() == loop.to_bytes()


def test_every_expert_learns_a_feature_that_appears_late():
    rng = np.random.default_rng(8)
    model, losses = dl.Auto(), []
    for t in range(3000):
        hour, new = float(t % 24), rng.normal()
        x = {"hour": hour} if t < 600 else {"hour": hour, "new": new}
        y = 3 * np.sin(hour) + (4 * np.sign(new) if t >= 600 else 0) + 0.1 * rng.normal()
        losses.append((y - model.predict_one(x)) ** 2)
        model.learn_one(x, y)
        if t == 605:
            model = dl.from_bytes(model.to_bytes())
    assert np.mean(losses[2500:]) < 1.0  # a linear model leaves 16 (1 - 2 / pi) = 5.8


def test_forged_numbers_of_trees_and_tables_are_refused_or_predict_finitely():
    X, y = seasonal(300, seed=9)
    model = dl.Auto()
    model.run(X, y)
    state, rng, refused = model.__getstate__(), np.random.default_rng(10), 0
    for trial in range(120):
        part = ("entries", "shape", "numbers")[trial % 3]
        forged = {key: value.copy() for key, value in state["core"].items()}
        at = rng.integers(forged[part].size, size=3)
        forged[part][at] = rng.choice([0.0, -1.0, 0.5, 7.0, 1e30, -1e30], size=3)
        other = dl.Auto()
        try:
            other.__setstate__({**state, "core": forged})
        except ValueError:
            refused += 1
            continue
        assert np.isfinite(other.run(X, y).predictions).all()
    assert refused > 20


@pytest.mark.parametrize("rows", [90, 400, 4200])
def test_trees_that_started_before_the_others_survive_serialization(rows):
    """Beyond 4,096 rows, the rows that only the trees on the features have learned are no longer kept."""
    X, y = seasonal(rows + 100, seed=5)
    model, tickets = dl.Auto(), []
    for t in range(rows):
        tickets.append(model.ask(X[t], delay=49))
        if t >= 50:
            model.tell(tickets[t - 50], y[t - 50])
    loaded = dl.from_bytes(model.to_bytes())
    for t in range(rows, rows + 100):
        assert loaded.predict_one(X[t]) == model.predict_one(X[t])
        for one in (model, loaded):
            one.learn_one(X[t], y[t])
    assert loaded.to_bytes() == model.to_bytes()


def test_a_row_predicted_before_the_first_label_may_get_its_label_last():
    X, y = seasonal(200, seed=6)
    model = dl.Auto()
    early = [model.ask(x, delay=29) for x in X[:3]]
    model.tell(early[0], y[0])
    for x, label in zip(X[3:], y[3:], strict=True):
        model.learn_one(x, label)
    model.tell(early[1], y[1])
    loaded = dl.from_bytes(model.to_bytes())
    for one in (model, loaded):
        one.tell(dl.Ticket.from_bytes(early[2].to_bytes()), y[2])
        one.learn_one(X[0], y[0])
    assert loaded.to_bytes() == model.to_bytes()


@pytest.mark.parametrize("rows", [10, 17, 60])
def test_a_first_feature_that_appears_late_survives_serialization(rows):
    """Without features, the trees on the features alone learn nothing, but the others do."""
    model = dl.Auto()
    for t in range(rows):
        model.learn_one({}, float(t % 7))
    for t in range(40):
        model.learn_one({"wind": float(t % 5)}, float(t % 7))
    loaded = dl.from_bytes(model.to_bytes())
    for t in range(20):
        assert loaded.predict_one({"wind": float(t)}) == model.predict_one({"wind": float(t)})
        for one in (model, loaded):
            one.learn_one({"wind": float(t)}, 1.0)
    assert loaded.to_bytes() == model.to_bytes()
