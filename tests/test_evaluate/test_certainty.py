"""Shares below quantiles, and the pictures of them and of forecasts."""

from dataclasses import replace

import numpy as np
import pytest

import driftline as dl
from driftline.delayed.forecast import Forecast
from driftline.evaluate import plot_fan, plot_reliability, reliability

LEVELS = np.array([0.1, 0.5, 0.9])


@pytest.fixture
def counts():
    """A run on counts, some of whose labels are missing."""
    rng = np.random.default_rng(5)
    X, y = np.ones((900, 1)), rng.poisson(2, 900).astype(float)
    y[::50] = np.nan
    return dl.RLS(missing="skip", low=0).run(X, y, quantiles=LEVELS), y


def test_shares_are_those_of_the_rows_with_a_label_and_finite_quantiles(counts):
    run, y = counts
    assert run.quantiles is not None
    rows = [t for t in range(900) if not np.isnan(y[t]) and all(map(np.isfinite, run.quantiles[t]))]
    found = reliability(run, y)
    assert found["level"].tolist() == LEVELS.tolist()
    assert found["rows"].tolist() == [len(rows)] * 3
    for k in range(3):
        assert found["below"][k] == pytest.approx(sum(y[t] < run.quantiles[t, k] for t in rows) / len(rows))
        assert found["at_most"][k] == pytest.approx(sum(y[t] <= run.quantiles[t, k] for t in rows) / len(rows))


def test_a_run_without_quantiles_or_labels_is_refused(counts):
    run, y = counts
    with pytest.raises(ValueError, match="reliability: the run has no quantiles"):
        reliability(dl.RLS().run(np.ones((3, 1)), np.ones(3)), np.ones(3))
    with pytest.raises(ValueError, match="reliability: no row has a label"):
        reliability(run, np.full(900, np.nan))
    with pytest.raises(ValueError, match="reliability: y has 899 labels, the run has 900 rows"):
        reliability(run, y[:-1])


def test_a_point_is_on_the_diagonal_if_the_level_lies_between_the_two_shares(counts, tmp_path):
    run, y = counts
    run = replace(run, quantiles=np.tile([0.0, 2.0, 5.0], (900, 1)))  # those of a count with mean 2, but for the last
    axes = plot_reliability(run, y, path=tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 0
    found = reliability(run, y)
    x, heights = axes.lines[-1].get_data()
    assert x.tolist() == LEVELS.tolist()
    assert heights[:2].tolist() == LEVELS[:2].tolist()
    assert heights[2] == found["below"][2] > LEVELS[2]


def corners(area):
    """The lowest and the highest point of an area, by step."""
    points = area.get_paths()[0].vertices
    return {x: (points[points[:, 0] == x, 1].min(), points[points[:, 0] == x, 1].max()) for x in (1.0, 2.0)}


def test_a_fan_has_an_area_for_each_pair_of_quantiles_or_for_the_interval():
    quantiles = np.array([[0.0, 1.0, 2.0, 5.0], [0.0, 2.0, 4.0, 9.0]])
    middle = np.array([1.5, 3.0])
    fan = Forecast(middle, middle - 1, middle + 1, 0.9, quantiles, np.array([0.1, 0.3, 0.7, 0.9]))
    outer, inner = plot_fan(fan, labels=[1, 2], actual=[3]).collections
    assert (outer.get_label(), inner.get_label()) == ("0.1 to 0.9", "0.3 to 0.7")
    assert corners(outer) == {1.0: (0.0, 5.0), 2.0: (0.0, 9.0)}
    assert corners(inner) == {1.0: (1.0, 2.0), 2.0: (2.0, 4.0)}
    axes = plot_fan(Forecast(middle, middle - 1, middle + 1, 0.9), labels=[1, 2])
    (area,) = axes.collections
    assert area.get_label() == "90 % interval"
    assert corners(area) == {1.0: (0.5, 2.5), 2.0: (2.0, 4.0)}
    assert axes.lines[1].get_data()[0].tolist() == [-1, 0]  # the last label is at 0, the first step at 1
