"""The figure of a schedule: the packets of every coupler, or how much couplers are used."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, PercentFormatter

from popsnet.base.report import plural
from popsnet.model.network import F64, I64, Network
from popsnet.plots import style
from popsnet.programs.schedules.schedule import Schedule

_MOST_FIELDS = 600
"""Up to this many slots, or groups, each has its own field; above, several share one."""
_MOST_NAMED = 64
"""Up to this many couplers each has its own line; above, the figure shows how many are in use."""
_MOST_NUMBERED = 24
"""Up to this many slots show the numbers of packets."""

_TO_RELAY, _FROM_RELAY, _STRAIGHT = range(3)
_KINDS = (
    (_STRAIGHT, "straight to the destination", style.GREEN),
    (_TO_RELAY, "to a relay", style.BLUE),
    (_FROM_RELAY, "from a relay to the destination", style.VERMILION),
)
"""The kinds of messages from bottom to top, with their colours."""


@style.styled()
def draw_schedule(schedule: Schedule) -> Figure:
    """Draw the packet that every coupler carries in every slot, or the use of many couplers.

    With up to 8 groups, a line is a coupler a→b, from group a to group b, ordered by a and then
    b. If there are few slots, a field shows the number of the packet. With several wavelengths,
    each of them has a line, such as a→b λ1.

    With more groups, the left panel shows the share of couplers that are in use in every slot, by
    what they carry: packets on a straight way, to a relay, or from a relay. The right panel shows
    the share of slots in which each coupler is in use. ``popsnet view`` shows single packets.

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
    >>> from popsnet.programs.schedules import schedule_permutation
    >>> schedule = schedule_permutation(Network(4, 3), np.arange(12)[::-1])
    >>> draw_schedule(schedule).axes[0].get_title()
    'POPS(4, 3): 12 packets in 4 slots'
    >>> schedule = schedule_permutation(Network(16, 16), np.arange(256)[::-1])
    >>> [axes.get_title() for axes in draw_schedule(schedule).axes[:2]]
    ['POPS(16, 16): 256 packets in 2 slots', 'use of each coupler']
    """
    is_small = _lines(schedule.network) <= _MOST_NAMED
    return _draw_packets(schedule) if is_small else _draw_use(schedule)


def _lines(network: Network) -> int:
    """Return how many messages a slot can have: one per coupler and wavelength."""
    return network.couplers * network.wavelengths


def _label_slots(axes: Axes, schedule: Schedule) -> None:
    slots = plural(schedule.slots, "slot")
    title = f"{schedule.network}: {schedule.packets:,} packets in {slots}"
    axes.set(xlabel="slot", xlim=(0.5, max(schedule.slots, 1) + 0.5), title=title)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


# Few couplers: every packet


def _draw_packets(schedule: Schedule) -> Figure:
    network, lines = schedule.network, _lines(schedule.network)
    columns = min(schedule.slots, _MOST_FIELDS)
    figure, (axes,) = style.row_of_axes(1, 1.3 + max(lines * 0.125, 1.2))
    if schedule.slots:
        extent = 0.5, schedule.slots + 0.5, lines - 0.5, -0.5
        colours = _colours(schedule, columns)
        axes.imshow(colours, aspect="auto", interpolation="nearest", extent=extent)
        _write_packets(axes, schedule)
    _label_slots(axes, schedule)
    _label_couplers(axes, network)
    patches = [Patch(color=style.BLUE, label="to a relay")] if schedule.relayed else []
    patches.append(Patch(color=style.VERMILION, label="to its destination"))
    patches.append(Patch(facecolor="white", edgecolor=style.PALE, label="not in use"))
    style.legend_below(figure, patches, len(patches))
    return style.settled(figure)


def _couplers(schedule: Schedule, slot: int) -> I64:
    """Return the lines of a slot's messages, by the sender's group and then the listener's."""
    network = schedule.network
    senders, listeners, _ = schedule.transmissions(slot)
    couplers = network.group(senders).astype(np.int64) * network.g + network.group(listeners)
    return couplers * network.wavelengths + schedule.wavelengths(slot)


def _colours(schedule: Schedule, columns: int) -> F64:
    """Return the colours of the fields: white for no message, darker for more."""
    lines = _lines(schedule.network)
    used = np.zeros((lines, columns, 2))
    for slot, messages in enumerate(schedule.messages):
        at, column = _couplers(schedule, slot), slot * columns // schedule.slots
        for kind, rows in enumerate((messages.to_relay, ~messages.to_relay)):
            used[:, column, kind] += np.bincount(at[rows], minlength=lines)
    used /= _shared(schedule.slots, columns)[np.newaxis, :, np.newaxis]
    inks = np.array([to_rgb(style.BLUE), to_rgb(style.VERMILION)])
    return np.asarray(np.clip(1 - used @ (1 - inks), 0, 1))


def _shared(count: int, places: int) -> I64:
    """Count how many of 0 to count - 1 share each place, if i has the place i·places div count."""
    return np.diff(-(-np.arange(places + 1) * count // max(places, 1)))


def _write_packets(axes: Axes, schedule: Schedule) -> None:
    """Write the packet in every field, if there are few."""
    if schedule.slots > _MOST_NUMBERED:
        return
    for slot in range(schedule.slots):
        packets = schedule.transmissions(slot)[2].tolist()
        for line, packet in zip(_couplers(schedule, slot).tolist(), packets, strict=True):
            style.centred(axes, slot + 1, line, f"{packet}", 6, va="center_baseline", color="white")


def _label_couplers(axes: Axes, network: Network) -> None:
    g, most, lines = network.g, network.wavelengths, _lines(network)
    axes.set_ylim(lines - 0.5, -0.5)
    axes.grid(False)
    axes.hlines(np.arange(1, lines) - 0.5, *axes.get_xlim(), color="white", linewidth=0.7)
    bounds = np.arange(1, g) * g * most - 0.5
    axes.hlines(bounds, *axes.get_xlim(), color=style.GREY, linewidth=0.5)
    ends = ["" if most == 1 else f" λ{number}" for number in range(most)]
    names = [f"{a}→{b}{end}" for a in range(g) for b in range(g) for end in ends]
    axes.set_yticks(range(lines), names, fontsize=6)
    axes.set_ylabel("coupler from→to" + ", wavelength" * (most > 1))


# Many couplers: how many of them are in use, and how often each


def _use(schedule: Schedule) -> tuple[F64, F64]:
    """Return how couplers are used.

    The first array has the share of couplers in use, by slot (or several of them) and kind of
    message, and the second the share of slots in which couplers are in use, by sending and
    receiving groups.
    """
    network, slots = schedule.network, schedule.slots
    columns, places = min(slots, _MOST_FIELDS), min(network.g, _MOST_FIELDS)
    by_slot, by_coupler = np.zeros((columns, 3)), np.zeros(places * places)
    for slot, (senders, listeners, _, from_relay, to_relay, _) in enumerate(schedule.messages):
        kinds = np.where(to_relay, _TO_RELAY, np.where(from_relay, _FROM_RELAY, _STRAIGHT))
        by_slot[slot * columns // slots] += np.bincount(kinds, minlength=3)
        both = (network.group(ends).astype(np.int64) for ends in (senders, listeners))
        of, to = (group * places // network.g for group in both)
        by_coupler += np.bincount(of * places + to, minlength=places * places)
    by_slot /= _shared(slots, columns)[:, np.newaxis] * _lines(network)
    groups = _shared(network.g, places)
    shares = by_coupler.reshape(places, places) / (np.outer(groups, groups) * max(slots, 1))
    return by_slot, shares / network.wavelengths


def _draw_use(schedule: Schedule) -> Figure:
    by_slot, by_coupler = _use(schedule)
    figure, (left, right) = style.row_of_axes(2, 3.2, width_ratios=(1.5, 1))
    _draw_slots(left, schedule, by_slot)
    _draw_couplers(right, schedule, by_coupler)
    kinds = [kind for kind in _KINDS if by_slot[:, kind[0]].any()]
    handles: list[Patch | Line2D] = [Patch(color=colour, label=name) for _, name, colour in kinds]
    if _most_in_use(schedule.network) < 1:
        waves = schedule.network.wavelengths
        label = f"the most possible, as d < g{f'·{waves}' * (waves > 1)}"
        handles.append(Line2D([], [], color=style.GREY, linestyle="--", label=label))
    if handles:
        style.legend_below(figure, handles, len(handles))
    return style.settled(figure)


def _most_in_use(network: Network) -> float:
    """Return the share of the wavelengths of couplers that all processors together can use."""
    return network.n / _lines(network)


def _draw_slots(axes: Axes, schedule: Schedule, by_slot: F64) -> None:
    columns, network = len(by_slot), schedule.network
    edges = 0.5 + np.concatenate(([0], np.cumsum(_shared(schedule.slots, columns))))
    below = np.zeros(columns)
    for kind, _, colour in _KINDS if columns else ():
        above = below + by_slot[:, kind]
        axes.stairs(above, edges, baseline=below, fill=True, color=colour, linewidth=0)
        below = above
    most = _most_in_use(network)
    if most < 1:
        axes.axhline(most, color=style.GREY, linestyle="--", linewidth=0.8)
    _label_slots(axes, schedule)
    axes.set_axisbelow(True)
    axes.yaxis.set_major_formatter(lambda share, _: f"{100 * share:g}%")
    what = "couplers" if network.wavelengths == 1 else "wavelengths of couplers"
    axes.set(ylabel=f"{what} in use", ylim=(0, min(1, 1.15 * most)))


def _draw_couplers(axes: Axes, schedule: Schedule, by_coupler: F64) -> None:
    g = schedule.network.g
    colours = LinearSegmentedColormap.from_list("use", ["white", "#7fb8d8", style.BLUE, "#00263d"])
    looks: dict[str, Any] = {"cmap": colours, "vmin": 0, "vmax": 1, "interpolation": "nearest"}
    image = axes.imshow(by_coupler, extent=(-0.5, g - 0.5, g - 0.5, -0.5), **looks)
    axes.grid(False)
    axes.spines[["top", "right"]].set_visible(True)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    axes.set(xlabel="to group", ylabel="from group", title="use of each coupler")
    bar = axes.figure.colorbar(image, ax=axes, shrink=0.8, format=PercentFormatter(1))
    bar.set_label("slots in use")
