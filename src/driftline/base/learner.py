"""The interface of all learners. Public methods check and convert their arguments; a core computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from driftline import extensions
from driftline._core import Outputs, Status
from driftline.base import careful, encoding, growth, levels, params, record, replay, sklearn, state, table_verbs
from driftline.base.batch import Batch, numbered
from driftline.base.certificate import Certificate
from driftline.base.door import LARGEST, Door
from driftline.base.model import Model
from driftline.base.native import Core
from driftline.base.rules import Rule, choice, whole
from driftline.base.run import Run
from driftline.base.ticket import Ticket, mark_core
from driftline.errors import not_fitted
from driftline.storage.model_file import Saved
from driftline.tables import missing
from driftline.tables.encoder import Columns
from driftline.tables.inputs import Array
from driftline.tables.missing import Missing

_DELAY = whole(0, 10**15)  # a ticket keeps it as a float
_MISSING = choice(missing.WORDS) | Rule(missing.is_by_column, "a mapping from columns to these")
_DONE, _UNREAD = Status.DONE, Status.UNREAD  # enum members are slower to look up than a short row is to learn


class Learner(Model, Saved):
    """A model that learns from each row once.

    Args:
        intercept: append a constant feature 1 as the last feature.
        dtype: "float64" or "float32", for the state.
        missing: "raise" an error on NaN or infinity; "skip" such rows and count them in ``n_skipped_``; or fill in the
            running "mean" of the column, its "last" value, or "zero", and add a feature that marks such rows; infinity then
            raises an error. One word, or a mapping from columns to words, with "" for all others. A row without a label is
            predicted and skipped, unless the word is "raise".
    """

    intercept: bool = params.boolean(default=True)
    dtype: str = params.choice(default="float64", options=("float64", "float32"))
    missing: Missing = params.checked(default=missing.RAISE, rule=_MISSING)

    _quiet = ("intercept", "dtype", "missing")
    _is_base = True
    _estimator_type: ClassVar[str] = "regressor"
    _sum_names: ClassVar[tuple[str, ...]] = ()
    _kept: ClassVar[tuple[str, ...]] = ()  # attributes besides the core that belong to the state
    _by_feature = True  # has one weight per feature
    _composes = True  # can be a base estimator of a network or a classifier
    _linear = True  # predictions are linear in the features, with one weight each
    _looks_back = False  # uses earlier rows and labels, so a skipped row keeps its place among them
    _may_refuse = True  # may refuse a valid row because of the state that it would lead to
    _knows_outputs = False  # the class has a core for several labels per row
    _takes_outputs = False  # as above, with the current parameters
    _keeps_shares = False  # the core records the experts' weights at snapshots; otherwise they are queried
    _plain_intercept = True  # the constant is learned like a feature; False if inputs are centred or projected
    _can_reset = False
    _may_run_away = True  # the form of the learner does not bound its predictions
    _encodes = True  # text and times are encoded before the learner reads a row

    _pipeline: ClassVar[Callable[[list[Any], Learner], Learner]]  # set by driftline.features

    _core: Core | None = params.state(None)
    _direct: Core | None = params.state(None)  # the core, if it can read single rows in place
    _columns: Columns | None = params.state(None)  # if they are not all numbers, or are filled in
    _outputs: int | None = params.state(None)  # number of labels per row, if several
    _skipped: int = params.state(0)
    _warned: frozenset[str] = params.state(frozenset())  # warnings already given
    _next_look: int | None = params.state(None)  # rows after which the memory is checked again

    # Hooks for subclasses. Most need only the first.

    def _make_core(self, width: int) -> Core:
        """Creates a core with ``width`` weights, including the intercept's."""
        raise TypeError(f"{type(self).__name__} cannot be used by itself")

    def _see_first_row(self, row: Array) -> None:
        """Initialises whatever depends on the first row, whose last entry is the constant feature, if any."""

    def _serve(self, status: Status, batch: Batch) -> None:
        """Supplies what the core asked for before the first row of the batch, or raises an error explaining its refusal."""
        raise RuntimeError(f"{batch.where}: the core stopped{numbered(batch.start, ' at ')} with status {status}")

    def _operations(self, width: int) -> int:
        """The approximate number of operations per row, for ``width`` weights."""
        return width

    def _memory(self) -> float | None:
        """The approximate number of rows that the weights are based on, if known."""
        return None

    def _shares(self) -> dict[str, float]:
        """The weight of each expert by name; empty if the learner does not mix experts."""
        return {}

    def _shares_of_block(self) -> Array:
        """The experts' weights at the snapshots of the last replayed block, (n, k)."""
        return np.array([list(self._shares().values())])

    def _unbounded_memory(self) -> float | None:
        """The memory in rows, if the weights are unbounded when these rows do not determine them."""
        return None

    def _over_time(self, memory: Array) -> dict[str, Array]:
        """Derives attributes of :class:`Run`, by name, from the memory statistics at each snapshot."""
        return {}

    def _certify(self, sums: dict[str, float]) -> Certificate:
        return Certificate(loss=sums["loss"])

    def _behind(self, transformers: list[Any]) -> Learner:
        """The learner with transformers in front of it."""
        return Learner._pipeline(transformers, self)

    # One row at a time.

    def predict_one(self, x: Any) -> float:
        """The prediction for one row: a one-dimensional array-like, or a mapping feature name -> number."""
        core = self._direct
        if core is not None:
            prediction: float | None = core.predict(x)  # an array if rows have several labels
            if prediction is not None:
                return prediction
        row = encoding.known_row(self, x, learned=False)
        if row is not None and self._core is not None:
            prediction = self._core.predict(row)
            if prediction is not None:
                return prediction
        out = Outputs(replay.room(self, 1))
        careful.predict(self, x, f"{type(self).__name__}.predict_one", out)
        said = out.predictions[0]
        return float(said) if self._outputs is None else said

    def predict_interval(self, x: Any, level: float = 0.9) -> tuple[float, float]:
        """Both ends of an interval around the prediction that contains the label with probability ``level``.

        The width depends on the learner's variance for the row and on the errors so far, and is adapted row by row so that
        the share of labels inside stays at ``level``; see :doc:`/intervals`. The interval is infinite until there are enough
        labels for the level, level / (1 - level) of them. After that, it extends at most ten times the largest error so far
        to either side.
        """
        where = f"{type(self).__name__}.predict_interval"
        place = levels.as_level(level, where)
        if self._outputs is not None:
            raise ValueError(f"{where}: intervals need a single label per row")
        core = self._direct
        if core is not None:
            ends = core.predict_interval(x, place)
            if ends is not None:
                return ends
        row = encoding.known_row(self, x, learned=False)
        if row is not None and self._core is not None:
            ends = self._core.predict_interval(row, place)
            if ends is not None:
                return ends
        out = Outputs(np.empty(1), lower=np.empty(1), upper=np.empty(1), level=place)
        careful.predict(self, x, where, out)
        return float(out.lower[0]), float(out.upper[0])

    def learn_one(self, x: Any, y: Any, *, sample_weight: float | None = None) -> None:
        """Learns from one row. If a mapping has new features, the model grows."""
        core = self._direct
        if core is None:
            careful.learn(self, x, y, sample_weight, _UNREAD)
            return
        status = core.learn(x, y) if sample_weight is None else core.learn(x, y, sample_weight)
        if status is not _DONE:
            careful.learn(self, x, y, sample_weight, status)

    # Late labels.

    def ask(self, x: Any, delay: int | None = None) -> Ticket:
        """Predicts one row whose label will arrive later; :meth:`tell` takes the ticket and the label. Changes nothing.

        Args:
            x: the row.
            delay: how many rows late the label comes: the number of earlier rows whose labels are still missing, 0 for the
                next row. None for the value that was right for the last ticket told, which is the number of labels between
                its ask and its tell; initially 0. Label lags count from the predicted row.
        """
        if delay is not None:
            delay = int(_DELAY.require(f"{type(self).__name__}.ask", "delay", delay))
        core = self._direct if self._columns is None else None  # because it would overlook the name of a text column
        ticket = None if core is None else core.ask(x, delay, Ticket)
        return careful.ask(self, x, delay) if ticket is None else ticket

    def tell(self, ticket: Ticket, y: Any, *, sample_weight: float | None = None) -> None:
        """Learns the label of a row as it was when it was asked. A rejected label leaves the ticket valid.

        Inputs computed at the time of :meth:`ask` (lags, predictions of nested learners) are used again, and coverage counts
        the interval given then. The update itself starts from the current state.
        """
        core = self._direct
        if core is None or core.tell(ticket, y, sample_weight) is not _DONE:
            careful.tell(self, ticket, y, sample_weight)

    @property
    def _runs_late_natively(self) -> bool:
        """Whether the core replays tables whose labels come late; tickets then stay valid if a row is refused."""
        return self._columns is None and hasattr(self._direct, "run_late")

    _mark = mark_core
    _read = careful.read
    _fits = careful.fits
    _kept_row = careful.kept_row

    # Many rows at once.

    def run(
        self, X: Any, y: Any, *, sample_weight: Any = None, weights_every: int | None = None, level: float | None = None
    ) -> Run:
        """Predicts, then learns, row by row, in native code.

        If an error is raised, no row is learned.

        Args:
            X: (T, d) array, frame or scipy.sparse matrix.
            y: (T,) labels, or (T, m) if the learner supports several labels a row.
            sample_weight: (T,) weights of the rows; a row of weight 0 is predicted but not learned.
            weights_every: the number of rows between snapshots of the weights; None for no snapshots.
            level: also return the intervals of :meth:`predict_interval` at this level.
        """
        with self._guard.undo(self):
            return self._learn_table(X, y, sample_weight, f"{type(self).__name__}.run", weights_every, level)

    _learn_table = table_verbs.learn
    _as_table = encoding.as_table
    _check_table = table_verbs.check
    _replay = replay.replay
    _replay_block = replay.replay_natively
    _tell_block = replay.tell_natively

    # scikit-learn's verbs.

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Starts from scratch and learns the rows once, in order. An error leaves the learner unchanged."""
        table_verbs.fit(self, X, y, sample_weight)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learns more rows once, in order."""
        with self._guard.undo(self):
            self._learn_table(X, y, sample_weight, f"{type(self).__name__}.partial_fit")
        return self

    def predict(self, X: Any) -> Array:
        """Predicts many rows, each as if it were the next one; :class:`driftline.Forecaster` looks further ahead."""
        predictions: Array = self._predicted(X, "predict").predictions
        return predictions

    def predict_intervals(self, X: Any, level: float = 0.9) -> tuple[Array, Array]:
        """The interval ends (lower, upper) for many rows, each as if it were the next one."""
        out = self._predicted(X, "predict_intervals", level)
        return out.lower, out.upper

    _predicted = table_verbs.predict

    def _predict_apart(self, X: Any) -> Array:
        """Predicts rows that need not follow the last learned row."""
        return self.predict(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² of predictions for rows in any order: 1 is perfect, 0 is as good as the mean of ``y``.

        With several labels a row, it is the mean over them.
        """
        return sklearn.score(self, X, y, sample_weight, f"{type(self).__name__}.score")

    def __sklearn_is_fitted__(self) -> bool:
        return self._core is not None

    def __sklearn_tags__(self) -> Any:
        return sklearn.regressor_tags(allow_nan=self.missing != "raise", multi_output=self._takes_outputs)

    # Growth for new features.

    @property
    def _door(self) -> Door:
        features = None if self._core is None else self._core.features
        return Door(type(self).__name__, features, self._names, self.dtype, self.missing)

    @property
    def _leaves_out(self) -> bool:
        """Whether a row may be left out because a value is missing; the columns have refused those that may not."""
        return self.missing == missing.SKIP or (self._encodes and not isinstance(self.missing, str))

    @property
    def _largest(self) -> float:
        return LARGEST[self.dtype]

    _expect = growth.expect
    _meet = growth.meet
    _begin = growth.begin
    _set_names = growth.set_names
    _first_learned = replay.first_learned

    # Fitted attributes.

    def _require_core(self, what: str) -> Any:
        if self._core is None:
            raise not_fitted(f"{type(self).__name__}.{what}: the learner is not fitted yet: it has seen no row")
        return self._core

    @property
    def _weights(self) -> Array:
        weights: Array = self._require_core("coef_").weights()
        return weights

    @property
    def coef_(self) -> Array:
        """The weights of the features, without the intercept's; (outputs, d) with several labels a row."""
        return self._weights[..., : self.n_features_in_]

    @property
    def intercept_(self) -> Any:
        """The weight of the constant feature, 0.0 without one; one for each output with several labels a row."""
        weights = self._weights
        last = weights[..., -1] if self.intercept else np.zeros(weights.shape[:-1])
        return float(last) if last.ndim == 0 else last

    @property
    def n_features_in_(self) -> int:
        """The number of features, without the constant one."""
        return int(self._require_core("n_features_in_").features)

    @property
    def feature_names_in_(self) -> Array:
        """The names of the features, if they have any."""
        self._require_core("feature_names_in_")
        return self._named_features()

    @property
    def n_seen_(self) -> int:
        """The number of rows learned."""
        sums = {"rows": 0.0} if self._core is None else self._sums()
        return int(sums["rows"] - sums.get("gaps", 0.0))

    @property
    def n_skipped_(self) -> int:
        """The number of rows skipped because of a missing value."""
        return self._skipped

    def _sums(self) -> dict[str, float]:
        core: Any = self._core
        return dict(zip(self._sum_names, core.sums().tolist(), strict=True))

    def certificate(self) -> Certificate:
        """The bounds proven for the loss so far; see :doc:`/certificates`.

        With several labels a row, it is the sum over the labels, without a bound.
        """
        return Certificate(loss=0.0) if self._core is None else self._certify(self._sums())

    # Saving and copying.

    _record = record.of

    def _extra_head(self, state: dict[str, Any]) -> dict[str, Any]:
        """Data that a subclass adds to the header of its record, taken from its exported state."""
        return {}

    def _read_extra_head(self, head: dict[str, Any]) -> dict[str, Any]:
        """Reads and checks the data that :meth:`_extra_head` added, as entries of the state."""
        return {}

    def set_params(self, **changes: Any) -> Self:
        """Changes hyperparameters, all or none. On a trained learner, they take effect from the next row on."""
        with self._guard.undo(self):
            before, word = self.get_params(deep=False), self.missing
            super().set_params(**changes)
            if self._core is not None:
                state.follow_params(self, before, word, ", ".join(changes))
        return self

    def _refresh(self, before: dict[str, Any]) -> None:
        """Tells the core about changed parameters; raises ValueError if it cannot follow."""
        if self.intercept != before["intercept"] or self.dtype != before["dtype"]:
            raise ValueError

    __getstate__ = state.exported
    __setstate__ = state.take_over
    _restore = state.restore_core

    def _forget(self) -> None:
        self._core = self._direct = self._columns = self._names = self._outputs = None

    def _core_for(self, state: dict[str, Array]) -> Core:
        """A new core that fits an exported state."""
        return self._make_core(state["weights"].shape[-1])

    def _features_of(self, state: dict[str, Array]) -> int:
        """The number of features in an exported state."""
        return int(state["weights"].shape[-1]) - bool(self.intercept)

    def _repr_html_(self) -> str:
        return str(extensions.load("report")[0].learner_html(self))
