"""The pages of the documentation, their blocks of commands and of Python."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = {
    str(page.relative_to(ROOT)): page.read_text(encoding="utf-8")
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if not {"_build", "_static", "cli", "learners"} & set(page.relative_to(ROOT).parts)
}


def blocks(text):
    """The language and the text of each block that a reader could run, except doctests."""
    return re.findall(r"^```(shell|sh|bash|python)\n(?!>>>)(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def commands(text):
    """The commands of a block of shell, without comments."""
    lines = (re.sub(r"(^|\s)#.*", "", line).strip() for line in text.replace("\\\n", "").splitlines())
    return [command for line in lines if line for command in line.split(" && ")]
