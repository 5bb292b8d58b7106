"""``popsnet adversary``: its commands and their options; ``attacks`` does what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from popsnet.cli.options import D, G, Json

__all__ = ["app"]

app = typer.Typer(
    help="Give a routing algorithm, get the permutation that breaks it.", no_args_is_help=True
)

Save = Annotated[
    Path | None, typer.Option(help="Write the permutation to this file: .npy, .csv or .json.")
]
Figure = Annotated[
    Path | None, typer.Option(help="Draw a figure under this name, as .svg and as .png.")
]


@app.command()
def oblivious(
    d: D,
    g: G,
    paths: Annotated[
        str | None,
        typer.Option(
            help="direct, grid, hashed, random, residue (if nothing is given), spread; or a "
            "file.py that defines path(d, g, source, destination)."
        ),
    ] = None,
    router: Annotated[
        str | None,
        typer.Option(help="Instead of paths: a router, or a file.py that registers one."),
    ] = None,
    variant: Annotated[str | None, typer.Option(help="A variant of that router.")] = None,
    runs: Annotated[int, typer.Option(help="Random permutations to compare with.")] = 10,
    seed: Annotated[int, typer.Option(help="Seed of the random permutations.")] = 0,
    save: Save = None,
    json: Json = False,
) -> None:
    """Oblivious algorithms: a permutation whose paths crowd one node, counted and executed."""
    from popsnet.cli.attacks.oblivious import oblivious_command

    oblivious_command(
        d,
        g,
        paths=paths,
        router=router,
        variant=variant,
        runs=runs,
        seed=seed,
        save=save,
        as_json=json,
    )


@app.command()
def average(
    largest: Annotated[int, typer.Option(help="The largest g = d, from 8 on by doubling.")] = 128,
    runs: Annotated[int, typer.Option(help="Random permutations a point.")] = 20,
    seed: Annotated[int, typer.Option(help="Seed of the random permutations.")] = 0,
    worst: Annotated[
        int, typer.Option(help="Up to this g, build the worst permutation, too; slow beyond 32.")
    ] = 16,
    figure: Figure = None,
    json: Json = False,
) -> None:
    """Congestion of random permutations, every path system, beside log g / log log g."""
    from popsnet.cli.attacks.average import average_command

    average_command(largest=largest, runs=runs, seed=seed, worst=worst, figure=figure, as_json=json)


@app.command()
def rigid(
    d: D,
    g: G,
    router: Annotated[str, typer.Option(help="A router, or a file.py that registers one.")],
    variant: Annotated[
        str | None, typer.Option(help="A variant of the router; its default if not given.")
    ] = None,
    slots: Annotated[
        int | None,
        typer.Option(help="Stop the router after so many slots; as late as it must fail."),
    ] = None,
    figure: Figure = None,
    save: Save = None,
    json: Json = False,
) -> None:
    """Rigid algorithms: a transposition on which the router, stopped early, must fail."""
    from popsnet.cli.attacks.rigid import rigid_command

    rigid_command(
        d, g, router=router, variant=variant, slots=slots, figure=figure, save=save, as_json=json
    )


@app.command("two-hop")
def two_hop(
    d: D,
    g: G,
    algorithm: Annotated[
        str,
        typer.Option(
            help="affine, bits, hashed, rotation, shear; or a file.py that defines "
            "c_out(d, g, processor, slot), and c_in if it likes."
        ),
    ] = "hashed",
    most_slots: Annotated[int, typer.Option(help="Look for no longer a delay; even.")] = 64,
    save: Save = None,
    json: Json = False,
) -> None:
    """Two-hop algorithms: a permutation with a packet that has not arrived after T slots."""
    from popsnet.cli.attacks.two_hop import two_hop_command

    two_hop_command(d, g, algorithm=algorithm, most_slots=most_slots, save=save, as_json=json)


@app.command()
def separation(
    largest: Annotated[int, typer.Option(help="The largest g = d, from 8 on by doubling.")] = 256,
    runs: Annotated[int, typer.Option(help="Runs of the randomized algorithm a size.")] = 20,
    most_slots: Annotated[int, typer.Option(help="Look for no longer a delay; even.")] = 64,
    figure: Figure = None,
    json: Json = False,
) -> None:
    """Two-hop algorithms: what adversaries reach, and what the randomized algorithm needs."""
    from popsnet.cli.attacks.separation import separation_command

    separation_command(
        largest=largest, runs=runs, most_slots=most_slots, figure=figure, as_json=json
    )
