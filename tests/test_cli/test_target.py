"""--low, --high and --transform: the range and the scale of the target."""

import numpy as np
import pyarrow as pa
import pytest

import driftline as dl
from tests.test_cli.calling import call, outcome, predictions
from tests.test_cli.tables import write

LOG = '"log" takes labels above 0; "log1p" takes those above -1, "asinh" any'


def counts(tmp_path, one=3.0):
    """A file of counts, one of them as given."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=300)
    y = rng.poisson(np.exp(0.5 * a)).astype(float)
    y[290] = one
    return write(pa.table({"a": a, "visits": y}), tmp_path / "visits.csv"), a[:, None], y


@pytest.mark.parametrize("options", [(), ("--delay", 3)])
def test_answers_are_those_of_the_library(capsys, tmp_path, options):
    source, X, y = counts(tmp_path)
    common = [source, "-t", "visits", "-m", "rls", "--level", 0.8, "--low", 0, "--high", 40, *options]
    for more, model in (
        ([], dl.RLS(low=0, high=40)),
        (["--transform", "log1p"], dl.Transformed(dl.RLS(), "log1p", low=0, high=40)),
    ):
        out, state = tmp_path / "out.parquet", tmp_path / f"state{len(more)}.drift"
        result = outcome(capsys, "run", *common, *more, "--out", out, "--state", state, "--report", tmp_path / "a.html")
        found = predictions(out)
        if not options:
            run = model.run(X, y, level=0.8)
            np.testing.assert_allclose(found["prediction"].to_numpy(), run.predictions, rtol=1e-9)
            np.testing.assert_allclose(found["lower"].to_numpy(), run.lower, rtol=1e-9)
            assert result["rmse"] == pytest.approx(np.sqrt(run.losses[1:].mean()))
        assert min(found["lower"].to_pylist()) == 0
        assert max(found["upper"].to_pylist()) <= 40
        kept = dl.load(state)
        assert (type(kept).__name__, kept.low, kept.high) == (type(model).__name__, 0, 40)


@pytest.mark.parametrize("options", [(), ("--delay", 3), ("--key", "a"), ("--steps", 2)])
def test_a_label_outside_is_refused_with_its_place(capsys, tmp_path, options):
    source, _, _ = counts(tmp_path, one=-2.0)
    for more, words in ((["--low", "0"], "below low=0"), (["--transform", "log1p"], '"log1p" takes labels above -1')):
        code, _, err = call(capsys, "run", source, "-t", "visits", "-m", "rls", *more, *options)
        assert code == 1
        assert words in err
        assert "line 292" in err


def test_options_that_contradict_each_other_are_refused(capsys, tmp_path):
    source, _, _ = counts(tmp_path)
    for more, words in (
        (["--low", "3", "--high", "2"], "low must be less than high"),
        (["--transform", "ln"], "transformation must be one of 'log'"),
        (["--low", "0", "--task", "classify"], "low must be None"),
    ):
        code, _, err = call(capsys, "run", source, "-t", "visits", "-m", "rls", *more)
        assert code == 2
        assert words in " ".join(err.split())
    code, out, _ = call(
        capsys, "compare", source, "-t", "visits", "--models", "rls,lms", "--low", "0", "--transform", "sqrt"
    )
    assert code == 0
    assert "rls" in out


@pytest.mark.parametrize("how", [[], ["--delay", 2], ["--steps", 2], ["--key", "k"], ["--id", "i"]], ids=str)
def test_a_refused_label_is_explained_without_names_of_methods(capsys, tmp_path, how):
    lines = [f"i{t},k{t % 2},{t % 3},{0 if t == 30 else 1 + t % 3}" for t in range(50)]
    (tmp_path / "a.csv").write_text("\n".join(["i,k,x,y", *lines]))
    more = ["--drop", "i"] if "--id" not in how else []
    for options, words in (
        (["--low", 0.5], "the label is 0, below low=0.5"),
        (
            ["--transform", "log"],
            'the label is 0, but "log" takes labels above 0; "log1p" takes those above -1, "asinh" any',
        ),
    ):
        code, _, said = call(capsys, "run", tmp_path / "a.csv", "-t", "y", "-m", "rls", *how, *more, *options)
        assert code != 0
        assert said.strip() == f"driftline run: {tmp_path / 'a.csv'}, line 32: {words}"
