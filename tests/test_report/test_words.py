"""Numbers and findings as the page words them."""

import math

import pytest

from driftline.report import words
from tests.cases import for_each

NUMBERS = {
    0.0: "0",
    1.0: "1",
    -1.5: "−1.5",
    1234.5678: "1,235",
    0.00123456: "0.001235",
    123456.0: "123,456",
    9_999_999.0: "9,999,999",
    1e7: "10 million",
    -12_345_678.0: "−12.35 million",
    3.21e9: "3.21 billion",
    4e11: "400 billion",
    1e14: "100 trillion",
    7.5e16: "75 quadrillion",
    1e18: "1 × 10¹⁸",
    -2.5e30: "−2.5 × 10³⁰",
    1.5e-9: "1.5 × 10⁻⁹",
    math.inf: "∞",
    -math.inf: "−∞",
    math.nan: "–",
    0.1 + 0.2: "0.3",
}


@for_each("value", NUMBERS)
def test_numbers_are_rounded_for_the_page(value):
    assert words.number(value) == NUMBERS[value]


def test_an_unknown_number_is_marked():
    assert words.number(None) == "–"


COMPARED = {
    (88.0, 100.0): "12 % below",
    (112.0, 100.0): "12 % above",
    (99.9, 100.0): "less than 1 % below",
    (100.0, 100.0): "equal to",
    (0.1, 100.0): "99 % below",
    (350.0, 100.0): "3.5 times",
    (1e9, 1.0): "far above",
    (1.0, 0.0): "above",
    (math.inf, 1.0): "not comparable with",
    (math.nan, 1.0): "not comparable with",
}


@pytest.mark.parametrize("errors", COMPARED)
def test_errors_are_compared_in_words(errors):
    assert words.compared(*errors) == COMPARED[errors]


def test_dates_are_more_precise_for_shorter_streams():
    moment = 1_330_738_245.0  # 2012-03-03 01:30:45 in UTC
    assert words.date(moment, 400 * words.DAY) == "3 Mar 2012"
    assert words.date(moment, 10 * words.DAY) == "3 Mar 2012, 01:30"
    assert words.date(moment, 60.0) == "3 Mar 2012, 01:30:45"
    assert words.date(-1e18, 1.0) == "−1 × 10¹⁸"


DURATIONS = {
    0.2: "1 second",
    45.0: "45 seconds",
    100.0: "2 minutes",
    5400.0: "2 hours",
    86_400.0: "24 hours",
    3 * 86_400.0: "3 days",
    40 * 86_400.0: "40 days",
    400 * 86_400.0: "13 months",
    4e8: "13 years",
}


@pytest.mark.parametrize("seconds", DURATIONS)
def test_durations_are_given_in_one_unit(seconds):
    assert words.duration(seconds) == DURATIONS[seconds]


def test_ratios_are_worded():
    ratios = (6.43, 123.4, 1.3, 1.001, 0.8, math.inf)
    found = ["6.4 times", "123 times", "30 % more", "about the same", "20 % less", "far more"]
    assert [words.ratio(value) for value in ratios] == found


def test_lists_and_counts_are_worded():
    assert words.listed(["a"]) == "a"
    assert words.listed(["a", "b"]) == "a and b"
    assert words.listed(list("abcde")) == "a, b, c and 2 more"
    assert [words.times(n) for n in (1, 2, 3, 1200)] == ["once", "twice", "3 times", "1,200 times"]
    assert words.count(1, "row") == "1 row"
    assert words.count(1200, "row") == "1,200 rows"
    assert [words.about(value) for value in (0.2, 3.4, 812.0, 12_345.0)] == [1, 3, 810, 12_000]
    assert words.level(0.9) == "90 %"
    assert words.level(0.995) == "99.5 %"
