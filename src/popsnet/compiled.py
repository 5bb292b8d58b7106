"""The one decorator for functions that Numba compiles, and where their machine code is kept.

Numba keeps machine code on disk and uses it as long as the file of the function is the same. It
does not look at the files of the functions called, although their code is part of what is kept:
after an edit of a callee, a caller in another file goes on with the old one. So the code is kept
in a folder named after all kernel sources together. An edit to any of them gives a new folder, in
which everything is compiled again.

A constant that a kernel takes from another module is part of its code too: such a module has to
be a kernel source itself, or the constant an argument.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any, ParamSpec, TypeVar, overload
from uuid import uuid4

import numpy as np

P = ParamSpec("P")
R = TypeVar("R")

_MARK = b"from popsnet.compiled import"
_OLD_FOLDERS_KEPT = 4
_decorating = Lock()
_folder: Path | None = None
_interpreting = False


def kernel_digest(package: Path) -> str:
    """A short name for the kernel sources below a folder, this file, Numba and NumPy.

    A kernel source is a module that imports this one, which its text shows.
    """
    import numba

    digest = blake2b(f"{numba.__version__} {np.__version__} ".encode(), digest_size=8)
    digest.update(Path(__file__).read_bytes())
    for path in sorted(package.rglob("*.py")):
        if path.is_file() and _MARK in (text := path.read_bytes()):
            digest.update(f"\0{path.relative_to(package).as_posix()}\0{len(text)}\0".encode())
            digest.update(text)
    return digest.hexdigest()


def cache_folder(package: Path) -> Path:
    """The folder for the code of these kernel sources, made if it is not there."""
    digest = kernel_digest(package)
    try:
        return _opened(_user_cache() / digest)
    except (OSError, RuntimeError):  # it cannot be written, or the user has no home
        return _opened(_private_folder() / digest)


def use_cache_for(package: Path) -> None:
    """Keep the code of functions decorated from now on by the kernel sources of this package."""
    global _folder
    _folder = cache_folder(package)


def interpret() -> None:
    """Leave all kernels to the interpreter, for the rest of a program that does very little.

    Numba is not imported then. Has no effect once a kernel is decorated for the compiler, and must
    not be followed by work of any size, nor by the ``fused`` engine, which needs the compiler.
    """
    global _interpreting
    _interpreting = _folder is None


@overload
def compiled(function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def compiled(*, inline: bool) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def compiled(function: Any = None, /, *, inline: bool = False) -> Any:
    """Compile a function at its first call, or take its code from the cache.

    It runs without the interpreter's lock, checks no index and divides as NumPy does; sums keep
    their order. ``inline=True`` is for tiny functions: Numba puts them into their callers.
    """

    def compiled_later(function: Callable[..., object]) -> object:
        if _interpreting:
            return function
        import numba

        with _decorating:
            if _folder is None:
                use_cache_for(Path(__file__).parent)
            config: Any = numba.config
            before = config.CACHE_DIR
            # Numba reads it here and never again. Functions of others stay where they were.
            config.CACHE_DIR = str(_folder)
            try:
                dispatcher = numba.njit(
                    nogil=True,
                    cache=True,
                    error_model="numpy",
                    boundscheck=False,
                    inline="always" if inline else "never",
                )(function)
            finally:
                config.CACHE_DIR = before
        _name_files_apart(dispatcher)
        return dispatcher

    return compiled_later if function is None else compiled_later(function)


def _name_files_apart(dispatcher: Any) -> None:
    """Give the code of every signature a file name that nobody else will choose.

    Numba numbers these files by its index, without a lock. Two processes that compile two
    signatures of a function at once choose the same number, and from then on the index may give
    one signature the code of the other: x + 1 for 2.5 came out as 3.
    """
    with suppress(AttributeError):  # NUMBA_DISABLE_JIT leaves a plain function
        files = dispatcher._cache._cache_file
        stem = files._index_name.removesuffix(".nbi")
        files._data_name = lambda number: f"{stem}.{uuid4().hex}.nbc"


def _user_cache() -> Path:
    """The folder of the user's choice, or the one that the operating system has for caches."""
    import numba
    from platformdirs import user_cache_path

    chosen = os.environ.get("POPSNET_CACHE_DIR") or getattr(numba.config, "CACHE_DIR", "")
    if chosen:  # the latter comes from NUMBA_CACHE_DIR
        return Path(chosen).absolute() / "popsnet"
    # Where the user has no home, "~" stays in the path and expanding it raises RuntimeError.
    return user_cache_path("popsnet", appauthor=False).expanduser().absolute()


def _private_folder() -> Path:
    """A folder for temporary use that nobody else can write to: what it holds will be run."""
    if hasattr(os, "getuid"):
        folder = Path(tempfile.gettempdir()) / f"popsnet-{os.getuid()}"
        with suppress(OSError):
            folder.mkdir(mode=0o700, exist_ok=True)
            found = folder.lstat()
            private = stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o077
            if private and found.st_uid == os.getuid() and os.access(folder, os.W_OK):
                return folder
    return Path(tempfile.mkdtemp(prefix="popsnet-"))


def _opened(folder: Path) -> Path:
    """Make a folder that can be written to, mark it as used, and make room if it is new."""
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    tempfile.TemporaryFile(dir=folder).close()
    os.utime(folder)
    if is_new:
        with suppress(OSError):  # another process does the same just now
            _prune(folder)
    return folder


def _prune(newest: Path) -> None:
    """Remove the code of sources long gone; a process that still uses it compiles again."""
    digest = re.compile(f"[0-9a-f]{{{len(newest.name)}}}")
    others = [one for one in newest.parent.iterdir() if digest.fullmatch(one.name)]
    others.remove(newest)
    others.sort(key=lambda one: one.stat().st_mtime, reverse=True)
    for one in others[_OLD_FOLDERS_KEPT:]:
        shutil.rmtree(one, ignore_errors=True)
