"""popsnet: on-line permutation routing on Partitioned Optical Passive Star networks.

Route, and look at the results
    ``route``, ``Experiment``, ``Runs``, ``Run``, ``Outcome``, ``summarize``, ``view``, ``Page``,
    ``check_trace``
How likely slow runs are
    ``distribution``, ``read_distribution``, ``RunsDistribution``
Choose a router
    ``recommend``, ``compare``, ``predict``, ``all_routers``, ``find_router``
Faults
    ``Faults``, ``survival`` (what more and more faults cost)
Many experiments, kept in a file
    ``Sweep``, ``collect``, ``Store``, ``Tally``, ``verify``, ``rescue``
Schedules, sorting and sums
    ``schedule``, ``check_schedule``, ``sort``, ``compute``
Continuous traffic
    ``simulate``, ``traffic`` (schedulers, arrivals, latency and saturation)
Hardware: power, and slots in nanoseconds
    ``budget``, ``Timing``, ``hardware`` (units, presets, propagation)
The paper's tables and figures
    ``paper.reproduce``
More, by package
    ``adversaries`` (lower bounds as programs), ``exact`` (tiny networks), ``theory`` (formulas and
    limits), ``sorting`` (sorting networks), ``schedules`` (off-line), ``stats`` (statistics),
    ``plots`` (figures), ``testing`` (is a router local?)
Write a router
    ``register``, ``register_variant``, ``register_relation``, ``Network``, ``Slot``, ``Inbox``,
    ``RaggedArray``, ``Kind``, ``NO_PACKET``, ``Memory``, ``Coins``, ``Machine``, ``Router``,
    ``make_permutation``
Errors
    ``PopsnetError`` and those below it, ``Rule``

Names are imported when they are first used, so that ``import popsnet`` costs nothing.
"""

import sys

__version__ = "0.7.0"


def __getattr__(name: str) -> object:
    """Read the stub, which says where every name is, when the first of them is used."""
    from importlib import import_module

    lazy_names = import_module("popsnet.base.errors").lazy_names
    names = "__getattr__", "__dir__", "__all__"
    globals().update(zip(names, lazy_names(__name__, __file__), strict=True))
    return getattr(sys.modules[__name__], name)


def __dir__() -> list[str]:
    """Return the public names."""
    return __getattr__("__all__")
