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
            ("slots", router.slots),
            ("buffers", f"{router.buffers} packets a processor"),
            ("randomness", router.randomness),
            ("variants", ", ".join(router.variants)),
            ("engines", ", ".join(_engines(router))),
            ("reference", router.reference),
        ):
            if text:
                typer.echo(f"    {label:11} {text}")


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
        "slots": router.slots,
        "buffers": router.buffers,
        "randomness": router.randomness,
        "variants": list(router.variants),
        "engines": _engines(router),
        "reference": router.reference,
    }
