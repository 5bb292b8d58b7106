"""What Sphinx does not find by itself: texts of constants, and types."""

import sys
import typing
from contextlib import suppress
from inspect import get_annotations
from types import ModuleType
from typing import Any

import sphinx.util.inspect
import sphinx.util.typing
from docutils.nodes import Element, Node
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import PycodeError
from sphinx.ext.intersphinx import InventoryAdapter
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.nodes import make_refnode

import popsnet

_HIDE = ":meta hide-value:"


def setup(app: Sphinx) -> dict[str, bool]:
    """Add what follows to Sphinx."""
    for module in (sphinx.util.inspect, sphinx.util.typing):
        vars(module)["typing"] = AsWritten()
    app.connect("builder-inited", describe_constants)
    app.connect("missing-reference", find_type, priority=400)  # before other projects
    app.connect("missing-reference", show_type, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class AsWritten:
    """The module ``typing``, but annotations are not evaluated: they name what they mean."""

    def __getattr__(self, name: str) -> Any:
        """Return what ``typing`` has."""
        return getattr(typing, name)

    @staticmethod
    def get_type_hints(one: Any, *_: object, **__: object) -> dict[str, Any]:
        """Return the annotations of a function, or of a class and those that it extends."""
        classes = reversed(one.__mro__) if isinstance(one, type) else [one]
        return {name: text for each in classes for name, text in get_annotations(each).items()}


def describe_constants(app: Sphinx) -> None:
    """Give each constant of a package the text that stands behind it in the module it is from."""
    for package in packages(popsnet):
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


def packages(package: ModuleType) -> list[ModuleType]:
    """Return a package and those that are public in it."""
    values = (getattr(package, name) for name in package.__all__)
    inside = [one for one in values if isinstance(one, ModuleType)]
    return [package, *(deeper for one in inside for deeper in packages(one))]


def find_type(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, shown: Element
) -> Node | None:
    """Find a type that a signature names as its module does; roles have ``refwarn``."""
    if "refwarn" in node or node.get("refdomain") != "py":
        return None
    name = node["reftarget"]
    found = env.domains.python_domain.find_obj(env, "", "", name, "class", 1)
    if len({one.node_id for _, one in found}) == 1:
        _, one = found[0]
        return make_refnode(app.builder, node["refdoc"], one.docname, one.node_id, shown)
    last = name.rpartition(".")[2]  # NumPy is imported as np
    elsewhere = (full for kind in InventoryAdapter(env).main_inventory.values() for full in kind)
    for full in elsewhere:
        if full.rpartition(".")[2] == last:
            node["reftarget"], node["reftype"] = full, "obj"
    return None


def show_type(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, shown: Element
) -> Node | None:
    """Show a type without a page as text, if a signature has it; roles have ``refwarn``."""
    return None if "refwarn" in node else shown
