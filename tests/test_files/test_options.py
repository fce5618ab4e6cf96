"""Reading options: one object passes from the command line to the reader, and into a state and back."""

import json

import pytest

from driftline.cli.arguments import reading_of
from driftline.cli.options import READING
from driftline.files import Options

EVERY = {
    "target": "y",
    "task": "classify",
    "features": ("a", "b"),
    "drop": ("c",),
    "id": "order",
    "key": "shop",
    "time": "when",
    "time_format": "%Y",
    "text": ("a",),
    "na": ("-", "a,b"),
    "missing": {"": "mean", "a": "zero"},
    "categories": 3,
    "delimiter": ";",
}


def test_every_option_survives_saving_in_a_state():
    options = Options(**EVERY)
    assert options.plain().keys() == EVERY.keys()
    assert all(value != getattr(Options(), name) for name, value in options.plain().items())
    assert Options.from_plain(json.loads(json.dumps(options.plain()))) == options


def test_every_option_has_a_command_line_flag():
    assert READING.keys() == EVERY.keys()
    typed = dict.fromkeys(READING) | {
        "target": "y",
        "task": "classify",
        "features": ["a,b"],
        "drop": ["c"],
        "id": "order",
        "key": "shop",
        "time": "when",
        "time_format": "%Y",
    }
    typed |= {"text": ["a"], "na": ["-", "a,b"], "missing": ["mean,a=zero"], "categories": 3, "delimiter": ";"}
    assert reading_of(typed) == Options(**EVERY)
    assert reading_of(dict.fromkeys(READING)) == Options()
    assert READING["categories"].default == Options().categories


def test_python_accepts_a_single_name_or_policy():
    assert Options(features="wind", missing="skip") == Options(features=["wind"], missing={"": "skip"})
    assert Options(delimiter="\\t").delimiter == "\t"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"features": ["a"], "drop": ["a"]}, "a is in both features and drop"),
        ({"target": "a", "features": ["a"]}, "a is the target"),
        ({"target": "a", "drop": ["a"]}, "a is the target"),
        ({"delimiter": "ab"}, "delimiter must be one character, got 'ab'"),
        ({"missing": {"a": "men"}}, "missing for 'a' must be one of .* got 'men'. Did you mean mean?"),
        ({"task": "cluster"}, "task must be .*, got 'cluster'"),
        ({"categories": -1}, "categories must be a whole number of at least 0, got -1"),
    ],
)
def test_conflicting_options_are_refused(given, words):
    with pytest.raises(ValueError, match=words):
        Options(**given)
