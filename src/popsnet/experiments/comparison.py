"""Every router that applies, on the same permutations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import mean

from popsnet.engines import Outcome
from popsnet.errors import InputError
from popsnet.experiments.forecast import Forecast, forecast
from popsnet.experiments.point import Point
from popsnet.network import Network
from popsnet.routing import Router, all_routers
from popsnet.routing.offline import Demand, lower_bound
from popsnet.trace import Event

__all__ = ["MOST_PROCESSORS", "Compared", "Comparison", "compare_routers"]

MOST_PROCESSORS = 2**16
_MOST_MESSAGES = 2**25
"""A run with more of them, n for each slot expected, is left out."""
_MOST_SLOTS = 5000
"""So is one of more slots, however small."""

Watch = Callable[[str, Event], None]


@dataclass(frozen=True, slots=True)
class Compared:
    """A router and what its runs came to; without runs only what is expected of it."""

    router: Router
    variant: str
    outcomes: tuple[Outcome, ...]
    expected: Forecast | None

    @property
    def mean_slots(self) -> float:
        """Slots until every source knows, on average."""
        return mean(one.slots for one in self.outcomes)

    @property
    def worst_slots(self) -> int:
        """Slots of the longest run."""
        return max(one.slots for one in self.outcomes)

    @property
    def capped(self) -> int:
        """Runs that were stopped, so that the mean is a lower bound."""
        return sum(one.capped for one in self.outcomes)

    @property
    def failed(self) -> bool:
        """Whether packets are lost, or missing though the run was not capped."""
        missing = (one for one in self.outcomes if not one.capped and any(one.survivors[-1:]))
        return any(one.lost for one in self.outcomes) or any(missing)


@dataclass(frozen=True, slots=True)
class Comparison:
    """All that was run, the quickest first, and what was left out."""

    network: Network
    runs: int
    lower_bound: float
    """The mean over the permutations; no schedule of one takes fewer slots than its bound."""
    done: tuple[Compared, ...]
    left_out: tuple[Compared, ...]


def compare_routers(
    network: Network, runs: int, seed: int = 0, watch: Watch = lambda name, event: None
) -> Comparison:
    """Run every router in its default variant: run r has the same permutation for all of them."""
    if runs < 1:
        raise InputError(f"--runs {runs}: there is nothing to compare; give at least 1.")
    if network.n > MOST_PROCESSORS:
        raise InputError(
            f"n = {network.n:,}: every message of every router is executed; give at most "
            f"{MOST_PROCESSORS:,} processors, or see popsnet plan."
        )
    found = [_compared(point, runs, watch) for point in _points(network, seed)]
    done = sorted((one for one in found if one.outcomes), key=lambda one: one.mean_slots)
    left_out = tuple(one for one in found if not one.outcomes)
    return Comparison(network, runs, _bound(network, runs, seed), tuple(done), left_out)


def _points(network: Network, seed: int) -> Iterator[Point]:
    for router in all_routers():
        applies = (one.obstacle(network) is None for one in router.variants.values())
        if not router.file and any(applies):
            yield Point.of(
                network.d, network.g, router=router.name, engine="slots",
                seed=seed, permutation_seed=seed,
            )  # fmt: skip


def _compared(point: Point, runs: int, watch: Watch) -> Compared:
    expected = forecast(point.router, point.network)
    slots = expected.slots if expected else 0
    too_long = slots > min(_MOST_SLOTS, _MOST_MESSAGES / point.network.n)

    def observe(event: Event) -> None:
        watch(point.router.name, event)

    numbers: Sequence[int] = () if too_long else range(runs)
    outcomes = tuple(point.execute(run, [observe]).outcome for run in numbers)
    return Compared(point.router, point.variant, outcomes, expected)


def _bound(network: Network, runs: int, seed: int) -> float:
    point = Point.of(network.d, network.g, router="direct", engine="slots", permutation_seed=seed)
    demands = (Demand.of_permutation(network, point.destination(run)) for run in range(runs))
    return mean(lower_bound(demand) for demand in demands)
