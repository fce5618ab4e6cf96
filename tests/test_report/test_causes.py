"""Why the error rose: streams with a known cause, and the statistics that identify it."""

import numpy as np
import pytest
from scipy import stats

import driftline as dl
from driftline.demo import demand
from driftline.report import RunLog, evidence
from driftline.report.alarms import alarm_lines
from driftline.report.contributions import contributions
from driftline.report.facts import Facts
from driftline.report.usual import Usual

CHANGE, ROWS, NAMES = 2_000, 3_000, ["wind", "sun", "rain"]
SEEDS = range(6)


def first_cause(X, y, model=None):
    """The cause of the first alarm, which must be close to the change."""
    log = RunLog.of((model or dl.RLS(forgetting=0.98)).run(X, y), X, names=NAMES)
    facts = Facts(log)
    line = alarm_lines(facts, contributions(facts))[0]
    assert CHANGE - 8 <= line.row <= CHANGE + 40
    return line.causes[0]


def rows(seed, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, 3))
    return rng, X, 2 * X[:, 0] + X[:, 1] + noise * rng.normal(size=ROWS)


def after(value, otherwise=0.0, until=ROWS):
    at = np.arange(ROWS)
    return np.where((at >= CHANGE) & (at < until), value, otherwise)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_input_that_moved_is_named(seed):
    _, X, y = rows(seed)
    X[:, 2] += after(6.0)
    assert first_cause(X, y + 3 * np.abs(X[:, 2])).startswith("rain moved to ")


@pytest.mark.parametrize("seed", SEEDS)
def test_an_input_that_varies_more_is_named(seed):
    _, X, y = rows(seed)
    X[:, 2] *= after(6.0, 1.0)
    assert first_cause(X, y + np.abs(X[:, 2])).startswith("rain varies more, by ")


@pytest.mark.parametrize("seed", SEEDS)
def test_an_input_that_never_changed_before_is_named(seed):
    _, X, y = rows(seed)
    X[:, 2] = after(1.0)
    assert first_cause(X, y + 5 * X[:, 0] * X[:, 2]) == "rain moved to 1 on average (always 0 before)."


@pytest.mark.parametrize("seed", SEEDS)
def test_a_changed_relation_is_distinguished_from_moved_inputs(seed):
    _, X, y = rows(seed)
    cause = first_cause(X, y + after(-5.0) * X[:, 0])
    assert cause.startswith("None of the inputs moved: the relation itself changed. The errors follow wind (correlation −0.")


@pytest.mark.parametrize("seed", SEEDS)
def test_noise_is_distinguished_from_a_changed_relation(seed):
    rng, X, y = rows(seed)
    cause = first_cause(X, y + after(2.5, until=CHANGE + 150) * rng.normal(size=ROWS))
    assert (
        cause
        == "None of the inputs moved, and the errors follow none of them: noise, or something that the inputs do not show."
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_noise_is_not_reported_as_a_changed_effect(seed):
    """More noise makes estimates vary more, but what they estimate does not change."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, 12))
    y = X @ rng.normal(size=12) + after(2.5, 0.5) * rng.normal(size=ROWS)
    facts = Facts(RunLog.of(dl.RLS(forgetting=0.98).run(X, y), X))
    line = alarm_lines(facts, contributions(facts))[0]
    assert not any("effect of" in cause for cause in line.causes)


@pytest.mark.parametrize(
    ("model", "row", "words"),
    [
        (dl.RLS(forgetting=0.99), demand.NEW_PIPES, ", in its level."),
        (dl.RLS(forgetting=0.99), demand.NEW_DISTRICT, ""),
        (dl.Auto(), demand.NEW_PIPES, " (effect of wind "),
    ],
    ids=["pipes, RLS", "district, RLS", "pipes, Auto"],
)
def test_the_report_finds_the_causes_built_into_the_demonstration(model, row, words):
    """New pipes remove the effect of wind, and a new district increases all effects; the weather does not change.

    Auto follows the new district within a row or two, from labels alone, so its errors do not show what changed.
    """
    columns = demand.make()
    names = ["temperature", "wind", "price"]
    X, y = np.column_stack([columns[name] for name in names]), columns["demand"]
    facts = Facts(RunLog.of(model.clone().run(X, y), X, names=names))
    lines = alarm_lines(facts, contributions(facts))
    line = next(line for line in lines if abs(line.row - row) < 60)
    assert line.causes[0].startswith(f"None of the inputs moved: the relation itself changed{words}")


@pytest.mark.parametrize("model", [dl.RLS(forgetting=0.98), dl.Auto()], ids=["RLS", "Auto, which follows at once"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_label_whose_level_moved_is_named(seed, model):
    _, X, y = rows(seed)
    cause = first_cause(X, y + after(8.0), model.clone())
    assert cause.startswith("y moved to ")
    assert cause.endswith(" deviations away). None of the inputs moved.")


@pytest.mark.parametrize("seed", SEEDS)
def test_a_label_that_varies_more_is_named(seed):
    rng, X, _ = rows(seed)
    y = 0.2 * X[:, 0] + after(4.0, 1.0) * rng.normal(size=ROWS)
    assert first_cause(X, y).startswith("y itself varies more: its spread is ")


@pytest.mark.parametrize("seed", SEEDS)
def test_a_few_bad_rows_are_named_with_their_unusual_values(seed):
    _, X, y = rows(seed)
    lowest, highest = X[CHANGE - 1024 : CHANGE, 1].min(), X[CHANGE - 1024 : CHANGE, 1].max()
    X[CHANGE : CHANGE + 8, 1] = [90, -80, 20, 100, -20, 20, 20, -20]  # a faulty sensor, which does not affect the label
    said = 2 * X[:, 0] + X[:, 1]
    log = RunLog.of(dl.Run(predictions=said, errors=y - said), X, names=NAMES)
    facts = Facts(log)
    (line,) = alarm_lines(facts, None)
    assert line.row == CHANGE
    squares, before = np.sort((y - said)[CHANGE : CHANGE + 64] ** 2)[::-1], (y - said)[CHANGE - 1024 : CHANGE] ** 2
    usual = np.sort(before)[::-1][: round(3 / 64 * 1024)].sum() / 1024
    share = (squares[:3].sum() / 64 - usual) / (squares.mean() - before.mean())
    odd = f"In that row, sun was 100; until then, it was {lowest:.3g} to {highest:.3g}.".replace("-", "−")
    made = f"account for {100 * share:.0f} % of the rise in the squared error"
    lasts = "The rows are outliers, or the model adapted within these rows to a change that lasts."
    assert line.causes[0] == f"3 rows, the worst of them row 2,003, {made}. {odd} {lasts}"


def test_the_errors_dependence_on_inputs_is_tested():
    """The share and the test agree with those of an ordinary regression."""
    rng = np.random.default_rng(7)
    X_before, X = rng.normal(size=(500, 2)), rng.normal(size=(80, 2)) * [1, 3] + [0, 5]
    before, during = rng.normal(size=500), 0.8 * X[:, 1] + rng.normal(size=80)
    share, leader, correlation = evidence.followed_inputs(before, X_before, during, X)
    columns = np.column_stack([np.ones(500), X_before])
    left = during - np.column_stack([np.ones(80), X]) @ np.linalg.lstsq(columns, before, rcond=None)[0]
    columns = np.column_stack([np.ones(80), X])
    rest = left - columns @ np.linalg.lstsq(columns, left, rcond=None)[0]
    assert (leader, correlation) == (1, pytest.approx(stats.pearsonr(left, X[:, 1]).statistic, rel=1e-9))
    assert share == pytest.approx((left.var(ddof=1) - rest @ rest / 77) / np.mean(during**2), rel=1e-9)
    shuffled = rng.permutation(during)
    assert evidence.followed_inputs(before, X_before, shuffled, X) == (0.0, -1, 0.0)


def test_a_dependence_that_existed_before_is_not_a_change():
    rng = np.random.default_rng(8)
    X_before, X = rng.normal(size=(500, 2)), rng.normal(size=(80, 2))
    before, during = (3 * part[:, 0] + rng.normal(size=len(part)) for part in (X_before, X))
    assert evidence.followed_inputs(before, X_before, during, X) == (0.0, -1, 0.0)


def test_inputs_that_did_not_move_are_rarely_reported():
    """In about one of a hundred comparisons with 10 normally distributed columns."""
    rng, found = np.random.default_rng(9), 0
    for _ in range(500):
        usual = Usual(100)
        usual.widen(10)
        usual.add(rng.normal(size=(8 * 64, 10)))
        lines, limit = usual.moved(rng.normal(size=(64, 10)), 0, 1)
        found += abs(lines[0, 2] - lines[0, 3]) / lines[0, 4] >= limit
    assert found <= stats.binom.ppf(0.9999, 500, 0.02)
    assert limit == pytest.approx(stats.t(7).ppf(1 - 0.01 / 40) * np.sqrt(1 + 2 / 8), rel=1e-9)


def test_values_of_any_size_are_accepted():
    rng = np.random.default_rng(10)
    errors = np.concatenate([rng.normal(size=1_500), 1e160 * rng.normal(size=500)])
    X = rng.normal(size=(2_000, 2)) * [1e200, 1e-200]
    facts = Facts(RunLog.of(dl.Run(predictions=np.zeros(2_000), errors=errors), X, names=NAMES[:2]))
    assert all(line.causes for line in alarm_lines(facts, contributions(facts)))
