"""``popsnet compare``, ``plan``, ``budget`` and ``faults``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

import popsnet
from popsnet.base.errors import InputError, wrong
from popsnet.base.report import Report, plural
from popsnet.cli import options as opt
from popsnet.cli.output import Interruption, reporting, with_figure


@reporting
def compare(
    *,
    d: int,
    g: int,
    router: opt.Routers = None,
    runs: int = 10,
    experiment: opt.ExperimentOptions,
    figure: opt.Figure = None,
    timing: opt.Timed,
) -> Report:
    """Run routers on the same permutations, or on a demand, and compare them in a table.

    Example: popsnet compare 8 8 --router relay --router mei-rizzi --runs 20

    Exit code 1: a run is capped, packets are not delivered, or no router is run.

    Parameters
    ----------
    router
        A router, or a file.py that registers one. Repeat the option for more (default: every router
        that ships, applies and does not take long).
    runs
        Runs of each router.
    """
    try:
        comparison = popsnet.compare(d, g, routers=router, runs=runs, **experiment.keywords())
    except KeyboardInterrupt as stop:
        if (partial := getattr(stop, "comparison", None)) is None:
            raise
        message = f"Interrupted: {plural(len(partial.done), 'router')} finished."
        raise Interruption(message, partial.report(timing) if partial.done else None) from None
    report = comparison.report(timing)
    if figure is not None and not comparison.done:
        return report.plus("No figure is written.")
    return with_figure(report, figure, lambda: popsnet.plots.draw_comparison(comparison))


@reporting
def plan(
    *,
    d: int,
    g: int,
    router: Annotated[
        opt.Names, typer.Option(metavar="NAME", autocompletion=opt.complete_router)
    ] = None,
    timing: opt.Timed,
) -> Report:
    """Recommend a router for POPS(D, G), with the expected slots of each.

    Example: popsnet plan 64 64

    Parameters
    ----------
    router
        A router to choose from, or a file.py that registers one. Repeat the option for more
        (default: every router that ships).
    """
    return popsnet.recommend(d, g, routers=router).report(timing)


@dataclass(frozen=True, kw_only=True)
class BudgetOptions(opt.Keywords):
    """A network and its hardware.

    Parameters
    ----------
    preset
        pon (10 Gb/s passive optical networks), silicon (25 Gb/s silicon photonics) or coherent; the
        report says what each figure rests on.
    transmit
        Power of a transmitter, such as 4dBm or 2.5mW.
    sensitivity
        Least power that a receiver needs, such as -28dBm.
    margin
        Margin that must be left, such as 3dB. (default: 3dB)
    connectors
        Loss of all connectors, such as 2dB. (default: 2dB)
    excess
        Loss of a star per doubling of its size, besides the division by two. (default: 0.3dB)
    transmitters
        Per processor: many (G of them), or one and a splitter.
    """

    d: int
    g: int
    preset: Annotated[str | None, typer.Option(autocompletion=opt.complete_link)] = None
    transmit: str | None = None
    sensitivity: str | None = None
    margin: str | None = None
    connectors: str | None = None
    excess: str | None = None
    transmitters: str = "many"


@reporting
def budget(options: BudgetOptions) -> Report:
    """Compute the power budget of POPS(D, G): loss, margin, and how large a star can be.

    Example: popsnet budget 32 32 --preset pon

    Exit code 1: receivers see too little light.
    """
    if options.preset is None and None in (options.transmit, options.sensitivity):
        raise InputError(
            "Give --transmit and --sensitivity, such as --transmit 4dBm --sensitivity -28dBm, or "
            f"--preset: {', '.join(popsnet.hardware.LINKS)}."
        )
    return popsnet.budget(**options.keywords()).report()


@dataclass(frozen=True)
class SurvivalOptions(opt.RunOptions):
    """What decides the runs of a study of faults, which draws the faults itself.

    Parameters
    ----------
    kind
        Dead parts: couplers, transmitters, receivers or processors.
    runs
        Runs of each router for each number.
    """

    kind: str = "couplers"
    runs: int = 20
    loss: float | None = None
    fault_seed: int | None = None


@reporting
def faults(
    *,
    d: int,
    g: int,
    router: opt.Routers = None,
    numbers: str = "0,1,2,4,8,16",
    experiment: SurvivalOptions,
    every: Annotated[bool, typer.Option("--all")] = False,
    figure: opt.Figure = None,
) -> Report:
    """Run routers with more and more random faults, and count what they lose.

    Example: popsnet faults 8 8 --router relay --router direct --numbers 0,1,4 --runs 10

    Exit code 1: a router that states that it survives the faults did not deliver all packets.

    Parameters
    ----------
    router
        A router, or a file.py that registers one. Repeat the option for more (default: every router
        that ships, applies and does not take long, and those that survive).
    numbers
        The numbers of dead parts, with commas between them.
    every
        Print a row per router and number, and not a row per router.
    """
    survival = popsnet.survival(
        d, g, routers=router, numbers=_numbers(numbers), **experiment.keywords()
    )
    return with_figure(
        survival.report(every), figure, lambda: popsnet.plots.draw_survival([survival])
    )


def _numbers(text: str) -> list[int]:
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise wrong("numbers", text)("give integers with commas between them: 0,1,4.") from None
