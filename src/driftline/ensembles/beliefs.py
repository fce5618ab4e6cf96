"""What Auto believes, as names and sentences."""

from __future__ import annotations

from dataclasses import dataclass

_SIGHTS = {
    -2: "the mean of the labels",
    -1: "the last label",
    0: "raw",
    1: "raw and two labels",
    2: "standardised",
    3: "standardised and two labels",
    4: "standardised and many labels",
    5: "standardised and earlier rows",
    6: "standardised and squares",
}
_DIVIDE, _ADD = 1, 2


@dataclass(frozen=True)
class Expert:
    """One of the experts as the core reports it."""

    sight: int
    time: int
    amount: float
    start: float
    reset: float
    sudden: float
    share: float
    memory: float
    drift: float

    @property
    def name(self) -> str:
        """What it sees and how it forgets."""
        if self.sight < 0:
            return _SIGHTS[self.sight]
        if self.time == _DIVIDE:
            pace = f"memory {1 / (1 - self.amount):.0f}"
        elif self.time == _ADD:
            pace = f"drift {self.amount:g}"
        else:
            pace = f"resets to {self.reset:g}"
        return f"{_SIGHTS[self.sight]}, {pace}, start {self.start:g}"


def in_words(experts: list[Expert], rows: int, memory: float, drift: float, sums: dict[str, float]) -> str:
    """A paragraph: the pace of the target, what is looked at, the experts that count most."""
    past = sum(expert.share for expert in experts if expert.sight in (-1, 1, 3, 4, 5))
    ranked = sorted(experts, key=lambda expert: -expert.share)[:3]
    lines = [
        f"After {rows:,} rows Auto looks back on about {memory:,.0f} of them: {_pace(memory, rows)} "
        f"(drift {drift:.2g} a row, in units of the noise).",
        f"{100 * past:.0f} % of the weight is on experts that look at earlier labels or rows.",
        "The most weight is on: " + "; ".join(f"{expert.name} ({100 * expert.share:.0f} %)" for expert in ranked) + ".",
    ]
    if sums["expert_resets"]:
        lines.append(f"Experts that watch for jumps of the target started over {sums['expert_resets']:.0f} times.")
    return "\n".join(lines)


def _pace(memory: float, rows: int) -> str:
    if memory > 0.4 * rows:
        return "it takes the target to be at rest"
    if memory > 300:
        return "it takes the target to drift slowly"
    if memory > 30:
        return "it takes the target to drift"
    return "it takes the target to move fast"
