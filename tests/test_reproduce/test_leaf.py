"""driftline.reproduce uses only public names, and no other module imports it."""

import ast
import functools
import importlib
from pathlib import Path

import pytest

import driftline

ROOT = Path(driftline.__file__).parent
PUBLIC = {"driftline", "driftline.evaluate", "driftline.features", "driftline.regret", "driftline.streams"}


def imports(path):
    """(module, name) of every import in a file, at any level; the name is None if a whole module is imported."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)


@functools.cache
def of_driftline(path):
    return [(module, name) for module, name in imports(path) if module.partition(".")[0] == "driftline"]


@pytest.mark.parametrize("path", sorted((ROOT / "reproduce").glob("*.py")), ids=lambda path: path.stem)
def test_reproduce_uses_only_public_names(path):
    for module, name in of_driftline(path):
        if not f"{module}.".startswith("driftline.reproduce."):
            assert module in PUBLIC
            assert name is None or name in importlib.import_module(module).__all__ or f"{module}.{name}" in PUBLIC


@pytest.mark.parametrize("package", ["reproduce", "demo"])
def test_nothing_imports_reproduce(package):
    inner = f"driftline.{package}"
    importers = {
        path.relative_to(ROOT)
        for path in ROOT.rglob("*.py")
        if path.relative_to(ROOT).parts[0] != package
        for module, name in of_driftline(path)
        if f"{module}.".startswith(f"{inner}.") or f"{module}.{name}" == inner
    }
    assert importers == set()
