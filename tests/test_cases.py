"""A test that runs all its cases in one."""

import inspect

import pytest

from tests.cases import for_each


def test_every_case_is_called_and_the_one_that_fails_is_named():
    called = []

    @for_each("one, other", [(1, 2), (3, 3), (4, 5)])
    @for_each("last", "xy")
    def test(one, other, last, fixture):
        called.append((one, last, fixture))
        assert one != other

    assert list(inspect.signature(test).parameters) == ["fixture"]
    with pytest.raises(AssertionError) as caught:
        test(fixture=7)
    assert called == [(1, "x", 7), (1, "y", 7), (3, "x", 7)]
    assert caught.value.__notes__ == ["the case is {'last': 'x'}", "the case is {'one': 3, 'other': 3}"]
