"""The locality check passes honest routers and catches those that cheat."""

from __future__ import annotations

import re

import numpy as np
import pytest

from popsnet import Coins, InputError, Kind, Memory, Network, Router
from popsnet.model.slot import Ints, Slots
from popsnet.programs.router import Route, all_routers, get_router
from popsnet.testing import LocalityError, check_locality
from popsnet.testing.cone import in_words
from tests.conftest import slot_of
from tests.each import each, sampled

CASES = [
    (router, network)
    for router in all_routers()
    for network in (Network(2, 2), Network(3, 3), Network(4, 4), Network(3, 5), Network(5, 3))
    if router.online and next(iter(router.variants.values())).obstacle(network) is None
]


@each(("router", "network"), sampled(CASES, len(CASES) // 3))
def test_the_routers_that_ship_are_local(router: Router, network: Network) -> None:
    check_locality(router, network)


def test_what_is_idealized_is_not_local() -> None:
    """Its sources know without an ack that their packets got through."""
    idealized = get_router("mei-rizzi").variants["idealized"].route
    with pytest.raises(LocalityError, match="it acts differently when only"):
        check_locality(idealized, Network(5, 3), buffers=3)


@pytest.mark.parametrize("network", [Network(3, 3), Network(3, 5), Network(5, 3)], ids=str)
def test_what_is_off_line_is_not_local(network: Network) -> None:
    """It uses the destinations of all packets for every one of them."""
    with pytest.raises(LocalityError, match="it acts differently when only"):
        check_locality(get_router("offline"), network)


def test_a_router_is_not_checked_where_it_does_not_apply() -> None:
    with pytest.raises(InputError, match="does not apply"):
        check_locality(get_router("mei-rizzi"), Network(2, 3))


def test_a_name_is_enough() -> None:
    check_locality("relay:S", Network(2, 2))
    with pytest.raises(LocalityError, match="offline standard, slot 1"):
        check_locality("offline", Network(3, 3))


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
    yield slot_of(senders=[1], groups=[0], kind=Kind.CONTROL, contents=destination[:1].copy())


def drops_at_the_end(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Cheats after the last slot."""
    yield slot_of()
    if destination[5] % 2:
        memory.drop(np.array([1]), np.array([1]))


def stores_by_hearsay(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Cheats in what it stores: processor 4 keeps what it heard if processor 9 likes it."""
    inbox = yield slot_of(senders=[0], groups=[1], packets=[0], listeners=[4], listened=[0])
    if destination[9] % 2:
        memory.store(inbox.receivers, inbox.packets)
    yield slot_of()


def public_coins(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Cheats with a key that all share and nobody has broadcast."""
    yield slot_of(listeners=[3], listened=[coins.key("all", 0) % network.g])


def one_of_many(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Cheats once, at one of many processors."""
    yield slot_of(listeners=[17], listened=[destination[200] % network.g])


@each(
    ("cheat", "g"),
    [
        (knows_its_source, 4),
        (avoids_collisions, 4),
        (sees_coins, 4),
        (drops_by_hearsay, 4),
        (drops_at_the_end, 4),
        (stores_by_hearsay, 4),
        (whispers, 4),
        (public_coins, 4),
        (one_of_many, 16),
    ],
)
def test_a_router_that_cheats_is_caught(cheat: Route, g: int) -> None:
    with pytest.raises(LocalityError, match="it acts differently when only"):
        check_locality(cheat, Network(g, g), buffers=2)


def coins_of_nobody(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Cheats with the coins of a processor that does not exist."""
    drawn = coins.draws(network.g, "all", 0, np.array([network.n]))
    yield slot_of(listeners=[3], listened=drawn)


def word_of_nobody(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Cheats in the same way, with one word."""
    yield slot_of(listeners=[3], listened=[coins.word("all", 0, network.n) % network.g])


@each("cheat", [coins_of_nobody, word_of_nobody])
def test_coins_that_belong_to_nobody_are_refused(cheat: Route) -> None:
    with pytest.raises(LocalityError, match="outside 0 to 15"):
        check_locality(cheat, Network(4, 4), buffers=2)


def overwrites(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Would make all instances the same."""
    destination[:] = np.arange(network.n)
    yield slot_of()


def test_an_instance_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        check_locality(overwrites, Network(4, 4), buffers=2)


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


def says_nothing_much(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Honest: what is sent is not equal to itself, but it is the same."""
    yield slot_of(senders=[0], groups=[0], kind=Kind.CONTROL, contents=np.array([np.nan]))


def draws_its_own(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Honest: every processor asks for its own coins, alone."""
    processors = range(network.n)
    words = [coins.word("word", 0, processor) % network.g for processor in processors]
    yield slot_of(listeners=processors, listened=words)
    drawn = [coins.draw(network.g, "draw", 0, processor) for processor in processors]
    yield slot_of(listeners=processors, listened=drawn)


@pytest.mark.parametrize(
    "honest", [spreads_a_rumour, acts_on_silence, says_nothing_much, draws_its_own]
)
def test_what_was_heard_may_be_used(honest: Route) -> None:
    check_locality(honest, Network(4, 4), buffers=2)


def test_a_bare_function_has_the_buffers_that_it_has_elsewhere() -> None:
    report = check_locality(says_nothing_much, Network(2, 2))
    assert re.search(r"says_nothing_much standard: \d+ comparisons, no difference", report.title)


def test_the_error_says_in_words_what_the_processor_does() -> None:
    with pytest.raises(LocalityError) as caught:
        check_locality(drops_at_the_end, Network(4, 4), buffers=2)
    drops = re.search(
        r"of processors \d+ and \d+ differ, though it has heard nothing of them: it (.*); "
        r"otherwise it (.*)\. A processor may",
        str(caught.value),
    )
    assert drops is not None
    assert set(drops.groups()) == {"drops packet 1", "does nothing"}
    assert (
        in_words(
            [
                ("send", [0, 2], "control", None, b"\x05"),
                ("send", [1], "ack", 3, b""),
                ("send", [1], "packet", 4, b""),
                ("listen", 2),
            ]
        )
        == "sends a control message to groups 0, 2 (contents 05), sends an ack for packet 3 to "
        "group 1, sends packet 4 to group 1, listens to group 2"
    )
