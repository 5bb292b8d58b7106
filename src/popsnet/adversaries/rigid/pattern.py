"""The pattern of a run, who sends where and who listens to what, and what it can carry.

P(i, t) is the set of packets that processor i can hold after slot t of a rigid algorithm. At first
it is {i}. In a slot i hears at most one processor j, the same one for every permutation, so P(i, t)
is P(i, t - 1) or its union with P(j, t - 1): it at most doubles, and |P(i, t)| ≤ 2^t.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from popsnet.adversaries.execution import WatchedRun, watch
from popsnet.coins import Coins
from popsnet.network import Network
from popsnet.routing import Router
from popsnet.slot import Ints, Kind, Slot
from popsnet.trace import records


def watch_slots(
    router: Router, variant: str, network: Network, destination: Ints, coins: Coins, most: int
) -> tuple[tuple[Slot, ...], WatchedRun]:
    """Return the slots of a router, ``most`` at most, and what the machine saw."""
    seen: list[Slot] = []
    run = watch(
        router, variant, network, destination, coins, lambda slot, _: seen.append(slot), most=most
    )
    return tuple(seen), run


def difference(one: Slot | None, other: Slot | None) -> tuple[int, str, str] | None:
    """A processor that acts differently in two slots, and what it does; None if none does.

    Which packet it sends may differ: everything else about sending and listening may not.
    """
    if one is not None and other is not None and _is_same(one, other):
        return None
    acts = [_acts(slot) if slot is not None else {} for slot in (one, other)]
    for processor in sorted(acts[0].keys() | acts[1].keys()):
        did = [act.get(processor, "does nothing") for act in acts]
        if did[0] != did[1]:
            return processor, did[0], did[1]
    return None


def _is_same(one: Slot, other: Slot) -> bool:
    """Whether two slots are the same number by number, which is quick to see."""
    if (one.fanout is None) != (other.fanout is None):
        return False
    names = ("senders", "groups", "kinds", "listeners", "listened", "owners")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def _acts(slot: Slot) -> dict[int, str]:
    """By processor: what it does, in words."""
    acts: dict[int, list[str]] = {}
    sends, listens = records(slot)
    for sender, groups, kind, _ in sends:
        what = "a packet" if kind == "packet" else f"a message ({kind})"
        acts.setdefault(sender, []).append(f"sends {what} to group {', '.join(map(str, groups))}")
    for listener, group in listens:
        acts.setdefault(listener, []).append(f"listens to group {group}")
    return {processor: " and ".join(said) for processor, said in acts.items()}


@dataclass(frozen=True, slots=True)
class ReachGrowth:
    """How large the sets P(i, t) are after a slot."""

    slot: int
    least: int
    mean: float
    most: int


class Reach:
    """All the sets P(i, t), a bit for each pair: n²/8 bytes, O(n²/8) time per slot."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self._sets: npt.NDArray[np.uint8] = np.packbits(np.eye(network.n, dtype=np.bool_), axis=1)

    def after(self, slot: Slot) -> None:
        """Let every processor hear what it hears in this slot."""
        listeners, senders = _heard(self.network, slot)
        self._sets[listeners] |= self._sets[senders]

    def sizes(self) -> Ints:
        """The size of every processor's set."""
        sizes: Ints = np.bitwise_count(self._sets).sum(axis=1, dtype=np.int64)
        return sizes

    def of(self, i: int) -> Ints:
        """The packets that processor i can hold."""
        return np.flatnonzero(np.unpackbits(self._sets[i], count=self.network.n))

    def missing(self) -> tuple[int, int] | None:
        """A processor with the smallest set, and a packet that it cannot hold; None if none."""
        i = int(np.argmin(self.sizes()))
        absent = np.delete(self.network.processors, self.of(i))
        return (i, int(absent[0])) if absent.size else None


def _heard(network: Network, slot: Slot) -> tuple[Ints, Ints]:
    """Who hears a packet, and from whom."""
    by, to = slot.senders[slot.owners], slot.groups
    couplers = network.coupler(to, network.group(by))
    used, first, times = np.unique(couplers, return_index=True, return_counts=True)
    is_heard = (times == 1) & (slot.kinds[slot.owners][first] == Kind.PACKET)
    no_coupler = network.couplers  # the last entry: no listener is on it
    heard, sender = np.append(used[is_heard], no_coupler), by[first[is_heard]]
    listened = network.coupler(network.group(slot.listeners), slot.listened)
    at = np.searchsorted(heard, listened)
    hears = heard[at] == listened
    return slot.listeners[hears], sender[at[hears]]


def growth_of(network: Network, slots: tuple[Slot, ...]) -> tuple[list[ReachGrowth], Reach]:
    """The sizes of the sets after 0, 1, … slots, and the sets after the last."""
    reach, growth = Reach(network), list[ReachGrowth]()
    for number, slot in enumerate((None, *slots)):
        if slot is not None:
            reach.after(slot)
        sizes = reach.sizes()
        growth.append(ReachGrowth(number, int(sizes.min()), float(sizes.mean()), int(sizes.max())))
    return growth, reach
