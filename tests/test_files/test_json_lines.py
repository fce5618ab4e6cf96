"""Deeply nested JSON lines are refused before a recursive parser sees them."""

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.files import json_lines
from driftline.files.json_lines import DEEPEST, _is_flat, _too_deep
from tests.test_cli.calling import call, outcome

MAIN = [sys.executable, "-c", "from driftline.cli import main; main()"]
GOOD = '{"x": 1.5, "note": "a { and a [", "y": 2}\n'
LEVELS = {"objects": ('{"a":', "}"), "arrays": ("[", "]"), "both": ('[{"a":', "}]")}


def nested(depth, kind="objects"):
    begin, end = LEVELS[kind]
    return f'{{"y": 1, "x": {begin * depth}1{end * depth}}}\n'


EACH = """
import json, sys
from driftline.cli import main

for arguments in json.loads(sys.argv[1]):
    try:
        main(arguments)
    except SystemExit as ended:
        print(ended.code)
"""


@pytest.mark.parametrize("kind", LEVELS)
def test_deep_nesting_is_refused_with_its_line(tmp_path, kind):
    """In a process of its own: what is tested is that it does not crash."""
    commands, words = [], []
    for before in (0, 20_000):
        source = tmp_path / f"{before}.jsonl"
        source.write_text(GOOD * before + nested(20_000, kind) * 10)
        for drop in ([], ["--drop", "x"]):
            commands.append(["run", str(source), "-t", "y", "-m", "rls", *drop])
            words.append(f"{source}, line {before + 1:,}: objects or arrays are nested more than {DEEPEST} levels deep")
    done = subprocess.run([sys.executable, "-c", EACH, json.dumps(commands)], capture_output=True, text=True)
    assert (done.returncode, done.stdout.split()) == (0, ["1"] * len(commands))
    assert done.stderr.splitlines() == [f"driftline run: {line}" for line in words]


def test_nesting_over_many_lines_is_refused_too(tmp_path):
    source = tmp_path / "deep.jsonl"
    source.write_text(GOOD + '{"a":\n' * 20_000 + "}\n" * 20_000)
    done = subprocess.run([*MAIN, "run", source, "-t", "y", "-m", "rls"], capture_output=True, text=True)
    assert done.returncode == 1
    assert f"line {DEEPEST + 2}: objects or arrays are nested" in done.stderr


def test_predict_refuses_it_too(capsys, tmp_path):
    source, model = tmp_path / "a.jsonl", tmp_path / "model"
    source.write_text(GOOD * 50)
    outcome(capsys, "run", source, "-t", "y", "-m", "rls", "--state", model)
    source.write_text(GOOD + nested(20_000) * 10)
    done = subprocess.run([*MAIN, "predict", model, source], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith(f"driftline predict: {source}, line 2: objects or arrays are nested")


def test_columns_that_are_dropped_may_be_nested_a_little(capsys, tmp_path):
    source = tmp_path / "a.jsonl"
    source.write_text(nested(DEEPEST - 1) * 40)
    assert outcome(capsys, "run", source, "-t", "y", "-m", "rls", "--drop", "x")["rows"] == 40
    code, _, err = call(capsys, "run", source, "-t", "y", "-m", "rls")
    assert (code, "column 'x': holds a list or an object" in err) == (1, True)


VALUES = st.recursive(
    st.none() | st.integers() | st.text(alphabet='{}[]"\\\n\r ax', max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(alphabet='{["\\a', max_size=3), inner, max_size=3),
    max_leaves=20,
)


def depth_of(value):
    if isinstance(value, dict):
        return 1 + max(map(depth_of, value.values()), default=0)
    return 1 + max(map(depth_of, value), default=0) if isinstance(value, list) else 0


@given(st.lists(st.dictionaries(st.text(max_size=2), VALUES, max_size=3), min_size=1, max_size=5), st.integers(1, 5))
def test_the_depth_is_that_of_the_parsed_objects(objects, limit):
    data = "\n".join(map(json.dumps, objects)).encode()
    depths = [depth_of(each) for each in objects]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_lines, "DEEPEST", limit)
        assert _too_deep(data) == next((line for line, depth in enumerate(depths) if depth > limit), None)
    assert not _is_flat(data) or max(depths) == 1


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_flat_lines_are_known_at_a_look(end):
    assert _is_flat(f'{{"x": 1}}{end}{{"x": "a"}}{end}'.encode())


def test_a_parameter_that_is_nested_deeply_is_refused(capsys, tmp_path):
    code, _, err = call(capsys, "run", tmp_path / "a.csv", "-t", "y", "-m", "rls", "-s", "forgetting=" + "[" * 100_000)
    assert (code, "forgetting must be" in " ".join(err.split())) == (2, True)
