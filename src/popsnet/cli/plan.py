"""``popsnet plan``."""

from __future__ import annotations

from typing import Annotated

import typer

import popsnet
from popsnet.cli import options as opt
from popsnet.cli.output import reporting
from popsnet.cli.timing import Timed, timed
from popsnet.report import Report


@reporting
@timed
def plan(
    d: opt.D,
    g: opt.G,
    router: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A router to choose from, or a file.py that registers one. Repeat the option for "
            "more (default: every router that ships).",
            autocompletion=opt.complete_router,
        ),
    ] = None,
    timing: Timed = None,
) -> Report:
    """Recommend a router for POPS(D, G), with the expected slots of each."""
    return popsnet.recommend(d, g, routers=router).report(timing)
