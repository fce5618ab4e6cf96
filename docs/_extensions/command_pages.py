"""Writes cli/<command>.md for every command of the command line, and cli/index.md, when a build starts."""

import re
from pathlib import Path

from pages import write_pages
from typer.main import get_command

from driftline.cli.app import app as commands

INDEX = """\
# Commands

Each command has a page. {{doc}}`/command_line` explains how files are read, and how a run is resumed after it was killed.

| command | what it does |
| --- | --- |
{rows}

`driftline --install-completion` makes the shell complete commands, options, learners, their parameters, and the columns of
the given file. `driftline --version` shows the version.

```{{toctree}}
:hidden:

{names}
```
"""

PAGE = """\
# driftline {name}

{text}

```shell
{examples}
```

## Arguments and options

| name | meaning | default |
| --- | --- | --- |
{rows}
"""


def as_code(text):
    """Marks options and empty strings in a text as code, so that typography does not change them."""
    return re.sub(r'(?<![\w`-])(--[a-z][a-z-]*|"")(?![\w`])', r"`\1`", text)


def parts_of(command):
    """The text of the help, and its examples."""
    text, _, examples = command.help.partition("\b\nExamples:\n")
    return as_code(text.strip()), "\n".join(line.strip() for line in examples.strip().split("\n"))


def row(param):
    names = param.opts if param.name not in param.opts else [param.metavar or param.name.upper()]
    value = f" {param.metavar}" if param.metavar and param.name not in param.opts else ""
    default = "required" if param.required else "" if param.default in (None, False) else f"`{param.default}`"
    shown = ", ".join(f"`{name}{value}`" for name in sorted(names, key=len, reverse=True))
    return f"| {shown} | {as_code(param.help)} | {default} |"


def page(name, command):
    text, examples = parts_of(command)
    rows = [row(param) for param in command.params if param.name != "help"]
    return PAGE.format(name=name, text=text, examples=examples, rows="\n".join(rows))


def write(app):
    folder = Path(app.srcdir) / "cli"
    known = get_command(commands).commands
    rows = [f"| [{name}]({name}.md) | {parts_of(command)[0].split(chr(10) * 2)[0]} |" for name, command in known.items()]
    texts = {f"{name}.md": page(name, command) for name, command in known.items()}
    texts["index.md"] = INDEX.format(rows="\n".join(rows), names="\n".join(known))
    write_pages(folder, texts)


def setup(app):
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True}
