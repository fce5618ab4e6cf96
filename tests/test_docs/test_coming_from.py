"""The code of other libraries on the page for their users; that of driftline is run by Sphinx and test_examples.py."""

import re

import driftline as dl
from tests.test_docs.pages import PAGES


def test_the_code_for_river_runs():
    """It learns what the code beside it learns: minutes in the air, from the same rows."""
    blocks = re.findall(r"\*\*River\*\*\n\n```\{code-block\} python\n(.*?)```", PAGES["docs/coming_from.md"], re.DOTALL)
    assert len(blocks) == 1
    X, y = dl.datasets.flights()
    names = {"flights": list(zip(X.slice(0, 2000).to_pylist(), y.tolist(), strict=False))}
    exec(compile(blocks[0], "docs/coming_from.md", "exec"), names)
    assert 0 < names["mae"].get() < abs(y - y.mean()).mean()


def test_each_library_has_its_code_ours_a_table_and_what_it_does_better():
    sections = PAGES["docs/coming_from.md"].split("\n## ")[1:]
    assert len(sections) == 6
    for section in sections:
        for part in ("```{code-block}", "**driftline**", "\n| --- ", "better:** "):
            assert part in section, (section.splitlines()[0], part)
