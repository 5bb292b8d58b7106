"""popsnet: on-line permutation routing on Partitioned Optical Passive Star networks.

Names are imported when they are first used, so that ``import popsnet`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "Coins": "popsnet.coins",
    "Inbox": "popsnet.slot",
    "InputError": "popsnet.errors",
    "Kind": "popsnet.slot",
    "Machine": "popsnet.machine",
    "Memory": "popsnet.memory",
    "NO_PACKET": "popsnet.slot",
    "Network": "popsnet.network",
    "Outcome": "popsnet.engines",
    "PermutationError": "popsnet.errors",
    "Point": "popsnet.experiments",
    "PopsnetError": "popsnet.errors",
    "Router": "popsnet.routing",
    "Rule": "popsnet.errors",
    "RuleViolation": "popsnet.errors",
    "Run": "popsnet.experiments",
    "SizeError": "popsnet.errors",
    "Slot": "popsnet.slot",
    "TraceFormatError": "popsnet.errors",
    "all_routers": "popsnet.routing",
    "check_trace": "popsnet.trace.checker",
    "make_permutation": "popsnet.permutations",
    "register": "popsnet.routing",
    "routed": "popsnet.experiments",
    "summarize": "popsnet.experiments",
}

__all__ = ["__version__", *sorted(_HOME)]


def __getattr__(name: str) -> Any:
    try:
        home = _HOME[name]
    except KeyError:
        raise AttributeError(f"module 'popsnet' has no attribute {name!r}") from None
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return __all__
