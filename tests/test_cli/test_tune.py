"""tune, report, and the significance of compare."""

import re

import numpy as np
import pytest

import driftline as dl
from driftline.cli import tuning
from tests.test_cli.calling import call, outcome


@pytest.fixture
def sales(tmp_path):
    """A target that drifts, with two shops."""
    rng = np.random.default_rng(3)
    x, shop = rng.normal(size=600), rng.integers(2, size=600)
    y = np.cumsum(0.1 * rng.normal(size=600)) * x + 2.0 * shop + 0.3 * rng.normal(size=600)
    path = tmp_path / "sales.csv"
    lines = [f"{a!r},{('north', 'south')[b]},{c!r}" for a, b, c in zip(x.tolist(), shop.tolist(), y.tolist(), strict=True)]
    path.write_text("\n".join(["x,shop,sales", *lines]))
    return path, x, shop, y


def test_tune_gives_the_errors_of_single_runs_best_first(capsys, sales):
    path, *_ = sales
    found = outcome(capsys, "tune", path, "-t", "sales", "-g", "forgetting=0.9,0.97,1.0", "-g", "ridge=0.1,1")
    rows = [row for row in found["rows"] if row["model"] == "rls"]
    assert len(rows) == 6
    assert [row["rmse"] for row in found["rows"]] == sorted(row["rmse"] for row in found["rows"])
    for row in rows:
        settings = ["-s", f"forgetting={row['forgetting']}", "-s", f"ridge={row['ridge']}"]
        alone = outcome(capsys, "run", path, "-t", "sales", "-m", "rls", *settings)
        assert row["rmse"] == pytest.approx(alone["rmse"], rel=1e-12)
    assert [row["model"] for row in found["rows"]].count("auto") == 1


def test_the_best_setting_is_given_as_options_of_run(capsys, sales):
    path, *_ = sales
    grid = ["tune", path, "--target", "sales", "-g", "forgetting=0.5,0.9,0.97,1.0"]
    code, out, _ = call(capsys, *grid, "--top", 1)
    assert code == 0
    assert sum(line.startswith("rls") for line in out.splitlines()) == 1
    best = next(line for line in out.splitlines() if line.startswith("Best for driftline run: "))
    ran = outcome(capsys, "run", path, "--target", "sales", *best.removeprefix("Best for driftline run: ").split())
    assert ran["rmse"] == pytest.approx(
        min(row["rmse"] for row in outcome(capsys, *grid)["rows"] if row["model"] == "rls"), rel=1e-12
    )


def test_without_a_grid_default_values_are_tried(capsys, sales):
    path, *_ = sales
    found = outcome(capsys, "tune", path, "-t", "sales", "-m", "laser")
    tried = [(row["ridge"], row["drift_cost"]) for row in found["rows"] if row["model"] == "laser"]
    assert tried
    assert all(ridge < cost for ridge, cost in tried)  # settings that LASER refuses are left out


def test_the_default_grid_has_only_parameters_and_values_that_learners_accept():
    for word, values in tuning.USUAL.items():
        owners = [cls for cls in dl.base.registry.regressors().values() if word in cls._params]
        assert owners, word
        assert any(all(cls._params[word].rule.accepts(value) for value in values) for cls in owners), word


def test_a_best_value_at_the_end_of_the_grid_is_pointed_out(capsys, sales):
    path, *_ = sales
    _, out, _ = call(capsys, "tune", path, "-t", "sales", "-g", "forgetting=0.97,0.99,1.0")
    assert "forgetting=0.97 is the smallest value tried" in out
    _, out, _ = call(capsys, "tune", path, "-t", "sales", "-g", "forgetting=0.5,0.9,1.0")
    assert "value tried" not in out


@pytest.mark.parametrize(("arguments", "words"), [
    (["-g", "forgeting=1"], "Did you mean forgetting?"),
    (["-g", "forgetting"], "--grid takes name=value"),
    (["-g", "forgetting=2"], "no setting is accepted"),
    (["-m", "auto"], "no usual values"),
    (["-g", "ridge=" + ",".join(str(t) for t in range(1, 700))], "more than 500"),
    (["--picture", "errors.bmp"], "must end in .png, .svg, .pdf"),
    (["--id", "shop"], "--drop leaves the column out"),
], ids=["misspelt", "no values", "refused", "nothing to tune", "too many", "no picture", "id"])  # fmt: skip
def test_invalid_tuning_options_are_refused(capsys, sales, arguments, words):
    code, _, err = call(capsys, "tune", sales[0], "-t", "sales", *arguments)
    assert code == 2
    assert words in " ".join(err.split())


def test_the_picture_has_a_line_for_each_setting_of_the_other_parameters(capsys, sales, tmp_path):
    code, out, _ = call(
        capsys, "tune", sales[0], "-t", "sales", "-g", "forgetting=0.9,0.97,1.0", "-g", "ridge=0.1,1",
        "--picture", tmp_path / "errors.svg",
    )  # fmt: skip
    assert code == 0
    assert "Picture:" in out
    text = (tmp_path / "errors.svg").read_text()
    assert "ridge=0.1" in text
    assert "ridge=1" in text
    _, x, shop, y = sales
    result = dl.sweep(dl.RLS(), {"forgetting": [0.97, 0.9, 1.0], "ridge": [0.1, 1.0]}, np.column_stack([x, shop]), y)
    lines = result.plot().get_lines()
    assert [line.get_label() for line in lines] == ["ridge=0.1", "ridge=1.0"]
    by_setting = {
        (each["forgetting"], each["ridge"]): loss for each, loss in zip(result.settings, result.losses, strict=True)
    }
    np.testing.assert_array_equal(lines[0].get_ydata(), [by_setting[forgetting, 0.1] for forgetting in (0.9, 0.97, 1.0)])


def test_compare_tells_a_real_difference_from_chance(capsys, sales):
    path, *_ = sales
    found = outcome(capsys, "compare", path, "-t", "sales", "--models", "rls,kalman,ridge", "-s", "rls.forgetting=0.95")
    rows = {row["model"]: row["p against the best"] for row in found["rows"]}
    assert rows["ridge"] < 0.05
    assert rows["(last value)"] is None
    assert sum(rows[name] is None for name in ("rls", "kalman", "ridge")) == 1  # the best learner
    _, out, _ = call(capsys, "compare", path, "-t", "sales", "--models", "rls,ridge", "-s", "rls.forgetting=0.95")
    assert out.splitlines()[-1] == "Significantly worse than rls, at the 5 % level: ridge"
    same = ["-s", "ridge.ridge=1.0", "-s", "rls.forgetting=1.0"]
    _, out, _ = call(capsys, "compare", path, "-t", "sales", "--models", "rls,ridge", *same)
    assert out.splitlines()[-1].startswith("No learner is significantly worse than")


@pytest.mark.parametrize("steps", [[], ["--steps", 3]], ids=["rows", "steps"])
def test_report_writes_the_page_of_a_run_except_for_the_command(capsys, sales, tmp_path, steps):
    path, *_ = sales
    state, first, second = tmp_path / "m.drift", tmp_path / "first.html", tmp_path / "second.html"
    assert call(capsys, "run", path, "-t", "sales", "-m", "rls", *steps, "--report", first, "--state", state)[0] == 0
    code, out, _ = call(capsys, "report", state, "--out", second)
    assert (code, out) == (0, f"600 rows: {second}\n")
    pages = [re.sub(r"driftline (run|report) [^<]*</code>", "", page.read_text()) for page in (first, second)]
    assert pages[0] == pages[1]


def test_report_needs_the_state_of_a_run_with_report(capsys, sales, tmp_path):
    path, *_ = sales
    state = tmp_path / "m.drift"
    assert call(capsys, "run", path, "-t", "sales", "--state", state)[0] == 0
    code, _, err = call(capsys, "report", state, "--out", tmp_path / "page.html")
    assert code == 2
    assert "was saved by a run without --report" in err
    assert not (tmp_path / "page.html").exists()
    dl.RLS().save(tmp_path / "alone.drift")
    code, _, err = call(capsys, "report", tmp_path / "alone.drift", "--out", tmp_path / "page.html")
    assert code == 1
    assert "no run" in err
