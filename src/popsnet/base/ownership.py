"""Which users can change a folder or a file. SECURITY.md states the rules.

Nothing is checked on Windows, nor are access control lists anywhere.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

CHECKED = hasattr(os, "geteuid")
"""Whether files have an owner and permissions that can be checked: not so on Windows."""


class NotPrivate(PermissionError):
    """Another user can change a path. The text says which path, and how."""


def open_private_folder(path: Path) -> Path:
    """Create a folder that only this user can write to, and return its real path.

    A folder that exists must belong to this user, or to root, and be closed to all others, and
    so must be what is in it. No other user may be able to put something else in its place: the
    folders on the way to it are checked from the top down, so that what was checked stays true.

    Raises
    ------
    NotPrivate
        If another user can change the folder.
    OSError
        If it cannot be created or read.
    """
    path = Path(os.path.realpath(path))
    for parent in reversed(path.parents):
        mode = _mode(parent)
        if CHECKED and mode & 0o022 and not mode & stat.S_ISVTX:  # its content can be replaced
            raise NotPrivate(
                f"{parent} can be written to by other users (mode {mode:o}; chmod go-w closes it)"
            )
    mode = _mode(path)
    if CHECKED and mode & 0o077:
        raise NotPrivate(f"{path} is open to other users (mode {mode:o}; chmod go= closes it)")
    _require_contents(path)
    return path


def _mode(folder: Path) -> int:
    """Create a folder if it is missing, refuse another user's, and return its permissions."""
    try:
        status = folder.lstat()
    except FileNotFoundError:
        with suppress(FileExistsError):  # another process was faster
            folder.mkdir(mode=0o700)
        status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    _require_owner(folder, status)
    return stat.S_IMODE(status.st_mode)


def _require_owner(path: Path | str, status: os.stat_result) -> None:
    if CHECKED and status.st_uid not in (0, os.geteuid()):
        raise NotPrivate(f"{path} belongs to another user (number {status.st_uid})")


def _require_contents(folder: Path | str) -> None:
    """Refuse what others have left in a folder while they could, and links to elsewhere."""
    if not CHECKED:
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):  # a temporary file of another process
                status = entry.stat(follow_symlinks=False)
                _require_owner(entry.path, status)
                if stat.S_ISLNK(status.st_mode):
                    raise NotPrivate(f"{entry.path} is a symbolic link")
                if stat.S_ISDIR(status.st_mode):
                    _require_contents(entry.path)
