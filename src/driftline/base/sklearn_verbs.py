"""scikit-learn's verbs and conventions, without needing scikit-learn."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from driftline.base.learned import Learned
from driftline.base.undo import Undo
from driftline.errors import not_fitted
from driftline.tables import inputs

if TYPE_CHECKING:
    from driftline.base.run import Run
    from driftline.tables.inputs import Array, Name, Table


class SklearnVerbs(Learned):
    """fit, partial_fit, predict and score on top of a learner's run."""

    _estimator_type = "regressor"

    if TYPE_CHECKING:
        missing: str

        def _run(self, X: Any, y: Any, sample_weight: Any, where: str) -> Run: ...
        def _learn_table(self, X: Any, y: Any, sample_weight: Any, where: str) -> Run: ...
        def _restore(self, core: Any, names: Any) -> None: ...
        def _as_labels(self, y: Any, rows: int, where: str) -> Array: ...
        def _refuse_bad_label(self, y: Any, where: str, place: str = "") -> None: ...
        def _as_table(self, X: Any, where: str) -> Table: ...
        def _predict_table(self, table: Table, where: str) -> Array: ...

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forgets everything, then learns the rows in their order, once. A failure leaves the learner as it was."""
        where = f"{type(self).__name__}.fit"
        with Undo(self):  # type: ignore[arg-type]
            self._restore(None, None)
            self._skipped = 0
            self._learn_table(X, y, sample_weight, where)
            if self._core is None:
                raise ValueError(f"{where}: nothing to learn: every row has zero sample_weight, or misses a value")
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learns more rows in their order, once."""
        self._run(X, y, sample_weight, f"{type(self).__name__}.partial_fit")
        return self

    def predict(self, X: Any) -> Array:
        """Predictions for many rows, with nothing learned between them."""
        where = f"{type(self).__name__}.predict"
        if self._core is None:
            raise not_fitted(f"{where}: the learner is not fitted yet: it has seen no row")
        table = self._as_table(X, where)
        self._check_table(table, where)
        return self._predict_table(table, where)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2 of :meth:`predict`: 1 is perfect, 0 is as good as the mean of ``y``; of several outputs the mean."""
        where = f"{type(self).__name__}.score"
        predictions = self.predict(X)
        labels = self._as_labels(y, len(predictions), where)
        weights = inputs.as_weights(sample_weight, len(predictions), where)
        weights = np.ones(len(labels)) if weights is None else weights
        good: Array = np.isfinite(labels) & np.isfinite(predictions)
        if good.ndim == 2:
            good = np.all(good, axis=1)
        if not good.all():
            if self.missing == "raise":
                row = int(good.argmin())
                self._refuse_bad_label(labels[row], where, f" in row {row}")
            labels, predictions, weights = labels[good], predictions[good], weights[good]
        if not weights.any():
            raise ValueError(f"{where}: every row has zero sample_weight, or misses a value")
        if labels.ndim == 1:
            return _r2(labels, predictions, weights)
        return float(np.mean([_r2(labels[:, j], predictions[:, j], weights) for j in range(labels.shape[1])]))

    def _check_table(self, table: Table, where: str) -> None:
        """The features must be those that the learner knows, in their order."""
        validation = sys.modules.get("sklearn.utils.validation")
        if validation is not None:
            self._warn_of_names(table, where)
        if table.names is not None and self._names is not None and table.names != self._names:
            raise ValueError(name_trouble(where, self._names, table.names))
        if table.columns != self.n_features_in_:
            name = type(self).__name__
            raise ValueError(
                f"{where}: X has {table.columns} features, but {name} is expecting {self.n_features_in_} features as input"
            )

    def _warn_of_names(self, table: Table, where: str) -> None:
        name = type(self).__name__
        if table.names is None and self._names is not None:
            warnings.warn(f"X does not have valid feature names, but {name} was fitted with feature names", stacklevel=5)
        if table.names is not None and self._names is None:
            warnings.warn(f"X has feature names, but {name} was fitted without feature names", stacklevel=5)

    def __sklearn_is_fitted__(self) -> bool:
        return self._core is not None

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, RegressorTags, Tags, TargetTags

        return Tags(
            estimator_type="regressor",
            target_tags=TargetTags(required=True),
            regressor_tags=RegressorTags(),
            input_tags=InputTags(allow_nan=self.missing == "skip"),
        )


def _r2(y: Array, predictions: Array, weights: Array) -> float:
    """Everything is scaled to 1 first, so that no square leaves the range."""
    scale = max(np.abs(y).max(), np.abs(predictions).max()) or 1.0
    y, predictions, weights = y / scale, predictions / scale, weights / weights.max()
    residual = float(weights @ (y - predictions) ** 2)
    total = float(weights @ (y - np.average(y, weights=weights)) ** 2)
    if total == 0.0:
        return 1.0 if residual == 0.0 else 0.0
    return 1.0 - residual / total


def name_trouble(where: str, known: list[Name], given: list[Name]) -> str:
    """What distinguishes two lists of names, in the words that scikit-learn's users know."""
    lines = [f"{where}: The feature names should match those that were passed during fit."]
    unseen = sorted(set(given) - set(known), key=str)
    absent = sorted(set(known) - set(given), key=str)
    for title, names in (("unseen at fit time", unseen), ("seen at fit time, yet now missing", absent)):
        if names:
            lines.append(f"Feature names {title}:")
            lines += [f"- {name}" for name in names[:5]] + (["- ..."] if len(names) > 5 else [])
    if not unseen and not absent:
        lines.append("Feature names must be in the same order as they were in fit.")
    return "\n".join(lines) + "\n"
