"""``popsnet plan``: which router to use on a network, and why."""

from __future__ import annotations

import json

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from popsnet.experiments.forecast import Forecast, forecasts, recommend
from popsnet.network import Network

__all__ = ["plan_command"]


def plan_command(d: int, g: int, *, as_json: bool) -> None:
    """Print what every router should take, and the best of those that are on-line."""
    network = Network(d, g)
    found, best = forecasts(network), recommend(network)
    if as_json:
        typer.echo(
            json.dumps(
                {
                    "network": {"d": d, "g": g, "n": network.n},
                    "use": best.router.name,
                    "variant": best.variant,
                    "why": _why(best, found),
                    "routers": [_as_object(one) for one in found],
                },
                indent=2,
            )
        )
        return
    table = Table(title=f"slots expected on {network}")
    for name in ("router", "slots", "known by", "on-line"):
        table.add_column(name, justify="right" if name == "slots" else "left")
    for one in found:
        slots = f"{one.slots:,.0f}" if one.exact else f"about {one.slots:,.1f}"
        online = "yes" if one.router.online else "no"
        table.add_row(one.router.name, slots, Text(one.reason), online)
    Console().print(table)
    typer.echo(f"Use {best.router.name}: {_why(best, found)}")


def _why(best: Forecast, found: list[Forecast]) -> str:
    """In words, with the next best."""
    others = [one for one in found if one.router.online and one.router is not best.router]
    certain = "always the same" if best.exact else "on average"
    text = f"{best.slots:,.1f} slots, {certain}, the fewest of all on-line routers"
    if not others:
        return f"{text}."
    return f"{text}; next is {others[0].router.name} with {others[0].slots:,.1f}."


def _as_object(one: Forecast) -> dict[str, object]:
    return {
        "router": one.router.name,
        "variant": one.variant,
        "slots": one.slots,
        "exact": one.exact,
        "reason": one.reason,
        "online": one.router.online,
    }
