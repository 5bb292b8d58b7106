"""Schedulers that hear everything τ slots late, as they would with propagation.

The machine delivers in the slot of sending. Here a processor acts only on what was sent at least
1 + τ slots ago, so a run has the decisions of a network with propagation, and its packets arrive τ
slots after the slot in which the machine delivers them.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from popsnet import Network, Slot
from popsnet.engines.traffic_slots import MessageSession
from popsnet.model.coins import Coins
from popsnet.programs.scheduler import ProgramFunction, Running, Scheduler, find_scheduler
from popsnet.programs.schedulers import aloha, hop3, rotor
from popsnet.programs.schedulers.attempts import Attempts
from popsnet.programs.schedulers.two_hops import deliver, deliver_or_keep, frame_slot
from popsnet.traffic import Frame, Queues, TrafficMemory
from tests.runs.traffic.synthetic import block_of

Arrival = tuple[int, int, int]
"""Slot, source, destination."""


def up(tau: int, period: int) -> int:
    while tau % period:
        tau += 1
    return tau


def late_vlb(tau: int) -> ProgramFunction:
    def schedule(network: Network, public: Coins, coins: Coins, memory: TrafficMemory) -> Running:
        frame, own, relayed = Frame(network), Queues(), Queues()
        shift, heard = up(tau, 2), dict[int, Any]()
        for t in count():
            arrived = yield None
            own.push(arrived.processors, 0 * arrived.packets, arrived.packets)
            if (kept := heard.pop(t, None)) is not None:
                relayed.push(kept.receivers, frame.classes(kept.destinations), kept.packets)
            spreads = t % 2 == 0
            slot = t if spreads else t - shift
            if slot < 0:
                yield Slot(phase="spread")
                continue
            meeting = frame.meeting(slot // 2)
            queues, keys = (own, 0 * meeting.senders) if spreads else (relayed, meeting.classes)
            packets = queues.heads(meeting.senders, keys)
            has = packets >= 0
            inbox = yield frame_slot(meeting, packets, "spread")
            queues.pop(meeting.senders[has], keys[has])
            memory.drop(meeting.senders[has], packets[has])
            if spreads:
                heard[t + 1 + tau] = deliver_or_keep(inbox, frame, slot, public, memory)
            else:
                deliver(inbox, memory)

    return schedule


def late_hop3(tau: int) -> ProgramFunction:
    def schedule(network: Network, public: Coins, coins: Coins, memory: TrafficMemory) -> Running:
        frame, own, index, group = Frame(network), Queues(), Queues(), Queues()
        shift = up(tau, 3)
        heard: dict[int, list[tuple[int, int, Any]]] = {1: [], 2: []}
        for t in count():
            arrived = yield None
            own.push(arrived.processors, 0 * arrived.packets, arrived.packets)
            phase = t % 3
            slot = t - phase * shift
            for sent, at, kept in [hop for hop in heard.get(phase, []) if hop[0] < slot]:
                assert at <= t or not len(kept.packets), "it has not arrived yet"
                hop3._sort(kept, frame, index, group, None)
                heard[phase].remove((sent, at, kept))
            if slot < 0:
                yield Slot(phase="spread")
                continue
            k = slot // 3
            if phase == 0:
                meeting, queues, keys = hop3._spread(frame, k, own)
            elif phase == 1:
                meeting, queues, keys = hop3._fix_index(frame, k, public, index)
            else:
                meeting, queues, keys = hop3._fix_group(frame, k, group)
            packets = queues.heads(meeting.senders, keys)
            has = packets >= 0
            inbox = yield frame_slot(meeting, packets, "spread")
            queues.pop(meeting.senders[has], keys[has])
            memory.drop(meeting.senders[has], packets[has])
            if phase == 2:
                deliver(inbox, memory)
                continue
            kept = deliver_or_keep(inbox, frame, slot, public, memory)
            residue = network.index(kept.destinations) % frame.residues
            fixed = network.index(kept.receivers) % frame.residues == residue
            heard[1].append((slot, t + 1 + tau, kept.at(~fixed)))
            heard[2].append((slot, t + 1 + tau, kept.at(fixed)))
            heard[2].sort(key=lambda hop: hop[0])

    return schedule


def late_rotor(tau: int) -> ProgramFunction:
    def schedule(network: Network, public: Coins, coins: Coins, memory: TrafficMemory) -> Running:
        frame, relayed, heard = Frame(network), Queues(), dict[int, Any]()
        own = rotor._OwnQueues(frame, None)
        for t in count():
            arrived = yield None
            own.push(arrived.processors, frame.classes(arrived.destinations), arrived.packets)
            if (kept := heard.pop(t, None)) is not None:
                relayed.push(kept.receivers, frame.classes(kept.destinations), kept.packets)
            meeting = frame.meeting(t)
            packets = rotor._take(meeting, own, relayed)
            has = packets >= 0
            inbox = yield frame_slot(meeting, packets, "meeting")
            memory.drop(meeting.senders[has], packets[has])
            heard[t + 1 + tau] = deliver_or_keep(inbox, frame, t, public, memory)

    return schedule


def late_aloha(tau: int) -> ProgramFunction:
    def schedule(network: Network, public: Coins, coins: Coins, memory: TrafficMemory) -> Running:
        g, processors = network.g, network.processors
        groups, residues = network.group(processors), network.index(processors) % g
        queues, attempts = Queues(), Attempts(coins, aloha.aloha_patience(network.d))
        sent, outcomes = dict[int, Any](), dict[int, Any]()
        for t in count():
            arrived = yield None
            to = network.group(arrived.destinations), network.index(arrived.destinations)
            turns = (network.group(arrived.processors) - to[0] - to[1] % g) % g
            queues.push(arrived.processors, turns, arrived.packets)
            drops = []
            if (outcome := outcomes.pop(t, None)) is not None:
                drops.append(attempts.conclude(outcome[0], outcome[1], queues))
            s, is_ack = divmod(t, 2)
            if not is_ack:
                attempt = attempts.choose(
                    queues,
                    processors,
                    np.full(network.n, s % g),
                    s,
                    lambda _, packets: packets >= 0,
                )
                targets = network.group(memory.destinations(attempt.packets))
                inbox = yield Slot.send_packets(
                    attempt.senders, targets, (groups + residues + s) % g, packets=attempt.packets,
                    phase="data",
                )  # fmt: skip
                mine = inbox.at(inbox.destinations == inbox.receivers)
                memory.deliver(mine.receivers, mine.packets)
                sent[t + 1 + up(tau, 2)] = attempt, targets, mine
            elif t in sent:
                attempt, targets, mine = sent.pop(t)
                inbox = yield Slot.acknowledge(
                    mine, mine.groups, (attempt.senders, targets), phase="ack", conflict_free=True
                )
                outcomes[t + 1 + tau] = attempt, inbox
            else:
                yield Slot(phase="ack")
            for drop in drops:
                memory.drop(*drop)

    return schedule


def interleaved(name: str, copies: int) -> ProgramFunction:
    """Run copies of a scheduler, of which copy j has the slots j, j + copies, …"""

    def schedule(network: Network, public: Coins, coins: Coins, memory: TrafficMemory) -> Running:
        _, function = find_scheduler(name).variant()
        running = [function(network, public, coins, memory) for _ in range(copies)]
        for each in running:
            next(each)
        for t in count():
            each = running[t % copies]
            arrived = yield None
            inbox = yield each.send(arrived)
            assert each.send(inbox) is None

    return schedule


def deliveries(
    network: Network, schedule: ProgramFunction | str, arrivals: list[Arrival], slots: int
) -> dict[tuple[int, int], tuple[int, int]]:
    """Return the slot of delivery, and the hops, of every packet, by its arrival and source."""
    scheduler = (
        find_scheduler(schedule)
        if isinstance(schedule, str)
        else Scheduler("late", "", {"": schedule})
    )
    session = MessageSession(network, scheduler, scheduler.variant()[0], seed=3)
    log = session.advance(block_of(0, slots, arrivals))
    at = np.repeat(np.arange(slots), np.diff(np.concatenate([[0], log.ends])))
    rows = zip(
        log.arrival.tolist(), log.source.tolist(), at.tolist(), log.hops.tolist(), strict=True
    )
    return {(arrival, source): (slot, hops) for arrival, source, slot, hops in rows}


def random_arrivals(network: Network, load: float, slots: int, seed: int) -> list[Arrival]:
    """Return Bernoulli arrivals with uniform destinations, one at most per slot and source."""
    draws = np.random.default_rng(seed)
    there = np.argwhere(draws.random((slots, network.n)) < load).tolist()
    to = draws.integers(0, network.n, len(there)).tolist()
    return [
        (slot, source, destination) for (slot, source), destination in zip(there, to, strict=True)
    ]


Late = Callable[[int], ProgramFunction]
