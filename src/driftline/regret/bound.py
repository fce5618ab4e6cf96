"""A theorem's bound on a stream."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Bound:
    """A theorem's bound, its terms, and whether its conditions hold on the given rows.

    Attributes:
        statement: which theorem, and what it bounds.
        terms: the parts that add up to the bound, by name.
        conditions: the theorem's conditions in words, and whether each holds here. If one fails, ``value`` is only the
            formula's value, and proves nothing.
        observed: the actual value of what is bounded; None if it is not known.
        assumptions: the theorem's assumptions that no finite stream can verify.
    """

    statement: str
    terms: Mapping[str, float]
    conditions: Mapping[str, bool] = field(default_factory=dict)
    observed: float | None = None
    assumptions: tuple[str, ...] = ()

    @property
    def value(self) -> float:
        """The bound: the sum of its terms."""
        return math.fsum(self.terms.values())

    @property
    def applies(self) -> bool:
        """Whether all conditions hold."""
        return all(self.conditions.values())

    @property
    def slack(self) -> float | None:
        """Bound minus observed value."""
        return None if self.observed is None else self.value - self.observed

    @property
    def ratio(self) -> float | None:
        """Observed value divided by the bound: 1 is tight, small is vacuous."""
        if self.observed is None:
            return None
        return self.observed / self.value if self.value else math.inf if self.observed else 1.0

    def __str__(self) -> str:
        lines = [f"{self.statement}: {self.value:.6g}"]
        if self.observed is not None:
            lines[0] += f", observed {self.observed:.6g}, ratio {self.ratio:.3g}"
        lines += [f"  {value:14.6g}  {name}" for name, value in self.terms.items()]
        lines += [f"  {'holds' if holds else 'FAILS'}: {words}" for words, holds in self.conditions.items()]
        lines += [f"  assumed: {words}" for words in self.assumptions]
        return "\n".join(lines)


def times(factor: float, amount: float) -> float:
    """The product, where 0 times infinity is 0."""
    return 0.0 if factor == 0 or amount == 0 else factor * amount
