"""scikit-learn's conventions, without needing scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from driftline.base import replay
from driftline.tables import inputs
from driftline.tables.inputs import Array

if TYPE_CHECKING:
    from driftline.base.learner import Learner


def score(learner: Learner, X: Any, y: Any, sample_weight: Any, where: str) -> float:
    """R² of a learner's predictions, over the rows that have a prediction and a label."""
    predictions = learner.predict(X)
    labels = replay.as_labels(learner, y, len(predictions), where)
    weights = inputs.as_weights(sample_weight, len(predictions), where)
    weights = np.ones(len(labels)) if weights is None else weights
    good: Array = np.isfinite(labels) & np.isfinite(predictions)
    good = good if good.ndim == 1 else np.all(good, axis=1)
    if not good.all():
        if learner.missing == "raise":
            row = int(good.argmin())
            learner._door.refuse_bad_label(labels[row], where, f" in row {row}")
        labels, predictions, weights = labels[good], predictions[good], weights[good]
    if not weights.any():
        raise ValueError(f"{where}: every row has zero sample_weight or a missing value")
    return r2(labels, predictions, weights)


def r2(labels: Array, predictions: Array, weights: Array) -> float:
    """R², averaged over the outputs if a row has several labels."""
    if labels.ndim == 2:
        return float(np.mean([r2(labels[:, j], predictions[:, j], weights) for j in range(labels.shape[1])]))
    scale = max(np.abs(labels).max(), np.abs(predictions).max()) or 1.0  # keeps squares in range
    labels, predictions, weights = labels / scale, predictions / scale, weights / weights.max()
    residual = float(weights @ (labels - predictions) ** 2)
    total = float(weights @ (labels - np.average(labels, weights=weights)) ** 2)
    if total == 0.0:
        return 1.0 if residual == 0.0 else 0.0
    return 1.0 - residual / total


def regressor_tags(*, allow_nan: bool, multi_output: bool) -> Any:
    """scikit-learn's tags of a regressor."""
    from sklearn.utils import InputTags, RegressorTags, Tags, TargetTags

    return Tags(
        estimator_type="regressor",
        target_tags=TargetTags(required=True, multi_output=multi_output),
        regressor_tags=RegressorTags(),
        input_tags=InputTags(allow_nan=allow_nan, sparse=True),
    )


def classifier_tags(*, allow_nan: bool) -> Any:
    """scikit-learn's tags of a classifier."""
    from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

    return Tags(
        estimator_type="classifier",
        target_tags=TargetTags(required=True),
        classifier_tags=ClassifierTags(),
        input_tags=InputTags(allow_nan=allow_nan, sparse=True),
    )


def transformer_tags(*, needs_labels: bool) -> Any:
    """scikit-learn's tags of a transformer."""
    from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

    return Tags(
        estimator_type=None,
        target_tags=TargetTags(required=needs_labels),
        transformer_tags=TransformerTags(),
        input_tags=InputTags(sparse=True),
    )
