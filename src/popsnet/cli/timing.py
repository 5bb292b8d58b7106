"""The options that turn slots into nanoseconds, the same for all commands that print slots."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Annotated, Any

import typer

from popsnet.cli import options as opt
from popsnet.errors import InputError
from popsnet.report import Report

if TYPE_CHECKING:
    from popsnet import Timing

    Timed = Timing | None
else:
    Timed = object
"""The type of the parameter ``timing`` of a command, which no option has."""

_PANEL = "Time"
_OPTIONS = {
    "timing": Annotated[
        str | None,
        typer.Option(
            metavar="PRESET", help="Slots of pulse, sirius or shale. Options below replace theirs.",
            rich_help_panel=_PANEL, autocompletion=opt.complete_timing,
        ),
    ],
    "slot": Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Length of a slot, such as 20ns: print times, too.",
            rich_help_panel=_PANEL,
        ),
    ],
    "guard": Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Part of a slot without bits, such as 2ns.", rich_help_panel=_PANEL
        ),
    ],
    "rate": Annotated[
        str | None,
        typer.Option(
            "--rate", metavar="RATE", help="Line rate, such as 100Gbps.", rich_help_panel=_PANEL
        ),
    ],
    "fibre": Annotated[
        str | None,
        typer.Option(
            metavar="LENGTH", help="Fibre from processor to processor, such as 10m.",
            rich_help_panel=_PANEL,
        ),
    ],
}  # fmt: skip


def timed(command: Callable[..., Report]) -> Callable[..., Report]:
    """Give a command with a parameter ``timing`` the options that make one."""

    @wraps(command)
    def run(
        *,
        timing: str | None,
        slot: str | None,
        guard: str | None,
        rate: str | None,
        fibre: str | None,
        **options: object,
    ) -> Report:
        return command(timing=_timing(timing, slot, guard, rate, fibre), **options)

    own = signature(command, eval_str=True)
    kept = [one for one in own.parameters.values() if one.name != "timing"]
    added = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in _OPTIONS.items()
    ]
    named = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in kept]
    run.__signature__ = own.replace(parameters=named + added)  # type: ignore[attr-defined]
    return run


def _timing(preset: str | None, slot: str | None, *others: str | None) -> Timed:
    """Return the timing that options ask for, None if there are none of them."""
    named = zip(("slot", "guard", "rate", "fibre"), (slot, *others), strict=True)
    given: dict[str, Any] = {name: value for name, value in named if value is not None}
    if preset is None and not given:
        return None
    from popsnet.hardware import TIMINGS, Timing, find_preset

    if preset is None:
        if slot is None:
            raise InputError(
                f"--{next(iter(given))} is given without a slot; give --slot, such as 20ns, or "
                f"--timing: {', '.join(TIMINGS)}."
            )
        return Timing(**given)
    return find_preset("timing", preset, TIMINGS).replaced(**given)
