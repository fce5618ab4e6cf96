"""The live page: one file without dependencies, whose content policy allows requests only to this service."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import driftline

_REPORT = Path(driftline.__file__).parent / "report"  # as files: importing it would cost memory
_SHARED = {name: _REPORT / "templates" / name for name in ("chart.css", "chart.js")}
_FETCHED = {name: _REPORT / "vendor" / name for name in ("LICENSE", "uPlot.min.css", "uPlot.iife.min.js")}


def _assembled() -> bytes:
    """The page with the charts of the report, and without them if uPlot was not fetched when the package was built."""
    page = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    for name, path in {**_SHARED, **_FETCHED}.items():
        text = path.read_text(encoding="utf-8").strip() if name in _SHARED or path.is_file() else ""
        page = page.replace("{{" + name + "}}", text)
    return page.encode()


def _digests(tag: str) -> str:
    found = re.findall(rf"<{tag}>(.*?)</{tag}>".encode(), HTML, re.DOTALL)
    return " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(text).digest()).decode()}'" for text in found)


HTML = _assembled()
HEADERS = {
    "content-security-policy": (
        f"default-src 'none'; script-src {_digests('script')}; style-src {_digests('style')}; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cache-control": "no-cache",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
