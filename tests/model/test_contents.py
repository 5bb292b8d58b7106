"""Messages with lists of different lengths: arrays of lists, slots, and a router that uses them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from popsnet import (
    Coins,
    InputError,
    Kind,
    Machine,
    Memory,
    Network,
    RaggedArray,
    Rule,
    RuleViolation,
    Slot,
    check_trace,
    register,
    route,
)
from popsnet.model.slot import Ints, Slots
from popsnet.programs.router import unregister
from popsnet.testing import LocalityError, check_locality
from popsnet.trace import Event
from tests.each import each

LISTS = [[7, 8, 9], [], [5], [6, 4]]


def width(numbers: int) -> int:
    return max(1, (numbers - 1).bit_length())


def ranked(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Every group lists its packets for each other group; their ranks there are their turns."""
    d, g, every = network.d, network.g, network.processors
    group, index = network.group(every), network.index(every)
    known = np.full((network.n, d), -1)
    for w in range(d):
        speakers = every[index == w]
        inbox = yield Slot.send_control(
            speakers, group[speakers], group, contents=destination[speakers],
            bits=width(network.n), phase="announce", conflict_free=True,
        )  # fmt: skip
        known[inbox.receivers, w] = inbox.contents
    leaders = every[index == 0]
    to, before = destination // d, np.arange(d) < index[:, None]
    rank = (before & (known >= 0) & (known // d == to[:, None])).sum(axis=1)
    source, turn = np.full((2, network.n), -1)
    for k in range(g):
        others = (group[leaders] + k) % g
        lists = [
            [(known[leader, w] % d, w) for w in range(d) if known[leader, w] // d == other]
            for leader, other in zip(leaders.tolist(), others.tolist(), strict=True)
        ]
        inbox = yield Slot.send_control(
            leaders, others, (group - k) % g, contents=RaggedArray.of(lists),
            bits=(width(d), width(d)), phase="list", conflict_free=True,
        )  # fmt: skip
        for receiver, items in zip(inbox.receivers.tolist(), inbox.contents or (), strict=True):
            for place, (own, _) in enumerate(items.tolist()):
                if own == index[receiver]:
                    source[receiver], turn[receiver] = (group[receiver] - k) % g, place
    for r in range(d):
        sends, listens = every[rank == r], every[turn == r]
        inbox = yield Slot.send_packets(
            sends, to[sends], (listens, source[listens]), phase="send", conflict_free=True
        )
        memory.drop(sends, sends)
        mine = inbox.destinations == inbox.receivers
        memory.deliver(inbox.receivers[mine], inbox.packets[mine])


SHAPES = (1, 1), (1, 4), (4, 1), (2, 5), (5, 3), (4, 4)
"""POPS(d, g): one group, one processor per group, d below and above g."""


@pytest.fixture(autouse=True, scope="module")
def registered() -> Iterator[None]:
    register("ranked", summary="", slots="2d + g", buffers=2)(ranked)
    yield
    unregister("ranked")


def test_every_list_is_the_one_that_was_given() -> None:
    lists = RaggedArray.of(LISTS)
    assert lists.tolist() == LISTS
    assert [row.tolist() for row in lists] == LISTS
    assert (len(lists), lists.size, lists.fields) == (4, 6, 1)
    for rows in (np.array([3, 1, 3]), np.array([True, False, False, True]), slice(1, 3)):
        places = np.arange(4)[rows].tolist()
        chosen = lists[rows]
        assert chosen.tolist() == [LISTS[place] for place in places]
        assert chosen.numbers.tolist() == places
        assert chosen.lengths.tolist() == [len(LISTS[place]) for place in places]
        assert chosen.values is lists.values, "no list is copied"
        flat = [(row, number) for row, place in enumerate(places) for number in LISTS[place]]
        assert list(zip(*(part.tolist() for part in chosen.flatten()), strict=True)) == flat
    assert lists[np.array([3, 1])][np.array([True, False])].tolist() == [[6, 4]]


def test_values_cannot_be_changed_by_those_who_hear_them() -> None:
    values = np.arange(3)
    lists = RaggedArray(values, np.array([0, 3]))
    with pytest.raises(ValueError, match="read-only"):
        lists[0][0] = 5
    values[0] = 5  # its owner can


@each(
    ("values", "offsets", "reason"),
    [
        ([1, 2, 3], [0, 2], "from 0 to 2; they must go from 0 to the number of values, 3"),
        ([1, 2, 3], [1, 3], "from 1 to 3"),
        ([1, 2, 3], [0, 4], "from 0 to 4"),
        ([1, 2, 3], [0, 2, 1, 3], "never fall"),
        ([1, 2, 3], [], "one more than there are lists"),
        ([1, 2, 3], [0.0, 3.0], "integers"),
        ([1, 2, 3], [[0, 3]], "one dimension"),
        (["a", "b"], [0, 2], "must be numbers"),
        (np.array([[1], [2, 3]], dtype=object), [0, 2], "must be numbers"),
        (np.zeros((2, 2, 2)), [0, 2], "must be numbers, in one dimension"),
        (np.zeros((2, 0)), [0, 2], "items of several fields"),
        (3, [0, 1], "must be numbers, in one dimension"),
    ],
)
def test_offsets_that_do_not_fit_are_refused(values: Any, offsets: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        RaggedArray(np.asarray(values), np.asarray(offsets))


def test_fractions_are_not_cut_off() -> None:
    with pytest.raises(ValueError, match="list 1 has numbers of type float64, which are not of"):
        RaggedArray.of([[1], [1.5]])
    assert RaggedArray.of([[1], [], [1.5]], dtype=float).tolist() == [[1.0], [], [1.5]]


def control(contents: Any, **more: Any) -> Slot:
    """Message i goes from processor i to group 0 on a coupler of its own."""
    senders = np.arange(len(contents)) * 2
    return Slot.send_control(senders, senders * 0, contents=contents, **more)


ITEMS = RaggedArray(np.array([[3, 1], [2, 0], [7, 1]]), np.array([0, 2, 2, 3]))

BITS: dict[str, tuple[Slot, int, int]] = {
    "bits per number": (control(RaggedArray.of(LISTS), bits=4), 12, 24),
    "bits per field": (control(ITEMS, bits=(3, 1)), 8, 12),
    "the same bits for each field": (control(ITEMS, bits=3), 12, 18),
    "bits of the type": (control(RaggedArray.of(LISTS, np.int16)), 48, 96),
    "some of the messages": (control(ITEMS, bits=(3, 1)).only(np.array([False, True, True])), 4, 4),
    "lists of others": (control(ITEMS[np.array([0, 0])], bits=(3, 1)), 8, 16),
    "a large list of another": (control(ITEMS[np.array([1, 0, 1])], bits=(2, 1)), 6, 6),
    "empty lists of several fields": (control(RaggedArray.of([[], []]), bits=(3, 1)), 0, 0),
    "no messages": (control(RaggedArray.of([]), bits=3), 0, 0),
    "a row of an array": (control(np.array([[1, 2], [3, 4]]), bits=6), 6, 12),
    "packets and acks": (
        Slot(senders=np.array([0, 1, 2]), groups=np.array([0, 1, 0]), packets=np.array([0, 1, 2]),
             kind=np.array([Kind.PACKET, Kind.ACK, Kind.ACK])), 1, 2,
    ),
}  # fmt: skip
"""A slot, the most bits in one of its messages, and the bits in all of them."""


@each("name", BITS)
def test_a_message_has_as_many_bits_as_its_items(name: str) -> None:
    slot, most, together = BITS[name]
    machine = Machine(Network(2, 4), np.arange(8), buffers=2)
    if (slot.kinds == Kind.CONTROL).all():
        machine.execute(slot)
        assert machine.counters.control_bits == most
    assert (slot.control_bits, slot.total_control_bits) == (most, together)


@each(
    ("slot", "sender", "detail"),
    [
        (control(RaggedArray.of([[1], [], [2, 8]]), bits=3), 4, "it sends 8 where there are 3"),
        (control(RaggedArray.of([[1], [-1]]), bits=64), 2, "it sends -1"),
        (control(ITEMS, bits=(3, 0)), 0, "it sends 1 where there are 0"),
        (control(ITEMS, bits=(2, 1)), 4, "it sends 7 where there are 2"),
        (control(ITEMS[np.array([1, 2])], bits=(2, 1)), 2, "it sends 7 where there are 2"),
    ],
)
def test_a_value_beyond_its_bits_is_refused(slot: Slot, sender: int, detail: str) -> None:
    with pytest.raises(RuleViolation, match=detail) as refused:
        Machine(Network(2, 4), np.arange(8), buffers=2).execute(slot)
    assert (refused.value.processor, refused.value.rule) == (sender, Rule.BITS)


@each(
    ("contents", "bits", "reason"),
    [
        ([[1, 2], [3]], None, r"contents is a list.*RaggedArray.of"),
        ([1, 2], 3, r"contents is a list.*numpy.array"),
        (((1, 2), (3,)), 4, "contents is a tuple"),
        (RaggedArray.of([[1], [2]]), (3, 1), "an integer per field.*which are 1 here"),
        (np.array([[1, 2], [3, 4]]), (3, 3), "it must be an integer"),
        (RaggedArray.of([[1], [2]]), -1, "at least 0"),
        (ITEMS, (3, -1), "at least 0"),
        (RaggedArray.of([[1.5], [2]], np.float64), 8, "must be integers, not of type float64"),
        (RaggedArray.of([[1], [2], [3]]), 8, "contents has 3 entries where this slot needs 2"),
    ],
)
def test_contents_that_make_no_sense_are_refused(contents: Any, bits: Any, reason: str) -> None:
    two = np.array([0, 2])
    with pytest.raises(ValueError, match=reason):
        Slot.send_control(two, two * 0, contents=contents, bits=bits)


def test_listeners_get_the_number_of_their_message_and_no_copy() -> None:
    network = Network(2, 3)
    machine = Machine(network, network.processors, buffers=2)
    lists = RaggedArray.of([[1, 2], [3], []])
    senders, listened = np.array([0, 2, 4]), np.array([2, 2, 0, 1, 1, 0])
    inbox = machine.execute(
        Slot.broadcast(senders, 3, (network.processors, listened), contents=lists, bits=2)
    )
    assert isinstance(inbox.contents, RaggedArray)
    assert inbox.contents.tolist() == [[], [], [1, 2], [3], [3], [1, 2]]
    assert inbox.contents.numbers.tolist() == listened.tolist()
    assert np.shares_memory(inbox.contents.values, lists.values)
    few = inbox.at(inbox.receivers % 2 == 1)
    assert few.contents is not None
    assert few.contents.tolist() == [[], [3], [1, 2]]


@each(("d", "g"), SHAPES)
def test_a_router_with_lists_delivers_every_packet(d: int, g: int) -> None:
    runs = route(d, g, router="ranked", runs=5)
    assert (runs.slots == 2 * d + g).all()
    assert (runs.delivered == d * g).all()
    assert not runs.collisions.any()


def test_observers_get_the_bits_of_all_messages_of_a_slot() -> None:
    seen: list[Event] = []
    runs = route(4, 4, router="ranked", permutation="identity", observers=[seen.append])
    bits = [event.control_bits for event in seen]
    # announcements of 4 bits by a processor per group; lists of 4 items with two bits per field to
    # the own group, and empty ones to the others
    assert bits == [16] * 4 + [64, 0, 0, 0] + [0] * 4
    assert runs[0].outcome.control_bits == 16


@each(("d", "g"), [(2, 3), (3, 2), (4, 4)])
def test_a_router_with_lists_is_local(d: int, g: int) -> None:
    check_locality(ranked, Network(d, g), buffers=2)


def whispers(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Processor 1 has a longer list if the packet of processor 0 goes far."""
    lists = RaggedArray.of([[0] * int(destination[0])])
    yield Slot.send_control(np.array([1]), np.array([0]), contents=lists, bits=1)


def test_the_length_of_a_list_gives_a_cheat_away() -> None:
    with pytest.raises(LocalityError, match="processor 1"):
        check_locality(whispers, Network(2, 3), buffers=2)


@each("faults", ["coupler:0-1", "processor:0 receiver:5", "loss:0.2", "transmitter:3@4 loss:0.1"])
def test_lists_are_lost_to_faults_as_other_messages(tmp_path: Path, faults: str) -> None:
    trace = tmp_path / "run.jsonl"
    runs = route(3, 3, router="ranked", faults=faults, trace=trace)
    run = runs[0].outcome
    assert run.faulty is not None
    assert run.faulty.unheard > 0
    assert run.delivered + run.lost + run.faulty.held + run.faulty.unreachable == 9
    assert check_trace(trace).ok


def test_what_a_run_with_lists_writes_is_accepted(tmp_path: Path) -> None:
    route(3, 4, router="ranked", trace=tmp_path / "run.jsonl")
    check = check_trace(tmp_path / "run.jsonl")
    assert check.ok
    assert check.slots == 10


def test_engines_that_do_not_know_the_router_refuse_it() -> None:
    with pytest.raises(InputError, match="objects"):
        route(3, 3, router="ranked", engine="objects")
