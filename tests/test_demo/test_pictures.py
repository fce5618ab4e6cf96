"""The pictures in README and docs match what the demonstrations draw now; ``make pictures`` draws them again."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from driftline import cli
from driftline.demo import demand, forecasting, how_sure, tracking
from driftline.demo.tour import steps
from tests.test_report.conftest import browser  # noqa: F401 - a fixture
from tests.test_report.photograph import photograph
from tests.test_report.test_page_in_browser import needs_uplot

DOCS = Path(__file__).parents[2] / "docs" / "_static"
SHRUNK = 4  # the factor to a side, so that the smoothing of letters does not matter
DIFFERENT, MOST = 40, 0.002  # the difference that counts, out of 255, and the share of pixels that may differ


def changed(drawn, kept):
    """The share of pixels that differ."""
    with Image.open(drawn) as first, Image.open(kept) as second:
        assert first.size == second.size
        small = [size // SHRUNK for size in first.size]
        points = [np.asarray(one.convert("RGB").resize(small, Image.Resampling.BOX), dtype=int) for one in (first, second)]
    return float((np.abs(points[0] - points[1]).max(axis=2) > DIFFERENT).mean())


@pytest.mark.parametrize(
    ("draw", "name"),
    [(tracking.main, "tracking.png"), (forecasting.main, "forecast.png"), (how_sure.main, "how_sure.png")],
)
def test_pictures_of_the_demonstrations_match_those_in_the_docs(draw, name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    draw()
    assert f"The picture: demo/{name}" in capsys.readouterr().out
    assert changed(tmp_path / "demo" / name, DOCS / name) < MOST


def test_the_picture_of_the_report_matches_that_in_the_docs(browser, tmp_path):  # noqa: F811
    needs_uplot()
    demand.write(tmp_path / "demand.csv", demand.make())
    with pytest.raises(SystemExit):
        cli.main(steps(tmp_path)[0][1].split())
    photograph(browser, tmp_path / "report.html", tmp_path / "report.png")
    with Image.open(tmp_path / "report.png") as taken, Image.open(DOCS / "report.png") as kept:
        if taken.text["fonts"] != kept.text["fonts"]:
            pytest.skip("the picture in the docs was taken with other fonts")
    assert changed(tmp_path / "report.png", DOCS / "report.png") < MOST


def test_a_picture_that_is_out_of_date_is_found(tmp_path):
    with Image.open(DOCS / "tracking.png") as kept:
        moved = kept.convert("RGB")
    moved.paste(moved.crop((200, 0, 1800, 690)), (208, 0))
    moved.save(tmp_path / "tracking.png")
    assert changed(tmp_path / "tracking.png", DOCS / "tracking.png") > 5 * MOST
