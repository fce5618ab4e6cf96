"""The data: the available data sets of the paper's Tables 1 and 4, and more files for regression."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.data import Array
from driftline import streams
from papers.dfop_data import file_of, from_files, made_here, read
from papers.dfop_fig2 import each_once
from papers.dfop_table4 import FILES
from papers.rivals import CLASSIFICATION, REGRESSION
from papers.target import Context

# Not in the paper: files with a target that moves, from many sources.
FURTHER = (
    "air_quality", "appliances_energy", "bike_hourly", "ccpp", "daisy_cstr", "daisy_steamgen", "elec_nswprice", "etth1",
    "household_power_hourly", "metro_traffic", "seoul_bike", "trump_approval",
)  # fmt: skip


def data_sets(task: str, folder: Path, seed: int = 0) -> Iterator[tuple[str, Array, Array]]:
    """Name, rows and labels of each data set; a file replaces a stream of the same name."""
    context = Context(data=folder, seed=seed)
    if task == CLASSIFICATION:
        for dataset in each_once(made_here(context), from_files(context)):
            yield dataset.label, *dataset.taken()
    if task == REGRESSION:
        yield "hyperplane", *streams.make("hyperplane", task="regression", seed=seed).take()
        for name, stem in (*FILES.items(), *zip(FURTHER, FURTHER, strict=True)):
            path = file_of(context, stem)
            if path is not None:
                yield name, *read(path)
