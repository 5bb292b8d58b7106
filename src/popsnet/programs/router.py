"""Routers, and the register of all of them.

A router is a generator function. It yields slots and is sent inboxes until every packet is
delivered, and it says what each processor stores, drops and delivers through the machine's memory:

    @register("name", ...)
    def route(network, destination, coins, memory):
        inbox = yield Slot(senders=..., groups=..., packets=..., listeners=..., listened=...)
        memory.deliver(inbox.receivers, inbox.packets)

It acts for all processors at once, as array code. It must let each of them decide from what
that processor knows: d, g, its own number, its own entry of ``destination``, its own coins and
what it has heard. ``popsnet.testing.check_locality`` finds routers that use more. A router that is
meant to know more registers with ``online=False``.

A router may also serve demands, in which packet p starts at processor ``memory.start[p]``: see
:func:`register_relation`.

The name of a variant followed by ``+or`` is that variant with termination detection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Required, Self, TypeAlias, TypedDict, Unpack

from popsnet.base.errors import InputError, did_you_mean, wrong
from popsnet.hardware.propagation import EVERY_SLOT_WAITS, Propagation
from popsnet.model.coins import Coins
from popsnet.model.faults.faults import kinds_of
from popsnet.model.memory import Memory
from popsnet.model.network import Network
from popsnet.model.slot import Ints, Slots
from popsnet.programs.facts import NO_CLAIMS, NO_EXPLANATION, Claims, Explanation
from popsnet.programs.register import Program, ProgramFacts
from popsnet.programs.routers.to_all import DETECTED, detected, detected_bytes, detected_words
from popsnet.programs.schedules.demand import Demand, most
from popsnet.theory.bounds import BOUNDS, Bound
from popsnet.trace import TraceWords

Route: TypeAlias = Callable[[Network, Ints, Coins, Memory], Slots]
Obstacle: TypeAlias = Callable[[Network], str | None]
Buffers: TypeAlias = int | Callable[[Network], int]
Working: TypeAlias = Callable[[Network], int]


def _anywhere(network: Network) -> str | None:
    return None


def default_working(network: Network) -> int:
    """Return 80 bytes per processor: a slot, its inbox, and ten numbers."""
    return 80 * network.n


@dataclass(frozen=True)
class Variant:
    """One way to run a router.

    Parameters
    ----------
    route : generator function
        A function of the network, the destinations, the coins and the memory that yields slots.
    obstacle : function of a network
        Returns why the variant does not apply to a network, or None if it does.
    name : str
        The canonical name.
    schedule : object
        The parsed schedule, if the variant was given as a text.
    idealized : bool
        Whether the variant makes an assumption and gives statistics only, not a route.
    buffers : int or function of a network, optional
        Packets that a processor may hold, if the router's claim does not hold for the variant.
    unabridged : generator function, optional
        The route without any slot left out, for termination detection, if it differs.
    words : Explanation
        Texts that explain its traces.
    working : function of a network, optional
        Returns the bytes that the generator takes in the simulation, with a slot and its inbox.
    survives : set of str
        The kinds of faults after which it loses no packet and breaks no rule, out of
        ``popsnet.model.faults.KINDS``. The machine is strict in a run with these faults alone.
    wavelengths : bool
        Whether it uses all wavelengths of a coupler. One that does not is refused on networks with
        several.
    planned : function of a network, optional
        Returns the name of the variant that is run on a network instead of this one, with the
        schedule that is best there.
    propagation : Propagation
        How propagation lengthens its runs on permutations. By default every slot waits until
        everything that was sent before has arrived, which is safe for every variant.

    Examples
    --------
    >>> import popsnet
    >>> variant = popsnet.find_router("mei-rizzi").variant("idealized")
    >>> variant.name, variant.idealized
    ('idealized', True)
    """

    route: Route
    obstacle: Obstacle = _anywhere
    name: str = ""
    schedule: object = None
    idealized: bool = False
    buffers: Buffers | None = None
    unabridged: Route | None = None
    words: Explanation = NO_EXPLANATION
    working: Working = default_working
    survives: frozenset[str] = frozenset()
    wavelengths: bool = False
    planned: Callable[[Network], str] | None = None
    propagation: Propagation = EVERY_SLOT_WAITS


def own_plus_due(demand: Demand) -> int:
    """Return the most packets that start at a processor, and the most that are for one, in all.

    A processor that relays nothing holds at most that many.
    """
    return most(demand.source) + most(demand.destination)


@dataclass(frozen=True)
class Relation:
    """One way in which a router serves demands.

    Parameters
    ----------
    route : generator function
        A function of the network, the destinations, the coins and the memory that yields slots.
        Packet p starts at processor ``memory.start[p]``.
    name : str
        The name of the variant.
    buffers : function of a demand
        Returns the packets that a processor may hold. By default these are its own and those for
        it.
    words : Explanation
        Texts that explain its traces.
    wavelengths : bool
        Whether it uses all wavelengths of a coupler.

    Examples
    --------
    >>> import popsnet
    >>> sorted(popsnet.find_router("direct").relations)
    ['in-groups', 'to-all']
    """

    route: Route
    name: str
    buffers: Callable[[Demand], int] = own_plus_due
    words: Explanation = NO_EXPLANATION
    wavelengths: bool = False


VariantParser: TypeAlias = Callable[[str], Variant]
Schedules = VariantParser
"""The old name."""


@dataclass(frozen=True, repr=False)
class Router(Program):
    """A router with its variants and what it claims.

    :func:`register` makes one of a generator function, :func:`find_router` finds one.

    Parameters
    ----------
    name : str
        The name.
    summary : str
        What the router does, in a line.
    slots : str
        The bound on its slots, in the notation of the paper.
    buffers : int or function of a network
        Packets that a processor may hold. The machine enforces this.
    variants : mapping
        The variants by name. The first is the default.
    memory : str
        What ``buffers`` is in words, if it depends on the network.
    messages : str
        The control messages that it sends, and their bits.
    applies : str
        The networks to which it applies.
    randomness : str
        The coins that it uses.
    faults : str
        The faults that it survives, and what others do to its packets.
    reference : str
        Where it was published.
    version : str
        Changed whenever the same seeds give other runs than before.
    file : str
        The file that it was loaded from, if any. Its version then contains a digest of the file.
    default : function of a network, optional
        Returns the name of the variant to run on a network, instead of the first.
    online : bool
        Whether processors know only what they are told. An off-line router knows everything.
    parse_variant : function of a text, optional
        Makes a variant, with its canonical name, of a text that is not the name of a variant, or
        raises InputError.
    claims : Claims
        Its expected slots and its bounds, in numbers.
    states_online : bool
        Whether ``online`` was stated by the author, not merely left at its default.
    relations : mapping
        The ways in which it serves demands, by name; the first is the default. A router without
        any routes permutations only.

    Examples
    --------
    >>> import popsnet
    >>> router = popsnet.find_router("direct")
    >>> router
    <router direct: one hop by time division: no coins, no acks, no collisions>
    >>> router.applies_to(popsnet.Network(4, 64)), router.buffers
    (True, 2)
    """

    kind: ClassVar[str] = "router"
    takes: ClassVar[str] = "network, destination, coins, memory"
    decorator: ClassVar[str] = "popsnet.register"
    required: ClassVar = ("summary", "slots", "buffers")
    ships: ClassVar = tuple(
        f"{__package__}.routers.{name}"
        for name in ("announced", "deterministic", "direct", "mei_rizzi", "offline", "relay")
    )

    slots: str
    buffers: Buffers
    variants: Mapping[str, Variant]
    memory: str = ""
    messages: str = ""
    applies: str = "any d and g"
    faults: str = "not stated"
    default: Callable[[Network], str] | None = None
    parse_variant: VariantParser | None = None
    claims: Claims = NO_CLAIMS
    states_online: bool = False
    relations: Mapping[str, Relation] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not callable(self.buffers):
            _held(self.buffers)
        words = ((variant.words, Explanation) for variant in self.variants.values())
        for fact, kind in ((self.claims, Claims), *words):
            if not isinstance(fact, kind):
                raise InputError(f"Router {self.name}: {fact!r:.40} is not {kind.__name__}(…).")

    @classmethod
    def of_function(cls, function: Route, name: str, summary: str) -> Self:
        """Return a router made of a generator function; a processor may hold 16 packets."""
        variants = {"standard": Variant(function, name="standard")}
        return cls(name, summary, "not stated", 16, variants)

    @property
    def schedules(self) -> VariantParser | None:
        """The old name of ``parse_variant``."""
        return self.parse_variant

    @property
    def functions(self) -> list[Route]:
        """The generator functions of its variants."""
        return [variant.route for variant in self.variants.values()]

    @property
    def locality(self) -> str:
        """Whether the router is on-line, in a word or two: "yes", "no" or "not checked"."""
        if not self.online:
            return "no"
        return "yes" if self.states_online else "not checked"

    def buffers_on(self, network: Network, variant: str | Variant) -> int:
        """Return the number of packets that a processor may hold, which the machine enforces.

        Parameters
        ----------
        network : Network
            The network.
        variant : str or Variant
            The variant, or its name.

        Returns
        -------
        int
            The number of packets, at least 1.

        Examples
        --------
        >>> import popsnet
        >>> popsnet.find_router("offline").buffers_on(popsnet.Network(8, 4), "standard")
        2
        """
        buffers = self.variant(variant).buffers
        buffers = self.buffers if buffers is None else buffers
        return _held(buffers(network) if callable(buffers) else buffers)

    def words_on(self, network: Network, variant: str | Variant) -> TraceWords:
        """Return the texts that explain the variant in the header of a trace.

        Parameters
        ----------
        network : Network
            The network.
        variant : str or Variant
            The variant, or its name.

        Returns
        -------
        TraceWords
            The texts by key. Without an explanation of its own a variant has the router's summary.
        """
        try:
            words = self.variant(variant).words.on(network)
        except InputError as error:
            raise InputError(f"Router {self.name}: {error}") from error
        return {"explanation": self.summary, **words} if self.summary else words

    def applies_to(self, network: Network) -> bool:
        """Return whether a variant of the router applies to the network.

        Parameters
        ----------
        network : Network
            The network.

        Returns
        -------
        bool
            Whether one of the variants that have a name applies.
        """
        return any(variant.obstacle(network) is None for variant in self.variants.values())

    def resolve(self, name: str | None, network: Network) -> Variant:
        """Return the variant to run on a network.

        Parameters
        ----------
        name : str or None
            The name of a variant, or a schedule. By default the router chooses.
        network : Network
            The network.

        Returns
        -------
        Variant
            The variant, with its canonical name.

        Raises
        ------
        InputError
            If there is no such variant, or it does not apply to the network.

        Examples
        --------
        >>> import popsnet
        >>> router = popsnet.find_router("mei-rizzi")
        >>> router.resolve(None, popsnet.Network(8, 4)).name
        'deferred'
        """
        variant = self.variant(self._chosen(network) if name is None else name)
        if variant.planned is not None:
            ending = DETECTED if variant.name.endswith(DETECTED) else ""
            variant = self.variant(variant.planned(network) + ending)
        self._require_wavelengths(variant, network)
        reason = variant.obstacle(network)
        if reason is not None:
            raise InputError(
                f"Router {self.name} ({variant.name}) does not apply to {network}: {reason}"
            )
        return variant

    def _chosen(self, network: Network) -> str:
        return self.default(network) if self.default else next(iter(self.variants))

    def _require_wavelengths(self, variant: Variant, network: Network) -> None:
        if not variant.wavelengths:
            self.require_one_wavelength(network, f"{self.name} ({variant.name})")

    def uses_wavelengths_on(self, network: Network) -> bool:
        """Return whether the variant that the router chooses uses several wavelengths."""
        try:
            variant = self.variant(self._chosen(network))
        except InputError:
            return False
        return variant.wavelengths and variant.obstacle(network) is None

    def serve(self, name: str | None, demand: Demand) -> Variant:
        """Return the variant that serves a demand.

        Parameters
        ----------
        name : str or None
            The name of one of ``relations``, by default the first.
        demand : Demand
            The packets, which decide how many of them a processor may hold.

        Returns
        -------
        Variant
            The variant.

        Raises
        ------
        InputError
            If the router serves no demands, or not by a variant of this name.

        Examples
        --------
        >>> import numpy as np
        >>> import popsnet
        >>> ends = np.array([0, 0]), np.array([2, 3])
        >>> demand = popsnet.programs.schedules.Demand(popsnet.Network(2, 2), *ends)
        >>> variant = popsnet.find_router("direct").serve(None, demand)
        >>> variant.name, variant.buffers
        ('in-groups', 3)
        """
        if not self.relations:
            able = ", ".join(router.name for router in self.every() if router.relations)
            raise InputError(
                f"Router {self.name} routes permutations, and no demands with any number of "
                f"packets per processor; these routers do: {able}."
            )
        if name is None:
            name = next(iter(self.relations))
        if name not in self.relations:
            raise InputError(
                f"Router {self.name} does not serve demands by a variant {name!r}."
                f"{did_you_mean(name, self.relations)} It does by: {', '.join(self.relations)}."
            )
        relation = self.relations[name]
        variant = Variant(
            relation.route, name=name, words=relation.words, wavelengths=relation.wavelengths
        )
        self._require_wavelengths(variant, demand.network)
        return replace(variant, buffers=max(relation.buffers(demand), 1))

    def choose_variant(self, name: str | None, network: Network) -> str:
        """Return the canonical name of the variant that :meth:`resolve` returns.

        Parameters
        ----------
        name : str or None
            The name of a variant, or a schedule. By default the router chooses.
        network : Network
            The network.

        Returns
        -------
        str
            The canonical name.
        """
        return self.resolve(name, network).name

    def start(
        self,
        variant: str | Variant,
        network: Network,
        destination: Ints,
        coins: Coins,
        memory: Memory,
    ) -> Slots:
        """Start a variant, and refuse a function that is not a generator function.

        Parameters
        ----------
        variant : str or Variant
            The variant, or its name.
        network : Network
            The network.
        destination : array of int
            The destination of each packet.
        coins : Coins
            The coins of the run.
        memory : Memory
            The memory of the machine.

        Returns
        -------
        generator
            Yields slots and is sent inboxes.
        """
        return self.begin(self.variant(variant).route, network, destination, coins, memory)

    def variant(self, name: str | Variant) -> Variant:
        """Return the variant of that name, or the one that a schedule stands for.

        Parameters
        ----------
        name : str or Variant
            The name of a variant, a schedule, or a variant itself.

        Returns
        -------
        Variant
            The variant.

        Raises
        ------
        InputError
            If there is no such variant.
        """
        if isinstance(name, Variant):
            return name
        if name.endswith(DETECTED):
            return self._detected(self.variant(name.removesuffix(DETECTED).rstrip()))
        if name in self.variants:
            known = self.variants[name]
            return known if known.name == name else replace(known, name=name)
        if self.parse_variant is not None:
            return self.parse_variant(name)
        raise self.unknown_variant(name, self.variants)

    def _detected(self, variant: Variant) -> Variant:
        """Return the variant with termination detection."""
        if variant.idealized:
            raise InputError(
                f"Variant {variant.name} of {self.name} gives statistics only, so it cannot have "
                "termination detection; leave out +or."
            )
        route = detected(partial(self.begin, variant.unabridged or variant.route))
        words, name = detected_words(variant.words), variant.name + DETECTED
        asks = self.randomness != "none"  # others take one step, and all is delivered after it

        def working(network: Network) -> int:
            return variant.working(network) + (detected_bytes(network) if asks else 0)

        return replace(
            variant, name=name, route=route, words=words, working=working,
            survives=frozenset(),  # after faults a global OR may end a run too early, or never
            propagation=EVERY_SLOT_WAITS,
        )  # fmt: skip


def _held(buffers: int) -> int:
    if buffers < 1:
        raise wrong("buffers", buffers)("it must be at least 1, for a processor's own packet.")
    return buffers


class VariantFacts(TypedDict, total=False):
    """Fields of a :class:`Variant` that :func:`register` accepts as keywords."""

    obstacle: Obstacle
    words: Explanation
    working: Working
    propagation: Propagation
    wavelengths: bool


class OtherVariantFacts(VariantFacts, total=False):
    """Fields of a :class:`Variant` that :func:`register_variant` accepts as keywords."""

    idealized: bool
    buffers: Buffers | None
    unabridged: Route | None
    survives: Iterable[str]
    planned: Callable[[Network], str] | None


class RouterFacts(ProgramFacts, VariantFacts, total=False):
    """What :func:`register` accepts as keywords: fields of the router and of its first variant."""

    slots: Required[str]
    buffers: Required[Buffers]
    memory: str
    applies: str
    faults: str
    default: Callable[[Network], str] | None
    parse_variant: VariantParser | None
    schedules: VariantParser | None
    claims: Claims


def register(
    name: str, *, variant: str = "standard", **facts: Unpack[RouterFacts]
) -> Callable[[Route], Route]:
    """Register the decorated generator function as a router.

    Parameters
    ----------
    name : str
        The name of the router.
    variant : str
        The name of its first variant.
    obstacle : function of a network
        Returns why this variant does not apply to a network, or None if it does.
    words : Explanation
        Texts that explain its traces, and those of other variants without texts of their own.
    working : function of a network, optional
        Returns the bytes that the function takes in the simulation, with a slot and its inbox. By
        default these are 80 per processor.
    propagation : Propagation
        How propagation lengthens its runs on permutations. By default every slot waits.
    wavelengths : bool
        Whether this variant uses all wavelengths of a coupler. One that does not is refused on
        networks with several.
    **facts
        ``summary``, ``slots`` and ``buffers``, and any of ``memory``, ``messages``, ``applies``,
        ``randomness``, ``faults``, ``reference``, ``version``, ``default``, ``online``,
        ``parse_variant`` (or ``schedules``, its old name) and ``claims``, as in :class:`Router`.

    Returns
    -------
    function
        The decorator, which returns the function unchanged.

    Raises
    ------
    InputError
        If a router of that name is registered, or a fact is wrong.

    Examples
    --------
    A router that sends one packet after another to every processor.

    >>> import numpy as np
    >>> import popsnet
    >>> @popsnet.register("one-by-one", summary="a packet per slot", slots="n", buffers=2)
    ... def one_by_one(network, destination, coins, memory):
    ...     for i in range(network.n):
    ...         sender, listening = np.array([i]), np.full(network.n, network.group(i))
    ...         inbox = yield popsnet.Slot.broadcast(sender, network.g, listening)
    ...         memory.drop(sender, sender)
    ...         mine = inbox.destinations == inbox.receivers
    ...         memory.deliver(inbox.receivers[mine], inbox.packets[mine])
    >>> popsnet.route(4, 4, router="one-by-one").slots
    array([16])
    >>> unregister("one-by-one")
    """

    def add(route: Route) -> Route:
        others: dict[str, Any] = {**facts}
        if "schedules" in others:
            others["parse_variant"] = others.pop("schedules")
        own = {fact: others.pop(fact) for fact in VariantFacts.__annotations__ if fact in others}
        variants = {variant: Variant(route, name=variant, **own)}
        return Router.enter(name, route, others, variants=variants, states_online="online" in facts)

    return add


def register_variant(
    router: str, variant: str, **facts: Unpack[OtherVariantFacts]
) -> Callable[[Route], Route]:
    """Register the decorated generator function as another variant of a router.

    Parameters
    ----------
    router : str
        The name of a registered router.
    variant : str
        The name of the variant.
    obstacle : function of a network
        Returns why the variant does not apply to a network, or None if it does.
    idealized : bool
        Whether the variant makes an assumption and gives statistics only, not a route.
    buffers : int or function of a network, optional
        Packets that a processor may hold, if it is not what the router claims.
    unabridged : generator function, optional
        The route without any slot left out, for termination detection, if it differs.
    words : Explanation, optional
        Texts that explain its traces, by default those of the first variant.
    working : function of a network, optional
        As for :func:`register`, by default that of the first variant.
    wavelengths : bool
        Whether the variant uses all wavelengths of a coupler.
    survives : set of str
        The kinds of faults that it survives, as in :class:`~popsnet.programs.router.Variant`.
    planned : function of a network, optional
        Returns the name of the variant to run on a network, as in
        :class:`~popsnet.programs.router.Variant`.

    Returns
    -------
    function
        The decorator, which returns the function unchanged.

    Examples
    --------
    >>> import popsnet
    >>> def follow_schedule(network, destination, coins, memory):
    ...     yield from popsnet.find_router("offline").start(
    ...         "standard", network, destination, coins, memory
    ...     )
    >>> facts = {"summary": "an example", "slots": "2⌈d/g⌉", "buffers": 2}
    >>> _ = popsnet.register("example", **facts)(follow_schedule)
    >>> _ = popsnet.register_variant("example", "again")(follow_schedule)
    >>> list(popsnet.find_router("example").variants)
    ['standard', 'again']
    >>> unregister("example")
    """

    def add(route: Route) -> Route:
        known = Router.get(router, route)
        first = next(iter(known.variants.values()))
        stated = {name: fact for name, fact in facts.items() if fact is not None}
        own: dict[str, Any] = {"words": first.words, "working": first.working, **stated}
        own["survives"] = kinds_of(facts.get("survives", ()))
        new = Variant(route, name=variant, **own)
        replace(known, variants={**known.variants, variant: new}).put()
        return route

    return add


def register_relation(
    router: str,
    variant: str,
    *,
    buffers: Callable[[Demand], int] = own_plus_due,
    words: Explanation | None = None,
    wavelengths: bool = False,
) -> Callable[[Route], Route]:
    """Register the decorated generator function as a way in which a router serves demands.

    Packet p of a demand starts at processor ``memory.start[p]``, which knows p, its destination
    and how many packets it has. The first that is registered is the default.

    Parameters
    ----------
    router : str
        The name of a registered router.
    variant : str
        The name of the variant.
    buffers : function of a demand
        Returns the packets that a processor may hold, by default the most that start at a
        processor plus the most that are for one.
    words : Explanation, optional
        Texts that explain its traces, by default those of the first variant.
    wavelengths : bool
        Whether it uses all wavelengths of a coupler.

    Returns
    -------
    function
        The decorator, which returns the function unchanged.

    Examples
    --------
    Packets are sent to all processors, one after another.

    >>> import numpy as np
    >>> import popsnet
    >>> def one_by_one(network, destination, coins, memory):
    ...     for packet, source in enumerate(memory.start):
    ...         everyone = network.processors, np.full(network.n, network.group(source))
    ...         groups, only = np.arange(network.g), np.array([network.g])
    ...         inbox = yield popsnet.Slot.send_packets(
    ...             np.array([source]), groups, everyone, packets=np.array([packet]), fanout=only
    ...         )
    ...         memory.drop(np.array([source]), np.array([packet]))
    ...         mine = inbox.destinations == inbox.receivers
    ...         memory.deliver(inbox.receivers[mine], inbox.packets[mine])
    >>> facts = {"summary": "an example", "slots": "a slot per packet", "buffers": 2}
    >>> _ = popsnet.register("one-by-one", **facts)(one_by_one)
    >>> _ = popsnet.register_relation("one-by-one", "standard")(one_by_one)
    >>> popsnet.route(2, 2, router="one-by-one", packets=[[0, 1], [0, 3], [2, 3]]).slots
    array([3])
    >>> unregister("one-by-one")
    """

    def add(route: Route) -> Route:
        known = Router.get(router, route)
        explained = next(iter(known.variants.values())).words if words is None else words
        relation = Relation(route, variant, buffers, explained, wavelengths)
        replace(known, relations={**known.relations, variant: relation}).put()
        return route

    return add


AnyRouter: TypeAlias = str | Path | Router | Route
"""A router by its name, its file or its function."""


def unregister(name: str) -> None:
    """Remove a router from the register."""
    Router.remove(name)


def all_routers() -> list[Router]:
    """Return all registered routers, ordered by name.

    Returns
    -------
    list of Router
        The routers that ship, and those that were registered since.

    Examples
    --------
    >>> import popsnet
    >>> [router.name for router in popsnet.all_routers() if not router.file]
    ['aks', 'batcher', 'datta', 'direct', 'mei-rizzi', 'offline', 'relay']
    """
    return Router.every()


def all_bounds() -> tuple[Bound, ...]:
    """Return the bounds of all routers that ship, and those that belong to no router.

    Returns
    -------
    tuple of popsnet.theory.Bound
        The bounds.

    Examples
    --------
    >>> from popsnet.programs.router import all_bounds
    >>> {bound.kind for bound in all_bounds()} == {"lower", "upper"}
    True
    """
    own = [bound for router in all_routers() if not router.file for bound in router.claims.bounds]
    return (*own, *BOUNDS)


def get_router(name: str) -> Router:
    """Return the registered router of that name.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    Router
        The router.

    Raises
    ------
    InputError
        If no router of that name is registered.

    Examples
    --------
    >>> from popsnet.programs.router import get_router
    >>> get_router("relay").applies
    'any d and g'
    """
    return Router.get(name)


def find_router(router: AnyRouter) -> Router:
    """Return the router that a name, a file or a function stands for.

    Parameters
    ----------
    router : str, Path, Router or generator function
        The name of a registered router, a file ``name.py`` that registers one, a
        :class:`Router`, or a generator function. A function that is not registered becomes a
        router of the function's name, in which a processor may hold 16 packets.

    Returns
    -------
    Router
        The router.

    Raises
    ------
    InputError
        If there is no such router, or the file cannot be loaded.

    Examples
    --------
    >>> import popsnet
    >>> popsnet.find_router("direct").slots
    'max(d, g), always'
    """
    return Router.find(router)


def short_name(router: str, variant: str, network: Network) -> str:
    """Return the name of a router for a legend, with its variant unless it would choose that.

    A variant that is planned for each network has the name of its family.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.programs.router import short_name
    >>> short_name("mei-rizzi", "published", Network(4, 4))
    'mei-rizzi'
    >>> short_name("relay", "survive: V2 V1", Network(4, 4))
    'relay (survive)'
    """
    with suppress(InputError):  # a router from a file may not be here any more
        if variant == find_router(router).choose_variant(None, network):
            return router
    return f"{router} ({variant.partition(':')[0]})"


def find_variant(router: AnyRouter, variant: str | None = None) -> tuple[Router, str | None]:
    """Return a router and the variant of it that is asked for.

    Parameters
    ----------
    router
        As for :func:`find_router`, or ``"NAME:VARIANT"``.
    variant : str, optional
        A variant, if ``router`` does not name one.

    Returns
    -------
    router : Router
        The router.
    variant : str or None
        The text that names the variant; None leaves the choice to the router.

    Raises
    ------
    InputError
        If there is no such router, or two variants are given.

    Examples
    --------
    >>> from popsnet.programs.router import find_variant
    >>> find_variant("relay:P2 P1 R1")[1]
    'P2 P1 R1'
    """
    return Router.find_variant(router, variant)
