"""Schedules as tables in text: a row per message, or a row per processor and slot.

In both tables slots count from 1, and groups, processors and packets from 0. A packet's number is
that of its row in the demand.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt

from popsnet.programs.schedules.demand import Demand
from popsnet.programs.schedules.schedule import Schedule

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
    >>> from popsnet.programs.schedules import Demand, make_schedule
    >>> from popsnet.programs.schedules.exports import write_hops
    >>> demand = Demand(Network(1, 3), np.array([0, 1]), np.array([1, 0]))
    >>> write_hops(make_schedule(demand), demand, sys.stdout)
    slot,hop,from_group,to_group,sender,receiver,packet,source,destination
    1,1,0,1,0,1,0,0,1
    1,1,1,0,1,0,1,1,0
    """
    _write(hop_names(schedule), _hops(schedule, demand), file)


def hop_names(schedule: Schedule) -> tuple[str, ...]:
    """Return the columns of :func:`write_hops` for a schedule."""
    return _names(schedule, HOPS, ("wavelength",))


def hop_records(schedule: Schedule, demand: Demand) -> Iterator[dict[str, int]]:
    """Yield a dictionary per message, with the columns of :func:`write_hops`."""
    names = hop_names(schedule)
    for rows in _hops(schedule, demand):
        yield from (dict(zip(names, row, strict=False)) for row in rows.tolist())


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
    >>> from popsnet.programs.schedules import Demand, make_schedule
    >>> from popsnet.programs.schedules.exports import write_ports
    >>> demand = Demand(Network(1, 3), np.array([0, 1]), np.array([1, 2]))
    >>> write_ports(make_schedule(demand), sys.stdout)
    slot,processor,sends_to_group,sends_packet,listens_to_group,hears_packet
    1,0,1,0,,
    1,1,2,1,0,0
    1,2,,,1,1
    """
    _write(_names(schedule, PORTS, _TUNED), _ports(schedule), file)


def _hops(schedule: Schedule, demand: Demand) -> Iterator[npt.NDArray[Any]]:
    """Yield the rows of each slot."""
    group, hops = schedule.network.group, np.zeros(demand.packets, np.int64)
    for slot in range(schedule.slots):
        senders, listeners, packets = schedule.transmissions(slot)
        hops[packets] += 1
        own = packets, demand.source[packets], demand.destination[packets]
        message = hops[packets], group(senders), group(listeners), senders, listeners, *own
        yield np.column_stack(np.broadcast_arrays(slot + 1, *message, schedule.wavelengths(slot)))


def _ports(schedule: Schedule) -> Iterator[npt.NDArray[Any]]:
    """Yield the rows of each slot, with None for empty cells."""
    group = schedule.network.group
    for slot in range(schedule.slots):
        senders, listeners, packets = schedule.transmissions(slot)
        active, tuned = np.unique(np.concatenate((senders, listeners))), schedule.wavelengths(slot)
        sending, hearing = np.searchsorted(active, senders), np.searchsorted(active, listeners)
        rows = np.full((len(active), len(PORTS) + len(_TUNED)), None)
        rows[:, 0], rows[:, 1] = slot + 1, active
        rows[sending, 2], rows[sending, 3], rows[sending, 6] = group(listeners), packets, tuned
        rows[hearing, 4], rows[hearing, 5], rows[hearing, 7] = group(senders), packets, tuned
        yield rows


def _names(schedule: Schedule, names: tuple[str, ...], tuned: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns, with those of wavelengths where there are several."""
    return names + tuned * min(schedule.network.wavelengths - 1, 1)


def _write(names: Sequence[str], slots: Iterable[npt.NDArray[Any]], file: TextIO) -> None:
    """Write these columns of the rows of all slots; those of wavelengths come last."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(names)
    for rows in slots:
        writer.writerows(rows[:, : len(names)].tolist())
