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
    """The tokens of a file, which is read again when it changes.

    A line has the hash, the scope, and any name. A scope such as ``write:demand,demand-2`` is for these models alone.

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

    def _read(self) -> list[tuple[bytes, int, frozenset[str] | None]]:
        found = []
        for number, line in enumerate(self.path.read_text().splitlines(), 1):
            words = line.partition("#")[0].split()
            if not words:
                continue
            scope, limited, models = words[1].partition(":") if len(words) > 1 else ("", "", "")
            if len(words[0]) != 64 or scope not in SCOPES or (limited and not models):
                raise StoreError(f"{self.path}: line {number} must hold a hash, a scope ({', '.join(SCOPES)}) and a name")
            own = frozenset(models.split(",")) if limited else None
            found.append((words[0].lower().encode(), SCOPES.index(scope), own))
        return found

    def require(self, header: str | None, scope: str, model: str | None = None) -> None:
        """Refuses a call without a token (401), or whose token lacks the scope or is for other models (403).

        Args:
            header: the authorization of the call.
            scope: what it needs.
            model: the name or alias of its model; None if it is not about one model.
        """
        self._look()
        kind, _, token = (header or "").partition(" ")
        given = digest_of(token.strip()).encode() if kind.lower() == "bearer" and token else b""
        # Compares with all of them, so that the time reveals nothing.
        found = [(reach, models) for known, reach, models in self._known if hmac.compare_digest(known, given)]
        if not found:
            raise Problem(401, "the token is not known" if given else "a token is needed: Authorization: Bearer …")
        if not any(models is None or model in models for _, models in found):
            raise Problem(403, "the token is for single models, and not for this call")
        if not any(reach >= SCOPES.index(scope) and (models is None or model in models) for reach, models in found):
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
