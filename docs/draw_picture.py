"""Draws the picture of the README: the first slot of a run on POPS(3, 3)."""

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from popsnet import Point
from popsnet.plots import draw_slot
from popsnet.trace import Event

SEED = 3


def draw(path: Path) -> None:
    """Run POPS(3, 3), draw its first slot, save it."""
    point = Point.of(3, 3, seed=SEED)
    events: list[Event] = []
    point.execute(0, [events.append])
    sends, listens = events[0].records()
    figure = Figure(figsize=(7.2, 6.0), layout="constrained")
    axes = figure.add_subplot()
    draw_slot(axes, point.network, sends, listens)
    with mpl.rc_context({"svg.hashsalt": "popsnet", "svg.fonttype": "path"}):
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=110)


if __name__ == "__main__":
    draw(Path(__file__).parent / "images" / "pops-3-3.svg")
