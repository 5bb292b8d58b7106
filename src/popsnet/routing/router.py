"""What a router is, and the register of those there are.

A router is a generator function. It yields slots and is sent inboxes until every packet is
home, and it says what each processor stores, drops and delivers through the machine's memory:

    @register("name", ...)
    def route(network, destination, coins, memory):
        inbox = yield Slot(senders=..., groups=..., packets=..., listeners=..., listened=...)
        memory.deliver(inbox.receivers, inbox.packets)

It acts for all processors at once, as array code. It must let each of them decide from what
that processor knows: d, g, its own number, ``destination`` at its own place, its own coins and
what it has heard. ``popsnet.testing.check_locality`` finds routers that know more. A router that is
meant to know more registers with ``online=False``.

A variant's name with ``+or`` behind it is that variant with termination detection.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature
from typing import Required, TypeAlias, TypedDict, Unpack

from popsnet.coins import Coins
from popsnet.errors import InputError, did_you_mean
from popsnet.memory import Memory
from popsnet.network import Network
from popsnet.routing.detection import DETECTED, detected, detected_words
from popsnet.routing.facts import NO_CLAIMS, NO_WORDS, Claims, Words
from popsnet.slot import Ints, Slots
from popsnet.theory.bounds import BOUNDS, Bound
from popsnet.trace import TraceWords

Route: TypeAlias = Callable[[Network, Ints, Coins, Memory], Slots]
Obstacle: TypeAlias = Callable[[Network], str | None]
Buffers: TypeAlias = int | Callable[[Network], int]


def _anywhere(network: Network) -> str | None:
    return None


@dataclass(frozen=True)
class Variant:
    """One way to run a router."""

    route: Route
    obstacle: Obstacle = _anywhere
    """Why the variant does not apply to a network, or None if it does."""
    name: str = ""
    """The canonical name; :meth:`Router.resolve` fills it in."""
    schedule: object = None
    """What the router made of the text that names the variant, if it was written out."""
    idealized: bool = False
    """It takes something for granted, and gives statistics only, never a route."""
    buffers: Buffers | None = None
    """Packets a processor may hold, if it is not what the router says."""
    unabridged: Route | None = None
    """The route without any slot left out, for termination detection, if it is another one."""
    words: Words = NO_WORDS
    """What its traces say to explain it."""


Schedules: TypeAlias = Callable[[str], Variant]


@dataclass(frozen=True, repr=False)
class Router:
    """A registered router and what it claims."""

    name: str
    summary: str
    slots: str
    """The bound on its slots, in the notation of the paper."""
    buffers: Buffers
    """Packets a processor may hold, always or on a network; see :meth:`buffers_on`."""
    variants: Mapping[str, Variant]
    """By name."""
    memory: str = ""
    """In words what ``buffers`` is, where it depends on the network."""
    messages: str = ""
    """The control messages it sends, and how many bits they have."""
    applies: str = "any d and g"
    randomness: str = "none"
    reference: str = ""
    version: str = "1"
    """Raised whenever the same seeds give other runs than before."""
    file: str = ""
    """The file it was loaded from, if any; its version then has a digest of that file."""
    default: Callable[[Network], str] | None = None
    """Which variant to run on a network; the first, if it does not say."""
    online: bool = True
    """Whether processors know only what they are told; an off-line router knows everything."""
    schedules: Schedules | None = None
    """Makes a variant of a text that is not the name of one, with its canonical name;
    raises InputError."""
    claims: Claims = NO_CLAIMS
    """Its expected slots and its bounds, in numbers."""

    def __repr__(self) -> str:
        return f"<router {self.name}: {self.summary}>"

    def buffers_on(self, network: Network, variant: str | Variant) -> int:
        """Packets a processor of the network may hold; the machine enforces it."""
        buffers = self.variant(variant).buffers
        buffers = self.buffers if buffers is None else buffers
        return _held(buffers(network) if callable(buffers) else buffers)

    def words_on(self, network: Network, variant: str | Variant) -> TraceWords:
        """What the header of a trace says to explain the variant; the summary, if nothing else."""
        try:
            words = self.variant(variant).words.on(network)
        except InputError as error:
            raise InputError(f"Router {self.name}: {error}") from error
        return {"explanation": self.summary, **words} if self.summary else words

    def applies_to(self, network: Network) -> bool:
        """Whether a variant of it applies to the network."""
        return any(one.obstacle(network) is None for one in self.variants.values())

    def resolve(self, name: str | None, network: Network) -> Variant:
        """Return the variant to run on a network: the default if none is named.

        Raises
        ------
        InputError
            If there is no such variant, or it does not apply to the network.
        """
        if name is None:
            name = self.default(network) if self.default else next(iter(self.variants))
        variant = self.variant(name)
        reason = variant.obstacle(network)
        if reason is not None:
            raise InputError(
                f"Router {self.name} ({variant.name}) does not apply to {network}: {reason}"
            )
        return variant

    def choose_variant(self, name: str | None, network: Network) -> str:
        """Return the canonical name of the variant that :meth:`resolve` returns."""
        return self.resolve(name, network).name

    def start(
        self,
        variant: str | Variant,
        network: Network,
        destination: Ints,
        coins: Coins,
        memory: Memory,
    ) -> Slots:
        """Start the variant; the error for what is not a generator says what came instead."""
        return _started(self.name, self.variant(variant).route, network, destination, coins, memory)

    def variant(self, name: str | Variant) -> Variant:
        """Return the variant of that name, or the one that is made of it."""
        if isinstance(name, Variant):
            return name
        if name.endswith(DETECTED):
            return self._detected(self.variant(name.removesuffix(DETECTED).rstrip()))
        if name in self.variants:
            known = self.variants[name]
            return known if known.name == name else replace(known, name=name)
        if self.schedules is not None:
            return self.schedules(name)
        names = ", ".join(self.variants)
        meant = did_you_mean(name, self.variants)
        raise InputError(f"Router {self.name} has no variant {name!r}.{meant} It has: {names}.")

    def _detected(self, variant: Variant) -> Variant:
        """The variant with termination detection."""
        if variant.idealized:
            raise InputError(
                f"Variant {variant.name} of {self.name} gives statistics only, nothing to detect."
            )
        route = detected(partial(_started, self.name, variant.unabridged or variant.route))
        words, name = detected_words(variant.words), variant.name + DETECTED
        return replace(variant, name=name, route=route, words=words)


def _started(
    name: str, route: Route, network: Network, destination: Ints, coins: Coins, memory: Memory
) -> Slots:
    _require_signature(name, route)
    try:
        running = route(network, destination, coins, memory)
    except SystemExit as error:
        raise InputError(exit_of(name, error)) from error
    if not isinstance(running, Generator):
        raise InputError(
            f"Router {name} gives {running!r:.40} and no slots; a router is a generator "
            "function, one that yields its slots."
        )
    return running


def _require_signature(name: str, route: Route) -> None:
    try:
        parameters = signature(route)
        parameters.bind(*_GIVEN)
    except ValueError:  # it has none that can be read
        return
    except TypeError as error:
        raise InputError(
            f"Router {name} takes {parameters}; a router is a function of ({', '.join(_GIVEN)})."
        ) from error


_GIVEN = ("network", "destination", "coins", "memory")


def exit_of(router: str, error: SystemExit) -> str:
    """What to say when a router's own code wants to end the program."""
    return f"The code of router {router} raises SystemExit: {error}. A router ends by returning."


def _held(buffers: int) -> int:
    if buffers < 1:
        raise InputError(f"buffers = {buffers}: a processor holds its own packet, so >= 1.")
    return buffers


_ROUTERS: dict[str, Router] = {}

_PROGRAM = "__main__"


def _defined_again(router: Router, route: Route) -> bool:
    """Whether a cell of a notebook is executed again, perhaps with another text."""
    earlier = (_module(one.route) for one in router.variants.values())
    return {*earlier, _module(route)} == {_PROGRAM}


class RouterFacts(TypedDict, total=False):
    """Fields of a :class:`Router` that :func:`register` accepts as keywords."""

    summary: Required[str]
    slots: Required[str]
    buffers: Required[Buffers]
    memory: str
    messages: str
    applies: str
    randomness: str
    reference: str
    version: str
    default: Callable[[Network], str] | None
    online: bool
    schedules: Schedules | None
    claims: Claims


def register(
    name: str,
    *,
    variant: str = "standard",
    obstacle: Obstacle = _anywhere,
    words: Words = NO_WORDS,
    **facts: Unpack[RouterFacts],
) -> Callable[[Route], Route]:
    """Register the decorated generator function as a router.

    Parameters
    ----------
    name : str
        The name of the router.
    variant : str
        The name of its first variant.
    obstacle : function of a network
        Why this variant does not apply to a network, or None if it does.
    words : Words
        Explains its traces, and those of other variants that are registered without.
    **facts
        ``summary``, ``slots`` and ``buffers``, and any of ``memory``, ``messages``, ``applies``,
        ``randomness``, ``reference``, ``version``, ``default``, ``online``, ``schedules`` and
        ``claims``, as in :class:`Router`.
    """

    def add(route: Route) -> Route:
        if name in _ROUTERS and not _defined_again(_ROUTERS[name], route):
            raise InputError(f"A router named {name!r} is registered already; choose another name.")
        first = Variant(route, obstacle, variant, words=words)
        router = Router(name=name, variants={variant: first}, **facts)
        if not callable(router.buffers):
            _held(router.buffers)
        for fact, kind in ((router.claims, Claims), (words, Words)):
            if not isinstance(fact, kind):
                raise InputError(f"Router {name}: {fact!r:.40} is not {kind.__name__}(…).")
        _ROUTERS[name] = router
        return route

    return add


def register_variant(
    router: str,
    variant: str,
    *,
    obstacle: Obstacle = _anywhere,
    idealized: bool = False,
    buffers: Buffers | None = None,
    unabridged: Route | None = None,
    words: Words | None = None,
) -> Callable[[Route], Route]:
    """Register the decorated generator function as one more variant of a router."""

    def add(route: Route) -> Route:
        known = _ROUTERS[router]
        first = next(iter(known.variants.values()))
        new = Variant(
            route, obstacle, variant, idealized=idealized, buffers=buffers, unabridged=unabridged,
            words=first.words if words is None else words,
        )  # fmt: skip
        variants = {**known.variants, variant: new}
        _ROUTERS[router] = replace(known, variants=variants)
        return route

    return add


def tie_to_file(name: str, file: str, digest: str) -> Router:
    """Note where a registered router came from, and its text as part of its version."""
    router = _ROUTERS[name]
    _ROUTERS[name] = replace(router, version=f"{router.version}+{digest}", file=file)
    return _ROUTERS[name]


def unregister(name: str) -> None:
    """Take a router out of the register."""
    del _ROUTERS[name]


def all_routers() -> list[Router]:
    """Every registered router, by name."""
    return [_ROUTERS[name] for name in sorted(_ROUTERS)]


def all_bounds() -> tuple[Bound, ...]:
    """Return the bounds of all routers that are not from a file, and those of no router."""
    own = [bound for one in all_routers() if not one.file for bound in one.claims.bounds]
    return (*own, *BOUNDS)


def is_storable(router: Router) -> bool:
    """Whether the name and version of a router say what it does.

    They do not for a router that is not registered, nor for one of the program itself or of a
    notebook, where it may be another one the next time.
    """
    in_program = any(_module(one.route) == _PROGRAM for one in router.variants.values())
    return bool(router.file) or (is_registered(router) and not in_program)


def _module(route: Route) -> str:
    return str(getattr(route, "__module__", ""))


def is_registered(router: Router) -> bool:
    """Whether the register has this router under its name."""
    return _ROUTERS.get(router.name) == router


def get_router(name: str) -> Router:
    """The router of that name."""
    try:
        return _ROUTERS[name]
    except KeyError:
        known = ", ".join(sorted(_ROUTERS))
        raise InputError(
            f"There is no router {name!r}.{did_you_mean(name, _ROUTERS)} Give one of: {known}; or "
            "a file name.py that registers one."
        ) from None
