from __future__ import annotations

import numpy as np
import pytest

from popsnet import Machine, Network, Rule, RuleViolation
from popsnet.model.memory import Memory, VisitMarks
from tests.conftest import slot_of
from tests.each import each


def after_a_hop(buffers: int = 2) -> Machine:
    """POPS(2, 2), the reversal; processor 0 has sent packet 0 to processors 2 and 3."""
    machine = Machine(Network(2, 2), np.array([3, 2, 1, 0], dtype=np.int32), buffers)
    machine.execute(
        slot_of(senders=[0], groups=[1], packets=[0], listeners=[2, 3], listened=[0, 0])
    )
    return machine


def row(*numbers: int) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.array(numbers, dtype=np.int32)


def refused(memory: Memory, act: str, processor: int, packet: int) -> RuleViolation:
    with pytest.raises(RuleViolation) as violation:
        getattr(memory, act)(row(processor), row(packet))
    assert (violation.value.slot, violation.value.processor) == (1, processor)
    return violation.value


def test_everybody_starts_with_its_own_packet() -> None:
    memory = Memory(Network(2, 2), row(3, 2, 1, 0), 2)
    assert memory.holds(row(0, 1, 2, 3), row(0, 1, 2, 3)).all()
    assert not memory.holds(row(0, 1), row(1, 0)).any()
    assert (memory.peak, memory.delivered, len(memory.lost())) == (1, 0, 0)


def test_what_is_stored_can_be_sent_on() -> None:
    machine = after_a_hop()
    machine.memory.store(row(2), row(0))
    machine.execute(slot_of(senders=[2], groups=[0], packets=[0]))
    assert machine.memory.peak == 2


def test_what_is_stored_and_dropped_after_one_slot_is_not_held_at_once() -> None:
    machine = after_a_hop()
    machine.memory.store(row(2), row(0))
    assert machine.memory.peak == 2
    machine.memory.drop(row(2), row(2))
    assert machine.memory.peak == 1
    machine.execute(slot_of(senders=[2], groups=[0], packets=[0]))
    assert machine.memory.peak == 1


def test_what_is_not_stored_is_gone() -> None:
    machine = after_a_hop()
    with pytest.raises(RuleViolation, match="does not hold") as violation:
        machine.execute(slot_of(senders=[2], groups=[0], packets=[0]))
    assert violation.value.rule is Rule.SENDS_WHAT_IT_HOLDS


def test_what_was_heard_a_slot_ago_cannot_be_stored() -> None:
    machine = after_a_hop()
    machine.execute(slot_of())
    with pytest.raises(RuleViolation) as violation:
        machine.memory.store(row(2), row(0))
    assert violation.value.rule is Rule.KEEPS_WHAT_IT_HEARD


@each(
    ("act", "processor", "packet", "rule"),
    [
        ("store", 2, 1, Rule.KEEPS_WHAT_IT_HEARD),
        ("store", 1, 0, Rule.KEEPS_WHAT_IT_HEARD),
        ("drop", 2, 0, Rule.DROPS_WHAT_IT_HOLDS),
        ("deliver", 2, 0, Rule.DELIVERS_ONCE),
        ("deliver", 2, 1, Rule.KEEPS_WHAT_IT_HEARD),
        ("store", 4, 0, Rule.PROCESSOR_EXISTS),
        ("store", 0, 4, Rule.PACKET_EXISTS),
    ],
)
def test_broken_rules(act: str, processor: int, packet: int, rule: Rule) -> None:
    assert refused(after_a_hop().memory, act, processor, packet).rule is rule


def test_no_more_packets_than_buffers() -> None:
    assert refused(after_a_hop(buffers=1).memory, "store", 2, 0).rule is Rule.BUFFERS


def test_a_dropped_packet_leaves_room() -> None:
    memory = after_a_hop(buffers=1).memory
    memory.drop(row(2), row(2))
    memory.store(row(2), row(0))
    assert memory.holds(row(2), row(0)).all()
    assert memory.lost().tolist() == [2]


def test_a_packet_is_delivered_once_and_then_stays() -> None:
    memory = after_a_hop().memory
    memory.deliver(row(3), row(0))
    assert memory.delivered == 1
    assert refused(memory, "deliver", 3, 0).rule is Rule.DELIVERS_ONCE
    assert refused(memory, "drop", 3, 0).rule is Rule.DROPS_WHAT_IT_HOLDS
    memory.drop(row(0), row(0))
    assert len(memory.lost()) == 0


def test_the_slot_of_the_last_delivery_is_known() -> None:
    machine = after_a_hop()
    machine.memory.deliver(row(), row())
    assert machine.memory.last_delivery == 0
    machine.memory.deliver(row(3), row(0))
    assert machine.memory.last_delivery == 1
    machine.execute(slot_of())
    machine.memory.deliver(row(), row())
    machine.memory.assume_delivered(row())
    assert machine.memory.last_delivery == 1
    machine.memory.assume_delivered(row(1))
    assert machine.memory.last_delivery == 2


def test_a_packet_at_home_from_the_start_can_be_delivered_without_a_slot() -> None:
    memory = Memory(Network(2, 1), row(0, 1), 1)
    memory.deliver(row(0, 1), row(0, 1))
    assert (memory.delivered, memory.last_delivery) == (2, 0)


@pytest.mark.parametrize(
    ("act", "processor", "rule"),
    [
        ("store", 2, Rule.KEEPS_WHAT_IT_HEARD),
        ("deliver", 3, Rule.DELIVERS_ONCE),
        ("drop", 0, Rule.DROPS_WHAT_IT_HOLDS),
    ],
)
def test_doing_a_thing_twice_in_one_call_is_refused(act: str, processor: int, rule: Rule) -> None:
    memory = after_a_hop(buffers=3).memory
    with pytest.raises(RuleViolation, match=r"twice|does not hold") as violation:
        getattr(memory, act)(row(processor, processor), row(0, 0))
    assert violation.value.rule is rule
    assert memory.delivered == 0


def test_storing_again_what_was_stored_is_refused() -> None:
    memory = after_a_hop(buffers=3).memory
    memory.store(row(2), row(0))
    assert refused(memory, "store", 2, 0).rule is Rule.KEEPS_WHAT_IT_HEARD


def test_the_machine_keeps_its_own_destinations_and_counts() -> None:
    destination = row(1, 0)
    machine = Machine(Network(2, 1), destination, 1)
    destination[:] = [0, 1]
    with pytest.raises(RuleViolation, match="not for it"):
        machine.memory.deliver(row(0, 1), row(0, 1))
    for name in ("delivered", "last_delivery", "peak"):
        with pytest.raises(AttributeError):
            setattr(machine.memory, name, 2)


def test_nobody_holds_no_packet() -> None:
    assert not after_a_hop().memory.holds(row(0), row(-1)).any()


def test_a_processor_that_is_not_there_holds_nothing() -> None:
    for processor in (-1, 4):
        assert refused(after_a_hop().memory, "holds", processor, 0).rule is Rule.PROCESSOR_EXISTS


def test_places_are_cleared_when_the_numbers_of_loops_run_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("popsnet.model.memory._MOST_LOOPS", 2)
    seen = VisitMarks(3)
    for expected in (1, 2, 1):
        places, loop = seen.next()
        assert loop == expected
        assert (places != loop).all()
        places[:] = loop
