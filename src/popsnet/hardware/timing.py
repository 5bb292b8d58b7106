"""Slots as nanoseconds, loads as bit rates, and figures of hardware that exists or was proposed."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from importlib.resources import files
from math import ceil
from typing import Any, TypeVar, cast

from popsnet.base.errors import InputError, did_you_mean, require_text, wrong
from popsnet.base.report import plural
from popsnet.hardware.units import GIVEN, LENGTH, RATE, TIME, Basis, BasisKind

PER_METRE = 5e-9
"""The time that light takes for a metre of fibre, in seconds, rounded up."""

PER_METRE_BASIS = Basis(
    "source",
    "The 5-Microsecond Rule: 4.897 µs per km of G.652 fibre at 1550 nm, rounded up to 5 ns/m",
    "https://mapyourtech.com/the-5-microsecond-rule-fiber-propagation-latency-per-kilometer/",
)


@dataclass(frozen=True, init=False)
class Timing:
    """The length of a slot, and what it carries.

    It changes no run: it is a way to print slots and loads as times and bit rates.

    Parameters
    ----------
    slot : float or str
        The length of a slot in seconds, or a text such as ``"20ns"``.
    guard : float or str
        The part of a slot in which nothing can be sent, because transmitters, receivers and clocks
        settle.
    rate : float or str, optional
        The line rate in bits per second, or a text such as ``"100Gbps"``.
    fibre : float or str
        The length of fibre from a processor through a coupler to a processor, in metres or as a
        text such as ``"10m"``. It is the same for all, by spare fibre if need be.
    per_metre : float or str
        The time that light takes for a metre of fibre.
    name : str
        The name of the preset, if it is one.
    bases : mapping of str to Basis
        What the figures rest on. Figures without an entry were given.

    Raises
    ------
    InputError
        If a quantity has no unit, or another one, or is out of range.

    Examples
    --------
    >>> import popsnet
    >>> timing = popsnet.Timing(slot="20ns", guard="2ns", rate="100Gbps", fibre="10m")
    >>> timing.payload_bits / 8, timing.efficiency, timing.propagation_slots
    (225.0, 0.9, 3)
    >>> timing
    Timing(slot=2e-08, guard=2e-09, rate=100000000000.0, fibre=10.0)
    """

    slot: float
    guard: float
    rate: float | None
    fibre: float
    per_metre: float = field(repr=False)
    name: str = field(repr=False, compare=False)
    bases: Mapping[str, Basis] = field(repr=False, compare=False)

    def __init__(
        self,
        slot: float | str,
        guard: float | str = 0.0,
        rate: float | str | None = None,
        fibre: float | str = 0.0,
        per_metre: float | str = PER_METRE,
        name: str = "",
        bases: Mapping[str, Basis] | None = None,
    ) -> None:
        values = slot, guard, rate, fibre, per_metre
        for (key, dimension), value in zip(_FIELDS.items(), values, strict=True):
            is_left_out = value is None and key == "rate"
            object.__setattr__(self, key, None if is_left_out else dimension.read(key, value))
        vars(self).update(name=name, bases=bases or {})
        self._require_ranges()

    def _require_ranges(self) -> None:
        slot = TIME.shown(self.slot)
        rules = {
            "slot": (self.slot > 0, "longer than 0"),
            "guard": (0 <= self.guard < self.slot, f"at least 0 and shorter than the slot, {slot}"),
            "rate": (self.rate is None or self.rate > 0, "above 0"),
            "fibre": (self.fibre >= 0, "at least 0"),
            "per_metre": (self.per_metre > 0, "above 0"),
        }
        for name, (holds, rule) in rules.items():
            if not holds:
                value = _FIELDS[name].shown(getattr(self, name))
                raise wrong(name, value)(f"it must be {rule}.")

    def replaced(self, **figures: float | str) -> Timing:
        """Return the timing with other figures, which count as given.

        Parameters
        ----------
        **figures
            ``slot``, ``guard``, ``rate``, ``fibre`` or ``per_metre``.

        Examples
        --------
        >>> from popsnet.hardware import TIMINGS
        >>> TIMINGS["sirius"].replaced(guard="10ns", fibre="20m").efficiency
        0.9
        """
        if unknown := [name for name in figures if name not in _FIELDS]:
            raise InputError(f"{unknown[0]} is not a figure of a timing: {', '.join(_FIELDS)}.")
        values: dict[str, Any] = {name: getattr(self, name) for name in _FIELDS}
        bases = {name: basis for name, basis in self.bases.items() if name not in figures}
        return Timing(**{**values, **figures}, name=self.name, bases=bases)

    @property
    def efficiency(self) -> float:
        """The share of a slot in which bits are sent, 1 - guard/slot."""
        return float(1 - _exact(self.guard) / _exact(self.slot))

    @property
    def payload_bits(self) -> float | None:
        """The bits of a message, None without a line rate."""
        if self.rate is None:
            return None
        return float((_exact(self.slot) - _exact(self.guard)) * _exact(self.rate))

    @property
    def propagation(self) -> float:
        """The time from a processor to a processor, in seconds."""
        return float(_exact(self.per_metre) * _exact(self.fibre))

    @property
    def propagation_slots(self) -> int:
        """The slots τ by which a message arrives later, rounded up."""
        return ceil(_exact(self.per_metre) * _exact(self.fibre) / _exact(self.slot))

    def seconds(self, slots: float, hops: float = 0) -> float:
        """Return the time of slots, and of the propagation of hops that follow each other.

        Parameters
        ----------
        slots : float
            The slots.
        hops : float
            The hops, each of which takes :attr:`propagation_slots` more.

        Examples
        --------
        >>> import popsnet
        >>> popsnet.Timing(slot="20ns", fibre="10m").seconds(4, hops=1)
        1.4e-07
        """
        return float(_exact(slots + hops * self.propagation_slots) * _exact(self.slot))

    def nanoseconds(self, slots: float | None) -> float | None:
        """Return the time of slots in nanoseconds, None of None."""
        return None if slots is None else float(_exact(slots) * _exact(self.slot) * 10**9)

    def throughput(self, load: float, processors: int = 1) -> float | None:
        """Return the bits per second at a load, None without a line rate.

        Parameters
        ----------
        load : float
            Packets per processor and slot.
        processors : int
            The number of processors.

        Examples
        --------
        >>> import popsnet
        >>> timing = popsnet.Timing(slot="20ns", guard="2ns", rate="100Gbps")
        >>> timing.throughput(0.5, processors=4096) / 1e12
        184.32
        """
        bits = self.payload_bits
        return None if bits is None else load * processors * bits / self.slot

    def gigabits(self, load: float | None, processors: int = 1) -> float | None:
        """Return the throughput in gigabits per second, None of None."""
        bits = None if load is None else self.throughput(load, processors)
        return None if bits is None else bits / 1e9

    def to_dict(self) -> dict[str, Any]:
        """Return the figures, what follows from them, and what they rest on."""
        bits = self.payload_bits
        return {
            "preset": self.name or None,
            "slot_ns": self.nanoseconds(1),
            "guard_ns": float(_exact(self.guard) * 10**9),
            "rate_gbps": None if self.rate is None else self.rate / 1e9,
            "fibre_m": self.fibre,
            "ns_per_metre": float(_exact(self.per_metre) * 10**9),
            "efficiency": self.efficiency,
            "payload_bytes": None if bits is None else bits / 8,
            "propagation_slots": self.propagation_slots,
            "bases": {
                name: asdict(self.basis(name))
                for name in _FIELDS
                if getattr(self, name) is not None
            },
        }

    def basis(self, figure: str) -> Basis:
        """Return what a figure, such as ``"slot"`` or ``"rate"``, rests on."""
        if figure == "per_metre" and self.per_metre == PER_METRE:
            return self.bases.get(figure, PER_METRE_BASIS)
        return self.bases.get(figure, GIVEN)

    def notes(self) -> tuple[str, ...]:
        """Return the timing in a few lines, with what is assumed."""
        tau, bits = self.propagation_slots, self.payload_bits
        carries = "" if bits is None else f"; a message carries {_plain(bits / 8)} bytes"
        fibre = f"; {LENGTH.shown(self.fibre)} of fibre delay a message by {plural(tau, 'slot')}"
        away = fibre if self.fibre else ""
        guard = f", {TIME.shown(self.guard)} of it guard" if self.guard else ""
        preset = f" ({self.name})" if self.name else ""
        text = f"Time{preset}: a slot of {TIME.shown(self.slot)}{guard}{carries}{away}."
        assumed = [name for name in _FIELDS if self.basis(name).kind == "assumption"]
        basis = f"popsnet assumes the {' and '.join(assumed)}; the rest is from {self.name}."
        return (text, basis) if assumed else (text,)


_FIELDS = {"slot": TIME, "guard": TIME, "rate": RATE, "fibre": LENGTH, "per_metre": TIME}


def _plain(number: float) -> str:
    """Return a number with all digits before the point, and four digits at least."""
    return f"{number:,.0f}" if number >= 1000 else f"{number:.4g}"


def _exact(value: float) -> Fraction:
    """Return the decimal number that a float is written as."""
    return Fraction(repr(float(value)))


@dataclass(frozen=True)
class LinkPreset:
    """Powers and losses of a kind of hardware.

    Parameters
    ----------
    name : str
        Its name.
    figures : mapping
        The figures by name, as texts with units.
    bases : mapping
        What each of them rests on.

    Examples
    --------
    >>> from popsnet.hardware import LINKS
    >>> LINKS["silicon"].figures["sensitivity"], LINKS["silicon"].bases["sensitivity"].kind
    ('-9.7dBm', 'source')
    """

    name: str
    figures: Mapping[str, str]
    bases: Mapping[str, Basis]


def _presets(kind: str, common: str = "") -> Iterator[LinkPreset]:
    known = tomllib.loads((files("popsnet.hardware") / "presets.toml").read_text(encoding="utf-8"))
    for name, own in known[kind].items():
        figures = {**own, **known.get(common, {})}
        values = {figure: fields["value"] for figure, fields in figures.items()}
        yield LinkPreset(
            name, values, {figure: _basis(**fields) for figure, fields in figures.items()}
        )


def _basis(*, value: str, address: str = "", **text: str) -> Basis:
    """Return the basis of a figure as the file has it, with ``source`` or ``assumption``."""
    ((kind, words),) = text.items()
    return Basis(cast("BasisKind", kind), words, address)


LINKS = {preset.name: preset for preset in _presets("links", common="losses")}
"""Kinds of hardware for power budgets: 10 Gb/s passive optical networks, silicon, coherent."""

TIMINGS = {
    preset.name: Timing(**preset.figures, name=preset.name, bases=preset.bases)
    for preset in _presets("timings")
}
"""Slots of three proposals, without fibre."""

_Preset = TypeVar("_Preset")


def find_preset(name: str, preset: str, presets: Mapping[str, _Preset]) -> _Preset:
    """Return the preset of that name.

    Parameters
    ----------
    name : str
        The name of the parameter, for error messages.
    preset : str
        The name of the preset.
    presets : mapping
        The presets.

    Raises
    ------
    InputError
        If there is no such preset.

    Examples
    --------
    >>> from popsnet.hardware import TIMINGS, find_preset
    >>> find_preset("timing", "sirius", TIMINGS).payload_bits
    4808.0
    """
    require_text(name, preset)
    if preset not in presets:
        raise wrong(name, f"{preset:.40}")(
            f"there is no such preset.{did_you_mean(preset, presets)} Give one of: "
            f"{', '.join(presets)}."
        )
    return presets[preset]
