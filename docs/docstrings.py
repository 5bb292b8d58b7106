"""What Sphinx does not find by itself: texts of constants that packages take from modules."""

import sys
from contextlib import suppress
from types import ModuleType

from docutils.nodes import Element, Node
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import PycodeError
from sphinx.pycode import ModuleAnalyzer

import popsnet

_HIDE = ":meta hide-value:"


def setup(app: Sphinx) -> dict[str, bool]:
    """Add what follows to Sphinx."""
    app.connect("builder-inited", describe_constants)
    app.connect("missing-reference", show_type, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def describe_constants(app: Sphinx) -> None:
    """Give each constant of a package the text that stands behind it in the module it is from."""
    for package in _packages(popsnet):
        texts = ModuleAnalyzer.for_module(package.__name__).find_attr_docs()
        for name in filter(str.isupper, package.__all__):
            value = getattr(package, name)
            inside = [one for one in list(sys.modules) if one.startswith("popsnet.")]
            for module in inside:
                if vars(sys.modules[module]).get(name) is value:
                    texts.update(_text(module, name))


def _text(module: str, name: str) -> dict[tuple[str, str], list[str]]:
    with suppress(PycodeError):  # a module that uses the name in a way that is not parsed
        texts = ModuleAnalyzer.for_module(module).find_attr_docs()
        return {key: [*text, _HIDE] for key, text in texts.items() if key == ("", name)}
    return {}


def _packages(package: ModuleType) -> list[ModuleType]:
    values = (getattr(package, name) for name in package.__all__)
    inside = [one for one in values if isinstance(one, ModuleType)]
    return [package, *(deeper for one in inside for deeper in _packages(one))]


def show_type(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, shown: Element
) -> Node | None:
    """Show a type without a page as text, if a signature has it; roles have ``refwarn``."""
    return None if "refwarn" in node else shown
