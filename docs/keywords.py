"""What the reference shows of lazy packages and of collected parameters.

A package whose names are in a stub shows what the stub has. ``**parameters: Unpack[Class]`` is
shown as the parameters that the class has.
"""

from collections.abc import Iterator
from typing import Any

from griffe import (
    Alias,
    Class,
    Expr,
    ExprSubscript,
    Extension,
    Function,
    Module,
    Parameter,
    ParameterKind,
)


class Keywords(Extension):
    """Show collected parameters one by one."""

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        """Look at all functions of the package."""
        for module in (pkg, *_modules(pkg)):
            if module.exports is None and "lazy_names" in module.members:
                module.exports = list(_of_stub(module))
            for function in module.functions.values():
                if not function.is_alias:
                    _unpack(function, pkg)


def _of_stub(package: Module) -> Iterator[str]:
    """Yield the names that a package takes from its modules."""
    for name, one in package.members.items():
        if isinstance(one, Alias) and one.target_path.startswith(f"{package.path}."):
            yield name


def _modules(module: Module) -> Iterator[Module]:
    for one in module.modules.values():
        if not one.is_alias:
            yield one
            yield from _modules(one)


def _unpack(function: Function, pkg: Module) -> None:
    *_, last = [None, *function.parameters]
    if last is None or last.kind is not ParameterKind.var_keyword:
        return
    if not isinstance(last.annotation, ExprSubscript):
        return
    assert isinstance(last.annotation.slice, Expr)
    kinds = pkg.modules_collection[last.annotation.slice.canonical_path]
    assert isinstance(kinds, Class)
    del function.parameters[last.name]
    for name, one in {**kinds.inherited_members, **kinds.members}.items():
        only, kind = ParameterKind.keyword_only, getattr(one, "annotation", None)
        function.parameters.add(Parameter(name, annotation=kind, kind=only, default="..."))
    if function.docstring is not None and f"**{last.name}" in function.docstring.value:
        function.parameters.add(last)  # which describes the others
