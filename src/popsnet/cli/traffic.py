"""``popsnet traffic``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import popsnet
from popsnet.cli import options as opt
from popsnet.cli.output import Interrupted, reporting, with_figure, with_trace
from popsnet.cli.timing import Timed, timed
from popsnet.errors import InputError
from popsnet.report import Report, counted

if TYPE_CHECKING:
    from popsnet.traffic import LoadCurves, TrafficExperiment

_DEFAULT = "rotor"
_NEXT = (
    "One load: --load LOAD. Several: --loads FROM:TO:COUNT. The largest stable load: --saturation."
)

_PATTERNS = (
    "uniform, uniform-with-self, group-shift, hotspot:H:F (a fraction F to H destinations), "
    "incast:M (M sources, one destination), gravity, gravity:SEED; or a permutation: transpose, "
    "shift:d, random, …, or a file of one."
)


@reporting
@timed
def traffic(
    context: typer.Context,
    d: opt.D,
    g: opt.G,
    scheduler: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[:VARIANT]",
            help="tdm, rotor, vlb, hop3, aloha, relay, ideal or epochs, or a file.py that "
            f"registers one. Repeat the option for more (default: {_DEFAULT}; with --loads or "
            "--saturation all that are on-line).",
            autocompletion=opt.complete_scheduler,
        ),
    ] = None,
    load: Annotated[
        float | None, typer.Option(help="Packets per processor and slot: one point.")
    ] = None,
    loads: Annotated[
        str | None,
        typer.Option(
            "--loads",
            metavar="LOADS",
            help="Several loads: FROM:TO:COUNT, FROM:TO:COUNT:log (equal ratios), or 0.1,0.2,0.5.",
        ),
    ] = None,
    saturation: Annotated[
        bool, typer.Option("--saturation", help="Find the largest stable load, as a bracket.")
    ] = False,
    pattern: Annotated[str, typer.Option(help=_PATTERNS)] = "uniform",
    burst: Annotated[
        float | None,
        typer.Option(help="Packets arrive in bursts of this mean length, one destination each."),
    ] = None,
    matrix: Annotated[
        Path | None,
        typer.Option(help="Rates instead of a pattern: n x n or g x g, a .csv or .npy file."),
    ] = None,
    arrivals: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv", help="Packets, one per line: slot,source,destination[,packets]."
        ),
    ] = None,
    buffer: Annotated[
        int,
        typer.Option(
            help="Packets of its own that a processor may hold, and as many of others. "
            "[0: any number]"
        ),
    ] = 0,
    slots: Annotated[
        int | None,
        typer.Option(help="Slots to measure. (default: until the mean delay is precise)"),
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option(
            help="Precise is a 95 % interval of ± this share of the mean. (default: 0.02)"
        ),
    ] = None,
    max_slots: Annotated[int | None, typer.Option(help="The most slots to measure.")] = None,
    wavelengths: opt.Wavelengths = 1,
    overload: Annotated[
        bool, typer.Option("--overload", help="Allow loads that no scheduler can carry.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Random seed of the scheduler.")] = 0,
    arrival_seed: Annotated[int, typer.Option(help="Random seed of the arrivals.")] = 0,
    engine: Annotated[str, typer.Option(help="auto, slots or fused.")] = "auto",
    fault: opt.Fault = None,
    loss: opt.Loss = None,
    loss_per: opt.LossPer = None,
    fault_seed: opt.FaultSeed = None,
    known_faults: Annotated[
        bool,
        typer.Option(
            "--known-faults",
            help="Every processor knows the dead parts: packets without a path are refused when "
            "they arrive, and dead couplers and relays are not used.",
        ),
    ] = False,
    trace: opt.Trace = None,
    trace_slots: Annotated[
        int | None, typer.Option(help="Slots of the trace, from the first on. (default: 200)")
    ] = None,
    figure: opt.Figure = None,
    timing: Timed = None,
) -> Report:
    """Let packets keep arriving: latency, throughput and saturation of schedulers."""
    from popsnet import traffic as model

    chosen = _one_of(load, loads, saturation, arrivals)
    for parameters, why in _REFUSED.get(chosen, ()):
        opt.refuse_given(context, parameters, why)
    options: dict[str, Any] = {
        "pattern": pattern, "burst": burst, "matrix": matrix, "packets": arrivals,
        "buffer": buffer, "slots": slots, "precision": precision, "max_slots": max_slots,
        "seed": seed, "arrival_seed": arrival_seed, "overload": overload or saturation,
        **opt.faults(fault, loss, loss_per, fault_seed), "known_faults": known_faults,
        "wavelengths": wavelengths,
    }  # fmt: skip
    if chosen == "overview":
        network = popsnet.Network(d, g, wavelengths)
        given = {key: options[key] for key in ("pattern", "burst", "matrix")}
        overview = model.traffic_overview(network, **given, seed=arrival_seed)
        return overview.report(timing).plus(_NEXT)
    names = scheduler or _defaults(chosen, wavelengths)
    values = [_ANY if saturation else load] if loads is None else model.read_loads(loads)
    with _load_of(loads):
        points = [
            model.TrafficExperiment(d, g, scheduler=name, load=one, **options)
            for name in names
            for one in values
        ]
    if chosen == "saturation":
        return _saturation(points, engine, timing)
    if trace is not None and (len(points) > 1 or figure is not None):
        raise InputError(
            f"--trace {trace}: a trace is of one point; give one scheduler and load, and no "
            "--figure."
        )
    if trace is None:
        opt.refuse_given(context, ["trace_slots"], "needs --trace FILE; give it, or leave it out.")
    if len(points) == 1 and figure is None:
        return _point(points[0], engine, trace, trace_slots, timing)
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
            "several, --saturation or --arrivals FILE.csv; or leave it out.",
        )
    ],
    "saturation": [
        (("overload",), "is for given loads; --saturation tries all there are. Leave it out."),
        (("trace", "trace_slots"), "is for one point, and --saturation runs several; give --load."),
        (("figure",), "is of several given loads; give --loads instead of --saturation."),
    ],
    "arrivals": [
        (
            ("pattern", "burst", "matrix", "arrival_seed"),
            "is for packets that are drawn, and --arrivals lists them; leave one of the two out.",
        )
    ],
}  # fmt: skip
"""By what is asked for: options that would change nothing, and why."""

_ANY = 1e-6
"""A load that every pattern admits. The bisection replaces it."""


@contextmanager
def _load_of(loads: str | None) -> Iterator[None]:
    """Say of a load that is refused that it is one of those that were typed."""
    try:
        yield
    except InputError as error:
        typed = "load = " if loads is None else f"loads = {loads!r}, load "
        raise InputError(re.sub("^load = ", lambda _: typed, str(error))) from None


def _one_of(load: float | None, loads: str | None, saturation: bool, arrivals: Path | None) -> str:
    """Return what is asked for, and refuse two things at once."""
    given = {
        "--load": load is not None,
        "--loads": loads is not None,
        "--saturation": saturation,
        "--arrivals": arrivals is not None,
    }
    asked = [name for name, is_given in given.items() if is_given]
    if len(asked) > 1:
        raise InputError(f"{' and '.join(asked)} are given; give one of them.")
    return asked[0].removeprefix("--") if asked else "overview"


def _defaults(chosen: str, wavelengths: int) -> list[str]:
    from popsnet.traffic import all_schedulers

    if chosen in ("load", "arrivals"):
        return [_DEFAULT]
    able = [one for one in all_schedulers() if one.wavelengths or wavelengths == 1]
    return [one.name for one in able if one.online and not one.file]


def _point(
    experiment: TrafficExperiment,
    engine: str,
    trace: Path | None,
    trace_slots: int | None,
    timing: Timed,
) -> Report:
    try:
        result = popsnet.simulate(experiment, engine=engine, trace=trace, trace_slots=trace_slots)
    except KeyboardInterrupt as stop:
        part = getattr(stop, "result", None)
        message = "Interrupted before anything was measured."
        if part is None:
            raise Interrupted(message) from None
        raise Interrupted("Interrupted: the result is of a part.", part.report(timing)) from None
    return with_trace(result.report(timing), trace)


def _curves(
    points: list[TrafficExperiment], engine: str, figure: Path | None, timing: Timed
) -> Report:
    from popsnet.traffic import LoadCurves, run_loads

    try:
        curves = run_loads(points, engine=engine)
    except KeyboardInterrupt as stop:
        done = getattr(stop, "curves", LoadCurves(()))
        message = f"Interrupted: {len(done.results)} of {counted(len(points), 'point')} finished."
        raise Interrupted(message, _drawn(done, figure, timing) if done.results else None) from None
    return _drawn(curves, figure, timing)


def _drawn(curves: LoadCurves, figure: Path | None, timing: Timed) -> Report:
    report = curves.report(timing)
    if figure is None:
        return report
    if all(point.delay.mean is None or point.verdict == "unstable" for point in curves.results):
        return report.plus("No figure is written: every point is unstable.")
    return with_figure(
        report, figure, lambda: popsnet.plots.draw_load_curves(curves.results, timing)
    )


def _saturation(points: list[TrafficExperiment], engine: str, timing: Timed) -> Report:
    from popsnet.traffic import Saturations, find_saturations

    try:
        return find_saturations(points, engine=engine).report(timing)
    except KeyboardInterrupt as stop:
        kept = getattr(stop, "saturations", Saturations({}))
        finished = len(kept.brackets.keys() - set(kept.unfinished))
        done = f"{finished} of {counted(len(points), 'scheduler')}"
        message = f"Interrupted: {done} finished."
        raise Interrupted(message, kept.report(timing) if kept.brackets else None) from None
