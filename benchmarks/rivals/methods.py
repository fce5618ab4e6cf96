"""All methods by task and name, with the library that each needs and its cost."""

from __future__ import annotations

from typing import NamedTuple

from benchmarks.data import Array
from benchmarks.rivals import (
    adaboost_ol,
    addexp,
    bagging,
    capymoa_peers,
    dwm,
    ecdd,
    learn_nse,
    learn_nse_regression,
    nearest,
    oaue,
    ours,
    river_peers,
    svm,
)
from benchmarks.rivals.ours import Run
from papers.rivals import BASELINE, CLASSIFICATION, OURS, PAPER, REGRESSION, TODAY


class Method(NamedTuple):
    """A method.

    Attributes:
        run: predicts each row before it learns it; a function of rows, labels and a seed.
        origin: where it comes from.
        library: the package it needs.
        words: a one-line description.
        budget: the largest number of rows over all subsets, smaller with many inputs; at least two subsets are run.
        longest: rows of a data set beyond which the method is left out.
    """

    run: Run
    origin: str
    library: str
    words: str
    budget: float = float("inf")
    longest: float = float("inf")


_BAYES = "naive Bayes members"
_MACHINES = "extreme learning machines of 20 nodes"
_FOREST = {"budget": 30_000, "longest": 2_500}
_JAVA = {"budget": 25_000, "longest": 100_000}

CLASSIFIERS = {
    "SVM-win": Method(
        svm.sliding, PAPER, "scikit-learn", "Gaussian kernel, last 100 rows, fitted every 10 rows", 60_000, 100_000
    ),
    "1NN-win": Method(nearest.predictions, PAPER, "numba", "nearest of the last 100 rows"),
    "SVM-fix": Method(svm.fixed, PAPER, "scikit-learn", "linear, last 4 batches of 100 rows", 400_000),
    "SVM-ada": Method(
        svm.adaptive, PAPER, "scikit-learn", "linear, the best of 1 to 16 batches by the xi-alpha estimate", 25_000, 60_000
    ),
    "DWM": Method(dwm.predictions, PAPER, "numba", f"{_BAYES}; period 50, factor 0.5, threshold 0.01"),
    "ECDD-WT": Method(ecdd.with_warning, PAPER, "numba", "discriminant analysis; weight 0.2, false signals 400 rows apart"),
    "ECDD": Method(ecdd.plain, PAPER, "numba", "discriminant analysis; weight 0.2, false signals 400 rows apart"),
    "AdaBoost.OL": Method(adaboost_ol.predictions, PAPER, "numba", "20 linear weak learners"),
    "Learn.NSE": Method(learn_nse.predictions, PAPER, "numba", f"{_BAYES}, batches of 250 rows"),
    "HAT (River)": Method(river_peers.tree, TODAY, "river", "Hoeffding adaptive tree, defaults", 60_000, 100_000),
    "ARF (River)": Method(river_peers.forest, TODAY, "river", "adaptive random forest of 10 trees, defaults", **_FOREST),
    "ARF (CapyMOA)": Method(capymoa_peers.forest, TODAY, "capymoa", "adaptive random forest of 10 trees", **_JAVA),
    "SRP (CapyMOA)": Method(capymoa_peers.patches, TODAY, "capymoa", "streaming random patches of 10 trees", **_JAVA),
}
REGRESSORS = {
    "OB": Method(bagging.online_bagging, PAPER, "numba", f"10 {_MACHINES}"),
    "AddExp.C": Method(addexp.predictions, PAPER, "numba", f"at most 10 {_MACHINES}; 0.5, 0.1, 0.05"),
    "EOS-ELM": Method(bagging.eos_elm, PAPER, "numba", f"10 {_MACHINES}"),
    "Learn++.NSE": Method(learn_nse_regression.predictions, PAPER, "numba", f"{_MACHINES}, batches of 250 rows"),
    "OAUE": Method(oaue.predictions, PAPER, "numba", f"10 {_MACHINES}, blocks of 500 rows"),
    "HAT (River)": Method(
        river_peers.tree_regressor,
        TODAY,
        "river",
        "Hoeffding adaptive tree, defaults, scaled rows and labels",
        60_000,
        100_000,
    ),
    "ARF (River)": Method(
        river_peers.forest_regressor, TODAY, "river", "adaptive random forest of 10 trees, scaled rows and labels", **_FOREST
    ),
    "ARF (CapyMOA)": Method(
        capymoa_peers.forest_regressor,
        TODAY,
        "capymoa",
        "adaptive random forest of 10 trees, scaled rows and labels",
        **_JAVA,
    ),
    "SOKNL (CapyMOA)": Method(
        capymoa_peers.soknl, TODAY, "capymoa", "neighbours in the leaves of 10 trees, scaled rows and labels", **_JAVA
    ),
}
_WORDS = {
    "DFOP": "the paper's rate; where it states none, one chosen here",
    "DFOP, tuned": "the best rate on the first tenth of the rows, with or without an intercept",
    "RLS": "no forgetting",
    "Auto": "defaults",
    "Classifier(Auto())": "defaults",
    "ARCOR": "the best of 12 settings on the first tenth of the rows",
    "the label before": "no method; uses no input",
    "DFOP, 3 labels": "DFOP with the last three labels as further inputs",
    "Kalman": "the best of 9 drifts on the first tenth of the rows",
}
_ORIGINS = {"DFOP": PAPER, "RLS": PAPER, "the label before": BASELINE}
LABELS = ("the label before", "DFOP, 3 labels")  # baselines that use only earlier labels
ORDER = {
    CLASSIFICATION: ["DFOP", "RLS", *CLASSIFIERS, *("Auto", "Classifier(Auto())", "ARCOR", "Kalman", *LABELS)],
    REGRESSION: ["DFOP", "DFOP, tuned", "RLS", *REGRESSORS, *("Auto", "ARCOR", "Kalman", *LABELS)],
}


def methods(task: str, name: str, X: Array, y: Array) -> dict[str, Method]:
    """All methods for a data set."""
    made = ours.classifiers if task == CLASSIFICATION else ours.regressors
    own = {
        method: Method(run, _ORIGINS.get(method, OURS), "driftline", _WORDS[method])
        for method, run in made(name, X, y).items()
    }
    found = own | (CLASSIFIERS if task == CLASSIFICATION else REGRESSORS)
    return {method: found[method] for method in ORDER[task]}
