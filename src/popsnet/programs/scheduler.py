"""Schedulers of continuous traffic, and the register of all of them.

A scheduler is an endless generator. For every slot it is sent the packets that arrive, yields the
slot, and is sent what was heard:

    @register_scheduler("name", ...)
    def schedule(network, public, coins, memory):
        while True:
            arrived = yield
            inbox = yield Slot(...)
            memory.deliver(...)

It acts for all processors at once, as array code. It must let each of them decide from what that
processor knows: d, g, its own number, the slot, the public coins, its own coins, the packets that
arrived at it and what it has heard. ``popsnet.testing.check_scheduler_locality`` finds schedulers
that use more. A scheduler that is meant to know more registers with ``online=False``.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self, TypeAlias, Unpack

from popsnet.base.errors import unknown, wrong
from popsnet.hardware.propagation import INTERLEAVED, Propagation
from popsnet.model.coins import Coins
from popsnet.model.faults.faults import PARTS, kinds_of
from popsnet.model.faults.live_parts import PATHS, Paths
from popsnet.model.network import Network
from popsnet.model.slot import Slot
from popsnet.model.traffic_memory import TrafficMemory
from popsnet.programs.facts import NO_EXPLANATION, Explanation
from popsnet.programs.register import Program, ProgramFacts
from popsnet.trace import TraceWords

Running: TypeAlias = Generator[Slot | None, Any, None]
"""A running scheduler: it is sent arrivals and inboxes in turn, and yields None and slots."""

ProgramFunction: TypeAlias = Callable[[Network, Coins, Coins, TrafficMemory], Running]
DEAD = frozenset(PARTS)
"""All kinds of dead parts."""
Amount: TypeAlias = Callable[[Network], float]
Propagated: TypeAlias = Callable[[Network, int], Propagation]
_FUNCTIONS = {
    "parse", "period", "saturation", "saturation_to_others", "any_traffic", "delay", "propagation",
}  # fmt: skip
_SURVIVES = {"survives", "survives_known"}


@dataclass(frozen=True, repr=False)
class Scheduler(Program):
    """A scheduler with its variants and what it states about itself.

    :func:`register_scheduler` makes one of a generator function, :func:`find_scheduler` finds one.

    Parameters
    ----------
    name : str
        The name.
    summary : str
        What it does, in a line.
    variants : mapping
        The generator functions of its variants by name. The first is the default.
    parse : function of a text, optional
        Returns the canonical name and the generator function of a variant that is not in
        ``variants``, or raises InputError.
    online : bool
        Whether processors know only what they are told. An off-line scheduler knows all queues.
    period : function of a network
        Returns the number of slots in which every processor has had its turn: a run is warmed up
        for at least five periods.
    saturation : function of a network, optional
        Returns the largest load that it carries if destinations are uniform over all processors,
        the source among them.
    saturation_to_others : function of a network, optional
        The same without the source among them, if that is less: by default the same, or the bound
        of the pattern.
    any_traffic : function of a network, optional
        Returns a load that it carries of any traffic in which no processor sends more than this
        many packets per slot, or is sent more.
    delay : function of a network, optional
        Returns the mean delay, in slots, of a packet that is alone in the network; None if it is
        not known on a network.
    saturation_formula, delay_formula : str
        The same as formulas, for readers.
    hops : str
        The hops that a packet takes.
    messages : str
        The control messages that it sends.
    randomness : str
        The coins that it uses.
    reference : str
        Where it, or its idea, was published.
    version : str
        Changed whenever the same seeds give other runs than before.
    words : Explanation
        Texts that explain its traces.
    propagation : function of a network and τ
        Returns how propagation of τ slots lengthens its delays. By default 1 + τ schedulers are
        interleaved, which is safe for every scheduler.
    paths : str
        The paths that it can use, out of ``popsnet.model.faults.live_parts.PATHS``: packets of
        flows without a live path are unreachable.
    survives : set of str
        The kinds of faults after which it delivers every packet that has a path, once, out of
        ``popsnet.model.faults.KINDS``, if no processor knows the dead parts.
    survives_known : set of str
        The same, if every processor knows the dead parts.
    uses_fault_map : bool
        Whether its generator function takes the parts that work, if they are known, as the keyword
        ``fault_map``, a :class:`LiveParts`.
    takes_map : bool
        The same under the old names: its generator function takes the keyword ``known``.
    file : str
        The file that it was loaded from, if any.
    wavelengths : bool
        Whether it uses all wavelengths of a coupler. One that does not is refused on networks with
        several.

    Examples
    --------
    >>> from popsnet.traffic import find_scheduler
    >>> find_scheduler("tdm")
    <scheduler tdm: one hop in a fixed frame of n slots>
    """

    kind: ClassVar[str] = "scheduler"
    takes: ClassVar[str] = "network, public, coins, memory"
    decorator: ClassVar[str] = "popsnet.traffic.register_scheduler"
    required: ClassVar = ("summary",)
    ships: ClassVar = (f"{__package__}.schedulers",)

    variants: Mapping[str, ProgramFunction]
    parse: Callable[[str], tuple[str, ProgramFunction]] | None = None
    period: Callable[[Network], int] = lambda network: network.n
    saturation: Amount | None = None
    saturation_to_others: Amount | None = None
    any_traffic: Amount | None = None
    delay: Callable[[Network], float | None] | None = None
    saturation_formula: str = ""
    delay_formula: str = ""
    hops: str = "not stated"
    messages: str = "not stated"
    words: Explanation = NO_EXPLANATION
    propagation: Propagated = lambda network, tau: INTERLEAVED
    paths: Paths = "any"
    survives: frozenset[str] = frozenset()
    survives_known: frozenset[str] = frozenset()
    uses_fault_map: bool = False
    takes_map: bool = False
    wavelengths: bool = False

    @classmethod
    def of_function(cls, function: ProgramFunction, name: str, summary: str) -> Self:
        """Return a scheduler made of a generator function."""
        return cls(name, summary, {"standard": function})

    @property
    def functions(self) -> list[ProgramFunction]:
        """The generator functions of its variants."""
        return list(self.variants.values())

    def variant(self, name: str | None = None) -> tuple[str, ProgramFunction]:
        """Return the canonical name and the generator function of a variant.

        Parameters
        ----------
        name : str, optional
            The variant, by default the first.

        Raises
        ------
        InputError
            If there is no such variant.
        """
        if name is None:
            return next(iter(self.variants.items()))
        if name in self.variants:
            return name, self.variants[name]
        if self.parse is not None:
            return self.parse(name)
        raise self.unknown_variant(name, self.variants)

    def expects(self, kinds: frozenset[str], known: bool = False) -> bool:
        """Return whether it survives these kinds of faults, of which the parts may be known."""
        return kinds <= (self.survives_known if known else self.survives)

    def require_wavelengths(self, network: Network) -> None:
        """Refuse a network with several wavelengths if the scheduler would use only one."""
        if not self.wavelengths:
            self.require_one_wavelength(network, self.name)

    def uses_wavelengths_on(self, network: Network) -> bool:
        """Return whether it uses several wavelengths."""
        return self.wavelengths

    def words_on(self, network: Network) -> TraceWords:
        """Return the texts that explain the scheduler in the header of a trace."""
        return {"explanation": self.summary, **self.words.on(network)}


class SchedulerFacts(ProgramFacts, total=False):
    """Fields of a :class:`Scheduler` that :func:`register_scheduler` accepts as keywords."""

    parse: Callable[[str], tuple[str, ProgramFunction]] | None
    period: Callable[[Network], int]
    saturation: Amount | None
    saturation_to_others: Amount | None
    any_traffic: Amount | None
    delay: Callable[[Network], float | None] | None
    saturation_formula: str
    delay_formula: str
    hops: str
    words: Explanation
    propagation: Propagated
    paths: Paths
    survives: Iterable[str]
    survives_known: Iterable[str]
    uses_fault_map: bool
    takes_map: bool
    wavelengths: bool


def _checked(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of a scheduler, or refuse one of the wrong type."""
    if (paths := facts.get("paths", "any")) not in PATHS:
        raise unknown("kind of paths", paths, PATHS)
    for name, fact in facts.items():
        if name in _FUNCTIONS and not (fact is None or callable(fact)):
            raise wrong(name, f"{fact!r:.40}")("it must be a function.")
    return {**facts, **{name: kinds_of(fact) for name, fact in facts.items() if name in _SURVIVES}}


def register_scheduler(
    name: str, *, variant: str = "standard", **facts: Unpack[SchedulerFacts]
) -> Callable[[ProgramFunction], ProgramFunction]:
    """Register the decorated generator function as a scheduler.

    Parameters
    ----------
    name : str
        The name of the scheduler.
    variant : str
        The name of its first variant.
        :func:`~popsnet.programs.scheduler.register_scheduler_variant` adds others.
    **facts
        ``summary``, and any other field of :class:`Scheduler`.

    Returns
    -------
    function
        The decorator, which returns the function unchanged.

    Examples
    --------
    A scheduler in which every processor, in turn, sends its oldest packet to all groups.

    >>> import numpy as np
    >>> from popsnet import Slot, simulate
    >>> from popsnet.traffic import Queues, register_scheduler
    >>> @register_scheduler("round-robin", summary="one processor per slot")
    ... def round_robin(network, public, coins, memory):
    ...     queues, turn = Queues(), np.array([0])
    ...     while True:
    ...         arrived = yield
    ...         queues.push(arrived.processors, 0 * arrived.packets, arrived.packets)
    ...         packets = queues.heads(turn, np.array([0]))
    ...         sender = turn[packets >= 0]
    ...         listening = np.full(network.n, network.group(turn[0]))
    ...         to_all = np.tile(np.arange(network.g), len(sender))
    ...         inbox = yield Slot.send_packets(
    ...             sender, to_all, listening, packets=packets[packets >= 0],
    ...             fanout=np.full(len(sender), network.g),
    ...         )
    ...         memory.drop(sender, queues.pop(sender, 0 * sender))
    ...         mine = inbox.destinations == inbox.receivers
    ...         memory.deliver(inbox.receivers[mine], inbox.packets[mine])
    ...         turn = (turn + 1) % network.n
    >>> simulate(2, 2, scheduler="round-robin", load=0.1, slots=1000).verdict
    'stable'
    >>> unregister_scheduler("round-robin")
    """

    def add(schedule: ProgramFunction) -> ProgramFunction:
        return Scheduler.enter(name, schedule, _checked(facts), variants={variant: schedule})

    return add


def register_scheduler_variant(
    scheduler: str, variant: str
) -> Callable[[ProgramFunction], ProgramFunction]:
    """Register the decorated generator function as another variant of a scheduler.

    Parameters
    ----------
    scheduler : str
        The name of a registered scheduler.
    variant : str
        The name of the variant.

    Returns
    -------
    function
        The decorator, which returns the function unchanged.
    """

    def add(schedule: ProgramFunction) -> ProgramFunction:
        known = Scheduler.get(scheduler, schedule)
        replace(known, variants={**known.variants, variant: schedule}).put()
        return schedule

    return add


def unregister_scheduler(name: str) -> None:
    """Remove a scheduler from the register."""
    Scheduler.remove(name)


def all_schedulers() -> list[Scheduler]:
    """Return all registered schedulers, ordered by name.

    Returns
    -------
    list of Scheduler
        The schedulers that ship, and those that were registered since.

    Examples
    --------
    >>> from popsnet.traffic import all_schedulers
    >>> [scheduler.name for scheduler in all_schedulers() if not scheduler.file]
    ['aloha', 'epochs', 'hop3', 'ideal', 'relay', 'rotor', 'tdm', 'vlb']
    """
    return Scheduler.every()


def find_scheduler(scheduler: str | Path | Scheduler | ProgramFunction) -> Scheduler:
    """Return the scheduler that a name, a file or a function stands for.

    Parameters
    ----------
    scheduler : str, Path, Scheduler or generator function
        The name of a registered scheduler, a file ``name.py`` that registers one, a
        :class:`Scheduler`, or a generator function.

    Returns
    -------
    Scheduler
        The scheduler.

    Raises
    ------
    InputError
        If there is no such scheduler, or the file cannot be loaded.

    Examples
    --------
    >>> from popsnet.traffic import find_scheduler
    >>> find_scheduler("aloha").hops
    '1'
    """
    return Scheduler.find(scheduler)


def find_scheduler_variant(
    scheduler: str | Path | Scheduler | ProgramFunction, variant: str | None = None
) -> tuple[Scheduler, str]:
    """Return a scheduler and the canonical name of a variant of it.

    Parameters
    ----------
    scheduler
        As for :func:`find_scheduler`, or ``"NAME:VARIANT"``.
    variant : str, optional
        A variant, if ``scheduler`` does not name one; by default the first.

    Returns
    -------
    scheduler : Scheduler
        The scheduler.
    variant : str
        The canonical name of the variant.

    Examples
    --------
    >>> from popsnet.traffic import find_scheduler_variant
    >>> find_scheduler_variant("aloha:0.50")
    (<scheduler aloha: one hop, with collisions and acknowledgements>, '0.5')
    """
    program, variant = Scheduler.find_variant(scheduler, variant)
    return program, program.variant(variant)[0]


def scheduler_label(name: str, variant: str) -> str:
    """Return the name of a scheduler, with the variant if it is not its first.

    >>> scheduler_label("ideal", "voq"), scheduler_label("ideal", "fifo")
    ('ideal', 'ideal:fifo')
    """
    known = Scheduler.registered().get(name)
    first = "standard" if known is None else next(iter(known.variants))
    return name if variant in ("", first) else f"{name}:{variant}"
