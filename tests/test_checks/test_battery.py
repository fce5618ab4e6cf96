"""The public battery: it passes on every learner, it can fail, and it finds its checks itself."""

import contextlib
import inspect

import numpy as np
import pytest

import driftline as dl
from driftline import checks
from driftline.base import params, registry
from driftline.linear.policies import Divide
from driftline.linear.recursion import Policy, Recursive
from tests.conftest import NESTED, VARIANTS

BATTERY = {check.__name__: check for check in checks.battery()}
# Variants have parameters that change the step and the state. How rows, columns and parameters are read depends on the
# class alone, whose registered instance runs the whole battery.
ON_THE_STEP = (
    "run_equals_the_loop",
    "a_run_accounts_for_its_rows",
    "batches_equal_one_run",
    "hard_streams_are_the_same_in_pieces_and_row_by_row",
    "the_state_stays_finite",
    "the_covariance_stays_symmetric_and_positive",
    "float32_follows_float64",
    "prediction_before_learning_is_that_of_the_start_weights",
    "predicting_learns_nothing",
    "weights_act_alike_in_run_and_loop",
    "a_row_of_weight_zero_is_absent",
    "skipping_leaves_out_rows_and_counts_them",
    "learn_one_grows_by_new_names",
    "pickles_are_copies",
    "learning_changes_no_parameter",
    "set_params_to_what_they_are_changes_nothing",
    "a_ticket_told_at_once_is_a_row_learned",
    "late_rows_by_table",
)
ON_THE_WAY = [
    name
    for name, check in BATTERY.items()
    if check.__module__.rpartition(".")[2] in ("on_bad_input", "on_copies", "on_mappings", "on_missing", "on_tickets")
    and name not in ON_THE_STEP
]


def failing(names, make):
    """The checks that a learner fails, with their errors."""
    failed = {}
    for name in names:
        try:
            BATTERY[name](make())
        except Exception as error:
            failed[name] = error
    return failed


@pytest.mark.parametrize("kind", registry.regressors())
def test_every_learner_passes(kind):
    assert failing(BATTERY, registry.regressors()[kind]) == {}


@pytest.mark.parametrize("kind", VARIANTS)
def test_every_variant_passes_the_checks_of_its_step(kind):
    assert failing(ON_THE_STEP, VARIANTS[kind]) == {}


@pytest.mark.parametrize("kind", NESTED)
def test_nested_learners_pass_the_checks_of_a_rows_path(kind):
    assert failing(ON_THE_WAY, VARIANTS[kind]) == {}


class Patient(Recursive):
    """A user's own learner, defined outside the package."""

    patience: float = params.real(default=10.0, gt=1)

    def _policy(self):
        return Policy(time=Divide(1 - 1 / self.patience))


def test_a_users_own_learner_is_checked_by_its_class_or_by_an_instance():
    checks.check_learner(Patient)
    checks.check_learner(Patient(patience=3.0, intercept=False))
    assert Patient not in registry.learners().values()


def test_every_check_has_a_docstring_and_does_not_change_the_base_estimator(rows):
    assert len(BATTERY) > 40
    base_estimator = dl.RLS()
    base_estimator.run(*rows)
    before = base_estimator.__getstate__()
    for check in BATTERY.values():
        assert inspect.getdoc(check)
        check(base_estimator)
    assert checks.tools.same(before, base_estimator.__getstate__())


# Learners with one defect each: every check of the battery must catch at least one of them.


class TakesAnything(dl.RLS):
    def learn_one(self, x, y, *, sample_weight=None):
        with contextlib.suppress(ValueError, TypeError):
            super().learn_one(x, y, sample_weight=sample_weight)

    def predict_one(self, x):
        try:
            return super().predict_one(x)
        except (ValueError, TypeError):
            return 0.0

    def _run(self, *arguments):
        try:
            return super()._run(*arguments)
        except (ValueError, TypeError):
            return None


class IsNameless(dl.RLS):
    def _learn_table(self, X, y, sample_weight, where, weights_every=None):
        return super()._learn_table(X, y, sample_weight, "run", weights_every)

    def _check_block(self, block, where):
        super()._check_block(block, "table")


class LearnsTwiceInTheLoop(dl.RLS):
    def learn_one(self, x, y, *, sample_weight=None):
        super().learn_one(x, y, sample_weight=sample_weight)
        super().learn_one(x, y, sample_weight=sample_weight)


class LearnsWhilePredicting(dl.RLS):
    def predict_one(self, x):
        prediction = super().predict_one(x)
        self.learn_one(x, prediction)
        return prediction

    def predict(self, X):
        predictions = super().predict(X)
        self.partial_fit(X, predictions)
        return predictions


class PredictsOneBeforeLearning(dl.RLS):
    def predict_one(self, x):
        return super().predict_one(x) if self.n_seen_ else 1.0

    def predict(self, X):
        return super().predict(X) if self.n_seen_ else np.ones(len(X))


class IgnoresWeights(dl.RLS):
    def learn_one(self, x, y, *, sample_weight=None):
        super().learn_one(x, y)

    def _learn_table(self, X, y, sample_weight, where, weights_every=None):
        return super()._learn_table(X, y, None, where, weights_every)


class DoublesWeights(dl.RLS):
    def _learn_table(self, X, y, sample_weight, where, weights_every=None):
        doubled = None if sample_weight is None else 2.0 * np.asarray(sample_weight)
        return super()._learn_table(X, y, doubled, where, weights_every)


class StartsEachRunAnew(dl.RLS):
    def _learn_table(self, *arguments):
        self._restore(None, None)
        return super()._learn_table(*arguments)


class NeverForgets(dl.RLS):
    def fit(self, X, y, sample_weight=None):
        return self.partial_fit(X, y, sample_weight)


class RoundsLists(dl.RLS):
    def predict_one(self, x):
        return round(super().predict_one(x), 6) if isinstance(x, (list, dict)) else super().predict_one(x)

    def _learn_table(self, X, y, sample_weight, where, weights_every=None):
        X = X if isinstance(X, np.ndarray) and X.dtype == np.float64 else np.asarray(X, dtype=float) * 1.001
        return super()._learn_table(X, y, sample_weight, where, weights_every)


class AccountsWrongly(dl.RLS):
    def _replay(self, *arguments):
        run = super()._replay(*arguments)
        weights = None if run.weights is None else run.weights[::-1]
        return dl.Run(run.predictions, -run.errors, run.resets, weights, run.skipped)

    def score(self, X, y, sample_weight=None):
        return super().score(X, y, sample_weight) / 2


class PutsTheInterceptFirst(dl.RLS):
    @property
    def intercept_(self):
        return float(self._weights[0])


class IsAlwaysDouble(dl.RLS):
    @property
    def coef_(self):
        return super().coef_.astype(np.float64)


class CountsNothing(dl.RLS):
    @property
    def n_skipped_(self):
        return 0


class SkipsByZeros(dl.RLS):
    """Treats missing values as zeros instead of skipping the row."""

    def learn_one(self, x, y, *, sample_weight=None):
        x = np.nan_to_num(x, posinf=0, neginf=0) if isinstance(x, np.ndarray) and x.dtype == float else x
        super().learn_one(x, y, sample_weight=sample_weight)

    def _learn_table(self, X, y, sample_weight, where, weights_every=None):
        X = np.nan_to_num(X, posinf=0, neginf=0) if isinstance(X, np.ndarray) and X.dtype == float else X
        return super()._learn_table(X, y, sample_weight, where, weights_every)


class GrowsWhilePredicting(dl.RLS):
    def predict_one(self, x):
        if isinstance(x, dict) and self.n_seen_ and set(x) - set(self._names or ()):
            self.learn_one(x, 0.0)
        return super().predict_one(x)


class SortsNames(dl.RLS):
    def learn_one(self, x, y, *, sample_weight=None):
        row = dict(reversed(x.items())) if isinstance(x, dict) else x
        super().learn_one(row, y, sample_weight=sample_weight)


class MissesKeysAsOnes(dl.RLS):
    def learn_one(self, x, y, *, sample_weight=None):
        known = dict.fromkeys(self._names or (), 1.0)
        super().learn_one({**known, **x} if isinstance(x, dict) else x, y, sample_weight=sample_weight)


class NeverGrows(dl.RLS):
    def learn_one(self, x, y, *, sample_weight=None):
        if isinstance(x, dict) and self._names is not None:
            x = {name: value for name, value in x.items() if name in self._names}
        super().learn_one(x, y, sample_weight=sample_weight)


class LosesItsState(dl.RLS):
    def __setstate__(self, state):
        super().__setstate__({**state, "core": None})


class SharesItsState(dl.RLS):
    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return dl.RLS, ()


class ChecksNothing(dl.RLS):
    def _assign(self, before, changes):
        self.__dict__.update({**before, **changes})

    def _refresh(self, before):
        pass


class ChangesItsParameters(dl.RLS):
    def _learn_table(self, *arguments):
        self.__dict__["ridge"] = self.ridge + 1.0
        return super()._learn_table(*arguments)

    def __repr__(self):
        return "ChangesItsParameters(ridge=7.0)"


class SetsTooMuch(dl.RLS):
    def set_params(self, **changes):
        super().set_params(**changes)
        self._restore(None, None)
        return self


class FollowsNothing(dl.RLS):
    """Predicts from a separate state, which is not finite."""

    def _replay_block(self, block, y, weight, target):
        skipped = super()._replay_block(block, y, weight, target)
        target.predictions += np.inf if np.abs(block).max() > 1e6 or not block.any() else 0
        return skipped

    @property
    def covariance_(self):
        return -super().covariance_


class KeepsASecret(dl.RLS):
    """Negates every tenth label, by a counter that no copy keeps."""

    secret = 0

    def learn_one(self, x, y, *, sample_weight=None):
        self.secret += 1
        super().learn_one(x, y if self.secret % 10 else -y, sample_weight=sample_weight)


class IsNarrow(dl.RLS):
    """Accepts values beyond float32, and halves the rows of float32 models."""

    @property
    def _largest(self):
        return np.float64(np.finfo(np.float64).max)

    def run(self, X, y, *, sample_weight=None, weights_every=None):
        shrunk = np.asarray(X) / 2 if self.dtype == "float32" else X
        return super().run(shrunk, y, sample_weight=sample_weight, weights_every=weights_every)


DEFECTIVE = [kind for kind in dl.RLS.__subclasses__() if kind.__module__ == __name__]


def test_every_defect_is_found_and_every_check_can_fail(monkeypatch):
    left = list(BATTERY)  # checks that have not failed yet
    for kind in DEFECTIVE:
        monkeypatch.setitem(registry._learners, "defective", kind)  # so that it can be saved
        failed = failing(left, kind) or failing(BATTERY, kind)
        assert failed, kind
        left = [name for name in left if name not in failed]
    assert left == []


def test_the_message_lists_every_check_that_failed():
    with pytest.raises(AssertionError) as failure:
        checks.check_learner(StartsEachRunAnew)
    lines = str(failure.value).splitlines()
    assert "batches_equal_one_run" in str(failure.value)
    assert len(lines) > 2
