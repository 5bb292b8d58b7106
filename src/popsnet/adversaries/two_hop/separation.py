"""What randomness buys: delays of deterministic two-hop algorithms, and the randomized one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from popsnet.adversaries.two_hop.algorithm import TwoHop
from popsnet.adversaries.two_hop.attack import MOST_ROUNDS, TwoHopAttack, attack_two_hop
from popsnet.adversaries.two_hop.execution import execute_two_hop
from popsnet.adversaries.two_hop.families import randomized
from popsnet.coins import Coins
from popsnet.network import Network
from popsnet.permutations.uniform import UniformPermutation
from popsnet.slot import Ints

__all__ = ["Needed", "Separation", "randomized_slots", "separation"]

_CAP = 1000
"""Rounds. For d = g the randomized algorithm has never needed a tenth of it. For d much larger
than g hardly any packet is ever alone on its coupler, and it does not come to an end."""


class Needed(NamedTuple):
    """The slots until every packet was in its group."""

    slots: int
    capped: bool
    """Whether it was stopped then, with packets that had not arrived."""


@dataclass(frozen=True, slots=True, eq=False)
class Separation:
    """Both sides on one network."""

    network: Network
    attacks: Mapping[str, TwoHopAttack]
    """Against every deterministic algorithm: what it was delayed by."""
    randomized: tuple[Needed, ...]
    """The slots that the randomized one took on uniform permutations."""
    randomized_on_worst: tuple[Needed, ...]
    """And on the permutations that were built against the others."""

    @property
    def confirmed(self) -> bool:
        """Whether the machine confirms every attack."""
        return all(attack.confirmed for attack in self.attacks.values())


def separation(
    network: Network,
    algorithms: Sequence[TwoHop],
    runs: int,
    most_rounds: int = MOST_ROUNDS,
    progress: Callable[[str], None] = lambda doing: None,
) -> Separation:
    """Attack every algorithm, and run the randomized one."""
    attacks = {}
    for algorithm in algorithms:
        progress(f"{network}: {algorithm.name}")
        attacks[algorithm.name] = attack_two_hop(algorithm, network, most_rounds)
    progress(f"{network}: randomized")
    uniform = [UniformPermutation(network.n, Coins(0).for_run(run)).array() for run in range(runs)]
    built = [attack.destination for attack in attacks.values()]
    return Separation(
        network, attacks, randomized_slots(network, uniform), randomized_slots(network, built)
    )


def randomized_slots(network: Network, permutations: Sequence[Ints]) -> tuple[Needed, ...]:
    """The slots until every packet is in its group, for each permutation, with its own coins."""
    coins = Coins(1)
    runs = (
        execute_two_hop(randomized(coins.for_run(run)), network, destination, _CAP)
        for run, destination in enumerate(permutations)
    )
    return tuple(
        Needed(int(run.slot.max()), False) if run.slot.all() else Needed(2 * _CAP, True)
        for run in runs
    )
