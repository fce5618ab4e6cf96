"""Auto's explanations: right on streams whose truth is known, and consistent with the numbers that they print."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.demo import demand

AT_REST = "the target is at rest, or moves so slowly that old rows still count"
SLOW = "the target moves slowly, if at all"
NO_SIGN = "there is no sign yet that the target moves"
DISAGREE = "the experts disagree about how fast the target moves"
DRIFTS = "the target drifts, or its labels have little noise"
FAST = "the target moves fast, or its labels have so little noise that a few rows determine it"
JUMPED = re.compile(r"experts started over about ([\d,]+) rows? ago, as after a jump; the target has been steady since")


def stream(seed=23, rows=5000, step=0.0, noise=1.0, jumps=(), period=0, wave=0.0):
    """Gaussian rows. The weights walk, jump, or swing with a period; a wave of 24 rows is added to the labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    weights = 1 + np.cumsum(step * rng.normal(size=X.shape), axis=0)
    for jump in jumps:
        weights[jump:] += 3 * rng.choice([-1, 1], size=3)
    if period:
        weights *= 1 + np.sin(2 * np.pi * np.arange(rows) / period)[:, None]
    wave = wave * np.sin(2 * np.pi * np.arange(rows) / 24)
    return X, np.einsum("td,td->t", X, weights) + wave + noise * rng.normal(size=rows)


def counts(seed, rows=6000):
    """Hourly counts, like those of hired bikes: a day, a week, the weather, and growth."""
    rng = np.random.default_rng(seed)
    hour = np.arange(rows)
    day, week = np.sin(2 * np.pi * hour / 24), (hour // 24) % 7 < 5
    warm = np.cumsum(rng.normal(size=rows)) / 50
    rate = np.exp(3 + day + 0.3 * week + 0.2 * np.tanh(warm) + hour / rows)
    return np.column_stack([hour % 24, week, warm]).astype(float), rng.poisson(rate).astype(float)


def learned(X, y):
    model = dl.Auto()
    model.run(X, y)
    return model


def verdict_on(X, y):
    """What Auto's explanation says about how fast the target moves."""
    return re.search(r"^The linear core remembers about [\d,]+ rows?: (.*)\.$", learned(X, y).explain(), re.MULTILINE)[1]


TRUTHS = {
    "at rest, few rows": ({"rows": 300}, {NO_SIGN}),
    "at rest": ({}, {AT_REST}),
    "at rest, many rows": ({"rows": 20_000}, {AT_REST}),
    "at rest, labels with a season": ({"wave": 5.0}, {AT_REST, SLOW}),
    "a slow walk": ({"step": 0.01}, {SLOW, DRIFTS}),
    "a walk": ({"step": 0.03}, {DRIFTS}),
    "a fast walk": ({"step": 0.5, "noise": 0.1}, {FAST}),
    "weights with a season": ({"period": 1000}, {DRIFTS}),
    "weights with a short season": ({"period": 100}, {DRIFTS, FAST}),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", TRUTHS)
def test_the_verdict_fits_the_stream(name, seed):
    options, truths = TRUTHS[name]
    assert verdict_on(*stream(seed, **options)) in truths


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("ago", [100, 300, 1000])
def test_a_jump_is_dated(ago, seed):
    found = JUMPED.fullmatch(verdict_on(*stream(seed, jumps=(5000 - ago,))))
    assert 0.9 * ago <= int(found[1].replace(",", "")) <= ago


@pytest.mark.parametrize("seed", range(6))
def test_a_target_that_keeps_jumping_is_never_simply_at_rest(seed):
    pace = verdict_on(*stream(seed, jumps=(1000, 2000, 4000)))
    assert JUMPED.fullmatch(pace) or pace in {SLOW, DRIFTS, DISAGREE}


@pytest.mark.parametrize("seed", range(3))
def test_counts_with_a_season_and_growth_are_not_called_at_rest(seed):
    assert verdict_on(*counts(seed)) in {SLOW, DRIFTS, DISAGREE}


def test_the_demo_is_not_called_at_rest_before_its_jumps_or_at_its_end():
    columns = demand.make()
    X, y = np.column_stack([columns[name] for name in ("temperature", "wind", "price")]), columns["demand"]
    assert verdict_on(X[:3600], y[:3600]) in {SLOW, DRIFTS, DISAGREE}
    assert JUMPED.fullmatch(verdict_on(X[:3700], y[:3700]))
    assert verdict_on(X, y) in {SLOW, DRIFTS, DISAGREE}


@given(
    st.integers(0, 2**32 - 1),
    st.integers(64, 1500),
    st.sampled_from([0.0, 0.01, 0.1, 1.0]),
    st.sampled_from([0.1, 1.0]),
    st.sampled_from([0.0, 5.0]),
    st.booleans(),
)
@settings(max_examples=40)
def test_the_verdict_follows_from_the_printed_numbers(seed, rows, step, noise, wave, jump):
    model = learned(*stream(seed, rows, step, noise, (rows // 2,) if jump else (), wave=wave))
    lines = model.explain().split("\n")
    place = next(number for number, line in enumerate(lines) if line.startswith("The linear core remembers"))
    pace, by_memory = lines[place : place + 2]
    memory, verdict = re.fullmatch(r"The linear core remembers about ([\d,]+) rows?: (.*)\.", pace).groups()
    memory = int(memory.replace(",", ""))
    experts = model._core.experts()
    assert memory == round(model.memory_)
    drift, rest = re.search(r"The mean drift is ([^,]*?)(?:, and (\S+) without the experts with .*)?\.$", by_memory).groups()
    assert drift == f"{model.drift_:.2g}"
    assert rest is None or float(rest) < 0.6 * model.drift_
    for low, high, name in (
        (500, np.inf, "500 rows or more"),
        (100, 500, "100 to 499"),
        (10, 100, "10 to 99"),
        (0, 10, "fewer than"),
    ):
        share = sum(one.share for one in experts if low <= round(one.memory) < high)
        assert (f"{100 * share:.0f} % on {name}" in by_memory) == (share >= 0.005)
    longest = {AT_REST: np.inf, SLOW: 499, DRIFTS: 99, FAST: 9, NO_SIGN: 499, DISAGREE: np.inf}
    shortest = {AT_REST: 500, SLOW: 100, DRIFTS: 10, FAST: 1, NO_SIGN: rows / 5, DISAGREE: 1}
    if found := JUMPED.fullmatch(verdict):
        ago = int(found[1].replace(",", ""))
        begun = [one for one in experts if one.reset > 0 and one.memory < 0.4 * rows]
        assert sum(one.share for one in begun) > 0.5
        assert ago in {round(one.memory) for one in begun}
    else:
        assert shortest[verdict] <= memory <= longest[verdict]


@pytest.mark.parametrize("noise", [0.0, 1e-9, 1e-6])
def test_a_target_at_rest_whose_labels_have_no_noise_is_not_called_moving(noise):
    """A few rows determine the target, so a short memory is no sign of drift."""
    for rows in (300, 5000):
        pace = verdict_on(*stream(rows=rows, noise=noise))
        assert pace in {AT_REST, SLOW, DISAGREE, NO_SIGN} or "little noise" in pace


def test_the_drift_without_the_few_fast_experts_is_printed_separately():
    """At rest, they have less than 1 % of the weight but most of the mean drift."""
    model = learned(*stream(rows=3000))
    experts = model._core.experts()
    slow = [one for one in experts if round(one.memory) >= 10]
    rest = sum(one.share * one.drift for one in slow) / sum(one.share for one in slow)
    assert rest < 0.5 * model.drift_
    told = f"The mean drift is {model.drift_:.2g}, and {rest:.2g} without the experts with fewer than 10 rows.\n"
    assert told in model.explain()
    fast = learned(*stream(step=0.5, noise=0.1))
    assert f"The mean drift is {fast.drift_:.2g}.\n" in fast.explain()


def in_words(**options):
    X, y = stream(rows=options.pop("rows", 2000), wave=options.pop("wave", 0.0))
    y[len(y) // 2] += options.pop("outlier", 0.0)
    return learned(X, y).explain().split("\n")


def test_there_is_no_verdict_too_early():
    assert dl.Auto().explain() == "Auto has seen no row yet."
    for rows, spelled in ((1, "1 row"), (63, "63 rows")):
        words = in_words(rows=rows)
        assert words[0].startswith(f"Weights after {spelled}: ")
        assert "The linear core cannot tell yet how fast the target moves." in words
        assert rows > 1 or "Trees split" not in "\n".join(words)


def test_the_explanation_says_whether_the_past_helps_and_how_many_labels_were_not_learned():
    assert "\nEarlier labels and rows help a lot: " in "\n".join(in_words(wave=5.0))
    assert "\nEarlier labels and rows help little: " in "\n".join(in_words())
    assert in_words(outlier=1e4)[-1] == "1 outlying label, which no expert explained, was not learned."


def test_the_explanation_says_what_the_experts_outside_the_core_found():
    rng = np.random.default_rng(3)
    rows = 4000
    hour, weekday = np.arange(rows) % 24, np.arange(rows) // 24 % 7
    table = rng.normal(size=(24, 7)) * 10
    y = table[hour, weekday] + rng.normal(size=rows)
    model = dl.Auto()
    for t in range(rows):
        model.learn_one({"hour": hour[t], "weekday": weekday[t], "noise": rng.normal()}, y[t])
    words = model.explain()
    share = int(re.search(r"The mean label of each pair of values of hour and weekday explains (\d+) %", words)[1])
    assert 90 <= share <= 100
    core = int(re.search(r"^Weights after 4,000 rows: .*the linear core (?:less than )?(\d+) %", words)[1])
    assert core < 20
    assert sum(model.weights_.values()) == pytest.approx(1.0)
