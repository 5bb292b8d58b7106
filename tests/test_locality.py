"""The locality check passes honest routers and catches those that cheat."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import slot_of
from popsnet import Coins, Kind, Memory, Network, Router
from popsnet.routing import Route, Slots, all_routers
from popsnet.slot import Ints
from popsnet.testing import LocalityError, check_locality


@pytest.mark.parametrize("router", all_routers(), ids=lambda router: router.name)
@pytest.mark.parametrize(("d", "g"), [(2, 2), (3, 3), (6, 6), (3, 5), (5, 3)])
def test_the_routers_that_ship_are_local(router: Router, d: int, g: int) -> None:
    if router.obstacle(Network(d, g)) is None:
        check_locality(router, Network(d, g), pairs=15)


def knows_its_source(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Cheats as a receiver: every destination listens to where its packet comes from."""
    everybody = np.arange(network.n)
    source = np.argsort(destination)
    for l in range(network.d):  # noqa: E741
        senders = everybody[everybody % network.d == l]
        awaiting = destination[senders]
        inbox = yield slot_of(
            senders=senders,
            groups=destination[senders] // network.d,
            packets=senders,
            listeners=awaiting,
            listened=source[awaiting] // network.d,
        )
        memory.drop(senders, senders)
        memory.deliver(inbox.receivers, inbox.packets)


def avoids_collisions(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Cheats as a sender: a packet waits if a neighbour's is for the same group."""
    everybody = np.arange(network.n)
    key = everybody // network.d * network.g + destination // network.d
    alone = np.bincount(key, minlength=network.couplers)[key] == 1
    inbox = yield slot_of(
        senders=everybody[alone],
        groups=destination[alone] // network.d,
        packets=everybody[alone],
        listeners=everybody,
        listened=everybody % network.g,
    )
    mine = inbox.destinations == inbox.receivers
    memory.deliver(inbox.receivers[mine], inbox.packets[mine])


def sees_coins(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Cheats with coins: only the smallest draw of a group sends."""
    everybody = np.arange(network.n)
    drawn = coins.draws(1000, "turn", 0, everybody).reshape(network.g, network.d)
    winner = drawn.argmin(axis=1) + np.arange(network.g) * network.d
    yield slot_of(senders=winner, groups=destination[winner] // network.d, packets=winner)
    yield slot_of()


def drops_by_hearsay(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Cheats in its memory only: drops its packet if somebody else's is for the same group."""
    everybody = np.arange(network.n)
    yield slot_of()
    crowded = np.bincount(destination[: network.d] // network.d, minlength=network.g) > 1
    out = everybody[crowded[destination // network.d]]
    memory.drop(out, out)
    yield slot_of()


def whispers(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Cheats in the contents of a message: processor 1 says what only processor 0 knows."""
    yield slot_of(
        senders=[1],
        groups=[0],
        kind=Kind.CONTROL,
        contents=destination[:1].copy(),
    )


@pytest.mark.parametrize(
    "cheat", [knows_its_source, avoids_collisions, sees_coins, drops_by_hearsay, whispers]
)
def test_a_router_that_cheats_is_caught(cheat: Route) -> None:
    with pytest.raises(LocalityError, match="it acts differently when only"):
        check_locality(cheat, Network(4, 4), buffers=2, pairs=60)


def spreads_a_rumour(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Honest: processor 0 tells everybody its destination, and all act on what they heard."""
    everybody = np.arange(network.n)
    inbox = yield slot_of(
        senders=[0],
        groups=np.arange(network.g),
        fanout=[network.g],
        kind=Kind.CONTROL,
        contents=destination[:1],
        listeners=everybody,
        listened=np.zeros(network.n, dtype=int),
    )
    assert inbox.contents is not None
    yield slot_of(listeners=inbox.receivers, listened=inbox.contents % network.g)


def acts_on_silence(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Honest: processor 0 speaks or not by its destination, and silence is news as well."""
    speaks = destination[0] % 2 == 0
    inbox = yield slot_of(
        senders=[0] if speaks else [],
        groups=[1] if speaks else [],
        kind=Kind.CONTROL,
        listeners=[network.d],
        listened=[0],
    )
    if not len(inbox.receivers):
        yield slot_of(senders=[network.d], groups=[0], packets=[network.d])
    else:
        yield slot_of()


@pytest.mark.parametrize("honest", [spreads_a_rumour, acts_on_silence])
def test_what_was_heard_may_be_used(honest: Route) -> None:
    check_locality(honest, Network(4, 4), buffers=2, pairs=60)


def test_a_bare_function_needs_its_number_of_buffers() -> None:
    with pytest.raises(TypeError, match="buffers is needed"):
        check_locality(whispers, Network(2, 2))
