"""The data sets of the DFOP paper: generated streams, and files if the user has them."""

import warnings
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftline import streams
from papers.dfop_published import TABLE_5
from papers.registry import RequestError
from papers.target import Context

QUICK_ROWS = 400
FORMAT = "comma-separated numbers under a header, one row a line in the order of the stream, the label last; .csv or .csv.gz"

# Streams whose parameters were fitted to numbers of the paper.
FITTED = ("hyperplane", "UG-2C-2D", "UG-2C-3D", "UG-2C-5D")
GAUSSIANS = ("1CDT", "2CDT", "1CHT", "2CHT", "UG-2C-2D", "UG-2C-3D", "UG-2C-5D")
# Forgetting rates chosen here, where Table 5 states none.
CHOSEN = {
    "Chess": 0.01,
    "Usenet-1": 0.01,
    "Usenet-2": 0.01,
    "Luxembourg": 0.005,
    "Spam": 0.001,
    "Weather": 0.01,
    "Powersupply": 0.01,
    "Electricity": 0.001,
}
ALL = (*TABLE_5, *CHOSEN)
FILES = {"Usenet-1": "usenet1", "Usenet-2": "usenet2"}  # others: the data set's name, as it is or in lower case


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows of two classes under a name of the paper's Table 1.

    Attributes:
        name: as the paper spells it.
        made_here: whether a stream of the library generates the rows; else they come from a file.
        rows: a stream, or the pair (X, y).
    """

    name: str
    made_here: bool
    rows: Any

    @property
    def label(self) -> str:
        """The name, and the origin of the rows."""
        return f"{self.name}, {'made here' if self.made_here else 'file'}"

    @property
    def fitted(self) -> bool:
        """Whether the stream's parameters were fitted to the paper's numbers."""
        return self.made_here and self.name in FITTED

    @property
    def stated(self) -> bool:
        """Whether the paper states a forgetting rate."""
        return self.name in TABLE_5

    @property
    def forget_rate(self) -> float:
        """The forgetting rate from Table 5, or one chosen here if it has none."""
        return rate_of(self.name)

    def taken(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """All rows as arrays."""
        return self.rows if isinstance(self.rows, tuple) else self.rows.take()


def rate_of(name: str) -> float:
    """The forgetting rate for a data set.

    >>> rate_of("SEA"), rate_of("Weather")
    (0.001, 0.01)
    """
    return TABLE_5[name][1] if name in TABLE_5 else CHOSEN[name]


def made_here(context: Context) -> list[Dataset]:
    """The synthetic data sets for which the library has a stream."""
    fewer = context.pick({}, {"rows": QUICK_ROWS})
    found = {name: streams.make(name.lower(), seed=context.seed, **fewer) for name in ("SEA", "hyperplane")}
    for kind in GAUSSIANS:
        found[kind] = streams.make("moving_gaussians", kind=kind, seed=context.seed, **fewer)
    return [Dataset(name, True, stream) for name, stream in found.items()]


def from_files(context: Context, names: Iterable[str] = ALL) -> list[Dataset]:
    """The data sets with a file in the data directory."""
    found = []
    for name in names:
        path = file_of(context, FILES.get(name, name))
        if path is not None:
            X, y = read(path)
            labels = two_classes(y, path)
            keep = context.pick(len(y), QUICK_ROWS)
            found.append(Dataset(name, False, (X[:keep], labels[:keep])))
    return found


def missing(context: Context, datasets: Sequence[Dataset], names: Iterable[str] = ALL) -> list[str]:
    """The paper's data sets that are missing here, in words for the page."""
    there = {dataset.name for dataset in datasets}
    lacking = [name for name in names if name not in there]
    where = "in the directory of --data" if context.data is not None else "with --data DIR"
    return [f"{', '.join(lacking)}: each needs its file {where} ({FORMAT})."] if lacking else []


def file_of(context: Context, stem: str) -> Path | None:
    """A file of the data directory, by its stem."""
    return context.file(*(f"{word}{ending}" for word in (stem, stem.lower()) for ending in (".csv.gz", ".csv")))


def read(path: Path) -> tuple[NDArray[Any], NDArray[Any]]:
    """Inputs and labels of a file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # NumPy's, for a file without rows, which is refused below
            table = np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)
    except (ValueError, OSError, EOFError, zlib.error) as error:
        raise RequestError(f"{path} must hold {FORMAT}: {error}") from error
    if table.shape[0] < 10 or table.shape[1] < 2 or not np.isfinite(table).all():
        raise RequestError(f"{path} must hold 10 or more rows of 2 or more finite numbers, got {table.shape}")
    return table[:, :-1], table[:, -1]


def two_classes(y: NDArray[Any], path: Path) -> NDArray[Any]:
    """Labels -1.0 and 1.0; the larger of a file's two values becomes 1.0."""
    values = np.unique(y)
    if len(values) != 2:
        raise RequestError(f"{path} must have two classes, got {len(values)}")
    return np.where(y == values[1], 1.0, -1.0)
