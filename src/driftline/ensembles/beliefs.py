"""What Auto believes, as names and sentences."""

from __future__ import annotations

from driftline._core import Expert, Time

_VIEWS = {
    -2: "the mean of the labels",
    -1: "the last label",
    0: "raw",
    1: "raw and two labels",
    2: "standardised",
    3: "standardised and two labels",
    4: "standardised and many labels",
    5: "standardised and earlier rows",
    6: "standardised, squares and two labels",
}
_LOOK_BACK = (-1, 1, 3, 4, 5, 6)  # views with earlier labels or rows in them
_FEW = 64  # rows, from which units come
_SLOW = 2e-5  # a drift at which rows count for two hundred rows or more
_MOST = 0.4  # of the rows


def name_of(expert: Expert) -> str:
    """What an expert sees and how it forgets."""
    if expert.view < 0:
        return _VIEWS[expert.view]
    if expert.time == Time.DIVIDE:
        memory = f"memory {1 / (1 - expert.amount):.0f}"
    elif expert.time == Time.ADD:
        memory = f"drift {expert.amount:g}"
    else:
        memory = f"resets to {expert.reset:g}"
    return f"{_VIEWS[expert.view]}, {memory}, start {expert.start:g}"


def in_words(experts: list[Expert], rows: int, memory: float, sums: dict[str, float]) -> str:
    """A paragraph: the pace of the target, what is looked at, the experts that count most, labels that did not count."""
    ranked = sorted(experts, key=lambda expert: -expert.share)[:3]
    lines = [
        f"After {_count(rows, 'row')} {_pace(experts, rows, memory)}.",
        _past(sum(expert.share for expert in experts if expert.view in _LOOK_BACK)),
        "The most weight is on: " + "; ".join(f"{name_of(expert)} ({100 * expert.share:.0f} %)" for expert in ranked) + ".",
    ]
    if outliers := int(sums["outliers"]):
        lines.append(f"{_count(outliers, 'label')} far from all others, and explained by nothing, did not count.")
    return "\n".join(lines)


def _count(number: float, what: str) -> str:
    return f"{number:,.0f} {what}{'s' if round(number) != 1 else ''}"


def _pace(experts: list[Expert], rows: int, memory: float) -> str:
    """What most of the weight is on: experts that forget little, those that began anew at a jump, or those that forget."""
    if rows < _FEW:
        return "it is too early to tell at what pace the target moves"
    begun = [expert for expert in experts if expert.reset > 0 and expert.memory < _MOST * rows]
    anew = sum(expert.share for expert in begun)
    still = sum(expert.share for expert in experts if expert.drift <= _SLOW) - anew
    if still > 0.5:
        return "the target seems to be at rest: what was learned long ago still counts"
    if still + anew > 0.5:
        ago = max(expert.memory for expert in begun if expert.share >= 0.1 * anew)
        return f"the target seems to be at rest since a jump, about {_count(ago, 'row')} ago"
    how = "drift slowly" if memory > 200 else "drift" if memory > 10 else "move fast"
    return f"the target seems to {how}: Auto relies on the last {_count(max(memory, 1), 'row')} or so"


def _past(share: float) -> str:
    helps = "help a lot" if share >= 0.5 else "help" if share >= 0.1 else "help little"
    return f"Earlier labels and rows {helps}: experts that look at them have {100 * share:.0f} % of the weight."
