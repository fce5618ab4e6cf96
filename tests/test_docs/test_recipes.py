"""Runs every command and every line of Python on the page of recipes, in order."""

import re

import numpy as np
import pandas as pd
import pytest

from tests.test_docs.pages import PAGES
from tests.test_docs.reader import Reader

PAGE = "docs/recipes.md"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The files that the recipes use."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(7)
    when = pd.date_range("2026-01-01", periods=300, freq="h")
    price = rng.uniform(2, 4, 300).round(2)
    where = rng.choice(["shop", "stall"], 300)
    sold = 20 - 3 * price + 5 * (where == "shop") + 3 * np.sin(2 * np.pi * when.hour / 24) + rng.normal(size=300)
    sales = pd.DataFrame(
        {"when": when, "where": where, "price": price, "rain": np.where(sold > 14, "yes", "no"), "sold": sold}
    )
    sales.loc[::17, "price"] = np.nan
    sales.to_csv("sales.csv", index=False)
    sales.drop(columns="sold").tail(5).to_csv("next.csv", index=False)
    sales.assign(when=sales["when"].astype(str)).to_json("sales.jsonl", orient="records", lines=True)
    ahead = pd.date_range("2026-01-13 12:00", periods=24, freq="h")
    pd.DataFrame({"when": ahead}).to_csv("future.csv", index=False)
    orders = pd.DataFrame({"when": when[:50], "order": range(50), "weight": price[:50]})
    orders.to_csv("orders.csv", index=False)
    pd.DataFrame({"when": when[2:52], "order": range(50), "days": (2 * price[:50]).round()}).to_csv(
        "delivered.csv", index=False
    )
    return tmp_path


def test_there_are_a_dozen_questions_each_with_a_command_and_python():
    recipes = PAGES[PAGE].split("\n## ")[1:]
    assert len(recipes) >= 12
    for recipe in recipes:
        assert set(re.findall(r"```(\w+)\n", recipe)) == {"shell", "python"}, recipe.splitlines()[0]


def test_every_block_runs(folder, capsys):
    Reader(PAGE, capsys).follow()
    for written in ("report.html", "predictions.parquet", "forecast.csv", "errors.svg", "classes.csv", "again.html"):
        assert (folder / written).stat().st_size > 0
    assert len((folder / "predictions.jsonl").read_text().splitlines()) == 300
    assert len((folder / "forecast.csv").read_text().splitlines()) == 25
