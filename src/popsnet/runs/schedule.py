"""Off-line schedules: made of a demand, executed on the machine, written as traces or tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from popsnet.coins import Coins
from popsnet.engines import ENGINES, Instance, Outcome
from popsnet.errors import InputError, SizeError
from popsnet.experiment import seed_number
from popsnet.files import write_whole
from popsnet.network import Network, require_network
from popsnet.permutations import make_permutation, require_permutation
from popsnet.routing import Router, Variant, get_router
from popsnet.schedules.bounds import lower_bound
from popsnet.schedules.construction import make_schedule
from popsnet.schedules.demand import Demand
from popsnet.schedules.files import demand_of_matrix, read_demand, read_matrix
from popsnet.schedules.schedule import Schedule
from popsnet.system import available_memory
from popsnet.trace import Observer, TraceWriter

__all__ = [
    "Scheduled",
    "execute_schedule",
    "make_demand",
    "require_room",
    "schedule",
    "trace_schedule",
    "write_table",
]

_ROUTER = "offline"
_VARIANT = "standard"
_HEADING = "slot,sender,coupler,listener,packet\n"
_BYTES_A_PACKET = 250
"""To colour, order and execute; measured, rounded up."""
_TRACE_BYTES_A_PACKET = 700


@dataclass(frozen=True, slots=True, eq=False)
class Scheduled:
    """A schedule without collisions for everything that is to be sent."""

    demand: Demand
    schedule: Schedule
    seed: int

    @property
    def slots(self) -> int:
        """Slots of the schedule."""
        return self.schedule.slots

    @property
    def lower_bound(self) -> int:
        """Slots that every schedule of this demand takes at least."""
        return lower_bound(self.demand)

    def execute(self, observers: Sequence[Observer] = ()) -> Outcome:
        """Execute every message by the rules of the machine."""
        return execute_schedule(self.demand, self.schedule, observers)

    def write_trace(self, path: str | Path, observers: Sequence[Observer] = ()) -> Outcome:
        """Execute every message and write a trace, which ``check_trace`` replays."""
        return trace_schedule(Path(path), self.demand, self.schedule, observers, self.seed)

    def write_csv(self, path: str | Path) -> None:
        """Write a row per message: slot, sender, coupler, listener, packet."""
        write_table(Path(path), self.schedule)

    def __repr__(self) -> str:
        return (
            f"<schedule of {self.demand.packets:,} packets on {self.demand.network}: "
            f"{self.slots:,} slots>"
        )


def schedule(
    network: Network,
    demand: Demand | npt.ArrayLike | str | None = None,
    *,
    permutation: str | Path | npt.ArrayLike | None = None,
    packets: str | Path | npt.ArrayLike | None = None,
    matrix: str | Path | npt.ArrayLike | None = None,
    permutation_seed: int = 0,
    seed: int = 0,
) -> Scheduled:
    """Make a schedule without collisions for everything that is to be sent.

    Give what is to be sent in one of these ways; without any it is a random permutation.

    Parameters
    ----------
    network : Network
        The network.
    demand : Demand, array or str, optional
        A demand, an array of n destinations, an array with a row (source, destination) per
        packet, or the name of a permutation.
    permutation : str, Path or array, optional
        The name of a permutation, a file with one, or n destinations.
    packets : str, Path or array, optional
        A row (source, destination) per packet, or a file with such rows.
    matrix : str, Path or array, optional
        How many packets go from each group (row) to each group (column), or a file with these.
    permutation_seed : int
        The seed of a random permutation.
    seed : int
        The seed of the walks that colour the packets.

    Examples
    --------
    >>> import popsnet
    >>> net = popsnet.Network(12, 8)
    >>> made = popsnet.schedule(net, "reversal")
    >>> made.slots, made.lower_bound, made.execute().delivered
    (4, 3, 96)
    """
    seed_number("seed", seed)
    wanted = make_demand(
        network, demand, permutation=permutation, packets=packets, matrix=matrix,
        permutation_seed=permutation_seed,
    )  # fmt: skip
    require_room(network, wanted.packets, traced=False)
    return Scheduled(wanted, make_schedule(wanted, seed=seed), seed)


def make_demand(
    network: Network,
    demand: Demand | npt.ArrayLike | str | None = None,
    *,
    permutation: str | Path | npt.ArrayLike | None = None,
    packets: str | Path | npt.ArrayLike | None = None,
    matrix: str | Path | npt.ArrayLike | None = None,
    permutation_seed: int = 0,
) -> Demand:
    """Return what is to be sent, given in one of the ways of :func:`schedule`."""
    require_network(network)
    require_room(network, network.n, traced=False)
    given = {"demand": demand, "permutation": permutation, "packets": packets, "matrix": matrix}
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise InputError(f"{' and '.join(named)} each say what is to be sent; give one of them.")
    if isinstance(demand, Demand):
        return _on_network(demand, network)
    if demand is not None and not isinstance(demand, str) and np.ndim(demand) == 2:
        packets = demand
    elif demand is not None:
        permutation = demand
    if packets is not None:
        return _of_packets(network, packets)
    if matrix is not None:
        return _of_matrix(network, matrix)
    chosen = "random" if permutation is None else permutation
    if isinstance(chosen, str | Path):
        seed_number("permutation_seed", permutation_seed)
        coins = Coins(permutation_seed).for_run(0)  # as the first run of an experiment
        destination = make_permutation(str(chosen), network, coins)
    else:
        destination = require_permutation(np.asarray(chosen), network.n, "permutation")
    return Demand.of_permutation(network, destination)


def _on_network(demand: Demand, network: Network) -> Demand:
    if demand.network != network:
        raise InputError(f"The demand is for {demand.network}, not for {network}.")
    return demand


def _of_packets(network: Network, packets: str | Path | npt.ArrayLike) -> Demand:
    if isinstance(packets, str | Path):
        return read_demand(Path(packets), network)
    table = np.asarray(packets)
    if table.ndim != 2 or table.shape[1] != 2:
        raise InputError(
            f"packets has shape {table.shape}; give a row (source, destination) per packet, or "
            "matrix= for packets between groups."
        )
    return Demand(network, table[:, 0], table[:, 1])


def _of_matrix(network: Network, matrix: str | Path | npt.ArrayLike) -> Demand:
    if isinstance(matrix, str | Path):
        return read_matrix(Path(matrix), network)
    counts, g = np.asarray(matrix), network.g
    if counts.shape != (g, g) or counts.dtype.kind not in "iu":
        raise InputError(
            f"matrix has shape {counts.shape} and type {counts.dtype}; {network} needs {g} × {g} "
            "integers."
        )
    return demand_of_matrix(network, counts)


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
            demand.network, _ROUTER, _VARIANT, seed, demand.destination, buffers, instance.start,
            get_router(_ROUTER).words_on(demand.network, _VARIANT),
        )  # fmt: skip
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
