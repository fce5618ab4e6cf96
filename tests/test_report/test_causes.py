"""Why the error rose: streams with a known cause, and what the report says of it."""

import numpy as np
import pytest

import driftline as dl
from driftline.demo import demand
from driftline.report import RunLog
from driftline.report.alarms import alarm_lines
from driftline.report.causes import changes
from driftline.report.contributions import contributions
from driftline.report.facts import Facts
from driftline.report.headline import headline

CHANGE, ROWS, NAMES = 2_000, 3_000, ["wind", "sun", "rain"]
SEEDS = range(4)


def facts_of(X, y, model=None, **options):
    return Facts(RunLog.of((model or dl.RLS(forgetting=0.98)).run(X, y), X, **options))


def first_cause(X, y):
    """The cause of the first alarm, which must be close to the change."""
    facts = facts_of(X, y, names=NAMES)
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
    assert first_cause(X, y + 3 * np.abs(X[:, 2])).startswith("rain is ")


@pytest.mark.parametrize("seed", SEEDS)
def test_a_changed_relation_is_distinguished_from_moved_inputs(seed):
    _, X, y = rows(seed)
    assert first_cause(X, y + after(-5.0) * X[:, 0]).startswith("The effect of wind on y changed: ")


@pytest.mark.parametrize("seed", SEEDS)
def test_noise_is_distinguished_from_a_changed_relation(seed):
    rng, X, y = rows(seed)
    assert first_cause(X, y + after(2.5, until=CHANGE + 150) * rng.normal(size=ROWS)).startswith("y is noisier: ")


@pytest.mark.parametrize("seed", SEEDS)
def test_a_label_whose_level_moved_is_named(seed):
    _, X, y = rows(seed)
    assert first_cause(X, y + after(8.0)).startswith("y is ")


@pytest.mark.parametrize(
    ("model", "row", "words"),
    [
        (dl.RLS(forgetting=0.99), demand.NEW_PIPES, "The effect of wind on demand changed: "),
        (dl.RLS(forgetting=0.99), demand.NEW_DISTRICT, "demand is 2."),
        (dl.Auto(), demand.NEW_PIPES, "The effect of wind on demand changed: "),
        (dl.Auto(), demand.NEW_DISTRICT, "demand is 2."),
    ],
    ids=["pipes, RLS", "district, RLS", "pipes, Auto", "district, Auto"],
)
def test_the_report_finds_the_causes_built_into_the_demonstration(model, row, words):
    """New pipes remove the effect of wind, and a new district doubles the demand; Auto follows it within a row or two."""
    columns = demand.make()
    names = ["temperature", "wind", "price"]
    X, y = np.column_stack([columns[name] for name in names]), columns["demand"]
    facts = facts_of(X, y, model.clone(), names=names, target="demand")
    lines = alarm_lines(facts, contributions(facts))
    line = next(line for line in lines if abs(line.row - row) < 60)
    assert line.causes[0].startswith(words)
    assert any(what.startswith(words) for _, what, _ in changes(facts))
    if row == demand.NEW_DISTRICT:
        assert any(said.startswith("It has recovered: ") and "at the new scale" in said for said in headline(facts, lines))


def test_an_alarm_without_a_known_cause_says_so():
    rng = np.random.default_rng(0)
    errors = rng.normal(size=ROWS) * after(4.0, 1.0)
    facts = Facts(RunLog.of(dl.Run(predictions=-errors, errors=errors)))  # the labels are 0
    assert [line.causes[0] for line in alarm_lines(facts, None)] == ["No cause stands out in the labels."]


@pytest.mark.parametrize("value", [1e-200, 1e200])
def test_values_of_any_size_are_accepted(value):
    _, X, y = rows(0)
    y = y * value + after(20.0) * value
    assert facts_of(X, y, dl.NLMS()).events is not None
