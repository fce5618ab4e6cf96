"""Every install line in the documents, and every message, names existing extras."""

import re
import tomllib
from pathlib import Path

import driftline
from tests.cases import for_each

ROOT = Path(__file__).parents[1]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
RAISED = re.compile(r"""missing_extra\(["'][^"']+["'], ["'](\w+)["'], ["'](\w+)["']\)""")
TEXTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@for_each("path", TEXTS)
def test_install_lines_name_existing_extras(path):
    for line in re.findall(r"pip install [^\n`#]*", path.read_text()):
        found = re.fullmatch(r"(?:\.|driftline|dist/\S+\.whl)(?:\[([a-z,]+)\])?", line.split()[-1].strip('"'))
        assert found, line
        assert set(filter(None, (found[1] or "").split(","))) <= set(EXTRAS), line


def test_the_version_is_written_once():
    """The package's metadata takes it from the source; the changelog has an entry for it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" in project["project"]["dynamic"]
    source = project["tool"]["scikit-build"]["metadata"]["version"]["input"]
    assert f'__version__ = "{driftline.__version__}"' in (ROOT / source).read_text()
    assert f"## [{driftline.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_messages_name_extras_that_install_the_missing_package():
    found = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        for package, extra in re.findall(
            r"""missing_extra\(["'][^"']+["'], ["'](\w+)["'], ["'](\w+)["']\)""", path.read_text()
        ):
            found.append(package)
            assert any(need.startswith(package) for need in EXTRAS[extra]), path
    assert {"jinja2", "matplotlib", "pyarrow"} <= set(found)
