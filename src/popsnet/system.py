"""Available memory and processors of this computer, on Linux, macOS and Windows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import psutil

_CGROUPS = Path("/sys/fs/cgroup")
_MEMBERSHIP = Path("/proc/self/cgroup")


def available_memory() -> int:
    """Return the bytes of memory that this program can allocate now.

    Returns
    -------
    int
        What the operating system reports as available without swapping. On Linux it is at most
        what the control groups (version 2) of this process leave, which is how containers are
        limited.

    Examples
    --------
    >>> available_memory() > 0
    True
    """
    return min([psutil.virtual_memory().available, *_left_in_cgroups()])


def threads_here() -> int:
    """Return the number of processors that this program may use.

    Returns
    -------
    int
        The processors in the affinity mask of this process where the operating system has one
        (Linux, Windows), and all processors elsewhere (macOS).

    Examples
    --------
    >>> threads_here() >= 1
    True
    """
    process = psutil.Process()
    if hasattr(process, "cpu_affinity"):
        return len(process.cpu_affinity())
    return os.cpu_count() or 1


def _left_in_cgroups() -> Iterator[int]:
    """Yield the bytes that each limited control group around this process leaves."""
    for line in _read(_MEMBERSHIP).splitlines():
        if not line.startswith("0::/"):  # other numbers are those of version 1
            continue
        inner = PurePosixPath(line.removeprefix("0::/"))
        for group in (inner, *inner.parents):
            limit = _read(_CGROUPS / group / "memory.max").strip()
            used = _read(_CGROUPS / group / "memory.current").strip()
            if limit.isdigit() and used.isdigit():
                yield max(int(limit) - int(used), 0)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
