"""Fixtures and settings for all tests: every learner with its defaults, variants of them, a stream."""

import math
import signal

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

import driftline as dl
from driftline.base import registry
from driftline.features import Lags, Polynomial, RandomFourier, Standardize, UnitNorm

# The same examples on every run: `make search` tries others. No time limits: on a busy machine they fail tests at random.
# A test that needs another number of examples states it.
settings.register_profile(
    "driftline",
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
    database=None,
    print_blob=True,
)
settings.load_profile("driftline")


def constants_of_the_library(found=providers._get_local_constants):
    """The numbers and texts in the modules imported so far, which Hypothesis likes to try; none where examples are fixed.

    Which modules those are depends on the tests that ran before in the same process.
    """
    return providers.Constants() if settings.default.derandomize else found()


providers._get_local_constants = constants_of_the_library


class OwnLoss:
    """A loss that is written in Python."""

    def value(self, y, prediction):
        return abs(prediction - y) ** 1.5

    def gradient(self, y, prediction):
        return 1.5 * math.copysign(math.sqrt(abs(prediction - y)), prediction - y)


def falling(i):
    """A schedule function that pickle can find."""
    return 1 / (1 + i)


def similarity(x, z):
    """A kernel function that pickle can find."""
    return 1 / (1 + ((x - z) ** 2).sum())


VARIANTS = {
    "signed_eg": lambda: dl.EG(norm=10.0),
    "eg_with_absolute_loss": lambda: dl.EG(loss="absolute"),
    "eg_with_its_own_loss": lambda: dl.EG(loss=OwnLoss(), norm=3.0),
    "implicit_lms": lambda: dl.LMS(implicit=True, rate=5.0),
    "gd_with_huber_loss": lambda: dl.GD(loss=dl.losses.Huber(0.2)),
    "gd_with_logistic_loss": lambda: dl.GD(loss="logistic"),
    "gd_with_pinball_loss": lambda: dl.GD(loss=dl.losses.Pinball(0.9)),
    "gd_with_its_own_loss": lambda: dl.GD(loss=OwnLoss()),
    "nlms_without_eps": lambda: dl.NLMS(eps=0),
    "arcor_without_resets": lambda: dl.ARCOR(schedule=None),
    "arcor_in_a_ball": lambda: dl.ARCOR(radius=0.5),
    "arcor_by_a_sequence": lambda: dl.ARCOR(schedule=[0.5, 0.3]),
    "arcor_by_a_function": lambda: dl.ARCOR(schedule=falling),
    "rls_without_forgetting": lambda: dl.RLS(forgetting=1.0),
    "rls_that_forgets_half": lambda: dl.RLS(forgetting=0.5),
    "rls_by_a_sequence": lambda: dl.RLS(forgetting=[0.9, 0.8, 1.0]),
    "rls_by_a_function": lambda: dl.RLS(forgetting=lambda t: 0.9 + 0.05 * (t % 2)),
    "crrls_with_a_short_period": lambda: dl.CRRLS(period=3),
    "crrls_without_resets": lambda: dl.CRRLS(period=math.inf),
    "aar_with_clipping": lambda: dl.AAR(clip=0.5),
    "wemm_with_a_ridge": lambda: dl.WEMM(ridge=1e5),
    "kalman_without_drift": lambda: dl.Kalman(drift=0),
    "laser_without_drift": lambda: dl.LASER(drift_cost=math.inf),
    "sparse_dfop_with_a_sparse_matrix": lambda: dl.SparseDFOP(matrix="sparse", dim=20, forget_rate=0.05),
    "complement_noise": lambda: dl.SecondOrder(noise="complement", start=0.01),
    "forgetting_with_resets": lambda: dl.SecondOrder(time=dl.Divide(0.9), reset=dl.Below(2.0)),
    "drift_with_everything": lambda: dl.SecondOrder(
        time=dl.Add(0.01), reset=dl.Every(7), radius=0.5, clip=1.0, shrink=True, noise=0.5, start=2.0
    ),
    "network_that_may_refuse_rows": lambda: dl.Network([dl.RLS(), dl.LMS(), dl.WEMM(), dl.ARCOR(intercept=False)]),
    "kernel_within_a_budget": lambda: dl.Kernel(dl.RLS(forgetting=0.95), budget=12, threshold=0.01),
    "kernel_that_resets_in_a_ball": lambda: dl.Kernel(dl.ARCOR(radius=0.7), kernel="laplace", gamma=2.0, budget=10),
    "kernel_of_polynomials_that_drift": lambda: dl.Kernel(dl.LASER(drift_cost=10.0), kernel="poly", degree=2, budget=8),
    "kernel_by_a_function": lambda: dl.Kernel(dl.AAR(), kernel=similarity, budget=4),
    "glm_with_huber_loss": lambda: dl.GLM(loss="huber", forgetting=0.95),
    "glm_with_pinball_loss": lambda: dl.GLM(loss=dl.losses.Pinball(0.8), drift=1e-3),
    "averaged_rls": lambda: dl.Averaged(dl.RLS()),
    "averaged_eg": lambda: dl.Averaged(dl.EG(intercept=False)),
    "pipeline_of_labels": lambda: Standardize(forgetting=0.99) | Lags(y=2, x=0) | dl.RLS(),
    "pipeline_of_taps": lambda: UnitNorm() | Lags(x=[0, 2], y=[1, 3]) | dl.NLMS(),
    "pipeline_of_products": lambda: Polynomial(2) | Standardize() | dl.ARCOR(),
    "pipeline_of_frequencies": lambda: RandomFourier(7, "laplace", seed=3) | dl.WEMM(),
    "pipeline_in_front_of_a_network": lambda: Standardize() | dl.Network([dl.RLS(), dl.LMS()]),
    "network_of_pipelines": lambda: dl.Network([Lags(y=2) | dl.RLS(), Standardize() | dl.LMS(), dl.Ridge()]),
    "network_of_networks": lambda: dl.Network([dl.Network([dl.EG(), dl.LASER()], top=dl.RLS()), dl.Kalman()], dl.AROWR()),
}


# Variants whose rows take another path through the code than those of any registered learner.
NESTED = (
    "network_that_may_refuse_rows",
    "pipeline_of_labels",
    "pipeline_in_front_of_a_network",
    "network_of_pipelines",
    "network_of_networks",
)
# One learner for each path of a row through the code: for tests of the interface, which do not depend on parameters.
FAMILIES = {
    **{
        name: registry.regressors()[name]
        for name in ("lms", "eg", "rls", "arcor", "sparse_dfop", "kernel", "averaged", "network", "pipeline", "auto")
    },
    **{name: VARIANTS[name] for name in NESTED},
}


@pytest.fixture(params=registry.regressors())
def learner(request):
    """Each registered learner, with its defaults."""
    return registry.regressors()[request.param]()


@pytest.fixture(params=VARIANTS)
def variant(request):
    """Each variant of a learner."""
    return VARIANTS[request.param]()


@pytest.fixture(params=FAMILIES)
def family(request):
    """One learner of each family."""
    return FAMILIES[request.param]()


@pytest.fixture
def rows():
    """200 rows of three features, and a target that drifts."""
    rng = np.random.default_rng(11)
    X = rng.uniform(-0.7, 0.7, size=(200, 3))
    weights = rng.normal(size=3) + np.cumsum(0.05 * rng.normal(size=(200, 3)), axis=0)
    return X, (X * weights).sum(axis=1) + 0.3 + 0.1 * rng.normal(size=200)


@pytest.fixture
def heeds_interrupts():
    """SIGINT raises KeyboardInterrupt here, and has its default effect in child processes.

    A process that inherits an ignored SIGINT, such as a background job, has no such handler, and neither do its children.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def in_blocks_of(monkeypatch):
    """Makes runs process their rows in blocks of about ``count`` rows, however few rows there are."""

    def cut(count):
        monkeypatch.setattr("driftline.tables.inputs.BLOCK_ROWS", count)
        monkeypatch.setattr(
            "driftline.tables.inputs.rows_between_signals",
            lambda columns, operations, multiple: max(count // multiple, 1) * multiple,
            raising=False,
        )

    return cut
