"""The message-level engine: any scheduler on the machine, every message executed and checked."""

from __future__ import annotations

from collections.abc import Sequence, Set
from itertools import pairwise
from operator import sub
from typing import Any

import numpy as np

from popsnet.base.errors import InputError
from popsnet.engines.execution import ENDED, Execution
from popsnet.engines.log import FaultLog, Log
from popsnet.model.coins import Coins
from popsnet.model.faults import Faults
from popsnet.model.machine import Counters, Machine
from popsnet.model.network import I32, Network
from popsnet.model.slot import Slot
from popsnet.model.traffic_memory import NewPackets, TrafficMemory
from popsnet.programs.scheduler import Running, Scheduler
from popsnet.programs.scheduler_faults import TrafficFaults
from popsnet.trace import Observer
from popsnet.workloads.block import Block


def public_coins(seed: int) -> Coins:
    """Return the coins that all processors know."""
    return Coins(Coins(seed).key("public", 0))


def private_coins(seed: int) -> Coins:
    """Return the coins of which each processor knows its own."""
    return Coins(Coins(seed).key("private", 0))


class TrafficExecution(Execution):
    """A scheduler that runs on the machine: arrivals, a slot and what was heard, in turn."""

    def __init__(
        self, name: str, running: Running, machine: Machine, observers: Sequence[Observer] = ()
    ) -> None:
        super().__init__("scheduler", name, machine, observers)
        self.slot = 0
        """The present slot, or the next one."""
        memory = machine.memory
        assert isinstance(memory, TrafficMemory)
        self._memory = memory
        self._require_pause(self.start(running))
        memory.settle()  # nothing is done before the first slot

    def advance(self, arrived: NewPackets) -> list[int]:
        """Let packets arrive, execute a slot, and return the packets that were lost in it."""
        slot = self._require_running(self.resume(arrived))
        if not isinstance(slot, Slot):
            raise InputError(
                f"Scheduler {self.name} yields {slot!r:.40} after arrivals; it must alternate: "
                "arrived = yield, then inbox = yield Slot(…)."
            )
        for trace in self.traces:
            trace.arrive(list(zip(*(column.tolist() for column in arrived), strict=True)))
        self._require_pause(self.execute(slot))
        self.slot += 1
        return self._memory.settle()

    def _require_running(self, yielded: Any) -> Any:
        if yielded is ENDED:
            raise InputError(
                f"Scheduler {self.name} ended in slot {self.slot}; a scheduler never ends."
            )
        return yielded

    def _require_pause(self, yielded: Any) -> None:
        if self._require_running(yielded) is not None:
            raise InputError(
                f"Scheduler {self.name} yields {yielded!r:.40} where it must wait for arrivals: "
                "arrived = yield, then inbox = yield Slot(…)."
            )


class MessageSession:
    """A scheduler that runs on the machine, slot after slot."""

    def __init__(
        self,
        network: Network,
        scheduler: Scheduler,
        variant: str,
        seed: int = 0,
        buffer: int = 0,
        observers: Sequence[Observer] = (),
        faults: TrafficFaults | None = None,
    ) -> None:
        faults = faults or TrafficFaults(network, scheduler, Faults())
        self.network, self._faults = network, faults
        self.memory = faults.memory(network, buffer)
        self.machine = Machine.of(faults.medium, self.memory)
        self.unreachable: set[int] = set()
        """The packets inside that have no path."""
        self.lost: list[int] = []
        """The packets that were lost so far."""
        _, schedule = scheduler.variant(variant)
        coins = public_coins(seed), private_coins(seed)
        running = scheduler.begin(schedule, network, *coins, self.memory, **faults.keywords)
        self._execution = TrafficExecution(scheduler.name, running, self.machine, observers)

    def advance(self, block: Block) -> Log:
        """Execute the slots of a block and return what happened."""
        record = _Record(self.memory, self.machine.counters, bool(self._faults.kinds))
        for begin, end in pairwise(block.starts.tolist()):
            lost = self._execution.advance(self._admit(begin, end, block, record))
            self.lost += lost
            delivered = self.memory.delivered_now()
            record.add(lost, delivered, self.unreachable)
            if self.unreachable:
                self.unreachable.difference_update(lost, delivered[1].tolist())
        return record.log()

    def _admit(self, begin: int, end: int, block: Block, record: _Record) -> NewPackets:
        """Let packets arrive, and note those that are refused and those that have no path."""
        slot = self._execution.slot
        ends = block.sources[begin:end].copy(), block.destinations[begin:end].copy()
        if not self._faults.has_dead_parts:
            arrived, refused = self.memory.admit(slot, *ends)
            record.refused += (refused + begin).tolist()
            return arrived
        rows = np.arange(begin, end)
        unreachable = self._faults.unreachable(slot, *ends)
        record.unreachable += rows[unreachable].tolist()
        offered = rows[~unreachable] if self._faults.known else rows
        ends = block.sources[offered], block.destinations[offered]
        arrived, refused = self.memory.admit(slot, *ends)
        record.refused += np.setdiff1d(offered[refused], rows[unreachable]).tolist()
        if not self._faults.known:
            self.unreachable.update(arrived.packets[np.delete(unreachable, refused)].tolist())
        return arrived

    def close(self) -> None:
        """End the scheduler."""
        self._execution.close()


class _Record:
    """The rows of a log, collected slot by slot."""

    def __init__(self, memory: TrafficMemory, counters: Counters, is_faulty: bool) -> None:
        self._memory, self._counters, self._is_faulty = memory, counters, is_faulty
        self._before = memory.duplicated, memory.skipped, counters.unheard
        self.refused: list[int] = []
        """The arrivals that were refused."""
        self.unreachable: list[int] = []
        """The arrivals that have no path."""
        self._lost: list[int] = []
        self._deliveries = [np.empty((3, 0), dtype=np.int32)]
        self._most_own = int(memory.held_own.max())
        self._most_relayed = int(memory.held_relayed.max())
        self._held: list[tuple[int, int]] = []
        self._totals = [self._counted()]

    def _counted(self) -> tuple[int, ...]:
        """Return what is counted up to now, in the order of a log."""
        of = self._counters
        return len(self.refused), len(self._lost), of.messages, of.collisions, of.destroyed

    def add(self, lost: Sequence[int], delivered: I32, unreachable: Set[int]) -> None:
        """Note what happened in a slot, except to packets that have no path."""
        memory = self._memory
        if unreachable:
            lost = [packet for packet in lost if packet not in unreachable]
            known = [packet not in unreachable for packet in delivered[1].tolist()]
            delivered = delivered[:, np.array(known, dtype=np.bool_)]
        self._lost += lost
        self._deliveries.append(delivered)
        self._totals.append(self._counted())
        self._held.append((memory.own, memory.relayed))
        self._most_own = int(np.maximum.reduce(memory.held_own, initial=self._most_own))
        self._most_relayed = int(np.maximum.reduce(memory.held_relayed, initial=self._most_relayed))

    def log(self) -> Log:
        """Return the log."""
        counts = np.diff(self._totals, axis=0).astype(np.int32).T.copy()
        refused, lost, messages, collisions, destroyed = counts
        own, relayed = np.array(self._held, dtype=np.int32).reshape(-1, 2).T.copy()
        ends = np.cumsum([rows.shape[1] for rows in self._deliveries[1:]], dtype=np.int64)
        destination, packets, hops = np.concatenate(self._deliveries, axis=1)
        source, arrival = self._memory.origins(packets)
        return Log(
            refused, lost, messages, collisions, destroyed, own, relayed, ends,
            arrival.astype(np.int64), source, destination, hops, np.array(self.refused, np.int64),
            self._most_own, self._most_relayed, self._fault_log() if self._is_faulty else None,
        )  # fmt: skip

    def _fault_log(self) -> FaultLog:
        memory, lost = self._memory, np.array(self._lost, np.int32)
        flows = np.stack([memory.origins(lost)[0], memory.destinations(lost)], axis=1)
        after = memory.duplicated, memory.skipped, self._counters.unheard
        unreachable = np.array(self.unreachable, np.int64)
        return FaultLog(unreachable, flows, *map(sub, after, self._before))
