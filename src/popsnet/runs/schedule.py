"""Off-line schedules: computed for a demand, executed on the machine, written to files."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import numpy.typing as npt

from popsnet.base.errors import InputError, as_path
from popsnet.base.files import require_writable, write_whole
from popsnet.base.progress import patient_progress
from popsnet.base.report import Column, Fact, Plotted, Report, Reported, Table, data_frame
from popsnet.base.report.table import flat
from popsnet.engines import ENGINES, Instance, Outcome
from popsnet.experiment.experiment import seed_number
from popsnet.hardware import Propagation, Timing
from popsnet.hardware.shown import shown_rate, with_elapsed
from popsnet.model.coins import Coins
from popsnet.model.faults import ActiveFaults, Faults, WorkingParts
from popsnet.model.faults.faults import PARTS, faults_of
from popsnet.model.network import I64, Network, about, on_network, require_network
from popsnet.programs.router import get_router
from popsnet.programs.schedules import shortest
from popsnet.programs.schedules.demand import Demand
from popsnet.programs.schedules.detours import live_capacities, make_detours, with_live_ends
from popsnet.programs.schedules.exports import hop_names, hop_records, write_hops, write_ports
from popsnet.programs.schedules.files import Rounding
from popsnet.programs.schedules.fixed import MOST_PACKETS
from popsnet.programs.schedules.linear_program import linear_bound, whole_slots
from popsnet.programs.schedules.schedule import Schedule
from popsnet.programs.schedules.shortest import Hops
from popsnet.programs.schedules.slots_needed import lower_bound, matrix_bound
from popsnet.runs.demands import PacketInput, PacketParameters, read_packets, require_room
from popsnet.runs.route import require_known
from popsnet.runs.run import trace_instance
from popsnet.trace import Event, Observer

if TYPE_CHECKING:
    import pandas as pd

_ROUTER = "offline"
_VARIANT = "standard"
_SHOWN_PACKETS = 10
"""Packets without a path that people see; JSON has all of them."""
_SHOWN_PARTS = 12
"""Dead parts that people see; JSON has all of them."""
_PATHS: dict[Hops, str] = {"1": "path of one hop", "2": "path of two hops"}
_MIXED = {
    "to relay or destination": "Some packets go to their destinations and others to relays, each "
    "on a coupler of its own."
}
"""What happens in slots that the router itself has not."""


@dataclass(frozen=True)
class ScheduleFaults:
    """The dead parts of a network, and what they change of a schedule."""

    active: ActiveFaults
    """The dead parts, with the random ones drawn."""
    parts: WorkingParts = field(repr=False)
    """What works."""
    intact_slots: int
    """The slots of the schedule for the same packets if nothing is dead."""
    unreachable: npt.NDArray[np.int32]
    """The packets that no path leads to their destinations, in order."""
    path: str = "path"
    """The paths that were allowed, in words."""

    def facts(self, slots: int) -> tuple[Fact, ...]:
        """Return the facts of a report on a schedule with this many slots."""
        return (
            Fact("faults", str(self.active.faults)),
            Fact("intact_slots", self.intact_slots, "slots if nothing is dead"),
            Fact("added_slots", slots - self.intact_slots, "slots added"),
            Fact("unreachable", len(self.unreachable), f"packets without a {self.path}"),
        )

    def parts_of(self, demand: Demand) -> tuple[Table | str, ...]:
        """Return the parts of a report: what is dead, and the packets that have no path."""
        dead = str(self.active.faults).split()
        more = f" and {len(dead) - _SHOWN_PARTS:,} more" if len(dead) > _SHOWN_PARTS else ""
        note = f"Dead: {', '.join(dead[:_SHOWN_PARTS])}{more}."
        if not len(self.unreachable):
            return (note,)
        packets = self.unreachable
        source, destination = demand.source[packets], demand.destination[packets]
        by, to = demand.network.group(source), demand.network.group(destination)
        names = "packet", "from_group", "to_group", "source", "destination"
        values = np.stack([packets, by, to, source, destination], axis=1).tolist()
        rows = [dict(zip(names, row, strict=True)) for row in values]
        columns = tuple(Column(name, kind="integer") for name in names)
        title = f"Packets without a {self.path} to their destinations"
        folded = (_SHOWN_PACKETS, 0)
        return note, Table("unreachable_packets", title, columns, rows, folded=folded)


@dataclass(frozen=True, eq=False, repr=False)
class Scheduled(Reported, Plotted):
    """A collision-free schedule of a demand, as :func:`schedule` returns it.

    Parameters
    ----------
    demand : Demand
        The packets.
    schedule : Schedule
        The slots in which they are sent.
    seed : int
        The random seed of the scheduler.
    seconds : float
        The time that it took to compute the schedule.
    outcome : Outcome, optional
        The outcome of the execution, if a trace of it was asked for.
    counts : array of int, optional
        The packets between groups, if these were given and the processors were free.
    rounding : Rounding, optional
        How amounts became packets, if there was a unit.
    faults : ScheduleFaults, optional
        The dead parts, and what they change, if there are any.
    counted_bound : int
        The lower bound by counting senders, listeners, couplers and hops.
    seeds : mapping
        The seeds of the packets and of the faults.

    Examples
    --------
    >>> import popsnet
    >>> made = popsnet.schedule(popsnet.Network(4, 4), "reversal")
    >>> made
    <schedule of 16 packets on POPS(4, 4): 2 slots>
    >>> made.execute().collisions
    0
    """

    _draw = "draw_schedule"

    demand: Demand
    schedule: Schedule
    seed: int = 0
    seconds: float = 0.0
    """The time that it took to compute the schedule."""
    outcome: Outcome | None = None
    """The outcome of the execution, if a trace of it was asked for."""
    counts: I64 | None = None
    """The packets between groups, if these were given and the processors were free."""
    rounding: Rounding | None = None
    """How amounts became packets, if there was a unit."""
    faults: ScheduleFaults | None = None
    """The dead parts, and what they change, if there are any."""
    counted_bound: int = 0
    """The lower bound by counting senders, listeners, couplers and hops."""
    seeds: Mapping[str, int] = field(default_factory=dict)
    """The seeds of the packets and of the faults."""

    @property
    def _drawn(self) -> Any:
        return self.schedule

    @property
    def slots(self) -> int:
        """The number of slots of the schedule."""
        return self.schedule.slots

    @property
    def lower_bound(self) -> int:
        """The number of slots that every schedule of these packets needs, by any path.

        It counts senders, listeners, couplers and hops, and is raised to :attr:`linear_bound`.
        Packets that no path leads to their destinations do not count.
        """
        return max(self.counted_bound, whole_slots(self.linear_bound or 0))

    @cached_property
    def linear_bound(self) -> float | None:
        """The lower bound by a linear program.

        None if it was not solved, since the schedule has no more slots than were counted, or the
        network has more than 64 groups.
        """
        demand, network, capacities = self.demand, self.demand.network, None
        if self.counted_bound >= self.slots or network.g > shortest.MOST_GROUPS:
            return None
        ends = demand.source, demand.destination
        source, destination = (np.delete(end, self.unreachable) for end in ends)
        counts = Demand(network, source, destination).moving_counts()
        if self.faults is not None:
            capacities = live_capacities(network, self.faults.parts, self.slots)
        elif self.counts is not None:
            counts = self.counts
        with patient_progress("solving the linear program of the lower bound", None):
            return linear_bound(counts, network.d, network.wavelengths, capacities)

    @property
    def unreachable(self) -> npt.NDArray[np.int32]:
        """The packets that no path leads to their destinations, in order."""
        return np.empty(0, np.int32) if self.faults is None else self.faults.unreachable

    def execute(self, observers: Sequence[Observer] = ()) -> Outcome:
        """Execute every message by the rules of the machine.

        Parameters
        ----------
        observers : sequence of functions
            Called with an :class:`~popsnet.trace.Event` after every slot.

        Returns
        -------
        Outcome
            The counts of the run.
        """
        with patient_progress(f"executing {self.slots:,} slots", self.slots) as update:

            def watch(event: Event) -> None:
                update(event.slot, f"{event.pending:,} packets pending")

            return ENGINES["slots"].execute(self._instance(), [*observers, watch])

    def write_trace(self, path: str | Path, observers: Sequence[Observer] = ()) -> Outcome:
        """Execute every message and write a trace, which ``check_trace`` replays.

        Parameters
        ----------
        path : str or Path
            The file to write.
        observers : sequence of functions
            Called with an :class:`~popsnet.trace.Event` after every slot.

        Returns
        -------
        Outcome
            The counts of the run.
        """
        with write_whole(Path(path)) as file:
            return trace_instance(
                self._instance(), self.seed, file, lambda trace: self.execute([trace, *observers])
            )

    def write_csv(self, path: str | Path) -> None:
        """Write a row per message; see :func:`popsnet.programs.schedules.exports.write_hops`.

        Parameters
        ----------
        path : str or Path
            The file to write.
        """
        with write_whole(Path(path)) as file:
            write_hops(self.schedule, self.demand, file)

    def write_ports(self, path: str | Path) -> None:
        """Write what every processor sends and listens to in every slot.

        Parameters
        ----------
        path : str or Path
            The file to write; see :func:`popsnet.programs.schedules.exports.write_ports`.
        """
        with write_whole(Path(path)) as file:
            write_ports(self.schedule, file)

    def report(self, timing: Timing | None = None) -> Report:
        """Return the report that the command line prints, and execute the schedule for it.

        Parameters
        ----------
        timing : Timing, optional
            The length of a slot, to print times as well.

        Returns
        -------
        Report
            The size of the demand, the slots and the use of the couplers.
        """
        demand, network, bound = self.demand, self.demand.network, self.lower_bound
        linear = self.linear_bound
        outcome = self.execute() if self.outcome is None else self.outcome
        couplers = self.slots * network.couplers * network.wavelengths
        usable = min(couplers, self.slots * network.n)
        several = network.wavelengths > 1
        used, use = "couplers in use" + ", by wavelengths" * several, outcome.messages
        facts = [
            Fact("packets", demand.packets, "packets"),
            Fact("max_per_processor", demand.h, "most packets sent or received by a processor"),
            Fact("max_per_group", demand.degree, "most packets sent or received by a group"),
            Fact("rounding", None if self.rounding is None else asdict(self.rounding)),
            Fact("slots", self.slots, "slots"),
            Fact("lower_bound", bound, "lower bound for any schedule"),
            Fact("gap", self.slots - bound, "slots above the bound"),
            Fact("linear_bound", linear, "by the linear program" * (linear is not None), "number"),
            Fact("relayed", self.schedule.relayed, "packets with two hops"),
            Fact("messages", outcome.messages),
            Fact("utilization", use / couplers if couplers else None, f"{used}, of all", "share"),
            Fact("usable_utilization", use / usable if usable else None,
                 f"{used}, of what n senders could use", "share"),
            Fact("peak_buffers", outcome.peak_buffers, "peak buffer use"),
            Fact("delivered", outcome.delivered),
            Fact("collisions", outcome.collisions),
            Fact("seconds", self.seconds),
        ]  # fmt: skip
        parts: list[Table | str] = []
        if self.faults is not None:
            facts += self.faults.facts(self.slots)
            parts += self.faults.parts_of(demand)
        verdict = (
            f"Made in {self.seconds:.2f} s and executed: {outcome.delivered:,} of "
            f"{demand.packets:,} packets delivered, {outcome.collisions:,} collisions."
        )
        title = f"Schedule on {network}: {network.g:,} groups of {network.d:,}"
        if self.rounding is not None:
            parts.append(f"{self.rounding}.")
        if several and self.slots > bound:
            parts.append(
                "With several wavelengths, mixed one-hop and two-hop schedules are not tried."
            )
        elif self.counts is None and demand.packets > MOST_PACKETS and self.slots > bound:
            parts.append(f"Mixed schedules of more than {MOST_PACKETS:,} packets are not tried.")
        whole = outcome.delivered == demand.packets - len(self.unreachable)
        report = Report(title, tuple(facts), tuple(parts), verdict, ok=whole, about=self._about)
        return report if timing is None else self._timed(report, timing)

    def to_records(self) -> list[dict[str, Any]]:
        """Return a dictionary per message, with the columns of :meth:`write_csv`."""
        return list(hop_records(self.schedule, self.demand))

    def to_dataframe(self) -> pd.DataFrame:
        """Return a pandas data frame with a row per message. Needs ``popsnet[pandas]``.

        The columns before ``slot`` say what the schedule is of; the others are those of
        :meth:`write_csv`.

        Examples
        --------
        >>> import popsnet
        >>> popsnet.schedule(popsnet.Network(4, 4), "reversal").to_dataframe()["slot"].max()
        np.int64(2)
        """
        same = dict(flat(self._about, joined=False))
        rows = [{**same, **row} for row in self.to_records()]
        return data_frame(rows or {name: [] for name in (*same, *hop_names(self.schedule))})

    @property
    def _about(self) -> dict[str, object]:
        """The network, the seeds and the version."""
        return about(self.demand.network, seed=self.seed, **self.seeds)

    def _timed(self, report: Report, timing: Timing) -> Report:
        """Return the report with times."""
        schedule = self.schedule
        kind = "one hop" if not schedule.relayed else "all first hops, then all second hops"
        if schedule.relayed and not schedule.in_rounds:
            kind = "a slot waits for the packets that it relays"
        longer = schedule.slots_with_propagation(timing.propagation_slots)
        rule = Propagation(f"{kind}: {longer:,} slots", lambda *_: longer)
        elapsed, bits = timing.seconds(longer), timing.payload_bits
        rate = None if bits is None or not elapsed else self.demand.packets * bits / elapsed / 1e9
        fact = Fact("goodput_gbps", rate, "goodput" * (rate is not None), text=shown_rate(rate))
        timed = with_elapsed(report, timing, self.demand.network, self.slots, rule)
        return timed.plus(Fact("slots_with_propagation", longer), fact)

    def __repr__(self) -> str:
        return f"<{self.in_short()}>"

    def in_short(self) -> str:
        """Return the number of packets, the network and the slots, in a line."""
        what = f"{self.demand.packets:,} packets on {self.demand.network}"
        return f"schedule of {what}: {self.slots:,} slots"

    def _instance(self) -> Instance:
        """Return a run of the off-line router with this schedule and the buffers that it needs."""
        demand, network, offline = self.demand, self.demand.network, get_router(_ROUTER)
        buffers = offline.buffers_on(network, _VARIANT)
        if demand.h > 1 or not self.schedule.in_rounds:
            buffers = max(buffers, self.schedule.peak_buffers(demand.source))
        variant = offline.variant(_VARIANT)
        mixed = {} if self.schedule.in_rounds else _MIXED
        words = replace(variant.words, phases={**variant.words.phases, **mixed})
        route, survives = self.schedule.route, frozenset(PARTS)
        variant = replace(variant, route=route, buffers=buffers, words=words, survives=survives)
        router = replace(offline, variants={_VARIANT: variant})
        start = None if demand.is_permutation else demand.source
        active = getattr(self.faults, "active", None)
        return Instance(network, router, _VARIANT, demand.destination, Coins(0), 1, start, active)


class ScheduledParameters(PacketParameters, total=False):
    """Other ways to give the packets of a schedule, and what is dead."""

    faults: Faults | str | None
    fault_seed: int


@on_network
def schedule(
    network: Network,
    permutation: npt.ArrayLike | str | Path | None = None,
    *,
    hops: Hops | int = "auto",
    seed: int = 0,
    trace: str | Path | None = None,
    **parameters: Unpack[ScheduledParameters],
) -> Scheduled:
    """Compute a collision-free schedule for packets that are known beforehand.

    Give the packets as ``permutation``, ``packets`` or ``matrix``. By default they are a random
    permutation. With dead parts the schedule goes around them, and lists the packets that
    have no path.

    Parameters
    ----------
    network : Network, or int and int
        The network, or its d and g.
    permutation : str, Path or array, optional
        The name of a permutation, a file with one, or n destinations.
    packets : Demand, str, Path or array, optional
        A demand, a row (source, destination) per packet, or rows (source, destination, amount), or
        a file with such rows.
    matrix : str, Path or array, optional
        The number of packets from each group (row) to each group (column), or rows (source,
        destination, amount), or a file with either. The schedule chooses the processors. Or the
        number of packets from each processor to each processor.
    unit : float, optional
        The amount of one packet. By default amounts are numbers of packets; with a unit they are
        divided by it and rounded up.
    hops : {"auto", 1, 2, "mixed"}
        1 sends every packet straight to its destination, 2 every packet through a relay, and
        "mixed" some straight and the others through relays. "auto" keeps the shortest.
    permutation_seed : int, optional
        The seed of a random permutation, from 0 to 2^64 - 1, by default 0.
    seed : int
        The random seed of the scheduler, from 0 to 2^64 - 1.
    faults : Faults or str, optional
        The dead parts, as :class:`~popsnet.Faults` or as the text of it. A part that dies in a
        later slot is not used at all. Lost messages cannot be scheduled.
    fault_seed : int
        The seed of random faults, from 0 to 2^64 - 1.
    trace : str or Path, optional
        Execute the schedule and write every message to this file.

    Returns
    -------
    Scheduled
        The schedule, which can be executed and written to files.

    Raises
    ------
    InputError
        If the packets are given in two ways, or do not fit the network, or if messages are lost.
    SizeError
        If there is not enough memory.

    Notes
    -----
    A permutation takes 2⌈d/g⌉ slots at most (Mei and Rizzi, J. Parallel Distrib. Comput., 2003).
    See :func:`popsnet.programs.schedules.make_schedule` and
    :func:`popsnet.programs.schedules.schedule_matrix`, and
    ``popsnet.programs.schedules.detours`` for dead parts. The packets of a matrix then start and
    end at live processors of their groups.

    Examples
    --------
    >>> import popsnet
    >>> net = popsnet.Network(12, 8)
    >>> made = popsnet.schedule(net, "reversal")
    >>> made.slots, made.lower_bound, made.execute().delivered
    (3, 3, 96)
    >>> around = popsnet.schedule(net, "reversal", faults="coupler:0-7 coupler:7-0")
    >>> around.slots, around.faults.intact_slots, around.execute().delivered
    (4, 3, 96)
    """
    require_known("schedule", ScheduledParameters, parameters)
    seed_number("seed", seed)
    if trace is not None:
        require_writable(as_path("trace", trace))
    kind = shortest.require_hops(hops)
    seeds = {"permutation_seed": parameters.get("permutation_seed") or 0}
    faults, fault_seed = parameters.pop("faults", None), parameters.pop("fault_seed", 0)
    active = active_faults(network, faults, fault_seed)
    if active is not None:
        seeds["fault_seed"] = fault_seed
    source = read_packets(network, permutation=permutation, **parameters)
    require_room(network, source.packets, traced=trace is not None)
    begin = time.perf_counter()
    with patient_progress(f"scheduling {source.packets:,} packets on {network}", None):
        wanted, made, bound, around = _made(network, source, active, kind, seed)
    seconds = time.perf_counter() - begin
    rest = source.counts, source.rounding, around, bound, seeds
    done = Scheduled(wanted, made, seed, seconds, None, *rest)
    return done if trace is None else replace(done, outcome=done.write_trace(trace))


def _made(
    network: Network, source: PacketInput, active: ActiveFaults | None, hops: Hops, seed: int
) -> tuple[Demand, Schedule, int, ScheduleFaults | None]:
    """Return the packets, their schedule, the lower bound by counting, and what faults change.

    Around dead parts, the packets are for live processors if these are free to choose.
    """
    if source.counts is None:
        demand = source.dealt()
        made, bound = shortest.make_schedule(demand, hops=hops, seed=seed), lower_bound(demand)
    else:
        bound = matrix_bound(source.counts, network.d, network.wavelengths)
        demand, made = shortest.schedule_matrix(network, source.counts, hops=hops, seed=seed)
    if active is None:
        return demand, made, bound, None
    parts, intact = WorkingParts(network, active.faults), made
    free = source.counts is not None and network.d > 1
    if free:
        demand = with_live_ends(demand, parts)
    made, unreachable, bound = make_detours(demand, intact, parts, hops=hops, seed=seed, free=free)
    path = _PATHS.get(hops, "path")
    return demand, made, bound, ScheduleFaults(active, parts, intact.slots, unreachable, path)


def active_faults(
    network: Network, faults: Faults | str | None, fault_seed: int
) -> ActiveFaults | None:
    """Return the dead parts with the random ones drawn, None if there are none."""
    chosen, fault_seed = faults_of(faults), seed_number("fault_seed", fault_seed)
    require_network(network)
    chosen.require_on(network)
    if chosen.loss:
        raise InputError(
            f"faults: loss:{chosen.loss:g}: a schedule is made before it is known which messages "
            "are lost. Leave the loss out, or use the variant survive of router relay."
        )
    return ActiveFaults(network, chosen, Coins(fault_seed).for_run(0)) if chosen else None
