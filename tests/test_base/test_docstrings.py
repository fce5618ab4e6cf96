"""The text that help() shows for a class with parameters."""

import inspect
import pydoc
import re

import pytest

import driftline as dl
from driftline import features
from driftline.base import docstrings, registry
from tests.cases import for_each

CLASSES = [
    *registry.learners().values(),
    *(value for name in features.__all__ if isinstance(value := getattr(features, name), type)),
    dl.Refit,
]


@for_each("cls", CLASSES)
def test_help_has_no_markup_and_describes_every_parameter(cls):
    text = inspect.getdoc(cls)
    assert not re.search(r"\\|:\w+:`|\.\. math|``", text.partition(">>>")[0])
    described = re.findall(r"^    (\w+): \S", text.partition("Args:\n")[2], re.MULTILINE)
    assert sorted(described) == sorted(cls._params)
    assert text.count("Args:") == (1 if cls._params else 0)
    assert (">>>" in docstrings.written(cls)) == (">>>" in text)


@for_each("name", registry.learners())
def test_a_summary_ends_with_the_cost(name):
    what, cost = registry.summary_of(registry.learners()[name])
    assert what
    assert cost.startswith("O(")


def test_a_formula_is_readable_in_help():
    text = pydoc.plain(pydoc.render_doc(dl.RLS))
    assert "S ← S/λ_t,   k = S x,   w ← w + (y - w · x)/(1 + x · k) k" in text
    assert "w minimises Σ_i λ^(t-i) (y_i - w · x_i)² + λ^t ridge |w|²" in text


@pytest.mark.parametrize(
    ("tex", "text"),
    [
        (r"\hat y = \bar w \cdot x", "y\u0302 = w\u0304 · x"),
        (r"\frac{\eta}{1 + \frac{a}{b}}", "η/(1 + a/b)"),
        (r"A \log\det(I + \tfrac{1}{r} \sum p p^\top)", "A log det(I + 1/r Σ p pᵀ)"),
        (r"\pm 1/\sqrt 8, \sqrt{2/n}", "± 1/√8, √(2/n)"),
        (r"x_{t-1}, 10^{12}, S^{-1}, 2^22", "x_(t-1), 10^(12), S⁻¹, 2^22"),
    ],
)
def test_formulas_are_written_in_unicode(tex, text):
    assert docstrings.formula(tex) == text


def test_a_users_own_learner_gets_a_readable_docstring_too():
    class Own(dl.Learner):
        r"""Mine, with :math:`\lambda` and ``code``.

        Args:
            dtype: of another kind.
        """

    assert inspect.getdoc(Own).split("\n")[0] == "Mine, with λ and code."
    assert "    dtype: of another kind.\n    intercept: append" in inspect.getdoc(Own)
    assert Own.__doc__ == Own().__doc__


def test_a_class_without_a_docstring_inherits_that_of_its_parent():
    class Own(dl.Ridge):
        pass

    assert inspect.getdoc(Own) == inspect.getdoc(dl.Ridge)
