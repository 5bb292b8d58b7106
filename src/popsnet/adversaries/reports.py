"""Attacks as they are shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from popsnet.report import Column, Fact, Report, Row, Table, facts_of

if TYPE_CHECKING:
    from popsnet.adversaries.oblivious.attack import ObliviousAttack
    from popsnet.adversaries.oblivious.congestion import Average
    from popsnet.adversaries.rigid.attack import RigidAttack
    from popsnet.adversaries.two_hop.attack import TwoHopAttack
    from popsnet.adversaries.two_hop.separation import Separation

_ROWS = 12
"""The most rows of a table of slots."""


def _confirmed(confirmed: bool, text: str) -> str:
    return f"{'Confirmed' if confirmed else 'NOT CONFIRMED'}: {text}"


def _at_least(number: object, cut: bool) -> str:
    """A number, or that it is at least that large, because the search or the run was cut."""
    return f"≥ {number}" if cut else str(number)


def oblivious_report(attack: ObliviousAttack) -> Report:
    """Return what was built against a path system, beside random permutations."""
    rows = [
        {
            "permutation": name,
            "node": one.node_name,
            "packets": one.promised,
            "congestion": trial.congestion,
            "slots": trial.outcome.slots,
            "delivered": trial.outcome.delivered,
            "pairs": one.pairs,
        }
        for name, one, trial in (
            ("greedy", attack.greedy, attack.greedy_trial),
            ("matching", attack.matching, attack.matching_trial),
        )
    ]
    columns = (
        Column("permutation", kind="text"),
        Column("node", kind="text"),
        *(Column(name, kind="integer") for name in ("packets", "congestion", "slots")),
    )
    random = [{"congestion": one.congestion, "slots": one.outcome.slots} for one in attack.random]
    mean = (
        f"{len(random)} random permutations: congestion {attack.random_congestion:.1f}, "
        f"slots {attack.random_slots:.1f} on average"
    )
    parts = (
        Table("permutations", "", columns, rows, mean if random else ""),
        Table("random", "", (), random),
    )
    examined = attack.nodes_examined
    worst = "no permutation has more" if examined is None else f"{examined} nodes were examined"
    text = (
        f"congestion {attack.matching_trial.congestion} by counting, {worst}; every path system "
        f"has {attack.guaranteed} or more on {attack.network}."
    )
    facts = facts_of(attack, "network", "paths", "guaranteed", "is_worst", "confirmed")
    title = f"{attack.network}: paths {attack.paths}"
    return Report(title, facts, parts, _confirmed(attack.confirmed, text), attack.confirmed)


def congestion_report(points: Sequence[Average]) -> Report:
    """Return the congestion of random permutations by g and path system, and of the worst."""
    rows = [
        {
            "g": one.network.g,
            "paths": one.paths,
            "runs": len(one.counted),
            "mean": one.mean,
            "standard_error": one.error,
            "curve": one.curve,
            "worst": one.worst,
            "guaranteed": one.guaranteed,
        }
        for one in points
    ]
    means: dict[int, dict[str, float]] = {}
    worst: dict[int, dict[str, int]] = {}
    for one in points:
        g = one.network.g
        means.setdefault(g, {"g": g, "curve": one.curve})[one.paths] = one.mean
        if one.worst is not None:
            worst.setdefault(g, {"g": g, "any": one.guaranteed})[one.paths] = one.worst
    size, names = Column("g", "g = d", "integer"), list(dict.fromkeys(one.paths for one in points))
    title = "Congestion of random permutations, mean; the curve is log g / log log g."
    columns = size, *map(Column, (*names, "curve"))
    parts = Table("points", "", (), rows), Table("means", title, columns, list(means.values()))
    if not worst:
        return Report(parts=parts)
    title = "Congestion of the worst permutation, and what is proved for any path system."
    columns = size, *(Column(name, kind="integer") for name in (*names, "any"))
    return Report(parts=parts).plus("", Table("worst", title, columns, list(worst.values())))


def rigid_report(attack: RigidAttack) -> Report:
    """Return how far packets can get in a truncated rigid router, and where it fails."""
    columns = (
        Column("slot", "slot t", "integer"),
        Column("least", "least |P(i, t)|", "integer"),
        Column("mean", show=lambda row: f"{row.mean:,.1f}"),
        Column("most", kind="integer"),
        Column("bound", "2^t", show=lambda row: _power(row.slot)),
    )
    every = max(-(-len(attack.growth) // _ROWS), 1)
    parts = (Table("growth", "", columns, attack.growth, every=every),)
    facts = facts_of(
        attack, "network", "router", "variant", "slots", "guaranteed", "packet", "processor",
        "confirmed",
    )  # fmt: skip
    title = f"{attack.network}: {attack.router} ({attack.variant}), rigid on all probes"
    if attack.confirmed is None:
        return Report(title, facts, parts).plus(
            f"There is no transposition to build: after {attack.slots} slots every packet can be "
            f"anywhere. Stop the router after {attack.last_failing} slots or fewer to see it fail."
        )
    text = (
        f"on the transposition of {attack.packet} and {attack.processor}, packet {attack.packet} "
        f"is not at {attack.processor} after {attack.slots} slots. No rigid router takes fewer "
        f"than {attack.guaranteed} on {attack.network}."
    )
    return Report(title, facts, parts, _confirmed(attack.confirmed, text), attack.confirmed)


def _power(exponent: int) -> str:
    return f"{2**exponent:,}" if exponent < 30 else f"2^{exponent}"


def two_hop_report(attack: TwoHopAttack) -> Report:
    """Return the packets that block each other, and what the randomized algorithm takes."""
    (slots, capped), several = attack.randomized, f"{len(attack.marked)} packets block each other"
    facts = (
        *facts_of(
            attack, "network", "algorithm", "slots", "guaranteed", "at_limit", "packet", "waiting",
            "confirmed",
        ),
        Fact("marked", {str(packet): to for packet, to in attack.blocked.items()}),
        Fact("randomized_slots", None if capped else slots),
        Fact("randomized_stopped_after", slots if capped else None),
    )  # fmt: skip
    blocked = "1 packet gets nowhere" if len(attack.marked) == 1 else several
    title = (
        f"{attack.network}: two-hop algorithm {attack.algorithm}\n"
        f"{blocked} for {attack.slots} slots{', the most asked for' if attack.at_limit else ''}; "
        f"against every algorithm there is a delay of {attack.guaranteed} or more.\n"
        f"On the machine {attack.waiting} of {attack.network.n:,} packets have not arrived. "
        f"The randomized algorithm takes {_at_least(slots, capped)} slots on the same permutation"
        f"{' (capped: it was stopped with packets on their way)' if capped else ''}."
    )
    text = f"packet {attack.packet} has not arrived after {attack.slots} slots."
    verdict = _confirmed(attack.confirmed, text)
    return Report(title, facts, verdict=verdict, ok=attack.confirmed)


def separation_report(points: Sequence[Separation]) -> Report:
    """Return what adversaries reached by g and algorithm, and what the randomized one needs."""
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

    def column(
        name: str, value: Callable[[Separation], object], cut: Callable[[Separation], object]
    ) -> Column:
        def cell(row: Row) -> str:
            one = found[row["g"]]
            return _at_least(value(one), bool(cut(one)))

        return Column(name, show=cell)

    def reached(name: str) -> Column:
        return column(name, lambda one: one.reached[name], lambda one: name in one.limits_reached)

    columns = (
        Column("g", "g = d", "integer"),
        *map(reached, points[0].attacks),
        Column("guaranteed", "any", "integer"),
        column(
            "random", lambda one: f"{one.randomized_mean:.1f}", lambda one: one.randomized_capped
        ),
        column("max", lambda one: one.randomized_max, lambda one: one.randomized_capped),
        column("on built", lambda one: one.worst_max, lambda one: one.worst_capped),
    )
    caption = (
        "Slots T after which a packet has not arrived, against each algorithm; what is proved "
        "against any; and the slots that the randomized one takes: the mean and the most on "
        "random permutations, and the most on those built."
    )
    confirmed = all(one.confirmed for one in points)
    verdict = _confirmed(confirmed, "every permutation was executed; its packet did not arrive.")
    return Report("", (), (Table("points", "", columns, rows, caption),), verdict, confirmed)
