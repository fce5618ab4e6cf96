"""The table of a fleet's keys."""

from __future__ import annotations

import numpy as np

from driftline.tables.inputs import Array


def of(keys: Array, sums: Array) -> dict[str, Array]:
    """The columns of :meth:`driftline.Fleet.summary` from the sums and counts of each key, (keys, 7)."""
    rows, loss, judged, inside, alarms, last, memory = sums.T
    with np.errstate(divide="ignore", invalid="ignore"):
        mse, coverage = loss / rows, np.where(judged > 0, inside / judged, np.nan)
    counts = {"memory": memory, "alarms": alarms, "last_alarm": last}
    whole = {name: column.astype(np.int64) for name, column in counts.items()}
    return {"key": keys, "rows": rows.astype(np.int64), "mse": mse, "coverage": coverage, **whole}
