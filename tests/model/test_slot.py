"""The constructors of slots say the same as the fields written out."""

from __future__ import annotations

import doctest
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

import popsnet.model.slot
from popsnet.model.slot import Inbox, Kind, Slot

SENDERS, GROUPS = np.array([0, 3], dtype=np.int32), np.array([1, 0], dtype=np.int32)
LISTENERS, LISTENED = np.array([1, 2], dtype=np.int32), np.array([0, 1], dtype=np.int32)
LISTENING = LISTENERS, LISTENED
NAMED: dict[str, Any] = {"phase": "a phase", "step": 7, "conflict_free": True}
INBOX = Inbox(
    receivers=SENDERS,
    groups=GROUPS,
    kinds=np.zeros(2, dtype=np.int8),
    packets=np.array([5, 6], dtype=np.int32),
    destinations=np.array([8, 9], dtype=np.int32),
    contents=None,
)


def assert_same(slot: Slot, other: Slot) -> None:
    for field in fields(Slot):
        left, right = getattr(slot, field.name), getattr(other, field.name)
        np.testing.assert_array_equal(left, right, err_msg=field.name)
        if isinstance(left, np.ndarray):
            assert left.dtype == right.dtype, field.name


def written_out(**more: Any) -> Slot:
    given = {"senders": SENDERS, "groups": GROUPS, "listeners": LISTENERS, "listened": LISTENED}
    return Slot(**given | NAMED | more)


def test_every_sender_sends_its_own_packet_unless_told() -> None:
    slot = Slot.send_packets(SENDERS, GROUPS, LISTENING, **NAMED)
    assert_same(slot, written_out(packets=SENDERS))
    slot = Slot.send_packets(SENDERS, GROUPS, LISTENING, packets=INBOX.packets, **NAMED)
    assert_same(slot, written_out(packets=INBOX.packets))


def test_receivers_forward_and_acknowledge_what_they_heard() -> None:
    slot = Slot.forward(INBOX, GROUPS, LISTENING, **NAMED)
    assert_same(slot, written_out(packets=INBOX.packets))
    slot = Slot.acknowledge(INBOX, GROUPS, LISTENING, **NAMED)
    assert_same(slot, written_out(packets=INBOX.packets, kind=Kind.ACK))


def test_control_messages_carry_their_contents() -> None:
    contents = np.array([[1, 2], [3, 0]])
    slot = Slot.send_control(SENDERS, GROUPS, LISTENING, contents=contents, bits=4, **NAMED)
    assert_same(slot, written_out(kind=Kind.CONTROL, contents=contents, bits=4))


def test_a_broadcast_goes_to_all_groups() -> None:
    every = {"groups": np.array([0, 1, 2] * 2, np.int32), "fanout": np.array([3, 3], np.int32)}
    slot = Slot.broadcast(SENDERS, 3, LISTENING, **NAMED)
    assert_same(slot, written_out(packets=SENDERS, **every))
    contents = np.array([1, 0], dtype=np.uint8)
    slot = Slot.broadcast(SENDERS, 3, LISTENING, contents=contents, bits=1, **NAMED)
    assert_same(slot, written_out(kind=Kind.CONTROL, contents=contents, bits=1, **every))


def test_a_multicast_gives_its_fanout() -> None:
    fanout = np.array([2, 0], dtype=np.int32)
    slot = Slot.send_packets(SENDERS, GROUPS, LISTENING, fanout=fanout, **NAMED)
    assert_same(slot, written_out(packets=SENDERS, fanout=fanout))


@pytest.mark.parametrize("listened", [np.array([1, 0, 1]), [1, 0, 1]])
def test_an_array_is_the_group_of_every_processor(listened: Any) -> None:
    slot = Slot.send_packets(SENDERS, GROUPS, listened)
    assert slot.listeners.tolist() == [0, 1, 2]
    assert slot.listened.tolist() == [1, 0, 1]


def test_no_processor_listens_unless_told() -> None:
    slot = Slot.send_packets(SENDERS, GROUPS)
    assert (len(slot.listeners), len(slot.listened)) == (0, 0)


def test_a_slot_is_checked_however_it_is_made() -> None:
    with pytest.raises(ValueError, match="groups has 1 entries where this slot needs 2"):
        Slot.send_packets(SENDERS, GROUPS[:1], LISTENING)
    with pytest.raises(ValueError, match="listened has 1 entries where this slot needs 2"):
        Slot.forward(INBOX, GROUPS, (LISTENERS, LISTENED[:1]))


def test_the_examples_of_slots_are_right() -> None:
    assert doctest.testmod(popsnet.model.slot).failed == 0
    assert doctest.testmod(popsnet.model.slot).attempted > 10
