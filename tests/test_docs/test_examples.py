"""Every block of commands and of Python in the documentation runs, or is listed here with the reason why it does not."""

import importlib.util
import re
import sys
import types

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

import driftline as dl
from driftline.demo import demand
from tests.test_docs.pages import PAGES, ROOT, blocks, commands
from tests.test_docs.reader import Reader

# The blocks of these pages run in order, on files of this test.
HERE = [
    *(
        "README.md",
        "docs/auto.md",
        "docs/coming_from.md",
        "docs/command_line.md",
        "docs/fleet.md",
        "docs/forecasts.md",
        "docs/how_sure.md",
        "docs/index.md",
        "docs/times.md",
    ),
    *("docs/quickstart.md", "docs/report.md", "docs/streams.md", "docs/threads.md"),
    *("docs/tutorials/demand_forecasting.md", "docs/tutorials/new_stores.md"),
]
ELSEWHERE = {
    "docs/adding_a_learner.md": "tests/test_adding_a_learner.py",
    "docs/mlflow.md": "tests/test_mlflow/test_mlflow.py",
    "docs/queues.md": "tests/test_consume/test_docs.py",
    "docs/recipes.md": "tests/test_docs/test_recipes.py",
    "docs/service.md": "tests/test_serve/test_docs.py",
    "docs/spark.md": "tests/test_spark/test_docs.py",
    "docs/tutorials/in_production.md": "tests/test_serve/test_docs.py",
}
NOT_RUN = {  # commands by their beginning, and why; tests below check the targets, extras and modules that they name
    "pip install": "needs the network, and changes the environment",
    "make ": "sets up environments",
    "python -m benchmarks": "takes minutes to hours",
}
WITHOUT_A_RUN = {"README.md": 5, "CONTRIBUTING.md": 11, "docs/index.md": 1, "docs/numerics.md": 3, "docs/quickstart.md": 3}


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The files that the commands read, of a few hundred rows."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    n = 400
    demand.write(tmp_path / "demand.csv", demand.make(n))
    demand.write(tmp_path / "tomorrow.csv", demand.expected(24, n))
    when = pd.date_range("2026-01-01", periods=n + 48, freq="h")
    past = pd.DataFrame({"when": when, "hour": when.hour, "weekday": when.day_of_week, "holiday": when.day_of_week == 6})
    past["load"] = 100 + 30 * np.sin(when.hour / 4) + rng.normal(size=n + 48)
    past[:n].to_csv("past.csv", index=False)
    for name in ("next.csv", "future.csv"):
        past[n:].drop(columns="load").to_csv(name, index=False)
    sales = pd.DataFrame({"when": when[:n], "price": rng.uniform(2, 4, n).round(2)})
    sales.assign(sales=20 - 3 * sales["price"]).to_csv("sales.csv", index=False)
    orders = pd.DataFrame({"when": when[:n], "order": range(n), "weight": rng.uniform(1, 2, n)})
    orders.to_csv("orders.csv", index=False)
    pd.DataFrame({"when": when[2 : n + 2], "order": range(n), "days": 2 * orders["weight"]}).to_csv(
        "delivered.csv", index=False
    )
    readings = pd.DataFrame({"sensor": np.arange(n) % 7, "wind": rng.normal(size=n)})
    readings.assign(power=readings["wind"] * readings["sensor"]).to_csv("readings.csv", index=False)
    return tmp_path


@pytest.fixture
def lightgbm(monkeypatch):
    """scikit-learn's boosting in its place, where it is not installed."""
    if importlib.util.find_spec("lightgbm") is None:
        monkeypatch.setitem(sys.modules, "lightgbm", types.SimpleNamespace(LGBMRegressor=HistGradientBoostingRegressor))


@pytest.mark.parametrize("page", HERE)
def test_the_blocks_of_a_page_run(page, files, lightgbm, capsys):
    if page == "docs/forecasts.md":  # its rows have no times
        pd.read_csv("next.csv").to_csv("tomorrow.csv", index=False)
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 2)), columns=["wind", "price"])
    names = {"dl": dl, "X": X, "y": X["wind"].cumsum(), "times": pd.date_range("2026-01-01", periods=300, freq="h")}
    reader = Reader(page, capsys, NOT_RUN, **names)
    reader.follow()
    assert len(reader.skipped) == WITHOUT_A_RUN.get(page, 0)


def typed(page):
    """The commands of a page."""
    return [command for kind, text in blocks(page) if kind != "python" for command in commands(text)]


def test_every_page_with_blocks_is_accounted_for():
    with_blocks = {page for page, text in PAGES.items() if blocks(text)}
    assert with_blocks == {*HERE, *ELSEWHERE, *WITHOUT_A_RUN}
    for test in ELSEWHERE.values():
        assert (ROOT / test).exists()


@pytest.mark.parametrize("page", WITHOUT_A_RUN)
def test_commands_that_do_not_run_here_are_counted(page):
    found = typed(PAGES[page])
    assert len([command for command in found if command.startswith(tuple(NOT_RUN))]) == WITHOUT_A_RUN[page]
    assert page in HERE or len(found) == WITHOUT_A_RUN[page]


def test_commands_that_do_not_run_here_name_what_exists():
    found = [command for page in PAGES.values() for command in typed(page)]
    targets = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {command.split()[1] for command in found if command.startswith("make ")} <= targets
    extras = set(re.findall(r"^(\w+) = \[", (ROOT / "pyproject.toml").read_text(), re.MULTILINE))
    assert {extra for command in found for extra in re.findall(r'"\.\[(\w+)\]"', command)} <= extras
    for command in found:
        for module in re.findall(r"^python -m (benchmarks[.\w]*)", command):
            assert importlib.util.find_spec(module), command


def test_every_interactive_example_is_one_that_make_docs_or_make_test_runs():
    """Sphinx runs the directives; tests/test_adding_a_learner.py runs its page."""
    for page, text in PAGES.items():
        without = re.sub(r"^(`{3,})\{(doctest|testsetup|testcode)\}.*?^\1$", "", text, flags=re.DOTALL | re.MULTILINE)
        assert page in ("README.md", "docs/adding_a_learner.md") or ">>>" not in without, page
