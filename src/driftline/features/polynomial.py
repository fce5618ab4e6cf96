"""Products of features."""

from __future__ import annotations

import math
from typing import Any

from driftline import _core
from driftline.base import params, river
from driftline.features.transformer import Transformer
from driftline.tables.inputs import Name

_MOST = 1_000_000


class Polynomial(Transformer):
    r"""All products of up to ``degree`` features, the features themselves first.

    Ordered by degree, and within a degree as in scikit-learn's ``PolynomialFeatures``: a, b, a², a b, b². There is no
    constant, because the learner has an intercept. A feature that appears later adds its products after the others.

    Args:
        degree: the largest number of factors in a product.

    >>> Polynomial(2).transform_one({"a": 2.0, "b": 3.0})
    {'a': 2.0, 'b': 3.0, 'a^2': 4.0, 'a b': 6.0, 'b^2': 9.0}
    """

    degree: int = params.integer(default=2, ge=1, kw_only=False)

    _learns = False
    _bends = True

    def _check_width(self, width: int) -> None:
        count = math.comb(width + self.degree, width) - 1
        if count > _MOST:
            raise ValueError(
                f"{type(self).__name__}: {width} features have {count} products of degree {self.degree} or less, "
                f"more than {_MOST}"
            )

    def _stage(self, width: int) -> Any:
        return _core.Polynomial(width, self.degree)

    def _names_out(self, names: list[Name], stage: Any) -> list[Name]:
        powers: list[dict[int, int]] = []
        for earlier, feature in stage.products():
            before = powers[earlier] if earlier >= 0 else {}
            powers.append({**before, feature: before.get(feature, 0) + 1})
        return [
            names[next(iter(product))]
            if sum(product.values()) == 1
            else " ".join(f"{names[j]}" if power == 1 else f"{names[j]}^{power}" for j, power in product.items())
            for product in powers
        ]

    def _unit_test_skips(self) -> frozenset[str]:
        return river.DEPENDS_ON_ORDER  # in which a product names its factors
