"""Errors of the service, as problem documents (RFC 9457)."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any


class Problem(Exception):  # noqa: N818 - the word of the RFC
    """A call that is refused; nothing was learned by it, unless the status is 504: then that is not known.

    Args:
        status: of HTTP.
        detail: what is wrong, for the caller to read.
        row: its index in a batch.
        field: the part of the request that is wrong, such as ``x.load``.
    """

    def __init__(self, status: int, detail: str, *, row: int | None = None, field: str | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.row, self.field = status, detail, row, field

    def document(self) -> dict[str, Any]:
        """The body of the answer."""
        document = {"type": "about:blank", "title": HTTPStatus(self.status).phrase, "status": self.status}
        places = {"row": self.row, "field": self.field}
        return {**document, "detail": self.detail, **{name: place for name, place in places.items() if place is not None}}


class StoreError(Exception):
    """The log or a snapshot is damaged, of another version, or in use by another service."""
