"""The scores of a model: over all time, in the last hour and day, and without the errors that cannot be squared."""

import numpy as np
import pytest

import driftline as dl
from driftline.serve.engine import Engine
from driftline.serve.scores import LARGEST
from tests.test_serve.tools import Direct, copy_of

BEGIN = 1_800_000_000.0


@pytest.fixture
def clock(monkeypatch):
    """The time of the service, which a test may set."""
    now = [BEGIN]
    monkeypatch.setattr("time.time", lambda: now[0])
    return now


def figures(said):
    """The figures of labels and answers, by their definitions; the baselines from all labels so far."""
    y, prediction, lower, upper, last, mean = (np.array(column, dtype=np.float64) for column in zip(*said, strict=True))
    judged = np.isfinite(lower)
    return {
        "rows": len(y),
        "mse": np.mean((y - prediction) ** 2),
        "mae": np.mean(np.abs(y - prediction)),
        "coverage": np.mean(((lower <= y) & (y <= upper))[judged]),
        "baselines": {"last": np.nanmean((y - last) ** 2), "mean": np.nanmean((y - mean) ** 2)},
    }


def test_the_last_hour_and_day_are_those_of_their_rows_after_any_restart(tmp_path, clock, monkeypatch):
    """A row every 100 s for 30 hours, alone, by id or in tables; snapshots are written in between."""
    monkeypatch.setattr(Engine, "_keep_short", lambda self: self.log.last % 5 or self._save(0.0))
    rng, said, labels, folder = np.random.default_rng(0), [], [], tmp_path / "0"
    with Direct(folder) as service:
        service.put("m", learner="rls")
    for part in range(3):
        with Direct(folder) as service:
            for step in range(30):
                x = rng.normal(size=(12, 1)).round(6)
                y = (2 * x[:, 0] + rng.normal(size=12)).round(6)
                answers = []
                for one, label in zip(x.tolist(), y.tolist(), strict=True):
                    answers.append(service.predict("m", x=one)[0])
                    if step % 3 == 0:
                        service.learn("m", x=one, y=label)
                    elif step % 3 == 1:
                        service.predict("m", id=f"{part} {step} {label}", x=one)
                        service.learn("m", id=f"{part} {step} {label}", y=label)
                    else:
                        break
                if len(answers) == 1:  # the predictions of a table are those of its rows one by one, in a copy
                    service.copy("m", "twin", replace=True)
                    service.learn("m", *[{"x": one, "y": label} for one, label in zip(x.tolist(), y.tolist(), strict=True)])
                    answers = []
                    for one, label in zip(x.tolist(), y.tolist(), strict=True):
                        answers.append(service.predict("twin", x=one)[0])
                        service.learn("twin", x=one, y=label)
                for label, answer in zip(y.tolist(), answers, strict=True):
                    known = [labels[-1], np.mean(labels)] if labels else [np.nan, np.nan]
                    said.append((clock[0], label, *answer[:3], *known))
                    labels.append(label)
                clock[0] += 1200.0
            folder = copy_of(folder, tmp_path / str(part + 1))
    clock[0] -= 1200.0
    with Direct(folder) as service:
        status = service.status("m")
        clock[0] += 86_400.0
        silent = service.status("m")["recent"]
    everything = figures([row[1:] for row in said])
    assert {name: status[name] for name in everything} == {
        name: value if name == "rows" else pytest.approx(value, rel=1e-9) for name, value in everything.items()
    }
    for name, slots in (("hour", 12), ("day", 288)):
        first = (said[-1][0] // 300 - slots + 1) * 300  # slots of five minutes, the last of which is now
        expected = figures([row[1:] for row in said if row[0] >= first])
        assert status["recent"][name] == {
            part: value if part == "rows" else pytest.approx(value, rel=1e-9) for part, value in expected.items()
        }
        assert status["recent"][name]["rows"] == {"hour": 36, "day": 864}[name]
    assert silent["day"] == silent["hour"] == {
        "rows": 0, "mse": None, "mae": None, "coverage": None, "baselines": {"last": None, "mean": None},
    }  # fmt: skip


@pytest.mark.parametrize("huge", [1e160, -1e290, 2 * LARGEST])
def test_errors_that_cannot_be_squared_are_counted_and_left_out_of_the_scores(tmp_path, huge):
    """Alone and in a table: the figures are those of the other labels, also of the baselines, and after a restart."""
    rows = [{"x": [float(n)], "y": n % 3 - 1.0} for n in range(20)]
    figures, counted = [], []
    for name, label in (("single", huge), ("table", huge), ("without", None)):
        with Direct(tmp_path / name) as service:
            service.put("m", learner="lms", params={"rate": 1e-305})
            batch = rows[:10] + ([{"x": [0.0], "y": label}] if label else []) + rows[10:]
            for part in [batch] if name == "table" else [[row] for row in batch]:
                service.learn("m", *part)
            killed = copy_of(tmp_path / name, tmp_path / f"{name} killed")
            status = service.status("m")
        with Direct(killed) as again:
            assert again.status("m") == status
        counted.append((status["rows"], status["unscored"]))
        figures.append([status["mse"], status["mae"], *status["baselines"].values(), status["recent"]["day"]["mse"]])
    assert counted == [(21, 1), (21, 1), (20, 0)]
    assert figures[0] == pytest.approx(figures[2], rel=1e-12)
    assert figures[1] == pytest.approx(figures[2], rel=1e-12)


def test_a_prediction_that_is_too_large_is_not_scored_either(tmp_path):
    with Direct(tmp_path) as service:
        service.put("m", learner="rls")
        service.learn("m", {"x": [0.0], "y": 1.0}, {"x": [1.0], "y": 1e160})
        prediction = service.predict("m", x=[1.0])[0][0]
        assert abs(prediction) > 1e155
        service.learn("m", *[{"x": [1.0], "y": 2.0}] * 9)
        status = service.status("m")
        assert (status["rows"], status["mse"], status["baselines"]) == (11, 1.0, {"last": None, "mean": None})
        assert status["unscored"] == 10


def test_a_row_without_a_prediction_is_not_scored(tmp_path):
    with Direct(tmp_path) as service:
        service.put("m", learner="rls", params={"missing": "skip"})
        service.learn("m", {"x": {"a": 1.0}, "y": 2.0}, {"x": {"a": None}, "y": 3.0}, {"x": {"a": 0.0}, "y": 1.0})
        status, expected = service.status("m"), dl.RLS()
        expected.learn_one({"a": 1.0}, 2.0)
        errors = [2.0, 1.0 - expected.predict_one({"a": 0.0})]
        assert (status["rows"], status["unscored"]) == (3, 1)
        assert status["mse"] == pytest.approx(np.mean(np.square(errors)), rel=1e-12)
