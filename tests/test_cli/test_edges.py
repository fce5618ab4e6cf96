"""The command line and Python give the same numbers, and columns learn from the rows that the model learns."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import driftline as dl
from tests.test_cli.calling import call, outcome, predictions
from tests.test_cli.tables import mixed, write


def run(capsys, table, tmp_path, *options):
    source = write(table, tmp_path / "a.parquet")
    outcome(capsys, "run", source, "-t", "load", *options, "--out", tmp_path / "out.parquet")
    return predictions(tmp_path / "out.parquet")["prediction"].to_numpy(zero_copy_only=False)


@pytest.mark.parametrize("word", ["mean", "last", "zero", "skip"])
@pytest.mark.parametrize("name", ["rls", "kalman", "auto"])
def test_a_run_predicts_as_python_does_with_the_same_word(capsys, tmp_path, name, word):
    table = mixed()
    found = run(capsys, table, tmp_path, "-m", name, "--missing", word)
    frame = table.to_pandas()
    model = {"rls": dl.RLS, "kalman": dl.Kalman, "auto": dl.Auto}[name](missing=word)
    expected = model.run(frame.drop(columns="load"), frame["load"]).predictions
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(
    "options", [("-m", "rls"), ("-m", "kalman", "--missing", "last"), ("-m", "nlms", "--missing", "wind=zero")]
)
def test_rows_without_a_label_teach_the_columns_nothing(capsys, tmp_path, options):
    table = mixed().to_pandas()
    odd = pd.DataFrame({**table[::5], "wind": 1e3, "where": "nowhere", "load": np.nan})
    both = pd.concat([table, odd]).sort_index(kind="stable").reset_index(drop=True)
    known = both["load"].notna().to_numpy()
    found = run(capsys, pa.Table.from_pandas(both), tmp_path, *options)
    expected = run(capsys, pa.Table.from_pandas(both[known], preserve_index=False), tmp_path, *options)
    np.testing.assert_array_equal(found[known], expected)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("options", [(), ("--missing", "last")])
def test_predictions_do_not_depend_on_the_rows_before_them(capsys, tmp_path, options):
    table = mixed()
    source, state = write(table.slice(0, 400), tmp_path / "a.csv"), tmp_path / "m"
    outcome(capsys, "run", source, "-t", "load", "-m", "rls", *options, "--state", state)
    rest = table.slice(400).drop_columns(["load"])
    order = np.random.default_rng(0).permutation(len(rest))
    found = []
    for rows in (rest, rest.take(order)):
        assert call(capsys, "predict", state, write(rows, tmp_path / "b.csv"), "--out", tmp_path / "out.parquet")[0] == 0
        found.append(predictions(tmp_path / "out.parquet")["prediction"].to_numpy())
    np.testing.assert_array_equal(found[0][order], found[1])


@pytest.mark.parametrize("settings", [("-s", "intercept=false"), ()])
def test_a_file_may_begin_with_rows_that_have_no_label(capsys, tmp_path, settings):
    table = mixed(60).to_pandas()
    table.loc[:9, "load"] = np.nan
    found = run(capsys, pa.Table.from_pandas(table), tmp_path, "-m", "rls", *settings)
    expected = run(capsys, pa.Table.from_pandas(table[10:], preserve_index=False), tmp_path, "-m", "rls", *settings)
    np.testing.assert_array_equal(found[:10], np.zeros(10))
    np.testing.assert_array_equal(found[10:], expected)
