"""The engines there are, and which of them to use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from popsnet.engines import fused, objects, slots
from popsnet.engines.instance import Execute
from popsnet.errors import InputError
from popsnet.network import Network
from popsnet.routing import Router

__all__ = ["ENGINES", "Engine", "choose_engine"]

_FEW_PACKETS = 2**21
"""Up to so many packets, over all runs, ``auto`` executes every message."""


@dataclass(frozen=True)
class Engine:
    """An engine, the routers it can run and the memory it takes."""

    name: str
    execute: Execute
    routers: frozenset[str] | None
    """Names of the routers it has; None if it runs any."""
    bytes_needed: Callable[[Network, bool], int]
    """Memory for one run, measured and rounded up; the flag says the permutation is computed."""
    largest: int = 2**31 - 1
    """The most processors it can number."""
    messages: bool = True
    """Whether it executes messages, which can be traced, or only what decides who survives."""

    def has(self, router: Router) -> bool:
        """Whether the engine runs the router."""
        return self.routers is None or router.name in self.routers


ENGINES = {
    engine.name: engine
    for engine in (
        Engine(
            name="objects",
            execute=objects.execute,
            routers=frozenset({"mei-rizzi"}),
            bytes_needed=lambda network, keyed: 1000 * network.n,
        ),
        Engine(
            name="slots",
            execute=slots.execute,
            routers=None,
            bytes_needed=lambda network, keyed: 150 * network.n,
        ),
        Engine(
            name="fused",
            execute=fused.execute,
            routers=frozenset({"mei-rizzi"}),
            bytes_needed=fused.bytes_needed,
            largest=2**38,
            messages=False,
        ),
    )
}


def choose_engine(name: str, router: Router, packets: int, traced: bool) -> Engine:
    """The engine of that name. ``auto`` executes every message while there are few of them.

    It is ``slots`` for up to 2^21 packets over all runs, for a trace and for routers that the
    ``fused`` engine does not have, and ``fused`` else.
    """
    if name == "auto":
        fast = ENGINES["fused"].has(router) and packets > _FEW_PACKETS and not traced
        name = "fused" if fast else "slots"
    if name not in ENGINES:
        known = ", ".join(["auto", *ENGINES])
        raise InputError(f"There is no engine {name!r}. Give one of: {known}.")
    engine = ENGINES[name]
    if not engine.has(router):
        raise InputError(
            f"Engine {name} does not run router {router.name!r}, only: "
            f"{', '.join(sorted(engine.routers or ()))}. Use --engine slots, which runs them all."
        )
    if traced and not engine.messages:
        raise InputError(
            f"Engine {name} has no messages to trace. Use --engine slots, which executes them."
        )
    return engine
