"""relay: our own router. Public coins, one hop that contends, acks by the window; any d and g."""

from __future__ import annotations

import re
from collections.abc import Generator
from functools import partial

import numpy as np

from popsnet.coins import Coins
from popsnet.errors import InputError
from popsnet.memory import Memory
from popsnet.network import Network
from popsnet.routing.broadcast import broadcast
from popsnet.routing.direct import direct
from popsnet.routing.relay.census import census
from popsnet.routing.relay.planner import plan
from popsnet.routing.relay.roll_call import roll_call
from popsnet.routing.relay.schedule import RelaySchedule, parse_schedule
from popsnet.routing.relay.state import RelayState
from popsnet.routing.router import Variant, register, register_variant
from popsnet.slot import Inbox, Ints, Slot, Slots

__all__ = ["SEED", "by_census", "by_roll_call", "expected_slots", "follow", "one_hop"]

SEED = "relay seed"
"""The purpose of the coin that makes the public seed."""

_MOST_COUNTERS = 2**28
"""Of the census, over all sets: a simulation holds them all."""


def follow(
    schedule: RelaySchedule, network: Network, destination: Ints, coins: Coins, memory: Memory
) -> Slots:
    """Route any permutation by the stages of a schedule; O(d/g + log log g) slots on average.

    In the first slot processor 0 tells every processor a random seed, which all stages take
    their public bijections from. Then come the stages, the last of them again and again, until
    every source knows that its packet has arrived. For d = g a plain sweep takes the undelivered
    fraction from ρ to ρ(1 - e^-ρ) in three slots. No stage can lose a packet; each says why.

    As in mei-rizzi, the run ends when every source has its ack, and only the simulation sees that.
    After a shower the global OR is clean and every processor knows.
    """
    state = yield from _begin(network, destination, coins, memory)
    for state.step, stage in enumerate(schedule):
        if not state.pending.size:
            return
        yield from stage.run(state)


def _begin(
    network: Network, destination: Ints, coins: Coins, memory: Memory
) -> Generator[Slot, Inbox, RelayState]:
    word = int(coins.words(SEED, 0, np.arange(1))[0])
    seed = yield from broadcast(network, word, phase="seed")
    return RelayState(network, destination, coins, memory, seed)


def _scheduled(text: str) -> tuple[str, Variant]:
    """The variant that follows a schedule, under its canonical text."""
    try:
        schedule = parse_schedule(text)
    except InputError as error:
        if not re.fullmatch(r"[a-z _-]+", text):
            raise
        raise InputError(f"{error} Variants with a name: direct, roll-call, census.") from None
    route = partial(follow, schedule)
    variant = Variant(route, schedule.obstacle, schedule=schedule, buffers=schedule.buffers)
    return str(schedule), variant


def expected_slots(network: Network) -> float:
    """Slots that relay is expected to take on a network: the plan's, or one hop's if fewer."""
    return min(plan(network).slots, max(network.d, network.g))


def _default(network: Network) -> str:
    """The plan, or one hop where that is as short: max(d, g) slots."""
    best = plan(network)
    return "direct" if max(network.d, network.g) <= best.slots else str(best.schedule)


def _for_census(network: Network) -> str | None:
    if network.d % network.g or network.d < network.g:
        return "the census needs d to be a multiple of g. Give a schedule instead, or nothing."
    if network.g**3 > _MOST_COUNTERS:
        return f"the census keeps g^3 = {network.g**3:,} counters, more than {_MOST_COUNTERS:,}."
    return None


def _for_roll_call(network: Network) -> str | None:
    return None if network.d == network.g else "roll call needs d = g."


@register(
    "relay",
    variant="direct",
    default=_default,
    schedules=_scheduled,
    summary="public coins; one contended hop to a relay that parks, acks by the window",
    slots="about 3 log2 log2 g + 8 at d = g, 6 d/g at d >> g; the plan says how many to expect",
    buffers=2,
    memory="2 + ⌈d/g⌉ packets a processor; 2 + y for XY(x,y), census one more, roll call g + 2",
    messages="a seed of 64 bits, maps of a window's w bits, bits; census g counters of log2 d bits",
    randomness="a public seed, private coins",
    reference="popsnet's own; docs/explanation/relay.md",
)
def one_hop(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """One hop, max(d, g) slots, best on tiny networks; see :func:`direct`."""
    return direct(network, destination, coins, memory)


@register_variant(
    "relay", "roll-call", obstacle=_for_roll_call, buffers=lambda network: network.g + 2
)
def by_roll_call(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """At most 2g slots; see :func:`roll_call`."""
    return roll_call(network, destination, coins, memory)


@register_variant(
    "relay", "census", obstacle=_for_census, buffers=lambda network: 3 + network.blocks
)
def by_census(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """About 3d/g slots where a message may hold g counters; see :func:`census`."""
    state = yield from _begin(network, destination, coins, memory)
    while state.pending.size:
        yield from census(state)
        state.step += 1
