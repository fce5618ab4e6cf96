import numpy as np
import pytest

import papers
from driftline import streams
from papers import dfop_fig7

from . import dfop_plain
from .dfop_files import write


def test_accuracies_are_shares_of_all_rows_so_far():
    X, y = streams.Hyperplane(seed=5, rows=360).take()
    found = dfop_fig7.accuracies((X, y))
    for rate in (0.0, 0.01, 0.5):
        predictions = dfop_plain.before(dfop_plain.with_one(X), y, rate, 100.0)
        expected = [100 * dfop_plain.right(predictions[:t], y[:t]) for t in range(2, 361, 2)]
        np.testing.assert_allclose(found[dfop_fig7.RATES.index(rate)], expected, rtol=1e-12)


def curves(last, falling=True):
    """Curves that end at the given accuracies; that of RLS falls or rises."""
    first = np.array(last) + (20.0 if falling else -20.0)
    return np.linspace(first, last, dfop_fig7.SAMPLES).T


@pytest.mark.parametrize(
    ("last", "falling", "failing"),
    [
        ((60, 85, 90, 90, 89, 70, 50), True, []),
        ((60, 85, 90, 90, 89, 70, 50), False, [0]),
        ((60, 85, 90, 90, 59, 70, 50), True, [1, 2]),
        ((60, 85, 90, 90, 87, 70, 61), True, [2, 3]),
    ],
)
def test_the_verdict_follows_the_curves(last, falling, failing):
    found = dfop_fig7.judge({"hyperplane": curves(last, falling)}, {"hyperplane": 900})
    assert [i for i, check in enumerate(found.checks) if not check.holds] == failing


def test_usenet_is_read_from_its_file(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(300, 5)).astype(float)
    write(tmp_path / "usenet1.csv", X, X[:, 0])
    result = papers.run("dfop-fig7", quick=True, out=tmp_path / "out", data=tmp_path, jobs=1, progress=False)
    assert {record["data_set"] for record in result.findings.numbers.records()} == {"hyperplane", "Usenet-1"}
    assert not result.findings.left_out
