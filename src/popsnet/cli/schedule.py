"""``popsnet schedule``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from popsnet.cli.figures import require_figure, with_figure
from popsnet.cli.options import PERMUTATIONS, D, Figure, G, PermutationSeed, complete_permutation
from popsnet.cli.output import reporting
from popsnet.errors import InputError
from popsnet.report import Fact, Report


@reporting
def schedule(
    d: D,
    g: G,
    permutation: Annotated[
        str | None,
        typer.Option(
            help=f"{PERMUTATIONS} Random if nothing is given.", autocompletion=complete_permutation
        ),
    ] = None,
    demand: Annotated[
        Path | None,
        typer.Option(help="A file with a row per packet, source and destination: .csv, .npy."),
    ] = None,
    matrix: Annotated[
        Path | None,
        typer.Option(
            help="A file with G × G counts of packets, a row per source group: .csv, .npy."
        ),
    ] = None,
    permutation_seed: PermutationSeed = 0,
    seed: Annotated[int, typer.Option(help="Seed of the walks that colour the packets.")] = 0,
    trace: Annotated[
        Path | None, typer.Option(help="Write what happens in every slot to this file.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Write the schedule as .csv, a row per message: slot, sender, coupler, listener, "
            "packet.",
        ),
    ] = None,
    figure: Figure = None,
) -> Report:
    """Make a schedule without collisions for everything that is to be sent on POPS(D, G)."""
    from popsnet.network import Network
    from popsnet.runs.schedule import schedule as make

    _require_files(out, trace, figure)
    made = make(
        Network(d, g), demand, permutation=permutation, matrix=matrix,
        permutation_seed=permutation_seed, seed=seed, trace=trace,
    )  # fmt: skip
    report = made.report()
    if trace is not None:
        said = f"Trace written to {trace}; popsnet check {trace} replays it."
        report = report.plus(Fact("trace", str(trace)), said)
    if out is not None:
        made.write_csv(out)
        report = report.plus(Fact("out", str(out)), f"Schedule written to {out}.")
    if figure is None:
        return report
    from popsnet.plots.schedule import draw_schedule

    return with_figure(report, draw_schedule(made.schedule), figure)


def _require_files(out: Path | None, trace: Path | None, figure: Path | None) -> None:
    from popsnet.files import require_writable

    if out is not None:
        if out.suffix.lower() in (".jsonl", ".json"):
            raise InputError(f"--out {out} is a table, .csv; use --trace {out} for a trace.")
        if out.suffix.lower() != ".csv":
            raise InputError(f"--out {out}: the name must end in .csv.")
        require_writable(out)
    require_figure(figure)
    if trace is not None:
        for option, other in (("--out", out), ("--figure", figure)):
            if other is not None and other.resolve() == trace.resolve():
                raise InputError(f"--trace and {option} are both {other}; give two names.")
