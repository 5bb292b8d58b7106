"""Available memory and processors of this computer, on Linux, macOS and Windows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import psutil

from popsnet.errors import SizeError

try:
    import resource
except ImportError:  # on Windows
    resource = None  # type: ignore[assignment]

_CGROUPS = Path("/sys/fs/cgroup")
_MEMBERSHIP = Path("/proc/self/cgroup")
_STATUS = Path("/proc/self/status")
_UNLIMITED = 2**60
"""Version 1 writes the largest number of whole pages if there is no limit."""


class _Limit(NamedTuple):
    """A limit of this process, and what popsnet needs of it: measured, and rounded up."""

    name: str
    used: str
    """The line of the status file that counts against it."""
    option: str
    libraries: int
    """Bytes to load NumPy and SciPy."""
    compiler: int
    """Bytes to load Numba, SciPy and LLVM after NumPy, and to compile the largest kernels."""


_LIMITS = (
    _Limit("RLIMIT_AS", "VmSize", "ulimit -v", 250_000_000, 750_000_000),
    _Limit("RLIMIT_DATA", "VmData", "ulimit -d", 120_000_000, 350_000_000),
)

_BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")
_BLAS_THREAD_BYTES = 42_000_000
"""For the buffer and the stack of each thread of OpenBLAS but the first."""

_reserved: dict[str, int] = {}
"""What this process will use of each limit once everything is compiled."""


def available_memory() -> int:
    """Return the bytes of memory that this program can allocate now.

    Returns
    -------
    int
        What the operating system reports as available without swapping. It is at most what the
        limits of this process leave (``ulimit -v`` and ``ulimit -d``), and on Linux also what its
        control groups of version 1 or 2 leave, which is how containers are limited. Of what a
        control group uses, files that the kernel can forget do not count.

    Examples
    --------
    >>> available_memory() > 0
    True
    """
    system = psutil.virtual_memory().available
    return max(min([system, *_left_by_limits(), *_left_in_cgroups()]), 0)


def amount(size: int) -> str:
    """Return a number of bytes as text.

    >>> amount(2_345_678_901), amount(12_345_678), amount(0)
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
    process = psutil.Process()
    if hasattr(process, "cpu_affinity"):
        return len(process.cpu_affinity())
    return os.cpu_count() or 1


def prepare_libraries() -> None:
    """Refuse to start a program that has too little memory to load NumPy and SciPy.

    Their OpenBLAS waits for ever for memory that a limit of the process denies, and no signal but
    SIGKILL ends it then. If there is a limit, OpenBLAS is told to start no threads, unless the
    environment says how many: they reserve memory that popsnet does not need.

    Raises
    ------
    SizeError
        If the limits of this process leave too little.
    """
    if any(True for _ in _set_limits()) and not _blas_setting():
        os.environ[_BLAS_THREADS[0]] = "1"
    for limit, most, used in _set_limits():
        needed = limit.libraries + 2 * _for_blas_threads()
        _require(limit, most, used, needed, "to load NumPy and SciPy")


def reserve_compiler_memory() -> None:
    """Refuse to load the compiler if there is too little memory for it.

    A lack of memory in LLVM or OpenBLAS cannot be caught: it ends the process, or never ends.

    Raises
    ------
    SizeError
        If the limits of this process leave too little.
    """
    for limit, most, used in _set_limits():
        needed = limit.compiler + _for_blas_threads()
        _require(limit, most, used, needed, "to load the compiler")
        _reserved[limit.name] = used + needed


def _require(limit: _Limit, most: int, used: int, needed: int, purpose: str) -> None:
    if most - used < needed:
        fewer = "" if _blas_setting() == "1" else f", or set {_BLAS_THREADS[0]} to 1"
        raise SizeError(
            f"popsnet needs about {amount(needed)} of memory {purpose}; {amount(most - used)} are "
            f"available here, because this process is limited to {amount(most)}. Raise the limit "
            f"({limit.option}) by {amount(needed - most + used)}{fewer}."
        )


def _for_blas_threads() -> int:
    """Return the bytes that threads of one copy of OpenBLAS reserve."""
    setting = _blas_setting()
    threads = int(setting) if setting.isdecimal() else threads_here()
    return max(threads - 1, 0) * _BLAS_THREAD_BYTES


def _blas_setting() -> str:
    """Return the number of threads that the environment gives OpenBLAS, or nothing."""
    return next((text for name in _BLAS_THREADS if (text := os.environ.get(name))), "")


def _left_by_limits() -> Iterator[int]:
    """Yield the bytes that the limits of this process leave, without what is reserved."""
    for limit, most, used in _set_limits():
        yield most - max(used, _reserved.get(limit.name, 0))


def _set_limits() -> Iterator[tuple[_Limit, int, int]]:
    """Yield the limits that are set for this process: each, its bytes, and those in use."""
    if resource is None:
        return
    for limit in _LIMITS:
        most = resource.getrlimit(getattr(resource, limit.name))[0]
        if most != resource.RLIM_INFINITY:
            yield limit, most, _used(limit.used)


def _used(name: str) -> int:
    """Return the bytes of memory of a kind that this process has, 0 if that is not known."""
    for line in _read(_STATUS).splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    return 0


class _Version(NamedTuple):
    """The files of a control group, and the field of ``memory.stat`` that can be reclaimed."""

    limit: str
    usage: str
    reclaimable: str


_FIRST = _Version("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_SECOND = _Version("memory.max", "memory.current", "inactive_file")


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
            yield from _left_in_group(root / group, version)


def _left_in_group(group: Path, version: _Version) -> Iterator[int]:
    """Yield the bytes that a control group leaves, if it has a limit."""
    limit, used = (_read(group / name).strip() for name in (version.limit, version.usage))
    if not (limit.isdigit() and used.isdigit()) or int(limit) >= _UNLIMITED:
        return
    statistics = dict(line.split() for line in _read(group / "memory.stat").splitlines())
    reclaimable = min(int(statistics.get(version.reclaimable, 0)), int(used))
    yield max(int(limit) - int(used) + reclaimable, 0)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
