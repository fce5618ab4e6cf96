"""Commands that other packages add by entry points of the group driftline.commands."""

import sys
import tomllib
import types
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from driftline.cli import plugins

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def offered(monkeypatch, *points):
    """A command line with one command of its own and those of the given entry points."""
    monkeypatch.setattr(plugins, "entry_points", lambda group: [point for point in points if point.group == group])
    app = typer.Typer()
    app.command("own")(lambda: typer.echo("own"))
    app.callback()(lambda: None)
    plugins.add_commands(app)
    return app


@pytest.fixture
def module(monkeypatch):
    """A module of another package, whose function adds a command."""
    made = types.ModuleType("somebodys")
    made.register = lambda app: app.command("greet")(lambda: typer.echo("hello"))
    monkeypatch.setitem(sys.modules, "somebodys", made)


@pytest.mark.usefixtures("module")
def test_a_package_adds_its_command(monkeypatch):
    app = offered(
        monkeypatch,
        EntryPoint("greet", "somebodys:register", plugins.GROUP),
        EntryPoint("other", "somebodys:register", "another.group"),
    )
    for name, printed in (("greet", "hello\n"), ("own", "own\n")):
        done = CliRunner().invoke(app, [name])
        assert (done.exit_code, done.output) == (0, printed)
    assert len(app.registered_commands) == 2


def test_a_package_that_cannot_be_loaded_is_named_and_the_rest_works(monkeypatch, capsys):
    app = offered(monkeypatch, EntryPoint("broken", "no.such.module:register", plugins.GROUP))
    assert capsys.readouterr().err.startswith("driftline: the command broken of no.such.module:register cannot be loaded: ")
    assert CliRunner().invoke(app, ["own"]).output == "own\n"


def test_the_projects_own_entry_points_add_the_commands_they_are_named_after(monkeypatch):
    own = tomllib.loads(PROJECT.read_text())["project"]["entry-points"][plugins.GROUP]
    app = offered(monkeypatch, *(EntryPoint(name, value, plugins.GROUP) for name, value in own.items()))
    names = {command.name or command.callback.__name__ for command in app.registered_commands}
    assert names == {"own", "consume", "demo", "serve", "backup", "token", "push", "migrate"}
