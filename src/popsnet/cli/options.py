"""Arguments and options: one name and one meaning each, for all commands."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated

import typer

STORE = Path("results.sqlite")
"""Where results are kept if nothing else is said."""


def _completing(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return complete


def _routers() -> list[str]:
    from popsnet.routing import all_routers

    return [router.name for router in all_routers()]


def _permutations() -> list[str]:
    from popsnet.permutations import NAMES

    return [*NAMES, "shift:d"]


def _engines() -> list[str]:
    from popsnet.engines import ENGINES

    return ["auto", *ENGINES]


def _sorting_networks() -> list[str]:
    from popsnet.sorting import NETWORKS

    return list(NETWORKS)


complete_router = _completing(_routers)
complete_permutation = _completing(_permutations)
complete_sorting_network = _completing(_sorting_networks)

PERMUTATIONS = (
    "random, keyed, identity, reversal, transpose, bit-reversal, shuffle, shift (by 1), shift:K, "
    "shift:d, group-permutation, tornado; or a file: .npy, .csv, .json."
)

D = Annotated[int, typer.Argument(metavar="D", help="Processors per group.")]
G = Annotated[int, typer.Argument(metavar="G", help="Groups.")]
Router = Annotated[
    str,
    typer.Option(
        help="A router (popsnet routers lists them), or a file.py that registers one.",
        autocompletion=complete_router,
    ),
]
Variant = Annotated[
    str | None, typer.Option(help="A variant of the router; its default if not given.")
]
Permutation = Annotated[str, typer.Option(help=PERMUTATIONS, autocompletion=complete_permutation)]
Engine = Annotated[
    str, typer.Option(help="auto, objects, slots or fused.", autocompletion=_completing(_engines))
]
Seed = Annotated[int, typer.Option(help="Seed of the router's coins.")]
PermutationSeed = Annotated[int, typer.Option(help="Seed of the permutations.")]
MaxSteps = Annotated[int, typer.Option(help="Cap: stop a run after this many steps.")]
StoreFile = Annotated[Path, typer.Option("--store", help="The file that results are kept in.")]
Trace = Annotated[
    Path | None, typer.Option(help="Write what happens in every slot of one run to this file.")
]
Figure = Annotated[
    Path | None,
    typer.Option(help="Draw a figure to this file: .svg, .png, .pdf, or another format."),
]
