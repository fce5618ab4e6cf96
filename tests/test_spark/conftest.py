"""One Spark session for all tests, because starting it takes longer than any of them; other processes run in parallel."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

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


@pytest.fixture(scope="session")
def background_job():
    """An executor for one background job at a time: the tests keep the other core busy."""
    with ThreadPoolExecutor(1) as pool:
        yield pool


@pytest.fixture(scope="session")
def killed(background_job, rows, tmp_path_factory):
    """A future of the folder of a stream that was killed twice."""
    from .killing import kill_twice
    from .session import write_parts

    folder = tmp_path_factory.mktemp("killed")
    write_parts(rows, folder / "in", 4)
    return background_job.submit(kill_twice, folder)


@pytest.fixture(scope="session")
def cluster(background_job, tmp_path_factory):
    """A future of the folder with a cluster's output."""
    from tests import patience

    folder = tmp_path_factory.mktemp("cluster")
    command = [sys.executable, "-m", "tests.test_spark.cluster", str(folder)]

    def run():
        subprocess.run(command, check=True, timeout=patience.SECONDS)
        return folder

    return background_job.submit(run)


@pytest.fixture(scope="session", autouse=True)
def _early(request):
    """Starts the background processes before the first test; the last tests wait for them."""
    for name in ("killed", "cluster"):
        if any(name in item.fixturenames for item in request.session.items):
            request.getfixturevalue(name)
