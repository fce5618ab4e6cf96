"""Quantiles in the service's answers: those of the library, kept with the answer, also after a restart."""

import numpy as np
import pytest

pytest.importorskip("starlette")

import driftline as dl
from tests.test_serve.client import refused

LEVELS = [0.1, 0.5, 0.9]
RNG = np.random.default_rng(6)
ROWS = [{"x": float(x)} for x in RNG.standard_normal(60)]
LABELS = [row["x"] + float(noise) for row, noise in zip(ROWS, RNG.exponential(size=60), strict=True)]


def plain(quantiles):
    return [value if np.isfinite(value) else None for value in quantiles.tolist()]


@pytest.mark.parametrize("late", [0, 4])
def test_answers_have_the_quantiles_of_the_library_and_keep_them(start, late):
    client = start()
    assert client.put("/v1/models/q", json={"learner": "rls", "quantiles": LEVELS}).status_code == 201
    assert client.put("/v1/models/q", json={"learner": "rls", "quantiles": LEVELS}).status_code == 200
    assert client.put("/v1/models/q", json={"learner": "rls"}).status_code == 409
    model, tickets, answers = dl.RLS(), [], []
    for t, row in enumerate(ROWS):
        answers.append(client.post("/v1/models/q/predict", json={"id": f"r{t}", "x": row}).json())
        tickets.append(model.ask(row))
        assert answers[-1]["quantiles"] == plain(tickets[-1].quantiles(LEVELS))
        if t >= late:
            assert client.post("/v1/models/q/learn", json={"id": f"r{t - late}", "y": LABELS[t - late]}).status_code == 200
            model.tell(tickets[t - late], LABELS[t - late])
        if t == 40:
            client.engine.stop()
            client = start()
    again = [client.post("/v1/models/q/predict", json={"id": f"r{t}", "x": ROWS[t]}).json() for t in range(60)]
    assert again == answers  # told and waiting ones
    assert answers[-1]["quantiles"][0] < answers[-1]["quantiles"][1] < answers[-1]["quantiles"][2]


def test_a_keyed_model_with_steps_forecasts_quantiles(start):
    client = start()
    params = {"low": -9, "high": 9}
    client.put("/v1/models/f", json={"learner": "rls", "params": params, "steps": 2, "quantiles": LEVELS, "keyed": True})
    forecaster = dl.Forecaster(dl.RLS(**params), steps=2)
    before = client.post("/v1/models/f/forecast", json={"rows": [{"key": "k", "x": ROWS[0]}]}).json()
    assert before["rows"][0] == {"prediction": 0.0, "lower": -9.0, "upper": 9.0, "quantiles": [-9.0, 0.0, 9.0]}
    for row, label in zip(ROWS[:50], LABELS, strict=False):
        client.post("/v1/models/f/learn", json={"key": "k", "x": row, "y": label})
        forecaster.learn_one(row, label)
    found = client.post("/v1/models/f/forecast", json={"rows": [{"key": "k", "x": row} for row in ROWS[50:52]]}).json()
    wanted = forecaster.forecast(ROWS[50:52], quantiles=LEVELS).quantiles
    assert [row["quantiles"] for row in found["rows"]] == [plain(each) for each in wanted]


@pytest.mark.parametrize("levels", [[], [0.5, 0.1], [0.5, 0.5], [0], [1.5], "0.5", [None], [True]])
def test_bad_levels_are_refused(start, levels):
    client = start()
    answer = client.put("/v1/models/q", json={"learner": "rls", "quantiles": levels})
    assert refused(answer, 422)
    assert answer.json()["field"].startswith("quantiles")
    assert client.get("/v1/models/q").status_code == 404
