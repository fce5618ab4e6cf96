"""The shortest run of each part of the attack finds no defect."""

import re

import pytest

from tests.attack.__main__ import PARTS


@pytest.mark.parametrize("part", ["interrupts", "rivals", "numbers", "requests"])
def test_the_shortest_attack_finds_no_defect(part):
    assert int(re.match(r"[\d,]+", PARTS[part](0, 1))[0].replace(",", "")) > 0
