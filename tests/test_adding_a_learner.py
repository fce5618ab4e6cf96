"""The example of docs/adding_a_learner.md agrees with its own reference."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "adding_a_learner.md").read_text()
SCRIPT = """
import doctest, sys, types
import numpy as np
from driftline.base import registry
from tests.streams import drifting

def module(name, text):
    made = sys.modules[name] = types.ModuleType(name)
    exec(compile(text, name, "exec"), vars(made))
    return made

registry.learners()  # imports driftline.linear, and with it a Tethered that is really there
learner, test = {learner!r}, {test!r}
assert doctest.testmod(module("driftline.linear.tethered", learner)) == (0, 3)
reference = module("tests.test_linear.test_tethered", test).REFERENCE
X, y = drifting(seed=0)
for case in reference.cases:
    run = registry.learners()["tethered"](**case.parameters, intercept=False).run(X, y, weights_every=1)
    plain, exact = reference.plain(X, y, **case.plainly), reference.in_50_digits(X, y, **case.plainly)
    np.testing.assert_allclose(run.weights, plain.weights, rtol=1e-9)
    np.testing.assert_allclose(run.predictions, np.array(exact.predictions, dtype=float), rtol=1e-9)
assert reference.defaults.items() < registry.learners()["tethered"]().get_params().items()
"""


def test_the_example_matches_its_reference():
    learner, export, test = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert export == "from driftline.linear.tethered import Tethered\n"
    script = SCRIPT.format(learner=learner, test=test)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
