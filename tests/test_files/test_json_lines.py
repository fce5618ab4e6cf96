"""Deeply nested JSON lines are refused before a recursive parser sees them."""

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.files import DataError, Options, Rows, json_lines, open_rows
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
    """Runs in a separate process, because a failure would be a crash."""
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


def test_predict_refuses_deep_nesting_too(capsys, tmp_path):
    source, model = tmp_path / "a.jsonl", tmp_path / "model"
    source.write_text(GOOD * 50)
    outcome(capsys, "run", source, "-t", "y", "-m", "rls", "--state", model)
    source.write_text(GOOD + nested(20_000) * 10)
    done = subprocess.run([*MAIN, "predict", model, source], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith(f"driftline predict: {source}, line 2: objects or arrays are nested")


def test_dropped_columns_may_be_moderately_nested(capsys, tmp_path):
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
def test_the_depth_matches_the_parsed_objects(objects, limit):
    data = "\n".join(map(json.dumps, objects)).encode()
    depths = [depth_of(each) for each in objects]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_lines, "DEEPEST", limit)
        assert _too_deep(data) == next((line for line, depth in enumerate(depths) if depth > limit), None)
    assert not _is_flat(data) or max(depths) == 1


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_flat_lines_are_recognised(end):
    assert _is_flat(f'{{"x": 1}}{end}{{"x": "a"}}{end}'.encode())


KEYS = st.text(alphabet='o\\"\n{}[]:, é1', max_size=4)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(alphabet='o\\"{}[]:, é1', max_size=8)
)


@given(
    KEYS,
    st.lists(st.tuples(SCALARS, st.dictionaries(KEYS, SCALARS, max_size=3), st.text(max_size=8)), min_size=1, max_size=5),
    st.sampled_from([(",", ":"), (" , ", " : "), (",\t", ":\t")]),
    st.booleans(),
)
def test_text_columns_keep_every_value_as_written(tmp_path_factory, name, rows, separators, escaped):
    """Numbers and strings may be mixed. Strings and nested objects that contain the key's name change nothing."""
    source = tmp_path_factory.mktemp("json") / "a.jsonl"
    objects = [{"nested of " + name: nested, "note of " + name: note, name: value} for value, nested, note in rows]
    lines = [json.dumps(each, separators=separators, ensure_ascii=escaped) for each in objects]
    source.write_text("\n".join(lines), encoding="utf-8")
    options = Options(features=[name, "note of " + name], text=[name])
    with Rows(source, options) as found:
        found.start()
        table = found.next_raw().table
    expected = [value if value is None or isinstance(value, str) else json.dumps(value) for value, *_ in rows]
    assert table[name].to_pylist() == expected
    assert table["note of " + name].to_pylist() == [note for *_, note in rows]


@pytest.mark.parametrize(
    ("value", "words"), [("[1]", "holds a list"), ("01", "is not a JSON object"), ("tru", "is not a JSON")]
)
def test_invalid_values_are_refused_in_text_columns_too(capsys, tmp_path, value, words):
    source = tmp_path / "a.jsonl"
    source.write_text(f'{{"id": 7, "x": 1, "y": 2}}\n{{"id": {value}, "x": 1, "y": 2}}\n')
    code, _, err = call(capsys, "run", source, "-t", "y", "-m", "rls", "--id", "id")
    assert (code, f"{source}, line 2" in err, words in err, "--drop" in err) == (1, True, True, False)


@pytest.mark.parametrize("begin", [0, 19_998])
def test_dropped_columns_may_hold_anything(capsys, tmp_path, begin):
    """Numbers, strings and objects, starting in the first block or in a later one."""
    source = tmp_path / "a.jsonl"
    odd = ["1", '"a"', "{}", "[1]", "null", "true"]
    lines = [
        f'{{"x": {t % 7}, "when": "2026-01-01", "odd": {odd[t % 6] if t >= begin else 1}, "y": 2}}\n' for t in range(20_020)
    ]
    source.write_text("".join(lines))
    found = outcome(capsys, "run", source, "-t", "y", "-m", "rls", "--drop", "odd")
    assert (found["rows"], len(found["features"])) == (20_020, 6)
    code, _, err = call(capsys, "run", source, "-t", "y", "-m", "rls")
    assert (code, f"{source}, line {begin + 2:,}, column 'odd': got 'a', but the column held a number" in err) == (1, True)


@pytest.mark.parametrize("option", [["--key", "k"], ["--text", "k"], ["--task", "classify"]])
def test_numbers_may_be_keys_categories_and_classes(capsys, tmp_path, option):
    """The result is the same as from a CSV file, in which they are text."""
    values = [("k", "x", "y"), *((t % 3, t % 7, t % 2) for t in range(60))]
    (tmp_path / "a.csv").write_text("".join(",".join(map(str, row)) + "\n" for row in values))
    (tmp_path / "a.jsonl").write_text(
        "".join(json.dumps(dict(zip(values[0], row, strict=True))) + "\n" for row in values[1:])
    )
    found = [outcome(capsys, "run", tmp_path / f"a.{end}", "-t", "y", "-m", "rls", *option) for end in ("csv", "jsonl")]
    differing = {name for name in found[0] if found[0][name] != found[1][name]}
    assert differing <= {"source", "seconds", "rows_per_second", "reading_seconds", "learning_seconds"}


def test_a_deeply_nested_parameter_is_refused(capsys, tmp_path):
    code, _, err = call(capsys, "run", tmp_path / "a.csv", "-t", "y", "-m", "rls", "-s", "forgetting=" + "[" * 100_000)
    assert (code, "forgetting must be" in " ".join(err.split())) == (2, True)


@pytest.mark.parametrize(
    ("odd", "place"),
    [
        (r'{"x": 2, "where": "\ud800", "y": 1}', r"line 2, column 'where': '\\ud800' has half of a surrogate pair"),
        (r'{"x": 2, "\udc00b": 1, "y": 1}', r"line 2: the key '\\udc00b' has half of a surrogate pair"),
        (r'{"x": 2, "y": 1, "dropped": [{"\ud83d!": 1}]}', r"line 2, column 'dropped': .*has half of a surrogate pair"),
        (r'{"x": 2, "\ude00\ud83d": null, "y": 1}', r"line 2: the key '\\ude00\\ud83d' has half of a surrogate pair"),
    ],
)
def test_half_of_a_surrogate_pair_is_refused_with_its_line(tmp_path, odd, place):
    path = tmp_path / "a.jsonl"
    path.write_text('{"x": 1, "where": "\\ud83d\\ude00", "y": 1}\n' + odd + "\n")
    with pytest.raises(DataError, match=place):
        list(open_rows(path, target="y", drop=["dropped"]))
    path.write_text('{"x": 1, "where": "\\ud83d\\ude00", "y": 1}\n')
    (block,) = open_rows(path, target="y")
    assert block.X.values["where"].values.values == ["\U0001f600"]
