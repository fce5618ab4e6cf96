"""Files with very many columns: the work grows with the columns, not with their square."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import driftline as dl
from driftline.cli import forecasting
from driftline.files import Options, arrow_tables, lines, open_rows
from driftline.files.block import BlockMaker
from driftline.files.raw import Block
from tests.test_cli.tables import write


class Name(str):
    """A name that counts how often it is compared with an equal or unequal one."""

    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other):
        Name.compared += 1
        return str.__eq__(self, other)


class Table:
    """A table that counts how often all of its names or columns are listed."""

    def __init__(self, table):
        self.table, self.lists = table, 0

    def __getattr__(self, name):
        return getattr(self.table, name)

    def __len__(self):
        return len(self.table)

    @property
    def schema(self):
        self.lists += 1
        return self.table.schema

    @property
    def columns(self):
        self.lists += 1
        return self.table.columns


def wide(columns, rows=100):
    numbers = np.random.default_rng(0).normal(size=(rows, columns))
    return pa.table({f"x{place}": numbers[:, place] for place in range(columns)} | {"load": np.ones(rows)})


def test_the_columns_of_a_block_are_listed_as_often_however_many_there_are():
    lists = []
    for columns in (3, 300):
        table = Table(wide(columns))
        block = BlockMaker(Options(target="load")).block(
            Block(table=table, kinds=dict.fromkeys(table.column_names, "number"))
        )
        np.testing.assert_array_equal(block.X.block(0, 100), np.column_stack(table.table.columns[:-1]))
        lists.append(table.lists)
    assert lists[0] == lists[1]


@pytest.mark.parametrize("option", ["features", "drop", "text"])
def test_a_name_is_not_compared_with_every_listed_one(option):
    names = [Name(f"x{place}") for place in range(1000)]
    options = Options(target="load", **{option: names})
    Name.compared = 0
    chosen = [name in options.texts if option == "text" else options.is_feature(name) for name in map(Name, names)]
    assert set(chosen) == {option != "drop"}
    assert Name.compared <= 5 * len(names)


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet", "a.arrow"])
def test_long_lines_come_in_blocks_of_several(tmp_path, monkeypatch, name):
    """Each block costs time for each column, so that single lines would take time quadratic in the columns."""
    monkeypatch.setattr(lines, "BLOCK", 4096)
    monkeypatch.setattr(lines, "FIRST", 1024)
    monkeypatch.setattr(arrow_tables, "VALUES", 4096)
    for columns in (10, 500):
        with open_rows(write(wide(columns, 640), tmp_path / name), target="load") as rows:
            counts = [len(block) for block in rows.reader.blocks()]
        assert sum(counts) == 640
        assert len(counts) <= 12 or columns == 10
        assert min(counts[:-1]) >= 60 or columns == 10


def test_the_columns_of_the_next_rows_are_listed_as_often_however_many_are_known_ahead():
    lists = []
    for columns in (3, 300):
        table = Table(wide(columns, 2))
        names = tuple(table.column_names)
        model = dl.Forecaster(dl.NLMS(), steps=2)
        model.run(table.table, [1.0, 2.0])
        trained = forecasting.TrainedForecaster(model, Options(features=names), None, names, 2)
        forecasting._check_values(trained, None, Block(table=table, kinds=dict.fromkeys(names, "number")), names)
        lists.append(table.lists)
    assert lists[0] == lists[1]


@pytest.mark.parametrize("text", [False, True])
def test_a_name_known_ahead_is_not_compared_with_every_other(text):
    compared = []
    for columns in (50, 200):
        names = [f"x{place}" for place in range(columns)]
        row = {Name(name): 1.0 for name in names} | ({"text": "a"} if text else {})
        model = dl.Forecaster(dl.NLMS(missing="mean"), steps=2, known=list(map(Name, names[: columns // 2])))
        Name.compared = 0
        for label in (1.0, 2.0, 3.0):
            model.learn_one(row, label)
        model.forecast([row, row])
        compared.append(Name.compared)
    assert compared[1] <= 5 * compared[0]


def test_the_features_of_a_new_text_are_not_sought_among_all():
    compared = []
    for columns in (50, 200):
        names = pd.Index([Name(f"x{place}") for place in range(columns)], dtype=object)
        frame = pd.DataFrame([[text] * columns for text in "abc"], columns=names)
        Name.compared = 0
        dl.NLMS().run(frame, [1.0, 2.0, 3.0])
        compared.append(Name.compared)
    assert compared[1] <= 5 * compared[0]
