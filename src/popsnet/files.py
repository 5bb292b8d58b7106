"""Files that appear whole or not at all: written beside their name, then renamed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from popsnet.errors import InputError


def is_file(path: Path) -> bool:
    """Return whether there is a file of this name; there is none if no file can have the name."""
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long, for example
        return False


def require_writable(path: Path) -> None:
    """Refuse a path at which a file cannot be written, before any work is done."""
    try:
        path = path.resolve()
        if path.is_dir():
            raise InputError(f"{path} is a folder; give the name of a file to write.")
        if path.exists() and not (path.is_file() and os.access(path, os.W_OK)):
            raise InputError(f"{path} exists and cannot be replaced; give another name.")
        if not path.parent.is_dir():
            raise InputError(f"There is no folder {path.parent} to write in; create it first.")
        if not os.access(path.parent, os.W_OK):
            raise InputError(f"The folder {path.parent} cannot be written to; choose another.")
    except (OSError, RuntimeError) as error:
        raise InputError(
            f"{path} cannot be used as the name of a file to write: {error}."
        ) from error


def make_folder(path: Path) -> None:
    """Create a folder if it is missing, and refuse one in which files cannot be written."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise InputError(f"{path} is a file; give the name of a folder to write in.") from error
    except OSError as error:
        raise InputError(
            f"{path} cannot be used as a folder to write in: {error.strerror}."
        ) from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise InputError(f"The folder {path} cannot be written to; choose another.")


@contextmanager
def write_whole(path: Path) -> Iterator[TextIO]:
    """Open a text file that replaces ``path`` only if the block ends without an exception."""
    require_writable(path)
    path = path.resolve()
    with _errors_named(path):
        handle, name = tempfile.mkstemp(prefix=".popsnet-", suffix=".part", dir=path.parent)
    part = Path(name)
    try:
        with _errors_named(path), os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.chmod(0o666 & ~_umask())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _errors_named(path: Path) -> Iterator[None]:
    """Raise errors of writing, which carry no file name of their own, with this one."""
    try:
        yield
    except OSError as error:
        if error.filename is not None and Path(error.filename).parent != path.parent:
            raise
        raise InputError(f"{path} could not be written: {error.strerror}.") from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
