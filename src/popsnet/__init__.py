"""popsnet: on-line permutation routing on Partitioned Optical Passive Star networks.

Route, and look at the results
    ``route``, ``Experiment``, ``Runs``, ``Run``, ``Outcome``, ``summarize``, ``view``, ``Page``,
    ``check_trace``
Choose a router
    ``recommend``, ``compare``, ``predict``, ``all_routers``, ``find_router``
Many experiments, kept in a file
    ``Sweep``, ``collect``, ``Store``, ``Tally``, ``verify``
Schedules, sorting and sums
    ``schedule``, ``sort``, ``compute``
The paper's tables and figures
    ``paper.reproduce``
More, by package
    ``adversaries`` (lower bounds as programs), ``exact`` (tiny networks), ``theory`` (formulas and
    limits), ``sorting`` (sorting networks), ``schedules`` (off-line), ``stats`` (statistics),
    ``plots`` (figures), ``testing`` (is a router local?)
Write a router
    ``register``, ``register_variant``, ``Network``, ``Slot``, ``Inbox``, ``Kind``, ``NO_PACKET``,
    ``Memory``, ``Coins``, ``Machine``, ``Router``, ``make_permutation``
Errors
    ``PopsnetError`` and those below it, ``Rule``

Names are imported when they are first used, so that ``import popsnet`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from popsnet import adversaries as adversaries
    from popsnet import exact as exact
    from popsnet import paper as paper
    from popsnet import plots as plots
    from popsnet import schedules as schedules
    from popsnet import sorting as sorting
    from popsnet import stats as stats
    from popsnet import testing as testing
    from popsnet import theory as theory
    from popsnet.advice.comparison import compare as compare
    from popsnet.advice.prediction import predict as predict
    from popsnet.advice.recommendation import recommend as recommend
    from popsnet.coins import Coins as Coins
    from popsnet.computing.computation import compute as compute
    from popsnet.computing.computation import sort as sort
    from popsnet.engines import Outcome as Outcome
    from popsnet.engines import Tally as Tally
    from popsnet.errors import InputError as InputError
    from popsnet.errors import PermutationError as PermutationError
    from popsnet.errors import PopsnetError as PopsnetError
    from popsnet.errors import Rule as Rule
    from popsnet.errors import RuleViolation as RuleViolation
    from popsnet.errors import SizeError as SizeError
    from popsnet.errors import StoreError as StoreError
    from popsnet.errors import TraceFormatError as TraceFormatError
    from popsnet.experiment import Experiment as Experiment
    from popsnet.machine import Machine as Machine
    from popsnet.memory import Memory as Memory
    from popsnet.network import Network as Network
    from popsnet.notebook import view as view
    from popsnet.permutations import make_permutation as make_permutation
    from popsnet.routing import Router as Router
    from popsnet.routing import all_routers as all_routers
    from popsnet.routing import find_router as find_router
    from popsnet.routing import register as register
    from popsnet.routing import register_variant as register_variant
    from popsnet.runs.route import route as route
    from popsnet.runs.run import Run as Run
    from popsnet.runs.run import Runs as Runs
    from popsnet.runs.schedule import schedule as schedule
    from popsnet.slot import NO_PACKET as NO_PACKET
    from popsnet.slot import Inbox as Inbox
    from popsnet.slot import Kind as Kind
    from popsnet.slot import Slot as Slot
    from popsnet.stats.inference import summarize as summarize
    from popsnet.sweeps.runner import collect as collect
    from popsnet.sweeps.store import Store as Store
    from popsnet.sweeps.sweep import Sweep as Sweep
    from popsnet.sweeps.verify import verify as verify
    from popsnet.trace.checker import check_trace as check_trace
    from popsnet.viewer import Page as Page

__version__ = "0.1.0"

_GROUPS = {
    "route, and look at the results": {
        "route": "popsnet.runs.route",
        "Experiment": "popsnet.experiment",
        "Runs": "popsnet.runs",
        "Run": "popsnet.runs",
        "Outcome": "popsnet.engines",
        "summarize": "popsnet.stats",
        "view": "popsnet.notebook",
        "Page": "popsnet.viewer",
        "check_trace": "popsnet.trace.checker",
    },
    "choose a router": {
        "recommend": "popsnet.advice.recommendation",
        "compare": "popsnet.advice.comparison",
        "predict": "popsnet.advice.prediction",
        "all_routers": "popsnet.routing",
        "find_router": "popsnet.routing",
    },
    "many experiments, kept in a file": {
        "Sweep": "popsnet.sweeps",
        "collect": "popsnet.sweeps",
        "Store": "popsnet.sweeps",
        "Tally": "popsnet.engines",
        "verify": "popsnet.sweeps.verify",
    },
    "schedules and sorting": {
        "schedule": "popsnet.runs.schedule",
        "sort": "popsnet.computing.computation",
        "compute": "popsnet.computing.computation",
    },
    "the paper's tables and figures": {"paper": ""},
    "packages for more": dict.fromkeys(
        ("adversaries", "exact", "plots", "schedules", "sorting", "stats", "testing", "theory"), ""
    ),
    "write a router": {
        "register": "popsnet.routing",
        "register_variant": "popsnet.routing",
        "Network": "popsnet.network",
        "Slot": "popsnet.slot",
        "Inbox": "popsnet.slot",
        "Kind": "popsnet.slot",
        "NO_PACKET": "popsnet.slot",
        "Memory": "popsnet.memory",
        "Coins": "popsnet.coins",
        "Machine": "popsnet.machine",
        "Router": "popsnet.routing",
        "make_permutation": "popsnet.permutations",
    },
    "errors": {
        "PopsnetError": "popsnet.errors",
        "InputError": "popsnet.errors",
        "PermutationError": "popsnet.errors",
        "SizeError": "popsnet.errors",
        "StoreError": "popsnet.errors",
        "TraceFormatError": "popsnet.errors",
        "RuleViolation": "popsnet.errors",
        "Rule": "popsnet.errors",
    },
}
"""Where each name comes from; a module of this package comes from nowhere else."""

_HOME = {name: home for names in _GROUPS.values() for name, home in names.items()}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'popsnet' has no attribute {name!r}")
    home = _HOME[name]
    return getattr(import_module(home), name) if home else import_module(f"popsnet.{name}")


def __dir__() -> list[str]:
    return sorted(__all__)
