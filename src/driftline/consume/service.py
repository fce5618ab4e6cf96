"""A model of a service that ``driftline serve`` runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from driftline.client import Client, ServiceError
from driftline.consume.entries import Json, Reply, Row


class UnreachableError(Exception):
    """The service cannot be reached, or is too busy: the batch is sent again."""


class ServiceModel:
    """A model of a service, which recognises what it has learned by the ids.

    The rows of a batch are predicted first, then its labels are learned, in the order of the entries.

    Args:
        client: a client of the service.
        name: the name of the model, which must exist.
        predict: whether predictions are wanted of rows that have their labels.
    """

    lost = (UnreachableError,)

    def __init__(self, client: Client, name: str, *, predict: bool = True) -> None:
        self._client, self._name, self._predict = client, name, predict

    def take(self, rows: Sequence[Row]) -> list[Reply]:
        """Predicts the rows of a batch, then learns its labels; returns when the service has acknowledged both."""
        replies = [Reply() for _ in rows]
        asked = [n for n, row in enumerate(rows) if row.x is not None and (self._predict or row.y is None)]
        found = self._each(lambda part: self._client.predict_rows(self._name, part, on_error="report"), rows, asked, "x")
        for n, answer in found:
            if "error" in answer:
                replies[n] = Reply(None, _words(answer["error"]), "rejected")
            else:
                key = {} if rows[n].key is None else {"key": rows[n].key}
                replies[n].prediction = {**answer, **key} if self._predict else None
        told = [n for n, row in enumerate(rows) if row.y is not None and replies[n].error is None]
        found = self._each(
            lambda part: self._client.learn_rows(self._name, part, on_error="report")["rows"], rows, told, "xy"
        )
        for n, answer in found:
            replies[n].result = answer.get("result", "rejected")
            replies[n].error = _words(answer["error"]) if "error" in answer else None
        return replies

    def finished(self, rows: Sequence[Row]) -> None:
        """Does nothing: the service keeps the answers."""

    def _each(
        self, call: Callable[[list[Json]], list[Json]], rows: Sequence[Row], chosen: list[int], parts: str
    ) -> Iterable[tuple[int, Json]]:
        """The answers to some rows, by their places. A batch that is too large for one call is halved."""
        if not chosen:
            return []
        sent: list[Any] = [
            {"id": (row := rows[n]).id, "key": row.key, **{p: getattr(row, p) for p in parts}} for n in chosen
        ]
        try:
            return list(zip(chosen, call(sent), strict=True))
        except ServiceError as error:
            if error.status is None or error.status >= 500:
                raise UnreachableError(str(error)) from error
            if error.status != 413:
                raise
            if len(chosen) == 1:
                return [(chosen[0], {"error": {"detail": error.detail}})]
        half = len(chosen) // 2
        return [*self._each(call, rows, chosen[:half], parts), *self._each(call, rows, chosen[half:], parts)]


def _words(problem: Json) -> str:
    return str(problem.get("detail", problem))
