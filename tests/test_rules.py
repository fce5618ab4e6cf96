"""Rules: the values that each kind accepts, and the single form of an error."""

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Literal

import numpy as np
import pytest

from driftline.base.rules import BOOLEAN, COUNT, POSITIVE, Checked, Rule, choice, number, sequence, whole

JUNK = (None, "1", b"1", [], {}, object(), 1j, np.array([1.0]), np.True_, True)

RULES = [
    (number(gt=0, lt=1), "in (0, 1)", [5e-324, np.float32(0.5), Fraction(1, 3)], [0, 1, -1.0, math.nan, math.inf]),
    (number(ge=0, le=1), "in [0, 1]", [0, 1, np.int8(1), -0.0], [-5e-324, 1 + 1e-15, math.nan]),
    (number(gt=0), "in (0, inf)", [1e308, 10**300], [0, math.inf, -math.inf, 10**400]),
    (number(ge=-1, le=math.inf), "in [-1, inf]", [-1, math.inf], [-1.5, -math.inf, math.nan]),
    (number(), "a finite number", [-1e308, 0], [math.inf, -math.inf, math.nan]),
    (whole(2), "a whole number of at least 2", [2, np.uint64(2**64 - 1), 10**400], [1, 2.0, np.float64(2)]),
    (whole(-1, 3), "a whole number in [-1, 3]", [-1, 0, np.int8(3)], [-2, 4, 0.0]),
    (sequence(whole(0)), "one or more values, each a whole number of at least 0", [(0,), np.arange(3)], [(0, -1), 3, "12"]),
    (POSITIVE | choice(["auto"]), "in (0, inf), or 'auto'", [0.5, "auto"], [0, "other", ["auto"], np.array(["auto"])]),
]


@pytest.mark.parametrize(("rule", "words", "good", "bad"), RULES, ids=[words for _, words, *_ in RULES])
def test_a_rule_accepts_what_its_words_say(rule, words, good, bad):
    assert rule.words == words
    assert all(map(rule.accepts, good))
    assert not any(map(rule.accepts, [*bad, *JUNK]))
    assert not any(map(rule.or_none().accepts, [*bad, *JUNK[1:]]))
    assert all(map(rule.or_none().accepts, [*good, None]))


def test_booleans_and_choices_are_checked():
    assert [BOOLEAN.accepts(value) for value in (True, False, 0, 1, None, np.True_)] == [True, True] + [False] * 4
    rule = choice(("a", 0, None))
    assert rule.words == "one of 'a', 0, None"
    assert [rule.accepts(value) for value in ("a", 0, None, "b", 1, [], np.array(["a"]))] == [True] * 3 + [False] * 4


def test_a_refusal_says_who_what_the_rule_and_the_value():
    for rule, value, message in (
        (number(gt=0, le=1), 1.2, "RLS: forgetting must be in (0, 1], got 1.2"),
        (COUNT.or_none(), "x", "RLS: forgetting must be None or a whole number of at least 1, got 'x'"),
        (Rule(lambda value: value.missing, "whatever"), 3, "RLS: forgetting must be whatever, got 3"),
    ):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            rule.require("RLS", "forgetting", value)


@pytest.mark.parametrize(
    ("given", "plain"), [(np.float32(0.5), 0.5), (np.int8(3), 3), (Fraction(1, 4), 0.25), (7, 7), (1.5, 1.5)]
)
def test_an_accepted_number_is_returned_as_a_python_number(given, plain):
    found = POSITIVE.require("here", "x", given)
    assert found == plain
    assert type(found) is type(plain)


def test_a_value_that_is_not_a_number_is_returned_unchanged():
    for rule, value in ((BOOLEAN, True), (COUNT.or_none(), None), (sequence(COUNT), [1, 2]), (choice("ab"), "a")):
        assert rule.require("here", "x", value) is value


@dataclass(frozen=True)
class Window(Checked):
    """Fields with a rule, and one without."""

    size: Annotated[int, COUNT]
    kind: Literal["flat", "round"] = "flat"
    note: str = ""


def test_a_dataclass_is_checked_by_its_annotations():
    assert Window(3, "round", note=5).size == 3
    with pytest.raises(ValueError, match=r"^Window: size must be a whole number of at least 1, got 0$"):
        Window(0)
    with pytest.raises(ValueError, match=r"^Window: kind must be one of 'flat', 'round', got 'square'$"):
        Window(1, "square")
