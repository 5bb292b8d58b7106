"""``popsnet demo``."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from popsnet.cli import options as opt
from popsnet.cli.browser import open_in_browser
from popsnet.cli.output import for_people, reporting
from popsnet.report import Fact, Report, Table

if TYPE_CHECKING:
    from popsnet.runs.run import Run
    from popsnet.viewer import Page

_D = _G = 4
_ROUTERS = ("mei-rizzi", "relay:S")


@reporting
def demo(
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Write the page to this file (default: demo.html in a new temporary folder).",
            callback=opt.require_page,
        ),
    ] = None,
    no_open: opt.NoOpen = False,
) -> Report:
    """Watch two routers send the same packets, side by side in the browser."""
    page, runs = _runs()
    path = _temporary() if out is None else out
    page.save(path)
    opened = for_people() and not no_open and open_in_browser(path)
    return _report(page, runs, path, opened)


def _runs() -> tuple[Page, Sequence[Run]]:
    """Do a run of each router, and put both on one page.

    The engine ``objects`` needs few kernels, and on 16 processors these take less time than
    their compiler takes to start.
    """
    from popsnet.compiled import interpret

    interpret()
    import numpy as np

    from popsnet.engines import ENGINES
    from popsnet.experiment import Experiment
    from popsnet.runs.run import write_trace
    from popsnet.viewer import Page, Recording

    runs, recordings = [], []
    with np.errstate(over="ignore"):  # words of 64 bits wrap around, compiled or not
        for router in _ROUTERS:
            file, experiment = io.StringIO(), Experiment(_D, _G, router=router)
            runs.append(write_trace(experiment, 0, file, engine=ENGINES["objects"]))
            recordings.append(Recording.of(file.getvalue()))
    return Page.of(recordings), runs


def _temporary() -> Path:
    from tempfile import mkdtemp

    return Path(mkdtemp(prefix="popsnet-")) / "demo.html"


def _report(page: Page, runs: Sequence[Run], path: Path, opened: bool) -> Report:
    rows = [
        {"router": one.experiment.router, "variant": one.experiment.variant,
         "slots": one.slots, "delivered": one.delivered, "collisions": one.collisions}
        for one in runs
    ]  # fmt: skip
    taken = " and ".join(
        f"{_label(asked)} takes {one.slots} slots with {one.collisions} collisions"
        for asked, one in zip(_ROUTERS, runs, strict=True)
    )
    shown = f"The page is open in your browser: {path}" if opened else f"Open {path} in a browser."
    facts = Fact("title", page.title), Fact("page", str(path)), Fact("bytes", path.stat().st_size)
    return Report(
        "",
        facts,
        (
            Table("runs", "", (), rows),
            f"Two routers send the same {_D * _G} packets on POPS({_D}, {_G}): {taken}. A coupler "
            "that is crossed out had a collision, and its messages are destroyed.",
            shown,
            "Try next: popsnet view 8 8, popsnet compare 8 8, popsnet plan 64 64",
        ),
    )


def _label(asked: str) -> str:
    name, _, variant = asked.partition(":")
    return f"{name} ({variant})" if variant else name
