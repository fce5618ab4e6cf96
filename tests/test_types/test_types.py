"""The types that type checkers and editors see."""

import inspect
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import driftline as dl
from driftline import features
from driftline.base import registry
from tests.cases import for_each

pytest.importorskip("mypy")
USER = Path(__file__).parent / "user.py"
CLASSES = [
    *registry.learners().values(),
    *(value for name in features.__all__ if isinstance(value := getattr(features, name), type)),
    dl.Refit,
]


def mypy(*files):
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--ignore-missing-imports", *map(str, files)]
    run = subprocess.run(command, capture_output=True, text=True, cwd=USER.parents[2], check=False)
    return run.returncode, run.stdout + run.stderr


def test_a_users_file_with_every_public_name_type_checks_and_constructors_show_only_parameters(tmp_path):
    """One mypy run for both, because most of its time is spent on the library."""
    shown = tmp_path / "shown.py"
    imports = [f"from {cls.__module__} import {cls.__name__}\n" for cls in CLASSES]
    shown.write_text("".join(imports) + "".join(f"reveal_type({cls.__name__})\n" for cls in CLASSES))
    code, said = mypy(USER, shown)
    assert code == 0, said
    assert "user.py" not in said
    names = {}
    for shown in re.findall(r'Revealed type is "(.*)"', said):
        for one in re.split(r", (?=def \()", shown.removeprefix("Overload(")) if shown.startswith("Overload(") else [shown]:
            found, name = re.match(r"def \((.*)\) -> [\w.]+\.(\w+)", one).groups()
            names[name] = set(re.findall(r"(?:^|, )(\w+): ", found))
    expected = {cls.__name__: set(cls._params) for cls in CLASSES}
    expected["AutoWithExperts"] = {"experts"} | expected["Auto"]  # the result of Auto(experts=...)
    assert names == expected


def test_the_users_file_uses_every_public_name_except_learners_and_runs():
    """A new learner needs no line there: the test above checks the types of every learner's constructor."""
    text = USER.read_text(encoding="utf-8")
    others = set(dl.__all__) - {cls.__name__ for cls in registry.learners().values()}
    unused = sorted(name for name in others if not re.search(rf"\bdl\.{name}\b", text))
    assert not unused, f"tests/test_types/user.py does not use {', '.join(unused)}"
    program = runpy.run_path(str(USER))
    for part in ("learners", "composed", "around", "refused"):
        program[part](*program["rows"]())


@for_each("cls", CLASSES)
def test_signatures_show_the_parameters_and_their_defaults(cls):
    for signature in (inspect.signature(cls), inspect.signature(cls.__init__, follow_wrapped=False)):
        parameters = {name: shown.default for name, shown in signature.parameters.items() if name != "self"}
        assert parameters == {name: param.default for name, param in cls._params.items()}
