"""The sizes that ``python -m benchmarks.size`` prints."""

import subprocess

import pytest

from benchmarks import size

SOURCE = '''"""A module.

With a second paragraph.
"""

import os  # a comment on a line of code

# a comment of its own
TEXT = """two
lines"""


class Shown:
    """Documented."""

    def bare(self):
        return (
            os
        )

    def _private(self):
        pass
'''


def test_code_lines_leave_out_blank_lines_comments_and_docstrings():
    found = size.measured("src/driftline/linear/shown.py", SOURCE)
    assert (found.files, found.lines, found.docs) == (1, 22, 5)
    assert found.code == 10  # the import, two lines of text, the class, bare with four lines, _private with two


def test_public_names_without_a_docstring_are_named():
    assert size.measured("src/driftline/linear/shown.py", SOURCE).undocumented == ["linear.shown.Shown.bare"]


def test_private_hooks_are_those_that_a_subclass_defines_anew():
    learner = "from base import run\nclass Learner:\n    _a = 1\n    _b = 2\n    run = run.run\n    def _c(self): pass\n"
    other = "class Middle(Learner):\n    pass\nclass Last(Middle):\n    _a: int = 3\n    def _c(self): pass\n"
    sources = {"src/driftline/base/learner.py": learner, "src/driftline/linear/last.py": other}
    assert size.hooks(sources) == ["_a", "_c"]
    assert size.bound(sources) == ["run.run"]


def test_the_working_tree_has_the_sizes_of_its_files():
    sources = size.sources_of(None)
    text = (size.ROOT / "benchmarks/size.py").read_text()
    assert sources["benchmarks/size.py"] == text
    folders = size.by_folder(sources)
    assert folders["src/driftline"].code == sum(one.code for name, one in folders.items() if name.startswith("  "))


def test_a_revision_has_the_files_that_git_shows():
    shown = subprocess.run(["git", "show", "HEAD:Makefile"], cwd=size.ROOT, capture_output=True)
    if shown.returncode:
        pytest.skip("not in a repository")
    sources = size.sources_of("HEAD")
    path = "src/driftline/linear/rls.py"
    assert sources[path] == subprocess.check_output(["git", "show", f"HEAD:{path}"], cwd=size.ROOT, text=True)
    assert len(sources) > 100
