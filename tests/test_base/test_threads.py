"""Threads: different models run in parallel, and two threads never use one model at once."""

import contextlib
import copy
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

import driftline as dl
from driftline.checks.tools import fresh, same
from tests.states import leaves


@pytest.fixture(scope="module")
def long_rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.7, 0.7, size=(4000, 20))
    return X, X.sum(axis=1) + rng.normal(size=4000)


@pytest.fixture(autouse=True)
def quick_switches():
    """Threads take turns as often as the interpreter allows."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_different_models_in_several_threads_give_the_same_results_as_alone(learner, long_rows):
    X, y = long_rows
    if isinstance(learner, dl.Kernel):
        learner = dl.Kernel(budget=20)  # every row would be a point
    wanted = fresh(learner)
    run = wanted.run(X, y)
    models = [fresh(learner) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(lambda model: model.run(X, y), models))
    for model, other in zip(models, runs, strict=True):
        assert np.array_equal(other.predictions, run.predictions)
        assert same(model.__getstate__(), wanted.__getstate__())


def test_one_row_at_a_time_in_several_threads_gives_the_same_results_as_alone(long_rows):
    X, y = long_rows[0][:300], long_rows[1][:300]
    wanted = dl.RLS()
    wanted.run(X, y)

    def loop(model):
        for row, label in zip(X, y.tolist(), strict=True):
            model.predict_one(row)
            model.learn_one(row, label)
        return model

    with ThreadPoolExecutor(4) as pool:
        for model in pool.map(loop, [dl.RLS() for _ in range(4)]):
            assert same(model.__getstate__(), wanted.__getstate__())


ATTEMPTS = 50  # a busy machine may sometimes run two threads one after the other


def ticks_in_the_middle_of_a_run(model, X, y):
    """How often this thread runs Python code during a run in another thread."""
    started, stamps = threading.Event(), []

    def run():
        started.set()
        begin = time.perf_counter()
        model.run(X, y)
        stamps.extend([begin, time.perf_counter()])

    thread = threading.Thread(target=run)
    ticks = []
    thread.start()
    started.wait()
    while thread.is_alive():
        ticks.append(time.perf_counter())
    thread.join()
    begin, end = stamps
    return sum(begin + 0.3 * (end - begin) < tick < begin + 0.7 * (end - begin) for tick in ticks)


def test_the_interpreter_is_free_while_a_model_runs():
    """Another thread does Python work during a long run: the interpreter's lock is released."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(20_000, 200)), rng.normal(size=20_000)
    model = dl.RLS()
    model.run(X[:2], y[:2])
    assert any(ticks_in_the_middle_of_a_run(model, X, y) > 10 for _ in range(ATTEMPTS))


@dataclass
class Meeting:
    """Two threads use one model: one runs it, the other acts on it repeatedly until the run ends."""

    model: dl.RLS
    X: np.ndarray
    y: np.ndarray
    acted: int = 0  # times that the act succeeded
    run: dl.Run | None = None  # None if it was refused
    refusals: list[str] = field(default_factory=list)

    def hold(self, act):
        def run():
            try:
                self.run = self.model.run(self.X, self.y)
            except RuntimeError as error:
                self.refusals.append(str(error))

        thread = threading.Thread(target=run)
        thread.start()
        while thread.is_alive():
            try:
                act(self.model, self.X, self.y)
                self.acted += 1
            except RuntimeError as error:
                self.refusals.append(str(error))
        thread.join()


def meet(act):
    """The first meeting in which one thread was refused; a run takes a while in native code."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(6000, 300)), rng.normal(size=6000)
    for _ in range(ATTEMPTS):
        model = dl.RLS()
        model.run(X[:2], y[:2])
        meeting = Meeting(model, X, y)
        meeting.hold(act)
        if meeting.refusals:
            assert all("in use by another thread" in refusal for refusal in meeting.refusals)
            return meeting
    return pytest.fail("the two never met")


@pytest.mark.parametrize(
    "act",
    [
        lambda model, X, y: model.predict_one(X[0]),
        lambda model, X, y: model.predict(X[:2]),
        lambda model, X, y: model.coef_,
        lambda model, X, y: model.covariance_,
        lambda model, X, y: model.certificate(),
        lambda model, X, y: copy.deepcopy(model),
        lambda model, X, y: model.score(X[:5], y[:5]),
    ],
    ids=["predict_one", "predict", "coef_", "covariance_", "certificate", "deepcopy", "score"],
)
def test_reading_a_model_that_another_thread_runs_is_a_clear_error_and_does_no_harm(act):
    meeting = meet(act)
    wanted = dl.RLS()
    wanted.run(meeting.X[:2], meeting.y[:2])
    if meeting.run is not None:  # otherwise the reader came first
        np.testing.assert_array_equal(meeting.run.predictions, wanted.run(meeting.X, meeting.y).predictions)
    assert same(meeting.model.__getstate__(), wanted.__getstate__())


@pytest.mark.parametrize(
    "act",
    [
        lambda model, X, y: model.run(X[:1], y[:1]),
        lambda model, X, y: model.partial_fit(X[:1], y[:1]),
        lambda model, X, y: model.learn_one(X[0], 0.5, sample_weight=0.5),
    ],
    ids=["run", "partial_fit", "learn_one_with_weight"],
)
def test_learning_by_a_model_that_another_thread_runs_is_a_clear_error(act):
    """Rows learned before or after the run count; during it none is learned."""
    meeting = meet(act)
    assert all(np.isfinite(part).all() for _, part in leaves(meeting.model.__getstate__()["core"]))
    assert meeting.model.n_seen_ == 2 + (0 if meeting.run is None else len(meeting.y)) + meeting.acted


def test_fitting_a_model_that_another_thread_runs_is_a_clear_error():
    meeting = meet(lambda model, X, y: model.fit(X[:1], y[:1]))
    assert all(np.isfinite(part).all() for _, part in leaves(meeting.model.__getstate__()["core"]))


def test_setting_parameters_of_a_model_that_another_thread_runs_is_a_clear_error():
    meeting = meet(lambda model, X, y: model.set_params(ridge=2.0))
    assert all(np.isfinite(part).all() for _, part in leaves(meeting.model.__getstate__()["core"]))
    assert meeting.model.ridge == (2.0 if meeting.acted else 1.0)


def test_rows_from_many_threads_are_all_counted_or_refused():
    """Every row that was not refused was learned once, however the threads interleave."""
    model = dl.Kalman()
    model.learn_one({"a": 0.1, "b": 0.2}, 1.0)
    learned, refused = [], []

    def work(seed):
        rng = np.random.default_rng(seed)
        count = 0
        for _ in range(200):
            row = dict(zip("ab", rng.normal(size=2).tolist(), strict=True))
            try:
                if rng.random() < 0.5:
                    model.learn_one(row, 1.0)
                    count += 1
                elif rng.random() < 0.5:
                    model.learn_one(list(row.values()), 1.0)
                    count += 1
                else:
                    model.run(rng.normal(size=(5, 2)), rng.normal(size=5))
                    count += 5
            except RuntimeError as error:
                refused.append(str(error))
        learned.append(count)

    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(4) as pool:
        patch.setattr("warnings.warn", lambda *_, **__: None)
        list(pool.map(work, range(4)))
    assert model.n_seen_ == 1 + sum(learned)
    assert all("in use by another thread" in message for message in refused)


@pytest.mark.parametrize("make", [dl.RLS, dl.NLMS, dl.Kalman, dl.Auto])
def test_calls_of_one_row_take_turns(make, long_rows):
    X, y = long_rows
    model = make()
    model.learn_one(X[0], y[0])

    def work(_):
        for row, label in zip(X[:300], y[:300].tolist(), strict=True):
            model.predict_one(row)
            model.learn_one(row, label)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert model.n_seen_ == 1201


def test_the_error_points_to_the_page_on_threads():
    (refusal, *_) = meet(lambda model, X, y: model.predict_one(X[0])).refusals
    page = Path(__file__).parents[2] / "docs" / "threads.md"
    title = page.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
    assert refusal.endswith(f": see {title} in the documentation")


def test_two_threads_that_start_a_model_create_one_state():
    """The first row creates the state: two threads at once must not create two, and lose one."""
    for seed in range(30):
        model = dl.RLS()
        barrier = threading.Barrier(4)

        def work(model=model, barrier=barrier):
            barrier.wait()
            try:
                model.run(np.ones((3, 2)), np.ones(3))
            except RuntimeError:
                return 0
            return 3

        with ThreadPoolExecutor(4) as pool:
            learned = sum(pool.map(lambda _: work(), range(4)))
        assert model.n_seen_ == learned > 0, seed


def test_a_failed_run_releases_the_model(long_rows):
    X, y = long_rows
    model = dl.RLS()
    bad = y.copy()
    bad[-1] = np.nan
    for _ in range(3):
        with pytest.raises(ValueError, match="y is NaN"):
            model.run(X, bad)
    assert model.run(X, y).predictions.shape == y.shape
    assert "_claim" not in vars(model)


@pytest.mark.parametrize("fails", [True, False])
@pytest.mark.parametrize("fitted", [True, False])
def test_no_row_of_another_thread_slips_into_a_run(fails, fitted):
    """Between two blocks of a run the core is idle for a moment, but still claimed."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200_000, 20))
    y = X.sum(axis=1)
    if fails:
        X[-1, 3] = np.nan
    model, wanted = dl.RLS(), dl.RLS()
    if fitted:
        for one in (model, wanted):
            one.run(X[:10], y[:10])

    def learn_all():
        try:
            model.run(X, y)
        except ValueError:
            assert fails

    thread = threading.Thread(target=learn_all)
    thread.start()
    taken = []
    while thread.is_alive():
        with contextlib.suppress(RuntimeError):  # in use by another thread
            model.learn_one(X[0], 1.0)
            taken.append(1)
    thread.join()
    rows = 0 if fails else len(y)
    assert model.n_seen_ == 10 * fitted + rows + len(taken)  # before or after the run; none is lost
    model.learn_one(X[0], 1.0)  # the model is free again
