"""Figures, with matplotlib (the ``plots`` extra)."""

from importlib.util import find_spec

from popsnet.errors import how_to_install

if find_spec("matplotlib") is None:
    raise ImportError(f"popsnet.plots needs matplotlib. {how_to_install('plots')}")

from popsnet.plots.comparators import draw_network
from popsnet.plots.comparison import draw_comparison
from popsnet.plots.conflicts import draw_conflicts
from popsnet.plots.journey import draw_journey
from popsnet.plots.lower_bounds import (
    draw_congestion,
    draw_growth,
    draw_separation,
    draw_separation_study,
)
from popsnet.plots.network import draw_slot
from popsnet.plots.performance import (
    CurveKind,
    Decline,
    DistributionBars,
    Dot,
    Fitted,
    Series,
    draw_distributions,
    draw_dots,
    draw_fits,
    draw_losses,
    draw_slots,
    draw_steps,
    draw_undelivered,
)
from popsnet.plots.phases import draw_phases
from popsnet.plots.results import draw_results
from popsnet.plots.schedule import draw_schedule
from popsnet.plots.slots import draw_trace
from popsnet.plots.style import save, svg_text
from popsnet.plots.survival import draw_survival
from popsnet.plots.tails import draw_tails
from popsnet.plots.traffic import draw_load_curves

__all__ = [
    "CurveKind",
    "Decline",
    "DistributionBars",
    "Dot",
    "Fitted",
    "Series",
    "draw_comparison",
    "draw_conflicts",
    "draw_congestion",
    "draw_distributions",
    "draw_dots",
    "draw_fits",
    "draw_growth",
    "draw_journey",
    "draw_load_curves",
    "draw_losses",
    "draw_network",
    "draw_phases",
    "draw_results",
    "draw_schedule",
    "draw_separation",
    "draw_separation_study",
    "draw_slot",
    "draw_slots",
    "draw_steps",
    "draw_survival",
    "draw_tails",
    "draw_trace",
    "draw_undelivered",
    "save",
    "svg_text",
]
