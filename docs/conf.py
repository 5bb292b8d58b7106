"""The documents as a site: `make docs` builds it into site/, readable without a network."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from docstrings import packages

import popsnet

project = "popsnet"
author = copyright = "The popsnet developers"  # noqa: A001 - the name of the setting
version = release = popsnet.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_copybutton",
    "beside",
    "docstrings",
]
exclude_patterns = ["inventories"]
needs_sphinx = "9.0"

# Markdown
myst_enable_extensions = ["amsmath", "attrs_inline", "dollarmath"]
myst_heading_anchors = 4
myst_dmath_double_inline = True
mathjax_path = "mathjax/tex-svg.js"
mathjax4_config = {
    "output": {"displayOverflow": "scroll", "fontPath": "[mathjax]/%%FONT%%-font"},
    "options": {
        "enableMenu": False,
        "enableSpeech": False,
        "enableBraille": False,
        "enableExplorer": False,
        # Speech needs a worker, which browsers refuse to a file.
        "menuOptions": {
            "settings": {"enrich": False, "speech": False, "braille": False, "assistiveMml": True}
        },
    },
}
copybutton_prompt_text = r">>> |\.\.\. |\$ |> "
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"

# Python
autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_preserve_defaults = True
maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"  # but for these: what a docstring calls a type is often in words
numpydoc_xref_aliases = {
    name: f"{package.__name__}.{name}"
    for package in reversed(packages(popsnet))
    for name in package.__all__
    if isinstance(getattr(package, name), type)
} | {
    "Executor": "concurrent.futures.Executor",
    "None": ":data:`None`",
    "Path": "pathlib.Path",
    "array_like": "numpy.typing.ArrayLike",
    "bool": ":class:`bool`",
    "generator": "collections.abc.Generator",
    "iterable": "collections.abc.Iterable",
    "mapping": "collections.abc.Mapping",
    "sequence": "collections.abc.Sequence",
}
intersphinx_mapping = {
    "python": ("https://docs.python.org/3/", "inventories/python.txt"),
    "numpy": ("https://numpy.org/doc/stable/", "inventories/numpy.txt"),
    "scipy": ("https://docs.scipy.org/doc/scipy/", "inventories/scipy.txt"),
}
intersphinx_timeout = 1

# The site
html_theme = "pydata_sphinx_theme"
html_title = "popsnet"
html_context = {"default_mode": "auto"}  # dark, where the system is
html_favicon = "images/favicon.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_search_summary = False  # a browser does not fetch the text of a page from a file
html_theme_options = {
    "logo": {
        "image_light": "images/favicon.svg",
        "image_dark": "images/favicon.svg",
        "text": "popsnet",
    },
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
}
html_sidebars: dict[str, list[str]] = {
    name: [] for name in ("index", "gallery", "glossary", "CHANGELOG")
}  # a page of its own has nothing beside it
