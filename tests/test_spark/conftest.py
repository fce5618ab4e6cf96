"""One Spark session for all tests: starting it takes longer than any of them."""

import sys

import pytest


@pytest.fixture(scope="session")
def spark():
    pytest.importorskip("pyspark")
    from .session import make_session

    session = make_session("local[2]", sys.executable)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def rows():
    from .session import sensor_rows

    return sensor_rows()


@pytest.fixture(scope="session")
def frame(spark, rows):
    from .session import SCHEMA

    return spark.createDataFrame(rows.sample(frac=1, random_state=0), SCHEMA).repartition(3)
