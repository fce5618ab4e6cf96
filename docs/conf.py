"""Settings of the documentation. ``make docs`` builds it and runs its examples."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))
sys.path.insert(0, str(Path(__file__).parents[1]))  # the papers are outside the package

import driftline

project = "driftline"
author = "The driftline developers"
project_copyright = author
release = driftline.__version__

extensions = [
    "command_pages",
    "learner_pages",
    "mathml",
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.doctest",
    "sphinx.ext.napoleon",
    "sphinxcontrib.bibtex",
]
exclude_patterns = ["_build", "_extensions", "_static/*.md"]
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"^(?!driftline).*")]  # only what is driftline's own must resolve

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_attr_annotations = False
napoleon_use_ivar = True
napoleon_use_rtype = False

bibtex_bibfiles = ["references.bib"]
bibtex_default_style = "plain"
bibtex_reference_style = "author_year"

# What docstrings see around them.
doctest_global_setup = """
import numpy as np
from driftline import Alarm
from driftline.linear import *
from driftline.regret import *
from driftline.streams import *
"""

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "driftline"
html_static_path = ["_static"]
html_css_files = ["driftline.css"]
html_js_files = ["driftline.js"]  # the copy button: thirty lines rather than another extension
html_favicon = "_static/favicon.svg"
html_show_sourcelink = False
html_theme_options = {
    "header_links_before_dropdown": 6,
    "navigation_depth": 2,
    "show_nav_level": 2,
    "show_prev_next": True,
    "secondary_sidebar_items": {"**": ["page-toc"], "coming_from": []},
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {page: [] for page in ("index", "quickstart", "api", "coming_from")}  # no pages below them, or two columns
