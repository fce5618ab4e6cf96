"""Types of cores, which hold a learner's state and compute: native objects, or Python objects in meta-learners."""

from __future__ import annotations

from typing import Any, Protocol

from driftline._core import Guard, LateRows, Level, Outputs, Status, Ticket
from driftline.tables.inputs import Array, Name


class Core(Protocol):
    """A learner's state and its steps."""

    guard: Guard
    mark: int
    at: float
    needs_time: bool

    @property
    def features(self) -> int:
        """Number of features of a row, without the constant one."""

    def predict(self, x: Any) -> Any:
        """The prediction, or None if Python must read the row."""

    def predict_interval(self, x: Any, level: Level) -> tuple[float, float] | None:
        """Both ends of the interval, or None if Python must read the row."""

    def predict_quantiles(self, x: Any, levels: Any) -> Any:
        """Quantiles of the label, (levels,), or None if Python must read the row."""

    def learn(self, x: Any, y: Any, weight: Any = None) -> Status:
        """Learns a row; nothing has changed unless the status is DONE."""

    def ask(self, x: Any, delay: int | None, kind: type[Any]) -> Any:
        """A ticket for the row, or None if Python must read it or the core has no mark yet."""

    def tell(self, ticket: Any, y: Any, weight: Any = None) -> Status:
        """Learns the label of a ticket; nothing has changed unless the status is DONE."""

    def weights(self) -> Array:
        """A copy of the weights, intercept last."""

    def grow(self, more: int) -> None:
        """Adds features at their prior."""

    def set_names(self, names: list[Name]) -> None:
        """Sets the names of the features, in their order."""

    def get_state(self) -> dict[str, Array]:
        """The whole state as arrays."""

    def set_state(self, state: dict[str, Array]) -> None:
        """Restores what ``get_state`` returned; raises ValueError if it is invalid."""


class NativeCore(Core, Protocol):
    """A core in C++."""

    def run(
        self, x: Any, y: Array | None, weight: Array | None, skip: bool, out: Outputs, start: int, times: Array | None = None
    ) -> tuple[Status, int, int]:
        """Replays rows from ``start``; returns the status, the rows done and the rows skipped."""

    def run_late(
        self,
        x: Any,
        y: Array,
        weight: Array | None,
        skip: bool,
        out: Outputs,
        delay: int,
        rows: LateRows,
        times: Array | None = None,
    ) -> Status:
        """Predicts each row once all labels but the last ``delay`` before it are learned; ``rows`` keeps the progress."""

    def catch_up(self) -> None:
        """Prepares for a row that will be scored by its ticket, with :meth:`judge`."""

    def judge(self, ticket: Ticket, y: float) -> None:
        """Scores a ticket's prediction, after its row was learned; see ``catch_up``."""

    def sums(self) -> Array:
        """The running sums that certificates are computed from."""


class SecondOrderCore(NativeCore, Protocol):
    """The core of a second-order learner."""

    @property
    def held_in_range(self) -> bool:
        """Whether a parameter was clipped to the range of the type."""

    def covariance(self) -> Array:
        """The matrix S."""

    def memory(self) -> Array:
        """Rows learned, and how many of them the weights rest on before any forgetting."""

    def set_policy(self, policy: Any) -> None:
        """Changes the policy, from the next row on."""

    def set_forgetting(self, values: Array, first: int) -> None:
        """Sets the forgetting factors of rows ``first`` and later."""

    def set_thresholds(self, values: Array, first: int) -> None:
        """Sets the reset thresholds of segments ``first`` and later."""
