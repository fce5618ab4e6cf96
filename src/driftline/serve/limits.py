"""All limits of the service, in one place."""

from __future__ import annotations

from dataclasses import dataclass

from driftline.base.rules import Checked, Count, Positive, Whole


@dataclass(frozen=True)
class Limits(Checked):
    """The limits of a service.

    Attributes:
        body: bytes of a request's body.
        file: bytes of a model file.
        rows: rows of a batch.
        work: seconds of processor time that a call may take to predict or learn its rows.
        features: features of a row, and of a model.
        text: characters of a model's name, an id, a key or the name of a feature.
        models: models of a service.
        keys: keys of a keyed model.
        classes: classes of a model that classifies.
        steps: steps of a model that forecasts.
        waiting: rows of a model that wait for their labels. Beyond that, the oldest are dropped and counted.
        early: labels of a model that may come before their rows. Beyond that, the oldest are dropped and counted.
        remembered: labels of a model whose ids are remembered, so that a repeated label is recognised.
        queue: calls that wait for the log; further ones are answered with 503.
        connections: open connections.
        streams: open event streams.
        seconds: seconds that a client may take to send a body.
        entries: entries of the log. Beyond that, the models that changed longest ago are saved, and the log is trimmed.
        log: bytes of the log, beyond which the same happens.
    """

    body: Count = 16 * 2**20
    file: Count = 64 * 2**20
    rows: Count = 10_000
    work: Positive = 10.0
    features: Count = 2_000
    text: Count = 200
    models: Count = 1_000
    keys: Count = 100_000
    classes: Count = 100
    steps: Count = 500
    waiting: Count = 100_000
    early: Whole = 0
    remembered: Count = 1_000_000
    queue: Count = 10_000
    connections: Count = 10_000
    streams: Count = 2_000
    seconds: Positive = 30.0
    entries: Count = 10_000
    log: Count = 64 * 2**20
