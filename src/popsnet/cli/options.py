"""Arguments and options: one name and one meaning each, for all commands.

What an option means is read from docstrings, so that commands need not repeat it for Typer. The
docstring of a command, or of a group of options, describes its own. An option that several commands
have is described here, once. The rest of a command's docstring is its help: what it does, an
example, and when it ends with exit code 1.

Parameters
----------
d
    Processors per group.
g
    Number of groups.
router
    A router (popsnet routers lists them) or a file.py that registers one, and a variant of it.
variant
    A variant of the router.
permutation
    random, keyed, identity, reversal, transpose, bit-reversal, shuffle, shift (by 1), shift:K,
    shift:d, group-permutation, tornado; or a file: .npy, .csv or .json.
packets
    A file with a row per packet (source, destination), or with amounts in a third column: .csv,
    .npy or .parquet.
matrix
    A file with numbers of packets, G × G (a row per source group) or N × N (a row per source), or
    with rows source, destination, amount of groups: .csv, .npy or .parquet.
unit
    The amount of one packet, for amounts that are not numbers of packets; they are rounded up.
engine
    auto, objects, slots, fused, or one of a plug-in.
permutation_seed
    Random seed of the permutations, if they are drawn (default 0).
fault
    A part that is dead: coupler:A-B (from group A to group B), transmitter:P, receiver:P or
    processor:P; with @SLOT, dead from this slot on; or random:couplers=N. Give it several times for
    several faults.
loss
    The probability that a message is lost.
loss_per
    Whether a message is lost for all listeners of its coupler (the default), or for each by itself.
fault_seed
    Random seed of faults and lost messages (default 0).
wavelengths
    Wavelengths per coupler: messages on different ones do not collide.
store
    File with the results.
cluster
    Run on a Dask cluster: the address of its scheduler, such as tcp://host:8786, or local:N for N
    worker processes on this machine.
no_open
    Do not open a browser.
trace
    Write a trace, everything that happens in a run, to this file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, fields
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from inspect import Parameter, cleandoc, signature
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Self,
    TypeAlias,
    get_args,
    get_origin,
    get_type_hints,
)

import typer
from typer.models import OptionInfo

import popsnet
from popsnet.base.errors import InputError, how_to_install
from popsnet.base.files import require_writable

if TYPE_CHECKING:
    from popsnet import Timing
    from popsnet.plots import FigureLayout
    from popsnet.runs.schedule_check import ScheduleCheck

STORE = Path("results.sqlite")
"""Where results are kept if nothing else is said."""

DEFAULT_ROUTER = "mei-rizzi"
"""The router of commands that take one, if none is given."""

FIGURES = (".svg", ".png", ".pdf")
"""The endings of figures."""


_HEADING = "Parameters\n----------\n"


def texts_of(*docstrings: str | None) -> dict[str, str]:
    """Return what the options of docstrings mean, by their names; the last docstring decides."""
    return {name: text for doc in (__doc__, *docstrings) for name, text in _section(doc or "")}


@cache
def _section(docstring: str) -> list[tuple[str, str]]:
    """Return the names below the heading, with their meaning."""
    _, _, section = cleandoc(docstring).partition(_HEADING)
    _, *parts = re.split(r"^(\w+)$", section, flags=re.MULTILINE)
    return [
        (name, " ".join(text.split())) for name, text in zip(parts[::2], parts[1::2], strict=True)
    ]


def summary_of(docstring: str | None) -> str:
    """Return a docstring without the meaning of options."""
    return cleandoc(docstring or "").partition(_HEADING)[0].rstrip()


def described(parameter: Parameter, texts: Mapping[str, str]) -> Parameter:
    """Return a parameter as Typer reads it: with its meaning, and named as it is in Python.

    Without a default it is an argument. A flag has no second name that switches it off.
    """
    parameter = parameter.replace(kind=Parameter.KEYWORD_ONLY)
    if parameter.annotation is typer.Context:
        return parameter
    if get_origin(parameter.annotation) is Annotated:
        kind, info = get_args(parameter.annotation)
    else:
        is_argument, kind = parameter.default is Parameter.empty, parameter.annotation
        info = typer.Argument(metavar=parameter.name.upper()) if is_argument else typer.Option()
    info = copy(info)
    info.help = texts.get(parameter.name)
    if isinstance(info, OptionInfo) and info.default is ...:
        info.default = f"--{parameter.name.replace('_', '-')}"
    return parameter.replace(annotation=Annotated[kind, info])


@dataclass(frozen=True)
class Options:
    """Options that make one parameter of a command, which is annotated with the class.

    A field is an option, and the docstring says what it means. A parameter
    ``Annotated[..., Class]`` gets the value of the options.
    """

    @classmethod
    def taken(cls, options: dict[str, Any]) -> Self:
        """Return the group with its options, which are taken out of all options of a command."""
        return cls(**{field.name: options.pop(field.name) for field in fields(cls)})

    @classmethod
    def parameters(cls) -> list[Parameter]:
        """Return the options as parameters that typer reads."""
        texts = texts_of(*(base.__doc__ for base in reversed(cls.__mro__)))
        kinds, own = get_type_hints(cls, include_extras=True), signature(cls).parameters
        return [
            described(own[field.name].replace(annotation=kinds[field.name]), texts)
            for field in fields(cls)
        ]

    @classmethod
    def typed(cls, options: Options) -> list[str]:
        """Return these of some options as they would be typed, without those left as they are."""
        words = []
        for field in fields(cls):
            value = getattr(options, field.name)
            for text in value if isinstance(value, list) else [value]:
                if value != field.default:
                    words += [f"--{field.name.replace('_', '-')}", str(text)]
        return words

    def value(self) -> Any:
        """Return what the command gets."""
        return self


def _completing(module: str, name: str, *others: str) -> Callable[[str], list[str]]:
    """Complete by what the package has under a name, which is looked up when it is needed."""

    def complete(incomplete: str) -> list[str]:
        value = getattr(import_module(f"popsnet.{module}"), name)
        known = get_args(value) or (value() if callable(value) else value)
        names = (*others, *(getattr(item, "name", item) for item in known))
        return [name for name in names if name.startswith(incomplete)]

    return complete


def given(context: typer.Context, names: Iterable[str]) -> dict[str, Any]:
    """Return those of some options that were typed, with their values."""
    sources = {name: context.get_parameter_source(name) for name in names}
    typed = [name for name, source in sources.items() if source and source.name == "COMMANDLINE"]
    return {name: context.params[name] for name in typed}


def refuse_given(context: typer.Context, names: Iterable[str], why: str) -> None:
    """Refuse an option that was typed and would change nothing, and say why."""
    for name, value in given(context, names).items():
        shown = " ".join(value) if isinstance(value, list) else value
        flag = f"--{name.replace('_', '-')}"
        raise InputError(f"{flag if value is True else f'{flag} {shown}'} {why}")


def faults(
    fault: list[str] | None, loss: float | None, loss_per: str | None, fault_seed: int | None
) -> dict[str, Any]:
    """Return the faults and their seed, and refuse an option that changes nothing."""
    faults = popsnet.Faults.parse(" ".join(fault or ()))
    if loss is not None and faults.loss:
        raise InputError(
            f"--fault loss:{faults.loss:g} and --loss {loss:g} each give the loss; give only one."
        )
    if loss is not None:
        faults = faults.with_loss(loss, loss_per or "coupler")
    elif loss_per is not None:
        raise InputError(f"--loss-per {loss_per} says how messages are lost; give --loss as well.")
    if fault_seed is not None and not (faults.random or faults.loss):
        raise InputError(
            f"--fault-seed {fault_seed} is for random faults and for --loss; leave it out."
        )
    return {"faults": faults, "fault_seed": fault_seed or 0}


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


_NUMBER = re.compile(r"\s?-?[0-9]+")


def network_and_files(what: Sequence[str]) -> tuple[tuple[int, int] | None, list[Path]]:
    """Return D and G, if they are given first, and the files after them."""
    are = [_NUMBER.fullmatch(name) is not None for name in what]
    if any(are) and (are[:2] != [True, True] or any(are[2:])):
        number = what[are.index(True)].strip()
        raise InputError(
            f"{' '.join(what)}: give D and G, two numbers, or the names of traces; a file that is "
            f"called {number} is ./{number}."
        )
    from popsnet.base.tables.reading import SUFFIXES, require_suffix

    names = [Path(name) for name in what[2 * any(are) :]]
    for path in names:
        if any(are):
            require_suffix(path, "the name of a schedule")
        elif path.suffix.lower() in SUFFIXES:  # easily mistaken for a trace
            raise InputError(
                f"{path} is a table and not a trace. If it has a schedule, give D and G before it; "
                "popsnet schedule and popsnet route write a trace with --trace."
            )
    return (int(what[0]), int(what[1])) if any(are) else None, names


complete_router = _completing("programs.router", "all_routers")
complete_scheduler = _completing("programs.scheduler", "all_schedulers")
complete_permutation = _completing("workloads.permutations", "NAMES", "shift:d")
complete_sorting_network = _completing("theory.sorting", "NETWORKS")
complete_hops = _completing("programs.schedules.shortest", "Hops")
complete_link = _completing("hardware", "LINKS")
complete_timing = _completing("hardware", "TIMINGS")

of_routers = typer.Option(metavar="NAME[:VARIANT]", autocompletion=complete_router)
"""An option that takes a router, or several."""

Names: TypeAlias = list[str] | None
Router = Annotated[str, of_routers]
Routers = Annotated[Names, of_routers]
Permutation = Annotated[str, typer.Option(autocompletion=complete_permutation)]
Engine = Annotated[str, typer.Option(autocompletion=_completing("engines", "engine_names", "auto"))]
Fault = Annotated[Names, typer.Option(metavar="FAULT")]
LossPer = Annotated[str | None, typer.Option(metavar="coupler|listener")]
Wavelengths = Annotated[int, typer.Option(metavar="W")]
Cluster = Annotated[str | None, typer.Option(metavar="ADDRESS")]


_of_figure = partial(typer.Option, rich_help_panel="Figure")
_of_time = partial(typer.Option, rich_help_panel="Time")


@dataclass(frozen=True)
class FigureOptions(Options):
    """A figure, and how it looks.

    Parameters
    ----------
    figure
        Write a figure to this file: .svg, .png or .pdf.
    label
        Write a name in the figure as TEXT. Give it several times for several names.
    title
        Title of the figure; '' for none.
    width
        Width of the figure, such as 3.5in, 9cm, 88mm or 252pt.
    height
        Height of the figure.
    font_size
        Size of labels in points (default 8).
    """

    figure: Annotated[Path | None, _of_figure(callback=require_figure)] = None
    label: Annotated[Names, _of_figure(metavar="NAME=TEXT")] = None
    title: Annotated[str | None, _of_figure(metavar="TEXT")] = None
    width: Annotated[str | None, _of_figure(metavar="LENGTH")] = None
    height: Annotated[str | None, _of_figure(metavar="LENGTH")] = None
    font_size: Annotated[float | None, _of_figure(metavar="POINTS")] = None

    def value(self) -> FigureOptions | None:
        """Return the options, None if no figure is asked for."""
        if self.figure is None:
            for flag in self.typed(self)[::2]:
                raise InputError(f"{flag} is of a figure; give --figure FILE.")
            return None
        self.layout()
        return self

    def layout(self) -> FigureLayout:
        """Return how the figure differs from the one that popsnet draws."""
        from popsnet.plots import FigureLayout

        pairs = [text.partition("=") for text in self.label or ()]
        for name, equals, _ in pairs:
            if not (name and equals):
                raise InputError(f"--label {name}: give NAME=TEXT, a name and a text for it.")
        options = {name: getattr(self, name) for name in ("title", "width", "height", "font_size")}
        return FigureLayout(**options, labels={name: text for name, _, text in pairs})


Figure = Annotated["FigureOptions | None", FigureOptions]


@dataclass(frozen=True)
class TimeOptions(Options):
    """The length of a slot: options that let a report have times.

    Parameters
    ----------
    timing
        Slots of pulse, sirius or shale. Options below replace theirs.
    slot
        Length of a slot, such as 20ns: print times, too.
    guard
        Part of a slot without bits, such as 2ns.
    rate
        Line rate, such as 100Gbps.
    fibre
        Fibre from processor to processor, such as 10m.
    """

    timing: Annotated[str | None, _of_time(metavar="PRESET", autocompletion=complete_timing)] = None
    slot: Annotated[str | None, _of_time(metavar="TIME")] = None
    guard: Annotated[str | None, _of_time(metavar="TIME")] = None
    rate: Annotated[str | None, _of_time(metavar="RATE")] = None
    fibre: Annotated[str | None, _of_time(metavar="LENGTH")] = None

    def value(self) -> Timing | None:
        """Return the timing that is asked for, None if none is."""
        options = {name: text for name, text in vars(self).items() if text is not None}
        preset = options.pop("timing", None)
        if preset is None and not options:
            return None
        from popsnet.hardware import TIMINGS, Timing, find_preset

        if preset is None:
            if "slot" not in options:
                raise InputError(
                    f"--{next(iter(options))} is given without a slot; give --slot, such as 20ns, "
                    f"or --timing: {', '.join(TIMINGS)}."
                )
            return Timing(**options)
        return find_preset("timing", preset, TIMINGS).replaced(**options)


Timed = Annotated["Timing | None", TimeOptions]


@dataclass(frozen=True)
class Keywords(Options):
    """Options that are keywords of a function of the library."""

    def keywords(self) -> dict[str, Any]:
        """Return the keywords: all options that are given, and faults as the library takes them."""
        keywords = dict(vars(self))
        if "fault" in keywords:
            names = "fault", "loss", "loss_per", "fault_seed"
            keywords |= faults(*(keywords.pop(name, None) for name in names))
        return {name: value for name, value in keywords.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class ScheduledOptions(Keywords):
    """The packets of a schedule, and what is dead."""

    permutation: Annotated[str | None, typer.Option(autocompletion=complete_permutation)] = None
    packets: Path | None = None
    matrix: Path | None = None
    unit: float | None = None
    permutation_seed: int | None = None
    wavelengths: Wavelengths = 1
    fault: Fault = None
    fault_seed: int | None = None

    def check(self, d: int, g: int, table: Path) -> ScheduleCheck:
        """Judge a schedule in a table."""
        from popsnet.runs.schedule_check import check_schedule

        keywords = self.keywords()
        return check_schedule(popsnet.Network(d, g, keywords.pop("wavelengths")), table, **keywords)


@dataclass(frozen=True)
class RunOptions(Keywords):
    """What decides the runs of any router on a network, if everything works.

    Parameters
    ----------
    seed
        Random seed of the router.
    max_steps
        Stop a run after this many steps.
    """

    permutation: Permutation = "random"
    packets: Path | None = None
    matrix: Path | None = None
    unit: float | None = None
    seed: int = 0
    permutation_seed: int | None = None
    max_steps: int = 1000
    wavelengths: Wavelengths = 1

    def keywords(self) -> dict[str, Any]:
        """Return the keywords of :func:`popsnet.route` and other functions of the library."""
        keywords = super().keywords()
        is_named = self.permutation != "random"
        ways = {"--permutation": is_named, "--packets": self.packets, "--matrix": self.matrix}
        names = [name for name, value in ways.items() if value]
        if len(names) > 1:
            raise InputError(f"{' and '.join(names)} each give the packets to send; give only one.")
        return keywords

    @property
    def has_demand(self) -> bool:
        """Whether the packets are not those of a permutation."""
        return not self.packets is self.matrix is None

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
    loss: float | None = None
    loss_per: LossPer = None
    fault_seed: int | None = None


@dataclass(frozen=True, kw_only=True)
class RouterOptions(Options):
    """A router on a network."""

    d: int
    g: int
    router: Router = DEFAULT_ROUTER
    variant: str | None = None


@dataclass(frozen=True, kw_only=True)
class RoutedOptions(ExperimentOptions, RouterOptions):
    """What decides the runs of one router."""

    def keywords(self) -> dict[str, Any]:
        """Return the keywords of :func:`popsnet.route` and other functions of the library."""
        keywords = super().keywords()
        if self.router == DEFAULT_ROUTER and (self.has_demand or self.variant is None):
            self.require_default_applies(self.d, self.g)
        return keywords
