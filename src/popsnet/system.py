"""What this machine has: memory and processors."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["available_memory", "threads_here"]


def available_memory() -> int:
    """Bytes that can be had now: what the system says is free, within the group's limit."""
    candidates = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    candidates += [
        int(line.split()[1]) * 1024
        for line in _read("/proc/meminfo").splitlines()
        if line.startswith("MemAvailable:")
    ]
    limit, used = _read("/sys/fs/cgroup/memory.max"), _read("/sys/fs/cgroup/memory.current")
    if limit.strip().isdigit() and used.strip().isdigit():
        candidates.append(int(limit) - int(used))
    return min(candidates)


def threads_here() -> int:
    """The processors that this program may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
