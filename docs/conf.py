"""The documentation: `make docs` builds it, warnings are errors. Nothing is fetched on the way."""

from __future__ import annotations

import sys
from pathlib import Path

import amclust

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "_ext"))

project = "amclust"
author = "the amclust developers"
copyright = f"2026, {author}"
version = release = amclust.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "sphinx_design",
    "sphinx_copybutton",
    # In docs/_ext:
    "commands",
    "example_report",
    "mathml",
    "members",
    "pictures",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "**/GALLERY_HEADER.rst", "gallery/**/*.md5"]
templates_path = ["_templates"]
nitpicky = False
highlight_language = "python"
smartquotes = False  # options have two hyphens, values straight quotes

# --- API ------------------------------------------------------------------------------------------

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings have the types
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False  # the template of a class lists them
numpydoc_class_members_toctree = False
numpydoc_validation_checks = {
    "GL02",  # the closing quotes have a line of their own
    "GL07",  # the sections are in numpydoc's order
    "GL09",  # a deprecation warning comes first
    "SS01",  # there is a summary
    "PR01",  # every parameter is documented
    "PR02",  # and none that does not exist
    "PR03",  # in the order of the signature
    "PR04",  # each with its type
    "RT03",  # what is returned has a description
}

# There, parameters of the same meaning share an entry, and small methods have none; constants have
# a line.
numpydoc_validation_exclude = {r"\.torch\.", r"\.datasets\.[A-Z]+$"}

# --- pages ----------------------------------------------------------------------------------------

myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True
html_math_renderer = "mathml"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",  # the others are shown and not run
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("amclust",),
    "capture_repr": (),  # "<Display at 0x7f...>" says nothing
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "min_reported_time": 1e9,  # times differ from machine to machine
    "download_all_examples": False,
    "within_subsection_order": "FileNameSortKey",
    "default_thumb_file": str(DOCS / "_static" / "logo.svg"),
}

# --- the site -------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = f"amclust {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_copy_source = False
html_show_search_summary = False  # read by script, which pages on disk may not
html_extra_path = ["playground.html"]  # a page of its own, ready to use
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {
        "text": "amclust",
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo.svg",
    },
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "tour": [], "changelog": [], "citing": []}
