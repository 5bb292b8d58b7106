"""The locality check: every processor must act only on what it knows.

A router is one program for all processors, and nothing stops it from looking at another
processor's destination or coins. The check runs it on two instances that differ only at a few
processors X, in their packets' destinations or in their coins. A processor of X, or one that has
heard something different because of X, is in the causal cone and may act differently. Every other
processor has seen exactly the same in both runs and must do exactly the same: send, listen, store,
drop and deliver. If it does not, it used knowledge that no message gave it.

The cone is the smallest possible: a processor enters it when what it hears differs, silence
included, and not merely when a processor of the cone could have reached it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from popsnet.coins import Coins
from popsnet.errors import InputError
from popsnet.faults import ActiveFaults, Faults
from popsnet.faults.faults import faults_of
from popsnet.machine import Machine
from popsnet.memory import Memory
from popsnet.network import Network
from popsnet.permutations import make_permutation
from popsnet.routing import Route, Router, find_variant
from popsnet.schedules.demand import Demand
from popsnet.slot import Ints
from popsnet.testing.cone import (
    Journal,
    LocalityError,
    Moment,
    PrivateCoins,
    acts_in,
    heard_in,
    pairs_by_chance,
    require_same_acts,
)


class _Journal(Journal, Memory):
    """The machine's memory with a journal."""

    def drop_copies(self) -> None:
        """Free the buffers at the end of a run, which is not an act of a processor."""
        entries = self.turn_page()
        super().drop_copies()
        self._entries = entries

    def moment(self, name: tuple[str, int]) -> Moment:
        """Return what was done since the last call."""
        return Moment((*name, "after it"), self._slot, self.turn_page(), {})


def check_locality(
    router: str | Path | Router | Route,
    network: Network,
    *,
    variants: Sequence[str] | None = None,
    seed: int = 0,
    pairs: int | None = None,
    buffers: int | None = None,
    max_slots: int = 1000,
    demand: Demand | None = None,
    faults: Faults | str | None = None,
) -> None:
    """Check that every processor acts only on what it knows.

    Parameters
    ----------
    router : str, Path, Router or function
        The name of a router (or ``NAME:VARIANT``), a file ``name.py`` that registers one, a
        :class:`Router`, or a generator function that is not registered.
    network : Network
        The network to run it on.
    variants : sequence of str, optional
        The variants to check; a schedule is one, too. By default all named variants that apply to
        the network, and the default variant. Idealized variants are left out, since they assume
        what no processor knows.
    seed : int
        The seed of the permutation and the coins.
    pairs : int, optional
        The number of pairs of processors to change. By default n - 1 or n pairs, so that every
        processor is in two of them, or nearly so.
    buffers : int, optional
        The packets that a processor may hold; required for a generator function.
    max_slots : int
        Compare at most this many slots.
    demand : Demand, optional
        Check the variants that serve demands, on this one, instead of those for permutations.
    faults : Faults or str, optional
        Run on a network with these faults, the same in all runs. The variants must survive them.

    Raises
    ------
    LocalityError
        If a processor uses knowledge that it has not received; the message names the slot and
        the processor.

    Notes
    -----
    The router runs on a random permutation, and again twice for each pair of processors: with
    their destinations exchanged, and with their coins changed. That is O(n) runs of the router.

    Runs are compared while both go on, because when a run ends is known only to the simulation. So
    is whether any processor has something to send, and a router may leave out slots in which none
    has. A slot is compared with the slot of the same phase that occurred as often before. In a slot
    that only one of the runs has, no processor outside the cone may send.

    A pass covers this network only. Where no messages collide, a router passes even if its sources
    assume that their packets arrive. Check several networks, among them one on which messages
    collide and one with d > g.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.testing import check_locality
    >>> check_locality("mei-rizzi", Network(3, 3))

    On a demand, with two packets from processor 0:

    >>> import numpy as np
    >>> from popsnet.schedules import Demand
    >>> demand = Demand(Network(2, 2), np.array([0, 0, 2]), np.array([3, 1, 1]))
    >>> check_locality("direct", Network(2, 2), demand=demand)
    """
    if demand is not None:
        if faults:
            raise InputError("faults cannot be combined with a demand; leave one of them out.")
        _check_demand(router, demand, variants, seed, pairs, max_slots)
        return
    active = None
    if faults:
        active = partial(ActiveFaults, network, faults_of(faults), Coins(seed))
    routes = _routes(router, network, variants, buffers)
    n = network.n
    destination = make_permutation("random", network, Coins(seed))
    for name, route, capacity in routes:
        run = partial(_moments, network, route, capacity, max_slots, None, faults=active)
        unchanged = list(run(destination, PrivateCoins(seed, n)))
        for x, y in pairs_by_chance(n, seed, pairs):
            exchanged = destination.copy()
            exchanged[[x, y]] = exchanged[[y, x]]
            for kind, other in (
                ("destinations", run(exchanged, PrivateCoins(seed, n))),
                ("coins", run(destination, PrivateCoins(seed, n, [x, y]))),
            ):
                moments = _side_by_side(unchanged, list(other))
                require_same_acts(name, kind, {x, y}, moments)


def _check_demand(
    router: str | Path | Router | Route,
    demand: Demand,
    variants: Sequence[str] | None,
    seed: int,
    pairs: int | None,
    max_slots: int,
) -> None:
    """Compare runs on a demand with runs on one in which two processors have other packets."""
    found, named = find_variant(router)
    network, n = demand.network, demand.network.n
    for name in [named] if named is not None else variants or list(found.relations):

        def run(changed: Demand, coins: Coins, name: str = name) -> list[Moment]:
            variant = found.serve(name, changed)
            capacity = found.buffers_on(network, variant)
            ends = changed.source, changed.destination
            return list(_moments(network, variant.route, capacity, max_slots, *ends, coins))

        unchanged = run(demand, PrivateCoins(seed, n))
        for x, y in pairs_by_chance(n, seed, pairs):
            for kind, other in (
                ("destinations", run(_exchanged(demand, x, y), PrivateCoins(seed, n))),
                ("packets", run(_swapped(demand, x, y), PrivateCoins(seed, n))),
                ("coins", run(demand, PrivateCoins(seed, n, [x, y]))),
            ):
                moments = _side_by_side(unchanged, other)
                require_same_acts(f"{found.name} {name}", kind, {x, y}, moments)


def _exchanged(demand: Demand, x: int, y: int) -> Demand:
    """Return the demand with the destinations of the packets of two processors in another order."""
    theirs = np.flatnonzero((demand.source == x) | (demand.source == y))
    destination = demand.destination.copy()
    destination[theirs] = destination[theirs[::-1]]
    return Demand(demand.network, demand.source, destination)


def _swapped(demand: Demand, x: int, y: int) -> Demand:
    """Return the demand in which two processors have each other's packets."""
    source = demand.source.copy()
    source[demand.source == x], source[demand.source == y] = y, x
    return Demand(demand.network, source, demand.destination)


def _routes(
    router: str | Path | Router | Route,
    network: Network,
    variants: Sequence[str] | None,
    buffers: int | None,
) -> list[tuple[str, Route, int]]:
    """Return the routes to check, each with its name and the packets a processor may hold."""
    if isinstance(router, str | Path):
        router, named = find_variant(router)
        variants = variants if named is None else [named, *(variants or ())]
    if isinstance(router, Router):
        return [
            (f"{router.name} {name}", router.variant(name).route, router.buffers_on(network, name))
            for name in variants or _variants(router, network)
        ]
    if buffers is None:
        raise TypeError(
            "A generator function that is not registered needs buffers, the number of packets that "
            "a processor may hold; give buffers=2, for example."
        )
    return [(getattr(router, "__name__", "the router"), router, buffers)]


def _variants(router: Router, network: Network) -> list[str]:
    """Return the named variants that apply, and the default, which raises if it does not."""
    named = {
        name
        for name, variant in router.variants.items()
        if variant.obstacle(network) is None and not variant.idealized
    }
    return sorted(named | {router.choose_variant(None, network)})


def _moments(
    network: Network,
    route: Route,
    buffers: int,
    max_slots: int,
    start: Ints | None,
    destination: Ints,
    coins: Coins,
    faults: Callable[[], ActiveFaults] | None = None,
) -> Iterator[Moment]:
    """Run the router and yield, in turn, what processors did in each slot and after it."""
    destination = destination.copy()
    destination.flags.writeable = False
    active = None if faults is None else faults()
    machine = Machine(network, destination, buffers, start, faults=active)
    machine.memory = journal = _Journal(network, destination, buffers, start)
    running = route(network, destination, coins, journal)
    slot = next(running, None)
    yield journal.moment(("start", 0))
    times: Counter[str] = Counter()
    while slot is not None and machine.counters.slots < max_slots:
        name = (slot.phase, times[slot.phase])
        times[slot.phase] += 1
        inbox = machine.execute(slot)
        yield Moment((*name, "itself"), machine.counters.slots, acts_in(slot), heard_in(inbox))
        try:
            slot = running.send(inbox)
        except StopIteration:
            slot = None
        yield journal.moment(name)


def _side_by_side(
    one: list[Moment], other: list[Moment]
) -> Iterator[tuple[Moment | None, Moment | None]]:
    """Yield the moments of two runs in order, with None for a slot that one run left out."""
    names_of_one, names_of_other = ({moment.name for moment in run} for run in (one, other))
    i = j = 0
    while i < len(one) and j < len(other):
        a, b = one[i], other[j]
        if a.name == b.name:
            yield a, b
            i, j = i + 1, j + 1
        elif a.name not in names_of_other:
            yield a, None
            i += 1
        elif b.name not in names_of_one:
            yield None, b
            j += 1
        else:
            raise LocalityError(
                f"Two runs have the phases {a.name[0]!r} and {b.name[0]!r} in different order. The "
                "order of phases may depend only on what processors know."
            )
