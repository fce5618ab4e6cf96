"""Calls the command line within this process."""

import functools
import json

import pyarrow.csv
import pyarrow.json
import pyarrow.parquet
import pytest
import typer.main

from driftline import cli

# typer rebuilds all commands at each call, which takes longer than most commands; a user's process makes one call.
typer.main.get_command = functools.cache(typer.main.get_command)


def call(capsys, *arguments):
    """The exit code, the standard output and the standard error of a command."""
    with pytest.raises(SystemExit) as ended:
        cli.main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return ended.value.code, captured.out, captured.err


def outcome(capsys, *arguments):
    """The JSON output of a command that succeeds."""
    code, out, err = call(capsys, *arguments, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def predictions(path):
    """The predictions that a run wrote, as a table."""
    read = {".csv": pyarrow.csv.read_csv, ".jsonl": pyarrow.json.read_json, ".parquet": pyarrow.parquet.read_table}
    return read[path.suffix](path)
