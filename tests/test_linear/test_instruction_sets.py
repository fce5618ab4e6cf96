"""The baseline and AVX2 kernels: the same results to rounding, and each set reproduces its own bit for bit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from driftline import _core
from tests.streams import EVERY, Array, assert_same_state, drifting, loop, signs, state_of, wild

WIDTHS = [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33]


def replay_everything() -> dict[str, Array]:
    """The results of every learner on some streams, after a check that run equals the loop."""
    found = {"instruction_set": np.array(_core.instruction_set())}
    for name, make in EVERY.items():
        for d in WIDTHS:
            for dtype in ("float64", "float32"):
                X, y = drifting(d, 40, d)
                y = signs(y) if "logistic" in name else y
                at_once, one_by_one = make(dtype=dtype), make(dtype=dtype)
                run = at_once.run(X, y)
                predictions, _ = loop(one_by_one, X, y)
                np.testing.assert_array_equal(run.predictions, predictions)
                assert_same_state(at_once, one_by_one)
                key = f"{name}/{d}/{dtype}"
                found[f"{key}/predictions"], found[f"{key}/resets"] = run.predictions, run.resets
                found[f"{key}/weights"] = state_of(at_once)["weights"].astype(float)
    return found


def wild_predictions() -> Array:
    """Predictions of rows that need scaling, capping and lifting; they must be finite on every instruction set."""
    from tests.streams import REFUSING, SECOND_ORDER

    rows = []
    for name in sorted(set(SECOND_ORDER) - set(REFUSING)):
        for seed in range(20):
            X, y = wild(seed, 30, 1 + seed % 9, span=8.0)
            at_once, one_by_one = SECOND_ORDER[name](), SECOND_ORDER[name]()
            run = at_once.run(X, y)
            np.testing.assert_array_equal(run.predictions, loop(one_by_one, X, y)[0])
            rows.append(run.predictions)
    return np.array(rows)


def in_a_process(path: Path, **environment: str) -> dict[str, Array]:
    script = (
        "import sys, numpy as np\n"
        "from tests.test_linear.test_instruction_sets import replay_everything, wild_predictions\n"
        "np.savez(sys.argv[1], wild=wild_predictions(), **replay_everything())\n"
    )
    root = Path(__file__).parents[2]
    subprocess.run(
        [sys.executable, "-W", "error", "-W", "ignore::UserWarning", "-c", script, str(path)],
        check=True,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root), **environment},
    )
    with np.load(path) as arrays:
        return dict(arrays)


def test_the_baseline_agrees_with_the_fastest_set(tmp_path):
    """Predictions to 1e-12 in float64 and 2e-5 in float32, resets exactly; run is the loop, bit for bit, on both."""
    if _core.instruction_set() == "baseline":
        pytest.skip("this machine runs the baseline anyway")
    baseline = in_a_process(tmp_path / "baseline.npz", DRIFTLINE_ISA="baseline")
    assert str(baseline.pop("instruction_set")) == "baseline"
    assert np.isfinite(baseline.pop("wild")).all()
    ours = replay_everything()
    assert str(ours.pop("instruction_set")) == "avx2"
    assert ours.keys() == baseline.keys()
    for key, values in ours.items():
        if key.endswith("resets"):
            np.testing.assert_array_equal(values, baseline[key], err_msg=key)
        else:
            size = max(1.0, float(np.abs(values).max(initial=0.0)))
            tolerance = 1e-12 if "float64" in key else 2e-5
            assert np.abs(values - baseline[key]).max() < tolerance * size, key


def test_a_request_for_an_unknown_instruction_set_is_ignored(tmp_path):
    script = "from driftline import _core; print(_core.instruction_set())"
    found = subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "DRIFTLINE_ISA": "avx1024"},
    )
    assert found.stdout.strip() == _core.instruction_set()
