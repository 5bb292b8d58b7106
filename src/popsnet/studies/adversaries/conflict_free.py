"""The lower bound for conflict-free algorithms, checked on every permutation of a tiny network.

An algorithm is conflict-free if on no permutation two messages meet on a coupler.

**Theorem.** On POPS(d, g), n = dg, a deterministic conflict-free algorithm that routes all
permutations takes at least ¼·log₂ max(d, d²/g) slots.

The proof lets every message be all that its sender knows. So the state of a processor after slot s
is its state before with what it hears in slot s, and what a coupler carries is the sender with its
state. Whatever the algorithm does, the following must hold; each is checked here.

- *Degree.* The indicator of a value of a coupler in slot s is a polynomial of degree at most
  2^(s-1) in the indicators [π(i) = x], and that of a state after slot s has at most 2^s. Indeed
  [Q sends to c in state q] is the indicator of the state, because no other message ever meets
  it, silence is 1 minus the sum of these, and a new state is a product of two.
- *Matching.* So a coupler's value at any permutation is changed by at most 4^(s-1) disjoint swaps
  of two destinations (Nisan and Szegedy; Tal).
- *Swap.* If a coupler carries packet i, or a processor holds it, every swap of the destination of
  i changes the value, because the value tells it.
- *Arrivals.* By counting, few packets of a random permutation can have arrived:
  :func:`popsnet.theory.conflict_free_arrivals`.

If up to κ messages may meet on a coupler and destroy each other, the degrees are κ(κ + 1)^(s-1) and
(κ + 1)^s instead.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from itertools import count, zip_longest
from math import factorial, gcd
from typing import Any, NamedTuple, NoReturn

import numpy as np

from popsnet.base.errors import InputError, RuleViolation, wrong
from popsnet.base.progress import Progress, patient_progress
from popsnet.base.report import Column, Plotted, Report, Reported, Table, facts_of, plural
from popsnet.model.coins import Coins
from popsnet.model.memory import Memory
from popsnet.model.network import Bools, Network, about, on_network, require_one_wavelength
from popsnet.model.slot import Ints, Slot, Slots
from popsnet.programs.router import Router, find_variant
from popsnet.studies.adversaries.all_permutations import AllPermutations
from popsnet.studies.adversaries.execution import execute_route, uniform_permutations
from popsnet.studies.adversaries.rigid import MOST_N, MOST_SLOTS, Reach, acts_of
from popsnet.theory.bounds import conflict_free_arrivals

EXACT_N = 6
"""Networks of up to this many processors are run on all permutations, others on a sample.

Those with 8 have 40,320 permutations: a router runs on them in a minute, but the degree of one
function would take 40,320² additions, and there are thousands of functions.
"""

_RUNS = 10
_ROWS = 12
"""The most rows of the table of slots."""


@dataclass(frozen=True, slots=True)
class CheckedSlot:
    """What was found in a slot, with the bounds; a bound is None if it holds for all functions.

    Degrees, matching and swaps are None if permutations were sampled.
    """

    slot: int
    arrivals: float
    """The mean number of packets that have arrived, if every message tells all it can."""
    arrivals_bound: float | None
    coupler_degree: int | None = None
    coupler_bound: int | None = None
    state_degree: int | None = None
    state_bound: int | None = None
    matching: int | None = None
    matching_bound: int | None = None
    swaps: int | None = None
    unchanged: int | None = None
    """Swaps of a carried or held packet's destination that do not change the value."""

    @property
    def holds(self) -> bool:
        """Whether nothing exceeds its bound, and every swap changes the value."""
        pairs = (
            (self.arrivals, self.arrivals_bound),
            (self.coupler_degree, self.coupler_bound),
            (self.state_degree, self.state_bound),
            (self.matching, self.matching_bound),
        )
        within = all(bound is None or found is None or found <= bound for found, bound in pairs)
        return within and not self.unchanged


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the theorem is not about a router: a conflict, or knowledge that was not received."""

    reason: str
    """``conflict`` or ``locality``."""
    slot: int
    processors: tuple[int, ...]
    """The senders that meet, or the processor that acts on knowledge that it has not received."""
    coupler: tuple[int, int] | None
    """The groups (b, a) of the coupler c(b, a), from group a to group b."""
    permutations: tuple[tuple[int, ...], ...]
    """That on which they meet, or two on which the processor has heard the same."""
    text: str

    def to_dict(self) -> dict[str, Any]:
        """Return the fields."""
        return asdict(self)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ConflictFreeCheck(Reported, Plotted):
    """The outcome of :func:`check_conflict_free`.

    Examples
    --------
    >>> from popsnet.studies.adversaries import check_conflict_free
    >>> check = check_conflict_free("direct", None, 2, 2)
    >>> [(one.coupler_degree, one.state_degree, one.matching) for one in check.checked]
    [(1, 2, 1), (1, 3, 1)]
    """

    _draw = "draw_arrivals"

    network: Network
    router: str
    variant: str
    allow: int
    permutations: int
    exact: bool
    """Whether these are all permutations."""
    slots: int
    """The slots after which all runs were truncated."""
    longest: int
    """The slots of the longest run."""
    indicators: int
    """The functions whose degree was computed."""
    checked: tuple[CheckedSlot, ...]
    refusal: Refusal | None = None

    @property
    def confirmed(self) -> bool:
        """Whether the router is in the class, and everything that the theorem says holds."""
        return self.refusal is None and all(slot.holds for slot in self.checked)

    def report(self) -> Report:
        """Return the answer, the table of slots, and where the bound on arrivals says something."""
        number = "all" if self.exact else "a sample of"
        title = f"{self.network}: {self.router} ({self.variant}) on {number} {self._runs}"
        facts = facts_of(self, *_FACTS)
        columns = _COLUMNS if self.exact else (_COLUMNS[0], _COLUMNS[-1])
        caption = "In brackets is the bound of the theorem; without one it is no restriction."
        table = Table("checked", "", columns, self.checked, caption, folded=(_ROWS, 1))
        parts, cure = (self._answer, table, *(self._notes() if self.checked else ())), ""
        if self.refusal is not None and self.refusal.coupler is not None:
            met = len(self.refusal.processors)
            cure = f"With allow = {met} or more the bounds are for algorithms with conflicts."
        return Report(
            title, facts, parts, "", self.confirmed, cure, ("allow",), about(self.network)
        )

    @property
    def _runs(self) -> str:
        return plural(self.permutations, "permutation")

    @property
    def _answer(self) -> str:
        if self.refusal is not None:
            return self.refusal.text
        meet = "No conflict" if self.allow == 1 else f"At most {self.allow} messages meet"
        broken = [str(slot.slot) for slot in self.checked if not slot.holds]
        if broken:
            return f"{meet}, but NOT CONFIRMED: see slot {', '.join(broken)}."
        what = "the mean arrivals are within the bound"
        if self.exact:
            swaps = sum(slot.swaps or 0 for slot in self.checked)
            what = (
                f"all {self.indicators:,} indicators are within their degrees, and each of "
                f"{swaps:,} swaps of a known destination changes what is known"
            )
        return f"{meet} in {self._runs}; {what}."

    def _notes(self) -> list[str]:
        notes = []
        if not self.exact:
            notes.append(
                "A sample does not prove that a router is conflict-free. Up to "
                f"n = {EXACT_N} it is run on all permutations, and degrees and swaps are checked."
            )
        if self.longest > self.slots:
            notes.append(
                f"Runs take up to {self.longest} slots, and the shortest {self.slots}; as no "
                f"processor knows when a run ends, the first {plural(self.slots, 'slot')} are "
                "compared."
            )
        d, g, n = self.network.d, self.network.g, self.network.n
        below = len(conflict_free_arrivals(d, g, self.allow))
        unit = g // gcd(d, g)
        scale = _first_scale(d // gcd(d, g), unit, below + 1, self.allow)
        later = (
            f"in {_first(below + 1)} on networks with the same d/g from g = {unit * scale:,} on."
        )
        notes.append(
            f"The bound on arrivals is below n = {n:,} in {_first(below)}, and {later}"
            if below
            else f"The bound on arrivals is n = {n:,} or more from slot 1 on, so it says nothing "
            f"on {self.network}. It is below n {later}"
        )
        return notes


def _first(slots: int) -> str:
    return "slot 1" if slots == 1 else f"slots 1 to {slots}"


def _of_bound(heading: str, key: str, bound: str, form: str = ",") -> Column:
    def show(row: CheckedSlot) -> str:
        most = getattr(row, bound)
        return f"{getattr(row, key):{form}}" + (f" (≤ {most:{form}})" if most is not None else "")

    return Column(key, heading, "number", show)


_FACTS = (
    *("network", "router", "variant", "allow", "permutations", "exact", "slots", "longest"),
    *("indicators", "refusal", "confirmed"),
)

_COLUMNS = (
    Column("slot", kind="integer"),
    _of_bound("degree of couplers", "coupler_degree", "coupler_bound"),
    _of_bound("of states", "state_degree", "state_bound"),
    _of_bound("matching", "matching", "matching_bound"),
    Column("swaps", "swaps checked", "integer"),
    _of_bound("mean arrivals", "arrivals", "arrivals_bound", ",.2f"),
)


def _first_scale(d: int, g: int, slots: int, allow: int) -> int:
    """Return the least k for which the bound on POPS(kd, kg) is below n for this many slots.

    The bound divided by n falls with k.
    """

    def enough(scale: int) -> bool:
        return len(conflict_free_arrivals(d * scale, g * scale, allow)) >= slots

    most = next(2**e for e in count() if enough(2**e))
    return bisect_left(range(most), True, lo=most // 2, key=enough)


@on_network
def check_conflict_free(
    router: Router | str,
    variant: str | None,
    network: Network,
    slots: int | None = None,
    *,
    allow: int = 1,
    runs: int | None = None,
    permutation_seed: int | None = None,
    progress: Progress = None,
) -> ConflictFreeCheck:
    """Check the lower bound for conflict-free algorithms, step by step, on a router.

    Parameters
    ----------
    router : Router or str
        A router, its name, or a file that registers one.
    variant : str or None
        A variant of the router; None for the default on this network.
    network : Network, or int and int
        The network, of 2 to 16,384 processors, or its d and g.
    slots : int, optional
        Truncate the router after this many slots. By default, where its shortest run ends.
    allow : int
        The most messages that may meet on a coupler; 1 for conflict-free algorithms.
    runs : int, optional
        The number of random permutations on networks with more than 6 processors, by default 10.
    permutation_seed : int, optional
        The seed of the random permutations, by default 0.
    progress : function, bool or None
        A function that is called with the work done and the total. None shows a progress bar on
        a terminal after two seconds, False shows nothing.

    Returns
    -------
    ConflictFreeCheck
        What was found in each slot, with the bounds, or why the theorem is not about the router:
        a conflict, or a processor that acts on knowledge that it has not received.

    Raises
    ------
    InputError
        If the router draws coins, or is meant to know the whole permutation.

    Notes
    -----
    Up to n = 6 the router runs on all n! permutations. The degrees are exact (see
    :mod:`popsnet.studies.adversaries.all_permutations`), and so are the matchings. On larger
    networks the router runs on random permutations, and only conflicts and arrivals are examined;
    that cannot prove it conflict-free.

    A packet counts as arrived if its destination would have it if every message told all that its
    sender knows. A router delivers no more than that.

    Examples
    --------
    >>> from popsnet.studies.adversaries import check_conflict_free
    >>> print(check_conflict_free("direct", None, 2, 2).report().parts[0])
    No conflict in 24 permutations; all 57 indicators are within their degrees, and each of 1,260 \
swaps of a known destination changes what is known.
    """
    require_one_wavelength(network)
    if not 2 <= network.n <= MOST_N:
        size = f"{network} has n = {network.n:,} processors"
        raise InputError(f"{size}; give a network of 2 to {MOST_N:,}.")
    for name, value, least in (("slots", slots, 1), ("allow", allow, 1), ("runs", runs, 1)):
        if value is not None and value < least:
            raise wrong(name, value)(f"it must be at least {least}.")
    exact = network.n <= EXACT_N
    for name, value in (("runs", runs), ("permutation_seed", permutation_seed)):
        if exact and value is not None:
            raise wrong(name, value)(
                f"up to n = {EXACT_N} the router runs on all permutations; leave it out."
            )
    router, variant = find_variant(router, variant)
    variant = router.choose_variant(variant, network)
    if router.variant(variant).idealized or not router.online:
        raise InputError(
            f"Router {router.name} ({variant}) uses what no processor knows, and the theorem is "
            "about processors that know their own destinations and what they hear; choose another."
        )
    check = _Check(router, variant, network, allow)
    number = factorial(network.n) if exact else runs or _RUNS
    drawn = uniform_permutations(network, number, permutation_seed or 0)
    destinations: Iterable[Ints] = check.all.array if check.all is not None else drawn
    with patient_progress("running", number, progress, "permutations") as report:
        for done, destination in enumerate(destinations):
            report(done)
            if (refusal := check.run(destination, slots or MOST_SLOTS)) is not None:
                return check.outcome(number, refusal)
    return check.outcome(number, check.examine())


class _NoCoins(Coins):
    """Coins that no router may draw. A word that is configured is part of the algorithm."""

    def key(self, purpose: str, step: int) -> NoReturn:
        raise InputError(
            f"The router draws coins ({purpose}), and the theorem is about deterministic "
            "algorithms, or about algorithms with coins of which no outcome causes a conflict; "
            "choose a router without coins."
        )

    def configured(self, purpose: str) -> int:
        return Coins(self.seed).configured(purpose)


class _Check:
    """A router, and what it did on the permutations so far."""

    def __init__(self, router: Router, variant: str, network: Network, allow: int) -> None:
        self.router, self.variant, self.network, self.allow = router, variant, network, allow
        self.all = AllPermutations(network.n) if network.n <= EXACT_N else None
        self._runs: list[_Run] = []
        self._degrees: dict[bytes, int] = {}

    def run(self, destination: Ints, most: int) -> Refusal | None:
        """Execute the router on a permutation, and return the first conflict, if there is one."""
        slots = self._seen(destination, most)
        refusal = self._conflict(slots, destination)
        if refusal is None:
            self._runs.append(self._record(slots, destination))
        return refusal

    def _seen(self, destination: Ints, most: int) -> list[Slot]:
        """Return the slots of a run, the last one also if the machine stops it for a conflict."""
        seen: list[Slot] = []

        def route(network: Network, to: Ints, _: Coins, memory: Memory) -> Slots:
            running = self.router.start(self.variant, network, to, _NoCoins(0), memory)
            with suppress(StopIteration), closing(running):
                slot = next(running)
                while len(seen) < most:
                    seen.append(slot)
                    slot = running.send((yield slot))

        name, buffers = self.router.name, self.router.buffers_on(self.network, self.variant)
        try:
            done = execute_route(route, self.network, destination, name, buffers, max_steps=2**62)
        except RuleViolation:
            if self._conflict(seen, destination) is None:
                raise
            return seen
        return seen[: done.slots]

    def _record(self, slots: Sequence[Slot], destination: Ints) -> _Run:
        network, reach = self.network, Reach(self.network)
        arrived = list[int]()
        if self.all is None:
            for slot in slots:
                reach.after(slot, all_kinds=True)
                arrived.append(int(reach.holds(destination, network.processors).sum()))
            return _Run(arrived)
        pairs = np.indices((network.n, network.n))
        sends, listens = np.zeros((2, len(slots), network.n), dtype=np.int64)
        held = [reach.holds(*pairs)]
        for t, slot in enumerate(slots):
            np.add.at(sends[t], slot.senders[slot.owners], 1 << slot.groups)
            listens[t, slot.listeners] = slot.listened + 1
            reach.after(slot, all_kinds=True)
            held.append(reach.holds(*pairs))
            arrived.append(int(held[-1][destination, network.processors].sum()))
        return _Run(arrived, sends, listens - 1, np.array(held))

    def _conflict(self, slots: Sequence[Slot], destination: Ints) -> Refusal | None:
        g, most = self.network.g, self.allow
        for number, slot in enumerate(slots, 1):
            senders = slot.senders[slot.owners]
            couplers = slot.groups * g + self.network.group(senders)
            in_order = np.sort(couplers)
            met = in_order[most:][in_order[most:] == in_order[:-most]]
            if met.size:
                b, a = divmod(int(met[0]), g)
                processors = tuple(np.sort(senders[couplers == met[0]]).tolist())
                text = (
                    f"NOT CONFLICT-FREE: on {_named(destination)}, in slot {number}, the messages "
                    f"of processors {', '.join(map(str, processors))} meet on coupler c({b}, {a}), "
                    f"from group {a} to group {b}."
                )
                to = (tuple(destination.tolist()),)
                return Refusal("conflict", number, processors, (b, a), to, text)
        return None

    def outcome(self, permutations: int, found: Refusal | list[CheckedSlot]) -> ConflictFreeCheck:
        """Return the result."""
        checked, refusal = ((), found) if isinstance(found, Refusal) else (tuple(found), None)
        lengths, exact = [len(run.arrived) for run in self._runs] or [0], self.all is not None
        router = self.router.name, self.variant, self.allow
        counts = permutations, exact, min(lengths), max(lengths), len(self._degrees)
        return ConflictFreeCheck(self.network, *router, *counts, checked, refusal)

    @property
    def _slots(self) -> int:
        return min((len(run.arrived) for run in self._runs), default=0)

    def examine(self) -> Refusal | list[CheckedSlot]:
        """Return what was found in each slot, or who acts on knowledge that it has not received."""
        slots, network = self._slots, self.network
        arrivals = np.mean([run.arrived[:slots] for run in self._runs], axis=0).tolist()
        bounds = conflict_free_arrivals(network.d, network.g, self.allow)
        rows = [
            CheckedSlot(number, *pair)
            for number, pair in enumerate(zip_longest(arrivals, bounds[:slots]), 1)
        ]
        if self.all is None:
            return rows
        sends, listens, held = (
            np.stack([getattr(run, name)[: slots + more] for run in self._runs], axis=-1)
            for name, more in (("sends", 0), ("listens", 0), ("held", 1))
        )
        states = self.all.array.T
        for t, row in enumerate(rows):
            refusal = self._nonlocal(t, states, sends[t], listens[t])
            if refusal is not None:
                return refusal
            values, carried = self._carried(states, sends[t], held[t])
            states = self._after(states, listens[t], values)
            rows[t] = self._examined(row, values, carried, states, held[t + 1])
        return rows

    def _nonlocal(self, t: int, states: Ints, sends: Ints, listens: Ints) -> Refusal | None:
        """Return a processor that acts differently on two permutations in the same state."""
        assert self.all is not None
        acts = sends * (self.network.g + 1) + listens
        for processor, (state, act) in enumerate(zip(states, acts, strict=True)):
            _, first, same = np.unique(state, return_index=True, return_inverse=True)
            differs = act != act[first[same]]
            if differs.any():
                other = int(np.argmax(differs))
                pair = [self.all.array[number] for number in (first[same[other]], other)]
                did, does = (self._act(to, t, processor) for to in pair)
                text = (
                    f"NOT LOCAL: in slot {t + 1} processor {processor} {did} on "
                    f"{_named(pair[0])}, and {does} on {_named(pair[1])}, though it has the same "
                    "destination on both and has heard the same: it uses knowledge that it has "
                    "not received. A router that leaves out slots in which no processor sends does "
                    "so, too."
                )
                both = tuple(tuple(to.tolist()) for to in pair)
                return Refusal("locality", t + 1, (processor,), None, both, text)
        return None

    def _act(self, destination: Ints, t: int, processor: int) -> str:
        return acts_of(self._seen(destination, t + 1)[t]).get(processor, "does nothing")

    def _carried(self, states: Ints, sends: Ints, held: Bools) -> tuple[Ints, Bools]:
        """Return what every coupler carries on all permutations: a message, and its packets.

        A message is a number for its sender and the state of that; silence is -1. The couplers to
        the same group are next to each other.
        """
        d, g, n = self.network.d, self.network.g, self.network.n
        sent = (sends >> np.arange(g)[:, None, None] & 1).reshape(g * g, d, -1)
        sender = sent.argmax(axis=1) + np.tile(np.arange(g) * d, g)[:, None]
        everywhere = np.arange(states.shape[1])
        alone = sent.sum(axis=1) == 1
        values = np.where(alone, sender + n * states[sender, everywhere], -1)
        packets = held[sender, :, everywhere] & alone[..., None]
        return values, packets.swapaxes(1, 2)

    def _after(self, states: Ints, listens: Ints, values: Ints) -> Ints:
        """Return the states after a slot: those before it, with what was heard."""
        g, everywhere = self.network.g, np.arange(states.shape[1])
        coupler = self.network.group(self.network.processors)[:, None] * g + listens
        heard = np.where(listens < 0, -1, values[coupler, everywhere])
        pairs = states * (values.max() + 2) + heard + 1
        return np.array([np.unique(row, return_inverse=True)[1] for row in pairs])

    def _examined(
        self, row: CheckedSlot, values: Ints, carried: Bools, states: Ints, held: Bools
    ) -> CheckedSlot:
        """Return the row of a slot with degrees, matchings and swaps of couplers and states."""
        assert self.all is not None
        n, known, s = self.network.n, self.allow + 1, row.slot
        coupler, state = self.allow * known ** (s - 1), known**s
        told = [*zip(values, carried, strict=True), *zip(states, held, strict=True)]
        return replace(
            row,
            coupler_degree=self._largest_degree(values),
            coupler_bound=coupler if coupler < n - 1 else None,
            state_degree=self._largest_degree(states),
            state_bound=state if state < n - 1 else None,
            matching=max(map(self.all.largest_matching, values)),
            matching_bound=coupler**2 if coupler**2 < n // 2 else None,
            swaps=int(carried.sum() + held.sum()) * (n - 1),
            unchanged=sum(self.all.unchanged(*pair) for pair in told),
        )

    def _largest_degree(self, values: Ints) -> int:
        """Return the largest degree of the indicators of all values; each is computed once."""
        assert self.all is not None
        indicators = np.concatenate([row == np.unique(row)[:, None] for row in values])
        keys = [bits.tobytes() for bits in np.packbits(indicators, axis=1)]
        new = {key: k for k, key in enumerate(keys) if key not in self._degrees}
        degrees = self.all.degrees(indicators[list(new.values())])
        self._degrees.update(zip(new, degrees.tolist(), strict=True))
        return max(self._degrees[key] for key in keys)


class _Run(NamedTuple):
    """What processors did in the slots of a run, and which packets they can hold."""

    arrived: list[int]
    """The packets that their destinations can hold after each slot."""
    sends: Ints | None = None
    """The groups that each processor sends to in each slot, as bits; None in a sample."""
    listens: Ints | None = None
    """The group that each processor listens to in each slot, or -1."""
    held: Bools | None = None
    """The packets that each processor can hold before the first slot and after each."""


def _named(destination: Ints) -> str:
    """Name a permutation in a text."""
    first = ", ".join(map(str, destination[:12].tolist()))
    return f"the permutation ({first}{', …' if len(destination) > 12 else ''})"
