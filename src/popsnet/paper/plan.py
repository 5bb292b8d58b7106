"""Plan the runs: for the paper's tables, its rival, our own tables, and theory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from popsnet.base.errors import wrong
from popsnet.experiment.experiment import Experiment, whole_number
from popsnet.model.network import Network
from popsnet.paper.published import LARGEST, RUNS, SMALLEST, PrintedRow, printed_rows
from popsnet.programs.router import Router
from popsnet.studies.comparisons.recommendation import forecast, shipped_routers
from popsnet.sweeps.shard import MOST_RUNS, SHARD_RUNS

_MANY = 1000
"""Runs where they cost little, for a smaller error than that of the printed mean."""

_VERY_MANY = 10_000
"""Runs where the tail is heavy: enough to sample it."""

_BUDGET = 100 * 2**20
"""Processors times runs per row, unless ``full`` is asked for."""

_MOST_MESSAGES = 2**14
"""The largest n on which every router is executed message by message."""

_FEWER_THAN_GROUPS = (Network(128, 256), Network(64, 256), Network(16, 256))
"""Networks of d < g, where relay is the only fast on-line router: d = g/2, g/4, g/16."""

_CHAINS = {
    ("mei-rizzi", "idealized"): ((2, 2), (3, 2), (3, 3), (4, 2), (8, 2)),
    ("relay", "S"): ((2, 2), (3, 2), (3, 3), (4, 2), (4, 3), (8, 2)),
}
"""Networks, d and g, whose exact chains are solved in a second or less.

They are of steps as the paper counts them, and of relay's plain sweeps.
"""

_CHAIN_RUNS = {True: 10_000, False: 5000}
"""Runs to compare with an exact mean, with ``full`` and without."""

_ATTACKED = (8, 16, 32, 64, 128, 256, 512, 1024)
"""The g = d where two-hop algorithms are attacked. The last takes longer than all others."""

_OTHER_RATIOS = (1, 2, 4, 16)
_OTHER_GROUPS = (4, 16, 64)
_NO_RIVALS = frozenset({"aks", "direct"})
"""Deterministic routers that are not comparable with the paper's rival."""

_MOST_EXECUTED = {True: 2**25, False: 2**20}
"""Processors times slots of a run without coins, exactly known or not: a budget of minutes."""


Wanted: TypeAlias = tuple[Experiment, int]
"""An experiment and the number of its runs."""


@dataclass(frozen=True)
class PaperPlan:
    """All experiments that have to be run."""

    printed: tuple[tuple[PrintedRow, Wanted], ...]
    """The rows of the paper, and the runs to compare with each."""
    rivals: tuple[tuple[PrintedRow, Wanted], ...]
    """Deterministic routers on the networks of the paper."""
    routers: tuple[Wanted, ...]
    """Every router and variant on networks small enough to execute every message."""
    relay: tuple[Wanted, ...]
    """Our own router on the networks of the paper, and on some with d < g."""
    exact: tuple[Wanted, ...]
    """Both randomized routers on networks so small that the distribution of steps is known."""
    attacked: tuple[int, ...]
    """The g = d on which two-hop algorithms are attacked."""
    max_n: int

    @cached_property
    def wanted(self) -> list[Wanted]:
        """All experiments, the small networks first."""
        pairs = [wanted for _, wanted in (*self.printed, *self.rivals)]
        all_of_them = (*pairs, *self.routers, *self.relay, *self.exact)
        return sorted(all_of_them, key=lambda pair: pair[0].network.n)

    @property
    def left_out(self) -> int:
        """The number of the paper's rows that are too large to be run."""
        return len(printed_rows()) - len(self.printed)


def make_plan(runs: int | None = None, max_n: int | None = None, full: bool = False) -> PaperPlan:
    """Plan all runs, and refuse parameters out of range before any work.

    Raises
    ------
    InputError
        If a parameter is out of range, or ``runs`` is given together with ``full``, which chooses
        the runs of every row itself.
    """
    if full and runs is not None:
        raise wrong("runs", runs, "full")(
            "full = True chooses the runs of every row itself; give one of the two."
        )
    if runs is not None and whole_number("runs", runs, 1, MOST_RUNS) % SHARD_RUNS:
        raise wrong("runs", runs)("it must be a multiple of ten; give 10, 20, 30, …")
    if max_n is not None and not SMALLEST <= whole_number("max_n", max_n) <= LARGEST:
        raise wrong("max_n", max_n)(
            f"it must be from {SMALLEST} to {LARGEST:,}, the sizes of the paper's networks."
        )
    largest = max_n or LARGEST
    rows = [row for row in printed_rows() if row.network.n <= largest]
    networks = [row.network for row in rows]
    others = [network for network in _FEWER_THAN_GROUPS if network.n <= largest]
    few = min(runs or SHARD_RUNS, SHARD_RUNS)
    attacked = _ATTACKED if full else _ATTACKED[:-1]
    return PaperPlan(
        # The paper's tables count survivors of slots 1 and 2.
        printed=tuple(
            (row, (Experiment(net.d, net.g, variant="idealized"), runs or _runs(net, full)))
            for row, net in zip(rows, networks, strict=True)
        ),
        rivals=tuple((row, rival) for row in rows for rival in _rivals(row.network, few)),
        routers=tuple(_others(largest, runs or RUNS)),
        relay=tuple(_relay(network, runs, full) for network in (*networks, *others)),
        exact=tuple(
            (Experiment(d, g, router=router, variant=variant), runs or _CHAIN_RUNS[full])
            for (router, variant), sizes in _CHAINS.items()
            for d, g in sizes
            if d * g <= largest
        ),
        attacked=tuple(g for g in attacked if g * g <= largest),
        max_n=largest,
    )


def heavy_tailed(network: Network) -> bool:
    """Return whether a few runs take many times the steps of the others.

    After the last thinned step a group should have at most g packets left. With few groups and
    a long thinning, d = 16g and g ≤ 8, chance often leaves it more: then it stalls, as couplers
    collide nearly always. A hundred runs mostly miss the few that stall for hundreds of steps, so
    mean and sd are both too small, and a t test is not valid.
    """
    return network.g <= 8 and network.d >= 16 * network.g


def _runs(network: Network, full: bool) -> int:
    """Return many runs on small networks; on large ones as many as time allows."""
    return _VERY_MANY if heavy_tailed(network) else _affordable(network, full)


def _affordable(network: Network, full: bool) -> int:
    most = max(SHARD_RUNS, _BUDGET // network.n // SHARD_RUNS * SHARD_RUNS)
    return max(RUNS, min(_MANY, most)) if full else min(_MANY, most)


def _relay(network: Network, runs: int | None, full: bool) -> Wanted:
    """Plan runs of relay with its own schedule; few where it is direct and never varies."""
    experiment = Experiment(network.d, network.g, router="relay")
    few = 2 * SHARD_RUNS
    enough = few if experiment.variant == "direct" else max(few, _affordable(network, full))
    return experiment, runs or enough


def _rivals(network: Network, runs: int) -> Iterator[Wanted]:
    for router in shipped_routers():
        rival = router.online and router.randomness == "none" and router.name not in _NO_RIVALS
        if rival and _can_be_executed(router, network):
            yield from _variants(router, network, runs)


def _can_be_executed(router: Router, network: Network) -> bool:
    """Return whether it is cheap enough; by n alone if it is randomized or has no forecast."""
    expected = forecast(router, network)
    if expected is None or router.randomness != "none":
        return network.n <= _MOST_MESSAGES
    return expected.slots * network.n <= _MOST_EXECUTED[expected.exact]


def _others(max_n: int, runs: int) -> Iterator[Wanted]:
    for network in (Network(ratio * g, g) for ratio in _OTHER_RATIOS for g in _OTHER_GROUPS):
        if network.n <= min(max_n, _MOST_MESSAGES):
            for router in shipped_routers():
                if _can_be_executed(router, network):
                    enough = SHARD_RUNS if router.randomness == "none" else runs
                    yield from _variants(router, network, enough)


def _variants(router: Router, network: Network, runs: int) -> Iterator[Wanted]:
    """Every variant of a router that applies to the network, its own choice among them."""
    names = [name for name, variant in router.variants.items() if variant.obstacle(network) is None]
    if router.parse_variant is not None:
        names.append(router.choose_variant(None, network))
    for name in dict.fromkeys(names):
        experiment = Experiment(network.d, network.g, router=router, variant=name)
        # every message executed:
        slow = router.parse_variant is not None and name in router.variants
        yield experiment, min(runs, SHARD_RUNS) if slow else runs
