"""The public contract beyond the checks of every learner: names, values, messages, and the cost of importing."""

import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import driftline as dl
from driftline.base import registry
from tests.cases import for_each


def test_the_public_names_exist():
    first_order = ("LMS", "NLMS", "GD", "EG")
    second_order = (
        "Ridge",
        "RLS",
        "AAR",
        "AROWR",
        "CRRLS",
        "ARCOR",
        "WEMM",
        "LASER",
        "Kalman",
        "DFOP",
        "SparseDFOP",
        "SecondOrder",
    )
    for name in (*first_order, *second_order):
        assert issubclass(getattr(dl, name), dl.Learner)
    for name in ("Run", "Certificate", "load", "losses", "checks", "Learner"):
        assert name in dl.__all__
        assert hasattr(dl, name)
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        dl.no_such_name  # noqa: B018


def test_a_learner_is_registered_under_the_stem_of_its_file():
    for name, kind in registry.learners().items():
        assert inspect.getfile(kind).endswith(f"/{name}.py")
        assert registry.name_of(kind) == name
    with pytest.raises(ValueError, match="Learner is not registered"):
        registry.name_of(dl.Learner)


def test_every_learner_file_is_exported():
    """The registry cannot tell: collecting doctests has imported every file."""
    for path in sorted(Path(dl.__file__).parent.glob("*/*.py")):
        for name in re.findall(r"\n@learner\nclass (\w+)", path.read_text(encoding="utf-8")):
            exported = importlib.import_module(f"driftline.{path.parent.name}").__all__
            assert name in exported, f"export {name}, of {path.name}, in {path.parent.name}/__init__.py"


def test_importing_driftline_imports_no_extra():
    """Learners must not wait for a data-frame library to be imported."""
    extras = {"sklearn", "narwhals", "pandas", "polars", "pyarrow", "safetensors", "river", "matplotlib", "scipy"}
    for asked, brings in (("dl", {"driftline"}), ("dl.RLS, dl.Auto, dl.Kernel, dl.Fleet, dl.load", {"driftline", "numpy"})):
        code = f"import sys, driftline as dl; {asked}; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
        loaded = printed_by(code).split()
        assert brings <= set(loaded)
        assert (extras | {"numpy"} - brings).isdisjoint(loaded)


def printed_by(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_lazily_imported_names_behave_like_ordinary_ones():
    code = """
import driftline, inspect, pickle
assert set(driftline.__all__) <= set(dir(driftline))
assert "Kalman" not in vars(driftline)
from driftline import *
assert all(getattr(driftline, name) is eval(name) for name in driftline.__all__)
assert vars(driftline)["Kalman"] is Kalman
assert pickle.loads(pickle.dumps(Kalman(noise=2.0))).noise == 2.0
class Own(driftline.RLS): pass
assert Own() is not None and issubclass(Own, driftline.Learner)
assert not hasattr(driftline, "Kalmann") and not hasattr(driftline, "nothing")
print(driftline.base.registry.name_of(driftline.RLS), driftline.base.params.real)
"""
    assert printed_by(code).startswith("rls <function real")


def test_every_public_name_is_the_same_object_wherever_it_is_imported_from():
    for name in dl.__all__:
        value = getattr(dl, name)
        assert inspect.ismodule(value) or getattr(importlib.import_module(value.__module__), name) is value


@pytest.mark.parametrize(
    "first", ["kernels", "features", "ensembles", "regret", "fleet", "storage.model_file", "checks", "evaluate.sweep"]
)
def test_the_registry_is_the_same_whatever_is_imported_first(first):
    code = f"import driftline.{first}; from driftline.base import registry; print(*registry.learners())"
    assert printed_by(code).split() == list(registry.learners())


def test_learning_and_predicting_import_no_extra():
    code = (
        "import sys, numpy as np, driftline as dl; m = dl.RLS(); m.run(np.ones((4, 2)), np.ones(4)); "
        "m.learn_one([1.0, 2.0], 1.0); m.predict(np.ones((1, 2))); m.certificate(); "
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"sklearn", "narwhals", "pandas", "safetensors"}.isdisjoint(loaded)


def test_checks_are_reachable_from_the_package():
    code = "import driftline as dl; print(len(dl.checks.expected_failures(dl.RLS())))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "3\n"


@for_each("learner", [make() for make in registry.regressors().values()])
def test_hyper_parameters_are_keyword_only(learner):
    for name, parameter in inspect.signature(type(learner)).parameters.items():
        by_place = name in ("learners", "top", "learner", "transformers", "transformation")
        assert parameter.kind is (parameter.POSITIONAL_OR_KEYWORD if by_place else parameter.KEYWORD_ONLY)
        assert parameter.default is not inspect.Parameter.empty
        assert name in learner.get_params()


def test_one_row_matches_the_update_by_hand():
    """RLS, forgetting 0.5, ridge 1: S = 2, k = 4, s = 8, w = 4 * 3 / 9."""
    model = dl.RLS(forgetting=0.5, ridge=1.0, intercept=False)
    assert model.predict_one([2.0]) == 0.0
    assert model.learn_one([2.0], 3.0) is None
    assert model.coef_ == pytest.approx([4 / 3], rel=1e-15)
    assert model.covariance_ == pytest.approx(2 - 16 / 9, rel=1e-14)
    assert model.predict_one([1.5]) == pytest.approx(2.0, rel=1e-15)
    assert isinstance(model.predict_one([1.5]), float)


@for_each("learner", [make() for make in registry.regressors().values()])
def test_eg_on_the_simplex_starts_at_the_mean_of_the_features_and_all_others_at_zero(learner):
    row = [0.2, 0.4, 0.6]
    start = np.mean([*row, 1.0]) if isinstance(learner, dl.EG) else 0.0
    assert learner.predict_one(row) == pytest.approx(start, rel=1e-15)
    assert learner.predict_one(dict(zip("abc", row, strict=True))) == pytest.approx(start, rel=1e-15)


def test_a_run_holds_arrays_and_has_a_repr(rows):
    X, y = rows
    model = dl.CRRLS(period=50)
    run = model.run(X, y, weights_every=20)
    assert isinstance(run, dl.Run)
    assert run.predictions.shape == run.errors.shape == run.losses.shape == y.shape
    assert run.resets.tolist() == [49, 99, 149, 199]
    assert run.resets.dtype == np.int64
    assert run.weights.shape == (10, 4)
    assert run.weights[-1].tolist() == [*model.coef_, model.intercept_]
    assert repr(run) == f"Run(rows=200, mse={run.losses.mean():.6g}, resets=4)"
    assert len(run) == 200
    assert dl.RLS().run(X, y).weights is None


def test_a_run_shorter_than_the_snapshot_distance_has_no_snapshots(rows):
    for every in (201, 10**30):
        assert dl.RLS().run(*rows, weights_every=every).weights.shape == (0, 4)


def test_snapshots_do_not_depend_on_blocks(rows, in_blocks_of):
    """A snapshot's row does not depend on where a block ends."""
    wanted = dl.RLS().run(*rows, weights_every=7).weights
    for block in (1, 5, 7, 64):
        in_blocks_of(block)
        assert np.array_equal(dl.RLS().run(*rows, weights_every=7).weights, wanted)


def test_learned_attributes_are_read_only(rows):
    model = dl.RLS()
    model.run(*rows)
    for name in ("coef_", "intercept_", "n_features_in_", "feature_names_in_", "n_seen_", "n_skipped_", "covariance_"):
        with pytest.raises(AttributeError):
            setattr(model, name, 0)
    model.coef_[:] = 7.0
    model.covariance_[:] = 7.0
    assert not (model.coef_ == 7.0).any()
    assert not (model.covariance_ == 7.0).any()


def test_predict_before_fit_raises_scikit_learns_own_error():
    from sklearn.exceptions import NotFittedError

    for ask in ("coef_", "intercept_", "n_features_in_", "feature_names_in_", "covariance_"):
        with pytest.raises(NotFittedError, match=rf"RLS\.({ask}|coef_).*not fitted"):
            getattr(dl.RLS(), ask)
    with pytest.raises(NotFittedError, match=r"RLS\.predict: the learner is not fitted"):
        dl.RLS().predict([[1.0]])


def test_a_model_of_unnamed_features_has_no_feature_names(rows):
    model = dl.RLS()
    model.run(*rows)
    assert not hasattr(model, "feature_names_in_")


def test_a_schedule_given_as_a_sequence_repeats_its_last_value(rows):
    short, long = dl.RLS(forgetting=[0.5, 0.9]), dl.RLS(forgetting=[0.5] + [0.9] * 500)
    assert np.array_equal(short.run(*rows).predictions, long.run(*rows).predictions)


def test_a_forgetting_function_is_called_from_1_on(rows):
    asked = []

    def forgetting(t):
        asked.append(t)
        return 0.9

    model = dl.RLS(forgetting=forgetting)
    assert np.array_equal(model.run(*rows).predictions, dl.RLS(forgetting=0.9).run(*rows).predictions)
    assert sorted(set(asked)) == list(range(1, 201))


def test_base_classes_cannot_be_used_directly():
    learners = registry.learners().values()
    for kind in (dl.Learner, *(base for base in dl.Learner.__subclasses__() if base not in learners)):
        with pytest.raises(TypeError, match=f"{kind.__name__} cannot be used by itself"):
            kind().learn_one([1.0], 1.0)


@for_each("learner", [make() for make in registry.regressors().values()])
def test_the_certificate_of_an_untrained_learner_is_empty(learner):
    certificate = learner.certificate()
    assert isinstance(certificate, dl.Certificate)
    assert (certificate.loss, certificate.bound, certificate.slack, certificate.events) == (0.0, None, None, {})
