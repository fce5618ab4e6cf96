"""The page of guarantees names existing tests."""

import re
from pathlib import Path

from tests.cases import for_each

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`((?:tests|cpp)/[\w/]+\.(?:py|cpp)(?:::\w+)?)`", PAGE)))


@for_each("named", NAMED)
def test_the_tests_that_guarantees_name_exist(named):
    path, _, test = named.partition("::")
    text = (ROOT / path).read_text(encoding="utf-8")
    assert not test or f"def {test}(" in text


def test_every_guarantee_names_a_test():
    promised = PAGE.partition("## Not guaranteed")[0].split("\n\n")[2:]
    promises = [paragraph for paragraph in promised if paragraph and not paragraph.startswith("## ")]
    assert len(promises) > 25
    assert [promise for promise in promises if not re.search(r"\n: - `(tests|cpp)/", promise)] == []
