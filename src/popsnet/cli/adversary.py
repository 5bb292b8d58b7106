"""``popsnet adversary``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from popsnet.cli.figures import require_figure, with_figure
from popsnet.cli.options import D, Figure, G, PermutationSeed, Router, Variant
from popsnet.cli.output import reporting
from popsnet.errors import InputError
from popsnet.report import Fact, Report

if TYPE_CHECKING:
    from popsnet.slot import Ints

app = typer.Typer(
    help="Give a routing algorithm, get the permutation that breaks it.", no_args_is_help=True
)

Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="Write the permutation to this file: .npy, .csv or .json."),
]
Largest = Annotated[int, typer.Option(help="The largest G = D, from 8 on by doubling.")]
MostSlots = Annotated[int, typer.Option(help="The longest delay to look for; even.")]


@app.command()
@reporting
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
    variant: Variant = None,
    runs: Annotated[int, typer.Option(help="Random permutations to compare with.")] = 10,
    permutation_seed: PermutationSeed = 0,
    out: Out = None,
) -> Report:
    """Oblivious algorithms: a permutation whose paths crowd one node, counted and executed."""
    from popsnet.adversaries import attack_oblivious
    from popsnet.network import Network

    _require_out(out)
    attack = attack_oblivious(
        Network(d, g), paths, router=router, variant=variant, runs=runs,
        permutation_seed=permutation_seed,
    )  # fmt: skip
    return _with_permutation(attack.report(), attack.matching.destination, out)


@app.command()
@reporting
def congestion(
    largest: Largest = 128,
    runs: Annotated[int, typer.Option(help="Random permutations per point.")] = 20,
    permutation_seed: PermutationSeed = 0,
    worst: Annotated[
        int, typer.Option(help="Up to this G, build the worst permutation, too; slow beyond 32.")
    ] = 16,
    figure: Figure = None,
) -> Report:
    """Congestion of random permutations, every path system, beside log g / log log g."""
    from popsnet.adversaries import measure_congestion

    require_figure(figure)
    found = measure_congestion(largest, runs, permutation_seed, worst)
    if figure is None:
        return found.report()
    from popsnet.plots import draw_congestion

    return with_figure(found.report(), draw_congestion(found), figure)


@app.command()
@reporting
def rigid(
    d: D,
    g: G,
    router: Router,
    variant: Variant = None,
    slots: Annotated[
        int | None,
        typer.Option(
            help="Truncate the router after this many slots (default: the last slot at which it "
            "must fail)."
        ),
    ] = None,
    figure: Figure = None,
    out: Out = None,
) -> Report:
    """Rigid algorithms: a transposition on which the router, stopped early, must fail."""
    from popsnet.adversaries import attack_rigid
    from popsnet.network import Network

    require_figure(figure)
    _require_out(out)
    attack = attack_rigid(router, variant, Network(d, g), slots)
    report = _with_permutation(attack.report(), attack.destination, out)
    if figure is None:
        return report
    from popsnet.plots import draw_growth

    return with_figure(report, draw_growth(attack), figure)


@app.command()
@reporting
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
    most_slots: MostSlots = 64,
    out: Out = None,
) -> Report:
    """Two-hop algorithms: a permutation with a packet that has not arrived after T slots."""
    from popsnet.adversaries import attack_two_hop
    from popsnet.network import Network

    _require_out(out)
    attack = attack_two_hop(algorithm, Network(d, g), _rounds(most_slots))
    return _with_permutation(attack.report(), attack.destination, out)


@app.command()
@reporting
def separation(
    largest: Largest = 256,
    runs: Annotated[int, typer.Option(help="Runs of the randomized algorithm per size.")] = 20,
    most_slots: MostSlots = 64,
    figure: Figure = None,
) -> Report:
    """Two-hop algorithms: what adversaries reach, and what the randomized algorithm needs."""
    from popsnet.adversaries import measure_separation

    require_figure(figure)
    found = measure_separation(largest, runs, _rounds(most_slots))
    if figure is None:
        return found.report()
    from popsnet.plots import draw_separation_study

    return with_figure(found.report(), draw_separation_study(found), figure)


def _rounds(most_slots: int) -> int:
    if most_slots < 2 or most_slots % 2:
        raise InputError(
            f"most_slots = {most_slots}: rounds have two slots; give an even number from 2 on."
        )
    return most_slots // 2


def _require_out(out: Path | None) -> None:
    from popsnet.permutations import require_permutation_file

    if out is not None:
        require_permutation_file(out)


def _with_permutation(report: Report, permutation: Ints | None, out: Path | None) -> Report:
    """Write the permutation that was built, if there is one, and say so in the report."""
    from popsnet.permutations import write_permutation

    if out is None:
        return report
    if permutation is None:
        return report.plus(Fact("out", None), f"{out} was not written.")
    write_permutation(out, permutation)
    return report.plus(Fact("out", str(out)), f"Permutation written to {out}.")
