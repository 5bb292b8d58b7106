"""Schedules as tables in text: a row per message, or a row per processor and slot.

In both tables slots count from 1, and groups, processors and packets from 0. A packet's number is
that of its row in the demand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TextIO

import numpy as np
import numpy.typing as npt

from popsnet.network import I64
from popsnet.schedules.demand import Demand
from popsnet.schedules.schedule import Schedule

HOPS = (
    "slot", "hop", "from_group", "to_group", "sender", "receiver", "packet", "source",
    "destination",
)  # fmt: skip
"""The columns of :func:`write_hops`."""

PORTS = (
    "slot", "processor", "sends_to_group", "sends_packet", "listens_to_group", "hears_packet",
)  # fmt: skip
"""The columns of :func:`write_ports`."""

_TUNED = ("sends_on_wavelength", "listens_to_wavelength")
"""The columns of :func:`write_ports` for several wavelengths."""

_ROWS = 2**16
"""Rows that are written at once, at least."""
_POWERS = 10 ** np.arange(1, 19)
"""The smallest numbers of two digits and more."""


def write_hops(schedule: Schedule, demand: Demand, file: TextIO) -> None:
    """Write a row per message.

    The columns are ``slot``, ``hop`` (1 for the first message with this packet, 2 for the second),
    ``from_group`` and ``to_group`` (which say the coupler), ``sender``, ``receiver``, ``packet``,
    and the packet's ``source`` and ``destination``. Rows are ordered by slot. On a network with
    several wavelengths there is one more column, ``wavelength``.

    Parameters
    ----------
    schedule : Schedule
        The schedule.
    demand : Demand
        The packets that it sends.
    file : text file
        Where to write.

    Examples
    --------
    >>> import sys
    >>> import numpy as np
    >>> from popsnet import Network
    >>> from popsnet.schedules import Demand, make_schedule
    >>> from popsnet.schedules.exports import write_hops
    >>> demand = Demand(Network(1, 3), np.array([0, 1]), np.array([1, 0]))
    >>> write_hops(make_schedule(demand), demand, sys.stdout)
    slot,hop,from_group,to_group,sender,receiver,packet,source,destination
    1,1,0,1,0,1,0,0,1
    1,1,1,0,1,0,1,1,0
    """
    several = schedule.network.wavelengths > 1
    _write((*HOPS, *("wavelength",) * several), _hops(schedule, demand), file)


def write_ports(schedule: Schedule, file: TextIO) -> None:
    """Write a row per processor and slot in which it sends or listens.

    The columns are ``slot``, ``processor``, ``sends_to_group`` (the group that its coupler leads
    to), ``sends_packet``, ``listens_to_group`` (the group that its coupler comes from) and
    ``hears_packet``. Cells of a processor that does not send, or does not listen, are empty. Rows
    are ordered by slot and processor. On a network with several wavelengths there are two more
    columns, ``sends_on_wavelength`` and ``listens_to_wavelength``.

    Parameters
    ----------
    schedule : Schedule
        The schedule.
    file : text file
        Where to write.

    Examples
    --------
    >>> import sys
    >>> import numpy as np
    >>> from popsnet import Network
    >>> from popsnet.schedules import Demand, make_schedule
    >>> from popsnet.schedules.exports import write_ports
    >>> demand = Demand(Network(1, 3), np.array([0, 1]), np.array([1, 2]))
    >>> write_ports(make_schedule(demand), sys.stdout)
    slot,processor,sends_to_group,sends_packet,listens_to_group,hears_packet
    1,0,1,0,,
    1,1,2,1,0,0
    1,2,,,1,1
    """
    several = schedule.network.wavelengths > 1
    _write((*PORTS, *_TUNED * several), _ports(schedule), file)


def _hops(schedule: Schedule, demand: Demand) -> Iterator[I64]:
    """Yield the rows of each slot."""
    network = schedule.network
    hops = np.zeros(demand.packets, np.int64)
    for slot in range(schedule.slots):
        senders, listeners, packets = schedule.transmissions(slot)
        hops[packets] += 1
        columns: tuple[npt.ArrayLike, ...] = (
            slot + 1, hops[packets], network.group(senders), network.group(listeners), senders,
            listeners, packets, demand.source[packets], demand.destination[packets],
            *((schedule.wavelengths(slot),) if network.wavelengths > 1 else ()),
        )  # fmt: skip
        rows = np.empty((len(packets), len(columns)), np.int64)
        for k, column in enumerate(columns):
            rows[:, k] = column
        yield rows


def _ports(schedule: Schedule) -> Iterator[I64]:
    """Yield the rows of each slot, with -1 for empty cells."""
    network = schedule.network
    for slot in range(schedule.slots):
        senders, listeners, packets = schedule.transmissions(slot)
        active = np.unique(np.concatenate((senders, listeners)))
        several = network.wavelengths > 1
        rows = np.full((len(active), len(PORTS) + len(_TUNED) * several), -1, np.int64)
        rows[:, 0], rows[:, 1] = slot + 1, active
        sending, hearing = np.searchsorted(active, senders), np.searchsorted(active, listeners)
        rows[sending, 2], rows[sending, 3] = network.group(listeners), packets
        rows[hearing, 4], rows[hearing, 5] = network.group(senders), packets
        if several:
            rows[sending, 6] = rows[hearing, 7] = schedule.wavelengths(slot)
        yield rows


def _write(heading: tuple[str, ...], slots: Iterable[I64], file: TextIO) -> None:
    """Write a heading and the rows of all slots, those of several small ones together."""
    file.write(",".join(heading) + "\n")
    waiting: list[I64] = []
    count = 0
    for rows in slots:
        waiting.append(rows)
        count += len(rows)
        if count >= _ROWS:
            file.write(_text(np.concatenate(waiting)))
            waiting, count = [], 0
    if count:
        file.write(_text(np.concatenate(waiting)))


def _text(rows: I64) -> str:
    """Return rows of numbers with commas between them; a negative number is an empty cell."""
    left = rows.ravel()
    digits = np.where(left < 0, 0, 1 + np.searchsorted(_POWERS, left, side="right"))
    ends = np.cumsum(digits + 1)  # behind the commas
    text = np.full(ends[-1:].sum(), ord(","), np.uint8)
    text[ends.reshape(rows.shape)[:, -1] - 1] = ord("\n")
    places = ends - 2
    while len(left):
        written = digits > 0
        left, places, digits = left[written], places[written], digits[written]
        left, last = np.divmod(left, 10)
        text[places] = ord("0") + last
        places, digits = places - 1, digits - 1
    return text.tobytes().decode("ascii")
