"""River's own battery of checks, on every estimator."""

import random
import subprocess
import sys

import pytest
from river import base, checks, datasets
from river.utils.pretty import humanize_bytes
from sklearn.linear_model import LinearRegression

import driftline as dl
from driftline.base import registry
from driftline.features import Calendar, Hashing, Lags, Polynomial, RandomFourier, Standardize, UnitNorm

COMPOSED = {
    "transformers_in_a_row": lambda: Standardize() | Lags(x=3),
    "pipeline_with_labels": lambda: Standardize() | Lags(y=3) | dl.RLS(),
    "pipeline_of_lms": lambda: Standardize() | dl.LMS(),
    "pipeline_of_gd": lambda: Standardize() | dl.GD(),
    "pipeline_of_wemm": lambda: UnitNorm() | dl.WEMM(),
    "pipeline_in_front_of_a_classifier": lambda: Standardize() | dl.Classifier(dl.RLS()),
    "network": lambda: dl.Network([dl.RLS(), Standardize() | dl.LMS()]),
    "averaged": lambda: Standardize() | dl.Averaged(dl.LMS()),
    "auto_with_experts": lambda: dl.Auto(experts=[dl.RLS()]),
    "kernel_within_a_budget": lambda: dl.Kernel(budget=20),
    "refit": lambda: dl.Refit(LinearRegression(), every=50, window=100),
}
SCALED = ("pipeline_of_lms", "pipeline_of_gd", "pipeline_of_wemm", "averaged")  # these pass all checks behind a scaler
TRANSFORMERS = {
    "calendar": Calendar,
    "hashing": Hashing,
    "lags": Lags,
    "lags_of_labels": lambda: Lags(y=2),
    "polynomial": Polynomial,
    "random_fourier": RandomFourier,
    "standardize": Standardize,
    "unit_norm": UnitNorm,
}
ESTIMATORS = {**registry.learners(), **TRANSFORMERS, **COMPOSED}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_fails_exactly_the_checks_that_it_names(name):
    """A check that no longer fails must be removed from the list."""
    estimator = ESTIMATORS[name]()
    broken, ran = {}, set()
    for check in checks.yield_checks(estimator):
        random.seed(1)  # the checks shuffle features
        ran.add(check.__name__)
        try:
            check(estimator.clone())
        except (AssertionError, KeyError, ValueError) as error:
            broken[check.__name__] = error
    named = estimator._unit_test_skips()
    assert len(ran) > 20
    assert {check: error for check, error in broken.items() if check not in named} == {}
    assert name in COMPOSED or broken.keys() == named
    assert name not in SCALED or not named


@pytest.mark.filterwarnings("ignore")
def test_rivers_own_check_of_an_estimator_passes():
    random.seed(1)
    checks.check_estimator(COMPOSED["averaged"]())


def test_river_recognises_an_instance_made_before_its_import():
    """In a fresh interpreter: here River is loaded already. driftline itself does not import it."""
    code = (
        "import sys, driftline as dl; from driftline.features import Lags, Standardize;"
        "models = [dl.RLS(), dl.Classifier(), Standardize(), Lags(y=1), Standardize() | dl.RLS()];"
        "assert not any(hasattr(model, '_last_step') for model in models);"
        "assert not any(name.partition('.')[0] == 'river' for name in sys.modules);"
        "from river import base;"
        "kinds = (base.Regressor, base.Classifier, base.Transformer, base.SupervisedTransformer);"
        "print([[kind.__name__ for kind in kinds if isinstance(model, kind)] for model in models])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == str(
        [["Regressor"], ["Classifier"], ["Transformer"], ["Transformer", "SupervisedTransformer"], ["Regressor"]]
    )


def test_instances_of_base_classes_do_not_register_their_subclasses():
    """In a fresh interpreter, where no class is registered yet."""
    code = (
        "from river import base; import driftline as dl;"
        "made = [kind() for kind in dl.Classifier.__mro__[1:] if issubclass(kind, dl.Learner)]; model = dl.Classifier();"
        "print(isinstance(model, base.Classifier), isinstance(model, base.Regressor))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "True False"


def test_memory_usage_includes_the_learned_state():
    model = dl.RLS(intercept=False)
    model.learn_one([1.0] * 100, 1.0)
    matrix = 100 * 101 / 2 * 8
    assert matrix < model._raw_memory_usage < 1.3 * matrix + 5000
    assert float(model._memory_usage.removesuffix("KiB")) == float(humanize_bytes(model._raw_memory_usage).split()[0][:5])


def test_parameters_are_not_changed_by_mutation():
    model = dl.RLS()
    model.mutate({})
    with pytest.raises(ValueError, match=r"RLS\.mutate: ridge is not mutable; use set_params"):
        model.mutate({"ridge": 2.0})


def test_labels_reach_transformers_that_need_them_through_rivers_pipeline():
    pipeline = base.Estimator.__or__(Lags(y=1), dl.RLS())
    labels = []
    for x, y in datasets.TrumpApproval().take(3):
        pipeline.learn_one(x, y)
        labels.append(y)
    assert pipeline["Lags"].transform_one(x)["y[-1]"] == labels[-1]
