"""``popsnet routers``: what there is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress

import typer

from popsnet.engines import ENGINES
from popsnet.errors import InputError
from popsnet.experiment import Experiment
from popsnet.network import Network
from popsnet.routing import Router, all_routers

__all__ = ["routers_command"]

_TRIED = (Network(64, 64), Network(16, 4), Network(4, 16))


def routers_command(*, as_json: bool) -> None:
    """Print every router with its claims."""
    if as_json:
        typer.echo(json.dumps({"routers": [_as_object(one) for one in all_routers()]}, indent=2))
        return
    for router in all_routers():
        typer.echo(f"{router.name}: {router.summary}")
        for label, text in (
            ("applies to", router.applies),
            (
                "knows",
                "what a processor is told" if router.online else "everything, beforehand",
            ),
            ("slots", router.slots),
            ("buffers", _memory(router)),
            ("messages", router.messages),
            ("randomness", router.randomness),
            ("variants", ", ".join(router.variants)),
            ("engines", ", ".join(_engines(router))),
            ("reference", router.reference),
        ):
            if text:
                typer.echo(f"    {label:11} {text}")


def _memory(router: Router) -> str:
    """The packets a processor may hold, in words."""
    if callable(router.buffers):
        return router.memory or "as many packets a processor as the network needs"
    return router.memory or f"{router.buffers} packets a processor"


def _engines(router: Router) -> list[str]:
    """The engines that run a variant of the router, found by trying on some networks."""
    found = list(_experiments(router))
    return [
        name
        for name, engine in ENGINES.items()
        if any(engine.supports(one) is None for one in found)
    ]


def _experiments(router: Router) -> Iterator[Experiment]:
    for network in _TRIED:
        for variant in (None, *router.variants):
            with suppress(InputError):  # it does not apply there
                yield Experiment(network.d, network.g, router=router, variant=variant)


def _as_object(router: Router) -> dict[str, object]:
    return {
        "name": router.name,
        "summary": router.summary,
        "applies": router.applies,
        "online": router.online,
        "slots": router.slots,
        "buffers": None if callable(router.buffers) else router.buffers,
        "memory": _memory(router),
        "messages": router.messages,
        "randomness": router.randomness,
        "variants": list(router.variants),
        "engines": _engines(router),
        "reference": router.reference,
    }
