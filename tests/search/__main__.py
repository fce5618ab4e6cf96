"""Looks for new failures of the property tests: ``python -m tests.search --seconds 600 --seed 7``, or ``make search``.

Every round runs each property test once, in another order and on other examples; ten rounds make ten times the examples of
``make test``. The search ends after the tenth round or when the time is up, with the list of what it found. Failing examples
are kept in ``build/search/examples``, and later searches try them first.
"""

import argparse
import random
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OPTIONS = [
    *("--override-ini=addopts=", "--import-mode=importlib", "--capture=no", "-qq", "-p", "no:cacheprovider"),
    *("-p", "tests.search.rounds", f"--rootdir={ROOT}"),
]


def property_tests():
    """The files that hold property tests, except those that need Spark."""
    files = sorted(file for file in (ROOT / "tests").rglob("test_*.py") if "test_spark" not in file.parts)
    return [str(file.relative_to(ROOT)) for file in files if "@given(" in file.read_text(encoding="utf-8")]


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.search", description="Tries new examples on the property tests.")
    parser.add_argument("tests", nargs="*", help="files or tests, as pytest names them; by default all property tests")
    parser.add_argument("--seconds", type=float, default=600.0, help="for the whole search")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--round", type=int, help="run this round only")
    asked = parser.parse_args()
    options = [f"--search-seconds={asked.seconds}", f"--search-seed={asked.seed}"]
    options += [] if asked.round is None else [f"--search-round={asked.round}"]
    sys.exit(pytest.main([*OPTIONS, *options, *(asked.tests or property_tests())]))


if __name__ == "__main__":
    main()
