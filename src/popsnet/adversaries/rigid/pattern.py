"""Who sends where and who listens to what, slot by slot: the pattern of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from popsnet.coins import Coins
from popsnet.engines import Instance, Outcome
from popsnet.engines.slots import execute
from popsnet.memory import Memory
from popsnet.network import Network
from popsnet.routing import Router
from popsnet.routing.router import Variant
from popsnet.slot import Ints, Kind, Slot, Slots

__all__ = ["WatchedRouter", "difference", "watch"]

_NO_CAP = 2**62
"""Steps: it is slots that are counted here."""


@dataclass(frozen=True, slots=True, eq=False)
class WatchedRouter:
    """The slots of a run that was stopped after some of them, and the machine's count."""

    slots: tuple[Slot, ...]
    outcome: Outcome
    home: np.ndarray[tuple[int], np.dtype[np.bool_]]
    """Which packets are held by their destinations when it stops."""


def watch(
    router: Router, variant: str, network: Network, destination: Ints, coins: Coins, slots: int
) -> WatchedRouter:
    """Execute a router for so many slots, or fewer if it ends before."""
    seen: list[Slot] = []
    home = np.zeros(network.n, dtype=np.bool_)

    def truncated(network: Network, to: Ints, coins: Coins, memory: Memory) -> Slots:
        running = router.start(variant, network, to, coins, memory)
        yield from _first(running, slots, seen)
        home[:] = memory.holds(to, network.processors)

    truncated_router = Router(
        name=router.name,
        summary=router.summary,
        slots=f"{slots}",
        buffers=router.buffers_on(network, variant),
        variants={variant: Variant(truncated)},
    )
    instance = Instance(network, truncated_router, variant, destination, coins, _NO_CAP)
    outcome = execute(instance)
    return WatchedRouter(tuple(seen), outcome, home)


def _first(running: Slots, slots: int, seen: list[Slot]) -> Slots:
    """The first slots of a router; what it does with the last inbox is done, too."""
    try:
        slot = next(running)
        while len(seen) < slots:
            seen.append(slot)
            slot = running.send((yield slot))
    except StopIteration:
        pass
    finally:
        running.close()


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
    for sender, groups, kind in _sends(slot):
        what = "a packet" if kind is Kind.PACKET else f"a message ({kind.name.lower()})"
        acts.setdefault(sender, []).append(f"sends {what} to group {', '.join(map(str, groups))}")
    for listener, group in zip(slot.listeners.tolist(), slot.listened.tolist(), strict=True):
        acts.setdefault(listener, []).append(f"listens to group {group}")
    return {processor: " and ".join(said) for processor, said in acts.items()}


def _sends(slot: Slot) -> Iterator[tuple[int, list[int], Kind]]:
    fanout = np.ones(len(slot.senders), int) if slot.fanout is None else slot.fanout
    targets = np.split(slot.groups, np.cumsum(fanout)[:-1])
    kinds = slot.kinds.tolist()
    for sender, groups, kind in zip(slot.senders.tolist(), targets, kinds, strict=False):
        yield sender, sorted(groups.tolist()), Kind(kind)
