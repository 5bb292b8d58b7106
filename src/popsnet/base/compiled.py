"""The one decorator for functions that Numba compiles, and where their machine code is kept.

Numba keeps machine code on disk and uses it as long as the function's own file is unchanged. It
does not look at the files of the functions that it calls, although their code is part of what is
kept: after an edit of a callee, a caller in another file goes on using the old code. So the code is
kept in a folder named after all kernel sources together. An edit to any of them gives a new folder,
in which everything is compiled again.

A constant that a kernel takes from another module is part of its code too: such a module must be a
kernel source itself, or the constant must be an argument.

What is kept is run when it is read. So it is kept only in folders that no other user can write to.
"""

from __future__ import annotations

import gc
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, ParamSpec, TypeVar, overload
from uuid import uuid4

import numpy as np

from popsnet.base.ownership import NotPrivate, open_private_folder

P = ParamSpec("P")
R = TypeVar("R")

_MARK = b"from popsnet.base.compiled import"
_OLD_FOLDERS_KEPT = 4
_decorating = Lock()
_cache: Cache | None = None
_interpreting = False
_compiling: list[str] = []  # the outermost function first


class CacheWarning(UserWarning):
    """Compiled code is not kept where it should be: the place is unsafe, or full."""


class Cache(NamedTuple):
    """The place where the machine code of some kernel sources is kept."""

    folder: Path | None
    """None if it is not kept, and every program compiles it again."""

    reason: str = ""
    """Why it is not the folder that the user or the operating system chose."""

    is_unsafe: bool = False
    """Whether the reason is that another user could change that folder."""

    def __str__(self) -> str:
        place = "not kept" if self.folder is None else f"kept in {self.folder}"
        return f"{place}, because {self.reason}" if self.reason else place


def kernel_digest(package: Path) -> str:
    """Return a short name for the kernel sources below a folder, the compiler, Numba and NumPy.

    A kernel source is a module that imports this one, which its text shows.
    """
    import numba

    digest = blake2b(f"{numba.__version__} {np.__version__} ".encode(), digest_size=8)
    for name in ("compiled.py", "compiling.py"):
        digest.update(Path(__file__).with_name(name).read_bytes())
    for path in sorted(package.rglob("*.py")):
        if path.is_file() and _MARK in (text := path.read_bytes()):
            digest.update(f"\0{path.relative_to(package).as_posix()}\0{len(text)}\0".encode())
            digest.update(text)
    return digest.hexdigest()


def choose_cache(package: Path) -> Cache:
    """Choose the folder for the code of these kernel sources, and create it if it is missing."""
    digest, is_unsafe = kernel_digest(package), False
    reasons: list[str] = []
    for place in (_user_cache, _temporary_cache):
        try:
            return Cache(_opened(place() / digest), "; ".join(reasons), is_unsafe)
        except (OSError, RuntimeError) as error:  # it cannot be written, or the user has no home
            reasons.append(str(error))
            is_unsafe = is_unsafe or isinstance(error, NotPrivate)
    return Cache(None, "; ".join(reasons), is_unsafe)


def use_cache_for(package: Path) -> None:
    """Keep the code of functions decorated from now on in the folder for this package's sources."""
    global _cache
    _cache = choose_cache(package)
    if _cache.is_unsafe and _is_first_process():
        warnings.warn(
            f"Compiled code is {_cache}. POPSNET_CACHE_DIR can name another folder.",
            CacheWarning,
            stacklevel=2,
        )


def _is_first_process() -> bool:
    """Whether this is not a worker of a program that has said the same already."""
    from multiprocessing import parent_process

    return parent_process() is None


def interpret() -> None:
    """Leave all kernels to the interpreter, for the rest of a program that does very little.

    Numba is not imported then. Has no effect once a kernel is decorated for the compiler, and must
    not be followed by work of any size, nor by the ``fused`` engine, which needs the compiler.
    """
    global _interpreting
    _interpreting = _cache is None


@overload
def compiled(function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def compiled(*, inline: bool) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def compiled(function: Any = None, /, *, inline: bool = False) -> Any:
    """Compile a function at its first call, or take its code from the cache.

    It runs without the interpreter's lock, does not check indices and divides as NumPy does. Sums
    keep their order. ``inline=True`` lets LLVM put a function into its callers, if it is tiny or is
    called in every slot with a bundle, whose arrays would be passed one by one.
    """

    def compiled_later(function: Callable[..., object]) -> object:
        if _interpreting:
            return function
        import numba

        config: Any = numba.config
        if config.DISABLE_JIT:
            return function
        with _decorating:
            if _cache is None:
                use_cache_for(Path(__file__).parents[1])
                _watch_numba()
            assert _cache is not None
            before = config.CACHE_DIR
            # Numba reads it here and never again. Other packages' functions stay where they were.
            config.CACHE_DIR = str(_cache.folder or "")
            try:
                dispatcher = _dispatcher(function, inline)
                if _cache.folder is not None:
                    _keep(dispatcher, _cache.folder)
            finally:
                config.CACHE_DIR = before
        return dispatcher

    return compiled_later if function is None else compiled_later(function)


def _dispatcher(function: Callable[..., object], inline: bool) -> Any:
    """Return a function that is compiled when it is called."""
    import numba

    options: dict[str, Any] = {
        "nopython": True,
        "nogil": True,
        "error_model": "numpy",
        "boundscheck": False,
        "inline": "never",
        "forceinline": inline,  # set where it is False too, because callees inherit it
    }
    try:
        from popsnet.base.compiling import CompiledFunction
    except ImportError:  # an unknown Numba; it compiles the same code, in more time
        return numba.jit(**options)(function)
    return CompiledFunction(function, targetoptions=options)


def compiling() -> str:
    """Return a name for what is being compiled now, for people who wait, or nothing."""
    return next(iter(_compiling), "")  # another thread may change the list


def _watch_numba() -> None:
    """Note what is compiled, and leave memory alone meanwhile.

    While Numba builds data that it needs to the end, the garbage collector looks at all of it again
    and again, for a tenth of the time. Numba compiles one function and its callees at a time.
    """
    from numba.core import event

    class Watch(event.Listener):
        def on_start(self, event: Any) -> None:
            if not _compiling:
                self.collects = gc.isenabled()
                gc.disable()
            _compiling.append(_name(event.data["dispatcher"].py_func.__module__))

        def on_end(self, event: Any) -> None:
            _compiling.pop()
            if not _compiling and self.collects:
                gc.enable()

    register: Any = event.register
    register("numba:compile", Watch())


def _name(module: str) -> str:
    """Return a short name of a module: what it is a kernel of, or its own.

    >>> _name("popsnet.engines.fused.mei_rizzi.passes"), _name("popsnet.model.loops")
    ('mei-rizzi', 'loops')
    """
    kernel = module.partition(".fused.")[2].removeprefix("schedulers.").partition(".")[0]
    return kernel.replace("_", "-") or module.split(".")[-1]


def _keep(dispatcher: Any, folder: Path) -> None:
    """Keep the code of a function in a folder, and nowhere else.

    Numba has other places for when a folder cannot be written to, and would create one that another
    process has pruned with the permissions of any folder, which popsnet would not use again.

    Numba numbers the files of signatures by its index, without a lock. Two processes that compile
    two signatures of a function at once choose the same number, and from then on the index may give
    one signature the code of the other: x + 1 for 2.5 came out as 3. So files have names here that
    no other process will choose.
    """
    from numba.core.caching import NullCache

    if not folder.is_dir():  # another process has pruned it, and Numba looks for a place now
        with suppress(OSError):
            open_private_folder(folder)
    dispatcher.enable_caching()
    code = dispatcher._cache
    if folder not in Path(code.cache_path).parents:
        dispatcher._cache = NullCache()
        return
    locator, files, save = code._impl.locator, code._cache_file, code.save_overload
    create, stem = locator.ensure_cache_path, files._index_name.removesuffix(".nbi")

    def create_privately() -> None:
        open_private_folder(folder)
        create()

    def save_if_possible(*overload: object) -> None:
        try:
            save(*overload)
        except OSError as error:  # as on a full disk; the next program compiles it again
            _warn_once(f"Compiled code is not kept: {error.strerror or error}.")

    locator.ensure_cache_path = create_privately
    files._data_name = lambda number: f"{stem}.{uuid4().hex}.nbc"
    code.save_overload = save_if_possible


@cache
def _warn_once(text: str) -> None:
    """Warn at the first of many failures; Numba resets Python's own memory of warnings."""
    if _is_first_process():
        how = f"{text} POPSNET_CACHE_DIR can name another folder."
        warnings.warn(how, CacheWarning, stacklevel=2)


def _user_cache() -> Path:
    """Return the folder that the user chose, or the operating system's folder for caches."""
    import numba
    from platformdirs import user_cache_path

    chosen = os.environ.get("POPSNET_CACHE_DIR") or getattr(numba.config, "CACHE_DIR", "")
    if chosen:  # the latter comes from NUMBA_CACHE_DIR
        return Path(chosen).absolute() / "popsnet"
    # Where the user has no home, "~" stays in the path and expanding it raises RuntimeError.
    return user_cache_path("popsnet", appauthor=False).expanduser().absolute()


def _temporary_cache() -> Path:
    """Return a folder for temporary files of this user, for when there is no other."""
    user = f"-{os.getuid()}" if hasattr(os, "getuid") else ""
    return Path(tempfile.gettempdir()) / f"popsnet{user}"


def _opened(folder: Path) -> Path:
    """Create a folder that can be written to, mark it as used, and remove old ones if it is new."""
    is_new = not folder.exists()
    folder = open_private_folder(folder)
    tempfile.TemporaryFile(dir=folder).close()
    os.utime(folder)
    if is_new:
        with suppress(OSError):  # another process is doing the same
            _prune(folder)
    return folder


def _prune(newest: Path) -> None:
    """Remove the code of old sources. A process that still uses it compiles again."""
    digest = re.compile(f"[0-9a-f]{{{len(newest.name)}}}")
    others = [folder for folder in newest.parent.iterdir() if digest.fullmatch(folder.name)]
    others.remove(newest)
    others.sort(key=lambda folder: folder.stat().st_mtime, reverse=True)
    for folder in others[_OLD_FOLDERS_KEPT:]:
        shutil.rmtree(folder, ignore_errors=True)
