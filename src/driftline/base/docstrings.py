"""Docstrings as ``help()`` shows them: formulas in Unicode, references without markup, and every parameter described."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from typing import Any

_ARGUMENTS = re.compile(r"^Args:\n(?P<body>(?:[ \t]+\S.*\n?|\n(?=[ \t]+\S))+)", re.MULTILINE)
_ARGUMENT = re.compile(r"^ {4}(\w+): (.*(?:\n {5,}.*)*)", re.MULTILINE)
_BLOCK = re.compile(r"^\.\. math::[ \n]*((?:.+\n?|\n(?=[ \t]+\S))+)", re.MULTILINE)
_ROLE = re.compile(r":\w+(?::\w+)?:`~?/?([^`<]*?)\s*(?:<[^`]*>)?`")
_END = re.compile(r"^(?:References:|>>>)", re.MULTILINE)

_GROUP = r"\{((?:[^{}]|\{[^{}]*\})*)\}"
_FRACTION = re.compile(rf"\\t?frac{_GROUP}{_GROUP}")
_SPELLINGS = (  # in this order
    (re.compile(rf"\\text{_GROUP}"), r"\1"),
    (re.compile(rf"\\sqrt{_GROUP}"), r"√(\1)"),
    (re.compile(r"\\sqrt "), "√"),
    (re.compile(r"\\log\\"), r"log \\"),
    (re.compile(r"\\hat ?(\w)"), "\\1\u0302"),
    (re.compile(r"\\bar ?(\w)"), "\\1\u0304"),
    (re.compile(r"\^\\top"), "ᵀ"),
    (re.compile(r"\^2(?!\d)"), "²"),
    (re.compile(r"\^\{-1\}"), "⁻¹"),
    (re.compile(r"\\[,;] ?"), " "),
    (re.compile(r"\\q?quad ?"), "  "),
    (re.compile(r"\\bigg?[lr]"), ""),
    (re.compile(rf"([_^]){_GROUP}"), r"\1(\2)"),
)
_SIGNS = {
    "Lambda": "Λ", "alpha": "α", "beta": "β", "cdot": "·", "dots": "…", "ell": "ℓ", "eta": "η", "gamma": "γ", "lambda": "λ",
    "ldots": "…", "le": "≤", "leftarrow": "←", "mu": "μ", "omega": "ω", "phi": "φ", "pm": "±", "propto": "∝", "psi": "ψ",
    "rho": "ρ", "sum": "Σ", "tau": "τ", "varepsilon": "ε",
}  # fmt: skip


class Readable:
    """Replaces the docstring of a class by a readable one; Sphinx uses ``written``."""

    def __init__(self, written: str) -> None:
        self.written = inspect.cleandoc(written)

    def __get__(self, instance: Any, owner: type) -> str:
        text = plain(_BLOCK.sub(lambda found: _indented(formula(found[1])), self.written))
        described = dict(_ARGUMENT.findall(_arguments(text)))
        others = {name: words for name, words in meanings_of(owner).items() if name not in described}
        if not others:
            return text
        lines = "\n".join(f"    {name}: {words}" for name, words in others.items())
        found, end = _ARGUMENTS.search(text), _END.search(text)
        if found:
            at = found.start() + len(found[0].rstrip())
            return f"{text[:at]}\n{lines}{text[at:]}"
        at = end.start() if end else len(text)
        return f"{text[:at].rstrip()}\n\nArgs:\n{lines}\n\n{text[at:]}".rstrip()


def meanings_of(cls: type) -> dict[str, str]:
    """The meaning of each parameter, from the docstrings of a class and its base classes.

    >>> from driftline import RLS
    >>> from driftline.base import docstrings
    >>> docstrings.meanings_of(RLS)["ridge"]
    'S starts at I / ridge.'
    """
    found: dict[str, str] = {}
    for each in cls.__mro__:
        for name, words in _ARGUMENT.findall(_arguments(written(each))):
            found.setdefault(name, " ".join(plain(words).split()))
    parameters: Iterable[str] = getattr(cls, "_params", ())
    return {name: found[name] for name in parameters if name in found}


def written(cls: type) -> str:
    """The docstring of a class as written in the source."""
    own = vars(cls).get("__doc__")
    return own.written if isinstance(own, Readable) else inspect.cleandoc(own or "")


def plain(text: str) -> str:
    """Text without its markup."""
    text = re.sub(r":math:`([^`]*)`", lambda found: formula(found[1]), text)
    return _ROLE.sub(r"\1", text).replace("``", "")


def formula(tex: str) -> str:
    r"""A formula in Unicode, as far as a line of text allows.

    >>> formula(r"w \leftarrow w + \frac{y - w \cdot x}{1 + x \cdot k}\, k, \quad S^{-1} = \frac{1}{2} I")
    'w ← w + (y - w · x)/(1 + x · k) k,   S⁻¹ = 1/2 I'
    """
    while (shorter := _FRACTION.sub(lambda found: f"{_factor(found[1])}/{_factor(found[2])}", tex)) != tex:
        tex = shorter
    for pattern, spelling in _SPELLINGS:
        tex = pattern.sub(spelling, tex)
    return re.sub(r"\\([a-zA-Z]+)", lambda found: _SIGNS.get(found[1], found[1]), tex)


def _factor(part: str) -> str:
    return part if re.fullmatch(r"\\?\w+", part) else f"({part})"


def _arguments(text: str) -> str:
    section = _ARGUMENTS.search(text)
    return section["body"] if section else ""


def _indented(text: str) -> str:
    lines = [line.strip() for line in text.strip().split("\n")]
    return "".join(f"    {line}\n" if line else "\n" for line in lines)
