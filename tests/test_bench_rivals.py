"""The comparison with LightGBM: the labels that its methods may use, and the tables of their figures.

Methods of packages that are not installed are skipped; ``make bench-rivals`` runs them all.
"""

import json

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from benchmarks.bench_rivals import autoregression, methods, refitted, results
from benchmarks.bench_rivals.task import Task, tasks
from driftline.ensembles.fits import Fits


def task(delay, rows=460, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    return Task("made", X, np.cumsum(rng.normal(size=rows)) + 2 * X[:, 0], delay, rows // 3)


@pytest.mark.parametrize("delay", [0, 1, 11, 29])
@pytest.mark.parametrize("lags", [refitted.FEW, refitted.MANY, (3, 5)])
def test_lags_match_those_of_refit(delay, lags):
    own = task(delay)
    columns = np.column_stack([refitted.shifted(own.y, place) for place in refitted.places(lags, delay)])
    fits = Fits(LinearRegression(), 500, 500, lags, 3)
    for t in (0, 5, 40, 200, 459):
        np.testing.assert_array_equal(columns[t], fits.lagged(delay, own.y[: own.known[t]]))


NEEDS = {
    "lightgbm": "lightgbm",
    "refit": "lightgbm",
    "auto_refit": "lightgbm",
    "autoreg": "statsmodels",
    "hat": "river",
    "arf": "river",
}


@pytest.mark.parametrize("delay", [0, 11])
@pytest.mark.parametrize("name", methods.METHODS)
@pytest.mark.filterwarnings("ignore")
def test_no_method_uses_a_label_before_it_arrives(name, delay):
    needed = [package for start, package in NEEDS.items() if name.startswith(start)]
    for package in needed:
        pytest.importorskip(package)
    own, k = task(delay), 300
    other = Task("other", own.X, np.where(np.arange(len(own.y)) < k, own.y, 50 - own.y), delay, own.start)
    predicted, different = (methods.METHODS[name].prepare(one)().predictions for one in (own, other))
    np.testing.assert_array_equal(predicted[: k + delay + 1], different[: k + delay + 1])
    assert (predicted[k + delay + 1 :] != different[k + delay + 1 :]).any()


@pytest.mark.parametrize("form", refitted.FORMS, ids=lambda form: form.name)
@pytest.mark.parametrize("delay", [0, 11])
def test_a_refitted_estimator_matches_the_plain_loop(form, delay):
    own, window = task(delay, rows=330), refitted.WINDOW
    make = lambda: DecisionTreeRegressor(max_depth=3, random_state=0)  # noqa: E731
    predicted = refitted.run(make, form, own, 100)
    Z = form.inputs(own)
    for t in (delay + 61, 180, 250, 329):
        known = t - delay
        newest = own.y[known - 1]
        fitted = max(count for count in (50, 100, 200, 300) if count <= known)
        rows = np.arange(max(fitted - window, 0), fitted)
        before = np.where(rows > delay, own.y[np.maximum(rows - delay - 1, 0)], 0.0) if form.change else 0.0
        wanted = make().fit(Z[rows], own.y[rows] - before).predict(Z[[t]])[0] + (newest if form.change else 0.0)
        reach = 0.5 * np.ptp(own.y[:known])
        assert predicted[t] == pytest.approx(np.clip(wanted, own.y[:known].min() - reach, own.y[:known].max() + reach))


@pytest.mark.parametrize("delay", [0, 4])
def test_autoregression_matches_the_forecast_of_statsmodels(delay):
    ar_model = pytest.importorskip("statsmodels.tsa.ar_model")
    own = task(delay, rows=300)
    predicted = autoregression.run(own, 100)
    fitted = ar_model.AutoReg(own.y[:200], 24, exog=own.X[:200]).fit()
    t = 200 + delay  # the first row that this fit predicts
    assert predicted[t] == pytest.approx(fitted.forecast(delay + 1, exog=own.X[200 : t + 1])[-1])


def test_rows_and_starts_match_those_of_the_folder(tmp_path):
    table = np.arange(60.0).reshape(20, 3)
    table[4, 1] = np.nan
    np.savetxt(tmp_path / "few.csv.gz", table, delimiter=",", header="a,b,y")
    (tmp_path / "INDEX.md").write_text("| few | 20 x 3 | regression; y | yes | a source |\n")
    figures = {"rows": 10, "start": 2, "horizons": {"12": {"rows": 15}}}
    (tmp_path / "rivals.json").write_text(json.dumps({"few": figures}))
    first, late = tasks(tmp_path)
    assert (first.delay, len(first.y), first.start) == (0, 9, 2)
    assert (late.delay, len(late.y), late.start) == (11, 14, 112)


def test_verdicts_count_the_files_on_which_a_rival_is_ahead(tmp_path):
    errors = {"one": (1.0, 0.9, 0.92), "two": (1.0, 0.995, 0.9), "three": (1.0, 2.0, 1.0)}
    for name, (auto, boosting, both) in errors.items():
        folder = tmp_path / name / "0"
        folder.mkdir(parents=True)
        for method, mse in (("auto", auto), ("lightgbm_500", boosting), ("auto_refit_500", both)):
            (folder / f"{method}.json").write_text(json.dumps({"mse": mse, "mae": mse, "rows": 10, "seconds": 1.0}))
    kept = results.read(tmp_path)
    found = {verdict.what: verdict for verdict in results.verdicts(kept)}
    better = found["LightGBM 500, labels at once, ahead of Auto (one)"]
    assert (better.measured, better.target, better.unit, better.word) == (1, 1, "of 3 files", "pass")
    behind = found["Auto + Refit 500, labels at once, over LightGBM at worst (one)"]
    assert behind.measured == pytest.approx(0.92 / 0.9)
    assert behind.word == "short"
    mean = results.by_file(kept, 0, "mse").rows[-1]
    assert mean[1] == pytest.approx((0.9 * 0.995 * 2.0) ** (1 / 3))
