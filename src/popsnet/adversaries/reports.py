"""Attacks as they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from popsnet.report import Column, Fact, Report, Row, Table

if TYPE_CHECKING:
    from popsnet.adversaries.oblivious.attack import ObliviousAttack
    from popsnet.adversaries.oblivious.congestion import Average
    from popsnet.adversaries.rigid.attack import RigidAttack
    from popsnet.adversaries.two_hop.attack import TwoHopAttack
    from popsnet.adversaries.two_hop.separation import Separation

__all__ = [
    "congestion_report",
    "oblivious_report",
    "rigid_report",
    "separation_report",
    "two_hop_report",
]

_ROWS = 12
"""The most rows of a table of slots."""


def _confirmed(confirmed: bool, text: str) -> str:
    return f"{'Confirmed' if confirmed else 'NOT CONFIRMED'}: {text}"


def _at_least(number: float | str, cut: bool) -> str:
    """A number, or that it is at least that large, because the search or the run was cut."""
    return f"≥ {number}" if cut else str(number)


def oblivious_report(attack: ObliviousAttack) -> Report:
    """Return what was built against a path system, beside random permutations."""
    network, most = attack.network, attack.matching_trial.congestion
    built = {
        name: {
            "node": one.node_name,
            "packets": one.promised,
            "pairs": one.pairs,
            "congestion": trial.congestion,
            "slots": trial.outcome.slots,
            "delivered": trial.outcome.delivered,
        }
        for name, one, trial in (
            ("greedy", attack.greedy, attack.greedy_trial),
            ("matching", attack.matching, attack.matching_trial),
        )
    }
    facts = (
        Fact("network", network.to_dict()),
        Fact("paths", attack.paths),
        Fact("guaranteed_congestion", attack.guaranteed),
        *(Fact(name, one) for name, one in built.items()),
        Fact("matching_is_worst", attack.is_worst),
        Fact("confirmed", attack.confirmed),
    )
    random = [{"congestion": one.congestion, "slots": one.outcome.slots} for one in attack.random]
    names = "node", "packets", "congestion", "slots"
    rows: list[Row] = [
        {"permutation": name, **{key: one[key] for key in names}} for name, one in built.items()
    ]
    if random:
        means = {"congestion": attack.random_congestion, "slots": attack.random_slots}
        rows.append(
            {"permutation": f"{len(random)} random, mean", "node": None, "packets": None, **means}
        )
    columns = (
        Column("permutation", kind="text"),
        Column("node", kind="text"),
        Column("packets", kind="integer"),
        Column("congestion", show=lambda row: _figure(row["congestion"])),
        Column("slots", show=lambda row: _figure(row["slots"])),
    )
    worst = (
        "no permutation has more"
        if attack.nodes_examined is None
        else f"{attack.nodes_examined} nodes were examined"
    )
    text = (
        f"congestion {most} by counting, {worst}; every path system has {attack.guaranteed} or "
        f"more on {network}."
    )
    parts = Table("permutations", "", columns, rows), Table("random", "", (), random)
    verdict = _confirmed(attack.confirmed, text)
    return Report(f"{network}: paths {attack.paths}", facts, parts, verdict, attack.confirmed)


def _figure(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def congestion_report(points: Sequence[Average]) -> Report:
    """Return the congestion of random permutations by g and path system, and of the worst."""
    rows = [
        {
            "g": one.network.g,
            "paths": one.paths,
            "runs": len(one.counted),
            "mean_congestion": one.mean,
            "standard_error": one.error,
            "curve": one.curve,
            "worst_congestion": one.worst,
            "guaranteed_congestion": one.guaranteed,
        }
        for one in points
    ]
    names = list(dict.fromkeys(one.paths for one in points))
    by_g: dict[int, list[Average]] = {}
    for one in points:
        by_g.setdefault(one.network.g, []).append(one)
    size = Column("g", "g = d", "integer")
    means = [
        {"g": g, **{one.paths: one.mean for one in of_g}, "curve": of_g[0].curve}
        for g, of_g in by_g.items()
    ]
    worst = [
        {"g": g, **{one.paths: one.worst for one in of_g}, "any": of_g[0].guaranteed}
        for g, of_g in by_g.items()
        if of_g[0].worst is not None
    ]
    mean_columns = size, *map(Column, names), Column("curve")
    worst_columns = size, *(Column(name, kind="integer") for name in (*names, "any"))
    parts: tuple[Table | str, ...] = (
        Table("points", "", (), rows),
        Table(
            "means",
            "Congestion of random permutations, mean; the curve is log g / log log g.",
            mean_columns,
            means,
        ),
        *([""] if worst else []),
        Table(
            "worst",
            "Congestion of the worst permutation, and what is proved for any path system.",
            worst_columns if worst else (),
            worst,
        ),
    )
    return Report(parts=parts)


def rigid_report(attack: RigidAttack) -> Report:
    """Return how far packets can get in a truncated rigid router, and where it fails."""
    network = attack.network
    facts = (
        Fact("network", network.to_dict()),
        Fact("router", attack.router),
        Fact("variant", attack.variant),
        Fact("slots", attack.slots),
        Fact("guaranteed_slots", attack.guaranteed),
        Fact("packet", attack.packet),
        Fact("processor", attack.processor),
        Fact("confirmed", attack.confirmed),
    )
    columns = (
        Column("slot", "slot t", "integer"),
        Column("least", "least |P(i, t)|", "integer"),
        Column("mean", show=lambda row: f"{row.mean:,.1f}"),
        Column("most", kind="integer"),
        Column(
            "bound",
            "2^t",
            show=lambda row: f"{2**row.slot:,}" if row.slot < 30 else f"2^{row.slot}",
        ),
    )
    every = max(-(-len(attack.growth) // _ROWS), 1)
    table = Table("growth", "", columns, attack.growth, every=every)
    title = f"{network}: {attack.router} ({attack.variant}), rigid on all probes"
    if attack.confirmed is None:
        none = (
            f"There is no transposition to build: after {attack.slots} slots every packet can be "
            f"anywhere. Stop the router after {attack.last_failing} slots or fewer to see it fail."
        )
        return Report(title, facts, (table, none))
    text = (
        f"on the transposition of {attack.packet} and {attack.processor}, packet {attack.packet} "
        f"is not at {attack.processor} after {attack.slots} slots. No rigid router takes fewer "
        f"than {attack.guaranteed} on {network}."
    )
    verdict = _confirmed(attack.confirmed, text)
    return Report(title, facts, (table,), verdict, attack.confirmed)


def two_hop_report(attack: TwoHopAttack) -> Report:
    """Return the packets that block each other, and what the randomized algorithm takes."""
    network, randomized = attack.network, attack.randomized
    facts = (
        Fact("network", network.to_dict()),
        Fact("algorithm", attack.algorithm),
        Fact("slots", attack.slots),
        Fact("guaranteed_slots", attack.guaranteed),
        Fact("at_limit", attack.at_limit),
        Fact("packet", attack.packet),
        Fact("marked", {str(packet): to for packet, to in attack.blocked.items()}),
        Fact("waiting", attack.waiting),
        Fact("randomized_slots", None if randomized.capped else randomized.slots),
        Fact("randomized_stopped_after", randomized.slots if randomized.capped else None),
        Fact("confirmed", attack.confirmed),
    )
    several = f"{len(attack.marked)} packets block each other"
    blocked = "1 packet gets nowhere" if len(attack.marked) == 1 else several
    capped = " (capped: it was stopped with packets on their way)" if randomized.capped else ""
    title = (
        f"{network}: two-hop algorithm {attack.algorithm}\n"
        f"{blocked} for {attack.slots} slots{', the most asked for' if attack.at_limit else ''}; "
        f"against every algorithm there is a delay of {attack.guaranteed} or more.\n"
        f"On the machine {attack.waiting} of {network.n:,} packets have not arrived. "
        f"The randomized algorithm takes {_at_least(randomized.slots, randomized.capped)} slots "
        f"on the same permutation{capped}."
    )
    text = f"packet {attack.packet} has not arrived after {attack.slots} slots."
    verdict = _confirmed(attack.confirmed, text)
    return Report(title, facts, verdict=verdict, ok=attack.confirmed)


def separation_report(points: Sequence[Separation]) -> Report:
    """Return what adversaries reached by g and algorithm, and what the randomized one needs."""
    names = list(points[0].attacks)
    rows = [
        {
            "g": one.network.g,
            "reached": one.reached,
            "guaranteed": one.guaranteed,
            "limits_reached": one.limits_reached,
            "randomized": {
                "runs": len(one.randomized),
                "capped": one.randomized_capped,
                "mean": None if one.randomized_capped else one.randomized_mean,
                "max": None if one.randomized_capped else one.randomized_max,
                "on_built": [None if run.capped else run.slots for run in one.randomized_on_worst],
            },
            "confirmed": one.confirmed,
        }
        for one in points
    ]
    found = {one.network.g: one for one in points}

    def reached(name: str) -> Column:
        def cell(row: Row) -> str:
            return _at_least(row["reached"][name], name in row["limits_reached"])

        return Column(name, show=cell)

    def mean(row: Row) -> str:
        one = found[row["g"]]
        return _at_least(f"{one.randomized_mean:.1f}", one.randomized_capped > 0)

    def most(row: Row) -> str:
        one = found[row["g"]]
        return _at_least(one.randomized_max, one.randomized_capped > 0)

    def built(row: Row) -> str:
        one = found[row["g"]]
        return _at_least(one.worst_max, one.worst_capped > 0)

    columns = (
        Column("g", "g = d", "integer"),
        *map(reached, names),
        Column("guaranteed", "any", "integer"),
        Column("mean", "random", show=mean),
        Column("max", show=most),
        Column("on_built", show=built),
    )
    caption = (
        "Slots T after which a packet has not arrived, against each algorithm; what is proved "
        "against any; and the slots that the randomized one takes: the mean and the most on "
        "random permutations, and the most on those built."
    )
    confirmed = all(one.confirmed for one in points)
    verdict = _confirmed(
        confirmed, "every permutation was executed, and its packet did not arrive."
    )
    return Report("", (), (Table("points", "", columns, rows, caption),), verdict, confirmed)
