"""The papers use only public names of driftline."""

import ast
import importlib
from pathlib import Path

import papers
from tests.cases import for_each

PUBLIC = {"driftline", "driftline.evaluate", "driftline.features", "driftline.regret", "driftline.streams"}


def imports(path):
    """(module, name) of every import of driftline in a file; the name is None if a whole module is imported."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module.partition(".")[0] == "driftline":
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names if alias.name.partition(".")[0] == "driftline")


@for_each("path", sorted(Path(papers.__file__).parent.glob("*.py")))
def test_papers_use_only_public_names(path):
    for module, name in imports(path):
        assert module in PUBLIC
        assert name is None or name in importlib.import_module(module).__all__ or f"{module}.{name}" in PUBLIC
