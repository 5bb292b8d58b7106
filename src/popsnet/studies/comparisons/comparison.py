"""Comparison of routers on the same permutations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any, TypeAlias, Unpack

import numpy as np
import numpy.typing as npt

from popsnet.base.errors import InputError, PopsnetError, did_you_mean, wrong
from popsnet.base.progress import Progress, patient_progress
from popsnet.base.report import Column, Fact, Plotted, Report, Reported, Row, Table, facts_of
from popsnet.base.report.table import plural
from popsnet.experiment.experiment import Experiment, whole_number
from popsnet.hardware import Propagation, Timing
from popsnet.hardware.shown import time_column, with_router_times
from popsnet.model.faults.faults import faults_of
from popsnet.model.network import Network, network_of
from popsnet.programs.router import Relation, Route, Router, Variant, find_variant
from popsnet.programs.schedules.demand import Demand
from popsnet.programs.schedules.slots_needed import lower_bound
from popsnet.runs import summary
from popsnet.runs.demands import with_demand
from popsnet.runs.route import SharedParameters, experiment_of, require_known, route
from popsnet.runs.run import Runs
from popsnet.runs.times import run_times
from popsnet.studies.comparisons.recommendation import Forecast, forecast, shipped_routers
from popsnet.trace import Event

Candidate: TypeAlias = str | Path | Router | Route
Candidates: TypeAlias = Sequence[Candidate | tuple[Candidate, str | None]]
_Pair: TypeAlias = tuple[Router, str | None]

MOST_PROCESSORS = 2**16
_MOST_MESSAGES = 2**25
"""A router is not run by default if a run has more messages than this, counting n per slot."""
_MOST_SLOTS = 5000
"""A router is not run by default if it is expected to take more slots than this."""


@dataclass(frozen=True, slots=True)
class RouterRuns:
    """A router and its runs, or only its forecast if it was not run."""

    experiment: Experiment
    runs: Runs | None
    expected: Forecast | None
    """Of the router's default variant on the network; None for other variants."""

    @property
    def router(self) -> Router:
        """The router."""
        return self.experiment.resolved_router

    @property
    def label(self) -> str:
        """The name of the router, with its variant if the router would not choose that itself."""
        router, variant = self.router, self.experiment.variant
        chosen = next(iter(router.relations), "")
        if self.experiment.demand is None:
            chosen = router.choose_variant(None, self.experiment.network)
        return router.name if variant == chosen else f"{router.name} ({variant})"

    @property
    def full_name(self) -> str:
        """The name of the router and its variant, as in ``relay:S``."""
        return f"{self.router.name}:{self.experiment.variant}"

    @property
    def mean_slots(self) -> float:
        """The mean number of slots."""
        return float(self._ran.slots.mean())

    @property
    def worst_slots(self) -> int:
        """The slots of the longest run."""
        return int(self._ran.slots.max())

    @property
    def capped(self) -> bool:
        """Whether a run was capped, so that slots and other counts are lower bounds."""
        return bool(self._ran.capped.any())

    @property
    def failed(self) -> bool:
        """Whether a run was capped, or did not deliver every packet."""
        return self._ran.failed

    @property
    def missing(self) -> int:
        """The packets that were lost, or held though they had a live path, in all runs together."""
        return self._ran.undelivered - int(self._ran.unreachable.sum())

    @property
    def _ran(self) -> Runs:
        assert self.runs is not None
        return self.runs

    def why_left_out(self) -> str:
        """Say why the router was not run, and how to run it."""
        assert self.expected is not None
        name, n = self.router.name, self.experiment.network.n
        return (
            f"Not run, because it would take long: {name} (about {self.expected.slots:,.0f} slots "
            f"on {n:,} processors); routers='{name}' runs it."
        )

    def to_record(self) -> dict[str, Any]:
        """Return the statistics as a dictionary, with None if there were no runs."""
        runs, experiment, router = self.runs, self.experiment, self.router
        figures = {name: None if runs is None else of(runs) for name, of in _FIGURES.items()}
        if runs is not None and (fates := summary.fates_of(experiment, runs.fault_counts)):
            figures |= {"delivered": int(runs.delivered.sum()), **fates}
        return {
            "router": router.name,
            "variant": experiment.variant,
            "router_label": self.label,
            "idealized": experiment.idealized,
            "online": router.online,
            "randomness": router.randomness,
            **figures,
            "expected_slots": self.expected.slots if self.expected else None,
        }


Compared = RouterRuns
"""The former name."""


def _most(values: npt.NDArray[np.int64] | None) -> int | None:
    return None if values is None else int(values.max())


_FIGURES: dict[str, Callable[[Runs], float | None]] = {
    "mean_slots": lambda runs: float(runs.slots.mean()),
    "worst_slots": lambda runs: int(runs.slots.max()),
    "mean_collisions": lambda runs: float(runs.collisions.mean()),
    "peak_buffers": lambda runs: _most(runs.peak_buffers),
    "control_bits": lambda runs: _most(runs.control_bits),
    "capped": lambda runs: int(runs.capped.sum()),
    "lost": lambda runs: int(runs.lost.sum()),
    "undelivered": lambda runs: runs.undelivered,
}


@dataclass(frozen=True, repr=False)
class Comparison(Reported, Plotted):
    """Routers on the same packets, the fastest first, as :func:`compare` returns them.

    Routers that did not deliver every packet come last. ``comparison["direct"]`` gives the runs of
    one router, ``comparison["relay:S"]`` those of a variant. Iterating gives what was run.

    Parameters
    ----------
    network : Network
        The network.
    runs : int
        The runs of each router.
    lower_bound : float or None
        The mean over the permutations of the slots that any schedule of each needs. None with
        faults, which need not leave every packet a path.
    done, left_out : tuple of RouterRuns
        The routers that were run, and those that were not because they would take long.
    demand : Demand, optional
        The packets of every run, None if the routers were run on permutations.
    """

    __hash__ = None  # type: ignore[assignment]

    _draw = "draw_comparison"

    network: Network
    runs: int
    lower_bound: float | None
    done: tuple[RouterRuns, ...]
    left_out: tuple[RouterRuns, ...]
    demand: Demand | None = None

    def __getitem__(self, router: str) -> Runs:
        """Return the runs of one router by its name, NAME:VARIANT or its label in the table."""
        rows = [row for row in self.done if router in (row.label, row.full_name)]
        rows = rows or [row for row in self.done if row.router.name == router]
        if len(rows) != 1:
            known = [row.label for row in self.done]
            raise InputError(
                f"{router!r} is not one of the routers that were run; choose from "
                f"{', '.join(known)}.{did_you_mean(str(router), known)}"
            )
        return rows[0]._ran

    def __iter__(self) -> Iterator[RouterRuns]:
        """Iterate over the routers that were run, the fastest first."""
        return iter(self.done)

    def __len__(self) -> int:
        """Return the number of routers that were run."""
        return len(self.done)

    def in_short(self) -> str:
        """Return the routers with their mean slots in a line."""
        routers = ", ".join(f"{row.label} {row.mean_slots:,.1f}" for row in self.done)
        return f"{plural(self.runs, 'run')} on {self.network}, mean slots: {routers or 'none'}"

    def report(self, timing: Timing | None = None) -> Report:
        """Return the report that the command line prints.

        Parameters
        ----------
        timing : Timing, optional
            The length of a slot, to print times as well.
        """
        title = f"{self.network}: {plural(self.runs, 'permutation')}, the same for all routers"
        bound = f"Lower bound for any schedule, mean: {self.lower_bound or 0:.1f}"
        if self.demand is not None:
            title = f"{self.network}: {summary.described(self.demand)}; {plural(self.runs, 'run')}"
            bound = f"Lower bound for any schedule: {self.lower_bound or 0:,.0f}"
        first = (*self.done, *self.left_out)[0].experiment
        facts = (
            *facts_of(self, "network", "runs", "lower_bound"),
            Fact("left_out", [row.to_record() for row in self.left_out]),
            *summary.sizes_of(self.demand),
            *summary.facts_of_faults(first),
        )
        records = [row.to_record() for row in self.done]
        title += summary.faults_in_words(first)
        table = Table("routers", title, self._columns(records), records)
        notes = [bound] * (self.lower_bound is not None)
        notes += [row.why_left_out() for row in self.left_out]
        failed = [row.label for row in self.done if row.failed]
        reached = " with a live path" * (self.lower_bound is None)
        verdict = f"Every packet{reached} was delivered." if self.done else _NO_ROUTER
        if failed:
            names = ", ".join(failed)
            verdict = f"FAILED: not every run of {names} ended with all packets{reached} delivered."
        ok = bool(self.done) and not failed
        cure, used = summary.cure_of([row._ran for row in self.done]), ("max_steps", "routers")
        same = summary.about_experiment(first)
        report = Report("", facts, (table, *notes), verdict, ok, cure, used, same)
        return report if timing is None else self._timed(report, timing)

    def _timed(self, report: Report, timing: Timing) -> Report:
        """Return the report with a table of times, the shortest first."""
        rows: list[tuple[dict[str, Any], Propagation]] = []
        for result in self.done:
            times = run_times(result._ran, timing)
            row = {"mean_ns": float(times.mean()), "worst_ns": float(times.max())}
            named = {"router_label": result.label, **row, "capped": result.capped}
            rows.append((named, result.experiment.resolved_variant.propagation))
        rows.sort(key=lambda row: row[0]["mean_ns"])
        times_columns = time_column("mean_ns", "mean"), time_column("worst_ns", "worst")
        return with_router_times(report, timing, (_COLUMNS[0], *times_columns), rows)

    def _columns(self, records: Sequence[Row]) -> tuple[Column, ...]:
        """Return the columns that say something here."""
        hidden = {"lost", "delivered", "unreachable", "held"}
        if any("held" in record for record in records):
            hidden = {"undelivered", "mean_collisions", "control_bits", "randomness"}
        if self.demand is None:
            hidden |= {"control_bits"}
        if not any(record["undelivered"] for record in records):
            hidden |= {"undelivered"}
        shown = (*_COLUMNS, Column("online", "on-line", "text", self._online))
        return tuple(column for column in shown if column.key not in hidden)

    def _online(self, row: Row) -> str:
        if row["idealized"]:
            return "statistics only"
        return next(runs.router for runs in self.done if runs.label == row["router_label"]).locality


_NO_ROUTER = "FAILED: no router was run."


def _counted(key: str, heading: str, form: str = ",") -> Column:
    """Make a column of counts, with ≥ if a run was capped and so cut short."""

    def show(row: Row) -> str:
        return "–" if row[key] is None else f"{'≥ ' * bool(row['capped'])}{row[key]:{form}}"

    return Column(key, heading, show=show)


_COLUMNS = (
    Column("router_label", "router", "text"),
    _counted("mean_slots", "slots, mean", ",.1f"),
    _counted("worst_slots", "worst"),
    _counted("mean_collisions", "collisions", ",.2f"),
    _counted("peak_buffers", "buffers"),
    Column("control_bits", "largest message (bits)", "integer"),
    Column("undelivered", "not delivered", "integer"),
    Column("delivered", kind="integer"),
    Column("lost", kind="integer"),
    Column("unreachable", "unreach.", "integer"),
    Column("held", kind="integer"),
    Column("randomness", "coins", "text"),
)


def compare(
    d: Network | int,
    g: int | None = None,
    *,
    routers: Candidates | Candidate | None = None,
    runs: int = 10,
    progress: Progress = None,
    **parameters: Unpack[SharedParameters],
) -> Comparison:
    """Compare routers on the same permutations, or on the same demand.

    Run r has the same packets and the same faults for all routers.

    Parameters
    ----------
    d : int or Network
        Processors per group, or a network. Every message is executed, so n must be at most
        65,536.
    g : int
        Groups, if the first argument is a number.
    routers : sequence, optional
        Names, files, routers or generator functions, or pairs of one of these and a variant. By
        default every router that ships and applies to the network, except for those that are
        expected to take long: more than 5000 slots, or more than 2^25 messages per run. On a
        demand, every way in which a router that ships serves demands. With faults, the variants
        that survive faults as well.
    runs : int
        The runs of each router, at least 1.
    permutation : str, Path or array
        The name of a permutation, a file, or n destinations.
    seed, permutation_seed : int
        The seeds of the coins and of the permutations, from 0 to 2^64 - 1.
    max_steps : int
        A run is capped after this many steps.
    progress : function, bool or None
        A function that is called with the runs done and the total. None shows a bar on a
        terminal after two seconds, False shows nothing.
    packets : Demand, array, Path or str, optional
        The packets of every run instead of a permutation: a demand, or an array or a file with a
        row (source, destination) per packet.
    matrix : array, Path or str, optional
        The same as the number of packets from each group (row) to each group (column), which are
        dealt to the processors of a group in turn, or from each processor to each processor.
    unit : float, optional
        The amount of one packet, for amounts that are not numbers of packets; they are rounded up.
    faults : Faults or str, optional
        What does not work in every run, as for :func:`route`.
    fault_seed : int
        The seed of random faults and lost messages. Each run has its own faults.
    wavelengths : int
        Wavelengths per coupler, by default 1, or those of the network.

    Returns
    -------
    Comparison
        The routers and their runs, the fastest first.

    Raises
    ------
    InputError
        If a parameter is wrong.
    RuleViolation
        If a router breaks a rule of the machine.
    KeyboardInterrupt
        If interrupted; its ``comparison`` has the routers that were finished.

    Examples
    --------
    >>> import popsnet
    >>> found = popsnet.compare(8, 8, routers=["mei-rizzi", "direct"], runs=5)
    >>> [one.router.name for one in found.done]
    ['direct', 'mei-rizzi']
    >>> found["direct"].slots
    array([8, 8, 8, 8, 8])
    >>> found = popsnet.compare(4, 3, runs=2, matrix=[[0, 9, 1], [4, 0, 4], [2, 2, 0]])
    >>> found.lower_bound, found.done[0].router.name, found["direct:to-all"].slots
    (6, 'offline', array([13, 13]))
    >>> found = popsnet.compare(4, 4, routers=["relay:survive", "direct"], faults="coupler:0-1")
    >>> [(one.router.name, int(one.runs.lost.sum())) for one in found]
    [('relay', 0), ('direct', 11)]
    """
    require_known("compare", SharedParameters, parameters)
    runs = whole_number("runs", runs, 1)
    experiments = candidates(d, g, routers, bool(faults_of(parameters.get("faults"))), **parameters)
    too_long = list(filter(takes_long, experiments if routers is None else []))
    wanted = [experiment for experiment in experiments if experiment not in too_long]
    results: list[Runs] = []
    try:
        what = f"routing on {experiments[0].network}"
        results.extend(executed(wanted, runs, what, progress))  # those before an interruption, too
    except KeyboardInterrupt as stop:
        if not results:
            raise  # the bound would take as long as the runs
        stop.comparison = _comparison(experiments[0], results, too_long, runs)  # type: ignore[attr-defined]
        stop.add_note(
            f"{len(results)} of {len(wanted)} routers were finished; the attribute comparison has "
            "them."
        )
        raise
    return _comparison(experiments[0], results, too_long, runs)


def executed(
    experiments: Sequence[Experiment], runs: int, what: str, progress: Progress
) -> Iterator[Runs]:
    """Yield the runs of each experiment, message by message."""
    with patient_progress(what, len(experiments) * runs, progress) as report:
        for number, experiment in enumerate(experiments):
            label = RouterRuns(experiment, None, None).label

            def observe(event: Event, label: str = label) -> None:
                report(detail=f"{label}, slot {event.slot:,}")

            report(number * runs, detail=label)
            try:
                yield route(
                    experiment, runs=runs, engine="slots", observers=[observe], progress=False
                )
            except PopsnetError as error:
                error.args = (f"{label}: {error}",)  # type and fields stay as they are
                raise
            report((number + 1) * runs)


def _comparison(
    first: Experiment, results: Sequence[Runs], too_long: Sequence[Experiment], runs: int
) -> Comparison:
    experiments = [result.experiment for result in results]
    ran = map(RouterRuns, experiments, results, map(_expected, experiments))
    done = tuple(sorted(ran, key=lambda row: (row.missing > 0, row.mean_slots)))
    left_out = tuple(RouterRuns(experiment, None, _expected(experiment)) for experiment in too_long)
    bound = None if first.faults else _bound(first, runs)
    return Comparison(first.network, runs, bound, done, left_out, first.demand)


def candidates(
    d: Network | int,
    g: int | None,
    routers: Candidates | Candidate | None,
    surviving: bool,
    **parameters: Any,
) -> list[Experiment]:
    """Return an experiment for each router, or for those that are run by default.

    By default the variants that survive faults are there as well if ``surviving``. A variant that
    is given twice is refused.
    """
    network = network_of(d, g, parameters.pop("wavelengths", None))
    if network.n > MOST_PROCESSORS:
        raise wrong("n", f"{network.n:,}")(
            f"every message of every router is executed, so n must be at most {MOST_PROCESSORS:,}; "
            "choose a smaller network, or use recommend()."
        )
    given = (item for item in parameters.items() if item[1] is not None or item[0] == "seed")
    packets = with_demand(network, dict(given))
    several: Sequence[Any] = routers if isinstance(routers, list | tuple) else [routers]
    pairs = (pair if isinstance(pair, tuple) else (pair, None) for pair in several)
    chosen: Iterable[_Pair] = (find_variant(*pair) for pair in pairs)
    if routers is None:
        chosen = _default(network, "packets" in packets, surviving)
    experiments: list[Experiment] = []
    for router, variant in chosen:
        experiment = experiment_of(network, None, router=router, variant=variant, **packets)
        if experiment in experiments:
            name = RouterRuns(experiment, None, None).full_name
            raise wrong("router", name)(
                "this variant is given twice; give it once. Without a variant a router runs the "
                f"one that it chooses itself on {network}."
            )
        experiments.append(experiment)
    if not experiments:
        raise wrong("routers", "[]")("there is nothing to compare; give at least one router.")
    return experiments


def _default(network: Network, demand: bool, surviving: bool) -> Iterator[_Pair]:
    """Yield the routers that ship and apply; on a demand, every way in which they serve it."""
    shipped = shipped_routers()

    def usable(way: Variant | Relation) -> bool:
        return way.wavelengths or network.wavelengths == 1

    if demand:
        ways = ((router, *way) for router in shipped for way in router.relations.items())
        yield from ((router, name) for router, name, way in ways if usable(way))
        return
    single = replace(network, wavelengths=1)
    able = [router for router in shipped if router.applies_to(single)]
    if single != network:
        able = [router for router in shipped if router.uses_wavelengths_on(network)]
    yield from ((router, None) for router in able)
    for router in able if surviving else ():
        for name, variant in router.variants.items():
            if variant.survives and usable(variant) and variant.obstacle(network) is None:
                yield router, name


def _expected(experiment: Experiment) -> Forecast | None:
    """Return the forecast, which is for the variant that the router chooses itself."""
    if experiment.demand is not None:
        return None
    expected = forecast(experiment.resolved_router, experiment.network)
    return expected if expected and expected.variant == experiment.variant else None


def takes_long(experiment: Experiment) -> bool:
    """Return whether a router is expected to take too long to be run by default."""
    most = min(_MOST_SLOTS, _MOST_MESSAGES / experiment.network.n)
    return (expected := _expected(experiment)) is not None and expected.slots > most


def _bound(permutations: Experiment, runs: int) -> float:
    if permutations.demand is not None:
        return lower_bound(permutations.demand)
    arrays = map(permutations.destination, range(runs))
    return mean(lower_bound(Demand.of_permutation(permutations.network, to)) for to in arrays)
