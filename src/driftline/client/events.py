"""Server-sent events, line by line."""

from __future__ import annotations

import json
from typing import Any

Event = tuple[str, dict[str, Any]]


class Lines:
    """Assembles events from the lines of a stream."""

    def __init__(self) -> None:
        self._fields: dict[str, str] = {}

    def take(self, line: str) -> Event | None:
        """The event that a line completes, if any. Comments, which keep the connection alive, are skipped."""
        if line:
            name, _, value = line.partition(": ")
            self._fields[name] = value
            return None
        fields, self._fields = self._fields, {}
        return (fields["event"], json.loads(fields["data"])) if "data" in fields else None
