"""The engines there are, and which of them to use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from popsnet.engines import fused, objects, slots
from popsnet.engines.instance import Execute, Load
from popsnet.errors import InputError
from popsnet.network import Network
from popsnet.routing import Router
from popsnet.routing.detection import DETECTED

__all__ = ["ENGINES", "Engine", "choose_engine"]

_FEW_PACKETS = 2**21
"""Up to so many packets, over all runs, ``auto`` executes every message."""


def _no_obstacle(load: Load) -> str | None:
    if load.network.n < 2**31:
        return None
    return f"it numbers processors with 31 bits, and n = {load.network.n:,}."


def _square(network: Network) -> bool:
    return network.d == network.g


@dataclass(frozen=True)
class Engine:
    """An engine, what it can run and the memory it takes."""

    name: str
    execute: Execute
    runs: Mapping[tuple[str, str | None], Callable[[Network], bool]] | None
    """The routers and variants it has, and on which networks; None if it runs any anywhere.

    None for a variant stands for all that the router makes of a text.
    """
    bytes_needed: Callable[[Load], int]
    """Memory for one run, measured and rounded up."""
    obstacle: Callable[[Load], str | None] = _no_obstacle
    """Why it cannot run on a network, however much memory there is, or None if it can."""
    messages: bool = True
    """Whether it executes messages, which can be traced, or only what decides who survives."""

    def has(self, router: Router, variant: str, network: Network | None = None) -> bool:
        """Whether the engine runs the variant, on that network or at all."""
        if self.runs is None:
            return True
        named = variant in router.variants or variant.endswith(DETECTED)
        others = None if named else self.runs.get((router.name, None))
        where = self.runs.get((router.name, variant), others)
        return where is not None and (network is None or where(network))


ENGINES = {
    engine.name: engine
    for engine in (
        Engine(
            name="objects",
            execute=objects.execute,
            runs={("mei-rizzi", "published"): _square, ("relay", "S"): _square},
            bytes_needed=lambda load: 1000 * load.network.n,
        ),
        Engine(
            name="slots",
            execute=slots.execute,
            runs=None,
            bytes_needed=lambda load: 150 * load.network.n,
        ),
        Engine(
            name="fused",
            execute=fused.execute,
            runs={
                ("mei-rizzi", "published"): _square,
                ("mei-rizzi", "idealized"): lambda network: True,
                ("mei-rizzi", "deferred"): fused.runs_deferred,
                ("relay", None): lambda network: True,
            },
            bytes_needed=fused.memory_for,
            obstacle=fused.obstacle_to,
            messages=False,
        ),
    )
}


def choose_engine(
    name: str, router: Router, variant: str, network: Network, *, runs: int, traced: bool
) -> Engine:
    """The engine of that name. ``auto`` executes every message while there are few of them.

    It is ``slots`` for up to 2^21 packets over all runs, for a trace and for what the ``fused``
    engine does not have, and ``fused`` else.
    """
    if name == "auto":
        many = runs * network.n > _FEW_PACKETS and not traced
        name = "fused" if many and ENGINES["fused"].has(router, variant, network) else "slots"
    if name not in ENGINES:
        known = ", ".join(["auto", *ENGINES])
        raise InputError(f"There is no engine {name!r}. Give one of: {known}.")
    engine = ENGINES[name]
    if not engine.has(router, variant, network):
        known = ", ".join(f"{one} ({other or 'schedules'})" for one, other in engine.runs or ())
        where = f" on {network}" if engine.has(router, variant) else f", only: {known}"
        raise InputError(
            f"Engine {name} does not run router {router.name!r} ({variant}){where}. "
            "Use --engine slots, which runs them all."
        )
    if traced and not engine.messages:
        raise InputError(
            f"Engine {name} has no messages to trace. Use --engine slots, which executes them."
        )
    return engine
