"""River's conventions, without needing River."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from driftline.base.params import Parametrised

# River's checks that some estimators fail by design.
DEPENDS_ON_ORDER = frozenset({"check_shuffle_features_no_impact"})  # on the order in which features first appear
GROWS = frozenset({"check_bounded_memory_growth"})
NEEDS_SCALED_ROWS = frozenset(
    {  # River's rows have |x|² about 5e11; a learner that would leave the range raises an error there
        "check_bounded_memory_growth",
        "check_disappearing_features",
        "check_emerging_features",
        "check_learn_one",
        "check_pickling",
        "check_predict_one_pure",
        "check_radically_disappearing_features",
        "check_shuffle_features_no_impact",
    }
)


_HOME = __name__.removesuffix("river")


class Estimator(Parametrised):
    """The interface of River's estimators, with the private names of :class:`river.base.Estimator`."""

    _river_kind: ClassVar[str] = "Regressor"  # the class of river.base that this one resembles
    _supervised: ClassVar[bool] = True
    _is_stochastic: ClassVar[bool] = False  # seeds are numbers, never left to chance
    _mutable_attributes: ClassVar[frozenset[str]] = frozenset()  # set_params changes parameters

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}

    def _unit_test_skips(self) -> frozenset[str]:
        """The checks that the estimator fails by design."""
        return frozenset()

    @property
    def _tags(self) -> set[str]:
        return set()

    def _get_params(self) -> dict[str, Any]:
        given = self.get_params(deep=False)  # River would read a tuple as a class and its parameters
        return {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}

    def mutate(self, new_attrs: Mapping[str, Any]) -> None:
        """River's way to change attributes in place. It changes no parameter; use ``set_params``."""
        for name in new_attrs:
            raise ValueError(f"{type(self).__name__}.mutate: {name} is not mutable; use set_params")

    @property
    def _raw_memory_usage(self) -> int:
        """Bytes of the parameters and the learned state."""
        return _size_of(self.__getstate__())

    @property
    def _memory_usage(self) -> str:
        size = self._raw_memory_usage
        power = min((size.bit_length() - 1) // 10, 3)
        return f"{size / 1024**power:.2f} {('B', 'KiB', 'MiB', 'GiB')[power]}"

    @property
    def _last_step(self) -> Any:
        """Makes instances that are older than River's import pass River's ``isinstance``.

        River asks a model of an unknown class for its last step, as it does with pipelines.
        """
        return stand_in(self, self._river_kind)


_KINDS = {kind: type(kind, (), {}) for kind in ("Regressor", "Classifier", "Transformer", "SupervisedTransformer")}


def stand_in(model: Estimator, kind: str) -> Any:
    """An object whose kind River knows. As a side effect, it registers the model's class with River."""
    river = sys.modules.get("river.base")
    if river is None:
        raise AttributeError("only River asks for a last step, and it is not imported")
    introduce(type(model))
    getattr(river, kind).register(_KINDS[kind])
    return _KINDS[kind]()


def introduce(cls: type[Estimator]) -> None:
    """Registers a class with River as its kind of model, if River is imported.

    The base classes, which are in this folder, have no kind: their subclasses have several.
    """
    river = sys.modules.get("river.base")
    if river is not None and "_known_to_river" not in vars(cls) and not cls.__module__.startswith(_HOME):
        getattr(river, cls._river_kind).register(cls)
        cls._known_to_river = True  # type: ignore[attr-defined]


def _size_of(state: Any) -> int:
    if isinstance(state, np.ndarray):
        return state.nbytes
    if isinstance(state, Mapping):
        return sum(map(_size_of, state.values()))
    if isinstance(state, (list, tuple)):
        return sum(map(_size_of, state))
    return _size_of(state.__getstate__()) if isinstance(state, Estimator) else sys.getsizeof(state)
