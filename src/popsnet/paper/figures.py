"""The paper's figures, drawn from our runs, and those of our own tables and of theory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, cycle, islice, zip_longest
from typing import TypeAlias

import numpy as np
from matplotlib.figure import Figure

from popsnet import plots
from popsnet.base.report import Row
from popsnet.experiment.experiment import Experiment
from popsnet.model.coins import Coins
from popsnet.model.network import Network
from popsnet.paper.published import RATIOS, SLOTS_A_STEP
from popsnet.paper.rows import DIRECT, PaperRows, RelayRow, RouterRow, SlotsRow, StepsRow, shape
from popsnet.paper.tables import texts
from popsnet.paper.theory.growth import LIMIT, GrowthRow, predicted, series_of
from popsnet.paper.theory.predictions import FluidRow
from popsnet.paper.theory.section import Theory
from popsnet.paper.theory.separation import SeparationRow
from popsnet.plots import CurveKind, Decline, Dot, Series, draw_slots
from popsnet.plots.style import LOOKS
from popsnet.programs.router import find_router
from popsnet.programs.routers.relay import expected_slots, fractions
from popsnet.programs.routers.relay.schedule import RelaySchedule
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
_Lines: TypeAlias = Callable[[Sequence[Row]], list[Series]]

_LOOKS = {"mei-rizzi": 0, "relay": 3}
"""The looks of routers that are in several figures."""

_FOLLOWED = 10
_MOST_FOLLOWED = 2**16
"""Runs that are followed stage by stage, and the largest n."""


@dataclass(frozen=True)
class PaperFigure:
    """A figure and what a page says about it.

    Attributes
    ----------
    stem : str
        The file name, without its ending.
    caption : str
        At most about 40 words.
    alt : str
        What the figure shows, for readers who do not see it.
    """

    stem: str
    caption: str
    alt: str
    figure: Figure


def _figure(stem: str, figure: Figure, **numbers: object) -> PaperFigure:
    text = texts("figures")[stem]
    return PaperFigure(stem, text["caption"].format(**numbers), text["alt"], figure)


def paper_figures(rows: PaperRows) -> list[PaperFigure]:
    """Return the figures of the paper and of our tables; none for which there is no data."""
    return [
        *_performance(rows),
        *_losses(rows.routers),
        *_routers(rows.routers),
        *_undelivered(rows.relay),
        *_networks(),
    ]


def _networks() -> Iterator[PaperFigure]:
    network, events = Network(3, 3), list[Event]()
    example = Experiment(3, 3, seed=_EXAMPLE_SEED, permutation_seed=_EXAMPLE_PERMUTATION_SEED)
    route(example, observers=[events.append])
    figure = Figure(figsize=(5.0, 4.6), layout="constrained")
    plots.draw_slot(figure.add_subplot(), network, *events[0].records())
    yield _figure("pops-3-3", figure)
    yield _figure("journey", plots.draw_journey(network, events[:SLOTS_A_STEP], _EXAMPLE_PACKET))
    four = Network(4, 4)
    destination = np.array(_PERMUTATION, dtype=np.int32)
    step = next(analyse_phases(four, destination, Coins(_CONFLICT_SEED)))
    yield _figure("conflicts", plots.draw_conflicts(step))


def _performance(rows: PaperRows) -> Iterator[PaperFigure]:
    """Draw a panel of lines for each d/g that has rows."""
    figures: tuple[tuple[str, Sequence[Row], _Lines, Callable[..., Figure]], ...] = (
        ("headline", rows.slots, _headline, partial(draw_slots, size=(6.2, 3.6), columns=2)),
        ("steps", rows.steps, _steps, plots.draw_steps),
        ("slots", rows.slots, _slots, partial(draw_slots, log=True)),
    )
    for stem, some, lines, draw in figures:
        by_ratio = {ratio: [row for row in some if row.d == ratio * row.g] for ratio in RATIOS}
        panels = {_shape(ratio): lines(same) for ratio, same in by_ratio.items() if same}
        if panels:
            yield _figure(stem, draw(panels))


def _shape(ratio: int) -> str:
    return f"d = {shape(ratio, 1)}"


def _series(
    label: str,
    rows: Sequence[Row],
    value: Callable[[Row], float | None],
    kind: CurveKind = CurveKind.MEASURED,
    look: int = 0,
) -> Iterator[Series]:
    """Return the values of rows against their n, where there are any."""
    points = [(row.n, float(y)) for row in rows if (y := value(row)) is not None]
    if points:
        n, means = zip(*points, strict=True)
        yield Series(label, n, means, kind=kind, look=look)


def _ours(label: str, rows: Sequence[StepsRow] | Sequence[SlotsRow]) -> Series:
    """Our means, with standard errors."""
    errors = tuple(row.sd / row.runs**0.5 for row in rows)
    return Series(label, tuple(row.n for row in rows), tuple(row.mean for row in rows), errors)


def _headline(rows: Sequence[SlotsRow]) -> list[Series]:
    """Return the paper's router, printed and measured, and relay."""
    direct, relays = ([row for row in rows if row.time_division is flag] for flag in (True, False))
    return [
        *_series("paper's router, ours", rows, lambda row: row.mean),
        *_series("paper's router, printed", rows, lambda row: row.published_slots, _PAPER),
        *_series("relay", relays, lambda row: row.relay, look=3),
        *_series(
            "relay's plan is direct (time division)", direct, lambda row: row.relay, _PAPER, 3
        ),
    ]


def _slots(rows: Sequence[SlotsRow]) -> list[Series]:
    return [
        _ours("randomized, ours", rows),
        *_series("randomized, paper", rows, lambda row: row.published_slots, _PAPER),
        *_series(
            "fluid limit", rows, lambda row: SLOTS_A_STEP * expected_steps(row.network), _THEORY, 2
        ),
        *_series("relay", rows, lambda row: row.relay, look=3),
        *_series("relay, planned", rows, lambda row: expected_slots(row.network), _THEORY, 3),
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
    """Draw the losses of variants that lose packets, if there are any."""
    losing: dict[tuple[str, str, int], list[RouterRow]] = {}
    for row in rows:
        if row.lost_share:
            losing.setdefault((row.router, row.variant, row.d // row.g), []).append(row)
    losers = sorted({f"{router} ({variant})" for router, variant, _ in losing})
    series = list[Series]()
    for look, ((router, variant, ratio), same) in enumerate(sorted(losing.items())):
        label = f"{router} ({variant}), {_shape(ratio)}" if len(losers) > 1 else _shape(ratio)
        n, shares, sds = zip(*((row.n, row.lost_share, row.lost_sd) for row in same), strict=True)
        series.append(Series(label, n, shares, sds, error_is="standard deviation", look=look))
    if series:
        yield _figure("losses", plots.draw_losses(series), losers=" and ".join(losers))


def _routers(rows: Sequence[RouterRow]) -> Iterator[PaperFigure]:
    """Draw every router on every network, without idealized variants, which are statistics."""
    others = sorted({row.router for row in rows} - set(_LOOKS))
    looks = _LOOKS | dict(zip(others, cycle(set(range(len(LOOKS))) - set(_LOOKS.values()))))
    networks: dict[str, list[Dot]] = {}
    variants: dict[str, dict[str, int]] = {}
    for row in rows:
        if not row.idealized and (label := _label(row)):
            known = variants.setdefault(row.router, {_first_label(row.router): 0})
            variant = known.setdefault(label, len(known))
            lost = f"{row.lost_share:.0%} lost" if row.lost_share else ""
            dots = networks.setdefault(f"{row.network}\nd = {shape(row.d, row.g)}", [])
            dots.append(Dot(label, row.mean, looks[row.router], variant, lost))
    if networks:
        yield _figure("routers", plots.draw_dots(networks))


def _label(row: RouterRow) -> str:
    """Name a router and variant, or return nothing for what another router does as well."""
    router = find_router(row.router)
    if router.parse_variant is not None and row.variant == router.choose_variant(None, row.network):
        return _first_label(row.router)
    if router.parse_variant is not None and row.variant == DIRECT:
        return ""
    family = row.variant.partition(":")[0]  # of schedules that are planned for each network
    return f"{row.router} ({family})" if len(router.variants) > 1 else row.router


def _first_label(name: str) -> str:
    """Name the first variant of a router; one that plans has as many as there are networks."""
    router = find_router(name)
    if router.parse_variant is not None:
        return f"{name}, as planned"
    first, *others = router.variants
    return f"{name} ({first})" if others else name


def _undelivered(rows: Sequence[RelayRow]) -> Iterator[PaperFigure]:
    """Both randomized routers, stage by stage, on the largest networks that are quickly run."""
    panels: dict[str, list[Decline]] = {}
    for ratio in RATIOS:
        small = [row for row in rows if row.d == ratio * row.g and row.n <= _MOST_FOLLOWED]
        followed = [row for row in small if not row.time_division]
        if followed:
            network = followed[-1].network
            panels[f"{_shape(ratio)} = {network.d}"] = [_mei_rizzi(network), _stages(network)]
    if panels:
        least = 0.5 / max(row.n for row in rows if row.n <= _MOST_FOLLOWED)
        yield _figure("undelivered", plots.draw_undelivered(panels, least), runs=_FOLLOWED)


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
    """Return the mean fraction of packets pending after each step."""
    runs = [run.outcome.survivors for run in route(experiment, runs=_FOLLOWED, engine="fused")]
    steps = zip_longest(*runs, fillvalue=0)
    return tuple(sum(left) / (_FOLLOWED * experiment.network.n) for left in steps)


def theory_figures(theory: Theory) -> list[PaperFigure]:
    """Return the figures for which there is something to draw."""
    return [*_fits(theory), *_separation(theory.separation)]


def _fits(theory: Theory) -> Iterator[PaperFigure]:
    panels = list[plots.Fitted]()
    for (router, ratio), series in series_of(theory.fluid).items():
        g, slots, errors = zip(*((row.g, row.slots, row.error) for row in series), strict=True)
        fits = [row for row in theory.growth if (row.router, row.ratio) == (router, ratio)]
        panels.append(plots.Fitted(router, _shape(ratio), g, slots, errors, _curves(fits, series)))
    if panels:
        yield _figure("growth", plots.draw_fits(panels, "slots"))


def _curves(
    fits: Sequence[GrowthRow], values: Sequence[FluidRow]
) -> dict[str, tuple[list[float], list[float]]]:
    """Return the laws that depend on g, and the limit."""
    sizes = [float(row.g) for row in values]
    grid = np.geomspace(sizes[0], sizes[-1], 100).tolist()
    curves = {row.law: (grid, predicted(row, grid)) for row in fits if row.b is not None}
    return curves | {LIMIT: (sizes, [row.limit for row in values])}


def _separation(rows: Sequence[SeparationRow]) -> Iterator[PaperFigure]:
    if len(rows) > 1:
        yield _figure(
            "separation",
            plots.draw_separation(
                [row.g for row in rows],
                {name: [row.reached[name] for row in rows] for name in rows[0].reached},
                [row.guaranteed for row in rows],
                [row.randomized_mean for row in rows],
                [row.randomized_error for row in rows],
                limit=rows[0].most_slots,
                capped=[row.randomized_capped > 0 for row in rows],
            ),
            slots=rows[0].most_slots,
        )
