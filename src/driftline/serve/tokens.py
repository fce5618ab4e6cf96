"""Access tokens and their scopes. The token file holds only hashes."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import time
from pathlib import Path

from driftline.serve.problems import Problem, StoreError

SCOPES = ("read", "write", "admin")  # each includes those before it
_EVERY = 1.0  # seconds between two checks of the file


def digest_of(token: str) -> str:
    """The hash of a token for the file. A plain hash is enough, because tokens are random."""
    return hashlib.sha256(token.encode()).hexdigest()


def new_token() -> str:
    """A new random token."""
    return f"dl_{secrets.token_urlsafe(32)}"


class Tokens:
    """The tokens of a file, which is read again when it changes. A line has the hash, the scope, and any name.

    Args:
        path: the file; ``#`` begins a comment.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known = self._read()
        self._looked, self._stamp = time.monotonic(), self._changed()

    def _changed(self) -> tuple[int, int]:
        status = os.stat(self.path)
        return status.st_mtime_ns, status.st_size

    def _read(self) -> list[tuple[bytes, int]]:
        found = []
        for number, line in enumerate(self.path.read_text().splitlines(), 1):
            words = line.partition("#")[0].split()
            if not words:
                continue
            if len(words) < 2 or len(words[0]) != 64 or words[1] not in SCOPES:
                raise StoreError(f"{self.path}: line {number} must hold a hash, a scope ({', '.join(SCOPES)}) and a name")
            found.append((words[0].lower().encode(), SCOPES.index(words[1])))
        return found

    def require(self, header: str | None, scope: str) -> None:
        """Refuses a call without a token (401), or whose token lacks the scope (403)."""
        self._look()
        kind, _, token = (header or "").partition(" ")
        given = digest_of(token.strip()).encode() if kind.lower() == "bearer" and token else b""
        rank = -1
        for known, reach in self._known:  # compares with all of them, so that the time reveals nothing
            rank = max(rank, reach) if hmac.compare_digest(known, given) else rank
        if rank < 0:
            raise Problem(401, "the token is not known" if given else "a token is needed: Authorization: Bearer …")
        if rank < SCOPES.index(scope):
            raise Problem(403, f"the token may not do this: it needs the scope {scope}")

    def _look(self) -> None:
        now = time.monotonic()
        if now - self._looked < _EVERY:
            return
        self._looked = now
        try:
            stamp = self._changed()
            if stamp != self._stamp:
                self._known, self._stamp = self._read(), stamp
        except (OSError, StoreError, UnicodeDecodeError):
            return  # the earlier tokens stay valid while the file is being replaced
