"""Routers by name, as functions, and from files of users."""

from __future__ import annotations

import importlib.util
import re
import sys
import traceback
from collections.abc import Callable
from dataclasses import replace
from hashlib import blake2b
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, TypeVar

from popsnet.errors import InputError, require_text
from popsnet.files import is_file
from popsnet.routing import router as registry
from popsnet.routing.router import Route, Router, Variant
from popsnet.slot import Slot

_LOADED: dict[Path, tuple[str, ...]] = {}
"""The routers that each file has registered, so that it can be loaded again."""


_BUFFERS = 16
"""Packets that a processor may hold if a router is given as a function."""


def find_router(router: str | Path | Router | Route) -> Router:
    """Return the router that a name, a file or a function stands for.

    Parameters
    ----------
    router : str, Path, Router or generator function
        The name of a registered router, a file ``name.py`` that registers one, a
        :class:`Router`, or a generator function. A function that is not registered becomes a
        router of the function's name, in which a processor may hold 16 packets.

    Returns
    -------
    Router
        The router.

    Raises
    ------
    InputError
        If there is no such router, or the file cannot be loaded.

    Examples
    --------
    >>> import popsnet
    >>> popsnet.find_router("direct").slots
    'max(d, g), always'
    """
    if isinstance(router, Router):
        return router
    if callable(router):
        return _of_function(router)
    if not isinstance(router, str | Path):
        raise InputError(
            f"router = {router!r:.40}: give a name, a file name.py, a Router or a generator "
            "function."
        )
    name = str(router)
    return _load(Path(name)) if name.endswith(".py") else registry.get_router(name)


_NAMED = re.compile(r"(.+?\.py|[^:]+):(.+)", re.DOTALL)


def find_variant(
    router: str | Path | Router | Route, variant: str | None = None
) -> tuple[Router, str | None]:
    """Return a router and the variant of it that is asked for.

    Parameters
    ----------
    router
        As for :func:`find_router`, or ``"NAME:VARIANT"``.
    variant : str, optional
        A variant, if ``router`` does not name one.

    Returns
    -------
    router : Router
        The router.
    variant : str or None
        The text that names the variant; None leaves the choice to the router.

    Raises
    ------
    InputError
        If there is no such router, or two variants are given.

    Examples
    --------
    >>> from popsnet.routing import find_variant
    >>> find_variant("relay:P2 P1 R1")[1]
    'P2 P1 R1'
    """
    router, variant = split_variant("router", router, variant)
    return find_router(router), variant


def split_variant(kind: str, given: Any, variant: str | None) -> tuple[Any, str | None]:
    """Return what ``NAME:VARIANT`` names, or what was given, and the variant."""
    if variant is not None:
        require_text("variant", variant)
    named = _NAMED.fullmatch(given) if isinstance(given, str) else None
    if named is None or str(given).endswith(".py") or is_file(Path(given)):
        return given, variant
    if variant is not None:
        raise InputError(
            f"{kind} = {given!r} and variant = {variant!r} name two variants; give one of them."
        )
    return named[1], named[2]


def _of_function(route: Route) -> Router:
    """Return the router that a function was registered as, or one made of it."""
    for known in registry.all_routers():
        if any(variant.route is route for variant in known.variants.values()):
            return known
    variants = {"standard": Variant(route, name="standard")}
    return Router(*said_by(route), slots="not stated", buffers=_BUFFERS, variants=variants)


def said_by(function: Callable[..., Any]) -> tuple[str, str]:
    """Return the name of a function, and the first line of what it says about itself."""
    name = getattr(function, "__name__", type(function).__name__)
    return name, (getattr(function, "__doc__", None) or "").strip().partition("\n")[0]


def forget_file(path: Path) -> None:
    """Unregister what a file has registered."""
    forget(path, _LOADED, registry.known_routers())


def _load(path: Path) -> Router:
    return load_one(path, "router", _LOADED, registry.known_routers(), "@popsnet.register(...)")


Loaded = TypeVar("Loaded")


def forget(path: Path, loaded: dict[Path, tuple[str, ...]], register: dict[str, Loaded]) -> None:
    """Unregister what a file has registered."""
    for name in loaded.pop(path.resolve(), ()):
        register.pop(name, None)


def load_one(
    path: Path, what: str, loaded: dict[Path, tuple[str, ...]], register: dict[str, Loaded],
    decorator: str,
) -> Loaded:  # fmt: skip
    """Run a file that registers one router or scheduler, whose version gets the file's digest."""
    _require_file(path, f"a {what}")
    forget(path, loaded, register)
    before = set(register)
    _, text = execute_file(path, f"a {what}")
    new = loaded[path.resolve()] = tuple(sorted(set(register) - before))
    if len(new) != 1:
        raise InputError(
            f"{path} registers {len(new) or 'no'} {what}s; it must register exactly one, with "
            f"{decorator}."
        )
    found: Any = register[new[0]]
    version = f"{found.version}+{blake2b(text, digest_size=8).hexdigest()}"
    register[new[0]] = replace(found, version=version, file=str(path.resolve()))
    return register[new[0]]


_MODULE = "popsnet_router_"
"""What the names of modules begin with that were loaded from a user's file."""


def explain_failure(error: BaseException) -> str:
    """Return which router failed, the part of the traceback in its file, and the error.

    Returns an empty text if no part is in a user's file. The frames of popsnet and of libraries
    say nothing about a mistake in a router.
    """
    frames = _users_frames(error)
    if not frames and error.__cause__ is not None:  # a StopIteration, of which a generator may say
        frames = _users_frames(error.__cause__)
    if not frames:
        return ""
    file = Path(frames[0].filename)
    names = ", ".join(repr(name) for name in _LOADED.get(file.resolve(), ()))
    shown = [*traceback.format_list(frames), *traceback.format_exception_only(error)]
    if isinstance(error, AttributeError) and isinstance(error.obj, Slot):
        shown.append("Did you forget yield? Use inbox = yield Slot(…).")
    who = f"router {names} ({file.name})" if names else file.name
    return f"{who} failed:\n{''.join(shown).rstrip()}"


def _users_frames(error: BaseException) -> list[traceback.FrameSummary]:
    return [
        traceback.FrameSummary(frame.f_code.co_filename, line, frame.f_code.co_name)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if str(frame.f_globals.get("__name__", "")).startswith(_MODULE)
    ]


class _Loader(SourceFileLoader):
    """Loads the present text of a file: a cached compilation may be that of an earlier edit."""

    text = b""

    def get_code(self, fullname: str) -> CodeType:
        """Compile the file as it is now."""
        self.text = self.get_data(self.path)
        code: CodeType = self.source_to_code(self.text, self.path)
        return code


def _require_file(path: Path, what: str) -> None:
    if not is_file(path):
        raise InputError(f"There is no file {path} to load {what} from.")


def execute_file(path: Path, what: str = "a router") -> tuple[ModuleType, bytes]:
    """Run a user's file that contains ``what``, and return the module and its text."""
    _require_file(path, what)
    name = f"{_MODULE}{path.stem}"
    loader = _Loader(name, str(path))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        loader.exec_module(module)
    except (SyntaxError, ValueError) as error:
        if _is_binary(loader.text):
            raise InputError(f"{path} is not a text file; give a Python program.") from error
        if not isinstance(error, SyntaxError):
            raise _failed(path, error) from error
        raise InputError(f"{path}, line {error.lineno}: {error.msg}.") from error
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        raise _failed(path, error) from error
    return module, loader.text


def _failed(path: Path, error: BaseException) -> InputError:
    return InputError(f"{path} cannot be loaded: {type(error).__name__}: {error}.")


def _is_binary(text: bytes) -> bool:
    try:
        return "\0" in text.decode()
    except UnicodeDecodeError:
        return not text.lstrip().startswith(b"#")  # a first line may name another encoding
