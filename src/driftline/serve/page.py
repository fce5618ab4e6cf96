"""The live page: one file without dependencies, under a policy that lets it talk to this service alone."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib import resources

HTML = resources.files("driftline.serve").joinpath("page.html").read_bytes()


def _digests(tag: str) -> str:
    found = re.findall(rf"<{tag}>(.*?)</{tag}>".encode(), HTML, re.DOTALL)
    return " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(text).digest()).decode()}'" for text in found)


HEADERS = {
    "content-security-policy": (
        f"default-src 'none'; script-src {_digests('script')}; style-src {_digests('style')}; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cache-control": "no-cache",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
