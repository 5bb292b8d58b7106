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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import count
from math import factorial, gcd
from statistics import fmean
from typing import Any, NoReturn

import numpy as np

from popsnet.base.errors import InputError, wrong
from popsnet.base.progress import Progress, patient_progress
from popsnet.base.report import Column, Fact, Plotted, Report, Reported, Table, facts_of
from popsnet.engines import Instance
from popsnet.model.coins import Coins
from popsnet.model.network import Bools, Network, about, on_network, require_one_wavelength
from popsnet.model.slot import Ints, Slot
from popsnet.programs.router import Router, find_variant
from popsnet.studies.adversaries.all_permutations import AllPermutations
from popsnet.studies.adversaries.execution import uniform_permutations, watch
from popsnet.studies.adversaries.rigid import MOST_N, MOST_SLOTS, Reach
from popsnet.theory.bounds import conflict_free_arrivals

EXACT_N = 6
"""Networks of up to this many processors are run on all permutations, others on a sample.

Those with 8 have 40,320 permutations: a router runs on them in a minute, but the degree of one
function would take 40,320² additions, and there are thousands of functions.
"""

_named = partial(np.array2string, threshold=12, separator=", ")


@dataclass(frozen=True, slots=True)
class CheckedSlot:
    """What was found in a slot; degrees, matching and swaps are None for a sample.

    Examples
    --------
    >>> from popsnet.studies.adversaries import check_conflict_free
    >>> check_conflict_free("direct", None, 2, 2).checked[0].holds
    True
    """

    slot: int
    bounds: Mapping[str, float]
    """The bounds of the theorem, without those that hold for all functions and algorithms."""
    arrivals: float
    """The mean number of packets that have arrived, if every message tells all it can."""
    coupler_degree: int | None = None
    state_degree: int | None = None
    matching: int | None = None
    swaps: int | None = None
    unchanged: int | None = None
    """Swaps of a carried or held packet's destination that do not change the value."""

    @property
    def holds(self) -> bool:
        """Whether nothing exceeds its bound, and every swap changes the value."""
        pairs = ((getattr(self, name), most) for name, most in self.bounds.items())
        return not self.unchanged and all(value is None or value <= most for value, most in pairs)


@dataclass(eq=False)
class Refusal(Exception):
    """Why the theorem is not about a router: a conflict, or knowledge that was not received.

    Examples
    --------
    >>> from popsnet.studies.adversaries import check_conflict_free
    >>> check_conflict_free("direct", None, 2, 2).refusal is None
    True
    """

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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ConflictFreeCheck(Reported, Plotted):
    """The outcome of :func:`check_conflict_free`.

    Examples
    --------
    >>> from popsnet.studies.adversaries import check_conflict_free
    >>> check = check_conflict_free("direct", None, 2, 2)
    >>> [(one.coupler_degree, one.state_degree, one.matching) for one in check.checked]
    [(1, 2, 1), (2, 3, 2)]
    """

    _draw = "draw_arrivals"

    network: Network
    router: str
    variant: str
    allow: int
    permutations: int
    exact: bool
    """Whether these are all permutations."""
    indicators: int
    """The functions whose degree was computed."""
    checked: tuple[CheckedSlot, ...]
    """The slots up to the end of the shortest run."""
    refusal: Refusal | None

    @property
    def confirmed(self) -> bool:
        """Whether the router is in the class, and everything that the theorem says holds."""
        return self.refusal is None and all(slot.holds for slot in self.checked)

    def report(self) -> Report:
        """Return the answer, the table of slots, and where the bound on arrivals says something."""
        names = "network", "router", "variant", "allow", "permutations", "exact", "indicators"
        facts = facts_of(self, *names, "confirmed")
        refusal = Fact("refusal", self.refusal and asdict(self.refusal))
        columns = (_SLOT, *_DEGREES, _SWAPS, _ARRIVALS) if self.exact else (_SLOT, _ARRIVALS)
        caption = "In brackets is the bound of the theorem, where it is a restriction."
        table = Table("checked", "", columns, self.checked, caption, 1, (12, 1), ("bounds",))
        parts = (self._answer, table, self._sizes) if self.refusal is None else (self.refusal.text,)
        title = f"{self.network}: {self.router} ({self.variant})"
        return Report(title, (*facts, refusal), parts, ok=self.confirmed, about=about(self.network))

    @property
    def _answer(self) -> str:
        meet = "No conflict" if self.allow == 1 else f"At most {self.allow} messages meet"
        if broken := [str(slot.slot) for slot in self.checked if not slot.holds]:
            return f"{meet}, but NOT CONFIRMED: a bound does not hold in slot {', '.join(broken)}."
        on = f"{meet} in {self.permutations:,} {'' if self.exact else 'random '}permutations"
        if not self.exact:
            return f"{on}, and the mean arrivals are within the bound."
        swaps = f"{sum(slot.swaps or 0 for slot in self.checked):,} swaps"
        within = f"all {self.indicators:,} indicators are within their degrees"
        return f"{on}; {within}, and all {swaps} of a known destination change what is known."

    @property
    def _sizes(self) -> str:
        """Say in which slots the bound on arrivals is below n, here and on larger networks."""
        d, g, n = self.network.d, self.network.g, self.network.n
        below, unit = len(conflict_free_arrivals(d, g, self.allow)), gcd(d, g)

        def enough(k: int) -> bool:
            return len(conflict_free_arrivals(d // unit * k, g // unit * k, self.allow)) > below

        larger = g // unit * next(filter(enough, count(1)))
        here = f"less than n = {n:,} up to slot {below}" if below else "n or more: it says nothing"
        later = f"it is less than n up to slot {below + 1} from g = {larger:,} on"
        return f"The bound on arrivals on {self.network} is {here}. With the same d/g {later}."


def _bounded(key: str, form: str = ",", heading: str = "") -> Column:
    def show(row: CheckedSlot) -> str:
        most = f" (≤ {row.bounds[key]:{form}})" if key in row.bounds else ""
        return f"{getattr(row, key):{form}}{most}"

    return Column(key, heading, show=show)


_SLOT, _SWAPS = Column("slot", kind="integer"), Column("swaps", "swaps checked", "integer")
_DEGREES = tuple(map(_bounded, ("coupler_degree", "state_degree", "matching")))
_ARRIVALS = _bounded("arrivals", ",.2f", "mean arrivals")


@on_network
def check_conflict_free(
    router: Router | str,
    variant: str | None,
    network: Network,
    slots: int | None = None,
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
    ``popsnet.studies.adversaries.all_permutations``), and so are the matchings. On larger
    networks the router runs on random permutations, and only conflicts and arrivals are examined;
    that cannot prove it conflict-free.

    A packet counts as arrived if its destination would have it if every message told all that its
    sender knows. A router delivers no more than that.

    Examples
    --------
    >>> from popsnet.studies.adversaries import check_conflict_free
    >>> print(check_conflict_free("direct", None, 2, 2).report().parts[0])
    No conflict in 24 permutations; all 57 indicators are within their degrees, and all 1,260 \
swaps of a known destination change what is known.
    """
    require_one_wavelength(network)
    if not 2 <= (n := network.n) <= MOST_N:
        raise InputError(f"{network} has n = {n:,} processors; give a network of 2 to {MOST_N:,}.")
    for name, value in (("slots", slots), ("allow", allow), ("runs", runs)):
        if value is not None and value < 1:
            raise wrong(name, value)("it must be at least 1.")
    for name, value in (("runs", runs), ("permutation_seed", permutation_seed)):
        if n <= EXACT_N and value is not None:
            rule = f"up to n = {EXACT_N} the router runs on all permutations; leave it out."
            raise wrong(name, value)(rule)
    router, variant = find_variant(router, variant)
    variant = router.choose_variant(variant, network)
    if router.variant(variant).idealized or not router.online:
        rule = "the theorem is about processors that know what they hear; choose another router."
        raise InputError(f"{router.name} ({variant}) uses what no processor knows, and {rule}")
    exact, number = (_Exact(network), factorial(n)) if n <= EXACT_N else (None, runs or 10)
    drawn = uniform_permutations(network, number, permutation_seed or 0)
    watched, rows, refusal = list[Any](), list[dict[str, Any]](), None
    with patient_progress("running", number, progress, "permutations") as report:
        try:
            for done, to in enumerate(exact.all.array if exact else drawn):
                report(done)
                acts = list[Slot]()
                instance = Instance(network, router, variant, to, _NoCoins(0), max_steps=2**62)
                watch(instance, acts.append, slots or MOST_SLOTS, promises=False)
                _require_few(network, allow, acts, to)
                seen = exact.record(acts) if exact else _held(network, acts, to, network.processors)
                watched.append(seen)
            means = (fmean(map(np.count_nonzero, slot)) for slot in zip(*watched, strict=False))
            rows = [*exact.examine(watched)] if exact else [{"arrivals": mean} for mean in means]
        except Refusal as refused:
            refusal = refused
    counts = allow, number, exact is not None, len(exact.degrees) if exact else 0
    checked = [CheckedSlot(t, _bounds(network, allow, t), **row) for t, row in enumerate(rows, 1)]
    return ConflictFreeCheck(network, router.name, variant, *counts, tuple(checked), refusal)


def _bounds(network: Network, allow: int, t: int) -> dict[str, float]:
    n, coupler = network.n, allow * (allow + 1) ** (t - 1)
    arrivals = conflict_free_arrivals(network.d, network.g, allow)[t - 1 : t] or [n]
    degrees = ("coupler_degree", coupler, n - 1), ("state_degree", (allow + 1) ** t, n - 1)
    known = *degrees, ("matching", coupler**2, n // 2), ("arrivals", arrivals[0], n)
    return {name: most for name, most, always in known if most < always}


class _NoCoins(Coins):
    """Coins that no router may draw.

    The theorem covers coins only if no outcome of them causes a conflict. A word that is configured
    is part of the algorithm.
    """

    def key(self, purpose: str, step: int) -> NoReturn:
        raise InputError(f"The router draws coins ({purpose}); choose a deterministic router.")

    def configured(self, purpose: str) -> int:
        return Coins(self.seed).configured(purpose)


def _require_few(network: Network, allow: int, slots: Sequence[Slot], to: Ints) -> None:
    """Refuse a run in which more messages meet than are allowed."""
    for number, slot in enumerate(slots, 1):
        senders = slot.senders[slot.owners]
        couplers = network.coupler(slot.groups, network.group(senders))
        in_order = np.sort(couplers)
        for met in in_order[allow:][in_order[allow:] == in_order[:-allow]].tolist():
            (b, a), who = divmod(met, network.g), sorted(senders[couplers == met].tolist())
            on = f"in slot {number} on the permutation {_named(to)}"
            names = ", ".join(map(str, who))
            text = f"NOT CONFLICT-FREE: {on}, processors {names} send to coupler c({b}, {a})."
            raise Refusal("conflict", number, tuple(who), (b, a), (tuple(to.tolist()),), text)


def _held(network: Network, slots: Sequence[Slot], processors: Ints, packets: Ints) -> Bools:
    """Return which of the pairs (processor, packet) can be held after each slot."""
    reach, held = Reach(network), list[Bools]()
    for slot in slots:
        reach.after(slot, all_kinds=True)
        held.append(reach.holds(processors, packets))
    return np.array(held)


class _Exact:
    """The states of all processors on all permutations, a number for each."""

    def __init__(self, network: Network) -> None:
        self.network, self.all = network, AllPermutations(network.n)
        self.states: Ints = self.all.array.T
        self.degrees: dict[bytes, int] = {}

    def record(self, slots: Sequence[Slot]) -> tuple[Ints, Ints, Bools]:
        """Return, by slot, who sends and listens to which groups, and who can hold what."""
        n = self.network.n
        sends, listens = np.zeros((2, len(slots), n), dtype=np.int64)
        for slot, send, listen in zip(slots, sends, listens, strict=True):
            np.add.at(send, slot.senders[slot.owners], 1 << slot.groups)
            listen[slot.listeners] = slot.listened + 1
        return sends, listens - 1, _held(self.network, slots, *np.indices((n, n)))

    def examine(self, runs: Sequence[tuple[Ints, Ints, Bools]]) -> Iterator[dict[str, Any]]:
        """Yield what was found in the slots, up to the end of the shortest run."""
        slots, n = min(len(sends) for sends, *_ in runs), self.network.n
        joined = (
            np.stack([array[:slots] for array in kind], -1) for kind in zip(*runs, strict=True)
        )
        held = np.repeat(np.eye(n, dtype=np.bool_)[..., None], len(runs), axis=2)
        home = self.all.array.T, np.arange(n)[:, None], np.arange(len(runs))
        for t, (sends, listens, after) in enumerate(zip(*joined, strict=True), 1):
            self._require_local(t, sends, listens)
            values, carried = self._carried(sends, held)
            self.states, held = self._after(listens, values), after
            tellers = [*zip(values, carried, strict=True), *zip(self.states, held, strict=True)]
            yield {
                "arrivals": float(held[home].sum(axis=0).mean()),
                "coupler_degree": self._largest_degree(values),
                "state_degree": self._largest_degree(self.states),
                "matching": max(map(self.all.largest_matching, values)),
                "swaps": int(carried.sum() + held.sum()) * (n - 1),
                "unchanged": sum(self.all.unchanged(*pair) for pair in tellers),
            }

    def _require_local(self, t: int, sends: Ints, listens: Ints) -> None:
        """Refuse a processor that acts differently on two permutations in the same state."""
        acts = sends * (self.network.g + 1) + listens
        for processor, (state, act) in enumerate(zip(self.states, acts, strict=True)):
            _, first, same = np.unique(state, return_index=True, return_inverse=True)
            for two in np.flatnonzero(act != act[first[same]]):
                on = tuple(tuple(self.all.array[k].tolist()) for k in (first[same[two]], two))
                text = (
                    f"NOT LOCAL: in slot {t} processor {processor} acts otherwise on permutation "
                    f"{on[0]} than on {on[1]}. It has the same destination and "
                    "has heard the same, so it uses knowledge that it has not received."
                )
                raise Refusal("locality", t, (processor,), None, on, text)

    def _carried(self, sends: Ints, held: Bools) -> tuple[Ints, Bools]:
        """Return what every coupler carries on all permutations: a message, and its packets.

        A message is a number for its sender and the state of that; silence is -1. The couplers to
        the same group are next to each other.
        """
        d, g, n = self.network.d, self.network.g, self.network.n
        sent = (sends >> np.arange(g)[:, None, None] & 1).reshape(g * g, d, -1)
        sender = sent.argmax(axis=1) + np.tile(np.arange(g) * d, g)[:, None]
        alone, everywhere = sent.sum(axis=1) == 1, np.arange(sends.shape[1])
        values = np.where(alone, sender + n * self.states[sender, everywhere], -1)
        packets = held[sender, :, everywhere] & alone[..., None]
        return values, packets.swapaxes(1, 2)

    def _after(self, listens: Ints, values: Ints) -> Ints:
        """Return the states after a slot: those before it, with what was heard."""
        coupler = self.network.group(self.network.processors)[:, None] * self.network.g + listens
        heard = np.where(listens < 0, -1, values[coupler, np.arange(listens.shape[1])])
        pairs = self.states * (values.max() + 2) + heard + 1
        return np.array([np.unique(row, return_inverse=True)[1] for row in pairs])

    def _largest_degree(self, values: Ints) -> int:
        """Return the largest degree of the indicators of all values; each is computed once."""
        indicators = np.concatenate([row == np.unique(row)[:, None] for row in values])
        keys = [bits.tobytes() for bits in np.packbits(indicators, axis=1)]
        new = {key: k for k, key in enumerate(keys) if key not in self.degrees}
        degrees = self.all.degrees(indicators[list(new.values())])
        self.degrees.update(zip(new, degrees.tolist(), strict=True))
        return max(self.degrees[key] for key in keys)
