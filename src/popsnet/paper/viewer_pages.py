"""Runs to watch beside the report: pages that play them slot by slot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from popsnet.experiment import Experiment
from popsnet.notebook import record
from popsnet.viewer import Page

_LOSING_SEED = 17
"""Of coins and permutation: the published protocol loses two of six packets."""


@dataclass(frozen=True, slots=True)
class ViewerPage:
    """A page and what there is to see."""

    file: str
    """Beside the report."""
    caption: str


def write_pages(out: Path) -> list[ViewerPage]:
    """Write the pages to a folder."""
    pages = list(_pages())
    for page, experiments in pages:
        Page.of([record(one, 0)[1] for one in experiments]).save(out / page.file)
    return [page for page, _ in pages]


def _pages() -> Iterator[tuple[ViewerPage, list[Experiment]]]:
    yield (
        ViewerPage(
            "lost-packets.html",
            "The published protocol loses two packets on POPS(3, 2); next to it the safe repair, "
            "on the same permutation with the same coins, delivers all six.",
        ),
        [
            Experiment(3, 2, variant=variant, seed=_LOSING_SEED, permutation_seed=_LOSING_SEED)
            for variant in ("published", "deferred")
        ],
    )
    yield (
        ViewerPage(
            "mei-rizzi-and-relay.html",
            "mei-rizzi next to relay, our own router, on POPS(8, 8) and the same permutation, "
            "slot by slot on one clock.",
        ),
        [Experiment(8, 8), Experiment(8, 8, router="relay", variant="S")],
    )
