"""Routers from a user's own file."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from popsnet.errors import InputError
from popsnet.routing.router import Router, all_routers, get_router, unregister

__all__ = ["find_router"]

_LOADED: dict[Path, tuple[str, ...]] = {}
"""By file: the routers it has registered, so that it can be loaded again."""


def find_router(name: str) -> Router:
    """The registered router of that name, or the one that a file ``name.py`` registers."""
    return _load(Path(name)) if name.endswith(".py") else get_router(name)


def _load(path: Path) -> Router:
    if not path.is_file():
        raise InputError(f"There is no file {path} to load a router from.")
    for name in _LOADED.pop(path.resolve(), ()):
        unregister(name)
    before = {router.name for router in all_routers()}
    _execute(path)
    new = [router for router in all_routers() if router.name not in before]
    _LOADED[path.resolve()] = tuple(router.name for router in new)
    if len(new) != 1:
        raise InputError(
            f"{path} registers {len(new)} routers; it must register one, with "
            "@popsnet.register(...)."
        )
    return new[0]


def _execute(path: Path) -> None:
    name = f"popsnet_router_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise InputError(f"{path}, line {error.lineno}: {error.msg}.") from error
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        text = f"{path} cannot be loaded: {type(error).__name__}: {error}."
        raise InputError(text) from error
