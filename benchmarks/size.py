"""Counts lines and mechanisms of the sources: ``python -m benchmarks.size [--against REV] [--names]``.

Code lines are those with a token of code: blank lines, comments and docstrings do not count. Mechanisms are counted by the
names that the sources declare, so a new name may need a new pattern in ``MECHANISMS``; ``--names`` lists what was counted.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("src/driftline", "papers", "benchmarks", "tests", "cpp")
CPP = (".cpp", ".hpp")
LAYOUT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER,
}  # fmt: skip
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef

# What src/driftline declares for each job, by patterns for module.class, module.function and module.class.method; and the
# names that match but do something else.
MECHANISMS = {
    "classes for rows": (
        r"\.\w*(Table|Block|Batch|Piece|Stretch|Chunk|Given|Rows?|Parts)$",
        # Queues, readers, results and sums: what rows come from, and what is known of them afterwards.
        r"^evaluate\.(tables|metrics|stretches)|^report\.|^consume\.postgres|^files\.rows|\.handleInputRows$"
        r"|^fleet\.core\.Parts$|^serve\.latest|^tables\.cells\.Given$",  # a state's arrays, a page, a column
    ),
    "encoders": (r"(Encoder|Intake|EncodedTable|EncodedRun|\.Encoded)$", r"^$"),
    "steppers": (
        r"(Follower|Driver|Stepper|EncodedRun|EncodedLate|Bucket|Unit|base\.replay\.replay)$",
        r"^spark\.follow|^evaluate\.(driver\.Driver|driver\.LearnerDriver|steps\.StepDriver)$",
    ),
    "undos": (
        r"(Undo|_Change|[Tt]ransaction|in_one_go|_uninterrupted|\.follow)$",
        r"^serve\.(sqlite|postgres|store|replica)|^files|^spark",
    ),
    "scores": (r"(Scorer?|Scores|Measure|Baselines|KeyLog)$", r"^evaluate\.metrics\."),
}


@dataclass
class Size:
    """Sums over files."""

    files: int = 0
    lines: int = 0
    code: int = 0
    docs: int = 0  # lines of docstrings
    undocumented: list[str] = field(default_factory=list)  # public names without a docstring

    def __iadd__(self, other: Size) -> Size:
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)
        return self


def measured(path: str, text: str) -> Size:
    """The size of a file."""
    lines = len(text.splitlines())
    if not path.endswith(".py"):
        return Size(
            1, lines, len([line for line in text.splitlines() if line.strip() and not line.strip().startswith("//")])
        )
    tree = ast.parse(text)
    docs = {number for node in ast.walk(tree) for number in _docstring(node)}
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in LAYOUT:
            code.update(range(token.start[0], token.end[0] + 1))
    return Size(1, lines, len(code - docs), len(docs), [f"{module_of(path)}{name}" for name in _undocumented(tree)])


def module_of(path: str) -> str:
    """The dotted name of a file, without the package.

    >>> module_of("src/driftline/linear/rls.py"), module_of("papers/__init__.py")
    ('linear.rls', 'papers')
    """
    return path.removeprefix("src/driftline/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _docstring(node: ast.AST) -> range:
    if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
        first = node.body[0]
        return range(first.lineno, (first.end_lineno or 0) + 1)
    return range(0)


def _undocumented(node: ast.AST, prefix: str = "") -> Iterator[str]:
    """Public modules, classes, functions and methods without a docstring, except overloads and the bodies of functions."""
    if isinstance(node, ast.Module) and not _docstring(node):
        yield ""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If):
            yield from _undocumented(child, prefix)
        elif isinstance(child, DOCUMENTED) and not child.name.startswith("_"):
            decorated = {ast.unparse(each).rpartition(".")[2] for each in child.decorator_list}
            if not _docstring(child) and not decorated & {"overload", "setter"}:
                yield f"{prefix}.{child.name}"
            if isinstance(child, ast.ClassDef):
                yield from _undocumented(child, f"{prefix}.{child.name}")


def declared(sources: Mapping[str, str]) -> list[str]:
    """The classes, functions and methods of the package, as module.name or module.class.name."""
    found = []
    for path, text in sources.items():
        if path.startswith("src/driftline/") and path.endswith(".py"):
            for node in ast.parse(text).body:
                if isinstance(node, DOCUMENTED):
                    found.append(f"{module_of(path)}.{node.name}")
                    methods = node.body if isinstance(node, ast.ClassDef) else []
                    found += [f"{found[-1]}.{each.name}" for each in methods if isinstance(each, ast.FunctionDef)]
    return found


def mechanisms(sources: Mapping[str, str]) -> dict[str, list[str]]:
    """The declared names that do each job."""
    names = declared(sources)
    found = {}
    for job, (pattern, other) in MECHANISMS.items():
        found[job] = [name for name in names if re.search(pattern, name) and not re.search(other, name)]
    return found | {"private hooks of Learner": hooks(sources), "functions bound to Learner": bound(sources)}


def hooks(sources: Mapping[str, str]) -> list[str]:
    """The private names of ``Learner`` that a subclass defines anew."""
    classes = [
        node
        for path, text in sources.items()
        if path.startswith("src/driftline/") and path.endswith(".py")
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef)
    ]
    family, before = {"Learner"}, 0
    while len(family) > before:
        before = len(family)
        family |= {node.name for node in classes if any(ast.unparse(base) in family for base in node.bases)}
    own = {name for node in classes if node.name == "Learner" for name in _members(node)}
    others = {name for node in classes if node.name in family - {"Learner"} for name in _members(node)}
    return sorted(name for name in own & others if name.startswith("_") and not name.startswith("__"))


def bound(sources: Mapping[str, str]) -> list[str]:
    """The functions of other modules that ``Learner`` binds as methods."""
    tree = ast.parse(sources.get("src/driftline/base/learner.py", ""))
    imported = {alias.asname or alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    found = []
    for node in tree.body:
        for part in node.body if isinstance(node, ast.ClassDef) and node.name == "Learner" else []:
            if isinstance(part, ast.Assign) and ast.unparse(part.value).partition(".")[0] in imported:
                found.append(ast.unparse(part.value))
    return found


def _members(node: ast.ClassDef) -> Iterator[str]:
    for part in node.body:
        if isinstance(part, ast.FunctionDef):
            yield part.name
        for target in (
            part.targets if isinstance(part, ast.Assign) else [part.target] if isinstance(part, ast.AnnAssign) else []
        ):
            yield ast.unparse(target)


def sources_of(revision: str | None) -> dict[str, str]:
    """The sources of a revision by path; those of the working tree without one."""
    listed = (
        ["git", "ls-tree", "-r", "--name-only", revision] if revision else ["git", "ls-files", "-co", "--exclude-standard"]
    )
    paths = subprocess.run([*listed, *(["--"] if not revision else []), *FOLDERS], cwd=ROOT, capture_output=True, text=True,
                           check=True).stdout.splitlines()  # fmt: skip
    paths = [path for path in paths if path.endswith((".py", *CPP))]
    if revision is None:
        return {path: (ROOT / path).read_text("utf-8") for path in paths if (ROOT / path).is_file()}
    wanted = "".join(f"{revision}:{path}\n" for path in paths).encode()
    stream = io.BytesIO(
        subprocess.run(["git", "cat-file", "--batch"], cwd=ROOT, input=wanted, capture_output=True, check=True).stdout
    )
    found = {}
    for path in paths:
        found[path] = stream.read(int(stream.readline().split()[-1])).decode()
        stream.read(1)  # the line that ends a file
    return found


def by_folder(sources: Mapping[str, str]) -> dict[str, Size]:
    """The sizes of the folders, and of the folders of the package."""
    found: dict[str, Size] = {folder: Size() for folder in FOLDERS}
    for path in sorted(sources):
        size = measured(path, sources[path])
        top = next(folder for folder in FOLDERS if path.startswith(f"{folder}/"))
        found[top] += size
        if top == "src/driftline":
            parts = path.split("/")
            found.setdefault("  " + (f"{parts[2]}/" if len(parts) > 3 else "(root)"), Size())
            found["  " + (f"{parts[2]}/" if len(parts) > 3 else "(root)")] += size
    package = {name: size for name, size in found.items() if name.startswith("  ")}
    return {"src/driftline": found["src/driftline"], **package, **{name: found[name] for name in FOLDERS[1:]}}


def _change(now: int, before: int | None) -> str:
    return f"{now:,}" if before is None or before == now else f"{before:,} -> {now:,}"


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.size", description=__doc__.splitlines()[0])
    parser.add_argument("--against", metavar="REV", help="a revision to compare the working tree with")
    parser.add_argument(
        "--names", action="store_true", help="list the names that were counted, and public names without a docstring"
    )
    options = parser.parse_args()
    sources = sources_of(None)
    earlier = sources_of(options.against) if options.against else None
    now, before = by_folder(sources), {} if earlier is None else by_folder(earlier)
    columns = ("files", "lines", "code", "docs")
    print(f"{'':16}" + "".join(f"{name:>18}" for name in (*columns, "undocumented")))
    for name in now | before:
        size, old = now.get(name, Size()), before.get(name, Size() if earlier else None)
        cells = [_change(getattr(size, part), None if old is None else getattr(old, part)) for part in columns]
        bare = _change(len(size.undocumented), None if old is None else len(old.undocumented))
        print(f"{name:16}" + "".join(f"{cell:>18}" for cell in [*cells, bare]))
    print()
    jobs, old_jobs = mechanisms(sources), {} if earlier is None else mechanisms(earlier)
    for job, names in jobs.items():
        print(f"{job:28}{_change(len(names), len(old_jobs[job]) if old_jobs else None):>16}")
        if options.names:
            print("".join(f"    {name}\n" for name in names), end="")
    if options.names:
        print("public names without a docstring")
        print("".join(f"    {name}\n" for name in now["src/driftline"].undocumented), end="")


if __name__ == "__main__":
    main()
