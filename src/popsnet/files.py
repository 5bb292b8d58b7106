"""Files that appear whole or not at all: written beside their name, then renamed.

docs/reference/files.md says what this means for links, permissions, devices and pipes.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TextIO

from popsnet.errors import InputError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_MOST_LINKS = 40
"""Symbolic links that lead to each other, as many as Linux follows."""


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
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path} cannot be used as the name of a file to write: {error}."
        ) from error


def _require_writable(path: Path, target: Path) -> None:
    if target.is_dir():
        raise InputError(f"{path} is a folder; give the name of a file to write.")
    if target.exists() and not _can_be_written(target):
        raise InputError(f"{path} exists and cannot be written to; give another name.")
    if _is_stream(target):
        return
    if _is_standard_output(target):
        raise InputError(
            f"{path} is the file that standard output or standard error goes to; give another name."
        )
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
    lock = None if fcntl is None else _lock_of(beside, path)
    try:
        yield
    finally:
        if lock is not None:
            beside.unlink(missing_ok=True)  # before it is unlocked, or it could be another's
            os.close(lock)


def _lock_of(beside: Path, path: Path) -> int | None:
    """Return an open file with a lock on it, None where there are no locks."""
    while True:
        try:
            lock = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError:
            return None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if beside.exists() and os.path.samestat(os.fstat(lock), beside.stat()):
                return lock
        except BlockingIOError as error:
            os.close(lock)
            raise InputError(
                f"{path} is in use: another program adds to it. Wait until it ends, or give a file "
                "of its own to each."
            ) from error
        except OSError:
            os.close(lock)
            return None
        os.close(lock)  # the program that had it has just removed it


@contextmanager
def write_whole(path: Path) -> Iterator[TextIO]:
    """Open a text file that replaces ``path`` only if the block ends without an exception.

    A device or a pipe cannot be replaced, and is written to at once.
    """
    require_writable(path)
    target = _target(path)
    if _is_stream(target):
        with _errors_named(path), target.open("w", encoding="utf-8", newline="\n") as stream:
            yield stream
        return
    with _errors_named(target):
        file = _new_part(target)
    part = Path(file.name)
    try:
        with _errors_named(target), file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            _take_over_permissions(file, target)
        with _errors_named(target):
            part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _target(path: Path) -> Path:
    """Return the path that symbolic links lead to, whether or not there is a file."""
    target = path
    for _ in range(_MOST_LINKS):
        if not target.is_symlink() or _is_stream(target):
            return target
        target = target.parent / target.readlink()
    raise InputError(f"{path} is a symbolic link that leads back to itself; give another name.")


def _is_stream(path: Path) -> bool:
    """Whether a path is a device or a pipe, which are written to and never replaced."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def _can_be_written(path: Path) -> bool:
    return (path.is_file() or _is_stream(path)) and os.access(path, os.W_OK)


def _is_standard_output(path: Path) -> bool:
    """Whether what this program prints goes to a file, and would be lost if it were replaced."""
    for number in (1, 2):
        with suppress(OSError):
            if os.path.samestat(path.stat(), os.fstat(number)):
                return True
    return False


def _new_part(target: Path) -> TextIO:
    """Create the file that will replace another."""
    # Until it has the permissions of the file that it replaces, no other user may read it.
    create = partial(os.open, mode=0o600 if target.exists() else 0o666)
    part = target.parent / f".popsnet-{os.urandom(8).hex()}.part"
    return open(part, "x", encoding="utf-8", newline="\n", opener=create)


def _take_over_permissions(file: TextIO, target: Path) -> None:
    """Give a file the permissions of the one that it replaces; another group gets none."""
    try:
        before = target.stat()
    except FileNotFoundError:
        return
    now, mode = os.fstat(file.fileno()), before.st_mode & 0o777
    if now.st_gid != before.st_gid:
        mode &= ~0o070
    if now.st_mode & 0o777 != mode:
        Path(file.name).chmod(mode)


@contextmanager
def _errors_named(path: Path) -> Iterator[None]:
    """Raise errors of writing, which carry no file name of their own, with this one."""
    try:
        yield
    except BrokenPipeError:  # the command line ends as if its own output were closed
        raise
    except OSError as error:
        if error.filename is not None and Path(error.filename).parent != path.parent:
            raise
        raise InputError(f"{path} could not be written: {error.strerror or error}.") from error
