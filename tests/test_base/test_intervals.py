"""Intervals: they keep their coverage under drift, follow the learner's variance, and survive any stream."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import driftline as dl
from driftline import _core
from driftline.base import levels, registry
from tests.cases import for_each
from tests.conftest import FAMILIES, VARIANTS
from tests.reference import coverage

LEVELS = [0.5, 0.8, 0.9, 0.95, 0.99]
ROWS, D, WINDOW = 12_000, 5, 2_000


def noises(rng):
    ones, t = rng.standard_normal(ROWS), np.arange(ROWS)
    return {
        "stationary": ones,
        "heavy tails": rng.standard_t(2, ROWS),
        "changing size": ones * np.exp(1.5 * np.sin(t / 400)),
        "jumping size": ones * np.where(t // 700 % 2, 10.0, 0.1),
        "mostly none": np.where(rng.random(ROWS) < 0.9, 0.0, ones),
    }


def streams(rng):
    X = rng.standard_normal((ROWS, D))
    w = rng.standard_normal(D)
    for name, noise in noises(rng).items():
        yield name, X, X @ w + noise
    yield "size by feature", X, X @ w + noises(rng)["stationary"] * np.exp(X[:, 0])
    yield "almost exact", X, 1e4 * (X @ w) + 1e-3 * rng.standard_normal(ROWS)
    turned = np.where((np.arange(ROWS) // 1000 % 2)[:, None], w, -w)
    yield "turning round", X, (X * turned).sum(axis=1) + 0.1 * rng.standard_normal(ROWS)
    yield "rotating", *dl.streams.Rotating(rate=0.01, noise=0.05, seed=1).take(ROWS)
    yield "switching", *dl.streams.Switching(power=0.5, every=500, noise=0.05, seed=1).take(ROWS)


@for_each("name, X, y", list(streams(np.random.default_rng(3))))
@pytest.mark.parametrize("make", [dl.Kalman, dl.NLMS, lambda: dl.RLS(forgetting=0.99)], ids=["kalman", "nlms", "rls"])
def test_every_window_has_the_requested_coverage(make, name, X, y):
    for level in LEVELS:
        run = make().run(X, y, level=level)
        inside = (run.lower <= y) & (y <= run.upper)
        share = np.convolve(inside, np.ones(WINDOW) / WINDOW, mode="valid")
        assert np.abs(share - level).max() < 0.03, level


def test_the_width_is_near_that_of_an_oracle():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((ROWS, D))
    y = X @ np.ones(D) + rng.standard_normal(ROWS)
    for level in LEVELS:
        run = dl.Ridge().run(X, y, level=level)
        known = 2 * math.sqrt(coverage.squared_half_width(level)) * 0.6744897501960817
        assert np.mean(run.upper[1000:] - run.lower[1000:]) == pytest.approx(known, rel=0.1)


@given(seed=st.integers(0, 2**32), level=st.sampled_from(list(_core.levels)))
@settings(max_examples=40)
def test_the_half_width_is_the_tracked_quantile_times_the_variance(seed, level):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((300, 3))
    y = X @ rng.standard_normal(3) + rng.standard_t(3, 300)
    model = dl.AROWR(noise=2.0, intercept=False)
    run = model.run(X, y, level=level)
    replica, variances = dl.AROWR(noise=2.0, intercept=False), []
    for x, label in zip(X, y, strict=True):
        S = replica.covariance_ if replica.n_seen_ else np.eye(3) / replica.ridge
        variances.append(2.0 + x @ S @ x)
        replica.learn_one(x, label)
    bounds = np.array(coverage.follow(run.errors**2 / variances, level))  # never below those of lower levels
    largest = np.sqrt(np.maximum.accumulate(np.append(0, run.errors[:-1] ** 2)))
    half = np.minimum(np.sqrt(bounds * variances), 10 * largest)
    enough = math.ceil(level / (1 - level) - 1e-9)
    assert np.isinf(run.upper[:enough]).all()
    assert run.upper[enough:] == pytest.approx(run.predictions[enough:] + half[enough:], rel=1e-9)
    assert run.predictions - run.lower == pytest.approx(run.upper - run.predictions, rel=1e-9, abs=1e-12)


def test_half_an_interval_is_at_most_ten_times_the_largest_error():
    """The row is far outside the earlier ones, and its variance a million times the usual."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((100, 3))
    y = X @ np.ones(3) + rng.standard_normal(100)
    model = dl.AROWR(intercept=False)
    errors = model.run(X, y).errors
    far = [1e5, 0.0, 0.0]
    for lower, upper in (model.predict_interval(far, level=0.9), model.ask(far).interval(0.9)):
        assert (upper - lower) / 2 == pytest.approx(10 * np.abs(errors).max(), rel=1e-9)


def asked_and_told(model, X, y, late):
    """Asks for each row, and tells its label ``late`` rows later; returns the tickets."""
    tickets = []
    for t, x in enumerate(X):
        tickets.append(model.ask(x, delay=late))
        if t >= late:
            model.tell(tickets[t - late], y[t - late])
    return tickets


def judged(tickets, y, level):
    """Whether each label lay in its ticket's interval, and whether that interval was finite."""
    ends = np.array([ticket.interval(level) for ticket in tickets])
    return (ends[:, 0] <= y) & (y <= ends[:, 1]), np.isfinite(ends[:, 0])


@pytest.mark.parametrize("late", [1, 7, 30, 100])
@pytest.mark.parametrize("zeros", [0.0, 0.4])
def test_a_late_label_is_judged_by_the_bounds_issued_with_its_prediction(late, zeros):
    """Around a prediction of 0 every score is the label's square, so the plain formula needs no model."""
    rng, t = np.random.default_rng(late), np.arange(1500)
    y = rng.standard_t(3, 1500) * np.exp(2 * np.sin(t / 200)) * np.where(t < 900, 1, 1000) * (rng.random(1500) >= zeros)
    tickets = asked_and_told(dl.NLMS(intercept=False), np.zeros((1500, 1)), y, late)
    bounds, issued, debts = coverage.Bounds(), [], []
    for t in range(1500):
        issued.append((bounds.issued(), bounds.shares()))
        debts.append(bounds.urgent_debts())
        if t >= late:
            bounds.take_late(y[t - late] ** 2, *issued[t - late], late)
    assert not any(ticket.prediction for ticket in tickets)
    numbers = np.array([ticket.numbers[8:40] for ticket in tickets])
    np.testing.assert_allclose(numbers[:, :16], [bound for bound, _ in issued], rtol=1e-9)
    np.testing.assert_allclose(numbers[:, 16:], debts, rtol=0, atol=1e-6)


@pytest.mark.parametrize("batch", [2, 4, 24, 96])
def test_labels_in_batches_match_the_plain_formula(batch):
    """All rows of a batch are predicted before its labels arrive; the first label then counts as arriving at once."""
    rng = np.random.default_rng(batch)
    y = rng.standard_t(3, 1500) * np.exp(2 * np.sin(np.arange(1500) / 200))
    model, bounds, waiting = dl.NLMS(intercept=False), coverage.Bounds(), []
    for t in range(1500):
        waiting.append((model.ask([0.0]), y[t], bounds.issued(), bounds.shares()))
        assert waiting[-1][0].numbers[8:24] == pytest.approx(waiting[-1][2], rel=1e-9)
        assert waiting[-1][0].numbers[24:40] == pytest.approx(bounds.urgent_debts(), rel=1e-6, abs=1e-6)
        if len(waiting) == batch:
            for late, (ticket, label, *issued) in enumerate(waiting):
                model.tell(ticket, label)
                if late:
                    bounds.take_late(label**2, *issued, late)
                else:
                    bounds.take(label**2)
            model, waiting = dl.from_bytes(model.to_bytes()), []


@pytest.mark.parametrize("batch", [12, 96, 200])
@pytest.mark.parametrize("make", [dl.RLS, dl.Kalman, dl.Auto])
def test_coverage_holds_when_labels_come_in_batches(make, batch):
    """If each row of a batch repaid the same misses in full, the bounds would overshoot."""
    rng = np.random.default_rng(batch)
    X = rng.standard_normal((7000, 3))
    y = X.sum(axis=1) + 0.5 * rng.standard_t(4, 7000)
    model, tickets = make(), []
    for start in range(0, 7000, batch):
        asked = [model.ask(x) for x in X[start : start + batch]]
        for ticket, label in zip(asked, y[start : start + batch], strict=True):
            model.tell(ticket, label)
        tickets += asked
    for level in (0.8, 0.9, 0.95):
        inside, _ = judged(tickets, y, level)
        windows = np.convolve(inside[1000:], np.full(2000, 1 / 2000), "valid")
        assert np.abs(windows - level).max() < 0.03


@pytest.mark.parametrize("late", [2, 30, 100])
def test_a_row_predicted_before_the_first_label_counts_by_the_larger_of_two_scores(late):
    """One score uses the variance of the untrained model, the other that of the model when the label arrived."""
    rng = np.random.default_rng(late)
    X = 50 + rng.standard_normal((1000, 2))
    y = X @ [1, -2] + rng.standard_normal(1000)
    tickets, at_once = (asked_and_told(dl.RLS(), X, y, rows) for rows in (late, 0))

    def score(ticket, label):
        return (label - ticket.prediction) ** 2 / ticket.numbers[5]

    bounds, issued = coverage.Bounds(), []
    for t, ticket in enumerate(tickets):
        issued.append((bounds.issued(), bounds.shares()))
        assert ticket.numbers[8:24] == pytest.approx(issued[-1][0], rel=1e-9)
        if (told := t - late) >= 0:
            ways = [score(tickets[told], y[told]), score(at_once[told], y[told])]
            bounds.take_late(max(ways) if told <= late else ways[0], *issued[told], late)


def test_coverage_holds_from_the_start_if_the_untrained_model_expects_large_errors():
    rng = np.random.default_rng(3)
    X = 50 + rng.standard_normal((4000, D))
    y = X.sum(axis=1) + 30 * rng.standard_normal(4000)
    inside, earned = judged(asked_and_told(dl.RLS(), X, y, 200), y, 0.9)
    share = np.convolve(inside[earned], np.ones(WINDOW) / WINDOW, mode="valid")
    assert np.abs(share - 0.9).max() < 0.03


def test_tickets_with_the_largest_debts_survive_serialization():
    """Errors keep outgrowing their intervals, and labels are so late that debts count more than once."""
    y = np.exp(np.arange(600.0) / 2)
    tickets = asked_and_told(dl.NLMS(intercept=False), np.zeros((600, 1)), y, 60)
    assert not judged(tickets, y, 0.8)[0][300:].any()
    assert max(tickets[-1].numbers[24:40]) > coverage.MOST_DEBT
    np.testing.assert_array_equal(dl.Ticket.from_bytes(tickets[-1].to_bytes()).numbers, tickets[-1].numbers)


@pytest.mark.parametrize(("late", "most"), [(1, 0.03), (12, 0.03), (24, 0.03), (96, 0.05)])
@pytest.mark.parametrize("make", [dl.Kalman, dl.RLS, dl.Auto])
def test_coverage_holds_when_labels_are_late(make, late, most):
    rng = np.random.default_rng(late)
    X, t = rng.standard_normal((8000, D)), np.arange(8000)
    weights = np.cumsum(0.02 * rng.standard_normal((8000, D)), axis=0)
    y = (X * weights).sum(axis=1) + np.sin(2 * np.pi * t / 24) + rng.standard_t(3, 8000)
    tickets = asked_and_told(make(), X, y, late)
    for level in (0.8, 0.95):
        inside, earned = judged(tickets, y, level)
        assert earned[late + math.ceil(level / (1 - level) - 1e-9) :].all()
        inside = inside[earned]
        assert abs(inside.mean() - level) < 0.02
        share = np.convolve(inside, np.ones(WINDOW) / WINDOW, mode="valid")
        assert np.abs(share - level).max() < most


@pytest.mark.parametrize("late", [12, 24, 96])
def test_intervals_do_not_outgrow_the_errors_after_a_jump(late):
    """Many intervals are missed before the first label shows the jump. Repaying them must not make later ones useless."""
    rng = np.random.default_rng(late)
    X, noise = rng.standard_normal((3000, 3)), rng.standard_normal(3000)
    y = X @ [1.0, -2.0, 0.5] + 0.2 * noise + np.where(np.arange(3000) >= 1500, 5.0 * (X[:, 0] > 0), 0.0)
    tickets = asked_and_told(dl.RLS(), X, y, late)
    half = np.array([ticket.interval(0.9)[1] - ticket.prediction for ticket in tickets])
    largest = np.abs(y - [ticket.prediction for ticket in tickets])[1500:].max()
    assert half[1500:].max() < 1.6 * largest  # in scores, twice the largest recent one, and the edge of its bin


@pytest.mark.parametrize("power", [-460, -100, 1, 100, 460])
@pytest.mark.parametrize("late", [0, 24])
def test_intervals_scale_with_the_labels(late, power):
    """Scaling by a power of two is exact: it moves every score to another bin but changes no comparison."""
    rng = np.random.default_rng(8)
    X, y = np.zeros((3000, 1)), rng.standard_normal(3000)
    plain, scaled = (asked_and_told(dl.NLMS(intercept=False), X, labels, late) for labels in (y, np.ldexp(y, power)))
    uppers = [[ticket.interval(0.9)[1] for ticket in tickets] for tickets in (plain, scaled)]
    assert np.array_equal(np.ldexp(uppers[0], power), uppers[1])


def test_intervals_follow_errors_that_leave_all_bins():
    """The errors' sizes change by 10^20 at once, so the bins must move twice, down and up."""
    rng = np.random.default_rng(9)
    size = np.repeat([1.0, 1e-20, 1e20], 4000)
    y = size * rng.standard_normal(12_000)
    inside, _ = judged(asked_and_told(dl.NLMS(intercept=False), np.zeros((12_000, 1)), y, 0), y, 0.9)
    for part in range(3):
        assert abs(inside[4000 * part + 2000 : 4000 * (part + 1)].mean() - 0.9) < 0.02


MAKERS = {**registry.regressors(), **VARIANTS}


@pytest.mark.parametrize(
    ("name", "dtype"), [*((name, "float64") for name in MAKERS), *((name, "float32") for name in FAMILIES)]
)
def test_run_and_loop_give_the_same_intervals_and_quantiles(name, dtype, rows):
    make, wanted = MAKERS[name], [0.05, 0.3, 0.5, 0.9]
    X, y = rows
    run = make().set_params(dtype=dtype).run(X, y, level=0.8, quantiles=wanted)
    model = make().set_params(dtype=dtype)
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        assert model.predict_interval(x, level=0.8) == (run.lower[t], run.upper[t])
        assert np.array_equal(model.predict_quantiles(x, wanted), run.quantiles[t])
        if t % 50 == 20:
            model = pickle.loads(pickle.dumps(model)) if "function" not in str(model.get_params()) else model
        model.learn_one(x, label)
    half = make().set_params(dtype=dtype)
    both = [half.run(X[part], y[part], level=0.8, quantiles=wanted) for part in (slice(77), slice(77, None))]
    assert np.array_equal(np.concatenate([part.lower for part in both]), run.lower)
    assert np.array_equal(np.concatenate([part.quantiles for part in both]), run.quantiles)


def test_intervals_of_higher_levels_contain_those_of_lower_ones(rows):
    X, y = rows
    model = dl.RLS().fit(X, y)
    ends = np.array([model.predict_interval(X[0], level) for level in np.linspace(0.01, 0.99, 99)])
    assert (np.diff(ends[:, 0]) <= 0).all()
    assert (np.diff(ends[:, 1]) >= 0).all()
    assert ends[0, 0] <= model.predict_one(X[0]) <= ends[0, 1]


def test_the_first_interval_uses_all_earlier_rows(rows):
    """A model has an interval as soon as one is requested, even if no earlier call requested one."""
    X, y = rows
    lower, upper = dl.RLS().fit(X, y).predict_interval(X[0], level=0.95)
    assert 0.5 < (upper - lower) / (2 * 1.96 * np.std(dl.RLS().run(X, y).errors[-100:])) < 2


@pytest.mark.parametrize(("level", "enough"), [(0.5, 1), (0.75, 3), (0.9, 9), (0.95, 19), (0.99, 99)])
def test_intervals_are_infinite_until_there_are_enough_labels(level, enough, rows):
    X, y = rows
    model = dl.Kalman()
    assert model.predict_interval(X[0], level) == (-math.inf, math.inf)
    run = model.run(X, y, level=level)
    assert np.isinf(run.upper[:enough]).all()
    assert np.isfinite(run.upper[enough:]).all()


HIGHEST = math.nextafter(1, 0)
AT_A_LEVEL = {
    "predict_interval": lambda X, y, level: dl.RLS().fit(X, y).predict_interval(X[0], level),
    "predict_intervals": lambda X, y, level: dl.RLS().fit(X, y).predict_intervals(X, level),
    "run": lambda X, y, level: ends_of(dl.RLS().run(X, y, level=level)),
    "a ticket": lambda X, y, level: dl.RLS().fit(X, y).ask(X[0]).interval(level),
    "text": lambda X, y, level: ends_of(dl.RLS().run(pd.DataFrame({"a": X[:, 0].astype(str)}), y, level=level)),
    "a network": lambda X, y, level: dl.Network([dl.RLS()]).fit(X, y).predict_interval(X[0], level),
    "a fleet": lambda X, y, level: ends_of(dl.Fleet(dl.RLS()).run(np.zeros(len(y), int), X, y, level=level)),
    "a fleet of others": lambda X, y, level: ends_of(dl.Fleet(dl.Auto()).run(np.zeros(len(y), int), X, y, level=level)),
    "a forecaster": lambda X, y, level: ends_of(dl.Forecaster(dl.RLS(), steps=2).run(X, y, level=level)),
}


def ends_of(run):
    return run.lower, run.upper


@pytest.mark.parametrize("how", AT_A_LEVEL)
def test_every_level_below_one_is_taken_and_the_highest_waits_for_more_labels_than_there_are(how, rows):
    lower, upper = AT_A_LEVEL[how](rows[0][:50], rows[1][:50], HIGHEST)
    assert not np.isfinite(lower).any()
    assert not np.isfinite(upper).any()


@pytest.mark.parametrize("level", [1e-6, 0.01, 0.5, 0.9, 0.999, 1 - 1e-9, 1 - 1e-15, HIGHEST])
def test_the_width_of_a_gaussian_level_is_that_of_scipy(level):
    assert levels._half_width(level) == pytest.approx(norm.isf((1 - level) / 2), rel=1e-8)


@given(
    seed=st.integers(0, 2**32),
    size=st.sampled_from([1e-300, 1e-30, 1.0, 1e30, 1e150, 1e300]),
    level=st.floats(0.001, 0.9999),
)
@settings(max_examples=60)
def test_no_stream_breaks_an_interval(seed, size, level):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 2)) * rng.choice([0.0, 1.0, 1e100, 1e-100], size=(60, 1))
    y = rng.standard_cauchy(60) * size * rng.choice([0.0, 1.0], size=60)
    y = np.clip(np.nan_to_num(y), -1e307, 1e307)
    for model in (dl.RLS(forgetting=0.5), dl.EG(norm=1.0), dl.Kalman(), dl.AAR()):
        run = model.run(X, y, level=level)
        assert (run.lower <= run.predictions).all()
        assert (run.predictions <= run.upper).all()
        lower, upper = model.predict_interval(X[0], level)
        assert lower <= upper


HUGE = {
    "RLS": dl.RLS, "NLMS": dl.NLMS, "Kalman": dl.Kalman, "Auto": dl.Auto, "AAR": dl.AAR,
    "network": lambda: dl.Network([dl.RLS(), dl.NLMS()]),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::driftline.DriftlineWarning", "ignore:overflow")
@pytest.mark.parametrize("size", [1e139, 1e141, 1e150, 1e155, 1e200, 1e300])
@pytest.mark.parametrize("name", HUGE)
def test_huge_errors_have_intervals_that_cover_them(name, size):
    """Their squares, or the scores, leave the range of float64: intervals are then too wide, but never too narrow."""
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((300, 2)), np.clip(rng.standard_normal(300), -3, 3) * size
    run = HUGE[name]().run(X, y, level=0.9, quantiles=[0.05, 0.95])
    for lower, upper in ((run.lower, run.upper), run.quantiles.T):
        assert (lower < upper).all()
        assert ((lower <= y) & (y <= upper))[100:].mean() > 0.85
    model, tickets = HUGE[name](), []
    for t in range(150):
        tickets.append(model.ask(X[t], 3))
        if t >= 3:
            model.tell(tickets[t - 3], y[t - 3])
    ends = np.array([ticket.interval(0.9) for ticket in tickets[60:]])
    assert ((ends[:, 0] <= y[60:150]) & (y[60:150] <= ends[:, 1])).mean() > 0.8


@pytest.mark.parametrize("level", [0, 1, -0.1, 1.5, math.nan, "0.9", None, True])
def test_a_bad_level_is_refused(level, rows):
    X, y = rows
    model = dl.RLS().fit(X, y)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=r"RLS.predict_interval: level must be in \(0, 1\), got"):
        model.predict_interval(X[0], level=level)
    if level is not None:
        with pytest.raises(ValueError, match=r"RLS.run: level must be in \(0, 1\), got"):
            model.run(X, y, level=level)
    assert pickle.dumps(model) == before


def test_rows_of_any_kind_are_accepted(rows):
    X, y = rows
    model = dl.RLS()
    for x, label in zip(X, y, strict=True):
        model.learn_one(dict(zip("abc", x, strict=True)), label)
    wanted = model.predict_interval(dict(zip("abc", X[0], strict=True)))
    assert model.predict_interval(X[0]) == wanted
    assert model.predict_interval(list(X[0])) == wanted
    assert model.predict_interval({"a": X[0, 0], "b": X[0, 1], "c": X[0, 2], "new": 7.0}) == wanted
    with pytest.raises(ValueError, match=r"predict_interval: x has NaN in feature 'b'"):
        model.predict_interval({"a": 1.0, "b": math.nan, "c": 0.0})
    assert np.isnan(dl.RLS(missing="skip").fit(X, y).predict_interval([1.0, math.nan, 0.0])).all()


def test_a_skipped_row_has_no_interval_and_a_row_of_weight_0_has_one(rows):
    X, y = rows
    X[30, 0] = math.nan
    weight = np.ones(len(y))
    weight[31] = 0.0
    run = dl.RLS(missing="skip").run(X, y, level=0.5, sample_weight=weight)
    assert np.isnan([run.lower[30], run.upper[30]]).all()
    assert run.lower[31] < run.predictions[31] < run.upper[31]


def test_bins_do_not_move_if_the_last_score_is_in_another_bin_than_the_median():
    """The errors shrink by 10^20, but at each reading of the bins the last one has another size."""
    rng = np.random.default_rng(3)
    rows = np.arange(3000)
    size = np.where(rows < 600, 1.0, 1e-20)
    size[(rows >= 600) & ((rows + 1) % 64 == 0)] = 0.1
    y = size * rng.uniform(0.5, 1.0, 3000)
    for level in (0.5, 0.9):
        run = dl.NLMS(intercept=False).run(np.zeros((3000, 1)), y, level=level)
        bounds = np.array(coverage.follow(y**2, level))
        largest = np.maximum.accumulate(np.append(0, y[:-1]))
        enough = math.ceil(level / (1 - level) - 1e-9)
        np.testing.assert_allclose(run.upper[enough:], np.minimum(np.sqrt(bounds), 10 * largest)[enough:], rtol=1e-9)
