"""Files that appear whole or not at all: written beside their name, then renamed.

docs/reference/files.md says what this means for links and permissions.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from shutil import copymode
from typing import TextIO

from popsnet.base.errors import InputError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


def is_file(path: Path) -> bool:
    """Return whether there is a file of this name; there is none if no file can have the name."""
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long, for example
        return False


def require_writable(path: Path) -> None:
    """Refuse a path at which a file cannot be written, before any work is done."""
    try:
        _require_writable(path, _target(path))
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path} cannot be used as the name of a file to write: {error}."
        ) from error


def _require_writable(path: Path, target: Path) -> None:
    if target.is_dir():
        raise InputError(f"{path} is a folder; give the name of a file to write.")
    if path.exists() and not os.access(path, os.W_OK):
        raise InputError(f"{path} exists and cannot be written to; give another name.")
    if _is_stream(path):
        return
    if not target.parent.is_dir():
        raise InputError(f"There is no folder {target.parent} to write in; create it first.")
    if not os.access(target.parent, os.W_OK):
        raise InputError(f"The folder {target.parent} cannot be written to; choose another.")


def make_folder(path: Path) -> None:
    """Create a folder if it is missing, and refuse one in which files cannot be written."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise InputError(
            f"{path} exists and is not a folder; give the name of a folder to write in."
        ) from error
    except OSError as error:
        raise InputError(
            f"{path} cannot be used as a folder to write in: {error.strerror}."
        ) from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise InputError(f"The folder {path} cannot be written to; choose another.")


@contextmanager
def alone_with(path: Path) -> Iterator[None]:
    """Refuse a file that another program uses in this way, and keep others from it in the block.

    The lock is on a file beside it, which ends with the block. A killed program leaves that file
    without a lock. Where there are no locks, on Windows and some file systems, nothing is refused.
    """
    target = _target(path)
    beside = target.parent / f".popsnet-{sha256(os.fsencode(target.name)).hexdigest()[:16]}.lock"
    if fcntl is None:
        yield
        return
    with beside.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(
                f"{path} is in use: another program adds to it. Wait until it ends, or give a file "
                "of its own to each."
            ) from error
        except OSError:  # a file system without locks
            pass
        try:
            yield
        finally:
            beside.unlink(missing_ok=True)


@contextmanager
def write_whole(path: Path) -> Iterator[TextIO]:
    """Open a text file that replaces ``path`` only if the block ends without an exception.

    A symbolic link stays, and the file that it leads to is replaced. Devices and pipes are written
    directly.
    """
    require_writable(path)
    if _is_stream(path):
        with _errors_named(path), path.open("w", encoding="utf-8", newline="\n") as file:
            yield file
        return
    target = _target(path)
    part = target.parent / f".popsnet-{os.urandom(8).hex()}.part"
    # Until it has the permissions of the file that it replaces, no other user may read it.
    create = partial(os.open, mode=0o600 if target.exists() else 0o666)
    try:
        with (
            _errors_named(target),
            open(part, "x", encoding="utf-8", newline="\n", opener=create) as file,
        ):
            yield file
            file.flush()
            os.fsync(file.fileno())
        with _errors_named(target):
            if target.exists():
                copymode(target, part)
            part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _is_stream(path: Path) -> bool:
    """Whether this is a device or a pipe, which is written directly."""
    return path.exists() and not path.is_file()


def _target(path: Path) -> Path:
    """Return the path that symbolic links lead to, whether or not there is a file."""
    return Path(os.path.realpath(path))


@contextmanager
def _errors_named(path: Path) -> Iterator[None]:
    """Raise errors of writing, which carry no file name of their own, with this one."""
    try:
        yield
    except OSError as error:
        if error.filename is not None and Path(error.filename).parent != path.parent:
            raise
        raise InputError(f"{path} could not be written: {error.strerror or error}.") from error
