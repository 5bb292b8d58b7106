"""What an engine is given and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from popsnet.coins import Coins
from popsnet.network import Network
from popsnet.permutations.keyed import KeyedPermutation
from popsnet.permutations.uniform import UniformPermutation
from popsnet.routing import Router
from popsnet.slot import Ints
from popsnet.trace import Observer

__all__ = ["Execute", "Instance", "Load", "Outcome"]


@dataclass(frozen=True, slots=True)
class Load:
    """What decides how much memory runs take, and whether an engine can do them at all."""

    network: Network
    router: str = ""
    variant: str = ""
    keyed: bool = False
    """Whether the permutation is computed, not stored."""


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """One permutation to be routed, and by what."""

    network: Network
    router: Router
    variant: str
    destination: Ints | KeyedPermutation | UniformPermutation
    coins: Coins
    max_steps: int
    """The run is capped after so many steps."""
    start: Ints | None = None
    """Where each packet starts, if it is not packet i at processor i; for the slots engine."""
    max_slots: int | None = None
    """And capped after so many slots of one step; see :attr:`most_slots` if none are given."""

    @property
    def most_slots(self) -> int:
        """Slots of one step after which a router that never ends is stopped.

        10^6 + 2000n, if nothing else is said: more than any router that ships takes. The longest
        is aks, up to about 1100n slots on one group of 4096.
        """
        return 10**6 + 2000 * self.network.n if self.max_slots is None else self.max_slots

    def array(self) -> Ints:
        """All destinations, whether they are there already or are to be made."""
        if isinstance(self.destination, np.ndarray):
            return self.destination
        destination = self.destination.array()
        destination.flags.writeable = False  # a router reads it, never changes it
        return destination


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of routing one permutation."""

    slots: int
    slots_delivered: int
    """The slot in which the last packet to be delivered was delivered; 0 if none was."""
    steps: int
    delivered: int
    """Packets delivered to their destinations."""
    lost: int
    """Packets that no processor holds any more."""
    collisions: int
    """Couplers hit by two or more messages, summed over slots."""
    destroyed: int
    """Arrivals of messages at such couplers."""
    messages: int
    """Messages sent; a multicast is one."""
    peak_buffers: int | None
    """The most packets any processor held at once; None if the engine does not follow them."""
    control_bits: int | None
    """The most bits of any message, besides packets; None if the engine does not follow them."""
    capped: bool
    """Whether the run was stopped at its largest number of steps, or of slots in a step."""
    survivors: tuple[int, ...]
    """Packets not delivered after each step."""
    lost_packets: tuple[int, ...] = ()
    """Which ones are lost."""

    @property
    def slots_known(self) -> int | None:
        """The slots until every packet is home and its source knows; None if it did not happen."""
        undelivered = any(self.survivors[-1:])
        return None if self.capped or undelivered else self.slots


Execute: TypeAlias = Callable[[Instance, Sequence[Observer]], Outcome]
"""Routes an instance and tells the observers about every slot."""
