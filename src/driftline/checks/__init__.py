"""A battery of checks for any learner, including your own.

>>> import driftline as dl
>>> dl.checks.check_learner(dl.RLS(forgetting=0.99))
>>> "bad_rows_are_refused_by_learn_one" in [check.__name__ for check in dl.checks.battery()]
True
"""

from driftline.checks.battery import battery, check_learner
from driftline.checks.sklearn_failures import expected_failures

__all__ = ["battery", "check_learner", "expected_failures"]
