import numpy as np
import pytest

from driftline.linear import LASER, Kalman
from papers import laser_fig7_1
from papers.laser_fig7_1 import DEGREE, Reading
from papers.race import RaceResult

THESIS = {"LASER": 1.0, "CRRLS": 2.0, "NLMS": 3.0, "ARCOR": 4.0, "AROWR": 5.0}
OTHERS = {"Kalman": 1.5, "ARCOR, no ball": 4.2, "ARCOR, q = 3, no ball": 4.5}


def outcome(**changed):
    """A race that ends in the thesis's order, except for the changed learners."""
    losses = THESIS | OTHERS | changed
    rng = np.random.default_rng(0)
    at = np.array([10, 100, 200])
    curves = [loss * at + rng.normal(scale=1e-3, size=(6, 3)) for loss in losses.values()]
    return RaceResult(tuple(losses), {name: {} for name in losses}, at, np.stack(curves, axis=1), np.full(6, 2000.0))


def judged(constant, switching):
    found = {}
    for noise in laser_fig7_1.NOISES:
        found[Reading("as drawn", noise, False, DEGREE)] = constant
        found[Reading("as drawn", noise, True, DEGREE)] = switching
    return laser_fig7_1.judge(found)


def test_the_thesiss_own_order_agrees():
    assert judged(outcome(), outcome(ARCOR=0.5)).verdict == "agrees"


@pytest.mark.parametrize(
    ("changed", "failing"),
    [
        ({"LASER": 2.5}, "LASER is the best"),
        ({"AROWR": 3.5}, "AROWR is the worst"),
        ({"ARCOR": 2.5}, "ARCOR is behind CR-RLS and NLMS"),
        ({"NLMS": 1.9}, "CR-RLS is ahead of NLMS"),
    ],
)
def test_each_statement_depends_on_its_learner(changed, failing):
    checks = judged(outcome(**changed), outcome(ARCOR=0.5)).checks
    assert [check.statement.split(": ")[1] for check in checks if not check.holds] == [failing]


def test_the_statements_on_switches_concern_arcor_and_laser():
    checks = judged(outcome(), outcome()).checks
    assert [check.statement for check in checks if not check.holds] == ["switches, both noises: ARCOR is ahead of LASER"]


def test_the_tables_name_the_rates_at_which_statements_hold():
    constant = {
        Reading("as drawn", 0.0, False, 0.01): outcome(),
        Reading("as drawn", 0.0, False, 0.1): outcome(LASER=2.5),
        Reading("as drawn", 0.0, False, 0.2): outcome(Kalman=2.5, ARCOR=2.5),
    }
    (row,) = laser_fig7_1.leads(constant).records()
    assert (row["LASER"], row["Kalman"]) == ("0.01, 0.2", "0.01, 0.1")
    with_laser, with_kalman = laser_fig7_1.orders(constant).records()
    assert (with_laser["ARCOR"], with_laser["ARCOR, no ball"]) == ("0.01", "0.01, 0.2")
    assert (with_kalman["ARCOR"], with_kalman["ARCOR, no ball"]) == ("0.01, 0.1", "0.01, 0.1")


def test_kalman_has_lasers_recursion_without_the_shrinking():
    """For each candidate, LASER's predictions are Kalman's divided by 1 + s, apart from the start."""
    grid = laser_fig7_1.grid(1.0, quick=True)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    for laser, kalman in zip(grid["LASER"], grid["Kalman"], strict=True):
        assert isinstance(laser, LASER)
        assert isinstance(kalman, Kalman)
        assert kalman.drift == pytest.approx(1 / laser.drift_cost)
        same = Kalman(noise=1.0, drift=kalman.drift, ridge=1 / (1 / laser.ridge - 1 / laser.drift_cost), intercept=False)
        full, short = same.run(X, y).predictions, LASER(**laser.get_params()).run(X, y).predictions
        assert (np.abs(short) <= np.abs(full) * (1 + 1e-9) + 1e-12).all()
        assert (short * full >= -1e-12).all()


def test_every_reading_has_its_own_course():
    found = laser_fig7_1.readings(quick=False)
    assert len({reading.course for reading in found}) == len(found) == 72
