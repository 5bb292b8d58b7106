"""The paper's figures, drawn from our runs, one of what its protocol loses, and those of theory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice, zip_longest
from typing import TypeVar

import numpy as np
from matplotlib.figure import Figure

from popsnet import plots
from popsnet.coins import Coins
from popsnet.experiment import Experiment
from popsnet.network import Network
from popsnet.paper.published import RATIOS, SLOTS_A_STEP
from popsnet.paper.rows import PaperRows, RelayRow, RouterRow, SlotsRow, StepsRow, shape
from popsnet.paper.theory.growth import LIMIT, GrowthRow, predicted, series_of
from popsnet.paper.theory.predictions import FluidRow
from popsnet.paper.theory.section import Theory
from popsnet.paper.theory.separation import SeparationRow
from popsnet.plots import CurveKind, Decline, Series
from popsnet.routing.relay import expected_slots, fractions
from popsnet.routing.relay.schedule import RelaySchedule
from popsnet.runs.phase_analysis import analyse_phases
from popsnet.runs.route import route
from popsnet.theory import expected_steps, loads
from popsnet.trace import Event

_EXAMPLE_SEED, _EXAMPLE_PERMUTATION_SEED = 13, 5
"""A run on POPS(3, 3) whose first step brings packet 5 to processor 1 by way of group 2."""

_EXAMPLE_PACKET = 5

_PERMUTATION = (1, 5, 8, 9, 3, 10, 11, 14, 15, 13, 0, 7, 2, 6, 12, 4)
"""The permutation that the paper prints for its conflict graphs."""

_CONFLICT_SEED = 8
"""Coins with which some packets fall in slot 1, some in slot 2, and some come through."""


_PAPER, _THEORY = CurveKind.PUBLISHED, CurveKind.THEORY
AnyRow = TypeVar("AnyRow", StepsRow, SlotsRow)

_FOLLOWED = 10
_MOST_FOLLOWED = 2**16
"""Runs that are followed stage by stage, and the largest n."""


@dataclass(frozen=True)
class PaperFigure:
    """A figure, its file name and its caption."""

    stem: str
    caption: str
    figure: Figure


def paper_figures(rows: PaperRows) -> list[PaperFigure]:
    """Return all figures, in the paper's order."""
    return [*_networks(), *_performance(rows), *_losses(rows.routers), *_undelivered(rows.relay)]


def _networks() -> Iterator[PaperFigure]:
    network, events = Network(3, 3), list[Event]()
    example = Experiment(3, 3, seed=_EXAMPLE_SEED, permutation_seed=_EXAMPLE_PERMUTATION_SEED)
    route(example, observers=[events.append])
    figure = Figure(figsize=(7.2, 6.0), layout="constrained")
    plots.draw_slot(figure.add_subplot(), network, *events[0].records())
    yield PaperFigure(
        "pops-3-3",
        "POPS(3, 3), with the light of a first slot: processors are drawn on both sides. Messages "
        "that meet on a coupler are dashed, and destroyed.",
        figure,
    )
    yield PaperFigure(
        "journey",
        "One packet's way in a step on POPS(3, 3), the paper's example: packet 5 is for processor "
        "1, its temporary group is 1, and it chooses intermediate group 2. Copies are solid, "
        "acks dashed, the rest of the traffic grey.",
        plots.draw_journey(network, events[:SLOTS_A_STEP], _EXAMPLE_PACKET),
    )
    four = Network(4, 4)
    destination = np.array(_PERMUTATION, dtype=np.int32)
    step = next(analyse_phases(four, destination, Coins(_CONFLICT_SEED)))
    yield PaperFigure(
        "conflicts",
        "The conflict graph of the printed permutation on POPS(4, 4): all packets, those that "
        "survive slot 1, and those that survive slot 2 and are delivered.",
        plots.draw_conflicts(step),
    )


def _performance(rows: PaperRows) -> Iterator[PaperFigure]:
    for ratio in RATIOS:
        if slots := [row for row in rows.slots if row.d == ratio * row.g]:
            title = _shape(ratio)
            yield PaperFigure(
                f"slots-{ratio}",
                f"Slots against processors, {title}: ours, the paper's, the fluid limit, the "
                "deterministic rival, and relay, our own router.",
                plots.draw_slots(title, _randomized(slots), _deterministic(slots)),
            )
    by_ratio = {ratio: [row for row in rows.steps if row.d == ratio * row.g] for ratio in RATIOS}
    panels = {_shape(ratio): _steps(steps) for ratio, steps in by_ratio.items() if steps}
    caption = "Steps against processors, in print and here, and the stages of relay."
    yield PaperFigure("steps", caption, plots.draw_steps(panels))


def _shape(ratio: int) -> str:
    return f"d = {shape(ratio, 1)}"


def _series(
    label: str,
    rows: Sequence[AnyRow],
    value: Callable[[AnyRow], float | None],
    kind: CurveKind = CurveKind.MEASURED,
    look: int = 0,
) -> Iterator[Series]:
    """The values of rows against their n, where there are any."""
    there = [(row.n, float(one)) for row in rows if (one := value(row)) is not None]
    if there:
        n, means = zip(*there, strict=True)
        yield Series(label, n, means, kind=kind, look=look)


def _ours(label: str, rows: Sequence[StepsRow] | Sequence[SlotsRow]) -> Series:
    """Our means, with standard errors."""
    errors = tuple(row.sd / row.runs**0.5 for row in rows)
    return Series(label, tuple(row.n for row in rows), tuple(row.mean for row in rows), errors)


def _randomized(rows: Sequence[SlotsRow]) -> list[Series]:
    return [
        _ours("randomized, ours", rows),
        *_series("randomized, paper", rows, lambda row: row.published_slots, _PAPER),
        *_series(
            "fluid limit", rows, lambda row: SLOTS_A_STEP * expected_steps(row.network), _THEORY, 2
        ),
        *_series("relay", rows, lambda row: row.relay, look=3),
        *_series("relay, planned", rows, lambda row: expected_slots(row.network), _THEORY, 3),
    ]


def _deterministic(rows: Sequence[SlotsRow]) -> list[Series]:
    return [
        *_series("deterministic, paper", rows, lambda row: row.published_deterministic, _PAPER, 1),
        *_series("deterministic, formula", rows, lambda row: row.formula, _THEORY, 1),
        *_series("deterministic, executed", rows, lambda row: row.executed, look=1),
    ]


def _steps(rows: Sequence[StepsRow]) -> list[Series]:
    return [
        _ours("ours", rows),
        *_series("paper", rows, lambda row: row.published_mean, _PAPER, 1),
        *_series("fluid limit", rows, lambda row: expected_steps(row.network), _THEORY, 2),
        *_series("relay, stages", rows, lambda row: row.relay_stages, look=3),
    ]


def _losses(rows: Sequence[RouterRow]) -> Iterator[PaperFigure]:
    """What is lost by variants that lose anything, if there are such."""
    losing: dict[tuple[str, str, int], list[RouterRow]] = {}
    for row in rows:
        if row.lost_share:
            losing.setdefault((row.router, row.variant, row.d // row.g), []).append(row)
    series = [
        Series(
            f"{router} ({variant}), {_shape(ratio)}",
            tuple(row.n for row in same),
            tuple(row.lost_share for row in same),
            tuple(row.lost_sd for row in same),
            error_is="standard deviation",
            look=look,
        )
        for look, ((router, variant, ratio), same) in enumerate(sorted(losing.items()))
    ]
    if series:
        caption = (
            "Packets lost by the protocol as published where d > g, as a share of all; bars: the "
            "standard deviation of a run."
        )
        yield PaperFigure("losses", caption, plots.draw_losses(series))


def _undelivered(rows: Sequence[RelayRow]) -> Iterator[PaperFigure]:
    """Both randomized routers, stage by stage, on the largest networks that are quickly run."""
    panels: dict[str, list[Decline]] = {}
    for ratio in RATIOS:
        small = [row for row in rows if row.d == ratio * row.g and row.n <= _MOST_FOLLOWED]
        followed = [row for row in small if row.variant != "direct"]
        if followed:
            network = followed[-1].network
            panels[f"{_shape(ratio)} = {network.d}"] = [_mei_rizzi(network), _stages(network)]
    if panels:
        caption = (
            "What is undelivered, stage by stage, measured and by the fluid limit: the randomized "
            f"router of the paper, counted as the paper does, and relay; {_FOLLOWED} runs each, "
            "one permutation after the other. The lower edge is half a packet."
        )
        least = 0.5 / max(row.n for row in rows if row.n <= _MOST_FOLLOWED)
        yield PaperFigure("undelivered", caption, plots.draw_undelivered(panels, least))


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


def theory_figures(theory: Theory) -> list[PaperFigure]:
    """Return the figures for which there is something to draw."""
    return [*_fits(theory), *_separation(theory.separation)]


def _fits(theory: Theory) -> Iterator[PaperFigure]:
    panels = [
        plots.Fitted(
            row=router,
            column=_shape(ratio),
            g=tuple(row.g for row in series),
            values=tuple(row.slots for row in series),
            errors=tuple(row.error for row in series),
            curves=_curves(
                [row for row in theory.growth if (row.router, row.ratio) == (router, ratio)], series
            ),
        )
        for (router, ratio), series in series_of(theory.fluid).items()
    ]
    if panels:
        yield PaperFigure(
            "growth",
            "Slots against groups: what was measured, the fitted laws a + b·law, and the fluid "
            "limit at the sizes that were run. Standard errors are mostly smaller than the points. "
            "Sizes with capped runs, and those where relay goes by one hop, are left out.",
            plots.draw_fits(panels, "slots"),
        )


def _curves(
    fits: Sequence[GrowthRow], values: Sequence[FluidRow]
) -> dict[str, tuple[list[float], list[float]]]:
    """The laws that depend on g, and the limit."""
    sizes = [float(row.g) for row in values]
    grid = np.geomspace(sizes[0], sizes[-1], 100).tolist()
    curves = {row.law: (grid, predicted(row, grid)) for row in fits if row.b is not None}
    return curves | {LIMIT: (sizes, [row.limit for row in values])}


def _separation(rows: Sequence[SeparationRow]) -> Iterator[PaperFigure]:
    if rows:
        yield PaperFigure(
            "separation",
            "What randomness buys in two hops, d = g: the slots by which the adversary delayed "
            f"each deterministic algorithm, up to {rows[0].most_slots}, where its search ends; the "
            "bound that is proved for all of them; and the mean slots of the randomized algorithm "
            "until all packets have arrived, ± its standard error.",
            plots.draw_separation(
                [row.g for row in rows],
                {name: [row.reached[name] for row in rows] for name in rows[0].reached},
                [row.guaranteed for row in rows],
                [row.randomized_mean for row in rows],
                [row.randomized_error for row in rows],
                limit=rows[0].most_slots,
                capped=[row.randomized_capped > 0 for row in rows],
            ),
        )
