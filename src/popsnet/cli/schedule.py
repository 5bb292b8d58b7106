"""``popsnet schedule``."""

from __future__ import annotations

import shlex
from itertools import combinations
from pathlib import Path
from typing import Annotated

import typer

import popsnet
from popsnet.cli import options as opt
from popsnet.cli.output import reporting, with_figure, with_file, with_trace
from popsnet.cli.timing import Timed, timed
from popsnet.errors import InputError
from popsnet.report import Report

_MOST_GROUPS = 8
"""The figure of a larger network shows the use of couplers, and no single packets."""


@reporting
@timed
def schedule(
    d: opt.D,
    g: opt.G,
    permutation: Annotated[
        str | None, typer.Option(help=opt.PERMUTATIONS, autocompletion=opt.complete_permutation)
    ] = None,
    demand: opt.Demand = None,
    matrix: opt.Matrix = None,
    unit: opt.Unit = None,
    hops: Annotated[
        str,
        typer.Option(
            help="1: straight; 2: through relays; mixed: some straight, the others through relays; "
            "auto: the shortest of these.",
            autocompletion=lambda typed: [
                one for one in ("auto", "1", "2", "mixed") if one.startswith(typed)
            ],
        ),
    ] = "auto",
    wavelengths: opt.Wavelengths = 1,
    permutation_seed: opt.SomePermutationSeed = None,
    seed: Annotated[int, typer.Option(help="Random seed of the scheduler.")] = 0,
    trace: Annotated[
        Path | None, typer.Option(help="Write a trace of the schedule to this file.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write the schedule as .csv with a row per message."),
    ] = None,
    ports: Annotated[
        Path | None,
        typer.Option(
            help="Write what every processor sends and listens to in every slot, as .csv."
        ),
    ] = None,
    figure: opt.Figure = None,
    timing: Timed = None,
) -> Report:
    """Compute a collision-free schedule for known traffic.

    Without --permutation, --demand or --matrix the traffic is a random permutation. The processors
    of a matrix, which counts packets between groups, are chosen by the schedule.
    """
    _require_files(out, ports, trace, figure, demand, matrix)
    if figure is not None and wavelengths > 1:
        raise InputError(
            f"--figure {figure}: the figure shows one packet per coupler and slot; leave it out "
            f"with --wavelengths {wavelengths}."
        )
    network = popsnet.Network(d, g, wavelengths)
    made = popsnet.schedule(
        network, demand, permutation=permutation, matrix=matrix, unit=unit,
        hops=hops, permutation_seed=permutation_seed, seed=seed, trace=trace,  # type: ignore[arg-type]
    )  # fmt: skip
    report = with_trace(made.report(timing), trace)
    if out is not None:
        made.write_csv(out)
        report = with_file(report, "Schedule", out)
    if ports is not None:
        made.write_ports(ports)
        report = with_file(report, "Ports", ports, "ports")
    if figure is not None:
        report = with_figure(report, figure, lambda: popsnet.plots.draw_schedule(made.schedule))
        if made.demand.network.g > _MOST_GROUPS:
            report = report.plus(_see(trace))
    return report


def _see(trace: Path | None) -> str:
    if trace is None:
        return "To see single packets, add --trace FILE and run popsnet view FILE."
    return f"To see single packets, run popsnet view {shlex.quote(str(trace))}."


def _require_files(
    out: Path | None,
    ports: Path | None,
    trace: Path | None,
    figure: Path | None,
    demand: Path | None,
    matrix: Path | None,
) -> None:
    for option, path in (("--out", out), ("--ports", ports)):
        if path is not None and path.suffix.lower() != ".csv":
            if path.suffix.lower() in (".jsonl", ".json"):
                raise InputError(
                    f"{option} {path} is a table, .csv; use --trace {path} for a trace."
                )
            raise InputError(f"{option} {path}: the name must end in .csv.")
        opt.require_file(path)
    files = {
        "--demand": demand, "--matrix": matrix, "--out": out, "--ports": ports, "--trace": trace,
        "--figure": figure,
    }  # fmt: skip
    given = {option: path.resolve() for option, path in files.items() if path is not None}
    for one, other in combinations(given, 2):
        if given[one] == given[other] and other != "--matrix":
            raise InputError(f"{one} and {other} are both {files[one]}; give two names.")
