"""``popsnet adversary two-hop``."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from popsnet.adversaries import TwoHopAttack, attack_two_hop
from popsnet.adversaries.two_hop.execution import Needed
from popsnet.cli.attacks.output import (
    at_least,
    conclude,
    network_object,
    require_files,
    rounds_of,
    save_permutation,
)
from popsnet.cli.streams import user_code
from popsnet.network import Network
from popsnet.progress import patient_progress

__all__ = ["two_hop_command"]


def two_hop_command(
    d: int, g: int, *, algorithm: str, most_slots: int, save: Path | None, as_json: bool
) -> None:
    """Attack an algorithm and print what came of it; exit 1 if it is not confirmed."""
    network, rounds = Network(d, g), rounds_of(most_slots)
    require_files(save=save)
    with user_code(as_json), patient_progress("marking", None) as update:
        attack = attack_two_hop(
            algorithm, network, rounds, lambda tried: update(0, f"{2 * tried} slots")
        )
        randomized = attack.run_randomized()
    if as_json:
        typer.echo(json.dumps(_as_object(attack, randomized), indent=2))
    else:
        _print_text(attack, randomized)
    save_permutation(save, attack.destination, as_json)
    text = f"packet {attack.packet} has not arrived after {attack.slots} slots."
    conclude(attack.confirmed, as_json, text)


def _as_object(attack: TwoHopAttack, randomized: Needed) -> dict[str, object]:
    return {
        "network": network_object(attack.network),
        "algorithm": attack.algorithm,
        "slots": attack.slots,
        "guaranteed_slots": attack.guaranteed,
        "reached_the_limit": attack.at_limit,
        "packet": attack.packet,
        "marked": {str(i): to for i, to in attack.blocked.items()},
        "waiting": attack.waiting,
        "randomized_slots": None if randomized.capped else randomized.slots,
        "randomized_stopped_after": randomized.slots if randomized.capped else None,
        "confirmed": attack.confirmed,
    }


def _print_text(attack: TwoHopAttack, randomized: Needed) -> None:
    network = attack.network
    more = ", and looked no further" if attack.at_limit else ""
    typer.echo(f"{network}: two-hop algorithm {attack.algorithm}")
    several = f"{len(attack.marked)} packets block each other"
    blocked = "1 packet gets nowhere" if len(attack.marked) == 1 else several
    typer.echo(
        f"{blocked} for {attack.slots} slots{more}; against every algorithm there is a delay of "
        f"{attack.guaranteed} or more."
    )
    takes = f"takes {at_least(randomized.slots, randomized.capped)} slots"
    capped = " (capped: it was stopped with packets on their way)" if randomized.capped else ""
    typer.echo(
        f"On the machine {attack.waiting} of {network.n:,} packets have not arrived. "
        f"The randomized algorithm {takes} on the same permutation{capped}."
    )
