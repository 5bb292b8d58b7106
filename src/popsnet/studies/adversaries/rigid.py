"""The adversary of rigid algorithms: a transposition on which a truncated router must fail.

An algorithm is rigid if the groups that a processor sends to, and the group that it listens to,
depend on the slot and the processor only.

**Theorem** (Mei and Rizzi). A rigid algorithm takes at least ⌈log₂ n⌉ slots.

Proof. Let P(i, t) be the set of packets that processor i can hold after slot t. At first it is {i}.
In a slot i hears at most one processor j, the same one for every permutation, so P(i, t) is
P(i, t - 1) or its union with P(j, t - 1): it at most doubles, and |P(i, T)| ≤ 2^T. If 2^T < n there
is a packet h that is not in P(i, T), and the algorithm fails on every permutation with π(h) = i;
the transposition of h and i is one. ∎

"Sends one of the packets it stores" must be read strictly. A processor that sends in a slot for
one permutation and is silent for another can cause or avoid a collision, and then the sender that
is heard is no longer fixed. So the senders are part of the pattern here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest

import numpy as np

from popsnet.base.errors import InputError, wrong
from popsnet.base.progress import Progress, patient_progress
from popsnet.base.report import Column, Plotted, Report, Reported, Table, facts_of
from popsnet.engines import Instance
from popsnet.model.coins import Coins
from popsnet.model.medium import Medium
from popsnet.model.network import I32, U8, Bools, Network, about, on_network, require_one_wavelength
from popsnet.model.slot import Ints, Slot
from popsnet.programs.router import Router, find_variant
from popsnet.studies.adversaries.execution import WatchedRun, heard, verdict, watch
from popsnet.theory.bounds import guaranteed_slots
from popsnet.trace import records
from popsnet.workloads.permutations import make_permutation

MOST_N = 2**14
"""The sets P(i, t) take a bit for each pair of processors; more would not fit in memory."""

_PROBES = (("identity", 0), ("reversal", 1), ("random", 2), ("random", 3), ("random", 4))
"""The permutations on which patterns are compared, each with the seed of its coins."""

MOST_SLOTS = 10_000
"""The most slots of a router that are observed."""

_ROWS = 12
"""The most rows of the table of slots."""


@dataclass(frozen=True, slots=True)
class ReachGrowth:
    """The sizes of the sets P(i, t) after a slot."""

    slot: int
    least: int
    mean: float
    most: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RigidAttack(Reported, Plotted):
    """The outcome of :func:`attack_rigid`: how far packets can get, and where the router fails.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.studies.adversaries import attack_rigid
    >>> attack = attack_rigid("batcher", None, Network(1, 4), slots=1)
    >>> [(one.slot, one.most) for one in attack.growth]
    [(0, 1), (1, 2)]
    """

    _draw = "draw_growth"

    network: Network
    router: str
    variant: str
    slots: int
    """The slots after which the router was truncated, or had ended."""
    growth: tuple[ReachGrowth, ...]
    processor: int | None = None
    """A processor that the packet cannot reach; None if every packet can reach every processor."""
    packet: int | None = None
    destination: I32 | None = None
    """The transposition of ``packet`` and ``processor``."""
    confirmed: bool | None = None
    """Whether the machine saw the packet undelivered after ``slots``; None without a packet."""

    @property
    def guaranteed(self) -> int:
        """The slots that every rigid router needs on this network: ⌈log₂ n⌉."""
        return guaranteed_slots(self.network)

    def report(self) -> Report:
        """Return the sizes of the sets by slot, and the transposition on which the router fails."""
        columns = (
            Column("slot", "slot t", "integer"),
            Column("least", "least |P(i, t)|", "integer"),
            Column("mean", show=lambda row: f"{row.mean:,.1f}"),
            Column("most", kind="integer"),
            Column("bound", "2^t", show=lambda row: _power(row.slot)),
        )
        every = -(-len(self.growth) // _ROWS)
        parts = (Table("growth", "", columns, self.growth, every=every),)
        names = "network", "router", "variant", "slots", "guaranteed", "packet", "processor"
        facts = facts_of(self, *names, "confirmed")
        title = f"{self.network}: {self.router} ({self.variant}), rigid on all probes"
        report = Report(title, facts, parts, ok=bool(self.confirmed), about=about(self.network))
        if self.confirmed is None:
            last = _last_failing(self.network, self.growth)
            return report.plus(
                f"No transposition can be built: after {self.slots} slots every packet can be at "
                f"any processor. Truncate the router after {last} slots or fewer to see it fail."
            )
        text = (
            f"on the transposition of {self.packet} and {self.processor}, packet {self.packet} is "
            f"not at {self.processor} after {self.slots} slots. No rigid router takes fewer than "
            f"{self.guaranteed} on {self.network}."
        )
        return replace(report, verdict=verdict(self.confirmed, text))


def _power(exponent: int) -> str:
    return f"{2**exponent:,}" if exponent < 30 else f"2^{exponent}"


def _last_failing(network: Network, growth: Sequence[ReachGrowth]) -> int:
    """Return the last slot after which some packet cannot be at some processor."""
    return max(point.slot for point in growth if point.least < network.n)


@on_network
def attack_rigid(
    router: Router | str,
    variant: str | None,
    network: Network,
    slots: int | None = None,
    progress: Progress = None,
) -> RigidAttack:
    """Truncate a rigid router and build the transposition on which it fails.

    Parameters
    ----------
    router : Router or str
        A router, its name, or a file that registers one.
    variant : str or None
        A variant of the router; None for the default on this network.
    network : Network, or int and int
        The network, of 2 to 16,384 processors, or its d and g.
    slots : int, optional
        Truncate the router after this many slots. By default, after the last slot at which it
        must fail: at least ⌈log₂ n⌉ - 1, if the router runs that long, and at most 10,000.
    progress : function, bool or None
        A function that is called with the work done and a description. None shows a progress bar
        on a terminal after two seconds, False shows nothing.

    Returns
    -------
    RigidAttack
        The growth of the sets P(i, t), the transposition, and what the machine confirms.

    Raises
    ------
    InputError
        If the router is not rigid; the message names a witness, and the slot up to which the
        router is rigid.

    Notes
    -----
    The pattern of senders and listeners is compared on several permutations with different coins,
    and on the transposition itself. No finite number of runs proves a router rigid, but what the
    machine confirms holds in any case. Time O(n²/8) per slot.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.studies.adversaries import attack_rigid
    >>> attack = attack_rigid("batcher", None, Network(1, 8))
    >>> attack.guaranteed, attack.slots, attack.confirmed
    (3, 3, True)
    """
    require_one_wavelength(network)
    if not 2 <= (n := network.n) <= MOST_N:
        raise InputError(f"{network} has n = {n:,} processors; give a network of 2 to {MOST_N:,}.")
    if slots is not None and slots < 0:
        raise wrong("slots", slots)("a router cannot be truncated there; give 0 or more.")
    router, variant = find_variant(router, variant)
    variant = router.choose_variant(variant, network)
    with patient_progress("watching", None, progress) as update:
        attack = partial(_attack, router, variant, network, partial(update, None))
        try:
            return attack(slots)
        except _Difference as first:
            raise InputError(f"{first}{_up_to(attack, first.slot - 1)}", others=["slots"]) from None


def _up_to(attack: Callable[[int], RigidAttack], slots: int) -> str:
    """Say up to which slot a router is rigid, on the transposition of such a run as well."""
    while slots:
        try:
            attack(slots)
        except _Difference as earlier:
            slots = earlier.slot - 1
        else:
            return f" Up to slot {slots} it is rigid: give slots = {slots}."
    return ""


class _Difference(Exception):
    """A processor acts differently in two runs; ``slot`` is the first slot in which it does."""

    def __init__(self, text: str, slot: int) -> None:
        super().__init__(text)
        self.slot = slot


def _attack(
    router: Router, variant: str, network: Network, where: Callable[[str], None], slots: int | None
) -> RigidAttack:
    most = MOST_SLOTS if slots is None else min(slots, MOST_SLOTS)
    seen = _common_slots(router, variant, network, most, where)
    growth, _ = growth_of(network, seen)
    if slots is None:
        slots = _last_failing(network, growth)
    slots = min(slots, len(seen))
    _, reach = growth_of(network, seen[:slots])
    attack = partial(RigidAttack, network, router.name, variant, slots, tuple(growth))
    if (pair := reach.missing()) is None:
        return attack()
    i, h = pair
    where("the transposition")
    destination = network.processors
    destination[[h, i]] = i, h
    again, run = watch_slots(router, variant, network, destination, Coins(0), slots)
    on = f"the transposition of {h} and {i}"
    if differs := _first_difference(router, seen[:slots], again, on):
        raise differs
    return attack(i, h, destination, confirmed=not run.delivered[h])


def _common_slots(
    router: Router, variant: str, network: Network, slots: int, where: Callable[[str], None]
) -> tuple[Slot, ...]:
    """Return the slots of the first probe after checking that all probes have the same pattern."""

    def seen_on(name: str, seed: int) -> tuple[Slot, ...]:
        where(f"{name}, seed {seed}")
        destination = make_permutation(name, network, Coins(seed))
        return watch_slots(router, variant, network, destination, Coins(seed), slots)[0]

    first = seen_on(*_PROBES[0])
    compared = (
        _first_difference(router, first, seen_on(name, seed), f"{name}, seed {seed}")
        for name, seed in _PROBES[1:]
    )
    if differences := list(filter(None, compared)):
        raise min(differences, key=lambda difference: difference.slot)
    return first


def _first_difference(
    router: Router, first: Sequence[Slot], seen: Sequence[Slot], on: str
) -> _Difference | None:
    """Return the first difference between a run and that on the first probe."""
    pairs = zip_longest(first, seen, fillvalue=Slot())
    for number, pair in enumerate(pairs, start=1):
        if different := difference(*pair):
            processor, did, does = different
            return _Difference(
                f"{router.name} is not rigid: in slot {number} processor {processor} {did} on "
                f"{_PROBES[0][0]}, seed {_PROBES[0][1]}, and {does} on {on}. In a rigid router, "
                "where a processor sends and listens depends on the slot and the processor only.",
                number,
            )
    return None


def watch_slots(
    router: Router, variant: str, network: Network, destination: Ints, coins: Coins, most: int
) -> tuple[tuple[Slot, ...], WatchedRun]:
    """Run a router for at most ``most`` slots and return these slots and the outcome."""
    seen: list[Slot] = []
    instance = Instance(network, router, variant, destination, coins, max_steps=2**62)
    run = watch(instance, seen.append, most)
    return tuple(seen), run


def difference(first: Slot, other: Slot) -> tuple[int, str, str] | None:
    """Find a processor that acts differently in two slots, and describe both; None if none does.

    A processor may send different packets; everything else about sending and listening must agree.
    """
    names = ("senders", "groups", "kinds", "listeners", "listened", "owners")
    if all(np.array_equal(getattr(first, name), getattr(other, name)) for name in names):
        return None  # which is fast
    acts = _acts(first), _acts(other)
    for processor in sorted({**acts[0], **acts[1]}):
        did, does = (act.get(processor, "does nothing") for act in acts)
        if did != does:
            return processor, did, does
    return None


def _acts(slot: Slot) -> dict[int, str]:
    """Describe in words what each processor does."""
    acts: dict[int, list[str]] = {}
    sends, listens = records(slot)
    for sender, groups, kind, _ in sends:
        what = "a packet" if kind == "packet" else f"a message ({kind})"
        acts.setdefault(sender, []).append(f"sends {what} to group {', '.join(map(str, groups))}")
    for listener, group in listens:
        acts.setdefault(listener, []).append(f"listens to group {group}")
    return {processor: " and ".join(texts) for processor, texts in acts.items()}


class Reach:
    """All sets P(i, t), a bit for each pair: n²/8 bytes, O(n²/8) time per slot."""

    def __init__(self, network: Network) -> None:
        self.network, self._medium = network, Medium(network)
        self._sets: U8 = np.packbits(np.eye(network.n, dtype=np.bool_), axis=1)

    def after(self, slot: Slot, all_kinds: bool = False) -> None:
        """Update the sets with what every processor hears in this slot.

        With ``all_kinds``, every message tells all that its sender knows.
        """
        listeners, messages = heard(self._medium, slot, all_kinds)
        self._sets[listeners] |= self._sets[slot.senders[messages]]

    def holds(self, processors: Ints, packets: Ints) -> Bools:
        """Return for each pair whether the packet is in the processor's set."""
        held: Bools = self._sets[processors, packets >> 3] << (packets & 7) & 128 != 0
        return held

    def sizes(self) -> Ints:
        """Return the size of every processor's set."""
        sizes: Ints = np.bitwise_count(self._sets).sum(axis=1, dtype=np.int64)
        return sizes

    def of(self, i: int) -> Ints:
        """Return the packets that processor i can hold."""
        return np.flatnonzero(np.unpackbits(self._sets[i], count=self.network.n))

    def missing(self) -> tuple[int, int] | None:
        """Return a processor with the smallest set and a packet not in it; None if all are full."""
        i = int(np.argmin(self.sizes()))
        absent = np.delete(self.network.processors, self.of(i))
        return (i, int(absent[0])) if absent.size else None


def growth_of(network: Network, slots: tuple[Slot, ...]) -> tuple[list[ReachGrowth], Reach]:
    """Return the sizes of the sets after 0, 1, … slots, and the sets after the last slot."""
    reach, growth = Reach(network), list[ReachGrowth]()
    for number, slot in enumerate((Slot(), *slots)):
        reach.after(slot)
        sizes = reach.sizes()
        growth.append(ReachGrowth(number, int(sizes.min()), float(sizes.mean()), int(sizes.max())))
    return growth, reach
