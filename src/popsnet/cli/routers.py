"""``popsnet routers``: what there is."""

from __future__ import annotations

import json

import typer
from rich.console import Console
from rich.table import Table

from popsnet.engines import ENGINES
from popsnet.routing import Router, all_routers

__all__ = ["routers_command"]


def routers_command(*, as_json: bool) -> None:
    """Print every router with its claims."""
    if as_json:
        typer.echo(json.dumps({"routers": [_as_object(one) for one in all_routers()]}, indent=2))
        return
    table = Table("router", "applies to", "slots", "buffers", "randomness", "variants", "engines")
    for router in all_routers():
        table.add_row(
            router.name,
            router.applies,
            router.slots,
            f"{router.buffers}",
            router.randomness,
            ", ".join(router.variants),
            ", ".join(_engines(router)),
        )
    console = Console()
    console.print(table)
    for router in all_routers():
        reference = f" ({router.reference})" if router.reference else ""
        console.print(f"{router.name}: {router.summary}{reference}", highlight=False)


def _engines(router: Router) -> list[str]:
    return [
        name
        for name, engine in ENGINES.items()
        if engine.routers is None or router.name in engine.routers
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
