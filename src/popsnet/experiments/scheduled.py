"""Executes off-line schedules on the machine, and writes them down as traces or tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from popsnet.coins import Coins
from popsnet.engines import ENGINES, Instance, Outcome
from popsnet.errors import SizeError
from popsnet.experiments.footprint import available_memory
from popsnet.files import write_whole
from popsnet.network import Network
from popsnet.routing import Router, Variant, get_router
from popsnet.routing.offline import Demand, Schedule
from popsnet.trace import Observer, TraceWriter

__all__ = ["execute_schedule", "require_room", "trace_schedule", "write_table"]

_ROUTER = "offline"
_VARIANT = "standard"
_HEADING = "slot,sender,coupler,listener,packet\n"
_BYTES_A_PACKET = 250
"""To colour, order and execute; measured, rounded up."""
_TRACE_BYTES_A_PACKET = 700


def require_room(network: Network, packets: int, *, traced: bool) -> None:
    """Refuse what could not be held here."""
    needed = max(network.n, packets) * (_BYTES_A_PACKET + _TRACE_BYTES_A_PACKET * traced)
    if needed > available_memory():
        raise SizeError(
            f"{network} with {packets:,} packets needs about {needed / 1e9:,.1f} GB"
            f"{' for a trace; a .csv takes less' if traced else ''}; "
            f"{available_memory() / 1e9:,.1f} GB can be had here."
        )


def execute_schedule(
    demand: Demand, schedule: Schedule, observers: Sequence[Observer] = ()
) -> Outcome:
    """Execute every message of a schedule by the rules of the machine."""
    return ENGINES["slots"].execute(_instance(demand, schedule), observers)


def trace_schedule(
    path: Path,
    demand: Demand,
    schedule: Schedule,
    observers: Sequence[Observer] = (),
    seed: int = 0,
) -> Outcome:
    """Execute a schedule and write the trace of it, which ``popsnet check`` replays."""
    instance = _instance(demand, schedule)
    buffers = instance.router.buffers_on(demand.network, _VARIANT)
    with write_whole(path) as file:
        trace = TraceWriter(file)
        trace.begin(
            demand.network, _ROUTER, _VARIANT, seed, demand.destination, buffers, instance.start
        )
        outcome = ENGINES["slots"].execute(instance, [trace, *observers])
        trace.end(outcome.slots, outcome.delivered, outcome.lost_packets)
    return outcome


def write_table(path: Path, schedule: Schedule) -> None:
    """Write a schedule as CSV, a row for every message; coupler c(b, a) has number b·g + a.

    Slots are numbered from 1.
    """
    d, g = schedule.network.d, schedule.network.g
    with write_whole(path) as file:
        file.write(_HEADING)
        for number in range(schedule.slots):
            senders, listeners, packets = schedule.transmissions(number)
            couplers = listeners.astype(np.int64) // d * g + senders // d
            columns = (column.tolist() for column in (senders, couplers, listeners, packets))
            rows = zip(*columns, strict=True)
            file.writelines(f"{number + 1},{s},{c},{heard},{p}\n" for s, c, heard, p in rows)


def _instance(demand: Demand, schedule: Schedule) -> Instance:
    """A permutation by the router that is registered; else one with the buffers it needs."""
    network, start = demand.network, None if demand.starts_in_order else demand.source
    claimed = get_router(_ROUTER).buffers_on(network, _VARIANT)
    buffers = claimed if demand.h == 1 else max(claimed, schedule.peak_buffers())
    router = Router(
        name=_ROUTER,
        summary="",
        slots="",
        buffers=buffers,
        variants={_VARIANT: Variant(schedule.route)},
    )
    return Instance(network, router, _VARIANT, demand.destination, Coins(0), 1, start)
