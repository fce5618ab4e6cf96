"""The cores that hold a learner's state and compute: native objects, and the Python ones of meta-learners."""

from __future__ import annotations

from typing import Any, Protocol

from driftline._core import Guard, LateRows, Level, Outputs, Status, Ticket
from driftline.tables.inputs import Array, Name


class Core(Protocol):
    """The state of a learner and its steps."""

    guard: Guard
    mark: int

    @property
    def features(self) -> int:
        """The features of a row, the constant one not counted."""

    def predict(self, x: Any) -> Any:
        """The prediction, or None where Python must read the row."""

    def predict_interval(self, x: Any, level: Level) -> tuple[float, float] | None:
        """Both ends of the interval, or None where Python must read the row."""

    def learn(self, x: Any, y: Any, weight: Any = None) -> Status:
        """Learns a row; nothing has changed unless the status is DONE."""

    def ask(self, x: Any, ahead: int | None, kind: type[Any]) -> Any:
        """A ticket for the row, or None where Python must read it or the core has no mark yet."""

    def tell(self, ticket: Any, y: Any, weight: Any = None) -> Status:
        """Learns the label of a ticket; nothing has changed unless the status is DONE."""

    def weights(self) -> Array:
        """A copy of the weights, the intercept's last."""

    def grow(self, more: int) -> None:
        """Adds features at their prior."""

    def set_names(self, names: list[Name]) -> None:
        """Sets the names of the features, in their order."""

    def get_state(self) -> dict[str, Array]:
        """The whole state as arrays."""

    def set_state(self, state: dict[str, Array]) -> None:
        """Takes over what ``get_state`` gave; raises ValueError where it is not sound."""


class NativeCore(Core, Protocol):
    """A core in C++."""

    def run(
        self, x: Any, y: Array | None, weight: Array | None, skip: bool, out: Outputs, start: int
    ) -> tuple[Status, int, int]:
        """Replays rows from ``start``; returns the status, the rows done and the rows skipped."""

    def run_late(
        self, x: Any, y: Array, weight: Array | None, skip: bool, out: Outputs, ahead: int, rows: LateRows
    ) -> Status:
        """Predicts each row when the labels through ``ahead`` rows before it are known; ``rows`` says how far it went."""

    def catch_up(self) -> None:
        """Makes ready for a row whose own score is not the one that counts."""

    def judge(self, ticket: Ticket, y: float) -> None:
        """Judges what a ticket said, after its row was learned; see ``catch_up``."""

    def sums(self) -> Array:
        """The running sums that certificates are made of."""


class SecondOrderCore(NativeCore, Protocol):
    """The core of a second-order learner."""

    @property
    def held_in_range(self) -> bool:
        """Whether a parameter had to be moved into the range of the type."""

    def covariance(self) -> Array:
        """The matrix S."""

    def memory(self) -> Array:
        """Rows learned, and how many the weights rest on before any forgetting is counted."""

    def set_policy(self, policy: Any) -> None:
        """Changes the policy from the next row on."""

    def set_forgetting(self, values: Array, first: int) -> None:
        """The forgetting factors of the rows from ``first`` on."""

    def set_thresholds(self, values: Array, first: int) -> None:
        """The reset thresholds of the segments from ``first`` on."""
