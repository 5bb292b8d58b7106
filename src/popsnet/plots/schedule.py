"""The figure of a schedule: slots from left to right, couplers from top to bottom."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from popsnet.plots.style import BLUE, GREY, PALE, VERMILION, centred, row_of_axes, settled, styled
from popsnet.schedules.schedule import Schedule

_MOST_LINES = 600
"""Up to this many couplers each has its own line; above, several share one."""
_MOST_NAMED = 72
"""Up to this many couplers have names; above, only the groups."""
_MOST_RULED = 24
"""Up to this many groups have lines between them."""
_MOST_NUMBERED = 24
"""Up to this many slots show the numbers of packets, if couplers have names."""


@styled()
def draw_schedule(schedule: Schedule) -> Figure:
    """Draw the packet that every coupler carries in every slot.

    A line is a coupler c(b, a), from group a to group b, ordered by a and then b. In small
    schedules a field shows the number of the packet. In large ones several couplers or slots share
    a field, which is darker the more of them are in use.

    Parameters
    ----------
    schedule : Schedule
        The schedule.

    Returns
    -------
    Figure
        The figure.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet import Network
    >>> from popsnet.plots import draw_schedule
    >>> from popsnet.schedules import schedule_permutation
    >>> schedule = schedule_permutation(Network(4, 3), np.arange(12)[::-1])
    >>> draw_schedule(schedule).axes[0].get_title()
    'POPS(4, 3): 12 packets in 4 slots'
    """
    network = schedule.network
    lines = min(network.couplers, _MOST_LINES)
    columns = min(schedule.slots, _MOST_LINES)
    figure, (axes,) = row_of_axes(1, 1.3 + min(max(lines * 0.125, 1.2), 7.5))
    if schedule.slots:
        axes.imshow(
            _colours(schedule, lines, columns), aspect="auto", interpolation="nearest",
            extent=(0.5, schedule.slots + 0.5, network.couplers - 0.5, -0.5),
        )  # fmt: skip
        _write_packets(axes, schedule)
    _label_axes(axes, schedule)
    patches = [Patch(color=VERMILION, label="to its destination")]
    if schedule.relayed:
        patches.insert(0, Patch(color=BLUE, label="to a relay"))
    patches.append(Patch(facecolor="white", edgecolor=PALE, label="not in use"))
    figure.legend(handles=patches, loc="outside lower center", ncols=len(patches))
    return settled(figure)


def _couplers(schedule: Schedule, slot: int) -> npt.NDArray[np.int64]:
    """Return the lines of a slot's messages, by the sender's group and then the listener's."""
    network = schedule.network
    senders, listeners, _ = schedule.transmissions(slot)
    return network.group(senders).astype(np.int64) * network.g + network.group(listeners)


def _colours(schedule: Schedule, lines: int, columns: int) -> npt.NDArray[np.float64]:
    """Return the colours of the fields: white for no message, darker for more."""
    couplers = schedule.network.couplers
    used = np.zeros((lines, columns, 2))
    for slot in range(schedule.slots):
        at = _couplers(schedule, slot) * lines // couplers
        to_relay = schedule.messages[slot].to_relay
        for kind, rows in enumerate((to_relay, ~to_relay)):
            column = slot * columns // schedule.slots
            used[:, column, kind] += np.bincount(at[rows], minlength=lines)
    used /= np.outer(_shared(couplers, lines), _shared(schedule.slots, columns))[:, :, np.newaxis]
    return np.asarray(np.clip(1 - used @ (1 - np.array([to_rgb(BLUE), to_rgb(VERMILION)])), 0, 1))


def _shared(count: int, places: int) -> npt.NDArray[np.int64]:
    """Count how many of 0 to count - 1 share each place, if i has the place i·places div count."""
    begins = -(-np.arange(places + 1) * count // places)
    return np.diff(begins)


def _write_packets(axes: Axes, schedule: Schedule) -> None:
    """Write the packet in every field, if there are few."""
    if schedule.network.couplers > _MOST_NAMED or schedule.slots > _MOST_NUMBERED:
        return
    for slot in range(schedule.slots):
        packets = schedule.transmissions(slot)[2].tolist()
        for line, packet in zip(_couplers(schedule, slot).tolist(), packets, strict=True):
            centred(axes, slot + 1, line, f"{packet}", 6, va="center_baseline", color="white")


def _ends_of_rounds(schedule: Schedule) -> npt.NDArray[np.float64]:
    """Return where no packet is at a relay, between slots."""
    waiting = np.cumsum([np.count_nonzero(one.to_relay) for one in schedule.messages])
    waiting -= np.cumsum([np.count_nonzero(one.from_relay) for one in schedule.messages])
    return np.asarray(np.flatnonzero(waiting[:-1] == 0) + 1.5, dtype=np.float64)


def _label_axes(axes: Axes, schedule: Schedule) -> None:
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
        shared = "; pale: few in use" if network.couplers > _MOST_LINES else ""
        axes.set_ylabel(f"couplers by sending group, then receiving group{shared}")
    if g <= _MOST_RULED:
        axes.hlines(np.arange(1, g) * g - 0.5, *axes.get_xlim(), color=GREY, linewidth=0.5)
    if schedule.slots <= _MOST_NUMBERED:
        at = _ends_of_rounds(schedule)
        axes.vlines(at, *axes.get_ylim(), color="black", linewidth=0.9)
    axes.set_title(f"{network}: {schedule.packets:,} packets in {schedule.slots:,} slots")
