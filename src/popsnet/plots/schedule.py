"""A schedule as a picture: slots from left to right, couplers from top to bottom."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from popsnet.plots.style import BLUE, GREY, PALE, VERMILLION, WIDTH, settled, styled
from popsnet.schedules.schedule import Schedule

__all__ = ["draw_schedule"]

_MOST_LINES = 600
"""Couplers that have a line of their own; of more, several share one."""
_MOST_NAMED = 72
"""Couplers with a name; of more, only the groups have one."""
_MOST_RULED = 24
"""Groups with a line between them."""
_MOST_NUMBERED = 24
"""Slots in which packets have numbers, if couplers have names."""


@styled()
def draw_schedule(schedule: Schedule) -> Figure:
    """Draw what every coupler carries in every slot.

    A line is a coupler c(b, a), from group a to group b; they are in order of a, the senders, then
    b. A field is the number of the packet, in small schedules. In large ones several couplers or
    slots share a field, the darker the more of them are in use.
    """
    network = schedule.network
    lines = min(network.couplers, _MOST_LINES)
    columns = min(schedule.slots, _MOST_LINES)
    height = 1.3 + min(max(lines * 0.125, 1.2), 7.5)
    figure = Figure(figsize=(WIDTH, height))
    axes = figure.add_subplot()
    if schedule.slots:
        first, last = _shares(schedule, lines, columns)
        axes.imshow(
            _mixed(first, last), aspect="auto", interpolation="nearest",
            extent=(0.5, schedule.slots + 0.5, network.couplers - 0.5, -0.5),
        )  # fmt: skip
        _number(axes, schedule)
    _label(axes, schedule)
    _legend(figure, schedule)
    return settled(figure)


def _couplers(schedule: Schedule, slot: int) -> npt.NDArray[np.int64]:
    """The lines of a slot's messages: by the sender's group, then the listener's."""
    d, g = schedule.network.d, schedule.network.g
    senders, listeners, _ = schedule.transmissions(slot)
    return senders.astype(np.int64) // d * g + listeners // d


def _shares(
    schedule: Schedule, lines: int, columns: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """How much of each field is in use, by first hops and by last hops."""
    couplers = schedule.network.couplers
    used = np.zeros((2, lines, columns))
    for slot in range(schedule.slots):
        last = slot % schedule.hops == schedule.hops - 1
        at = _couplers(schedule, slot) * lines // couplers
        column = slot * columns // schedule.slots
        used[int(last), :, column] += np.bincount(at, minlength=lines)
    used /= np.outer(_shared(couplers, lines), _shared(schedule.slots, columns))
    return used[0], used[1]


def _shared(count: int, places: int) -> npt.NDArray[np.int64]:
    """How many of 0 to count - 1 share each place, if i has the place i·places div count."""
    begins = -(-np.arange(places + 1) * count // places)
    return np.diff(begins)


def _mixed(
    first: npt.NDArray[np.float64], last: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """White where nothing is sent, towards the colours of first and last hops."""
    colours = ListedColormap([BLUE, VERMILLION])(range(2))[:, :3]
    shares = np.stack((first, last), axis=-1)
    return np.asarray(np.clip(1 - shares @ (1 - colours), 0, 1))


def _number(axes: Axes, schedule: Schedule) -> None:
    """The packet in every field, if there are few."""
    if schedule.network.couplers > _MOST_NAMED or schedule.slots > _MOST_NUMBERED:
        return
    for slot in range(schedule.slots):
        packets = schedule.transmissions(slot)[2].tolist()
        for line, packet in zip(_couplers(schedule, slot).tolist(), packets, strict=True):
            axes.text(
                slot + 1, line, f"{packet}", color="white", fontsize=6, ha="center",
                va="center_baseline",
            )  # fmt: skip


def _label(axes: Axes, schedule: Schedule) -> None:
    network, g = schedule.network, schedule.network.g
    axes.set_xlabel("slot")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.set_xlim(0.5, schedule.slots + 0.5 if schedule.slots else 1.5)
    axes.set_ylim(network.couplers - 0.5, -0.5)
    axes.grid(False)
    if network.couplers <= _MOST_NAMED:
        between = np.arange(1, network.couplers) - 0.5
        axes.hlines(between, *axes.get_xlim(), color="white", linewidth=0.7)
        names = [f"c({b},{a})" for a in range(g) for b in range(g)]
        axes.set_yticks(range(network.couplers), names, fontsize=6)
        axes.set_ylabel("coupler c(to, from)")
    else:
        groups = np.unique(np.linspace(0, g - 1, min(g, 16)).astype(int))
        axes.set_yticks(groups * g + (g - 1) / 2, [f"{a}" for a in groups], fontsize=6)
        shared = "; pale: few of a line are in use" if network.couplers > _MOST_LINES else ""
        axes.set_ylabel(f"couplers by the group that sends, then the group that hears{shared}")
    if g <= _MOST_RULED:
        axes.hlines(np.arange(1, g) * g - 0.5, *axes.get_xlim(), color=GREY, linewidth=0.5)
    if schedule.slots <= _MOST_NUMBERED:
        at = np.arange(schedule.hops, schedule.slots, schedule.hops) + 0.5
        axes.vlines(at, *axes.get_ylim(), color="black", linewidth=0.9)
    axes.set_title(f"{network}: {len(schedule.packets):,} packets in {schedule.slots:,} slots")


def _legend(figure: Figure, schedule: Schedule) -> None:
    patches = [Patch(color=VERMILLION, label="to its destination")]
    if schedule.hops == 2:
        patches.insert(0, Patch(color=BLUE, label="to a relay"))
    patches.append(Patch(facecolor="white", edgecolor=PALE, label="not in use"))
    figure.legend(handles=patches, loc="outside lower center", ncols=len(patches))
