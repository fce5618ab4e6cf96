"""The files of a target: a picture, the numbers as JSON and CSV, and a page in Markdown."""

import io
import json
import tempfile
from pathlib import Path
from typing import Any

import driftline
from driftline.evaluate import finite
from papers.target import UNDECIDED, Check, Context, Findings, Target

QUICK = (
    "A quick run: it shows that the target works, on fewer rows, repetitions or points than the setting has. "
    "It decides nothing, and its numbers should not be quoted."
)


def write_all(target: Target, findings: Findings, context: Context, folder: Path) -> dict[str, Path]:
    """Writes the four files into an existing folder, all or none; returns their paths by ending."""
    files = paths(target, folder)
    with tempfile.TemporaryDirectory(dir=folder, prefix=f".{target.name}-") as made:
        new = paths(target, Path(made))
        write_picture(findings.draw(), new["png"])
        new["json"].write_text(json.dumps(content(target, findings, context), indent=1, ensure_ascii=False) + "\n", "utf-8")
        findings.numbers.to_csv(new["csv"])
        new["md"].write_text(page(target, findings, context), "utf-8")
        for ending, path in files.items():
            new[ending].replace(path)
    return files


def paths(target: Target, folder: Path) -> dict[str, Path]:
    """The four files, by ending."""
    return {ending: folder / f"{target.name}.{ending}" for ending in ("png", "json", "csv", "md")}


def write_picture(figure: Any, path: Path) -> None:
    """A PNG with a palette of 256 colours: a third of the size, with hardly a visible difference.

    The palette covers even colours with few pixels, so that thin lines keep theirs.
    """
    from PIL import Image

    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=100)
    with Image.open(drawn) as picture:
        few = picture.convert("RGB").quantize(256, method=Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE)
    few.save(path, optimize=True)


def content(target: Target, findings: Findings, context: Context) -> dict[str, Any]:
    """All results as JSON; null for numbers that are not finite."""
    everything = {
        "name": target.name,
        "title": target.title,
        "source": target.source,
        "setting": setting(target, context.quick),
        "claim": target.claim,
        "verdict": UNDECIDED if context.quick else findings.verdict,
        "checks": [
            {"statement": c.statement, "holds": None if context.quick else c.holds, "evidence": c.evidence}
            for c in findings.checks
        ],
        "command": command(target, context),
        "seed": context.seed,
        "quick": context.quick,
        "driftline": driftline.__version__,
        "remarks": list(findings.remarks),
        "left_out": list(findings.left_out),
        "summary": [{"caption": table.caption, "rows": table.records()} for table in findings.summary],
        "rows": findings.numbers.records(),
    }
    cleaned: dict[str, Any] = finite(everything)
    return cleaned


def command(target: Target, context: Context) -> str:
    """The command that runs it again."""
    words = ["python", "-m", "papers", target.name, "--seed", str(context.seed)]
    words += ["--quick"] if context.quick else []
    words += ["--data", "DIR"] if context.data is not None and target.data else []
    return " ".join(words)


def page(target: Target, findings: Findings, context: Context) -> str:
    """The page in Markdown."""
    parts = [f"# {target.name}: {target.title}", f"Source: {target.source}."]
    if context.quick:
        parts.append(f"**{QUICK}**")
    parts += [f"**Setting.** {setting(target, context.quick)}", f"**The source's claim.** {target.claim}"]
    parts.append(f"**What came out.** {spoken(findings, context.quick)}")
    parts.append("\n".join(f"- {line(check, context.quick)}" for check in findings.checks))
    parts += [table.to_markdown().strip() for table in findings.summary]
    parts += [*findings.remarks, f"![{target.title}]({target.name}.png)"]
    if findings.left_out:
        parts.append("**Left out.**\n\n" + "\n".join(f"- {words}" for words in findings.left_out))
    files = f"The numbers: [{target.name}.csv]({target.name}.csv), [{target.name}.json]({target.name}.json)."
    parts += [files, f"To run it again (seed {context.seed}):\n\n```sh\n{command(target, context)}\n```"]
    return "\n\n".join(parts) + "\n"


def setting(target: Target, quick: bool) -> str:
    """The setting; for a quick run, with a note that it does less."""
    return f"That of a full run; this quick run does a small part of it: {target.setting}" if quick else target.setting


def spoken(findings: Findings, quick: bool) -> str:
    """The verdict in a sentence."""
    if quick:
        return "A quick run decides nothing. A run without --quick does."
    held, count = sum(check.holds for check in findings.checks), len(findings.checks)
    return f"This run **{findings.verdict}** with the source: {held} of {count} statements hold."


def line(check: Check, quick: bool) -> str:
    """A check as one line."""
    judged = UNDECIDED if quick else "holds" if check.holds else "does not hold"
    return f"{judged}: {check.statement} ({check.evidence})"
