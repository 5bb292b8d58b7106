"""The locality check passes honest schedulers and catches those that cheat."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import numpy as np
import pytest

from popsnet import Coins, InputError, Network, Slot
from popsnet.model.slot import Ints
from popsnet.programs.scheduler import Running
from popsnet.programs.schedulers.two_hops import deliver, frame_slot
from popsnet.testing import LocalityError, check_scheduler_locality
from popsnet.testing.locality import _with_others
from popsnet.traffic import Frame, Queues, Scheduler, TrafficMemory, all_schedulers
from popsnet.workloads.arrivals import make_arrivals
from tests.each import each, sampled

SHAPES = [Network(3, 3), Network(2, 4), Network(4, 2), Network(1, 4), Network(4, 1)]
ONLINE = [scheduler for scheduler in all_schedulers() if scheduler.online]
OFF_LINE = [scheduler for scheduler in all_schedulers() if not scheduler.online]


@pytest.mark.parametrize("network", sampled(SHAPES, 3), ids=str)
@pytest.mark.parametrize("scheduler", ONLINE, ids=lambda scheduler: scheduler.name)
def test_the_schedulers_that_ship_are_local(scheduler: Scheduler, network: Network) -> None:
    check_scheduler_locality(scheduler, network, max_slots=120)


@each("scheduler", ONLINE)
def test_they_are_local_with_full_buffers(scheduler: Scheduler) -> None:
    check_scheduler_locality(scheduler, Network(4, 2), load=0.6, buffer=1, max_slots=80)


@each("network", SHAPES)
@each("scheduler", OFF_LINE)
def test_what_is_off_line_is_not_local(scheduler: Scheduler, network: Network) -> None:
    for variant in scheduler.variants:
        with pytest.raises(LocalityError, match=f"{scheduler.name} {variant}, slot .* acts diff"):
            check_scheduler_locality(scheduler, network, variants=[variant])


def test_a_variant_may_be_named() -> None:
    check_scheduler_locality("aloha:0.5", Network(2, 2), max_slots=40)
    with pytest.raises(LocalityError, match="ideal fifo, slot"):
        check_scheduler_locality("ideal:fifo", Network(3, 3))
    with pytest.raises(LocalityError, match="ideal voq, slot"):
        check_scheduler_locality("ideal:voq", Network(3, 3))


Hush = Callable[[Coins, Coins, TrafficMemory, int, Ints, Ints], Any]
"""Says which senders are silent, though they have a packet, in a slot."""


def _hushed(
    network: Network, public: Coins, coins: Coins, memory: TrafficMemory, hush: Hush
) -> Running:
    """Send packets in the frame, except for senders that are silent."""
    frame, own = Frame(network), Queues()
    for t in count():
        arrived = yield None
        own.push(arrived.processors, frame.classes(arrived.destinations), arrived.packets)
        meeting = frame.meeting(t)
        packets = own.heads(meeting.senders, meeting.classes)
        silent = hush(public, coins, memory, t, meeting.senders, packets)
        packets = np.where(silent, -1, packets)
        has = packets >= 0
        inbox = yield frame_slot(meeting, packets, "")
        own.pop(meeting.senders[has], meeting.classes[has])
        memory.drop(meeting.senders[has], packets[has])
        deliver(inbox, memory)


HONEST: dict[str, Hush] = {
    "never": lambda public, coins, memory, t, senders, packets: False,
    "its own coins": lambda public, coins, memory, t, senders, packets: (
        coins.draws(2, "silent", t, senders) == 1
    ),
    "public coins": lambda public, coins, memory, t, senders, packets: (
        public.draw(2, "silent", t, 99) == 1
    ),
    "its own queue": lambda public, coins, memory, t, senders, packets: (
        memory.held_own[senders] % 2 == 1
    ),
}

CHEATS: dict[str, Hush] = {
    "another's queue": lambda public, coins, memory, t, senders, packets: memory.held_own[0] > 1,
    "all queues": lambda public, coins, memory, t, senders, packets: memory.own % 2 == 1,
    "packet numbers": lambda public, coins, memory, t, senders, packets: packets % 2 == 1,
    "another's coins": lambda public, coins, memory, t, senders, packets: (
        coins.draw(2, "silent", t, 0) == 1
    ),
    "the seed of all coins": lambda public, coins, memory, t, senders, packets: (
        (coins.seed >> (t % 64)) % 2 == 1
    ),
}


@each("network", sampled([Network(3, 3), Network(2, 4), Network(4, 2)], 1))
@each("hush", HONEST.values())
def test_processors_may_use_what_they_know(hush: Hush, network: Network) -> None:
    check_scheduler_locality(partial(_hushed, hush=hush), network, max_slots=80)


@each("network", sampled([Network(3, 3), Network(2, 4), Network(4, 2)], 1))
@each("hush", CHEATS.values())
def test_processors_may_not_use_what_they_do_not_know(hush: Hush, network: Network) -> None:
    with pytest.raises(LocalityError, match="it acts differently when only"):
        check_scheduler_locality(partial(_hushed, hush=hush), network)


def test_private_coins_belong_to_processors() -> None:
    def of_no_processor(*facts: Any) -> bool:
        _, coins, *_ = facts
        return bool(coins.draw(2, "silent", 0, 9))

    with pytest.raises(LocalityError, match=r"outside 0 to 8.* are drawn from public"):
        check_scheduler_locality(partial(_hushed, hush=of_no_processor), Network(3, 3))


def without_acks(network: Network, public: Coins, coins: Coins, memory: TrafficMemory) -> Running:
    """Cheats as a source: it drops packets that were delivered, of which it is not told."""
    queues, processors = Queues(), network.processors
    nothing = np.zeros(network.n, dtype=np.int64)
    for t in count():
        arrived = yield None
        queues.push(arrived.processors, 0 * arrived.packets, arrived.packets)
        packets = queues.heads(processors, nothing)
        tries = (packets >= 0) & (coins.draws(2, "try", t, processors) == 1)
        senders, sent = processors[tries], packets[tries]
        listening = (network.group(processors) + network.index(processors) + t) % network.g
        targets = network.group(memory.destinations(sent))
        inbox = yield Slot.send_packets(senders, targets, listening, packets=sent)
        mine = inbox.at(inbox.destinations == inbox.receivers)
        memory.deliver(mine.receivers, mine.packets)
        done = np.isin(sent, mine.packets)
        memory.drop(senders[done], queues.pop(senders[done], nothing[: done.sum()]))


def test_sources_are_not_told_of_deliveries() -> None:
    with pytest.raises(LocalityError, match=r"drops packet \d+ of processor"):
        check_scheduler_locality(without_acks, Network(4, 2))


def test_a_generator_that_yields_something_else_is_refused() -> None:
    def wrong(*_: Any) -> Running:
        while True:
            yield None

    with pytest.raises(InputError, match="it must alternate"):
        check_scheduler_locality(wrong, Network(2, 2))


def test_only_the_arrivals_of_the_pair_differ_and_only_from_a_slot_on() -> None:
    network = Network(3, 3)
    usual, others = (make_arrivals(network, load=0.5, seed=seed).block(0, 60) for seed in (0, 1))
    changed = _with_others(usual, others, (2, 7), 20)
    for t in range(60):
        rows = []
        for block in (usual, others, changed):
            here = slice(block.starts[t], block.starts[t + 1])
            pairs = zip(
                block.sources[here].tolist(), block.destinations[here].tolist(), strict=True
            )
            rows.append(list(pairs))
        expected = {source: to for source, to in rows[0] if source not in (2, 7) or t < 20}
        expected |= {source: to for source, to in rows[1] if source in (2, 7) and t >= 20}
        assert rows[2] == sorted(expected.items())
