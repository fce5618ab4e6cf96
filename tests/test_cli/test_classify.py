"""run --task classify: text classes, the same bits as the library, resuming, and options that cannot be combined with it."""

import numpy as np
import pytest

import driftline as dl
from driftline import files
from tests.test_cli.calling import call, outcome, predictions

TREES = ("oak", "ash", "elm")


@pytest.fixture
def forest(tmp_path):
    """Three classes that depend on two numbers and a text. One label is missing, and one text appears late."""
    rng = np.random.default_rng(2)
    X, soil = rng.normal(size=(400, 2)), rng.choice(["sand", "clay", "loam"], 400)
    soil[:50] = "sand"
    codes = (X[:, 0] > 0).astype(int) + ((X[:, 1] > 0.5) & (soil != "clay")).astype(int)
    lines = [f"{a!r},{b!r},{s},{TREES[c]}" for (a, b), s, c in zip(X.tolist(), soil, codes, strict=True)]
    lines[7] = lines[7].rpartition(",")[0] + ","
    path = tmp_path / "forest.csv"
    path.write_text("\n".join(["height,width,soil,tree", *lines]))
    return path, lines


RUN = ("-t", "tree", "--task", "classify", "-m", "rls")


def test_the_predicted_classes_match_the_library(capsys, forest, tmp_path):
    path, _ = forest
    found = outcome(capsys, "run", path, *RUN, "--out", tmp_path / "out.csv")
    model = dl.Classifier(dl.RLS(missing="mean"))
    predicted, labels = [], []
    for block in files.open_rows(path, target="tree", task="classify"):
        for row, label in zip(block.X.mappings(), block.y, strict=True):
            predicted.append(model.predict_one(row))
            labels.append(label)
            model.learn_one(row, label)
    table = predictions(tmp_path / "out.csv")
    assert [value or None for value in table["prediction"].to_pylist()] == predicted
    assert [value or None for value in table["target"].to_pylist()] == labels
    hits = [one == other for one, other in zip(predicted, labels, strict=True) if other is not None and one is not None]
    assert len(hits) == found["rows_scored"] == 398  # all but the first row and the one without a label
    assert found["accuracy"] == pytest.approx(np.mean(hits))
    assert found["accuracy"] > found["accuracy of the most frequent class"] > 0.3


def test_the_baselines_match_a_computation_by_hand(capsys, forest):
    path, lines = forest
    found = outcome(capsys, "run", path, *RUN, "--delay", 3)
    labels = [line.rpartition(",")[2] or None for line in lines]
    most, last = [], []
    for t, label in enumerate(labels):
        known = [each for each in labels[: max(t - 3, 0)] if each is not None]
        if label is not None and known:
            most.append(max(dict.fromkeys(known), key=known.count) == label)
            last.append(known[-1] == label)
    assert found["accuracy of the most frequent class"] == pytest.approx(np.mean(most))
    assert found["accuracy of the last class"] == pytest.approx(np.mean(last))


@pytest.mark.parametrize("delay", [0, 5])
def test_a_run_in_two_parts_equals_one_run(capsys, forest, tmp_path, delay):
    path, lines = forest
    part, state, out = tmp_path / "part.csv", tmp_path / "m.drift", tmp_path / "out.csv"
    whole = outcome(capsys, "run", path, *RUN, "--delay", delay, "--out", tmp_path / "whole.csv")
    for count in (130, 400):
        part.write_text("\n".join(["height,width,soil,tree", *lines[:count]]) + "\n")
        found = outcome(capsys, "run", part, *RUN, "--delay", delay, "--state", state, "--resume", "--out", out)
    assert found["resumed_at"] == 130
    assert out.read_text() == (tmp_path / "whole.csv").read_text()
    same = [name for name in whole if name.startswith("accuracy")]
    assert {name: found[name] for name in same} == {name: whole[name] for name in same}


def test_predict_gives_classes(capsys, forest, tmp_path):
    path, _ = forest
    state = tmp_path / "m.drift"
    assert call(capsys, "run", path, *RUN, "--state", state)[0] == 0
    (tmp_path / "next.csv").write_text("height,width,soil\n2.0,-1.0,sand\n-2.0,-1.0,chalk\n")
    code, out, _ = call(capsys, "predict", state, tmp_path / "next.csv")
    assert code == 0
    assert [line.rpartition(",")[2].strip('"') for line in out.splitlines()] == ["prediction", "ash", "oak"]


def test_inspect_describes_a_classifier(capsys, forest, tmp_path):
    state = tmp_path / "m.drift"
    assert call(capsys, "run", forest[0], *RUN, "--state", state)[0] == 0
    found = outcome(capsys, "inspect", state)
    assert found["rows_learned"] == 399
    assert found["intercept"] is None  # each class has its own


def test_numbers_are_classes_too(capsys, tmp_path):
    path = tmp_path / "numbers.csv"
    path.write_text("\n".join(["x,y", *(f"{t % 2},{1 + t % 2}" for t in range(100))]))
    assert outcome(capsys, "run", path, "-t", "y", "--task", "classify")["accuracy"] > 0.9


@pytest.mark.parametrize(("arguments", "words"), [
    (["run", "--level", "0.9"], "--level cannot be combined with --task classify"),
    (["run", "--steps", "3"], "--steps cannot be combined with --task classify"),
    (["run", "--key", "a"], "--key cannot be combined with --task classify"),
    (["run", "--report", "page.html"], "--report cannot be combined with --task classify"),
    (["run", "--task", "cluster"], "task must be"),
], ids=["level", "steps", "key", "report", "cluster"])  # fmt: skip
def test_options_that_conflict_with_classes_are_refused(capsys, forest, arguments, words):
    command, *rest = arguments
    given = ["--task", "classify"] if "--task" not in rest else []
    code, _, err = call(capsys, command, forest[0], "-t", "tree", *given, *rest)
    assert code == 2
    assert words in " ".join(err.split())


def test_the_error_for_a_text_target_mentions_classes(capsys, forest):
    code, _, err = call(capsys, "run", forest[0], "-t", "tree")
    assert code != 0
    assert "--task classify if it holds classes" in " ".join(err.split())


@pytest.mark.parametrize("delay", [0, 3])
def test_compare_gives_the_accuracies_of_single_runs_and_of_the_baselines(capsys, forest, delay):
    path, _ = forest
    given = ("-t", "tree", "--task", "classify", "--delay", delay)
    found = outcome(capsys, "compare", path, *given, "--models", "rls,nlms,ridge", "-s", "rls.forgetting=0.95")
    accuracies = [row["accuracy"] for row in found["rows"][:3]]
    assert accuracies == sorted(accuracies, reverse=True)
    for row in found["rows"][:3]:
        settings = ["-s", "forgetting=0.95"] if row["model"] == "rls" else []
        alone = outcome(capsys, "run", path, *given, "-m", row["model"], *settings)
        assert row["accuracy"] == alone["accuracy"]
        assert row["error rate"] == pytest.approx(1 - alone["accuracy"], rel=1e-12)
    for row in found["rows"][3:]:
        assert row["accuracy"] == alone[f"accuracy of the {row['model'].strip('()')}"]
    assert [row["model"] for row in found["rows"][3:]] == ["(most frequent class)", "(last class)"]


def test_compare_tells_a_real_difference_of_classifiers_from_chance(capsys, tmp_path):
    """Classes that swap every 200 rows, which ridge regression cannot follow, and classes that are random."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=2_000)
    turning = (x > 0) ^ (np.arange(2_000) // 200 % 2 == 1)
    for name, labels, different in (("turning", turning, True), ("blind", rng.random(2_000) > 0.5, False)):
        path = tmp_path / f"{name}.csv"
        lines = [f"{a!r},{'yes' if b else 'no'}" for a, b in zip(x.tolist(), labels, strict=True)]
        path.write_text("\n".join(["x,c", *lines]))
        given = ("--task", "classify", "--models", "ridge,rls", "-s", "rls.forgetting=0.9")
        found = outcome(capsys, "compare", path, "-t", "c", *given)
        assert (found["rows"][1]["p against the best"] < 0.001) == different


def test_tune_gives_the_error_rates_of_a_sweep(capsys, forest, tmp_path):
    path, _ = forest
    grid = {"forgetting": [0.9, 0.99, 1.0], "ridge": [0.1, 10.0]}
    typed = [part for name, values in grid.items() for part in ("-g", f"{name}={','.join(map(str, values))}")]
    given = ("-t", "tree", "--task", "classify", "--drop", "soil", *typed)
    found = outcome(capsys, "tune", path, *given)
    rates = {(row["forgetting"], row["ridge"]): row["error rate"] for row in found["rows"] if row["model"] == "rls"}
    assert [row["model"] for row in found["rows"]].count("auto") == 1
    (block,) = files.open_rows(path, target="tree", task="classify", drop=["soil"])
    labelled = np.array([label is not None for label in block.y])
    X, y = np.asarray(block.X)[labelled], block.y[labelled]
    for (forgetting, ridge), rate in rates.items():
        run = dl.Classifier(dl.RLS(forgetting=forgetting, ridge=ridge)).run(X, y)
        assert rate == pytest.approx(np.mean(run.predictions[1:] != y[1:]), rel=1e-12)  # no class is known at row 0
    picture = tmp_path / "rates.svg"
    code, out, _ = call(capsys, "tune", path, *given, "--picture", picture)
    assert code == 0
    assert "Best for driftline run: --task classify --model rls -s forgetting=" in out
    assert "error rate" in picture.read_text()


def test_a_file_without_any_class_is_refused_as_one_without_any_number_is(capsys, tmp_path):
    (tmp_path / "a.csv").write_text("x,c\n1,\n2,\n")
    code, _, err = call(capsys, "run", tmp_path / "a.csv", "-t", "c", "--task", "classify", "-m", "rls")
    assert (code, "column 'c': no row has a target" in err) == (1, True)
