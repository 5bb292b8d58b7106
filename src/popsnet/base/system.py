"""Available memory and processors of this computer, on Linux, macOS and Windows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

try:
    import resource
except ImportError:  # on Windows
    resource = None  # type: ignore[assignment]

_CGROUPS = Path("/sys/fs/cgroup")
_MEMBERSHIP = Path("/proc/self/cgroup")
_UNLIMITED = 2**60
"""Version 1 writes the largest number of whole pages if there is no limit."""


def available_memory() -> int:
    """Return the bytes of memory that this program can allocate now.

    Returns
    -------
    int
        What the operating system reports as available without swapping. It is at most what the
        limit of the address space leaves (``ulimit -v``), and on Linux also what the control groups
        of version 1 or 2 leave, which is how containers are limited. Of what a control group uses,
        files that the kernel can forget do not count.

    Examples
    --------
    >>> available_memory() > 0
    True
    """
    import psutil

    return max(min([psutil.virtual_memory().available, *_left_by_limit(), *_left_in_cgroups()]), 0)


def format_bytes(size: int) -> str:
    """Return a number of bytes as text.

    >>> format_bytes(2_345_678_901), format_bytes(12_345_678), format_bytes(0)
    ('2.3 GB', '12 MB', '0 MB')
    """
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


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
    import psutil

    process = psutil.Process()
    if hasattr(process, "cpu_affinity"):
        return len(process.cpu_affinity())
    return os.cpu_count() or 1


def _left_by_limit() -> Iterator[int]:
    """Yield the bytes that a limit of the address space leaves, if there is one."""
    import psutil

    if resource is not None:
        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        if most != resource.RLIM_INFINITY:
            yield most - psutil.Process().memory_info().vms


_FIRST = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
_SECOND = "memory.max", "memory.current", "inactive_file"
"""The files of a control group, and the field of ``memory.stat`` that can be reclaimed."""


def _left_in_cgroups() -> Iterator[int]:
    """Yield the bytes that each limited control group around this process leaves.

    In a container the path of the group may be one outside of it, which does not exist here; then
    the root of what is mounted is the group.
    """
    for line in _read(_MEMBERSHIP).splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0" and not controllers:
            root, version = _CGROUPS, _SECOND
        elif "memory" in controllers.split(","):
            root, version = _CGROUPS / "memory", _FIRST
        else:
            continue
        inner = PurePosixPath(path.lstrip("/"))
        for group in (inner, *inner.parents):
            yield from _left_in_group(root / group, *version)


def _left_in_group(group: Path, most: str, usage: str, reclaimed: str) -> Iterator[int]:
    """Yield the bytes that a control group leaves, if it has a limit."""
    limit, used = (_read(group / name).strip() for name in (most, usage))
    if not (limit.isdigit() and used.isdigit()) or int(limit) >= _UNLIMITED:
        return
    statistics = dict(line.split() for line in _read(group / "memory.stat").splitlines())
    reclaimable = min(int(statistics.get(reclaimed, 0)), int(used))
    yield max(int(limit) - int(used) + reclaimable, 0)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
