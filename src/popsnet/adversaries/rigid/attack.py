"""The adversary of rigid algorithms: the transposition on which a truncated router must fail.

**Theorem** (Mei and Rizzi). A rigid algorithm, in which who sends to which groups and who listens
to which group depends on the slot and the processor only, takes at least ⌈log₂ n⌉ slots.

Proof. |P(i, T)| ≤ 2^T. If 2^T < n there is a packet h that is not in P(i, T), and the algorithm
fails on every permutation with π(h) = i; the transposition of h and i is one. ∎

"Sends one of the packets it stores" is to be read strictly: a processor that sends in a slot for
one permutation and not for another may make or avoid a collision elsewhere, and the one that is
heard is not fixed any more. So senders are a part of the pattern here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
import numpy.typing as npt

from popsnet.adversaries.reports import rigid_report
from popsnet.adversaries.rigid.pattern import WatchedRouter, difference, watch
from popsnet.adversaries.rigid.reach import ReachGrowth, growth_of
from popsnet.coins import Coins
from popsnet.errors import InputError
from popsnet.network import Network
from popsnet.permutations import make_permutation
from popsnet.progress import Progress, patient_progress
from popsnet.report import Report, Reported
from popsnet.routing import Router, find_router
from popsnet.slot import Slot
from popsnet.theory.lower_bounds import guaranteed_slots

MOST_N = 2**14
"""A bit for each pair of processors: beyond it would not fit."""

_PROBES = (("identity", 0), ("reversal", 1), ("random", 2), ("random", 3), ("random", 4))
"""The permutations, and the seed of the coins, on which patterns are compared."""

_MOST_SLOTS = 10_000
"""The most slots of a router that are followed."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RigidAttack(Reported):
    """How far packets can get in a truncated rigid router, and where it must fail."""

    network: Network
    router: str
    variant: str
    slots: int
    """When the router was stopped, or had ended."""
    growth: tuple[ReachGrowth, ...]
    processor: int | None = None
    """One that the packet cannot reach; None if every packet can reach every processor."""
    packet: int | None = None
    destination: npt.NDArray[np.int32] | None = None
    """The transposition of the two."""
    watched: WatchedRouter | None = None
    """What the machine saw."""

    @property
    def guaranteed(self) -> int:
        """The slots that every rigid router takes on the network."""
        return guaranteed_slots(self.network)

    @property
    def last_failing(self) -> int:
        """The last slot after which a packet cannot be everywhere: stopped there, it fails."""
        return max(one.slot for one in self.growth if one.least < self.network.n)

    @property
    def confirmed(self) -> bool | None:
        """Whether the packet was not delivered when the router was stopped; None without one."""
        if self.watched is None or self.packet is None:
            return None
        return not self.watched.delivered[self.packet]

    def report(self) -> Report:
        """Return the attack as it is shown."""
        return rigid_report(self)


def attack_rigid(
    router: Router | str,
    variant: str | None,
    network: Network,
    slots: int | None = None,
    progress: Progress = None,
) -> RigidAttack:
    """Stop a router after some slots, 10,000 at most, and make it fail.

    If not told after how many, it is the last slot after which it must fail: at least
    ⌈log₂ n⌉ - 1, if the router is so long. Patterns are compared on several permutations, with
    different coins, and on the transposition itself. That cannot prove a router rigid; but what
    the machine confirms holds in any case. Refuses, with a witness, a router that is not rigid,
    and says up to which slot it is.
    """
    if not 2 <= network.n <= MOST_N:
        raise InputError(f"{network} has n = {network.n:,}; give a network of 2 to {MOST_N:,}.")
    if slots is not None and slots < 0:
        raise InputError(f"slots = {slots}: a router is stopped after 0 slots or more.")
    if isinstance(router, str):
        router = find_router(router)
    variant = router.choose_variant(variant, network)
    with patient_progress("watching", None, progress) as report:
        return _attack_or_refuse(router, variant, network, slots, lambda at: report(detail=at))


def _attack_or_refuse(
    router: Router, variant: str, network: Network, slots: int | None, where: Callable[[str], None]
) -> RigidAttack:
    try:
        return _attack(router, variant, network, slots, where)
    except _Differs as first:
        rigid = first.slot - 1
        while rigid:  # until a shorter run of it is rigid on the transposition as well
            try:
                _attack(router, variant, network, rigid, where)
                break
            except _Differs as earlier:
                rigid = earlier.slot - 1
        up_to = f" Up to slot {rigid} it is: give slots = {rigid}." if rigid else ""
        raise InputError(f"{first}{up_to}") from None


class _Differs(Exception):
    """Two runs in which a processor acts differently, and the first slot in which it does."""

    def __init__(self, text: str, slot: int) -> None:
        super().__init__(text)
        self.slot = slot


def _attack(
    router: Router,
    variant: str,
    network: Network,
    slots: int | None,
    progress: Callable[[str], None],
) -> RigidAttack:
    most = _MOST_SLOTS if slots is None else min(slots, _MOST_SLOTS)
    seen = _common_slots(router, variant, network, most, progress)
    growth, _ = growth_of(network, seen)
    if slots is None:
        slots = max(one.slot for one in growth if one.least < network.n)
    slots = min(slots, len(seen))
    _, reach = growth_of(network, seen[:slots])
    found = reach.missing()
    if found is None:
        return RigidAttack(network, router.name, variant, slots, tuple(growth))
    i, h = found
    progress("the transposition")
    destination = network.processors
    destination[[h, i]] = i, h
    failed = watch(router, variant, network, destination, Coins(0), slots)
    _require_same(router, seen[:slots], failed.slots, f"the transposition of {h} and {i}")
    return RigidAttack(
        network, router.name, variant, slots, tuple(growth), i, h, destination, failed
    )


def _common_slots(
    router: Router, variant: str, network: Network, slots: int, progress: Callable[[str], None]
) -> tuple[Slot, ...]:
    """The slots of the first probe, which those of all others are like."""
    first: tuple[Slot, ...] | None = None
    found: list[_Differs] = []
    for name, seed in _PROBES:
        progress(f"{name}, seed {seed}")
        destination = make_permutation(name, network, Coins(seed))
        seen = watch(router, variant, network, destination, Coins(seed), slots).slots
        first = seen if first is None else first
        try:
            _require_same(router, first, seen, f"{name}, seed {seed}")
        except _Differs as differs:
            found.append(differs)
    if found:
        raise min(found, key=lambda one: one.slot)
    assert first is not None
    return first


def _require_same(router: Router, first: tuple[Slot, ...], seen: tuple[Slot, ...], on: str) -> None:
    for number, (one, other) in enumerate(zip_longest(first, seen), start=1):
        found = difference(one, other)
        if found is not None:
            processor, did, does = found
            raise _Differs(
                f"{router.name} is not rigid: in slot {number} processor {processor} {did} on "
                f"{_PROBES[0][0]}, seed {_PROBES[0][1]}, and {does} on {on}. In a rigid router who "
                "sends where, and who listens to what, depends on slot and processor only.",
                number,
            )
