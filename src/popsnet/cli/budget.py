"""``popsnet budget``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

import popsnet
from popsnet.base.errors import InputError
from popsnet.base.report import Report
from popsnet.cli import options as opt
from popsnet.cli.output import reporting


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
