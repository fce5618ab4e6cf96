"""Every parameter of every stream is checked, and the message names the stream, the parameter, the rule and the value."""

import math

import pytest

from driftline.base.rules import rules_of
from driftline.streams import SEA, Hyperplane, Join, MovingGaussians, Repeat, Rotating, StateSpace, Switching, make, names
from driftline.streams.registry import _sources
from tests.cases import for_each


@for_each(
    "make_it, message",
    [
        (lambda: Rotating(rate=-1.0), r"Rotating: rate must be in \[0, inf\), got -1.0"),
        (lambda: Rotating(rate=math.nan), r"Rotating: rate must be in \[0, inf\), got nan"),
        (lambda: Rotating(power="a"), r"Rotating: power must be in \[0, inf\), got 'a'"),
        (lambda: Rotating(unit="turns"), r"Rotating: unit must be one of 'rad', 'deg', got 'turns'"),
        (lambda: Rotating(noise=math.inf), r"Rotating: noise must be in \[0, inf\), got inf"),
        (lambda: Rotating(d=9), r"Rotating: d must be a whole number of at least 10, got 9"),
        (lambda: Rotating(d=20.0), r"Rotating: d must be a whole number of at least 10, got 20.0"),
        (lambda: Rotating(seed=-1), r"Rotating: seed must be a whole number of at least 0, got -1"),
        (lambda: Switching(every=0), r"Switching: every must be a whole number of at least 1, got 0"),
        (lambda: Switching(rate=None), r"Switching: rate must be in \[0, inf\), got None"),
        (lambda: SEA(thresholds=()), r"SEA: thresholds must be one or more values, each in \[0, 20\], got \(\)"),
        (lambda: SEA(thresholds=[7, 21]), r"SEA: thresholds must be one or more values, each in \[0, 20\], got \(7, 21\)"),
        (lambda: SEA(thresholds=7), r"SEA: thresholds must be one or more values, each in \[0, 20\], got 7"),
        (lambda: SEA(thresholds="78"), r"SEA: thresholds must be one or more values"),
        (lambda: SEA(label_noise=1.1), r"SEA: label_noise must be in \[0, 1\], got 1.1"),
        (lambda: SEA(rows=0), r"SEA: rows must be a whole number of at least 1, got 0"),
        (
            lambda: Hyperplane(task="ranking"),
            r"Hyperplane: task must be one of 'regression', 'classification', got 'ranking'",
        ),
        (lambda: Hyperplane(norm=0), r"Hyperplane: norm must be in \(0, inf\), got 0"),
        (lambda: Hyperplane(stages=True), r"Hyperplane: stages must be a whole number of at least 1, got True"),
        (lambda: MovingGaussians(kind="3CDT"), r"MovingGaussians: kind must be one of '1CDT', .*, got '3CDT'"),
        (lambda: MovingGaussians(rows=0), r"MovingGaussians: rows must be None or a whole number of at least 1, got 0"),
        (
            lambda: MovingGaussians().means(16_000),
            r"MovingGaussians.means: t must be a whole number in \[0, 15999\], got 16000",
        ),
        (lambda: StateSpace(decay=1.0), r"StateSpace: decay must be in \[0, 0.99\], got 1.0"),
        (lambda: StateSpace(d=5), r"StateSpace: sparsity must be at most d, 5, got 10"),
        (lambda: Join(SEA(), SEA(), at=-5), r"Join: at must be a whole number of at least 0, got -5"),
        (lambda: Join(SEA(), SEA(), at=5, shape="step"), r"Join: shape must be one of 'linear', 'sigmoid', got 'step'"),
        (lambda: Repeat(SEA(), times=0), r"Repeat: times must be None or a whole number of at least 1, got 0"),
        (lambda: make("see"), r"make: name must be one of 'hyperplane', .*, got 'see'"),
    ],
)
def test_a_broken_rule_is_named(make_it, message):
    with pytest.raises(ValueError, match=message):
        make_it()


@pytest.mark.parametrize("name", names())
def test_every_parameter_of_a_stream_has_a_rule_and_a_line_in_its_docstring(name):
    cls = _sources[name]
    rules = rules_of(cls)
    for parameter in cls.__dataclass_fields__:
        assert parameter in rules
        assert parameter in (cls.__doc__ or "").split("Args:")[1]
