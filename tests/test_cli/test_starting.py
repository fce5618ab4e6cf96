"""What the command line does before any command: its version, its help, and packages that it needs."""

import subprocess
import sys

import pytest

import driftline
from tests.test_cli.calling import call


def test_the_version_matches_the_package(capsys):
    assert call(capsys, "--version") == (0, f"driftline {driftline.__version__}\n", "")


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"]])
def test_help_imports_nothing_heavy(arguments):
    heavy = "{'matplotlib', 'numpy', 'pyarrow', 'scipy', 'driftline.evaluate'}"
    code = f"""
import sys
from driftline.cli import main
try:
    main({arguments})
except SystemExit as ended:
    assert ended.code == 0
assert not {heavy} & set(sys.modules), {heavy} & set(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Usage" in done.stdout


@pytest.mark.parametrize("package", ["typer", "pyarrow"])
def test_a_missing_package_is_named_with_the_command_to_install_it(package):
    code = f"import sys; sys.modules[{package!r}] = None; from driftline.cli import main; main(['models'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout == ""
    way = 'The extra "cli" installs it: pip install "driftline[cli]"'
    assert done.stderr == f"driftline: the command line needs {package}. {way}\n"
