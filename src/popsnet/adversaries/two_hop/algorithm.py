"""Two-hop algorithms: where everybody sends its packet, and what everybody listens to.

The class of the paper. Every processor has an A-buffer, which holds its own packet, and a
B-buffer. In odd slots every processor whose packet has not arrived sends it to group
c_out(i, t); whoever hears a packet puts it in its B-buffer. In the even slot after it everybody
sends what is in its B-buffer to the group of its destination, and empties the buffer. In all
slots processor i listens to group c_in(i, t). A packet that any processor of its destination
group hears has arrived and disappears, from the A-buffer as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from popsnet.errors import InputError
from popsnet.network import Network
from popsnet.slot import Ints

I32 = npt.NDArray[np.int32]

NOBODY = -1
"""What c_in gives for a processor that listens to no group."""

Choice: TypeAlias = Callable[[Network, int], Ints]
"""The group that each processor chooses in a slot 1, 2, …: an array of n."""


@dataclass(frozen=True)
class TwoHop:
    """A deterministic two-hop algorithm: its two functions, checked whenever they are asked."""

    name: str
    c_out: Choice
    """Defined for odd slots."""
    c_in: Choice
    """It may say ``NOBODY``."""

    def sent_to(self, network: Network, slot: int) -> I32:
        """c_out of all processors in an odd slot."""
        return self._asked("c_out", self.c_out, network, slot, least=0)

    def listened_to(self, network: Network, slot: int) -> I32:
        """c_in of all processors."""
        return self._asked("c_in", self.c_in, network, slot, least=NOBODY)

    def _asked(self, name: str, choice: Choice, network: Network, slot: int, least: int) -> I32:
        first = np.asarray(choice(network, slot))
        again = np.asarray(choice(network, slot))
        _require_same(f"{name} of {self.name}", slot, first, again)
        outside = (first < least) | (first >= network.g)
        if outside.any():
            i = int(np.argmax(outside))
            raise InputError(
                f"{name} of {self.name} gives group {first[i]} for processor {i} in slot {slot}; "
                f"groups are numbered 0 to {network.g - 1}."
            )
        return first.astype(np.int32)


@dataclass(frozen=True, eq=False)
class _RecordedAlgorithm(TwoHop):
    known: dict[tuple[str, int], I32]

    def _asked(self, name: str, choice: Choice, network: Network, slot: int, least: int) -> I32:
        now = super()._asked(name, choice, network, slot, least)
        before = self.known.setdefault((name, slot), now)
        _require_same(f"{name} of {self.name}", slot, before, now)
        return now


def recorded(algorithm: TwoHop) -> TwoHop:
    """The same algorithm; what it says of a slot must be what it said before, on one network."""
    return _RecordedAlgorithm(algorithm.name, algorithm.c_out, algorithm.c_in, {})


def _require_same(name: str, slot: int, first: Ints, again: Ints) -> None:
    """Refuse what is no function, with a witness: asked twice it says the same."""
    if again is first:
        return
    differs = first != again
    if differs.any():
        i = int(np.argmax(differs))
        raise InputError(
            f"{name} is no function of processor and slot: for processor {i} in slot {slot} it "
            f"gives group {first[i]} and, asked again, group {again[i]}. A deterministic two-hop "
            "algorithm gives the same group always."
        )
