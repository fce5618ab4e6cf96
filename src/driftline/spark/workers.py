"""Whether the workers can run driftline, found out before the first task that needs it."""

from __future__ import annotations

from typing import Any
from weakref import WeakSet

from pyspark.sql import SparkSession

# Passed to the workers by value, because they cannot import it if they lack driftline.
_CHECK = """
def check(batches):
    import sys
    for _ in batches:
        pass
    import pyarrow as pa
    try:
        import driftline
        said = driftline.__version__
    except Exception as error:
        said = f"!{sys.executable} (Python {sys.version.split()[0]}): {type(error).__name__}: {error}"
    yield pa.RecordBatch.from_pydict({"said": [said]})
"""
_checked: WeakSet[Any] = WeakSet()


def require_workers(where: str, spark: SparkSession) -> None:
    """Raises RuntimeError if the workers' Python lacks driftline or has another version; asks once a session."""
    from driftline import __version__

    if spark in _checked:
        return
    names: dict[str, Any] = {"__name__": "__main__"}  # pickled by value
    exec(_CHECK, names)
    try:
        said = {row["said"] for row in spark.range(1).mapInArrow(names["check"], "said string").collect()}
    except Exception as error:
        raise RuntimeError(_words(where, f"their Python failed: {str(error).strip().splitlines()[-1]}")) from error
    for each in said - {__version__}:
        raise RuntimeError(
            _words(where, each[1:] if each.startswith("!") else f"they have driftline {each}, the driver has {__version__}")
        )
    _checked.add(spark)


def _words(where: str, reason: str) -> str:
    return (
        f"{where}: the workers cannot run driftline: {reason}. Install it on the workers, or ship an environment with "
        "--archives, and set PYSPARK_PYTHON to its Python before the session starts"
    )
