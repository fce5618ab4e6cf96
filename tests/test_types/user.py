"""A user's program that uses the public names. Type checkers check its ``assert_type``; a test runs it."""

import contextlib
import tempfile
from pathlib import Path
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression

import driftline as dl
from driftline.ensembles.own_experts import AutoWithExperts
from driftline.features import Calendar, Hashing, Lags, Polynomial, RandomFourier, Standardize, Steps, UnitNorm


def rows() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    assert dl.datasets.path("flights").is_file()
    X, y = dl.streams.Rotating(rate=0.01, noise=0.05, seed=0).take(120)
    return X, y


def learners(X: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    linear: list[dl.Learner] = [
        dl.AAR(ridge=2.0),
        dl.ARCOR(schedule=None),
        dl.AROWR(noise=0.5),
        dl.CRRLS(period=50),
        dl.DFOP(forget_rate=0.05),
        dl.EG(rate=0.001, loss=dl.losses.Absolute()),
        dl.GD(rate=1e-4, loss="huber"),
        dl.Kalman(drift=1e-4),
        dl.LASER(drift_cost=100.0),
        dl.LMS(rate=1e-4, implicit=True),
        dl.NLMS(intercept=False),
        dl.Ridge(ridge=1.0, dtype="float32"),
        dl.RLS(forgetting=0.99, missing="skip"),
        dl.SecondOrder(time=dl.Divide(0.99), reset=dl.Every(40)),
        dl.SecondOrder(time=dl.Add(0.01), reset=dl.Below(2.0)),
        dl.SparseDFOP(dim=20),
        dl.WEMM(ridge=1e5),
    ]
    for learner in linear:
        run = assert_type(learner.run(X, y), dl.Run)
        assert len(run.predictions) == len(y)

    model = assert_type(dl.RLS(), dl.RLS)
    assert_type(model.ridge, float)
    assert_type(model.clone(), dl.RLS)
    assert_type(model.set_params(ridge=2.0), dl.RLS)
    assert_type(model.fit(X, y), dl.RLS)
    assert_type(model.predict_one(X[0]), float)
    assert_type(model.predict_interval(X[0], level=0.9), tuple[float, float])
    assert_type(model.learn_one({"a": 1.0} if not model.n_seen_ else X[0], 1.0), None)
    assert_type(model.n_seen_, int)
    assert_type(model.certificate(), dl.Certificate)
    ticket = assert_type(model.ask(X[0]), dl.Ticket)
    model.tell(ticket, 1.0)
    assert_type(dl.Ticket.from_bytes(ticket.to_bytes()), dl.Ticket)


def composed(X: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    pipeline = assert_type(Lags() | dl.RLS(), dl.Pipeline)
    assert_type(pipeline.run(X, y), dl.Run)
    steps = assert_type(Standardize() | UnitNorm(), Steps)
    assert_type(Calendar(holidays="DE", around=2, zone="Europe/Berlin") | dl.Auto(), dl.Pipeline)
    assert_type(steps | Polynomial(2), dl.features.Steps)
    assert_type(steps | Lags(y=2) | dl.Ridge(), dl.Pipeline)
    assert_type(Standardize() | (Lags(y=1) | dl.RLS()), dl.Pipeline)
    labels = np.where(y > 0, "up", "down")
    classifier = assert_type(Standardize() | dl.Classifier(dl.DFOP(), classes=["up", "down"]), dl.Classifier)
    classifier.fit(X, labels)
    assert_type(classifier.predict_proba_one(X[0]), dict[Any, float])
    assert_type(RandomFourier(20, seed=1) | dl.AROWR(), dl.Pipeline)
    assert_type(Hashing(64) | dl.NLMS(), dl.Pipeline)

    for model in (
        assert_type(dl.Auto(), dl.Auto),
        assert_type(dl.Auto(experts=[dl.RLS()]), AutoWithExperts),
        assert_type(dl.Averaged(dl.NLMS()), dl.Averaged),
        assert_type(dl.Kernel(dl.AROWR(), budget=10), dl.Kernel),
        assert_type(dl.Network([dl.RLS(), Lags(y=1) | dl.Ridge()]), dl.Network),
        assert_type(dl.Refit(LinearRegression(), every=50, window=100), dl.Refit),
        assert_type(dl.Selective(dl.RLS(), budget=0.5), dl.Selective),
    ):
        assert_type(model.run(X, y).losses, NDArray[Any])


def around(X: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    pending = dl.Pending(dl.RLS(), most=10)
    assert_type(pending.predict_one("a", X[0]), Any)  # a class label if the learner is a classifier
    pending.learn_one("a", 1.0)
    assert_type(pending.learner, dl.Learner)

    forecaster = dl.Forecaster(dl.RLS(), steps=3)
    forecaster.run(X, y)
    forecaster.forecast(X[:3]).to_frame("pandas")

    fleet = dl.Fleet(dl.RLS())
    fleet.run(np.arange(len(y)) % 5, X, y)
    assert_type(dl.Fleet.merge(fleet.split(2)), dl.Fleet)
    assert_type(fleet.ask(3, X[0]), dl.FleetTicket)
    assert_type(dl.FleetForecaster(dl.Fleet(dl.RLS(), pooled=True), steps=3).n_seen_, int)

    moments = dl.Moments(forgetting=0.99)
    moments.learn_many(X, y)
    moments.model(ridge=1.0).predict(X)

    assert_type(dl.sweep(dl.RLS(), {"forgetting": [0.9, 0.99]}, X, y), dl.Sweep)
    dl.evaluate.prequential(dl.RLS(), (X, y))
    dl.regret.best_fixed(X, y, ridge=1.0)
    dl.checks.expected_failures(dl.RLS)

    alarm = dl.Alarm()
    for error in y[:10]:
        assert_type(alarm.update(float(error)), bool)
    watch = dl.Watch()
    watch.update_many(y, y, X)
    assert_type(watch.events, list[dl.Event])

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.drift"
        dl.RLS().fit(X, y).save(path)
        dl.load(path).predict(X)
        table = Path(folder) / "rows.csv"
        table.write_text("a,y\n1,2\n3,4\n", encoding="utf-8")
        with dl.files.open_rows(table, target="y") as source:
            assert_type(source, dl.files.Rows)
    dl.from_bytes(dl.RLS().fit(X, y).to_bytes())


def refused(X: NDArray[np.float64], y: NDArray[np.float64]) -> None:
    problems: tuple[type[Exception], ...] = (dl.RowRefusedError, dl.ModelFileError, dl.DivergenceError)
    with contextlib.suppress(*problems):
        dl.LMS(rate=1e9).run(X, y)
    assert issubclass(dl.DriftlineWarning, UserWarning)


def never_called() -> None:
    """A type checker reports an error on each of these lines; an ignore comment without an error is reported too."""
    dl.RLS(nonsense=1)  # type: ignore[call-arg]
    dl.RLS(forgetting="much")  # type: ignore[arg-type]
    dl.RLS(_core=None)  # type: ignore[call-arg]
    dl.LMS().explain()  # type: ignore[attr-defined]
    Lags() | 3  # type: ignore[operator]


if __name__ == "__main__":
    for part in (learners, composed, around, refused):
        part(*rows())
