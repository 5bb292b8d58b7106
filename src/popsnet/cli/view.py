"""``popsnet view`` and ``demo``, whose pages a browser shows."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import popsnet
from popsnet.base.errors import InputError
from popsnet.base.report import Fact, Report, Table
from popsnet.cli import options as opt
from popsnet.cli.output import Interruption, for_people, reporting

if TYPE_CHECKING:
    from popsnet.runs.run import Run
    from popsnet.runs.schedule_check import ScheduleCheck
    from popsnet.trace.viewer import Page


_page = typer.Option("--out", "-o", callback=opt.require_page)


@reporting
def view(
    *,
    context: typer.Context,
    what: Annotated[list[str], typer.Argument(metavar="D G [SCHEDULE...] | TRACE...")],
    router: opt.Routers = None,
    runs: opt.ExperimentOptions,
    out: Annotated[Path, _page] = Path("view.html"),
    no_open: bool = False,
) -> Report:
    """Play runs slot by slot in the browser.

    Example: popsnet view 4 4 --router mei-rizzi --router relay:S

    Exit code 1: packets are not delivered, or a trace breaks a rule.

    Parameters
    ----------
    what
        Processors per group and number of groups, or files that --trace wrote. After D and G:
        tables with schedules, as for popsnet check.
    router
        A router (default mei-rizzi), or a file.py that registers one. Repeat the option for runs
        side by side.
    out
        The page to write.
    """
    from popsnet.runs.notebook import page_of
    from popsnet.runs.route import experiment_of
    from popsnet.trace.viewer import require_showable

    network, files = opt.network_and_files(what)
    options = "router", *vars(runs)
    shown: Sequence[popsnet.Experiment | ScheduleCheck | Path]
    try:
        if out.resolve() in [path.resolve() for path in files]:
            raise InputError(
                f"--out {out} is a trace to be shown, and the page would take its place; give "
                "the page another name."
            )
        if network is not None:
            require_showable(popsnet.Network(*network))
        if network is None:
            opt.refuse_given(
                context,
                options,
                f"is for runs to be done, and {what[0]} is a trace of one; leave it out, or give D "
                "and G.",
            )
            shown = files
        elif files:
            names = [field.name for field in fields(opt.ScheduledOptions)]
            others = [name for name in options if name not in names]
            opt.refuse_given(context, others, f"is for routers, and {files[0]} is a schedule.")
            goal = opt.ScheduledOptions(**opt.given(context, names))
            shown = [goal.check(*network, path) for path in files]
        else:
            if not router:
                runs.require_default_applies(*network)
            names, keywords = router or [opt.DEFAULT_ROUTER], runs.keywords()
            shown = [experiment_of(*network, router=name, **keywords) for name in names]
        page, report = page_of(*shown)
    except KeyboardInterrupt:
        raise Interruption("Interrupted: no page is written.") from None
    page.save(out)
    opened = for_people() and not no_open and open_in_browser(out)
    return report.plus(
        Fact("page", str(out)),
        Fact("bytes", out.stat().st_size),
        f"Page written to {out}{'' if opened else '; open it in a browser'}.",
    )


_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")


def open_in_browser(page: Path) -> bool:
    """Show a page, where there is a screen; return whether a browser took it."""
    import os
    import sys
    import webbrowser

    if sys.platform == "linux" and not any(os.environ.get(name) for name in _SCREENS):
        return False
    try:
        return webbrowser.open(page.resolve().as_uri())
    except webbrowser.Error:
        return False


_D = _G = 4
_ROUTERS = ("mei-rizzi", "relay:S")


@reporting
def demo(out: Annotated[Path | None, _page] = None, no_open: bool = False) -> Report:
    """Watch two routers send the same packets, side by side in the browser.

    Example: popsnet demo

    Parameters
    ----------
    out
        Write the page to this file (default: demo.html in a new temporary folder).
    """
    from tempfile import mkdtemp

    page, runs = _runs()
    path = Path(mkdtemp(prefix="popsnet-")) / "demo.html" if out is None else out
    page.save(path)
    opened = for_people() and not no_open and open_in_browser(path)
    return _report(page, runs, path, opened)


def _runs() -> tuple[Page, Sequence[Run]]:
    """Do a run of each router, and put both on one page.

    The engine ``objects`` needs few kernels, and on 16 processors these take less time than
    their compiler takes to start.
    """
    from popsnet.base.compiled import interpret

    interpret()
    import numpy as np

    from popsnet.engines import ENGINES
    from popsnet.experiment.experiment import Experiment
    from popsnet.runs.run import write_trace
    from popsnet.trace.viewer import Page, Recording

    runs, recordings = [], []
    with np.errstate(over="ignore"):  # words of 64 bits wrap around, compiled or not
        for router in _ROUTERS:
            file, experiment = io.StringIO(), Experiment(_D, _G, router=router)
            runs.append(write_trace(experiment, 0, file, engine=ENGINES["objects"]))
            recordings.append(Recording.of(file.getvalue()))
    return Page.of(recordings), runs


def _report(page: Page, runs: Sequence[Run], path: Path, opened: bool) -> Report:
    rows = [
        {"router": run.experiment.router, "variant": run.experiment.variant,
         "slots": run.slots, "delivered": run.delivered, "collisions": run.collisions}
        for run in runs
    ]  # fmt: skip
    taken = " and ".join(
        f"{run.experiment.router} ({run.experiment.variant}) takes {run.slots} slots with "
        f"{run.collisions} collisions"
        for run in runs
    )
    from popsnet.runs.summary import about_experiment

    shown = f"The page is open in your browser: {path}" if opened else f"Open {path} in a browser."
    facts = Fact("title", page.title), Fact("page", str(path)), Fact("bytes", path.stat().st_size)
    return Report(
        "",
        facts,
        (
            Table("outcomes", "", (), rows),
            f"Two routers send the same {_D * _G} packets on POPS({_D}, {_G}): {taken}. A coupler "
            "that is crossed out had a collision, and its messages are destroyed.",
            shown,
            "Try next: popsnet view 8 8, popsnet compare 8 8, popsnet plan 64 64",
        ),
        about=about_experiment(runs[0].experiment),
    )
