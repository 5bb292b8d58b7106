"""``popsnet traffic``, ``schedule`` and ``check``."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import popsnet
from popsnet.base.errors import InputError
from popsnet.base.files import is_file, require_writable
from popsnet.base.progress import patient_progress
from popsnet.base.report import Report, plural
from popsnet.cli import options as opt
from popsnet.cli.output import Interruption, reporting, with_figure, with_file, with_trace

if TYPE_CHECKING:
    from popsnet import Timing
    from popsnet.experiment.traffic import TrafficExperiment
    from popsnet.studies.traffic.curves import LoadCurves

_DEFAULT = "rotor"
_NEXT = (
    "One load: --load LOAD. Several: --loads FROM:TO:COUNT. The largest stable load: --saturation."
)


@dataclass(frozen=True, kw_only=True)
class TrafficOptions(opt.Keywords):
    """One or several points of traffic.

    Parameters
    ----------
    scheduler
        tdm, rotor, vlb, hop3, aloha, relay, ideal or epochs, or a file.py that registers one.
        Repeat the option for more (default: rotor; with --loads or --saturation all that are
        on-line).
    load
        Packets per processor and slot: one point.
    loads
        Several loads: FROM:TO:COUNT, FROM:TO:COUNT:log (equal ratios), or 0.1,0.2,0.5.
    saturation
        Find the largest stable load, as a bracket.
    pattern
        uniform, uniform-with-self, group-shift, hotspot:H:F (a fraction F to H destinations),
        incast:M (M sources, one destination), gravity, gravity:SEED; or a permutation: transpose,
        shift:d, random, …, or a file of one.
    burst
        Packets arrive in bursts of this mean length, one destination each.
    matrix
        A file with rates instead of a pattern, G × G (a row per source group) or N × N (a row per
        source): .csv, .npy or .parquet.
    packets
        A .csv file with a row per packet: slot,source,destination[,packets].
    buffer
        Packets of its own that a processor may hold, and as many of others. [0: any number]
    slots
        Slots to measure. (default: until the mean delay is precise)
    precision
        Half the width of the 95 % interval of the mean delay, relative to it: 2% or 0.02.
        (default: 2%)
    max_slots
        The most slots to measure.
    overload
        Allow loads that no scheduler can carry.
    seed
        Random seed of the scheduler.
    arrival_seed
        Random seed of the arrivals.
    known_faults
        Every processor knows the dead parts: packets without a path are refused when they arrive,
        and dead couplers and relays are not used.
    """

    d: int
    g: int
    scheduler: Annotated[
        opt.Names, typer.Option(metavar="NAME[:VARIANT]", autocompletion=opt.complete_scheduler)
    ] = None
    load: float | None = None
    loads: Annotated[str | None, typer.Option(metavar="LOADS")] = None
    saturation: bool = False
    pattern: str = "uniform"
    burst: float | None = None
    matrix: Path | None = None
    packets: Annotated[Path | None, typer.Option(metavar="FILE.csv")] = None
    buffer: int = 0
    slots: int | None = None
    precision: Annotated[str | None, typer.Option(metavar="SHARE")] = None
    max_slots: int | None = None
    wavelengths: opt.Wavelengths = 1
    overload: bool = False
    seed: int = 0
    arrival_seed: int = 0
    fault: opt.Fault = None
    loss: float | None = None
    loss_per: opt.LossPer = None
    fault_seed: int | None = None
    known_faults: bool = False

    @property
    def chosen(self) -> str:
        """What is asked for: load, loads, saturation, packets or an overview."""
        options = {
            "--load": self.load is not None,
            "--loads": self.loads is not None,
            "--saturation": self.saturation,
            "--packets": self.packets is not None,
        }
        asked = [name for name, is_given in options.items() if is_given]
        if len(asked) > 1:
            raise InputError(f"{' and '.join(asked)} are given; give one of them.")
        return asked[0].removeprefix("--") if asked else "overview"

    def points(self) -> list[TrafficExperiment]:
        """Return an experiment for each scheduler and load."""
        from popsnet.experiment.traffic import TrafficExperiment
        from popsnet.workloads.loads import read_loads

        keywords = self.keywords()
        for name in ("scheduler", "load", "loads", "saturation"):
            keywords.pop(name, None)
        keywords["overload"] |= self.saturation
        names = self.scheduler or self._schedulers()
        load = _ANY if self.saturation else self.load
        loads = [load] if self.loads is None else read_loads(self.loads)
        try:
            return [
                TrafficExperiment(scheduler=name, load=load, **keywords)
                for name in names
                for load in loads
            ]
        except InputError as error:
            if self.loads is None or error.parameter != "load":
                raise
            # it is one of those that were typed
            text = f"loads = {self.loads!r}, load {str(error).removeprefix('load = ')}"
            raise InputError(text, parameter="loads", others=error.others) from None

    def _schedulers(self) -> list[str]:
        from popsnet.programs.scheduler import all_schedulers

        if self.chosen in ("load", "packets"):
            return [_DEFAULT]
        able = [s for s in all_schedulers() if s.wavelengths or self.wavelengths == 1]
        return [s.name for s in able if s.online and not s.file]


@reporting
def traffic(
    *,
    context: typer.Context,
    options: TrafficOptions,
    engine: str = "auto",
    trace: Path | None = None,
    trace_slots: int | None = None,
    figure: opt.Figure = None,
    timing: opt.Timed,
) -> Report:
    """Let packets keep arriving: latency, throughput and saturation of schedulers.

    Example: popsnet traffic 8 8 --scheduler rotor --scheduler tdm --loads 0.1,0.4 --slots 5000

    Parameters
    ----------
    engine
        auto, slots or fused.
    trace_slots
        Slots of the trace, from the first on. (default: 200)
    """
    for parameters, why in _REFUSED.get(options.chosen, ()):
        opt.refuse_given(context, parameters, why)
    if options.chosen == "overview":
        from popsnet.studies.traffic.overview import traffic_overview

        network = popsnet.Network(options.d, options.g, options.wavelengths)
        overview = traffic_overview(
            network, pattern=options.pattern, burst=options.burst, matrix=options.matrix,
            seed=options.arrival_seed,
        )  # fmt: skip
        return overview.report(timing).plus(_NEXT)
    points = options.points()
    if options.saturation:
        return _saturation(points, engine, timing)
    if trace is not None and (len(points) > 1 or figure is not None):
        raise InputError(
            f"--trace {trace}: a trace is of one point; give one scheduler and load, and no "
            "--figure."
        )
    if trace is None:
        opt.refuse_given(context, ["trace_slots"], "needs --trace FILE; give it, or leave it out.")
    if len(points) == 1 and figure is None:
        return _point(points[0], timing, trace, engine=engine, trace_slots=trace_slots)
    return _curves(points, engine, figure, timing)


_REFUSED: dict[str, list[tuple[tuple[str, ...], str]]] = {
    "overview": [
        (
            (
                "scheduler", "buffer", "slots", "precision", "max_slots", "overload", "seed",
                "engine", "fault", "loss", "loss_per", "fault_seed", "known_faults", "trace",
                "trace_slots", "figure",
            ),
            "needs packets that arrive: give --load LOAD for one point, --loads FROM:TO:COUNT for "
            "several, or --saturation; or leave it out.",
        )
    ],
    "saturation": [
        (("overload",), "is for given loads; --saturation tries all there are. Leave it out."),
        (("trace", "trace_slots"), "is for one point, and --saturation runs several; give --load."),
        (("figure",), "is of several given loads; give --loads instead of --saturation."),
    ],
    "packets": [
        (
            ("pattern", "burst", "matrix", "arrival_seed"),
            "is for packets that are drawn, and --packets lists them; leave one of the two out.",
        )
    ],
}  # fmt: skip
"""By what is asked for: options that would change nothing, and why."""

_ANY = 1e-6
"""A load that every pattern admits. The bisection replaces it."""


def _point(
    experiment: TrafficExperiment, timing: Timing | None, trace: Path | None, **how: Any
) -> Report:
    try:
        result = popsnet.simulate(experiment, trace=trace, **how)
    except KeyboardInterrupt as stop:
        if (part := getattr(stop, "result", None)) is None:
            raise Interruption("Interrupted before anything was measured.") from None
        raise Interruption("Interrupted: the result is of a part.", part.report(timing)) from None
    return with_trace(result.report(timing), trace)


def _curves(
    points: list[TrafficExperiment],
    engine: str,
    figure: opt.FigureOptions | None,
    timing: Timing | None,
) -> Report:
    from popsnet.studies.traffic.curves import LoadCurves, run_loads

    try:
        curves = run_loads(points, engine=engine)
    except KeyboardInterrupt as stop:
        done = getattr(stop, "curves", LoadCurves(()))
        message = f"Interrupted: {len(done.results)} of {plural(len(points), 'point')} finished."
        part = _drawn(done, figure, timing) if done.results else None
        raise Interruption(message, part) from None
    return _drawn(curves, figure, timing)


def _drawn(curves: LoadCurves, figure: opt.FigureOptions | None, timing: Timing | None) -> Report:
    report = curves.report(timing)
    is_stable = [p.delay.mean is not None and p.verdict != "unstable" for p in curves.results]
    if figure and not any(is_stable):
        return report.plus("No figure is written: every point is unstable.")
    return with_figure(
        report, figure, lambda: popsnet.plots.draw_load_curves(curves.results, timing)
    )


def _saturation(points: list[TrafficExperiment], engine: str, timing: Timing | None) -> Report:
    from popsnet.studies.traffic.saturation import Saturations, find_saturations

    try:
        return find_saturations(points, engine=engine).report(timing)
    except KeyboardInterrupt as stop:
        partial = getattr(stop, "saturations", Saturations({}))
        finished = len(partial.brackets.keys() - set(partial.unfinished))
        message = f"Interrupted: {finished} of {plural(len(points), 'scheduler')} finished."
        raise Interruption(message, partial.report(timing) if partial.brackets else None) from None


_MOST_GROUPS = 8
"""The figure of a larger network shows the use of couplers, and no single packets."""


@dataclass(frozen=True, kw_only=True)
class ScheduleOptions(opt.ScheduledOptions):
    """How a schedule is made.

    Parameters
    ----------
    hops
        1: straight; 2: through relays; mixed: some straight, the others through relays; auto: the
        shortest of these.
    seed
        Random seed of the scheduler.
    """

    d: int
    g: int
    hops: Annotated[str, typer.Option(autocompletion=opt.complete_hops)] = "auto"
    seed: int = 0


@reporting
def schedule(
    *,
    options: ScheduleOptions,
    trace: Path | None = None,
    out: Annotated[Path | None, typer.Option("--out", "-o")] = None,
    ports: Path | None = None,
    figure: opt.Figure = None,
    timing: opt.Timed,
) -> Report:
    """Compute a collision-free schedule for known traffic.

    Without --permutation, --packets or --matrix the traffic is a random permutation. The processors
    of a matrix that counts packets between groups are chosen by the schedule. With --fault the
    schedule goes around dead parts, and lists the packets that have no path.

    Example: popsnet schedule 12 8 --permutation transpose --out schedule.csv

    Exit code 1: packets are not delivered.

    Parameters
    ----------
    trace
        Write a trace of the schedule to this file.
    out
        Write the schedule as .csv with a row per message.
    ports
        Write what every processor sends and listens to in every slot, as .csv.
    """
    files = {"--packets": options.packets, "--matrix": options.matrix, "--out": out}
    files |= {"--ports": ports, "--trace": trace, "--figure": figure.figure if figure else None}
    _require_files({option: path for option, path in files.items() if path is not None})
    keywords = options.keywords()
    network = popsnet.Network(*map(keywords.pop, ("d", "g", "wavelengths")))
    made = popsnet.schedule(network, **keywords, trace=trace)
    report = with_trace(made.report(timing), trace)
    if out is not None:
        made.write_csv(out)
        report = with_file(report, "Schedule", out)
    if ports is not None:
        made.write_ports(ports)
        report = with_file(report, "Ports", ports, "ports")
    report = with_figure(report, figure, lambda: popsnet.plots.draw_schedule(made.schedule))
    if figure is None or network.g <= _MOST_GROUPS:
        return report
    cure = "add --trace FILE and run popsnet view FILE"
    if trace is not None:
        cure = f"run popsnet view {shlex.quote(str(trace))}"
    return report.plus(f"To see single packets, {cure}.")


def _require_files(files: dict[str, Path]) -> None:
    for option in [option for option in files if option in ("--out", "--ports")]:
        path = files[option]
        if path.suffix.lower() in (".jsonl", ".json"):
            raise InputError(f"{option} {path} is a table, .csv; use --trace {path} for a trace.")
        if path.suffix.lower() != ".csv":
            raise InputError(f"{option} {path}: the name must end in .csv.")
        require_writable(path)
    for name, other in combinations(files, 2):
        if files[name].resolve() == files[other].resolve() and other != "--matrix":
            raise InputError(f"{name} and {other} are both {files[name]}; give two names.")


@reporting
def check(
    *,
    context: typer.Context,
    what: Annotated[list[str], typer.Argument(metavar="TRACE | D G SCHEDULE")],
    goal: opt.ScheduledOptions,
) -> Report:
    """Check a trace, or a schedule in a table, against the rules of the network.

    It is replayed by a program that shares no code with the simulator. A schedule has the columns
    slot (from 1), sender, receiver and packet; packet i starts at processor i. What it must deliver
    is given as for popsnet schedule, or by its columns source and destination; otherwise the rules
    are checked, and that every message is heard.

    Example: popsnet check run.jsonl

    Exit code 1: a rule is broken, or packets are not delivered.

    Parameters
    ----------
    what
        A file that --trace wrote; or processors per group, number of groups, and a table.
    """
    network, files = opt.network_and_files(what)
    if len(files) != 1:
        raise InputError(f"{' '.join(what)}: give one trace, or D, G and one schedule.")
    if network is not None:
        return goal.check(*network, files[0]).report()
    from popsnet.runs.schedule_check import trace_report

    (trace,) = files
    opt.refuse_given(context, vars(goal), f"is for a schedule; {trace} is a trace. Leave it out.")
    size = trace.stat().st_size if is_file(trace) else None
    with patient_progress(f"checking {trace.name}", size) as update:
        result = popsnet.check_trace(trace, update)
    return trace_report(result, str(trace))
