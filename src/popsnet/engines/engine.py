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


def _no_obstacle(network: Network, keyed: bool) -> str | None:
    if network.n < 2**31:
        return None
    return f"it numbers processors with 31 bits, and n = {network.n:,}."


@dataclass(frozen=True)
class Engine:
    """An engine, what it can run and the memory it takes."""

    name: str
    execute: Execute
    runs: frozenset[tuple[str, str]] | None
    """The routers and variants it has; None if it runs any."""
    bytes_needed: Callable[[Network, bool], int]
    """Memory for one run, measured and rounded up; the flag says the permutation is computed."""
    obstacle: Callable[[Network, bool], str | None] = _no_obstacle
    """Why it cannot run on a network, however much memory there is, or None if it can."""
    messages: bool = True
    """Whether it executes messages, which can be traced, or only what decides who survives."""

    def has(self, router: Router, variant: str) -> bool:
        """Whether the engine runs the variant."""
        return self.runs is None or (router.name, variant) in self.runs


ENGINES = {
    engine.name: engine
    for engine in (
        Engine(
            name="objects",
            execute=objects.execute,
            runs=frozenset({("mei-rizzi", "published")}),
            bytes_needed=lambda network, keyed: 1000 * network.n,
        ),
        Engine(
            name="slots",
            execute=slots.execute,
            runs=None,
            bytes_needed=lambda network, keyed: 150 * network.n,
        ),
        Engine(
            name="fused",
            execute=fused.execute,
            runs=frozenset({("mei-rizzi", "published"), ("mei-rizzi", "idealized")}),
            bytes_needed=fused.bytes_needed,
            obstacle=fused.obstacle,
            messages=False,
        ),
    )
}


def choose_engine(name: str, router: Router, variant: str, packets: int, traced: bool) -> Engine:
    """The engine of that name. ``auto`` executes every message while there are few of them.

    It is ``slots`` for up to 2^21 packets over all runs, for a trace and for what the ``fused``
    engine does not have, and ``fused`` else.
    """
    if name == "auto":
        fast = ENGINES["fused"].has(router, variant) and packets > _FEW_PACKETS and not traced
        name = "fused" if fast else "slots"
    if name not in ENGINES:
        known = ", ".join(["auto", *ENGINES])
        raise InputError(f"There is no engine {name!r}. Give one of: {known}.")
    engine = ENGINES[name]
    if not engine.has(router, variant):
        known = ", ".join(f"{one} ({other})" for one, other in sorted(engine.runs or ()))
        raise InputError(
            f"Engine {name} does not run router {router.name!r} ({variant}), only: {known}. "
            "Use --engine slots, which runs them all."
        )
    if traced and not engine.messages:
        raise InputError(
            f"Engine {name} has no messages to trace. Use --engine slots, which executes them."
        )
    return engine
