"""The data set that comes with the package."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import driftline as dl


def test_flights_are_in_order_of_departure_and_pandas_reads_the_same_file():
    X, y = dl.datasets.flights()
    frame = pd.read_csv(dl.datasets.path("flights"), parse_dates=["scheduled"])
    assert (
        X.to_pandas()
        .astype({"scheduled": "datetime64[ns]"})
        .equals(frame.drop(columns="air_time").astype({"scheduled": "datetime64[ns]"}))
    )
    assert np.array_equal(y, frame["air_time"])
    assert frame["scheduled"].is_monotonic_increasing
    speeds = 60 * frame["distance"] / frame["air_time"]  # miles an hour
    assert speeds.between(75, 700).all()


def test_the_module_prints_the_path_and_names_what_there_is():
    ran = subprocess.run([sys.executable, "-m", "driftline.datasets", "flights"], capture_output=True, text=True)
    assert ran.stdout.strip() == str(dl.datasets.path("flights"))
    with pytest.raises(ValueError, match="no data set 'fights', only 'flights'"):
        dl.datasets.path("fights")
