"""What the formulas of schedulers give for a pattern of traffic."""

from __future__ import annotations

from popsnet.traffic.bounds import Bounds
from popsnet.traffic.scheduler import Scheduler

UNIFORM = ("uniform", "uniform-with-self")
"""The patterns for which schedulers state their largest loads."""


def pattern_of(arrivals: str) -> str:
    """Return the pattern of arrivals, which have no influence on the largest load otherwise.

    >>> pattern_of("burst:4 uniform")
    'uniform'
    """
    return arrivals.rpartition(" ")[2]


def largest_load(scheduler: Scheduler, arrivals: str, bounds: Bounds) -> float | None:
    """Return the largest load of a scheduler by its formula.

    Parameters
    ----------
    scheduler : Scheduler
        The scheduler.
    arrivals : str
        The name of the arrivals.
    bounds : Bounds
        Their bounds.

    Returns
    -------
    float or None
        None if the scheduler states none, or the pattern is not uniform. If no source sends to
        itself, the load is at most the bound of the pattern.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.traffic import find_scheduler
    >>> from popsnet.traffic.patterns import resolve_pattern
    >>> bounds = resolve_pattern("uniform", Network(4, 4)).bounds()
    >>> largest_load(find_scheduler("tdm"), "bernoulli uniform", bounds)
    0.9375
    """
    pattern, formula = pattern_of(arrivals), scheduler.saturation
    if formula is None or pattern not in UNIFORM:
        return None
    if pattern == "uniform-with-self":
        return formula(bounds.network)
    bound = bounds.one_hop if scheduler.paths == "one hop" else bounds.any
    others = scheduler.saturation_to_others or formula
    return min(others(bounds.network), bound.load)


def load_in_any_case(scheduler: Scheduler, bounds: Bounds) -> float | None:
    """Return the load that a scheduler carries whatever the pattern.

    Parameters
    ----------
    scheduler : Scheduler
        The scheduler.
    bounds : Bounds
        The bounds of the pattern.

    Returns
    -------
    float or None
        The load at which the largest rate of a source or destination is what the scheduler states
        for any traffic; None if it states nothing.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.traffic import find_scheduler
    >>> from popsnet.traffic.patterns import resolve_pattern
    >>> bounds = resolve_pattern("incast:4", Network(4, 4)).bounds()
    >>> load_in_any_case(find_scheduler("vlb"), bounds)  # a destination gets 16 times the mean
    0.03125
    """
    if scheduler.any_traffic is None:
        return None
    return scheduler.any_traffic(bounds.network) * min(bounds.rows, bounds.columns)
