"""What the learners share that are made of the learners they are given."""

from __future__ import annotations

from typing import Any, Self

from driftline import params
from driftline.base import Learner
from driftline.ensembles.composite import Composite, count_in
from driftline.inputs import Array, Name
from driftline.refusals import Target

_SPARE = 100_000  # features that a state may know of beyond the numbers that it holds
_OPTIONS = ("intercept", "dtype", "missing")


class _Inherited(params.Param):
    """An option of every learner. None stands for what the learners within have."""

    def __get__(self, instance: Any, owner: type) -> Any:
        value = super().__get__(instance, owner)
        return instance._of_the_learners(self.name) if value is None else value


def _inherited(name: str) -> Any:
    param = Learner._params[name]
    return _Inherited(None, lambda value: value is None or param.check(value), f"None or {param.rule}")


REGRESSOR_RULE = "a regressor that can be one of several"
LINEAR_RULE = "a regressor with a weight for each feature"


def is_regressor(value: Any) -> bool:
    """Whether a value is a learner whose predictions are numbers and that can be one of several."""
    return isinstance(value, Learner) and value._estimator_type == "regressor" and value._composes


def is_linear(value: Any) -> bool:
    """Whether a value is a regressor whose weights belong to the features, and so can be combined with those of others."""
    return is_regressor(value) and value._by_feature


class Wrapper(Learner):
    """A learner made of others.

    The learners that it is given are patterns: it learns with copies of its own, and never changes them. Parameters of a
    pattern are set as in scikit-learn, ``set_params(learner__rate=0.1)``.

    Args:
        intercept: for every learner within; None leaves each its own.
        dtype: for every learner within; None leaves theirs, which must then be one.
        missing: for every learner within; None leaves theirs, which must then be one.
    """

    intercept: bool = _inherited("intercept")
    dtype: str = _inherited("dtype")
    missing: str = _inherited("missing")

    def _patterns(self) -> list[Learner]:
        """The learners that see the rows, as they were given or by default."""
        raise TypeError(f"{type(self).__name__} cannot be used by itself")

    def _patterns_above(self) -> list[Learner]:
        """The learners that see what the others say."""
        return []

    def _compose(self, members: list[Learner], above: list[Learner], features: int) -> Composite:
        raise TypeError(f"{type(self).__name__} cannot be used by itself")

    def _of_the_learners(self, name: str) -> Any:
        values = [getattr(pattern, name) for pattern in self._patterns()]
        return any(values) if name == "intercept" else values[0]

    def _check_relations(self, values: dict[str, Any]) -> None:
        patterns = self._patterns_in(values)
        for name in ("dtype", "missing"):
            found = {getattr(pattern, name) for pattern in patterns}
            if values[name] is None and len(found) > 1:
                one, other = sorted(found)
                raise ValueError(
                    f"{type(self).__name__}: {name} is {one!r} here and {other!r} there among the learners; "
                    f"give {name} for all of them"
                )

    def _patterns_in(self, values: dict[str, Any]) -> list[Learner]:
        """The patterns among parameters that are not yet set."""
        found: list[Learner] = []
        for value in values.values():
            found += [item for item in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(item, Learner)]
        return found

    def _copies(self, patterns: list[Learner]) -> list[Learner]:
        """Learners of its own, with the options that were given for all of them."""
        given = self.get_params(deep=False)
        options = {name: given[name] for name in _OPTIONS if given[name] is not None}
        return [pattern.clone(options) for pattern in patterns]

    def _copies_above(self) -> list[Learner]:
        """Of its own, in the dtype of the others, passing over what they pass over; no intercept where none is wanted."""
        return [
            pattern.clone({"dtype": self.dtype, "missing": self.missing, "intercept": self.intercept and pattern.intercept})
            for pattern in self._patterns_above()
        ]

    def _make_core(self, width: int) -> Composite:
        return self._compose(self._copies(self._patterns()), self._copies_above(), width - bool(self.intercept))

    def _core_for(self, state: dict[str, Array]) -> Any:
        return self._make_core(self._features_of(state) + bool(self.intercept))

    def _features_of(self, state: dict[str, Array]) -> int:
        if "features" not in state:
            return super()._features_of(state)
        most = sum(array.size for array in state.values()) + _SPARE
        return count_in(state, "features", most)

    def _meet(self, row: Array, names: list[Name] | None) -> None:
        fresh = self._core is None
        super()._meet(row, names)
        if fresh:
            self._core.meet(row)

    def _replay_block(self, block: Array, y: Array | None, weight: Array | None, target: Target) -> int:
        core: Composite = self._core
        core.claim()
        try:
            return core.replay(block, y, weight, target)
        finally:
            core.release()

    def _operations(self, width: int) -> int:
        return sum(member._operations(width) for member in self._core.members)

    @property
    def coef_(self) -> Array:
        """The weights, without the intercept's."""
        weights = self._weights
        return weights[:-1] if self.intercept else weights

    @property
    def intercept_(self) -> float:
        """The weight of the constant feature; 0.0 without one."""
        return float(self._weights[-1]) if self.intercept else 0.0

    # Parameters within parameters.

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The hyper-parameters by name, as they were given; ``deep`` adds those of the learners within."""
        found = super().get_params(deep=False)
        for name, value in dict(found).items() if deep else ():
            for place, pattern in _learners_in(name, value):
                found |= {f"{place}__{inner}": item for inner, item in pattern.get_params().items()}
        return found

    def set_params(self, **changes: Any) -> Self:
        """Changes hyper-parameters, all or none. On a learner that has learned they act from the next row on.

        ``learner__rate=0.1`` puts a copy with that rate in the place of the learner that was given.
        """
        plain = {name: value for name, value in changes.items() if "__" not in name}
        within: dict[str, dict[str, Any]] = {}
        for name in changes.keys() - plain.keys():
            places = dict(_learners_in(*self._owner(name, plain)))
            place = max((place for place in places if name.startswith(place + "__")), key=len, default=None)
            if place is None:
                raise ValueError(self._unknown(name))
            within.setdefault(place, {})[name[len(place) + 2 :]] = changes[name]
        for place, inner in within.items():
            name, value = self._owner(place, plain)
            pattern = dict(_learners_in(name, value))[place]
            changed = pattern.clone().set_params(**inner)
            plain[name] = changed if value is pattern else [changed if item is pattern else item for item in value]
        return super().set_params(**plain)

    def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Self:
        """A learner with the same parameters, but for ``new_params``, that has learned nothing; see :meth:`set_params`."""
        plain = {name: value for name, value in (new_params or {}).items() if "__" not in name}
        within = {name: value for name, value in (new_params or {}).items() if "__" in name}
        other = super().clone(plain, include_attributes)
        return other.set_params(**within) if within else other

    def _owner(self, place: str, plain: dict[str, Any]) -> tuple[str, Any]:
        """The parameter that a nested name begins with, and its value."""
        name = place.partition("__")[0]
        if name not in self._params:
            raise ValueError(self._unknown(place))
        return name, plain.get(name, self.__dict__[name])

    def _refresh(self, before: dict[str, Any]) -> None:
        now = self.get_params(deep=False)
        if any(now[name] != before[name] for name in ("intercept", "dtype")):
            raise ValueError
        self._core.follow(self._copies(self._patterns()), self._copies_above())


def _learners_in(name: str, value: Any) -> list[tuple[str, Any]]:
    """What has parameters of its own in a parameter, each with the name by which they are reached."""
    if isinstance(value, params.Parametrised):
        return [(name, value)]
    if isinstance(value, (list, tuple)):
        return [(f"{name}__{place}", item) for place, item in enumerate(value) if isinstance(item, params.Parametrised)]
    return []
