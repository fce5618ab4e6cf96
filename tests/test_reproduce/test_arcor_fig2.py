from dataclasses import replace

import numpy as np
import pytest

from driftline.reproduce import Context, arcor_fig2
from driftline.reproduce.race import race


@pytest.fixture(scope="module")
def outcomes():
    courses = arcor_fig2.streams(400)
    grid = arcor_fig2.grid(quick=True)
    return race(Context(jobs=1, progress=False), courses, dict.fromkeys(courses, grid), repeats=6, points=20)


def exchanged(outcome, first, second):
    """The same race with two learners' curves in each other's place."""
    names = list(outcome.learners)
    i, j = names.index(first), names.index(second)
    order = np.arange(len(names))
    order[[i, j]] = [j, i]
    return replace(outcome, losses=outcome.losses[:, order])


def test_the_papers_order_holds_in_degrees_with_switches_and_not_in_radians_without(outcomes):
    held = {
        check.statement.split(":")[0]: check.holds
        for check in arcor_fig2.judge(outcomes).checks
        if "worst" in check.statement
    }
    assert held["drift and switches, degrees"]
    assert not held["drift, radians"]


def test_learners_in_each_others_place_turn_the_verdict(outcomes):
    name = "drift and switches, degrees"
    assert arcor_fig2.judge({name: outcomes[name]}).verdict == "agrees"
    for pair in (("AROWR", "NLMS"), ("ARCOR", "NLMS"), ("AROWR", "ARCOR")):
        assert arcor_fig2.judge({name: exchanged(outcomes[name], *pair)}).verdict == "does not agree"


def test_gaps_that_shrink_are_seen(outcomes):
    outcome = outcomes["drift and switches, degrees"]
    shrinking = outcome.losses.copy()
    nlms, arcor = outcome.learners.index("NLMS"), outcome.learners.index("ARCOR")
    half = len(outcome.at) // 2 + 1
    shrinking[:, nlms, :half] += 1e6
    shrinking[:, nlms, half:] = shrinking[:, arcor, half:] + 1
    assert arcor_fig2.gaps("it", outcome).holds
    assert not arcor_fig2.gaps("it", replace(outcome, losses=shrinking)).holds


def test_the_remark_names_the_unit_and_the_stream_that_nobody_tracks(outcomes):
    (remark,) = arcor_fig2.judge(outcomes).remarks
    assert "On drift, radians no learner is more than 1 % better" in remark
    (other,) = arcor_fig2.judge({name: outcomes[name] for name in outcomes if name.endswith("degrees")}).remarks
    assert "nobody can track" not in other
