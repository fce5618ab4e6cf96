"""Writes learners/<name>.md for every registered learner, and learners/index.md, when a build starts."""

from pathlib import Path
from types import FunctionType

from pages import write_pages

from driftline import Learner
from driftline.base.docstrings import Readable, meanings_of, written
from driftline.base.registry import learners, summary_of

INDEX = """\
# Learners

Each learner has a page; the [start page](../index.md#which-learner) groups them by when to use
them. d is the number of features, including the constant one. All learners have the same methods: see
{{py:class}}`driftline.Learner`.

| learner | what it does | cost a row |
| --- | --- | --- |
{rows}

The second-order learners, with cost O(d²), share one recursion: see the table in {{doc}}`/mathematics`.
With a `radius`, a row after which the weights have to be projected costs O(d³).

```{{toctree}}
:hidden:

{names}
```
"""

PAGE = """\
# {title}

```{{testsetup}}
from {module} import {title}
```

```{{eval-rst}}
.. index::
{entries}

.. currentmodule:: {module}
.. autoclass:: {title}
{members}
```

## Defaults and rules

| name | default | must be | meaning |
| --- | --- | --- | --- |
{rows}

Parameters are keyword-only, checked in the constructor and in `set_params`, and never changed by learning.

- Registered as `{name}`.
- Source: `{source}`.
"""


def in_cell(words):
    """Escapes text for a Markdown table."""
    for character in "|*_":
        words = words.replace(character, "\\" + character)
    return words


def page(name, cls):
    meanings = meanings_of(cls)
    rows = [
        f"| `{name}` | `{param.default!r}` | {in_cell(param.rule.words)} | {in_cell(meanings[name])} |"
        for name, param in cls._params.items()
    ]
    own = [
        member
        for member, value in vars(cls).items()
        if not member.startswith("_")
        and member not in cls._params
        and isinstance(value, classmethod | staticmethod | property | FunctionType)
    ]
    return PAGE.format(
        title=cls.__name__,
        module=cls.__module__ if not exported(cls) else "driftline",
        members=f"   :members: {', '.join(own)}" if own else "",
        rows="\n".join(rows),
        entries="\n".join(f"   ! single: {parameter}; {cls.__name__}" for parameter in cls._params),
        name=name,
        source="src/" + cls.__module__.replace(".", "/") + ".py",
    )


def exported(cls):
    import driftline

    return getattr(driftline, cls.__name__, None) is cls


def index(known):
    rows = []
    for name, cls in known.items():
        what, cost = summary_of(cls)
        rows.append(f"| [{cls.__name__}]({name}.md) | {what} | {cost} |")
    return INDEX.format(rows="\n".join(rows), names="\n".join(known))


def write(app):
    folder = Path(app.srcdir) / "learners"
    known = {name: cls for name, cls in sorted(learners().items()) if issubclass(cls, Learner)}
    texts = {f"{name}.md": page(name, cls) for name, cls in known.items()} | {"index.md": index(known)}
    write_pages(folder, texts)


def with_markup(app, what, name, obj, options, lines):
    """Uses the docstring as written, not as help() shows it."""
    if what == "class" and isinstance(vars(obj).get("__doc__"), Readable):
        lines[:] = [*written(obj).split("\n"), ""]


def setup(app):
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("builder-inited", write)
    app.connect("autodoc-process-docstring", with_markup, priority=100)  # before napoleon
    return {"parallel_read_safe": True}
