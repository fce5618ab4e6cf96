import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from papers import Context, arcor_fig2, page
from papers.pictures import colours
from papers.race import race


@pytest.fixture(scope="module")
def outcomes():
    courses = arcor_fig2.streams(400)
    grid = arcor_fig2.grid(quick=True)
    return race(Context(jobs=1, progress=False), courses, dict.fromkeys(courses, grid), repeats=6, points=20)


def exchanged(outcome, first, second):
    """The same race with the curves of two learners exchanged."""
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


def test_exchanging_two_learners_changes_the_verdict(outcomes):
    name = "drift and switches, degrees"
    assert arcor_fig2.judge({name: outcomes[name]}).verdict == "agrees"
    for pair in (("AROWR", "NLMS"), ("ARCOR", "NLMS"), ("AROWR", "ARCOR")):
        assert arcor_fig2.judge({name: exchanged(outcomes[name], *pair)}).verdict == "does not agree"


def test_shrinking_gaps_are_detected(outcomes):
    outcome = outcomes["drift and switches, degrees"]
    shrinking = outcome.losses.copy()
    nlms, arcor = outcome.learners.index("NLMS"), outcome.learners.index("ARCOR")
    half = len(outcome.at) // 2 + 1
    shrinking[:, nlms, :half] += 1e6
    shrinking[:, nlms, half:] = shrinking[:, arcor, half:] + 1
    assert arcor_fig2.gaps("it", outcome).holds
    assert not arcor_fig2.gaps("it", replace(outcome, losses=shrinking)).holds


def test_the_remark_names_the_unit_and_the_stream_that_cannot_be_tracked(outcomes):
    (remark,) = arcor_fig2.judge(outcomes).remarks
    assert "On drift, radians no learner is more than 1 % better" in remark
    (other,) = arcor_fig2.judge({name: outcomes[name] for name in outcomes if name.endswith("degrees")}).remarks
    assert "cannot be tracked" not in other


def test_coinciding_curves_are_all_visible_and_their_regions_do_not_mix_colours(outcomes):
    """Otherwise the four values of q on drift in radians would be one line, in a region whose colour is in no legend."""
    name = "drift, radians"
    own = colours(["AROWR", "NLMS", *(f"ARCOR, q = {q:g}" for q in arcor_fig2.POWERS)])
    _, below = arcor_fig2.draw({name: outcomes[name]}).axes
    assert len(below.collections) == 1
    lines = [line for line in below.lines if line.get_color() != own["NLMS"]]
    assert [line.get_color() for line in lines] == list(own.values())[2:]
    ends = [dash_ends(line) for line in lines]
    assert sorted(ends) == [(0, 4), (4, 8), (8, 12), (12, 16)]


def dash_ends(line):
    """The start and end of a line's dash, within a pattern of 16 line widths."""
    offset, (on, off) = (np.array(part) / line.get_linewidth() for part in line._dash_pattern)
    assert on + off == pytest.approx(16)
    start = round(float(-offset % 16))
    return start, start + round(float(on))


def test_different_curves_keep_their_own_lines_and_regions(outcomes):
    name = "drift, degrees"
    _, below = arcor_fig2.draw({name: outcomes[name]}).axes
    lines = [line for line in below.lines if line.get_linestyle() == "-"]
    assert len(lines) == len(below.collections) == len(arcor_fig2.POWERS)


def test_the_saved_picture_keeps_its_colours(outcomes, tmp_path):
    """A palette chosen by counting pixels would give thin lines other colours, off by up to a third of the scale."""
    figure, drawn = arcor_fig2.draw(outcomes), io.BytesIO()
    figure.savefig(drawn, format="png", dpi=100)
    page.write_picture(figure, tmp_path / "it.png")
    with Image.open(drawn) as true, Image.open(tmp_path / "it.png") as written:
        off = np.asarray(written.convert("RGB")).astype(int) - np.asarray(true.convert("RGB"))
    assert np.abs(off).max() <= 0.1 * 255
