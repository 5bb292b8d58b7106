"""How many slots each router should take on a network, and so which one to use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import log2, sqrt
from types import MappingProxyType

from popsnet.network import Network, shape_of
from popsnet.report import Column, Fact, Report, Reported, Table
from popsnet.routing import Router, all_routers
from popsnet.routing.deterministic import aks_slots
from popsnet.routing.global_or import global_or_slots
from popsnet.routing.relay import expected_slots
from popsnet.routing.router import is_registered
from popsnet.theory.bounds import Bound
from popsnet.theory.fluid import expected_steps
from popsnet.theory.formulas import batcher_slots, datta_slots

__all__ = [
    "ROUTER_BOUNDS",
    "Forecast",
    "Recommendation",
    "forecast",
    "forecasts",
    "recommend",
]


@dataclass(frozen=True, slots=True)
class Forecast:
    """The slots a router should take, and why that is thought."""

    router: Router
    variant: str
    slots: float
    exact: bool
    """Whether every permutation takes just so many."""
    reason: str


_QUICKLY_MADE = 2**12
"""Wires of a bag tree that takes no time to speak of."""

_Rule = tuple[Callable[[Network], float], bool, str]


def _offline(network: Network) -> int:
    return 1 if network.d == 1 else 2 * -(-network.d // network.g)


def _aks(network: Network) -> float:
    """Of the network itself, or of the line through its depths where it takes long to make.

    In a stage 0.55 of all take part on average, and of the group with the most some more: for d > g
    the rounds of networks up to 2^16 are within a fifth of 0.55k + 0.5√k, k = ⌈d/g⌉.
    """
    if network.n <= _QUICKLY_MADE:
        return aks_slots(network)
    k = -(-network.d // network.g)
    rounds = 0.55 * k + 0.5 * sqrt(k) if k > 1 else 1
    hops = 1 if network.d == 1 else 2 * rounds
    return hops * (124 * log2(network.n) - 600) + global_or_slots(network)


def _mei_rizzi(network: Network) -> float:
    """Five slots a step, and for d > g the last copies wait for their block of indices."""
    return 5 * expected_steps(network) + (-(-network.d // network.g) - 1) / 2


_RULES: Mapping[str, _Rule] = MappingProxyType(
    {
        "aks": (_aks, False, "depth of the bag tree, if it sorts"),
        "batcher": (batcher_slots, True, "formula: t(t + 1), t = ⌈log2 n⌉; half for d = 1"),
        "datta": (datta_slots, True, "formula: strips sorted by merge exchange"),
        "direct": (lambda network: max(network.d, network.g), True, "formula: max(d, g)"),
        "mei-rizzi": (_mei_rizzi, False, "fluid limit, 5 slots a step"),
        "offline": (_offline, True, "formula: 2⌈d/g⌉, 1 for d = 1"),
        "relay": (expected_slots, False, "fluid limit of the planned stages"),
    }
)


ROUTER_BOUNDS = (
    Bound("aks", "upper", "2⌈d/g⌉ slots, or fewer, a stage of the bag tree and of merge exchange; "
          "⌈g/d⌉ + 1", "always", "any d, g; usually merge exchange is not needed",
          "popsnet, docs/explanation/deterministic.md, after Ajtai, Komlós and Szemerédi, 1983",
          lambda network: 1 < network.n <= _QUICKLY_MADE,
          lambda network: aks_slots(network, repaired=True)),
    Bound("relay, planned", "upper", "the shortest schedule by the fluid limit", "on average, by "
          "the fluid limit; not proved", "any d, g", "popsnet, docs/explanation/relay.md, how a "
          "schedule is chosen", slots=expected_slots),
)  # fmt: skip
"""Those of our own routers whose numbers are made, not written: by building networks and plans."""


def forecast(router: Router, network: Network) -> Forecast | None:
    """What is expected of a router; None if it does not apply, or nothing is known of it."""
    if (
        router.name not in _RULES
        or not is_registered(router)
        or all(variant.obstacle(network) is not None for variant in router.variants.values())
    ):
        return None
    slots, exact, reason = _RULES[router.name]
    variant = router.choose_variant(None, network)
    return Forecast(router, variant, float(slots(network)), exact, reason)


def forecasts(network: Network) -> list[Forecast]:
    """Of all routers that apply, the quickest first; of equals what is exact."""
    found = [forecast(router, network) for router in all_routers() if not router.file]
    return sorted(
        (one for one in found if one is not None),
        key=lambda one: (one.slots, not one.exact, one.router.name),
    )


@dataclass(frozen=True, repr=False)
class Recommendation(Reported):
    """The router to use on a network, and why."""

    network: Network
    best: Forecast
    forecasts: tuple[Forecast, ...]
    """Of every router that applies, the quickest first."""

    @property
    def router(self) -> str:
        """The name of the router."""
        return self.best.router.name

    @property
    def variant(self) -> str:
        """The variant it would run."""
        return self.best.variant

    @property
    def slots(self) -> float:
        """Slots that it should take."""
        return self.best.slots

    @property
    def why(self) -> str:
        """The reason in words, with the next best router."""
        best = self.best
        others = [
            one for one in self.forecasts if one.router.online and one.router is not best.router
        ]
        slots = f"{best.slots:,.0f}" if best.exact else f"about {best.slots:,.1f}"
        certain = "always the same" if best.exact else "on average"
        text = f"{slots} slots, {certain}, the fewest of all on-line routers"
        if not others:
            return f"{text}."
        if others[0].slots == best.slots:
            return f"{text}; {others[0].router.name} takes as many."
        return f"{text}; next is {others[0].router.name} with {others[0].slots:,.1f}."

    def report(self) -> Report:
        """Return the recommendation as it is shown."""
        facts = (
            Fact("network", self.network.to_dict()),
            Fact("router", self.router),
            Fact("variant", self.variant),
            Fact("reason", self.why),
        )
        table = Table("routers", f"Expected slots on {self.network}", _COLUMNS, self.to_records())
        return Report("", facts, (table, f"Use {self.router}: {self.why}"))

    def to_records(self) -> list[dict[str, object]]:
        """Return a dictionary per router, the quickest first."""
        return [
            {
                "router": one.router.name,
                "variant": one.variant,
                "slots": one.slots,
                "exact": one.exact,
                "reason": one.reason,
                "online": one.router.online,
            }
            for one in self.forecasts
        ]


_COLUMNS = (
    Column("router", kind="text"),
    Column(
        "slots", show=lambda row: f"{row['slots']:,.0f}" if row["exact"] else f"{row['slots']:,.1f}"
    ),
    Column("exact", kind="flag"),
    Column("reason", "known by", "text"),
    Column("online", "on-line", "flag"),
)


def recommend(d: Network | int, g: int | None = None) -> Recommendation:
    """Recommend the on-line router that should take the fewest slots; of equals one without coins.

    Parameters
    ----------
    d : int or Network
        Processors per group, or a network.
    g : int
        Groups, if the first argument is a number.

    Examples
    --------
    >>> import popsnet
    >>> popsnet.recommend(64, 64).router
    'relay'
    >>> popsnet.recommend(popsnet.Network(4, 4)).why
    '4 slots, always the same, the fewest of all on-line routers; relay takes as many.'
    """
    network = Network(*shape_of(d, g))
    found = forecasts(network)
    return Recommendation(network, next(one for one in found if one.router.online), tuple(found))
