"""What can be expected before anything is run: bounds of the pattern, and what schedulers state."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy.typing as npt

from popsnet.base.report import Column, Fact, Report, Reported, Row, Table, plural
from popsnet.hardware import Timing
from popsnet.hardware.shown import rate_column, time_column
from popsnet.model.network import Network, about, on_network
from popsnet.programs.scheduler import Scheduler, all_schedulers
from popsnet.runs.delays import with_rules
from popsnet.runs.traffic_result import keys_of_bounds
from popsnet.studies.traffic.saturation import UNIFORM, largest_load, load_in_any_case, pattern_of
from popsnet.workloads.arrivals import make_arrivals
from popsnet.workloads.largest_loads import Bounds


@dataclass(frozen=True, repr=False)
class TrafficOverview(Reported):
    """The bounds of a pattern on a network, and what the formulas of schedulers give for it.

    Parameters
    ----------
    network : Network
        The network.
    pattern : str
        The name of the arrivals.
    bounds : Bounds
        Their bounds.
    schedulers : tuple of Scheduler
        The schedulers.
    """

    network: Network
    pattern: str
    bounds: Bounds
    schedulers: tuple[Scheduler, ...]

    def report(self, timing: Timing | None = None) -> Report:
        """Return a table of bounds and a table of schedulers.

        Parameters
        ----------
        timing : Timing, optional
            The length of a slot, to print times and bit rates as well.
        """
        network = self.network
        groups = f"{plural(network.g, 'group')} of {network.d:,}"
        title = f"{network}: {network.n:,} processors in {groups}"
        limits = [bound._asdict() for bound in self.bounds.report_rows()]
        columns: tuple[Column, ...] = (
            Column("name", "bound", "text"),
            Column("load", "largest load", "number", lambda row: f"{row['load']:.4g}"),
            Column("meaning", kind="text"),
        )
        rows = [self._row(scheduler, timing) for scheduler in self.schedulers]
        facts = (
            Fact("network", network.to_dict()),
            Fact("arrivals", self.pattern, "arrivals", "text"),
            Fact("bounds", keys_of_bounds({limit["name"]: limit["load"] for limit in limits})),
        )
        loads = Table("limits", "Largest loads of the pattern", columns, limits)
        columns, formulas = self._columns(timing), f"Schedulers, by formula, for {self.pattern}"
        table = Table("schedulers", formulas, columns, rows, self._assumptions())
        report = Report(title, facts, (loads, table), about=about(network))
        if timing is None:
            return report
        tau = timing.propagation_slots
        rules = {program.name: program.propagation(network, tau) for program in self.schedulers}
        return with_rules(report, timing, rules)

    @property
    def _is_uniform(self) -> bool:
        return pattern_of(self.pattern) in UNIFORM

    def _columns(self, timing: Timing | None) -> tuple[Column, ...]:
        """Return the columns: the largest load, or one that is carried in any case."""
        columns = _COLUMNS if timing is None else _TIME_COLUMNS
        other = "at_least" if self._is_uniform else "saturation"
        return tuple(column for column in columns if not column.key.startswith(other))

    def _assumptions(self) -> str:
        """Say what the formulas assume."""
        delay = "Least delay: of a packet that is alone, in slots."
        if self._is_uniform:
            d, channels = self.network.d, self.network.channels
            is_exact = d <= channels or d % channels == 0
            rotor = "" if is_exact else ", and that of rotor is a lower bound"
            return f"{delay} The largest loads of aloha and relay are approximate{rotor}."
        return (
            f"{delay} Carried: at this load no processor sends, or is sent, more packets per slot "
            "than the scheduler carries of any traffic. It may carry more; popsnet traffic with "
            "--saturation finds out."
        )

    def _row(self, scheduler: Scheduler, timing: Timing | None) -> Row:
        load = largest_load(scheduler, self.pattern, self.bounds)
        delay = None if scheduler.delay is None else scheduler.delay(self.network)
        row: Row = {
            "scheduler": scheduler.name,
            "online": scheduler.online,
            "saturation": load,
            "at_least": load_in_any_case(scheduler, self.bounds),
            "delay": delay,
            "hops": scheduler.hops,
            "variants": list(scheduler.variants),
            "summary": scheduler.summary,
        }
        if timing is not None:
            tau = timing.propagation_slots
            rule = scheduler.propagation(self.network, tau)
            longer = None if delay is None else rule.slots(self.network, delay, tau=tau)
            row["delay_ns"] = timing.nanoseconds(longer)
            row["saturation_gbps"] = timing.gigabits(load, self.network.n)
        return row


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.4g}"


_COLUMNS = (
    Column("scheduler", kind="text"),
    Column("online", "on-line", "flag"),
    Column("saturation", "largest load", "number", lambda row: _number(row["saturation"])),
    Column("at_least", "carried", "number", lambda row: _number(row["at_least"])),
    Column("delay", "least delay", "number", lambda row: _number(row["delay"])),
    Column("summary", kind="text"),
)
_TIME_COLUMNS = (
    *_COLUMNS[:-1],
    time_column("delay_ns", "as a time"),
    rate_column("saturation_gbps", "largest, Tb/s"),
)


@on_network
def traffic_overview(
    network: Network,
    *,
    pattern: str = "uniform",
    burst: float | None = None,
    matrix: str | Path | npt.ArrayLike | None = None,
    seed: int = 0,
) -> TrafficOverview:
    """Return the bounds of a pattern, and what every scheduler states.

    Parameters
    ----------
    network : Network, or int and int
        The network, or its d and g.
    pattern, burst, matrix
        As for :class:`TrafficExperiment`.
    seed : int
        The seed of the arrivals.

    Returns
    -------
    TrafficOverview
        The bounds and the schedulers.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.traffic import traffic_overview
    >>> round(traffic_overview(Network(8, 8), pattern="group-shift").bounds.any.load, 4)
    0.5625
    """
    arrivals = make_arrivals(
        network, pattern=pattern, load=_LITTLE, burst=burst, matrix=matrix, seed=seed
    )
    bounds = Bounds.of(network, arrivals.rates())
    single = network.wavelengths == 1
    able = tuple(program for program in all_schedulers() if single or program.wavelengths)
    return TrafficOverview(network, arrivals.name, bounds, able)


_LITTLE = 1e-6
"""A load that every pattern admits."""
