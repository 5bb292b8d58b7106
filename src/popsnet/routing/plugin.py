"""Routers from a user's own file."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from popsnet.errors import InputError
from popsnet.routing.router import Router, all_routers, get_router

__all__ = ["find_router"]


def find_router(name: str) -> Router:
    """The registered router of that name, or the one that a file ``name.py`` registers."""
    return _load(Path(name)) if name.endswith(".py") else get_router(name)


def _load(path: Path) -> Router:
    if not path.is_file():
        raise InputError(f"There is no file {path} to load a router from.")
    before = {router.name for router in all_routers()}
    spec = importlib.util.spec_from_file_location(f"popsnet_router_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise InputError(f"{path}, line {error.lineno}: {error.msg}.") from error
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{path} cannot be loaded: {type(error).__name__}: {error}.") from error
    new = [router for router in all_routers() if router.name not in before]
    if len(new) != 1:
        raise InputError(
            f"{path} registers {len(new)} routers; it must register one, with "
            "@popsnet.routing.register(...)."
        )
    return new[0]
