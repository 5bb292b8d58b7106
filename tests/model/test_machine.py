"""The machine against the rules, one by one, and against a few lines of plain Python."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popsnet import (
    NO_PACKET,
    Coins,
    Faults,
    Inbox,
    Kind,
    Machine,
    Network,
    Rule,
    RuleViolation,
    Slot,
)
from popsnet.model.faults import ActiveFaults
from popsnet.model.memory import FaultTolerance
from tests.conftest import slot_of
from tests.each import each


def machine(d: int, g: int, buffers: int = 3) -> Machine:
    network = Network(d, g)
    return Machine(network, np.arange(network.n, dtype=np.int32)[::-1].copy(), buffers)


def heard(inbox: Inbox) -> dict[int, tuple[int, int]]:
    rows = zip(inbox.receivers.tolist(), inbox.groups.tolist(), inbox.packets.tolist(), strict=True)
    return {receiver: (group, packet) for receiver, group, packet in rows}


def send(senders: Any, groups: Any, listeners: Any, listened: Any, **more: Any) -> Slot:
    fields: dict[str, Any] = {"packets": senders} | more
    return slot_of(senders=senders, groups=groups, listeners=listeners, listened=listened, **fields)


def control(senders: Any, contents: Any, **more: Any) -> Slot:
    """Control messages to different groups, to which nobody listens."""
    kind = more.pop("kind", Kind.CONTROL)
    groups = np.arange(len(senders))
    return slot_of(senders=senders, groups=groups, kind=kind, contents=np.array(contents), **more)


def test_unicast_reaches_the_listener_with_packet_and_destination() -> None:
    inbox = machine(3, 3).execute(send([4], [2], [6], [1]))
    assert heard(inbox) == {6: (1, 4)}
    assert inbox.destinations.tolist() == [4]  # 8 - 4: the permutation is the reversal
    assert inbox.kinds.tolist() == [Kind.PACKET]


def test_everybody_who_listens_to_the_coupler_hears_it_and_nobody_else() -> None:
    listeners = np.arange(9)
    inbox = machine(3, 3).execute(send([4], [2], listeners, np.array([1, 1, 1, 1, 1, 1, 1, 0, 1])))
    assert heard(inbox) == {6: (1, 4), 8: (1, 4)}


def test_one_to_all_takes_one_slot() -> None:
    everybody = np.arange(12)
    slot = send([5], np.arange(4), everybody, np.full(12, 1), fanout=[4])
    inbox = machine(3, 4).execute(slot)
    assert heard(inbox) == dict.fromkeys(range(12), (1, 5))


def test_a_multicast_goes_to_its_groups_and_to_no_other() -> None:
    everybody = np.arange(9)
    slot = send([0, 4], [0, 2, 1], everybody, np.zeros(9, dtype=int), fanout=[2, 1])
    assert sorted(heard(machine(3, 3).execute(slot))) == [0, 1, 2, 6, 7, 8]


def test_a_collision_delivers_nothing_and_sounds_like_silence() -> None:
    collided, silent = machine(3, 3), machine(3, 3)
    after_collision = collided.execute(send([0, 1, 2], [1, 1, 1], [3, 4], [0, 0]))
    after_silence = silent.execute(slot_of(listeners=[3, 4], listened=[0, 0]))
    for name in Inbox.__dataclass_fields__:
        left, right = getattr(after_collision, name), getattr(after_silence, name)
        assert (left is None and right is None) or left.tolist() == right.tolist() == []
    assert (collided.counters.collisions, collided.counters.destroyed) == (1, 3)
    assert (silent.counters.collisions, silent.counters.destroyed) == (0, 0)


def test_messages_on_different_couplers_do_not_meet() -> None:
    running = machine(3, 3)
    inbox = running.execute(send([0, 1, 3], [1, 2, 1], [3, 4, 6], [0, 1, 0]))
    assert heard(inbox) == {3: (0, 0), 4: (1, 3), 6: (0, 1)}
    assert running.counters.collisions == 0


def test_a_processor_may_send_and_listen_in_the_same_slot_even_to_itself() -> None:
    assert heard(machine(2, 2).execute(send([0], [0], [0], [0]))) == {0: (0, 0)}


def test_control_messages_carry_contents_of_any_shape() -> None:
    contents = np.array([[1, 2, 3], [4, 5, 6]])
    slot = slot_of(
        senders=[0, 2],
        groups=[1, 0],
        kind=[Kind.CONTROL, Kind.ACK],
        packets=[NO_PACKET, 2],
        contents=contents,
        listeners=[3, 0],
        listened=[0, 1],
    )
    inbox = machine(2, 2).execute(slot)
    assert inbox.contents is not None
    assert inbox.contents.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert inbox.kinds.tolist() == [Kind.CONTROL, Kind.ACK]
    assert inbox.packets.tolist() == [NO_PACKET, 2]
    assert inbox.destinations.tolist() == [NO_PACKET, NO_PACKET]


def test_counters_add_up_over_slots() -> None:
    running = machine(3, 3)
    running.execute(send([0, 1, 3], [1, 1, 2], [], []))
    running.execute(slot_of())
    running.execute(send([0], [0, 1, 2], [], [], fanout=[3]))
    counters = running.counters
    assert (counters.slots, counters.messages) == (3, 4)
    assert (counters.collisions, counters.destroyed) == (1, 2)


FULL = np.array([2**64 - 1, 0], dtype=np.uint64)
BITS: dict[str, tuple[Slot, int]] = {
    "packets": (send([4, 5], [0, 1], [], []), 0),
    "packets in a slot with bits": (send([4, 5], [0, 1], [], [], bits=9), 0),
    "packets that carry something": (control([4], [3], kind=Kind.PACKET, packets=[4], bits=2), 2),
    "an ack": (send([4], [0], [], [], kind=Kind.ACK), 1),
    "an ack among packets": (send([4, 5], [0, 1], [], [], kind=[Kind.PACKET, Kind.ACK]), 1),
    "an ack with bits": (send([4], [0], [], [], kind=Kind.ACK, bits=4), 4),
    "nobody sends": (control([], [], bits=7), 0),
    "all bits of the type": (control([4], np.array([1], dtype=np.int16)), 16),
    "a row of a type": (control([4], np.array([[1, 2, 3]], dtype=np.uint8)), 24),
    "what fits": (control([4, 5], [7, 0], bits=3), 3),
    "shares that fit": (control([4, 5], [[3, 3], [0, 1]], bits=5), 5),
    "64 bits": (control([4, 5], FULL, bits=64), 64),
    "64 bits twice": (control([4, 5], [FULL, FULL], bits=128), 128),
    "more bits than the type has": (control([4], np.array([-1], dtype=np.int8).view(np.uint8),
                                            bits=70), 70),
    "yes or no": (control([4, 5], [True, False], bits=1), 1),
    "no room and nothing to say": (control([4], [0], bits=0), 0),
    "rows without numbers": (control([4], [[]], bits=6), 6),
}  # fmt: skip


@each("name", BITS)
def test_messages_count_with_the_bits_they_carry(name: str) -> None:
    slot, bits = BITS[name]
    running = machine(3, 3)
    running.execute(slot)
    assert running.counters.control_bits == bits
    running.execute(slot_of())
    assert running.counters.control_bits == bits, "the most so far"


BROKEN: dict[str, tuple[Slot, int, Rule]] = {
    "sender above n": (send([9], [0], [], []), 9, Rule.PROCESSOR_EXISTS),
    "sender below 0": (send([-1], [0], [], []), -1, Rule.PROCESSOR_EXISTS),
    "sender of 33 bits": (send([2**32], [0], [], []), 2**32, Rule.PROCESSOR_EXISTS),
    "two messages": (send([4, 4], [0, 1], [], []), 4, Rule.ONE_MESSAGE),
    "two messages, apart": (send([4, 1, 4], [0, 1, 2], [], []), 4, Rule.ONE_MESSAGE),
    "no such target": (send([4], [3], [], []), 4, Rule.GROUP_EXISTS),
    "negative target": (send([4], [-1], [], []), 4, Rule.GROUP_EXISTS),
    "no such wavelength": (send([4, 5], [0, 0], [], [], send_wavelengths=[0, 1]), 5,
                           Rule.WAVELENGTH_EXISTS),
    "no such wavelength to hear": (send([], [], [2], [0], listen_wavelengths=[-1]), 2,
                                   Rule.WAVELENGTH_EXISTS),
    "no target": (send([4, 5], [0], [], [], fanout=[1, 0]), 5, Rule.COUPLER_SET),
    "target twice": (send([4], [1, 1], [], [], fanout=[2]), 4, Rule.COUPLER_SET),
    "two couplers heard": (send([], [], [2, 2], [0, 1]), 2, Rule.ONE_LISTENED),
    "listener above n": (send([], [], [9], [0]), 9, Rule.PROCESSOR_EXISTS),
    "no such source": (send([], [], [2], [3]), 2, Rule.GROUP_EXISTS),
    "not its packet": (send([4], [0], [], [], packets=[5]), 4, Rule.SENDS_WHAT_IT_HOLDS),
    "no such packet": (send([4], [0], [], [], packets=[9]), 4, Rule.PACKET_EXISTS),
    "packet of 33 bits": (send([4], [0], [], [], packets=[2**32 + 4]), 4, Rule.PACKET_EXISTS),
    "unnamed packet": (send([4], [0], [], [], packets=[NO_PACKET]), 4, Rule.PACKET_EXISTS),
    "too large a number": (control([4, 5], [7, 8], bits=3), 5, Rule.BITS),
    "a number below 0": (control([5], [-1], bits=64), 5, Rule.BITS),
    "a number that needs a bit": (control([5], [1], bits=0), 5, Rule.BITS),
    "too large a share": (control([4, 5], [[3, 3], [0, 4]], bits=5), 5, Rule.BITS),
    "broken promise": (send([4, 5], [0, 0], [], [], conflict_free=True), 4, Rule.CONFLICT_FREE),
}  # fmt: skip


@each("name", BROKEN)
def test_a_broken_rule_names_slot_processor_and_rule(name: str) -> None:
    slot, processor, rule = BROKEN[name]
    running = machine(3, 3)
    running.execute(slot_of())
    with pytest.raises(RuleViolation) as violation:
        running.execute(slot)
    assert (violation.value.slot, violation.value.processor) == (2, processor)
    assert violation.value.rule is rule
    assert f"slot 2, processor {processor}" in str(violation.value)
    assert str(rule) in str(violation.value)
    assert running.counters.slots == 1


def test_every_rule_of_the_machine_is_tested() -> None:
    in_memory = {
        Rule.KEEPS_WHAT_IT_HEARD,
        Rule.DROPS_WHAT_IT_HOLDS,
        Rule.BUFFERS,
        Rule.DELIVERS_ONCE,
    }
    assert {rule for _, _, rule in BROKEN.values()} | in_memory == set(Rule)


@each(
    "fields",
    [
        {"senders": [0, 1], "groups": [0]},
        {"senders": [0], "groups": [0], "packets": [0, 1]},
        {"senders": [0], "groups": [0, 1], "fanout": [1]},
        {"senders": [0], "groups": [0], "kind": [7]},
        {"listeners": [0], "listened": []},
        {"senders": [0.5], "groups": [0]},
        {"senders": np.array([1], dtype="timedelta64[s]"), "groups": [0]},
        {"senders": np.array([2**63], dtype=np.uint64), "groups": [0]},
        {"senders": [0, 1], "groups": [0, 1], "fanout": [-1, 3]},
        {"phase": 5},
        {"bits": -1},
        {"senders": [0], "groups": [0], "bits": 8, "contents": np.array([0.5])},
    ],
)
def test_a_slot_that_makes_no_sense_is_refused(fields: dict[str, Any]) -> None:
    reasons = r"entries where|integers|other than|does not fit|1 or more|at least 0|a string"
    with pytest.raises(ValueError, match=reasons):
        slot_of(**fields)


@pytest.mark.parametrize("kind", [np.uint64, np.uint8, np.int8, np.int16, np.uint32])
def test_any_type_of_integer_will_do(kind: type) -> None:
    slot = slot_of(
        senders=np.array([127, 3], dtype=kind),
        groups=np.array([0, 1, 1], dtype=kind),
        fanout=np.array([2, 1], dtype=kind),
        packets=np.array([127, 3], dtype=kind),
        listeners=np.array([100, 3], dtype=kind),
        listened=np.array([0, 0], dtype=kind),
    )
    running = machine(200, 2)
    assert heard(running.execute(slot)) == {3: (0, 127), 100: (0, 127)}
    assert running.counters.collisions == 1


@st.composite
def slots(draw: st.DrawFn) -> tuple[Network, Slot]:
    """Any lawful slot, on networks with few large groups and with many small ones."""
    d, g = draw(st.sampled_from([(1, 1), (3, 3), (8, 2), (2, 5), (1, 300), (2, 400)]))
    processor, group = st.integers(0, min(d * g, 9) - 1), st.integers(0, min(g, 5) - 1)
    senders = draw(st.lists(processor, unique=True))
    targets = [draw(st.lists(group, min_size=1, max_size=3, unique=True)) for _ in senders]
    listening = draw(st.dictionaries(processor, group))
    return Network(d, g), slot_of(
        senders=senders,
        groups=[b for groups in targets for b in groups],
        fanout=[len(groups) for groups in targets],
        packets=senders,
        listeners=list(listening),
        listened=list(listening.values()),
    )


@given(slots())
def test_the_machine_does_what_a_few_lines_of_python_do(case: tuple[Network, Slot]) -> None:
    network, slot = case
    on: dict[tuple[int, int], list[int]] = {}
    for owner, group in zip(slot.owners.tolist(), slot.groups.tolist(), strict=True):
        sender = int(slot.senders[owner])
        on.setdefault((group, sender // network.d), []).append(sender)
    expected = {
        listener: (group, on[listener // network.d, group][0])
        for listener, group in zip(slot.listeners.tolist(), slot.listened.tolist(), strict=True)
        if len(on.get((listener // network.d, group), [])) == 1
    }
    running = Machine(network, np.arange(network.n, dtype=np.int32), 1)
    assert heard(running.execute(slot)) == expected
    loads = Counter({coupler: len(messages) for coupler, messages in on.items()})
    assert running.counters.collisions == sum(load > 1 for load in loads.values())
    assert running.counters.destroyed == sum(load for load in loads.values() if load > 1)
    assert heard(running.execute(slot)) == expected, "a slot leaves nothing behind on the couplers"


def starting(start: list[int], buffers: int = 2) -> Machine:
    return Machine(Network(2, 2), np.array([3, 3, 1]), buffers, np.array(start))


def test_the_machine_starts_with_any_packets() -> None:
    running = starting([0, 0, 2])
    assert running.memory.holds(np.array([0, 0, 2, 1]), np.array([0, 1, 2, 1])).tolist() == [
        True, True, True, False,
    ]  # fmt: skip
    assert running.memory.peak == 2
    inbox = running.execute(
        slot_of(senders=[0], groups=[1], packets=[1], listeners=[3], listened=[0])
    )
    running.memory.drop(np.array([0]), np.array([1]))
    running.memory.deliver(inbox.receivers, inbox.packets)
    assert (running.memory.delivered, running.memory.lost().tolist()) == (1, [])
    running.memory.drop(np.array([2]), np.array([2]))
    assert running.memory.lost().tolist() == [2]


def test_the_machine_refuses_starts_that_cannot_be() -> None:
    with pytest.raises(RuleViolation) as full:
        starting([0, 0, 2], buffers=1)
    assert full.value.rule is Rule.BUFFERS
    with pytest.raises(RuleViolation) as nowhere:
        starting([0, 4, 2])
    assert nowhere.value.rule is Rule.PROCESSOR_EXISTS
    with pytest.raises(RuleViolation) as unknown:
        starting([0, 0, 2]).execute(slot_of(senders=[3], groups=[0], packets=[3]))
    assert unknown.value.rule is Rule.PACKET_EXISTS


def _faulty(text: str, tolerant: bool = False) -> Machine:
    network = Network(2, 2)
    faults = ActiveFaults(network, Faults.parse(text), Coins(0))
    return Machine(network, np.array([3, 2, 1, 0]), 2, faults=faults, tolerant=tolerant)


def test_a_dead_coupler_is_silent_and_its_messages_are_counted() -> None:
    machine = _faulty("coupler:0-1")
    inbox = machine.execute(Slot.send_packets(np.array([0]), np.array([1]), np.array([0, 0, 0, 0])))
    assert len(inbox.receivers) == 0
    assert (machine.counters.messages, machine.counters.unheard) == (1, 2)
    with pytest.raises(RuleViolation, match="has not just heard"):
        machine.memory.store(np.array([3]), np.array([0]))


def test_a_dead_transmitter_meets_no_message() -> None:
    machine = _faulty("transmitter:0")
    both = np.array([0, 1]), np.array([1, 1])
    inbox = machine.execute(Slot.send_packets(*both, np.array([1, 1, 0, 0])))
    assert inbox.packets.tolist() == [1, 1]
    assert (machine.counters.messages, machine.counters.collisions) == (2, 0)


def test_a_multicast_of_a_dead_transmitter_reaches_no_group() -> None:
    machine = _faulty("transmitter:0")
    said = np.array([5, 6])
    inbox = machine.execute(
        Slot.broadcast(np.array([0, 2]), 2, np.array([0, 1, 0, 1]), contents=said, bits=3)
    )
    assert (inbox.receivers.tolist(), inbox.groups.tolist()) == ([1, 3], [1, 1])
    assert inbox.contents is not None
    assert inbox.contents.tolist() == [6, 6]


def test_a_tolerant_machine_skips_what_a_processor_missed() -> None:
    machine = _faulty("receiver:3", tolerant=True)
    machine.execute(Slot.send_packets(np.array([0]), np.array([1]), np.array([1, 1, 0, 0])))
    machine.memory.store(np.array([2, 3]), np.array([0, 0]))
    machine.memory.drop(np.array([0]), np.array([0]))
    inbox = machine.execute(
        Slot.send_packets(
            np.array([3, 2]), np.array([0, 1]), np.array([1, 1, 1, 1]), packets=np.array([0, 0])
        )
    )
    assert machine.executed is not None
    assert machine.executed.senders.tolist() == [2]
    assert (inbox.receivers.tolist(), inbox.packets.tolist()) == ([2], [0])
    memory = machine.memory
    assert isinstance(memory, FaultTolerance)
    assert (memory.skipped, memory.duplicated) == (2, 0)
    memory.deliver(np.array([2, 1]), np.array([0, 1]))  # one is not for it, one is not there
    assert (memory.skipped, memory.delivered) == (4, 0)
    with pytest.raises(RuleViolation, match="numbered 0 to n - 1"):
        memory.drop(np.array([9]), np.array([0]))


def test_a_packet_is_delivered_once_whatever_a_router_says() -> None:
    memory = FaultTolerance(Network(2, 2), np.array([0, 1, 2, 3]), 1)
    memory.deliver(np.array([1, 1]), np.array([1, 1]))
    memory.deliver(np.array([1]), np.array([1]))
    assert (memory.delivered, memory.duplicated, memory.skipped) == (1, 2, 0)
