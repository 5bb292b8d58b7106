"""Figures of attacks, from their results."""

from __future__ import annotations

from matplotlib.figure import Figure

from popsnet.adversaries import CongestionStudy, RigidAttack, SeparationStudy
from popsnet.plots.lower_bounds import Line, draw_congestion, draw_growth, draw_separation


def draw_congestion_study(found: CongestionStudy) -> Figure:
    """Draw congestion against g: of the permutations built, and of random ones."""
    means, worst = [], []
    for look, name in enumerate(dict.fromkeys(one.paths for one in found.points)):
        of = [one for one in found.points if one.paths == name]
        sizes = tuple(one.network.g for one in of)
        y, errors = tuple(one.mean for one in of), tuple(one.error for one in of)
        means.append(Line(name, sizes, y, errors, look))
        built = {one.network.g: one.worst for one in of if one.worst is not None}
        if built:
            worst.append(Line(name, tuple(built), tuple(built.values()), look=look))
    curve, bound = tuple(one.curve for one in of), tuple(one.guaranteed for one in of)
    means.append(Line("log g / log log g", sizes, curve))
    worst.append(Line("the bound for every path system", sizes, bound))
    return draw_congestion(worst, means)


def draw_rigid_attack(attack: RigidAttack) -> Figure:
    """Draw the sizes of the sets P(i, t) against t."""
    slots = tuple(one.slot for one in attack.growth)
    doubling = tuple(range(attack.guaranteed + 1))
    lines = [
        Line("most", slots, tuple(one.most for one in attack.growth), look=0),
        Line("mean", slots, tuple(one.mean for one in attack.growth), look=1),
        Line("least", slots, tuple(one.least for one in attack.growth), look=2),
        Line("2^t", doubling, tuple(2**t for t in doubling)),
    ]
    title = f"{attack.router} ({attack.variant}) on {attack.network}"
    return draw_growth(title, lines, attack.network.n)


def draw_separation_study(found: SeparationStudy) -> Figure:
    """Draw slots against g: what adversaries reached, and what the randomized one needs."""
    points = found.points
    return draw_separation(
        [one.network.g for one in points],
        {name: [one.reached[name] for one in points] for name in points[0].attacks},
        [one.guaranteed for one in points],
        [one.randomized_mean for one in points],
        limit=2 * found.most_rounds,
        capped=[one.randomized_capped > 0 for one in points],
    )
