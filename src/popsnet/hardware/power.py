"""The power budget: how large a star may be before its receivers see too little light.

A coupler is a d × d star: it divides the power of a message among the d processors of a group,
which costs 10 log10 d dB, and the 2 × 2 couplers or waveguides that it is made of lose a little
more with every doubling. A processor reaches g couplers. With a transmitter for each of them
nothing else divides the power. With one transmitter and a 1 × g splitter the power is divided by g
as well, so that the loss grows with n = d·g. Either way a processor has a receiver for each of the
g couplers that lead to its group: a combiner in front of one receiver would mix their light.

Left out are amplifiers and their noise, crosstalk, dispersion, receivers that are overloaded by
too much power, and energy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import log2, log10
from typing import Any, Literal, TypeAlias, get_args

from popsnet.base.errors import InputError, abbreviated, wrong
from popsnet.base.report import Column, Fact, Report, Reported, Table, plural
from popsnet.hardware.timing import LINKS, LinkPreset, find_preset
from popsnet.hardware.units import GIVEN, LOSS, POWER, Basis, milliwatts
from popsnet.model.network import Network, about, shape_of

Transmitters: TypeAlias = Literal["many", "one"]

_CLOSED = 1e-9
"""A budget that is missed by less than this, in dB, is closed: rounding, not light, is missing."""

_MOST = 2**63
"""Larger stars are not looked for."""


@dataclass(frozen=True, init=False)
class Link:
    """The light of a link: what is sent, what is needed, and what is lost.

    Parameters
    ----------
    transmit : float or str
        The power of a transmitter, in dBm or as a text such as ``"4dBm"`` or ``"2.5mW"``.
    sensitivity : float or str
        The least power that a receiver needs.
    margin : float or str
        Kept for ageing, temperature and penalties, in dB or as a text such as ``"3dB"``.
    connectors : float or str
        The loss of connectors and splices from processor to processor.
    excess : float or str
        The loss of a star or splitter per doubling of its size, besides the division by 2.
    name : str
        The name of the preset, if it is one.
    bases : mapping of str to Basis
        What the figures rest on. Figures without an entry were given.

    Examples
    --------
    >>> from popsnet.hardware import Link
    >>> link = Link("4dBm", "-28dBm")
    >>> link.available, round(link.splitting(64), 1), link.largest_split
    (27.0, 19.9, 285)
    """

    transmit: float
    sensitivity: float
    margin: float
    connectors: float
    excess: float
    name: str = field(compare=False)
    bases: Mapping[str, Basis] = field(repr=False, compare=False)

    def __init__(
        self,
        transmit: float | str,
        sensitivity: float | str,
        margin: float | str = 3.0,
        connectors: float | str = 2.0,
        excess: float | str = 0.3,
        name: str = "",
        bases: Mapping[str, Basis] | None = None,
    ) -> None:
        values = transmit, sensitivity, margin, connectors, excess
        for (key, dimension), value in zip(_FIGURES.items(), values, strict=True):
            object.__setattr__(self, key, read := dimension.read(key, value))
            if dimension is LOSS and read < 0:
                raise wrong(key, f"{read:g} dB")("it is a loss and must be at least 0.")
        vars(self).update(name=name, bases=bases or {})

    @property
    def available(self) -> float:
        """What stars and splitters may lose, in dB."""
        return self.transmit - self.sensitivity - self.connectors - self.margin

    def splitting(self, parts: int) -> float:
        """Return the loss of a star or splitter that divides the power by ``parts``, in dB."""
        return 10 * log10(parts) + self.excess * log2(parts)

    def closes(self, parts: int) -> bool:
        """Return whether receivers see enough light if the power is divided by ``parts``."""
        return self.splitting(parts) <= self.available + _CLOSED

    @property
    def largest_split(self) -> int:
        """The largest number of parts for which the budget closes, 0 if it never does."""
        low, high = 0, _MOST + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.closes(middle) else (low, middle)
        return low

    def basis(self, figure: str) -> Basis:
        """Return what a figure rests on."""
        return self.bases.get(figure, GIVEN)


_MEANINGS = {
    "transmit": "transmitter power",
    "sensitivity": "receiver sensitivity",
    "margin": "margin",
    "connectors": "connectors",
    "excess": "excess loss per doubling",
}
_FIGURES = dict(zip(_MEANINGS, (POWER, POWER, LOSS, LOSS, LOSS), strict=True))


@dataclass(frozen=True, slots=True)
class Architecture:
    """The budget of one way to connect processors to couplers.

    Parameters
    ----------
    transmitters : {"many", "one"}
        g transmitters per processor, or one with a 1 × g splitter.
    loss_db : float
        Everything that is lost from transmitter to receiver, in dB.
    received_dbm : float
        The power that reaches a receiver.
    left_db : float
        What is left of the budget after loss and margin.
    closes : bool
        Whether receivers see enough light, margin included.
    largest_d : int
        The most processors per group for this g, 0 if none.
    largest_d_power_of_two : int
        The largest power of two among them, as stars are mostly made.
    largest_n : int
        The most processors for this g: g times the largest d.

    Examples
    --------
    >>> import popsnet
    >>> one = popsnet.budget(32, 32, preset="pon").architecture("one")
    >>> one.closes, one.largest_d, one.largest_n
    (False, 8, 256)
    """

    transmitters: Transmitters
    loss_db: float
    received_dbm: float
    left_db: float
    closes: bool
    largest_d: int
    largest_d_power_of_two: int
    largest_n: int


@dataclass(frozen=True, repr=False)
class PowerBudget(Reported):
    """The power budget of a network, as :func:`popsnet.budget` returns it.

    Parameters
    ----------
    network : Network
        The network.
    link : Link
        Powers and losses.
    transmitters : {"many", "one"}
        The architecture that is judged.

    Examples
    --------
    >>> import popsnet
    >>> found = popsnet.budget(32, 32, transmit="4dBm", sensitivity="-28dBm")
    >>> found.closes, round(found.loss_db, 2), found.largest_d
    (True, 18.55, 285)
    """

    network: Network
    link: Link
    transmitters: Transmitters = "many"

    def architecture(self, transmitters: Transmitters | None = None) -> Architecture:
        """Return the budget of an architecture, by default of the one that is judged.

        Parameters
        ----------
        transmitters : {"many", "one"}, optional
            g transmitters per processor, or one with a 1 × g splitter.
        """
        kind, link, g = transmitters or self.transmitters, self.link, self.network.g
        parts = self.network.d if kind == "many" else self.network.n
        loss, largest = link.splitting(parts) + link.connectors, link.largest_split
        d = largest if kind == "many" else largest // g
        received = link.transmit - loss
        left, power = received - link.sensitivity - link.margin, 1 << d.bit_length() >> 1
        return Architecture(kind, loss, received, left, link.closes(parts), d, power, d * g)

    @property
    def closes(self) -> bool:
        """Whether receivers see enough light, margin included."""
        return self.architecture().closes

    @property
    def loss_db(self) -> float:
        """Everything that is lost from transmitter to receiver, in dB."""
        return self.architecture().loss_db

    @property
    def left_db(self) -> float:
        """What is left of the budget after loss and margin, in dB."""
        return self.architecture().left_db

    @property
    def largest_d(self) -> int:
        """The most processors per group for this g."""
        return self.architecture().largest_d

    @property
    def largest_n(self) -> int:
        """The most processors for this g: g times the largest d."""
        return self.architecture().largest_n

    def report(self) -> Report:
        """Return the report that the command line prints."""
        network, link, design = self.network, self.link, self.architecture()
        title = (
            f"{network}: {plural(network.couplers, 'coupler')}, each a {network.d:,} × "
            f"{network.d:,} star\nPower budget{f' ({link.name})' if link.name else ''}, "
            f"{_WAYS[self.transmitters]}"
        )
        facts = (
            Fact("preset", link.name or None),
            Fact("available_db", link.available),
            *(Fact(key, value) for key, value in asdict(design).items()),
        )
        size = abs(design.left_db)
        left = f"{size:.2f} dB" if size >= 0.005 else "less than 0.01 dB"
        closes = f"OK: the budget closes, with {left} to spare."
        verdict = closes if design.closes else f"FAILED: {left} are missing."
        both = [asdict(self.architecture(kind)) for kind in get_args(Transmitters)]
        parts: tuple[Table | str, ...] = (
            Table("architectures", "Both ways to reach g couplers", _COLUMNS, both),
            Table("losses", "Loss", _LOSS_COLUMNS, self._losses()),
            Table("figures", "Figures", _FIGURE_COLUMNS, self._figures()),
            *self._notes(),
        )
        named, same = ("transmitters",), about(network)
        return Report(title, facts, parts, verdict, design.closes, self._cure(), named, same)

    def in_short(self) -> str:
        """Return the network and whether the budget closes, in a line."""
        left = self.left_db
        ends = f"closes with {left:.2f} dB" if self.closes else f"lacks {-left:.2f} dB"
        return f"{self.network}, {_WAYS[self.transmitters]}: {ends}"

    def _losses(self) -> list[dict[str, Any]]:
        """Return the parts of the loss of the architecture that is judged."""
        link, d, g = self.link, self.network.d, self.network.g
        is_split = self.transmitters == "one"
        parts = {f"1 × {g:,} splitter": link.splitting(g)} if is_split else {}
        parts |= {f"{d:,} × {d:,} star": link.splitting(d), "connectors": link.connectors}
        return [{"part": part, "loss_db": loss} for part, loss in parts.items()]

    def _figures(self) -> list[dict[str, Any]]:
        rows = []
        for name, dimension in _FIGURES.items():
            basis, value = self.link.basis(name), getattr(self.link, name)
            power = milliwatts(value) if dimension is POWER else None
            row = {"figure": name, "value": value, "unit": dimension.base, "milliwatts": power}
            rows.append(row | {"basis": basis.kind, "text": basis.text, "address": basis.address})
        return rows

    def _notes(self) -> list[str]:
        design, groups = self.architecture(), plural(self.network.g, "group")
        d, two, n = design.largest_d, design.largest_d_power_of_two, design.largest_n
        if not d:
            which = "No network" if self.transmitters == "many" else f"No d with {groups}"
            return [f"{which} closes this budget.", _LEFT_OUT]
        power = f" ({two:,} as a power of two)" if two != d else ""
        size = f"Largest d with {groups}: {d:,}{power}"
        return [f"{size}; largest n = d·g: {n:,} processors.", _LEFT_OUT]

    def _cure(self) -> str:
        if self.closes:
            return ""
        design, cures = self.architecture(), []
        if design.largest_d:
            groups = plural(self.network.g, "group")
            cures.append(f"With {groups}, d must be at most {design.largest_d:,}.")
        if self.transmitters == "one" and self.architecture("many").closes:
            cures.append("With transmitters='many' the budget closes.")
        return " ".join(cures) or "Use a stronger transmitter or a more sensitive receiver."


_WAYS = {
    "many": "g transmitters per processor",
    "one": "one transmitter and a 1 × g splitter per processor",
}
_LEFT_OUT = "Left out: amplifiers, crosstalk, dispersion, overloaded receivers, energy."


_COLUMNS = (
    Column("transmitters", kind="text"),
    Column("loss_db", "loss (dB)"),
    Column("received_dbm", "received (dBm)"),
    Column("left_db", "left (dB)"),
    Column("closes", kind="flag"),
    Column("largest_d", "largest d", "integer"),
    Column("largest_n", "largest n", "integer"),
)
_LOSS_COLUMNS = Column("part", kind="text"), Column("loss_db", "dB")
_FIGURE_COLUMNS = (
    Column("figure", kind="text", show=lambda row: _MEANINGS[row["figure"]]),
    Column("value", kind="number", show=lambda row: f"{row['value']:g} {row['unit']}"),
    Column("basis", kind="text", show=lambda row: str(Basis(row["basis"], row["text"]))),
)


def budget(
    d: Network | int,
    g: int | None = None,
    *,
    preset: str | None = None,
    transmit: float | str | None = None,
    sensitivity: float | str | None = None,
    margin: float | str | None = None,
    connectors: float | str | None = None,
    excess: float | str | None = None,
    transmitters: Transmitters = "many",
) -> PowerBudget:
    """Return the power budget of a network.

    Parameters
    ----------
    d : int or Network
        Processors per group, or a network.
    g : int
        Groups, if the first argument is a number.
    preset : {"pon", "silicon", "coherent"}, optional
        Figures of a kind of hardware, each with its source or marked as an assumption. Figures that
        are given as well replace those of the preset.
    transmit, sensitivity : float or str
        The power of a transmitter, and the least power that a receiver needs, in dBm or as texts
        such as ``"4dBm"`` and ``"2.5mW"``. Needed if there is no preset.
    margin, connectors, excess : float or str, optional
        The margin, the loss of connectors, and the loss of a star per doubling of its size besides
        the division by 2, in dB or as texts; by default 3 dB, 2 dB and 0.3 dB, which are
        assumptions.
    transmitters : {"many", "one"}
        g transmitters per processor, or one with a 1 × g splitter.

    Returns
    -------
    PowerBudget
        Loss, margin, verdict, and the largest network.

    Raises
    ------
    InputError
        If a power is missing, or a quantity has another unit.

    Notes
    -----
    The loss of a d × d star is 10 log10 d + e log2 d for an excess loss of e, which is
    (10 + 3.32 e) log10 d. So the budget closes up to d = 10^(A/(10 + 3.32 e)), where A is the
    difference of transmitter power and sensitivity, less connectors and margin.

    Examples
    --------
    >>> import popsnet
    >>> popsnet.budget(16, 16, preset="silicon").closes
    True
    >>> popsnet.budget(16, 16, preset="silicon", transmitters="one").closes
    False
    """
    network = Network(*shape_of(d, g))
    if transmitters not in get_args(Transmitters):
        raise wrong("transmitters", abbreviated(transmitters))("give many or one.")
    figures = zip(_FIGURES, (transmit, sensitivity, margin, connectors, excess), strict=True)
    overrides = {name: value for name, value in figures if value is not None}
    base = NO_PRESET if preset is None else find_preset("preset", preset, LINKS)
    values: dict[str, Any] = {**base.figures, **overrides}
    if missing := [name for name in ("transmit", "sensitivity") if name not in values]:
        raise InputError(
            f"{' and '.join(missing)}: not given. Give both, such as transmit='4dBm' and "
            f"sensitivity='-28dBm', or a preset: {', '.join(LINKS)}."
        )
    bases = {name: basis for name, basis in base.bases.items() if name not in overrides}
    return PowerBudget(network, Link(**values, name=base.name, bases=bases), transmitters)


NO_PRESET = LinkPreset(
    "", {}, {name: LINKS["pon"].bases[name] for name in ("margin", "connectors", "excess")}
)
"""The assumptions that hold without a preset."""
