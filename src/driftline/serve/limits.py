"""All limits of the service, in one place."""

from __future__ import annotations

from dataclasses import dataclass

from driftline.base.rules import Checked, Count, Positive


@dataclass(frozen=True)
class Limits(Checked):
    """The limits of a service.

    Attributes:
        body: bytes of a request's body.
        rows: of one batch.
        features: of a row, and of a model.
        text: characters of a model's name, an id, a key or the name of a feature.
        models: of one service.
        keys: of a keyed model.
        steps: of a model that forecasts.
        waiting: rows of a model that wait for their labels. Beyond that, the oldest are dropped and counted.
        remembered: labels of a model whose ids are known again.
        queue: calls that wait for the log; further ones are answered with 503.
        connections: open at the same time.
        streams: of events, open at the same time.
        seconds: that a client may take to send a body.
        entries: of the log after which the models changed longest ago are saved, and the log is cut behind them.
    """

    body: Count = 16 * 2**20
    rows: Count = 10_000
    features: Count = 2_000
    text: Count = 200
    models: Count = 1_000
    keys: Count = 100_000
    steps: Count = 500
    waiting: Count = 100_000
    remembered: Count = 1_000_000
    queue: Count = 10_000
    connections: Count = 10_000
    streams: Count = 2_000
    seconds: Positive = 30.0
    entries: Count = 10_000
