"""``popsnet plan``: which router to use on a network, and why."""

from __future__ import annotations

import json

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from popsnet.advice.recommendation import recommend
from popsnet.network import Network

__all__ = ["plan_command"]


def plan_command(d: int, g: int, *, as_json: bool) -> None:
    """Print what every router should take, and the best of those that are on-line."""
    network = Network(d, g)
    found = recommend(network)
    if as_json:
        facts = {
            "network": {"d": d, "g": g, "n": network.n},
            "use": found.router,
            "variant": found.variant,
            "why": found.why,
            "routers": found.to_records(),
        }
        typer.echo(json.dumps(facts, indent=2))
        return
    table = Table(title=f"slots expected on {network}")
    for name in ("router", "slots", "known by", "on-line"):
        table.add_column(name, justify="right" if name == "slots" else "left")
    for one in found.forecasts:
        slots = f"{one.slots:,.0f}" if one.exact else f"about {one.slots:,.1f}"
        online = "yes" if one.router.online else "no"
        table.add_row(one.router.name, slots, Text(one.reason), online)
    Console().print(table)
    typer.echo(str(found))
