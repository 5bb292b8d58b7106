"""Arguments and options: one name and one meaning each, for all commands."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

import popsnet
from popsnet.cli.output import Options
from popsnet.errors import InputError, how_to_install
from popsnet.files import require_writable

if TYPE_CHECKING:
    from popsnet import Timing

STORE = Path("results.sqlite")
"""Where results are kept if nothing else is said."""

DEFAULT_ROUTER = "mei-rizzi"
"""The router of commands that take one, if none is given."""

FIGURES = (".svg", ".png", ".pdf")
"""The endings of figures."""


def _completing(module: str, name: str, *others: str) -> Callable[[str], list[str]]:
    """Complete by what the package has under a name, which is looked up when it is needed."""

    def complete(incomplete: str) -> list[str]:
        found = getattr(import_module(f"popsnet.{module}"), name)
        names = [getattr(one, "name", one) for one in found()] if callable(found) else found
        return [one for one in (*others, *names) if one.startswith(incomplete)]

    return complete


def refuse_given(context: typer.Context, names: Iterable[str], why: str) -> None:
    """Refuse an option that was typed and would change nothing, and say why."""
    for name in names:
        source, value = context.get_parameter_source(name), context.params[name]
        if source is not None and source.name == "COMMANDLINE":
            shown = " ".join(value) if isinstance(value, list) else value
            flag = f"--{name.replace('_', '-')}"
            raise InputError(f"{flag if value is True else f'{flag} {shown}'} {why}")


def faults(
    fault: list[str] | None, loss: float | None, loss_per: str | None, fault_seed: int | None
) -> dict[str, Any]:
    """Return the faults and their seed, and refuse an option that changes nothing."""
    given = popsnet.Faults.parse(" ".join(fault or ()))
    if loss is not None and given.loss:
        raise InputError(
            f"--fault loss:{given.loss:g} and --loss {loss:g} each give the loss; give only one."
        )
    if loss is not None:
        given = given.with_loss(loss, loss_per or "coupler")
    elif loss_per is not None:
        raise InputError(f"--loss-per {loss_per} says how messages are lost; give --loss as well.")
    if fault_seed is not None and not (given.random or given.loss):
        raise InputError(
            f"--fault-seed {fault_seed} is for random faults and for --loss; leave it out."
        )
    return {"faults": given, "fault_seed": fault_seed or 0}


def require_file(path: Path | None) -> Path | None:
    """Refuse a file that cannot be written, before any work is done."""
    if path is not None:
        require_writable(path)
    return path


def require_figure(path: Path | None) -> Path | None:
    """Refuse a file that a figure cannot be written to, before any work is done."""
    if path is None:
        return None
    if path.suffix.lower() not in FIGURES:
        raise InputError(f"--figure {path}: the name must end in one of {', '.join(FIGURES)}.")
    if find_spec("matplotlib") is None:
        raise InputError(
            f"--figure needs matplotlib, which is not installed. {how_to_install('plots')}"
        )
    return require_file(path)


def require_page(path: Path | None) -> Path | None:
    """Refuse a file that a page cannot be written to, before any work is done."""
    if path is not None and path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"--out {path}: the name must end in .html.")
    return require_file(path)


def refuse_table(path: Path) -> None:
    """Refuse a table, which is easily mistaken for a trace."""
    if path.suffix.lower() in (".csv", ".npy"):
        raise InputError(
            f"{path} is a table and not a trace; popsnet schedule and popsnet route write a trace "
            "with --trace."
        )


complete_router = _completing("routing", "all_routers")
complete_scheduler = _completing("traffic", "all_schedulers")
complete_permutation = _completing("permutations", "NAMES", "shift:d")
complete_sorting_network = _completing("sorting", "NETWORKS")
complete_link = _completing("hardware", "LINKS")
complete_timing = _completing("hardware", "TIMINGS")

SORTING_NETWORKS = "merge-exchange, bitonic or bag-tree."
PERMUTATIONS = (
    "random, keyed, identity, reversal, transpose, bit-reversal, shuffle, shift (by 1), shift:K, "
    "shift:d, group-permutation, tornado; or a file: .npy, .csv or .json."
)

D = Annotated[int, typer.Argument(metavar="D", help="Processors per group.")]
G = Annotated[int, typer.Argument(metavar="G", help="Number of groups.")]


def of_routers(text: str, metavar: str = "NAME[:VARIANT]") -> Any:
    """Return an option that takes a router, or several."""
    return typer.Option(metavar=metavar, help=text, autocompletion=complete_router)


Names: TypeAlias = list[str] | None
Router = Annotated[
    str,
    of_routers(
        "A router (popsnet routers lists them) or a file.py that registers one, and a variant of "
        "it."
    ),
]
Variant = Annotated[str | None, typer.Option(help="A variant of the router.")]
Permutation = Annotated[str, typer.Option(help=PERMUTATIONS, autocompletion=complete_permutation)]
Demand = Annotated[
    Path | None,
    typer.Option(
        help="A file with a row per packet (source, destination), or with amounts in a third "
        "column: .csv, .npy or .parquet."
    ),
]
Matrix = Annotated[
    Path | None,
    typer.Option(
        help="A file with G × G numbers of packets, a row per source group, or with rows source, "
        "destination, amount: .csv, .npy or .parquet."
    ),
]
Unit = Annotated[
    float | None,
    typer.Option(
        help="The amount of one packet, for amounts that are not numbers of packets; they are "
        "rounded up."
    ),
]
Engine = Annotated[
    str,
    typer.Option(
        help="auto, objects, slots, fused, or one of a plug-in.",
        autocompletion=_completing("engines", "engine_names", "auto"),
    ),
]
Seed = Annotated[int, typer.Option(help="Random seed of the router.")]
PermutationSeed = Annotated[int, typer.Option(help="Random seed of the permutations.")]
SomePermutationSeed = Annotated[
    int | None,
    typer.Option(
        "--permutation-seed", help="Random seed of the permutations, if they are drawn (default 0)."
    ),
]
MaxSteps = Annotated[int, typer.Option(help="Stop a run after this many steps.")]
Fault = Annotated[
    list[str] | None,
    typer.Option(
        "--fault",
        metavar="FAULT",
        help="A part that is dead: coupler:B,A (from group A to group B), transmitter:P, "
        "receiver:P or processor:P, with @SLOT from that slot on; or random:couplers=N. Give it "
        "several times for several faults.",
    ),
]
Loss = Annotated[float | None, typer.Option(help="The probability that a message is lost.")]
LossPer = Annotated[
    str | None,
    typer.Option(
        metavar="coupler|listener",
        help="Whether a message is lost for all listeners of its coupler (the default), or for "
        "each by itself.",
    ),
]
Wavelengths = Annotated[
    int,
    typer.Option(
        metavar="W", help="Wavelengths per coupler: messages on different ones do not collide."
    ),
]
FaultSeed = Annotated[
    int | None, typer.Option(help="Random seed of faults and lost messages (default 0).")
]
StoreFile = Annotated[Path, typer.Option("--store", help="File with the results.")]
Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Run on a Dask cluster: the address of its scheduler, such as tcp://host:8786, or "
        "local:N for N worker processes on this machine.",
    ),
]
NoOpen = Annotated[bool, typer.Option("--no-open", help="Do not open a browser.")]
Trace = Annotated[
    Path | None, typer.Option(help="Write a trace, everything that happens in a run, to this file.")
]
Figure = Annotated[
    Path | None,
    typer.Option(help="Write a figure to this file: .svg, .png or .pdf.", callback=require_figure),
]


def _of_time(name: str, unit: str, text: str, complete: Any = None) -> Any:
    return typer.Option(
        f"--{name}", metavar=unit, help=text, rich_help_panel="Time", autocompletion=complete
    )


@dataclass(frozen=True)
class TimeOptions(Options):
    """The length of a slot: options that let a report have times."""

    timing: Annotated[
        str | None,
        _of_time(
            "timing", "PRESET",
            "Slots of pulse, sirius or shale. Options below replace theirs.", complete_timing,
        ),
    ] = None  # fmt: skip
    slot: Annotated[
        str | None, _of_time("slot", "TIME", "Length of a slot, such as 20ns: print times, too.")
    ] = None
    guard: Annotated[
        str | None, _of_time("guard", "TIME", "Part of a slot without bits, such as 2ns.")
    ] = None
    rate: Annotated[str | None, _of_time("rate", "RATE", "Line rate, such as 100Gbps.")] = None
    fibre: Annotated[
        str | None, _of_time("fibre", "LENGTH", "Fibre from processor to processor, such as 10m.")
    ] = None

    def value(self) -> Timing | None:
        """Return the timing that is asked for, None if none is."""
        given = {name: text for name, text in vars(self).items() if text is not None}
        preset = given.pop("timing", None)
        if preset is None and not given:
            return None
        from popsnet.hardware import TIMINGS, Timing, find_preset

        if preset is None:
            if "slot" not in given:
                raise InputError(
                    f"--{next(iter(given))} is given without a slot; give --slot, such as 20ns, or "
                    f"--timing: {', '.join(TIMINGS)}."
                )
            return Timing(**given)
        return find_preset("timing", preset, TIMINGS).replaced(**given)


Timed = Annotated["Timing | None", TimeOptions]


@dataclass(frozen=True)
class Keywords(Options):
    """Options that are keywords of a function of the library."""

    def keywords(self) -> dict[str, Any]:
        """Return the keywords: all options that are given, and faults as the library takes them."""
        given = dict(vars(self))
        if "fault" in given:
            names = "fault", "loss", "loss_per", "fault_seed"
            given |= faults(*(given.pop(name, None) for name in names))
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True)
class RunOptions(Keywords):
    """What decides the runs of any router on a network, if everything works."""

    permutation: Permutation = "random"
    demand: Demand = None
    matrix: Matrix = None
    unit: Unit = None
    seed: Seed = 0
    permutation_seed: SomePermutationSeed = None
    max_steps: MaxSteps = 1000
    wavelengths: Wavelengths = 1

    def keywords(self) -> dict[str, Any]:
        """Return the keywords of :func:`popsnet.route` and other functions of the library."""
        given = super().keywords()
        ways = {"--demand": self.demand, "--matrix": self.matrix}
        if self.permutation != "random":
            ways = {"--permutation": Path(self.permutation), **ways}
        names = [name for name, value in ways.items() if value]
        if len(names) > 1:
            raise InputError(f"{' and '.join(names)} each give the packets to send; give only one.")
        return given

    @property
    def has_demand(self) -> bool:
        """Whether the packets are not those of a permutation."""
        return not self.demand is self.matrix is None

    def require_default_applies(self, d: int, g: int) -> None:
        """Refuse what the default router cannot do, and say which router can."""
        if self.has_demand:
            raise InputError(
                f"Router {DEFAULT_ROUTER}, the default, routes permutations only; give --router "
                "relay or --router direct for a demand."
            )
        network = popsnet.Network(d, g, self.wavelengths)
        try:
            popsnet.find_router(DEFAULT_ROUTER).resolve(None, network)
        except InputError as error:
            cure = f"{DEFAULT_ROUTER} is the default; give --router."
            if network == popsnet.Network(d, g):
                cure = (
                    "It is the default router; --router relay runs on any network, and popsnet "
                    f"plan {d} {g} compares the routers."
                )
            raise InputError(
                f"{error} {cure}", parameter=error.parameter, others=error.others
            ) from error


@dataclass(frozen=True)
class ExperimentOptions(RunOptions):
    """What decides the runs of any router on a network, with what does not work."""

    fault: Fault = None
    loss: Loss = None
    loss_per: LossPer = None
    fault_seed: FaultSeed = None


@dataclass(frozen=True, kw_only=True)
class RouterOptions(Options):
    """A router on a network."""

    d: D
    g: G
    router: Router = DEFAULT_ROUTER
    variant: Variant = None


@dataclass(frozen=True, kw_only=True)
class RoutedOptions(ExperimentOptions, RouterOptions):
    """What decides the runs of one router."""

    def keywords(self) -> dict[str, Any]:
        """Return the keywords of :func:`popsnet.route` and other functions of the library."""
        given = super().keywords()
        if self.router == DEFAULT_ROUTER and (self.has_demand or self.variant is None):
            self.require_default_applies(self.d, self.g)
        return given
