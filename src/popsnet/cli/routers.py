"""``popsnet routers``: what there is."""

from __future__ import annotations

import json

import typer

from popsnet.engines import ENGINES
from popsnet.routing import Router, all_routers

__all__ = ["routers_command"]


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
    return [
        name
        for name, engine in ENGINES.items()
        if any(engine.has(router, variant) for variant in router.variants)
    ]


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
