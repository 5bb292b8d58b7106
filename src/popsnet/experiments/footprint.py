"""Does it fit? Asked before anything is allocated."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from popsnet.engines import ENGINES, Engine, Load
from popsnet.errors import SizeError
from popsnet.network import Network
from popsnet.routing import Router

__all__ = ["available_memory", "memory_needed", "require_memory"]

_BUFFER_BYTES = 4

_TRACE_BYTES_PER_PROCESSOR = 700
"""For the lists that one slot is turned into on its way to a file; measured, rounded up."""


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


def memory_needed(
    network: Network,
    engine: Engine,
    router: Router,
    variant: str,
    *,
    keyed: bool,
    traced: bool = False,
) -> int:
    """Bytes for one run at a time, rounded up."""
    needed = engine.bytes_needed(Load(network, router.name, variant, keyed))
    if engine.messages:
        a_processor = _BUFFER_BYTES * router.buffers_on(network, variant)
        a_processor += _TRACE_BYTES_PER_PROCESSOR * traced
        needed += network.n * a_processor
    return needed


def require_memory(
    network: Network, engine: Engine, router: Router, variant: str, *, keyed: bool, traced: bool
) -> None:
    """Refuse a network that the engine could not hold here, and say what could."""
    n, available = network.n, available_memory()
    needed = memory_needed(network, engine, router, variant, keyed=keyed, traced=traced)
    advice = "Choose a smaller d or g."
    fused, load = ENGINES["fused"], Load(network, router.name, variant, keyed)
    computed = replace(load, keyed=True)
    able = fused.has(router, variant, network) and fused.obstacle(computed) is None
    if able and not traced and variant != "deferred":  # which stores its permutation anyway
        least = fused.bytes_needed(computed)
        if least <= available and (engine, keyed) != (fused, True):
            advice = (
                "Use --engine fused --permutation keyed, which needs about "
                f"{max(least / 1e9, 0.1):,.1f} GB."
            )
    reason = engine.obstacle(load)
    if reason is not None:
        raise SizeError(f"Engine {engine.name} cannot run on {network}: {reason} {advice}")
    if needed > available:
        raise SizeError(
            f"{network} has n = {n:,} processors and needs about {needed / 1e9:,.1f} GB with "
            f"engine {engine.name}{' and a trace' if traced else ''}; "
            f"{available / 1e9:,.1f} GB can be had here. {advice}"
        )


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
