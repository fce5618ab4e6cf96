"""What a newcomer copies: every install line of the documents names extras that there are, and every message does."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
RAISED = re.compile(r"""missing_extra\(["'][^"']+["'], ["'](\w+)["'], ["'](\w+)["']\)""")
TEXTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_install_lines_work_in_a_clone(path):
    for line in re.findall(r"pip install [^\n`#]*", path.read_text()):
        wanted = line.split()[2].strip('"')
        assert wanted == "." or re.fullmatch(r"\.\[[a-z,]+\]", wanted), line
        assert set(re.findall(r"[a-z]+", wanted)) <= set(EXTRAS), line


def test_messages_name_extras_that_bring_what_is_lacking():
    found = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        for package, extra in re.findall(
            r"""missing_extra\(["'][^"']+["'], ["'](\w+)["'], ["'](\w+)["']\)""", path.read_text()
        ):
            found.append(package)
            assert any(need.startswith(package) for need in EXTRAS[extra]), path
    assert {"jinja2", "matplotlib", "pyarrow"} <= set(found)
