"""Errors of the service, as problem documents (RFC 9457)."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any


class Problem(Exception):  # noqa: N818 - the word of the RFC
    """A refused call. It changed nothing, except that with status 504 this is not known.

    Args:
        status: the HTTP status.
        detail: an explanation for the caller.
        row: the index of the invalid row in a batch.
        field: the invalid part of the request, such as ``x.load``.
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
