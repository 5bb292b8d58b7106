"""Draws the pictures of the documents: runs anybody can repeat, slot by slot."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from popsnet import Network, Point
from popsnet.plots import draw_network, draw_slot, svg_text
from popsnet.sorting import merge_exchange
from popsnet.trace import Event

IMAGES = Path(__file__).parent / "images"
SEED = 3
LOSING_SEED = 17
LOSING_SLOTS = range(6, 11)


def draw(path: Path) -> None:
    """Run POPS(3, 3), draw its first slot, save it."""
    point = Point.of(3, 3, seed=SEED)
    figure = Figure(figsize=(7.2, 6.0), layout="constrained")
    sends, listens = events_of(point)[0].records()
    draw_slot(figure.add_subplot(), point.network, sends, listens)
    save(figure, path)


def draw_loss(path: Path) -> None:
    """The step of a run on POPS(3, 2) in which the published protocol loses two packets."""
    point = Point.of(3, 2, variant="published", seed=LOSING_SEED, permutation_seed=LOSING_SEED)
    events = [event for event in events_of(point) if event.slot in LOSING_SLOTS]
    figure = Figure(figsize=(12.0, 5.6), layout="constrained")
    draw_slots(figure, point.network, events)
    save(figure, path)


def draw_slots(figure: Figure, network: Network, events: Sequence[Event]) -> None:
    """A panel a slot."""
    for place, event in enumerate(events, start=1):
        axes = figure.add_subplot(2, 3, place)
        draw_slot(axes, network, *event.records())
        axes.set_title(f"slot {event.slot}: {event.phase[2:]}", fontsize=11, pad=18)


def events_of(point: Point) -> list[Event]:
    """What happens in the first run of a point."""
    events: list[Event] = []
    point.execute(0, [events.append])
    return events


def save(figure: Figure, path: Path) -> None:
    """The same bytes every time."""
    with mpl.rc_context({"svg.hashsalt": "popsnet", "svg.fonttype": "path"}):
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=110)


if __name__ == "__main__":
    draw(IMAGES / "pops-3-3.svg")
    draw_loss(IMAGES / "lost-packets.svg")
    (IMAGES / "merge-exchange-16.svg").write_text(svg_text(draw_network(merge_exchange(16))))
