"""The paper's figures, drawn from our runs, and one of what its protocol loses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice, zip_longest

import numpy as np
from matplotlib.figure import Figure

from popsnet.coins import Coins
from popsnet.experiment import Experiment
from popsnet.network import Network
from popsnet.paper.published import RATIOS, SLOTS_A_STEP
from popsnet.paper.relay import RelayRow
from popsnet.paper.rows import RouterRow, SlotsRow, StepsRow, Tables
from popsnet.plots import (
    CurveKind,
    Decline,
    Series,
    conflict_graphs,
    draw_conflicts,
    draw_journey,
    draw_losses,
    draw_slot,
    draw_slots,
    draw_steps,
    draw_undelivered,
)
from popsnet.routing.relay import expected_slots, fractions
from popsnet.routing.relay.schedule import RelaySchedule
from popsnet.runs.route import route
from popsnet.theory import expected_steps, loads
from popsnet.trace import Event

__all__ = ["Picture", "make_pictures"]

_EXAMPLE_SEED, _EXAMPLE_PERMUTATION_SEED = 13, 5
"""A run on POPS(3, 3) whose first step brings packet 5 to processor 1 by way of group 2."""

_EXAMPLE_PACKET = 5

_PERMUTATION = (1, 5, 8, 9, 3, 10, 11, 14, 15, 13, 0, 7, 2, 6, 12, 4)
"""The permutation that the paper prints for its conflict graphs."""

_CONFLICT_SEED = 8
"""Coins with which some packets fall in slot 1, some in slot 2, and some come through."""


_FOLLOWED = 10
_MOST_FOLLOWED = 2**16
"""Runs that are followed stage by stage, and the largest n."""


@dataclass(frozen=True)
class Picture:
    """A figure, its file name and its caption."""

    stem: str
    caption: str
    figure: Figure


def make_pictures(tables: Tables) -> list[Picture]:
    """All pictures, in the paper's order."""
    return [
        *_networks(),
        *_performance(tables),
        *_losses(tables.routers),
        *_undelivered(tables.relay),
    ]


def _networks() -> Iterator[Picture]:
    network, events = Network(3, 3), list[Event]()
    route(
        network,
        seed=_EXAMPLE_SEED,
        permutation_seed=_EXAMPLE_PERMUTATION_SEED,
        observers=[events.append],
    )
    figure = Figure(figsize=(7.2, 6.0), layout="constrained")
    draw_slot(figure.add_subplot(), network, *events[0].records())
    yield Picture(
        "pops-3-3",
        "POPS(3, 3), with the light of a first slot: processors are drawn on both sides. Messages "
        "that meet on a coupler are dashed, and destroyed.",
        figure,
    )
    yield Picture(
        "journey",
        "One packet's way in a step on POPS(3, 3), the paper's example: packet 5 is for processor "
        "1, its temporary group is 1, and it chooses intermediate group 2. Copies are solid, "
        "acks dashed, the rest of the traffic grey.",
        draw_journey(network, events[:SLOTS_A_STEP], _EXAMPLE_PACKET),
    )
    four = Network(4, 4)
    destination = np.array(_PERMUTATION, dtype=np.int32)
    edges = next(conflict_graphs(four, destination, Coins(_CONFLICT_SEED)))
    yield Picture(
        "conflicts",
        "The conflict graph of the printed permutation on POPS(4, 4): all packets, those that "
        "survive slot 1, and those that survive slot 2 and are delivered.",
        draw_conflicts(four, edges),
    )


def _performance(tables: Tables) -> Iterator[Picture]:
    for ratio in RATIOS:
        rows = [row for row in tables.slots if row.d == ratio * row.g]
        if rows:
            title = _shape(ratio)
            yield Picture(
                f"slots-{ratio}",
                f"Slots against processors, {title}: ours, the paper's, the fluid limit, the "
                "deterministic rival, and relay, our own router.",
                draw_slots(title, _randomized(rows), _deterministic(rows)),
            )
    panels = {
        _shape(ratio): _steps([row for row in tables.steps if row.d == ratio * row.g])
        for ratio in RATIOS
        if any(row.d == ratio * row.g for row in tables.steps)
    }
    caption = "Steps against processors, in print and here, and the stages of relay."
    yield Picture("steps", caption, draw_steps(panels))


def _shape(ratio: int) -> str:
    return "d = g" if ratio == 1 else f"d = {ratio}g"


def _randomized(rows: Sequence[SlotsRow]) -> list[Series]:
    n = tuple(row.n for row in rows)
    limit = tuple(SLOTS_A_STEP * expected_steps(Network(row.d, row.g)) for row in rows)
    planned = tuple(expected_slots(Network(row.d, row.g)) for row in rows)
    return [
        Series("randomized, ours", n, _means(rows), _errors(rows)),
        Series(
            "randomized, paper",
            n,
            tuple(row.published_slots for row in rows),
            kind=CurveKind.PUBLISHED,
        ),
        Series("fluid limit", n, limit, kind=CurveKind.THEORY, look=2),
        *_relay([(row.n, row.relay) for row in rows], "relay"),
        Series("relay, planned", n, planned, kind=CurveKind.THEORY, look=3),
    ]


def _relay(values: Sequence[tuple[int, float | None]], label: str) -> Iterator[Series]:
    """Our own router, where it was run."""
    there = [(n, value) for n, value in values if value is not None]
    if there:
        n, means = zip(*there, strict=True)
        yield Series(label, n, means, look=3)


def _deterministic(rows: Sequence[SlotsRow]) -> list[Series]:
    n = tuple(row.n for row in rows)
    published = tuple(float(row.published_deterministic) for row in rows)
    formula = tuple(float(row.formula) for row in rows)
    executed = [(row.n, row.executed) for row in rows if row.executed is not None]
    found = [
        Series("deterministic, paper", n, published, kind=CurveKind.PUBLISHED, look=1),
        Series("deterministic, formula", n, formula, kind=CurveKind.THEORY, look=1),
    ]
    if executed:
        sizes, slots = zip(*executed, strict=True)
        found.append(Series("deterministic, executed", sizes, slots, look=1))
    return found


def _steps(rows: Sequence[StepsRow]) -> list[Series]:
    n = tuple(row.n for row in rows)
    published = tuple(row.published_mean for row in rows)
    limit = tuple(expected_steps(Network(row.d, row.g)) for row in rows)
    return [
        Series("ours", n, _means(rows), _errors(rows)),
        Series("paper", n, published, kind=CurveKind.PUBLISHED, look=1),
        Series("fluid limit", n, limit, kind=CurveKind.THEORY, look=2),
        *_relay([(row.n, row.relay_stages) for row in rows], "relay, stages"),
    ]


def _means(rows: Sequence[StepsRow] | Sequence[SlotsRow]) -> tuple[float, ...]:
    return tuple(row.mean for row in rows)


def _errors(rows: Sequence[StepsRow] | Sequence[SlotsRow]) -> tuple[float, ...]:
    """Standard errors."""
    return tuple(row.sd / row.runs**0.5 for row in rows)


def _losses(rows: Sequence[RouterRow]) -> Iterator[Picture]:
    """What is lost by variants that lose anything, if there are such."""
    losing = [row for row in rows if row.lost_share]
    kinds = sorted({(row.router, row.variant, row.d // row.g) for row in losing})
    series = []
    for look, (router, variant, ratio) in enumerate(kinds):
        same = [
            row
            for row in losing
            if (row.router, row.variant, row.d // row.g) == (router, variant, ratio)
        ]
        n, share = tuple(row.n for row in same), tuple(row.lost_share for row in same)
        error = tuple(row.lost_sd for row in same)
        label = f"{router} ({variant}), {_shape(ratio)}"
        series.append(Series(label, n, share, error, error_is="standard deviation", look=look))
    if series:
        caption = (
            "Packets lost by the protocol as published where d > g, as a share of all; bars: the "
            "standard deviation of a run."
        )
        yield Picture("losses", caption, draw_losses(series))


def _undelivered(rows: Sequence[RelayRow]) -> Iterator[Picture]:
    """Both randomized routers, stage by stage, on the largest networks that are quickly run."""
    panels: dict[str, list[Decline]] = {}
    for ratio in RATIOS:
        small = [row for row in rows if row.d == ratio * row.g and row.n <= _MOST_FOLLOWED]
        followed = [row for row in small if row.variant != "direct"]
        if followed:
            network = Network(followed[-1].d, followed[-1].g)
            panels[f"{_shape(ratio)} = {network.d}"] = [_mei_rizzi(network), _stages(network)]
    if panels:
        caption = (
            "What is undelivered, stage by stage, measured and by the fluid limit: the randomized "
            f"router of the paper, counted as the paper does, and relay; {_FOLLOWED} runs each, "
            "one permutation after the other. The lower edge is half a packet."
        )
        least = 0.5 / max(row.n for row in rows if row.n <= _MOST_FOLLOWED)
        yield Picture("undelivered", caption, draw_undelivered(panels, least))


def _mei_rizzi(network: Network) -> Decline:
    measured = _fractions(Experiment(network.d, network.g, variant="idealized"))
    ratio = network.d / network.g
    fluid = [load / ratio for load in islice(loads(ratio), len(measured))]
    slots = range(SLOTS_A_STEP, SLOTS_A_STEP * len(measured) + 1, SLOTS_A_STEP)
    return Decline("randomized", tuple(slots), measured, tuple(fluid))


def _stages(network: Network) -> Decline:
    experiment = Experiment(network.d, network.g, router="relay")
    measured = _fractions(experiment)
    schedule = experiment.resolved_variant.schedule
    assert isinstance(schedule, RelaySchedule)
    lengths = [stage.slots(network) for stage in islice(schedule, len(measured))]
    fluid = islice(fractions(schedule, network), len(measured))
    slots = accumulate(lengths, initial=1)  # the first slot is the seed's
    return Decline("relay", tuple(slots)[1:], measured, tuple(fluid), look=3)


def _fractions(experiment: Experiment) -> tuple[float, ...]:
    """The mean fraction that is pending after each step."""
    runs = [run.outcome.survivors for run in route(experiment, runs=_FOLLOWED, engine="fused")]
    steps = zip_longest(*runs, fillvalue=0)
    return tuple(sum(left) / (_FOLLOWED * experiment.network.n) for left in steps)
