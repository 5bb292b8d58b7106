"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "STORE", "D", "G", "Json", "complete_engine", "complete_network", "complete_permutation",
    "complete_router",
]  # fmt: skip

STORE = Path("results.sqlite")
"""Where results are kept if nothing else is said."""

D = Annotated[int, typer.Argument(metavar="D", help="Processors in a group.")]
G = Annotated[int, typer.Argument(metavar="G", help="Groups.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def complete_router(incomplete: str) -> list[str]:
    """Routers whose names begin so."""
    from popsnet.routing import all_routers

    return [one.name for one in all_routers() if one.name.startswith(incomplete)]


def complete_permutation(incomplete: str) -> list[str]:
    """Permutations whose names begin so."""
    from popsnet.permutations import NAMES

    return [name for name in (*NAMES, "shift:d") if name.startswith(incomplete)]


def complete_engine(incomplete: str) -> list[str]:
    """Engines whose names begin so."""
    from popsnet.engines import ENGINES

    return [name for name in ("auto", *ENGINES) if name.startswith(incomplete)]


def complete_network(incomplete: str) -> list[str]:
    """Sorting networks whose names begin so."""
    from popsnet.sorting import NETWORKS

    return [name for name in NETWORKS if name.startswith(incomplete)]
