"""``popsnet adversary rigid``."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import typer

from popsnet.adversaries import RigidAttack, attack_rigid
from popsnet.cli.attacks.output import (
    conclude,
    draw,
    narrow_table,
    network_object,
    print_table,
    require_files,
    save_permutation,
)
from popsnet.cli.streams import user_code
from popsnet.network import Network
from popsnet.progress import patient_progress

__all__ = ["rigid_command"]

_ROWS = 12


def rigid_command(
    d: int,
    g: int,
    *,
    router: str,
    variant: str | None,
    slots: int | None,
    figure: Path | None,
    save: Path | None,
    as_json: bool,
) -> None:
    """Attack a router and print what came of it; exit 1 if it is not confirmed."""
    network = Network(d, g)
    require_files(figure=figure, save=save)
    with user_code(as_json), patient_progress("watching", None) as update:
        attack = attack_rigid(
            router, variant, network, slots, lambda permutation: update(0, permutation)
        )
    if as_json:
        typer.echo(json.dumps(_as_object(attack), indent=2))
    else:
        _print_text(attack)
    if figure is not None:
        _draw(figure, attack, as_json)
    if attack.confirmed is None:
        _say_nothing_was_built(attack, save, as_json)
        return
    save_permutation(save, attack.destination, as_json)
    conclude(attack.confirmed, as_json, _verdict(attack))


def _say_nothing_was_built(attack: RigidAttack, save: Path | None, as_json: bool) -> None:
    unwritten = f" {save} was not written." if save is not None else ""
    typer.echo(
        f"There is no transposition to build: after {attack.slots} slots every packet can be "
        f"anywhere. Stop the router after {attack.last_failing} slots or fewer to see it fail."
        f"{unwritten}",
        err=as_json,
    )


def _verdict(attack: RigidAttack) -> str:
    return (
        f"on the transposition of {attack.packet} and {attack.processor}, packet {attack.packet} "
        f"is not at {attack.processor} after {attack.slots} slots. No rigid router takes fewer "
        f"than {attack.guaranteed} on {attack.network}."
    )


def _as_object(attack: RigidAttack) -> dict[str, object]:
    return {
        "network": network_object(attack.network),
        "router": attack.router,
        "variant": attack.variant,
        "slots": attack.slots,
        "least_slots_of_a_rigid_router": attack.guaranteed,
        "packet": attack.packet,
        "processor": attack.processor,
        "growth": [asdict(one) for one in attack.growth],
        "confirmed": attack.confirmed,
    }


def _print_text(attack: RigidAttack) -> None:
    typer.echo(f"{attack.network}: {attack.router} ({attack.variant}), rigid on all probes")
    table = narrow_table("slot t", "least |P(i, t)|", "mean", "most", "2^t")
    growth = attack.growth
    for one in growth[:: max(-(-len(growth) // _ROWS), 1)]:
        bound = str(2**one.slot) if one.slot < 30 else f"2^{one.slot}"
        table.add_row(str(one.slot), str(one.least), f"{one.mean:.1f}", str(one.most), bound)
    print_table(table)


def _draw(path: Path, attack: RigidAttack, as_json: bool) -> None:
    from popsnet.plots import Line, draw_growth

    n, growth = attack.network.n, attack.growth
    slots = tuple(one.slot for one in growth)
    doubling = tuple(range(attack.guaranteed + 1))
    lines = [
        Line("most", slots, tuple(one.most for one in growth), look=0),
        Line("mean", slots, tuple(one.mean for one in growth), look=1),
        Line("least", slots, tuple(one.least for one in growth), look=2),
        Line("2^t", doubling, tuple(2**t for t in doubling)),
    ]
    title = f"{attack.router} ({attack.variant}) on {attack.network}"
    draw(draw_growth(title, lines, n), path, as_json)
