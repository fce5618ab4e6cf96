"""Every install line in the documents, and every message, names existing extras."""

import re
import tomllib
from pathlib import Path

import driftline
from tests.cases import for_each

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]
RAISED = re.compile(r"""missing_extra\(["'][^"']+["'], ["'](\w+)["'], ["'](\w+)["']\)""")
TEXTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@for_each("path", TEXTS)
def test_install_lines_name_existing_extras(path):
    for line in re.findall(r"pip install [^\n`#]*", path.read_text()):
        found = re.fullmatch(r"(?:\.|driftline|dist/\S+\.whl)(?:\[([a-z,]+)\])?", line.split()[-1].strip('"'))
        assert found, line
        assert set(filter(None, (found[1] or "").split(","))) <= set(EXTRAS), line


def test_the_version_is_written_once():
    """The package's metadata takes it from the source; the changelog and the citation repeat it, with one date."""
    assert "version" in PROJECT["project"]["dynamic"]
    source = PROJECT["tool"]["scikit-build"]["metadata"]["version"]["input"]
    assert f'__version__ = "{driftline.__version__}"' in (ROOT / source).read_text()
    released = re.search(
        rf"^## \[{re.escape(driftline.__version__)}\] - (\S+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    )
    citation = dict(re.findall(r"^([\w-]+): (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE))
    assert citation["version"] == driftline.__version__
    assert citation.get("date-released", "unreleased") == released[1]
    assert citation["license"] == PROJECT["project"]["license"]


def test_classifiers_name_the_pythons_that_get_wheels_and_are_tested():
    """Also the least one; and no classifier of a licence, which build backends reject beside an expression."""
    classifiers = PROJECT["project"]["classifiers"]
    named = [c.rsplit(" ", 1)[1] for c in classifiers if re.search(r"Python :: 3\.\d+$", c)]
    built = PROJECT["tool"]["cibuildwheel"]["build"]
    assert [f"cp{version.replace('.', '')}-*" for version in named] == built
    assert PROJECT["project"]["requires-python"] == f">={named[0]}"
    tested = re.search(r"python: \[(.*)\]", (ROOT / ".github/workflows/ci.yml").read_text())[1]
    assert re.findall(r"[\d.]+", tested) == named
    assert not [c for c in classifiers if c.startswith("License")]


def test_workflows_run_targets_that_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    run = [
        t for path in (ROOT / ".github/workflows").glob("*.yml") for t in re.findall(r"run: make (\S+)", path.read_text())
    ]
    assert run
    assert set(run) <= targets


def test_the_repository_is_filled_in_everywhere_or_nowhere():
    address = re.search(r"^\| repository \| (.*) \|$", (ROOT / "MAINTAINERS.md").read_text(), re.MULTILINE)[1]
    urls = PROJECT["project"].get("urls", {})
    citation = re.search(r"^repository-code: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    if address == "not published yet":
        assert not urls
        assert citation is None
    else:
        assert urls["Repository"] == citation[1] == address


def test_messages_name_extras_that_install_the_missing_package():
    found = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        for package, extra in re.findall(
            r"""missing_extra\(["'][^"']+["'], ["'](\w+)["'], ["'](\w+)["']\)""", path.read_text()
        ):
            found.append(package)
            assert any(need.startswith(package) for need in EXTRAS[extra]), path
    assert {"jinja2", "matplotlib", "pyarrow"} <= set(found)
