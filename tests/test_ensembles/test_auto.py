"""Auto: compared with its plain version, under changes of units, on hostile streams, and its explanations."""

import pickle

import numpy as np
import pytest

import driftline as dl
from driftline import _core
from tests.reference.auto import auto
from tests.streams import looped


def drifting(rows, d, seed, noise=0.3):
    rng = np.random.default_rng(seed)
    X = 3 + rng.normal(size=(rows, d))
    weights = rng.normal(size=d) + np.cumsum(0.05 * rng.normal(size=(rows, d)), axis=0)
    return X, 20 + np.einsum("td,td->t", X, weights) + noise * rng.normal(size=rows)


def experts_of(model):
    experts = [expert for expert in model._core.experts() if expert.view >= 0]
    times = {_core.Time.NONE: 0, _core.Time.DIVIDE: 1, _core.Time.ADD: 2}
    return [(one.view, times[one.time], one.amount, one.start, one.reset, one.sudden) for one in experts]


def of_the_core(model, X, y):
    """The linear core's predictions, row by row; the other experts have their own tests."""
    predicted = [0.0]
    model.learn_one(X[0], y[0])
    for x, label in zip(X[1:], y[1:], strict=True):
        predicted.append(model._core.said(x, 0)[0])
        model.learn_one(x, label)
    return np.array(predicted)


@pytest.mark.parametrize(("d", "rows"), [(1, 127), (3, 120), (14, 110)])
def test_predictions_of_the_core_match_the_plain_version(d, rows):
    X, y = drifting(rows, d, seed=d)
    y[rows // 2 :] += 4 * X[rows // 2 :, 0]  # a jump, so that the experts that detect jumps reset
    model = dl.Auto()
    predictions = of_the_core(model, X, y)
    assert model.certificate().events.get("expert_resets", 0) > 0
    np.testing.assert_allclose(predictions, auto(X, y, experts_of(model)), rtol=1e-6)


@pytest.mark.parametrize("struck", [[90], [90, 91], [80, 100, 101, 110]])
def test_predictions_after_outliers_match_the_plain_version(struck):
    X, y = drifting(120, 3, seed=19)
    y[struck] += 40 * np.ptp(y)
    model = dl.Auto()
    predictions = of_the_core(model, X, y)
    assert model.certificate().events["outliers"] == 1  # later labels of the same size are not outliers
    np.testing.assert_allclose(predictions, auto(X, y, experts_of(model)), rtol=1e-6)


@pytest.mark.parametrize("gaps", [[1], [6, 7, 31], [63, 64], [40, 70, 71, 110]])
def test_predictions_after_rows_without_a_label_match_the_plain_version(gaps):
    X, y = drifting(120, 3, seed=19)
    model, known, predicted = dl.Auto(missing="skip"), y.copy(), [0.0]
    for t in range(120):
        if t > 0:
            predicted.append(model._core.said(X[t], 0)[0])
        if t in gaps:
            known[t] = model.predict_one(X[t])  # stands in for the label
        model.learn_one(X[t], np.nan if t in gaps else y[t])
    np.testing.assert_allclose(predicted, auto(X, known, experts_of(model), gaps), rtol=1e-6)
    assert (model.n_seen_, model.n_skipped_) == (120 - len(gaps), len(gaps))
    assert model.certificate().events["gaps"] == len(gaps)


@pytest.mark.parametrize("d", [1, 3, 14])
def test_predictions_after_a_change_of_units_match_the_plain_form(d):
    """The scales after 128 rows differ so much from those of the first 64 that all experts change their units."""
    X, y = drifting(150, d, seed=d)
    X[64:] = 3 + 6 * (X[64:] - 3)
    y[64:] += 0.2 * np.minimum((X[64:, 0] - 3) ** 2, 60.0)
    model = dl.Auto()
    predictions = of_the_core(model, X, y)
    assert model.certificate().events["rescalings"] == 1
    np.testing.assert_allclose(predictions, auto(X, y, experts_of(model)), rtol=1e-6)


@pytest.mark.parametrize("delay", [0, 1, 30])
def test_a_season_keeps_its_length_if_labels_are_missing(delay):
    """One label in twenty never arrives; the error on the other rows is nearly what it is with all labels."""
    rng = np.random.default_rng(8)
    X, t = np.zeros((3000, 1)), np.arange(3000)
    y = 10 + rng.normal(size=24)[t % 24] * 3 + 0.1 * rng.normal(size=3000)
    holes = rng.random(3000) < 0.05
    whole, torn = (dl.Auto(missing="skip") for _ in range(2))
    settings = {"delay": delay, "keep_predictions": True}
    all_known = dl.evaluate.prequential({"it": whole}, (X, y), **settings).predictions["it"]
    some = dl.evaluate.prequential({"it": torn}, (X, np.where(holes, np.nan, y)), **settings).predictions["it"]
    late = (t > 1000) & ~holes
    wanted, found = (np.sqrt(np.mean((predicted - y)[late] ** 2)) for predicted in (all_known, some))
    assert found < 1.3 * wanted < 0.3
    assert torn.n_skipped_ == holes.sum()


def test_scaling_and_shifting_each_feature_changes_little():
    """Experts on raw features then become useless; those on standardised features do not change."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(1500, 4))
    weights = np.cumsum(0.05 * rng.normal(size=X.shape), axis=0)
    y = np.einsum("td,td->t", X, weights) + rng.normal(size=1500)
    factors = 10.0 ** rng.uniform(-6, 6, 5)
    shifts = rng.uniform(-1e3, 1e3, 5) * factors
    plain = dl.Auto().run(X, y).losses[20:].mean()
    moved = dl.Auto().run(X * factors[:4] + shifts[:4], y * factors[4] + shifts[4]).losses[20:].mean() / factors[4] ** 2
    assert moved < 1.1 * plain


def test_scaling_all_features_alike_changes_nothing():
    """Powers of two are exact, so even rounding is the same, apart from the floor on the losses of exact predictions.

    That floor may move a value across the threshold of a tree, so the trees' predictions may differ by more.
    """
    X, y = drifting(300, 3, seed=7)
    plain = of_the_core(dl.Auto(), X, y)
    scaled = of_the_core(dl.Auto(), X * 2.0**20, y * 2.0**-30) * 2.0**30
    np.testing.assert_allclose(scaled, plain, rtol=1e-9)
    plain, scaled = dl.Auto().run(X, y).predictions, dl.Auto().run(X * 2.0**20, y * 2.0**-30).predictions * 2.0**30
    np.testing.assert_allclose(scaled[:48], plain[:48], rtol=1e-9)  # no tree has been fitted yet
    np.testing.assert_allclose(scaled, plain, atol=0.01 * np.ptp(y))


def test_a_feature_that_starts_late_is_learned():
    X, y = drifting(900, 3, seed=8)
    X[:300, 1] = 0.0
    X[:, 1] *= 1e6
    y = 2.0 * X[:, 0] + 5e-6 * X[:, 1]
    run = dl.Auto().run(X, y)
    assert np.sqrt(run.losses[400:].mean()) < 0.02 * y.std()


def test_scales_that_grow_are_followed_without_a_jump_in_the_predictions():
    """The rescaling of the experts' states is exact: two features in growing units predict what steady ones do."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(1000, 2))
    growing = X * np.where(np.arange(1000) < 100, 1.0, 50.0)[:, None]
    y = growing @ [1.0, -2.0] + 0.01 * rng.normal(size=1000)
    model = dl.Auto()
    run = model.run(growing, y)
    assert model.certificate().events["rescalings"] > 0
    assert run.losses[500:].mean() < 4 * 0.01**2


def test_the_loss_is_below_that_of_the_best_forgetting_on_a_stream_that_jumps():
    rng = np.random.default_rng(10)
    X = rng.normal(size=(3000, 5))
    weights = np.repeat(rng.normal(size=(3, 5)), 1000, axis=0)
    y = np.einsum("td,td->t", X, weights) + 0.5 * rng.normal(size=3000)
    loss = dl.Auto().run(X, y).losses.sum()
    best = min(dl.RLS(forgetting=keep).run(X, y).losses.sum() for keep in (0.9, 0.95, 0.98, 0.99, 0.995, 1.0))
    assert loss < best


@pytest.mark.parametrize("size", [100.0, -1e4, 1e12])
@pytest.mark.parametrize("at", [64, 500, 511, 512])
def test_an_outlier_costs_only_its_own_row(size, at):
    X, y = drifting(800, 3, seed=11)
    plain = dl.Auto().run(X, y).losses
    y[at] += size * y.std()
    model = dl.Auto()
    struck = model.run(X, y).losses
    assert model.certificate().events["outliers"] == 1
    assert struck[at + 1 :].sum() < 1.02 * plain[at + 1 :].sum()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_outliers_are_treated_alike_row_by_row_and_in_blocks(dtype):
    X, y = drifting(700, 3, seed=20)
    y[[100, 300, 301, 302, 513, 690]] += [1e3, 1e5, 1e5, 1e5, -1e9, 1e12]
    whole, loop = dl.Auto(dtype=dtype), dl.Auto(dtype=dtype)
    assert np.array_equal(looped(loop, X, y), whole.run(X, y).predictions)
    assert whole.certificate().events["outliers"] == 4
    assert dl.checks.tools.same(whole.__getstate__(), loop.__getstate__())


@pytest.mark.parametrize("size", [5.0, 50.0, 1e3])
def test_a_lasting_jump_costs_at_most_one_row_more_than_a_fast_learner(size):
    X, y = drifting(900, 3, seed=21)
    jump = size * y.std()
    y[400:] += jump
    model = dl.Auto()
    loss = model.run(X, y).losses[400:].sum()
    ready = min(dl.Kalman(drift=drift).run(X, y).losses[400:].sum() for drift in (0.1, 1.0, 10.0))
    assert model.certificate().events.get("outliers", 0) <= 1
    assert loss < ready + 1.2 * jump**2


def test_the_first_jump_of_constant_labels_costs_two_rows():
    """The first label of the new level counts as an outlier; the second confirms it, and the third is predicted."""
    rng = np.random.default_rng(23)
    X, y = rng.normal(size=(150, 3)), np.where(np.arange(150) < 120, 13.0, -30.0) + 0.03 * rng.normal(size=150)
    whole, asked = dl.Auto(), dl.Auto()
    run = whole.run(X, y)
    assert whole.certificate().events["outliers"] == 1
    assert run.losses[120:].sum() < 2.1 * 43**2
    for x, label in zip(X, y, strict=True):
        asked.tell(asked.ask(x, delay=0), label)
    assert asked.to_bytes() == whole.to_bytes()


def test_no_two_successive_labels_are_outliers():
    X, y = drifting(160, 3, seed=24)
    y[100:] += y.std() * 3.0 ** np.arange(60)  # each is far beyond all labels before it
    model = dl.Auto()
    predictions = of_the_core(model, X, y)
    assert 0 < model.certificate().events["outliers"] <= 30
    np.testing.assert_allclose(predictions, auto(X, y, experts_of(model)), rtol=1e-3)


def test_a_rare_event_that_a_feature_shows_is_learned_at_once():
    X, y = drifting(3000, 3, seed=22)
    event = np.zeros(3000)
    event[[700, 1500, 2900]] = 1.0
    model = dl.Auto()
    losses = model.run(np.column_stack([X, event]), y + 1e3 * event).losses
    assert "outliers" not in model.certificate().events
    assert losses[2900] < 0.05 * losses[700]


def test_constant_and_repeated_columns_do_no_harm():
    X, y = drifting(600, 3, seed=12)
    plain = dl.Auto().run(X, y).losses[30:].mean()
    wide = np.column_stack([X, np.full(600, 7.0), X[:, 0], X[:, 0] + X[:, 1]])
    assert dl.Auto().run(wide, y).losses[30:].mean() < 1.2 * plain


def test_memory_and_drift_tell_a_fixed_target_from_a_fast_one():
    rng = np.random.default_rng(13)
    X = rng.normal(size=(2000, 3))
    still = dl.Auto()
    still.run(X, X.sum(axis=1) + rng.normal(size=2000))
    fast = dl.Auto()
    weights = np.cumsum(0.5 * rng.normal(size=(2000, 3)), axis=0)
    fast.run(X, np.einsum("td,td->t", X, weights) + 0.1 * rng.normal(size=2000))
    assert still.memory_ > 10 * fast.memory_
    assert still.drift_ < 0.1 * fast.drift_
    for model in (still, fast):
        assert sum(model.weights_.values()) == pytest.approx(1.0)
        assert len(model.weights_) == len(model._core.experts()) + 8


def test_coefficients_match_those_of_the_target():
    rng = np.random.default_rng(14)
    X = rng.normal(size=(3000, 3)) * [1.0, 100.0, 0.01]
    model = dl.Auto()
    model.run(X, 5.0 + X @ [1.0, -0.02, 300.0] + 0.01 * rng.normal(size=3000))
    np.testing.assert_allclose(model.coef_ / [1.0, -0.02, 300.0], 1.0, atol=0.02)
    assert model.intercept_ == pytest.approx(5.0, abs=0.1)


@pytest.mark.parametrize("rows", [1, 2, 5, 63, 64, 65, 200])
def test_a_run_in_parts_equals_one_run(rows):
    X, y = drifting(300, 3, seed=15)
    whole, parts = dl.Auto(), dl.Auto()
    wanted = whole.run(X, y).predictions
    got = np.concatenate([parts.run(X[:rows], y[:rows]).predictions, parts.run(X[rows:], y[rows:]).predictions])
    assert np.array_equal(got, wanted)
    assert dl.checks.tools.same(whole.__getstate__(), parts.__getstate__())


@pytest.mark.parametrize("rows", [10, 150])
def test_a_forged_state_is_refused_or_predicts_finitely(rows):
    X, y = drifting(200, 2, seed=16)
    model = dl.Auto()
    model.run(X[:rows], y[:rows])
    state = model.__getstate__()
    rng = np.random.default_rng(17)
    refused = 0
    for _ in range(150):
        numbers = state["core"]["numbers"].copy()
        numbers[rng.integers(numbers.size, size=2)] = rng.choice([0.0, -1.0, 1.0, 1e300, -1e300, 0.5], size=2)
        forged = dl.Auto()
        try:
            forged.__setstate__({**state, "core": {**state["core"], "numbers": numbers}})
        except ValueError:
            refused += 1
            continue
        assert np.isfinite(forged.run(X, y).predictions).all()
    assert 0 < refused < 150


def late_losses(model, X, y, delay, copy_at=None):
    """Squared errors if each label arrives ``delay`` rows late."""
    waiting, losses = [], []
    for t in range(len(y)):
        waiting.append(model.ask(X[t]))
        losses.append((y[t] - waiting[-1].prediction) ** 2)
        if t >= delay:
            model.tell(waiting.pop(0), y[t - delay])
        if t == copy_at:
            model = pickle.loads(pickle.dumps(model))
    return np.array(losses)


def wave_after(rng, rows, period):
    """Labels with a period that the features do not show."""
    X = rng.standard_normal((rows, 2))
    return X, 3 * np.sin(2 * np.pi * np.arange(rows) / period) + X[:, 0] + 0.1 * rng.standard_normal(rows)


@pytest.mark.parametrize("delay", [1, 5, 12])
def test_late_labels_are_not_taken_for_the_newest(delay):
    X, y = wave_after(np.random.default_rng(4), 1500, 24)
    noise = np.mean(late_losses(dl.Auto(), X, y, delay)[500:])
    blind = np.mean(late_losses(dl.RLS(forgetting=0.999), X, y, delay)[500:])
    stale = np.mean(np.square(y[501:] - y[500 - delay : -1 - delay]))
    assert noise < 0.15 * min(blind, stale)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_copy_made_while_labels_are_late_continues_alike(dtype):
    X, y = wave_after(np.random.default_rng(5), 300, 24)
    whole = late_losses(dl.Auto(dtype=dtype), X, y, 7)
    for at in (3, 20, 150):
        np.testing.assert_array_equal(late_losses(dl.Auto(dtype=dtype), X, y, 7, copy_at=at), whole)


def test_rows_that_are_predicted_and_never_learned_change_nothing():
    X, y = wave_after(np.random.default_rng(6), 200, 24)
    asked, other = dl.Auto(), np.random.default_rng(7).standard_normal((200, 2))
    for t in range(200):
        asked.predict_one(other[t])
        before = pickle.dumps(asked)
        asked.predict_one(X[t])
        assert pickle.dumps(asked) == before
        asked.learn_one(X[t], y[t])
    plain = dl.Auto()
    plain.run(X, y)
    np.testing.assert_array_equal(asked.predict(X), plain.predict(X))


def test_an_outlier_among_late_labels_costs_only_its_own_row():
    X, y = wave_after(np.random.default_rng(8), 900, 24)
    plain = late_losses(dl.Auto(), X, y, 5)
    y[500] += 1e4
    struck = late_losses(dl.Auto(), X, y, 5)
    assert struck[501:].sum() < 1.05 * plain[501:].sum()


@pytest.mark.parametrize(
    "make",
    [
        lambda: dl.Network([dl.Auto(), dl.RLS()], top=dl.RLS(forgetting=0.999)),
        lambda: dl.Network([dl.Network([dl.Auto(), dl.Auto()]), dl.RLS()], top=dl.RLS(forgetting=0.999)),
        lambda: dl.features.Polynomial(degree=2) | dl.Auto(),
        lambda: dl.Network([dl.features.Polynomial(degree=2) | dl.Auto(), dl.RLS()], top=dl.RLS(forgetting=0.999)),
    ],
)
def test_late_labels_reach_auto_within_a_network_or_behind_a_transformer(make):
    X, y = wave_after(np.random.default_rng(9), 1200, 24)
    alone = np.mean(late_losses(dl.Auto(), X, y, 12)[500:])
    blind = np.mean(late_losses(dl.RLS(forgetting=0.999), X, y, 12)[500:])
    assert np.mean(late_losses(make(), X, y, 12)[500:]) < 0.5 * alone + 0.2 * blind
