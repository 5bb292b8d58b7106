"""The message-level engine: any scheduler on the machine, every message executed and checked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from popsnet.coins import Coins
from popsnet.errors import InputError
from popsnet.machine import Counters, Machine
from popsnet.network import Network
from popsnet.slot import Slot
from popsnet.trace import Event, Observer, TraceWriter, records, wavelengths
from popsnet.traffic.arrivals import Block
from popsnet.traffic.log import Log
from popsnet.traffic.memory import Arrived, TrafficMemory
from popsnet.traffic.scheduler import Running, Scheduler


def public_coins(seed: int) -> Coins:
    """Return the coins that all processors know."""
    return Coins(Coins(seed).key("public", 0))


def private_coins(seed: int) -> Coins:
    """Return the coins of which each processor knows its own."""
    return Coins(Coins(seed).key("private", 0))


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
    ) -> None:
        self.network, self._name = network, scheduler.name
        self.memory = TrafficMemory(network, buffer)
        self.machine = Machine.of_memory(network, self.memory)
        self._observers = observers
        self._traces = [one for one in observers if isinstance(one, TraceWriter)]
        _, schedule = scheduler.variant(variant)
        self._running: Running = schedule(
            network, public_coins(seed), private_coins(seed), self.memory
        )
        if not hasattr(self._running, "send"):
            raise InputError(
                f"Scheduler {self._name!r} returned {self._running!r:.40}; it must be a generator "
                "function: use yield."
            )
        self._slot = 0
        self.lost: list[int] = []
        """The packets that were lost so far."""
        self._require_pause(self._resume(None))

    def advance(self, block: Block) -> Log:
        """Execute the slots of a block and return what happened."""
        record = _Record(self.memory, self.machine.counters)
        for k in range(len(block.starts) - 1):
            rows = slice(block.starts[k], block.starts[k + 1])
            arrived, refused = self.memory.admit(
                self._slot, block.sources[rows], block.destinations[rows]
            )
            record.refuse(refused + int(block.starts[k]))
            self._execute(arrived, record)
            self._slot += 1
        return record.log()

    def close(self) -> None:
        """End the scheduler."""
        self._running.close()

    def _execute(self, arrived: Arrived, record: _Record) -> None:
        slot = self._resume(arrived)
        if not isinstance(slot, Slot):
            raise InputError(
                f"Scheduler {self._name} yields {slot!r:.40} after arrivals; it must alternate: "
                "arrived = yield, then inbox = yield Slot(…)."
            )
        for trace in self._traces:
            trace.arrive(list(zip(*(one.tolist() for one in arrived), strict=True)))
        self.memory.sending(slot)
        inbox = self.machine.execute(slot)
        number = self.machine.counters.slots
        tuned = partial(wavelengths, slot) if self.machine.network.wavelengths > 1 else None
        event = Event(
            number, slot.phase, slot.step, self.memory.inside, partial(records, slot), tuned
        )
        for observe in self._observers:
            observe(event)
        self._require_pause(self._resume(inbox))
        lost = self.memory.settle()
        self.lost += lost
        for trace in self._traces:
            delivered = sorted((one.destination, one.packet) for one in self.memory.deliveries)
            trace.settle(*self.memory.changes(), delivered)
        record.add(self.machine.counters, lost)

    def _resume(self, value: Any) -> Slot | None:
        try:
            return self._running.send(value)
        except StopIteration:
            raise InputError(
                f"Scheduler {self._name} ended in slot {self._slot}; a scheduler never ends."
            ) from None
        except Exception as error:
            error.add_note(f"This was raised while scheduler {self._name} ran.")
            raise

    def _require_pause(self, slot: object) -> None:
        if slot is not None:
            raise InputError(
                f"Scheduler {self._name} yields {slot!r:.40} where it must wait for arrivals: "
                "arrived = yield, then inbox = yield Slot(…)."
            )


class _Record:
    """The rows of a log, collected slot by slot."""

    def __init__(self, memory: TrafficMemory, before: Counters) -> None:
        self._memory = memory
        self._slots: list[tuple[int, ...]] = []
        self._ends: list[int] = []
        self._deliveries: list[tuple[int, ...]] = []
        self._refused: list[int] = []
        self._refused_now = 0
        self._most_own = int(memory.held_own.max())
        self._most_relayed = int(memory.held_relayed.max())
        self._before = Counters(**vars(before))

    def refuse(self, rows: Any) -> None:
        """Note which arrivals of the slot were refused."""
        self._refused += rows.tolist()
        self._refused_now = len(rows)

    def add(self, counters: Counters, lost: Sequence[int]) -> None:
        """Note what happened in a slot."""
        memory, before = self._memory, self._before
        self._slots.append((
            self._refused_now, len(lost), counters.messages - before.messages,
            counters.collisions - before.collisions, counters.destroyed - before.destroyed,
            memory.own, memory.relayed,
        ))  # fmt: skip
        for one in sorted(memory.deliveries):
            source, arrival = memory.origin(one.packet)
            self._deliveries.append((arrival, source, one.destination, one.hops))
        self._ends.append(len(self._deliveries))
        self._most_own = max(self._most_own, int(memory.held_own.max()))
        self._most_relayed = max(self._most_relayed, int(memory.held_relayed.max()))
        self._before = Counters(**vars(counters))

    def log(self) -> Log:
        """Return the log."""
        slots = np.array(self._slots, dtype=np.int32).reshape(-1, 7)
        refused, lost, messages, collisions, destroyed, own, relayed = slots.T.copy()
        arrival, *rest = np.array(self._deliveries, dtype=np.int64).reshape(-1, 4).T
        source, destination, hops = (column.astype(np.int32) for column in rest)
        ends, refused_rows = (np.array(one, np.int64) for one in (self._ends, self._refused))
        return Log(
            refused, lost, messages, collisions, destroyed, own, relayed, ends, arrival.copy(),
            source, destination, hops, refused_rows, self._most_own, self._most_relayed,
        )  # fmt: skip
