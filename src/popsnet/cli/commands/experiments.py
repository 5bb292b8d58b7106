"""Commands about many runs, and what theory says of them: their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from popsnet.cli.options import STORE, D, G, Json, complete_permutation

__all__ = ["exact", "paper", "sweep", "theory"]


def sweep(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="What is to be run.")],
    store: Annotated[Path, typer.Option(help="Where results are kept.")] = STORE,
    workers: Annotated[
        int | None, typer.Option(help="Shards at work at once; as many as there are processors.")
    ] = None,
    json: Json = False,
) -> None:
    """Do all runs that a file asks for, except those the store has already."""
    from popsnet.cli.sweep import sweep_command

    sweep_command(file, store=store, workers=workers, as_json=json)


def paper(
    out: Annotated[
        Path,
        typer.Option(
            help="The folder for the report, figures, runs to watch, CSV and the kept runs."
        ),
    ] = Path("paper"),
    runs: Annotated[
        int | None, typer.Option(help="Runs a row, by tens; as many as are cheap if not given.")
    ] = None,
    max_n: Annotated[
        int | None, typer.Option(help="The largest network, 4 to 2^24 processors.")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="At least 100 runs of every row up to n = 2^24.")
    ] = False,
    json: Json = False,
) -> None:
    """The paper's tables and figures, with verdicts, and theory; goes on where it was stopped."""
    from popsnet.cli.paper import paper_command

    paper_command(out=out, runs=runs, max_n=max_n, full=full, as_json=json)


def exact(
    d: D,
    g: G,
    router: Annotated[str, typer.Option(help="mei-rizzi or relay.")] = "mei-rizzi",
    permutation: Annotated[
        str,
        typer.Option(
            help="random for the mean over all permutations; or one, by name or from a file.",
            autocompletion=complete_permutation,
        ),
    ] = "random",
    everybody: Annotated[
        bool,
        typer.Option("--everybody", help="For d > g: all packets take part in every step."),
    ] = False,
    upto: Annotated[
        int | None,
        typer.Option(help="List no more than so many steps."),
    ] = None,
    json: Json = False,
) -> None:
    """The exact law of the number of steps on a tiny POPS(D, G), as fractions."""
    from popsnet.cli.exact import exact_command

    exact_command(
        d, g, router=router, permutation=permutation, everybody=everybody, upto=upto, as_json=json
    )


def theory(
    d: D,
    g: G,
    runs: Annotated[
        int, typer.Option(help="So many runs of each randomized router, to be compared.")
    ] = 0,
    figure: Annotated[
        Path | None,
        typer.Option(help="Draw a run beside the phases of the proof: FIGURE.svg and .png."),
    ] = None,
    json: Json = False,
) -> None:
    """What mathematics says of routing on POPS(D, G): fluid limits, bounds, tails."""
    from popsnet.cli.theory import theory_command

    theory_command(d, g, runs=runs, figure=figure, as_json=json)
