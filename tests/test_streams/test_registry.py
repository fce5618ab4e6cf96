import dataclasses
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import driftline.streams
from driftline.streams import Source, Stream, make, names, table

PAGE = Path(__file__).parents[2] / "docs" / "streams.md"


def public(kind):
    members = (getattr(driftline.streams, name) for name in driftline.streams.__all__)
    return {member for member in members if inspect.isclass(member) and issubclass(member, kind)}


def test_every_source_can_be_made_by_its_name():
    assert {type(make(name)) for name in names()} == public(Source) - {Source}


@pytest.mark.parametrize("name", names())
def test_the_defaults_make_a_working_stream(name):
    stream = make(name, seed=5)
    assert stream.seed == 5
    assert len(stream.take(50)[1]) == 50


@pytest.mark.parametrize(
    "cls", sorted(public(Stream) - {Stream, Source}, key=lambda cls: cls.__name__), ids=lambda cls: cls.__name__
)
def test_every_stream_is_a_frozen_dataclass_with_an_example(cls):
    assert dataclasses.is_dataclass(cls)
    assert cls.__dataclass_params__.frozen
    assert ">>>" in cls.__doc__


def test_the_docs_page_has_the_table_and_every_stream():
    """If this fails, run ``python -m driftline.streams`` and paste its output into the page."""
    page = PAGE.read_text(encoding="utf-8")
    assert table() in page
    for cls in public(Stream):
        assert f"driftline.streams.{cls.__name__}" in page


def test_the_module_prints_the_table():
    printed = subprocess.run([sys.executable, "-m", "driftline.streams"], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == table()
