"""Faults in the replay of a trace. It shares no code with the faults of the machine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from popsnet.network import Network
from popsnet.trace.event import Send
from popsnet.trace.reader import FaultsOfTrace, SlotLine

Tuned: TypeAlias = tuple[int, int, int]
"""A listener: processor, group, wavelength."""


class FaultyParts:
    """The parts that do not work, by the header of a trace."""

    def __init__(self, network: Network, faults: FaultsOfTrace) -> None:
        self._network, self._faults = network, faults
        d, g = network.d, network.g
        self._couplers = _earliest(((to * g + by, slot) for to, by, slot in faults.couplers))
        self._senders = _earliest([*faults.transmitters, *faults.processors])
        self._hearers = _earliest([*faults.receivers, *faults.processors])
        self._processors = _earliest(faults.processors)
        self._alike = -(-g // d)

    def sends(self, slot: int, processor: int) -> bool:
        """Return whether the transmitter of a processor works in a slot."""
        return not self._is_dead(self._senders, processor, slot)

    def silence(
        self, line: SlotLine, listens: list[Tuned], channels: dict[int, Send | None]
    ) -> tuple[list[Tuned], list[tuple[int, str]]]:
        """Return the listeners that no fault keeps from hearing, and what is wrong with losses."""
        hears: list[Tuned] = []
        misses, seen = set(line.misses), set[int]()
        lost: dict[int, bool] = {}
        wrong: list[tuple[int, str]] = []
        if misses and not self._faults.loss:
            wrong.append((min(misses), "messages are lost only if the header has a loss"))
        for processor, group, wavelength in listens:
            coupler = processor // self._network.d * self._network.g + group
            channel = coupler * self._network.wavelengths + wavelength
            if self._is_dead(self._hearers, processor, line.slot):
                continue
            if self._is_dead(self._couplers, coupler, line.slot) or not channels.get(channel):
                continue
            seen.add(processor)
            missed = processor in misses
            if self._faults.loss_per == "coupler" and lost.setdefault(channel, missed) != missed:
                wrong.append((processor, "a lost message is lost for all listeners of its coupler"))
            if not missed:
                hears.append((processor, group, wavelength))
        nothing = "a message is lost only where there is one to hear"
        wrong.extend((processor, nothing) for processor in sorted(misses - seen))
        return hears, wrong

    def acts(self, slot: int, processor: int) -> bool:
        """Return whether a processor is not dead in a slot."""
        return not self._is_dead(self._processors, processor, slot)

    def joins(self, slot: int, source: int, destination: int) -> bool:
        """Return whether there is a live path of two hops both ways in a slot."""
        d, g = self._network.d, self._network.g
        if not (self._works(slot, source) and self._works(slot, destination)):
            return False
        a, b = source // d, destination // d
        for via in range(g):
            relays = range(via * d + a // self._alike, via * d + d, g)
            needed = (via * g + a, b * g + via, via * g + b, a * g + via)
            dead = any(self._is_dead(self._couplers, one, slot) for one in needed)
            if not dead and any(self._works(slot, relay) for relay in relays):
                return True
        return False

    def _works(self, slot: int, processor: int) -> bool:
        """Return whether a processor can send and hear in a slot."""
        hears = not self._is_dead(self._hearers, processor, slot)
        return hears and self.sends(slot, processor)

    def _is_dead(self, parts: dict[int, int], part: int, slot: int) -> bool:
        return part in parts and slot >= parts[part]


def _earliest(parts: Iterable[tuple[int, int]]) -> dict[int, int]:
    found: dict[int, int] = {}
    for part, slot in parts:
        found[part] = min(slot, found.get(part, slot))
    return found
