"""popsnet: on-line permutation routing on Partitioned Optical Passive Star networks.

Names are imported when they are first used, so that ``import popsnet`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from popsnet.coins import Coins as Coins
    from popsnet.engines import Outcome as Outcome
    from popsnet.errors import InputError as InputError
    from popsnet.errors import PermutationError as PermutationError
    from popsnet.errors import PopsnetError as PopsnetError
    from popsnet.errors import Rule as Rule
    from popsnet.errors import RuleViolation as RuleViolation
    from popsnet.errors import SizeError as SizeError
    from popsnet.errors import StoreError as StoreError
    from popsnet.errors import TraceFormatError as TraceFormatError
    from popsnet.experiments import Point as Point
    from popsnet.experiments import Run as Run
    from popsnet.experiments import routed as routed
    from popsnet.experiments import summarize as summarize
    from popsnet.experiments import view as view
    from popsnet.machine import Machine as Machine
    from popsnet.memory import Memory as Memory
    from popsnet.network import Network as Network
    from popsnet.permutations import make_permutation as make_permutation
    from popsnet.routing import Router as Router
    from popsnet.routing import all_routers as all_routers
    from popsnet.routing import register as register
    from popsnet.slot import NO_PACKET as NO_PACKET
    from popsnet.slot import Inbox as Inbox
    from popsnet.slot import Kind as Kind
    from popsnet.slot import Slot as Slot
    from popsnet.trace.checker import check_trace as check_trace
    from popsnet.viewer import Page as Page

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
    "Page": "popsnet.viewer",
    "PermutationError": "popsnet.errors",
    "Point": "popsnet.experiments",
    "PopsnetError": "popsnet.errors",
    "Router": "popsnet.routing",
    "Rule": "popsnet.errors",
    "RuleViolation": "popsnet.errors",
    "Run": "popsnet.experiments",
    "SizeError": "popsnet.errors",
    "Slot": "popsnet.slot",
    "StoreError": "popsnet.errors",
    "TraceFormatError": "popsnet.errors",
    "all_routers": "popsnet.routing",
    "check_trace": "popsnet.trace.checker",
    "make_permutation": "popsnet.permutations",
    "register": "popsnet.routing",
    "routed": "popsnet.experiments",
    "summarize": "popsnet.experiments",
    "view": "popsnet.experiments",
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
