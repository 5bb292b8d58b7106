"""Who sends where and who listens to what, slot by slot: the pattern of a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from popsnet.adversaries.execution import execute_route, follow
from popsnet.coins import Coins
from popsnet.engines import Outcome
from popsnet.memory import Memory
from popsnet.network import Network
from popsnet.routing import Router
from popsnet.slot import Ints, Slot, Slots
from popsnet.trace import records

_NO_CAP = 2**62
"""Of steps: it is slots that are counted here."""


@dataclass(frozen=True, slots=True, eq=False)
class WatchedRouter:
    """The slots of a run that was stopped after some of them, and the machine's count."""

    slots: tuple[Slot, ...]
    outcome: Outcome
    delivered: np.ndarray[tuple[int], np.dtype[np.bool_]]
    """Which packets are held by their destinations when it stops."""


def watch(
    router: Router, variant: str, network: Network, destination: Ints, coins: Coins, slots: int
) -> WatchedRouter:
    """Execute a router for this many slots, or fewer if it ends before."""
    seen: list[Slot] = []
    delivered = np.zeros(network.n, dtype=np.bool_)

    def truncated(network: Network, to: Ints, coins: Coins, memory: Memory) -> Slots:
        running = router.start(variant, network, to, coins, memory)
        yield from follow(running, lambda slot, inbox: seen.append(slot), slots)
        delivered[:] = memory.holds(to, network.processors)

    outcome = execute_route(
        truncated, network, destination, name=router.name, coins=coins, max_steps=_NO_CAP,
        buffers=router.buffers_on(network, variant),
    )  # fmt: skip
    return WatchedRouter(tuple(seen), outcome, delivered)


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
