"""The figures of the section on theory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from popsnet.paper.figures import PaperFigure
from popsnet.paper.theory.fluid import FluidRow
from popsnet.paper.theory.growth import LIMIT, GrowthRow, predicted, series_of
from popsnet.paper.theory.section import Theory
from popsnet.paper.theory.separation import SeparationRow
from popsnet.plots import Fitted, draw_fits, draw_separation


def theory_figures(theory: Theory) -> list[PaperFigure]:
    """Return the figures for which there is something to draw."""
    return [*_growth(theory), *_separation(theory.separation)]


def _growth(theory: Theory) -> Iterator[PaperFigure]:
    panels = [
        Fitted(
            row=router,
            column="d = g" if ratio == 1 else f"d = {ratio}g",
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
            draw_fits(panels, "slots"),
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
            draw_separation(
                [row.g for row in rows],
                {name: [row.reached[name] for row in rows] for name in rows[0].reached},
                [row.guaranteed for row in rows],
                [row.randomized_mean for row in rows],
                [row.randomized_error for row in rows],
                limit=rows[0].most_slots,
                capped=[row.randomized_capped > 0 for row in rows],
            ),
        )
