import numpy as np
import pytest
from scipy import stats

from driftline.streams import MovingGaussians
from driftline.streams.moving_gaussians import KINDS
from tests.cases import for_each
from tests.test_streams.statistics import assert_covariance, assert_mean, assert_share

# Means of the two classes over rows 0-399, 4,000-4,399, 8,000-8,399 and 15,600-15,999 of the published 1CDT and 2CHT (Souza
# et al. 2015), 200 rows of each class with a standard deviation of 1.5: rounded to whole numbers, 2 standard errors are 0.2.
PUBLISHED = {
    "1CDT": {0: [(0, 0), (4, 4)], 4000: [(0, 0), (14, 14)], 8000: [(0, 0), (24, 24)], 15_600: [(0, 0), (5, 5)]},
    "2CHT": {0: [(0, 2), (4, 2)], 4000: [(10, 2), (14, 2)], 8000: [(20, 2), (24, 2)], 15_600: [(1, 2), (5, 2)]},
}


@pytest.mark.parametrize("kind", PUBLISHED)
def test_the_means_match_the_published_files(kind):
    stream = MovingGaussians(kind=kind)
    for t, means in PUBLISHED[kind].items():
        assert np.array_equal(stream.means(t), means)
        assert np.array_equal(stream.means(t + 399), means)


@pytest.mark.parametrize("kind", ["1CDT", "2CDT", "1CHT", "2CHT"])
def test_translations_go_one_step_at_a_time_there_and_back(kind):
    """The name states the kind: one class or two (1C, 2C), along the diagonal or horizontally (DT, HT)."""
    stream = MovingGaussians(kind=kind)
    means = np.array([stream.means(t) for t in range(0, 16_000, 400)])
    steps = np.diff(means, axis=0)
    there, back = steps[:20], steps[20:]
    moving = {"DT": (1, 1), "HT": (1, 0)}[kind[2:]]
    first = moving if kind[0] == "2" else (0, 0)
    assert (there == [first, moving]).all()
    assert (back == -np.array([first, moving])).all()


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_centred_on_the_mean_of_their_class_in_every_step(kind):
    stream = MovingGaussians(kind=kind, seed=1)
    X, y = stream.take()
    assert_share(y > 0, 0.5)
    every = KINDS[kind].every
    for start in range(0, len(stream), 10 * every):
        rows = slice(start, start + every)
        for label, mean in zip((-1, 1), stream.means(start), strict=True):
            assert_mean(X[rows][y[rows] == label], mean)


@pytest.mark.parametrize("kind", KINDS)
def test_the_inputs_of_a_class_are_independent(kind):
    stream = MovingGaussians(kind=kind, rows=20_000, seed=2)
    X, y = stream.take()
    means = np.array([stream.means(t) for t in range(20_000)])
    centred = X - means[np.arange(20_000), (y > 0).astype(int)]
    assert_covariance(centred, stream.deviation**2 * np.eye(stream.d))
    assert_covariance(centred[y > 0], stream.deviation**2 * np.eye(stream.d))


@pytest.mark.parametrize("kind", KINDS)
@for_each("t", [0, 399, 400, 9000])
def test_the_classes_of_a_holdout_overlap_as_the_means_of_its_row_imply(kind, t):
    """The best classifier chooses the nearer mean; it is right with probability Phi(distance / (2 deviation))."""
    stream = MovingGaussians(kind=kind, seed=3)
    X, y = stream.holdout(t, 20_000)
    means = stream.means(t)
    nearer = np.argmin(((X[:, None] - means) ** 2).sum(axis=2), axis=1)
    distance = np.linalg.norm(means[1] - means[0])
    assert_share((nearer == 1) == (y > 0), stats.norm.cdf(distance / (2 * stream.deviation)))
    for label, mean in zip((-1, 1), means, strict=True):
        assert_mean(X[y == label], mean)


@pytest.mark.parametrize("kind", ["UG-2C-2D", "UG-2C-3D", "UG-2C-5D"])
def test_unimodal_classes_face_each_other_and_go_around_once(kind):
    stream = MovingGaussians(kind=kind)
    means = np.array([stream.means(t) for t in range(0, len(stream), KINDS[kind].every)])
    assert (len(means), stream.d) == (100, int(kind[-2]))
    assert np.allclose(means[:, 0], -means[:, 1])
    distances = np.linalg.norm(means[:, 1] - means[:, 0], axis=1)
    assert np.allclose(distances, distances[0])
    assert np.allclose(means[50, 0], means[0, 1])
    assert MovingGaussians(kind=kind, rows=len(stream) + 1).means(len(stream)) == pytest.approx(means[0], abs=1e-12)


def test_the_kinds_match_the_type_annotation():
    assert all(MovingGaussians(kind=kind).length == KINDS[kind].rows for kind in KINDS)
    assert [len(MovingGaussians(kind=kind)) for kind in ("1CDT", "UG-2C-2D", "UG-2C-5D")] == [16_000, 100_000, 200_000]
