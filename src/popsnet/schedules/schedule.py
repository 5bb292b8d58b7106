"""A schedule: who sends what, on which coupler, to whom, in every slot; as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from popsnet.coins import Coins
from popsnet.compiled import compiled
from popsnet.memory import Memory
from popsnet.network import Network
from popsnet.slot import Ints, Slot, Slots

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """A collision-free schedule of rounds, in each of which packets go all their way.

    A packet takes one slot to its destination, or two, with a relay in between. Row i says that
    ``packets[i]`` goes from ``sources[i]`` by ``relays[i]`` to ``destinations[i]``; round r has the
    rows from ``bounds[r]`` to ``bounds[r + 1]``. Every message has one listener, so the coupler is
    known from the two: it leads from the sender's group to the listener's.

    The arrays cannot be written to: a schedule may be shared.
    """

    network: Network
    bounds: I64
    packets: I32
    sources: I32
    relays: I32 | None
    """None if all go straight."""
    destinations: I32

    def __post_init__(self) -> None:
        for array in self._arrays():
            array.flags.writeable = False

    def _arrays(self) -> list[npt.NDArray[np.integer]]:
        every = (self.bounds, self.packets, self.sources, self.relays, self.destinations)
        return [array for array in every if array is not None]

    @property
    def hops(self) -> int:
        """Slots of a round."""
        return 1 if self.relays is None else 2

    @property
    def slots(self) -> int:
        """How many slots there are."""
        return self.hops * (len(self.bounds) - 1)

    @property
    def nbytes(self) -> int:
        """Memory that it takes."""
        return sum(array.nbytes for array in self._arrays())

    def transmissions(self, slot: int) -> tuple[I32, I32, I32]:
        """Senders, listeners and packets of a slot, counting from 0."""
        turn, hop = divmod(slot, self.hops)
        rows = slice(self.bounds[turn], self.bounds[turn + 1])
        senders, listeners = self.sources, self.destinations
        if self.relays is not None:
            senders, listeners = (senders, self.relays) if hop == 0 else (self.relays, listeners)
        return senders[rows], listeners[rows], self.packets[rows]

    def slot(self, number: int, held: Ints | None = None, of: str = "", step: int = 0) -> Slot:
        """What the machine executes in a slot, counting from 0.

        A schedule made for one permutation serves whatever packets go by it: ``held[i]`` is the
        packet to send as packet i. ``of`` says in the name of the slot what it is a part of.
        """
        senders, listeners, packets = self.transmissions(number)
        last = number % self.hops == self.hops - 1
        return Slot.send_packets(
            senders,
            self.network.group(listeners),
            (listeners, self.network.group(senders)),
            packets=packets if held is None else held[packets],
            phase=of + ("to destination" if last else "to relay"),
            step=step,
            conflict_free=True,
        )

    def follow(self, memory: Memory) -> Slots:
        """All slots in turn: who sends a packet gives it up, and who hears one keeps it."""
        for number in range(self.slots):
            yield self.slot(number)
            senders, listeners, packets = self.transmissions(number)
            memory.drop(senders, packets)
            last = number % self.hops == self.hops - 1
            (memory.deliver if last else memory.store)(listeners, packets)

    def route(self, network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
        """The schedule as a router."""
        return self.follow(memory)

    def peak_buffers(self) -> int:
        """The most packets that any processor holds at once."""
        held = np.bincount(self.sources, minlength=self.network.n)
        peak = int(held.max())
        for number in range(self.slots):
            senders, listeners, _ = self.transmissions(number)
            peak = max(peak, _move(held, senders, listeners))
        return peak


@compiled
def _move(held: I64, senders: I32, listeners: I32) -> int:
    """Everybody sends, then keeps; the most that any of them holds then."""
    peak = 0
    for k in range(len(senders)):
        held[senders[k]] -= 1
    for k in range(len(listeners)):
        held[listeners[k]] += 1
        peak = max(peak, held[listeners[k]])
    return peak
