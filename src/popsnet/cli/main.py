"""The commands and their options; what they do is imported when they are called."""

from __future__ import annotations

import io
import itertools
import os
import re
import sys
from pathlib import Path
from typing import Annotated

import typer

import popsnet
from popsnet.cli import adversary, results
from popsnet.errors import InputError, PopsnetError

__all__ = ["app", "main"]

app = typer.Typer(
    name="popsnet",
    help="On-line permutation routing on Partitioned Optical Passive Star networks.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(results.app, name="results")
app.add_typer(adversary.app, name="adversary")

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def _complete_router(incomplete: str) -> list[str]:
    from popsnet.routing import all_routers

    return [one.name for one in all_routers() if one.name.startswith(incomplete)]


def _complete_permutation(incomplete: str) -> list[str]:
    from popsnet.permutations import NAMES

    return [name for name in (*NAMES, "shift:d") if name.startswith(incomplete)]


def _complete_engine(incomplete: str) -> list[str]:
    from popsnet.engines import ENGINES

    return [name for name in ("auto", *ENGINES) if name.startswith(incomplete)]


def _complete_network(incomplete: str) -> list[str]:
    from popsnet.sorting import NETWORKS

    return [name for name in NETWORKS if name.startswith(incomplete)]


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"popsnet {popsnet.__version__}")
        raise typer.Exit


@app.callback()
def _popsnet(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    pass


@app.command()
def route(
    d: Annotated[int, typer.Argument(metavar="D", help="Processors in a group.")],
    g: Annotated[int, typer.Argument(metavar="G", help="Groups.")],
    router: Annotated[
        str,
        typer.Option(
            help="A router (see popsnet routers), or a file.py that registers one.",
            autocompletion=_complete_router,
        ),
    ] = "mei-rizzi",
    variant: Annotated[
        str | None, typer.Option(help="A variant of the router; its default if not given.")
    ] = None,
    schedule: Annotated[
        str | None,
        typer.Option(help="A variant written out, for routers that make variants of a text."),
    ] = None,
    permutation: Annotated[
        str,
        typer.Option(
            help="random, keyed, identity, reversal, transpose, bit-reversal, shuffle, "
            "shift (by 1), shift:K, shift:d, group-permutation, tornado; or a file: .npy, .csv, "
            ".json.",
            autocompletion=_complete_permutation,
        ),
    ] = "random",
    detect: Annotated[
        bool,
        typer.Option(
            "--detect",
            help="A global OR after every step, so that everybody knows the end. Its slots count.",
        ),
    ] = False,
    runs: Annotated[int, typer.Option(help="Runs, each with its own permutation and coins.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed of the router's coins.")] = 0,
    permutation_seed: Annotated[int, typer.Option(help="Seed of the permutations.")] = 0,
    engine: Annotated[
        str, typer.Option(help="auto, objects, slots or fused.", autocompletion=_complete_engine)
    ] = "auto",
    max_steps: Annotated[
        int | None, typer.Option(help="Cap: a run is stopped after so many steps (or 1000).")
    ] = None,
    trace: Annotated[
        Path | None, typer.Option(help="Write what happens in every slot to this file (one run).")
    ] = None,
    json: Json = False,
) -> None:
    """Route permutations on POPS(D, G), slot by slot."""
    from popsnet.cli.route import route_command

    route_command(
        d,
        g,
        router=router,
        variant=variant,
        schedule=schedule,
        detect=detect,
        permutation=permutation,
        runs=runs,
        seed=seed,
        permutation_seed=permutation_seed,
        engine=engine,
        max_steps=max_steps,
        trace=trace,
        as_json=json,
    )


@app.command()
def schedule(
    d: Annotated[int, typer.Argument(metavar="D", help="Processors in a group.")],
    g: Annotated[int, typer.Argument(metavar="G", help="Groups.")],
    permutation: Annotated[
        str | None,
        typer.Option(
            help="A permutation by name, as for popsnet route, or a file: .npy, .csv, .json. "
            "Random if nothing is given.",
            autocompletion=_complete_permutation,
        ),
    ] = None,
    demand: Annotated[
        Path | None,
        typer.Option(help="A file with a row a packet, source and destination: .csv, .npy."),
    ] = None,
    matrix: Annotated[
        Path | None,
        typer.Option(help="A file with G × G counts of packets, a row a source group: .csv, .npy."),
    ] = None,
    permutation_seed: Annotated[int, typer.Option(help="Seed of the permutation.")] = 0,
    seed: Annotated[int, typer.Option(help="Seed of the walks that colour the packets.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the schedule: .jsonl, a trace for popsnet check; or .csv, a row a message: "
            "slot, sender, coupler, listener, packet."
        ),
    ] = None,
    figure: Annotated[
        Path | None, typer.Option(help="Draw slots and couplers: .svg or .png.")
    ] = None,
    json: Json = False,
) -> None:
    """Make a schedule without collisions for everything that is to be sent on POPS(D, G)."""
    from popsnet.cli.schedule import schedule_command

    schedule_command(
        d,
        g,
        permutation=permutation,
        demand=demand,
        matrix=matrix,
        permutation_seed=permutation_seed,
        seed=seed,
        out=out,
        figure=figure,
        as_json=json,
    )


@app.command()
def check(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="A file that --trace wrote.")],
    json: Json = False,
) -> None:
    """Replay a trace by the rules of the network alone; exit 1 if it breaks any."""
    from popsnet.cli.check import check_command

    check_command(trace, as_json=json)


@app.command()
def sweep(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="What is to be run.")],
    store: Annotated[Path, typer.Option(help="Where results are kept.")] = results.STORE,
    workers: Annotated[
        int | None, typer.Option(help="Shards at work at once; as many as there are processors.")
    ] = None,
    json: Json = False,
) -> None:
    """Do all runs that a file asks for, except those the store has already."""
    from popsnet.cli.sweep import sweep_command

    sweep_command(file, store=store, workers=workers, as_json=json)


@app.command()
def paper(
    out: Annotated[
        Path, typer.Option(help="The folder for the report, the figures, CSV and the kept runs.")
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


@app.command()
def network(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="merge-exchange, bitonic or bag-tree.",
            autocompletion=_complete_network,
        ),
    ],
    n: Annotated[int, typer.Argument(metavar="N", help="Wires.")],
    seed: Annotated[
        int, typer.Option(help="Seed of the bag tree's matchings, and of --check.")
    ] = 0,
    figure: Annotated[
        Path | None, typer.Option(help="Write a Knuth diagram to this SVG file.")
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Try inputs of zeros and ones: all for N <= 20, some above."),
    ] = False,
    growth: Annotated[
        bool,
        typer.Option("--growth", help="Depths of bag-tree for all powers of two up to N."),
    ] = False,
    json: Json = False,
) -> None:
    """Make a sorting network; exit 1 if it is found not to sort."""
    from popsnet.cli.network import network_command

    network_command(name, n, seed=seed, figure=figure, check=check, growth=growth, as_json=json)


@app.command()
def exact(
    d: Annotated[int, typer.Argument(metavar="D", help="Processors in a group.")],
    g: Annotated[int, typer.Argument(metavar="G", help="Groups.")],
    router: Annotated[str, typer.Option(help="mei-rizzi or relay.")] = "mei-rizzi",
    permutation: Annotated[
        str,
        typer.Option(
            help="random for the mean over all permutations; or one, by name or from a file.",
            autocompletion=_complete_permutation,
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


@app.command()
def theory(
    d: Annotated[int, typer.Argument(metavar="D", help="Processors in a group.")],
    g: Annotated[int, typer.Argument(metavar="G", help="Groups.")],
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


@app.command()
def sort(
    d: Annotated[int, typer.Argument(metavar="D", help="Processors in a group.")],
    g: Annotated[int, typer.Argument(metavar="G", help="Groups.")],
    network: Annotated[
        str,
        typer.Option(help="merge-exchange, bitonic or bag-tree.", autocompletion=_complete_network),
    ] = "merge-exchange",
    keys: Annotated[
        str, typer.Option(help="random, or a file of D·G numbers: .npy, or text.")
    ] = "random",
    seed: Annotated[int, typer.Option(help="Seed of random keys, and of the bag tree.")] = 0,
    json: Json = False,
) -> None:
    """Sort D·G values on POPS(D, G), slot by slot; exit 1 if they are not in order then."""
    from popsnet.cli.sort import sort_command

    sort_command(d, g, name=network, keys=keys, seed=seed, as_json=json)


@app.command()
def compute(
    what: Annotated[str, typer.Argument(metavar="WHAT", help="move, sum or prefix-sums.")],
    d: Annotated[int, typer.Argument(metavar="D", help="Processors in a group.")],
    g: Annotated[int, typer.Argument(metavar="G", help="Groups; D·G is a power of two.")],
    dimension: Annotated[int, typer.Option(help="The dimension of the move.")] = 0,
    seed: Annotated[int, typer.Option(help="Seed of the values.")] = 0,
    json: Json = False,
) -> None:
    """Do what a hypercube does on POPS(D, G), and check it; exit 1 if it is wrong."""
    from popsnet.cli.compute import compute_command

    compute_command(what, d, g, dimension=dimension, seed=seed, as_json=json)


@app.command()
def compare(
    d: Annotated[int, typer.Argument(metavar="D", help="Processors in a group.")],
    g: Annotated[int, typer.Argument(metavar="G", help="Groups.")],
    runs: Annotated[int, typer.Option(help="Permutations, the same for all routers.")] = 10,
    seed: Annotated[int, typer.Option(help="Seed of the permutations and of all coins.")] = 0,
    figure: Annotated[
        Path | None, typer.Option(help="Draw the slots of all routers: .svg or .png.")
    ] = None,
    json: Json = False,
) -> None:
    """Run every router that applies to POPS(D, G) on the same permutations."""
    from popsnet.cli.compare import compare_command

    compare_command(d, g, runs=runs, seed=seed, figure=figure, as_json=json)


@app.command()
def plan(
    d: Annotated[int, typer.Argument(metavar="D", help="Processors in a group.")],
    g: Annotated[int, typer.Argument(metavar="G", help="Groups.")],
    json: Json = False,
) -> None:
    """Say which router to use on POPS(D, G), and how many slots each should take."""
    from popsnet.cli.plan import plan_command

    plan_command(d, g, as_json=json)


@app.command()
def routers(json: Json = False) -> None:
    """List the routers: where each applies, its slots, buffers and coins."""
    from popsnet.cli.routers import routers_command

    routers_command(as_json=json)


@app.command()
def doctor(json: Json = False) -> None:
    """Say what is installed and usable here; exit 1 if something needed is missing."""
    from popsnet.cli.doctor import doctor_command

    doctor_command(as_json=json)


def _refuse_negative_sizes(arguments: list[str]) -> None:
    """A negative size looks like an option; say what it is instead of 'no such option'."""
    of_groups = (
        "route", "schedule", "exact", "theory", "adversary", "sort", "compare", "plan", "compute",
    )  # fmt: skip
    sizes = dict.fromkeys(of_groups, "D >= 1 and G >= 1") | {"network": "N >= 1 wires"}
    if arguments and arguments[0] in sizes:
        for before, argument in itertools.pairwise(arguments):
            if re.fullmatch(r"-\d+", argument) and not before.startswith("--"):
                raise InputError(f"{argument} is below 1: a network has {sizes[arguments[0]]}.")


def main() -> None:
    """Run the command line: exit code 2 for bad input, 1 for a failed check, 130 interrupted."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ± is no reason to fail
    try:
        _refuse_negative_sizes(sys.argv[1:])
        try:
            app()
        finally:
            sys.stdout.flush()
    except PopsnetError as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, InputError) else 1)
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        print(f"Error: {error}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
