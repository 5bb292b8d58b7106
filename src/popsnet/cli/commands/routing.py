"""Commands that route: their options. What they do is imported when they are called."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from popsnet.cli.options import D, G, Json, complete_engine, complete_permutation, complete_router

__all__ = ["check", "compare", "plan", "route", "routers", "schedule", "view"]


def route(
    d: D,
    g: G,
    router: Annotated[
        str,
        typer.Option(
            help="A router (see popsnet routers), or a file.py that registers one.",
            autocompletion=complete_router,
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
            autocompletion=complete_permutation,
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
        str, typer.Option(help="auto, objects, slots or fused.", autocompletion=complete_engine)
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


def schedule(
    d: D,
    g: G,
    permutation: Annotated[
        str | None,
        typer.Option(
            help="A permutation by name, as for popsnet route, or a file: .npy, .csv, .json. "
            "Random if nothing is given.",
            autocompletion=complete_permutation,
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


def check(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="A file that --trace wrote.")],
    json: Json = False,
) -> None:
    """Replay a trace by the rules of the network alone; exit 1 if it breaks any."""
    from popsnet.cli.check import check_command

    check_command(trace, as_json=json)


def view(
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="TRACE… | D G",
            help="Files that --trace wrote; or processors in a group, and groups. A file whose "
            "name is a number is given as ./4.",
        ),
    ],
    router: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[:VARIANT]",
            help="A router, or mei-rizzi if none is given; several times for runs side by side.",
            autocompletion=complete_router,
        ),
    ] = None,
    permutation: Annotated[
        str | None,
        typer.Option(
            help="The permutation, the same for all runs: by name, as for popsnet route, or a "
            "file. Random if not given.",
            autocompletion=complete_permutation,
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the routers' coins (or 0).")] = None,
    permutation_seed: Annotated[
        int | None, typer.Option(help="Seed of the permutation (or 0).")
    ] = None,
    max_steps: Annotated[
        int | None, typer.Option(help="Cap: a run is stopped after so many steps (or 1000).")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The page to write.")] = Path(
        "view.html"
    ),
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Write the page and open no browser.")
    ] = False,
    json: Json = False,
) -> None:
    """Play runs slot by slot in the browser: one page, nothing to install."""
    from popsnet.cli.view import view_command

    view_command(
        what,
        router=router,
        permutation=permutation,
        seed=seed,
        permutation_seed=permutation_seed,
        max_steps=max_steps,
        out=out,
        opened=not no_open,
        as_json=json,
    )


def compare(
    d: D,
    g: G,
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


def plan(
    d: D,
    g: G,
    json: Json = False,
) -> None:
    """Say which router to use on POPS(D, G), and how many slots each should take."""
    from popsnet.cli.plan import plan_command

    plan_command(d, g, as_json=json)


def routers(json: Json = False) -> None:
    """List the routers: where each applies, its slots, buffers and coins."""
    from popsnet.cli.routers import routers_command

    routers_command(as_json=json)
