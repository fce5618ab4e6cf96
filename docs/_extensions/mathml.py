"""Formulas as MathML, which browsers show by themselves: no script, nothing fetched from elsewhere."""

import re

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

logger = logging.getLogger(__name__)

# LaTeX that docutils does not know, or renders badly -> what it renders well.
SPELLINGS = (
    (re.compile(r"\\dots\b"), r"\\ldots"),
    (re.compile(r"\\log\\det\b"), r"\\,\\log\\,\\det"),
    (re.compile(r"\\([bB]igg?)(?![a-zA-Z])"), r"\\\1l"),
    (re.compile(r"\\[lr]vert\b"), "|"),
    (re.compile(r"\|([^|]*)\|"), r"{|\1|}"),  # a group of its own: no space inside the bars
)


def to_mathml(node, as_block):
    tex = node.astext()
    for ours, theirs in SPELLINGS:
        tex = ours.sub(theirs, tex)
    try:
        return tex2mathml(tex, as_block=as_block)
    except MathError as error:
        logger.warning("formula %r: %s", tex, error, location=node)
        return ""


def visit_inline(translator, node):
    # A word joiner keeps the full stop or comma that follows on the same line.
    translator.body.append(to_mathml(node, as_block=False) + "&#8288;")
    raise nodes.SkipNode


def visit_block(translator, node):
    # A blank line in a formula starts another one below it.
    translator.body.append('<div class="formula">')
    for part in node.astext().split("\n\n"):
        translator.body.append(to_mathml(nodes.math_block(part, part), as_block=True))
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", inline_renderers=(visit_inline, None), block_renderers=(visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
