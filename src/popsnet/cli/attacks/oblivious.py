"""``popsnet adversary oblivious``."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from popsnet.adversaries import ObliviousAttack, PathSystem, attack_paths, find_paths, observe
from popsnet.adversaries.oblivious.attack import Trial
from popsnet.adversaries.oblivious.construction import Built
from popsnet.cli.attacks.output import (
    conclude,
    narrow_table,
    network_object,
    print_table,
    require_files,
    save_permutation,
)
from popsnet.cli.streams import user_code
from popsnet.coins import Coins
from popsnet.errors import InputError
from popsnet.network import Network
from popsnet.progress import patient_progress

__all__ = ["oblivious_command"]


def oblivious_command(
    d: int,
    g: int,
    *,
    paths: str | None,
    router: str | None,
    variant: str | None,
    runs: int,
    seed: int,
    save: Path | None,
    as_json: bool,
) -> None:
    """Attack a path system and print what came of it; exit 1 if it is not confirmed."""
    network = Network(d, g)
    require_files(save=save)
    _require_one(paths, router, variant)
    Coins(seed)  # refuse what is no seed
    if runs < 1:
        raise InputError(f"runs = {runs}: compare with 1 random permutation or more.")
    with user_code(as_json):
        system = (
            find_paths(paths or "residue")
            if router is None
            else _observed(router, variant, network)
        )
        attack = _attack(system, network, runs, seed)
    if as_json:
        typer.echo(json.dumps(_as_object(attack), indent=2))
    else:
        _print_text(attack)
    save_permutation(save, attack.matching.destination, as_json)
    worst = (
        "no permutation has more"
        if attack.is_worst
        else f"{attack.nodes_examined} nodes were looked at"
    )
    text = (
        f"congestion {attack.matching_trial.congestion} by counting, {worst}; every path system "
        f"has {attack.guaranteed} or more on {network}."
    )
    conclude(attack.confirmed, as_json, text)


def _require_one(paths: str | None, router: str | None, variant: str | None) -> None:
    if paths is not None and router is not None:
        raise InputError("Paths come from one place; give --paths or --router, not both.")
    if variant is not None and router is None:
        raise InputError(f"--variant {variant} is of no router; give --router with it.")


def _attack(system: PathSystem, network: Network, runs: int, seed: int) -> ObliviousAttack:
    with patient_progress("paths", network.n) as update:

        def show(done: int) -> None:
            update(done, f"{done:,} of {network.n:,} destinations")

        return attack_paths(system, network, runs, seed, show)


def _observed(router: str, variant: str | None, network: Network) -> PathSystem:
    with patient_progress("watching", network.n) as update:

        def show(done: int) -> None:
            update(done, f"{done:,} of {network.n:,} shifts")

        return observe(router, variant, network, show)


def _as_object(attack: ObliviousAttack) -> dict[str, object]:
    return {
        "network": network_object(attack.network),
        "paths": attack.paths,
        "guaranteed_congestion": attack.guaranteed,
        "greedy": _built(attack.greedy, attack.greedy_trial),
        "matching": _built(attack.matching, attack.matching_trial),
        "matching_is_worst": attack.is_worst,
        "random": [
            {"congestion": one.congestion, "slots": one.outcome.slots} for one in attack.random
        ],
        "confirmed": attack.confirmed,
    }


def _built(built: Built, trial: Trial) -> dict[str, object]:
    return {
        "node": built.node_name,
        "packets_through_it": built.promised,
        "pairs": built.pairs,
        "congestion": trial.congestion,
        "slots": trial.outcome.slots,
        "delivered": trial.outcome.delivered,
    }


def _print_text(attack: ObliviousAttack) -> None:
    network = attack.network
    typer.echo(f"{network}: paths {attack.paths}")
    table = narrow_table("permutation", "node", "packets", "congestion", "slots")
    for name, built, trial in (
        ("greedy", attack.greedy, attack.greedy_trial),
        ("matching", attack.matching, attack.matching_trial),
    ):
        figures = (built.promised, trial.congestion, trial.outcome.slots)
        table.add_row(name, built.node_name, *map(str, figures))
    congestion, slots = attack.random_congestion, attack.random_slots
    table.add_row(f"{len(attack.random)} random, mean", "", "", f"{congestion:.1f}", f"{slots:.1f}")
    print_table(table)
