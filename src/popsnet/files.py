"""Files that appear whole or not at all: written beside their name, then renamed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from popsnet.errors import InputError

__all__ = ["require_writable", "write_whole"]


def require_writable(path: Path) -> None:
    """Refuse a path that no file can be written to, before any work is done."""
    folder = path.parent
    if path.is_dir():
        raise InputError(f"{path} is a folder; give the name of a file to write.")
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder} to write {path.name} in; create it first.")
    if not os.access(folder, os.W_OK):
        raise InputError(f"The folder {folder} cannot be written to; choose another place.")


@contextmanager
def write_whole(path: Path) -> Iterator[TextIO]:
    """Open a text file that takes the place of ``path`` only if the block ends well."""
    require_writable(path)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    part = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.chmod(0o666 & ~_umask())
        part.replace(path)
    except OSError as error:
        raise InputError(f"{path} could not be written: {error.strerror}.") from error
    finally:
        part.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
