"""Two-hop routing: the delays that adversaries force, and the randomized algorithm.

An attack is not a run of a router, so it is not in the store. Attacks are kept in a file beside the
store, each size as soon as it is done.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from math import sqrt
from pathlib import Path

from popsnet.base.files import write_whole
from popsnet.base.stats.inference import summarize
from popsnet.model.network import Network
from popsnet.paper.rows import NetworkRow, sizes
from popsnet.paper.verdicts import sd_of
from popsnet.studies.adversaries import FAMILIES, Separation, separation
from popsnet.studies.adversaries.two_hop.attack import MOST_ROUNDS

KEPT = "separation.json"
"""The file that attacks are kept in."""

RUNS = 20
"""Runs of the randomized algorithm per size."""

_DECIDED_BY = {"version": 2, "algorithms": list(FAMILIES), "runs": RUNS, "most_rounds": MOST_ROUNDS}
"""Everything besides g that affects a row.

The version is raised if the same attack, or the same randomized algorithm, comes to another result.
"""


@dataclass(frozen=True, slots=True)
class SeparationRow(NetworkRow):
    """Both sides on POPS(g, g).

    Attributes
    ----------
    reached : dict
        Against each deterministic algorithm: slots after which a packet has not arrived.
    guaranteed : int
        The same against any such algorithm, by the theorem.
    confirmed : int
        How many of these delays the machine confirms.
    randomized_mean, randomized_error, randomized_max
        Slots of the randomized algorithm until all packets have arrived; the standard error.
    randomized_capped : int
        How many of its runs were capped; if any, the values are lower bounds.
    randomized_on_built : int
        Its most slots on the permutations that were built against the others.
    most_slots : int
        Where the search for a longer delay ends.
    """

    reached: dict[str, int]
    guaranteed: int
    confirmed: int
    randomized_mean: float
    randomized_error: float
    randomized_max: int
    randomized_runs: int
    randomized_capped: int
    randomized_on_built: int
    most_slots: int


def attack_all(
    sizes: Sequence[int], folder: Path, progress: Callable[[str], None]
) -> tuple[SeparationRow, ...]:
    """Return a row for each g, and attack only the sizes that the folder does not have."""
    path = folder / KEPT
    rows = _read_rows(path)
    for g in sizes:
        if g not in rows:
            algorithms = list(FAMILIES.values())
            rows[g] = _row(separation(Network(g, g), algorithms, RUNS, MOST_ROUNDS, progress))
            records = [asdict(row) for _, row in sorted(rows.items())]
            with write_whole(path) as file:
                json.dump({"decided_by": _DECIDED_BY, "rows": records}, file, indent=2)
    return tuple(rows[g] for g in sizes)


def _row(outcome: Separation) -> SeparationRow:
    network, attacks = outcome.network, outcome.attacks
    slots = summarize([run.slots for run in outcome.randomized])
    return SeparationRow(
        *sizes(network), {name: attack.slots for name, attack in attacks.items()},
        guaranteed=outcome.guaranteed,
        confirmed=sum(attack.confirmed for attack in attacks.values()),
        randomized_mean=slots.mean,
        randomized_error=sd_of(slots) / sqrt(len(outcome.randomized)),
        randomized_max=slots.max,
        randomized_runs=len(outcome.randomized),
        randomized_capped=outcome.randomized_capped,
        randomized_on_built=max(run.slots for run in outcome.randomized_on_worst),
        most_slots=2 * MOST_ROUNDS,
    )  # fmt: skip


def _read_rows(path: Path) -> dict[int, SeparationRow]:
    """Return rows that were done before with the same parameters."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["decided_by"] == _DECIDED_BY:
            return {row["g"]: SeparationRow(**row) for row in data["rows"]}
    return {}
