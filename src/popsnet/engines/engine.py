"""The engines there are, and which of them to use."""

from __future__ import annotations

from dataclasses import dataclass

from popsnet.engines import objects, slots
from popsnet.engines.instance import Execute
from popsnet.errors import InputError
from popsnet.routing import Router

__all__ = ["ENGINES", "Engine", "choose_engine"]


@dataclass(frozen=True)
class Engine:
    """An engine, the routers it can run and the memory it takes."""

    name: str
    execute: Execute
    routers: frozenset[str] | None
    """Names of the routers it has; None if it runs any."""
    bytes_per_processor: int
    """Memory for one run, permutation included; measured, rounded up."""

    def require(self, router: Router) -> None:
        """Refuse a router the engine does not have."""
        if self.routers is not None and router.name not in self.routers:
            known = ", ".join(sorted(self.routers))
            raise InputError(
                f"Engine {self.name} does not run router {router.name!r}, only: {known}. "
                "Use --engine slots, which runs every router."
            )


ENGINES = {
    engine.name: engine
    for engine in (
        Engine(
            name="objects",
            execute=objects.execute,
            routers=frozenset({"mei-rizzi"}),
            bytes_per_processor=1000,
        ),
        Engine(
            name="slots",
            execute=slots.execute,
            routers=None,
            bytes_per_processor=150,
        ),
    )
}


def choose_engine(name: str, router: Router) -> Engine:
    """The engine of that name; ``auto`` is ``slots``, which runs everything there is."""
    if name == "auto":
        name = "slots"
    if name not in ENGINES:
        known = ", ".join(["auto", *ENGINES])
        raise InputError(f"There is no engine {name!r}. Give one of: {known}.")
    engine = ENGINES[name]
    engine.require(router)
    return engine
