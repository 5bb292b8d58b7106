"""``popsnet plan``."""

from __future__ import annotations

from typing import Annotated

import typer

import popsnet
from popsnet.cli import options as opt
from popsnet.cli.output import reporting
from popsnet.report import Report


@reporting
def plan(
    d: opt.D,
    g: opt.G,
    router: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A router to choose from, or a file.py that registers one; repeat it for more. "
            "All that ship if none is given.",
            autocompletion=opt.complete_router,
        ),
    ] = None,
) -> Report:
    """Say which router to use on POPS(D, G), and how many slots each should take."""
    return popsnet.recommend(d, g, routers=router).report()
