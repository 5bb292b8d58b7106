"""Quantities with units, such as ``20ns``, ``100Gbps`` and ``-28dBm``: read, and shown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite, log10
from typing import Any, Literal, TypeAlias

from popsnet.base.errors import abbreviated, did_you_mean, wrong

BasisKind: TypeAlias = Literal["given", "source", "assumption"]


@dataclass(frozen=True, slots=True)
class Basis:
    """What a figure rests on.

    Parameters
    ----------
    kind : {"given", "source", "assumption"}
        Whether the user gave it, it is in print, or neither.
    text : str
        The title of the source, or the reason of the assumption.
    address : str
        The address of the source.

    Examples
    --------
    >>> from popsnet.hardware import Basis
    >>> str(Basis("assumption", "two connectors of 1 dB"))
    'assumption: two connectors of 1 dB'
    """

    kind: BasisKind
    text: str = ""
    address: str = ""

    def __str__(self) -> str:
        if self.kind == "given":
            return "given"
        return f"assumption: {self.text}" if self.kind == "assumption" else self.text


GIVEN = Basis("given")


@dataclass(frozen=True)
class Dimension:
    """A kind of quantity, with its units.

    Parameters
    ----------
    noun : str
        Its name, with an article.
    example : str
        A quantity as it can be written.
    units : mapping
        The value of each unit in the base unit; those that are shown to people come first, from
        the smallest to the largest.
    base : str
        The base unit, in which a number without a unit is given in Python.
    limits : tuple of float
        The smallest magnitude other than 0, and the largest one, that are read.
    logarithmic : bool
        Whether units other than the base unit are watts, to be turned into dBm.

    Examples
    --------
    >>> from popsnet.hardware import TIME
    >>> TIME.read("slot", "20ns"), TIME.shown(2e-6)
    (2e-08, '2 µs')
    """

    noun: str
    example: str
    units: Mapping[str, Fraction]
    base: str
    limits: tuple[float, float]
    logarithmic: bool = False

    def read(self, name: str, value: Any) -> float:
        """Return a quantity in the base unit.

        Parameters
        ----------
        name : str
            The name of the parameter, for error messages.
        value : str or float
            A text with a unit, or a number in the base unit.

        Raises
        ------
        InputError
            If the text has no unit or another one, or the number is not finite.
        """
        if isinstance(value, str):
            return self._of_text(name, value)
        if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
            raise wrong(name, f"{value!r:.40}")(f"give {self._wanted}.")
        if isinstance(value, float) and not isfinite(value):
            raise wrong(name, value)(f"it must be finite; give {self._wanted}.")
        return self._in_range(name, value, Fraction(value))

    def _in_range(self, name: str, original: object, value: Fraction) -> float:
        """Return a value in the base unit, and refuse one that no network has, or no float."""
        least, most = self.limits
        if value != 0 and not least <= abs(value) <= most:
            span = f"{least:g} to {most:g} {self.base}" if least else f"up to {most:g} {self.base}"
            raise wrong(name, abbreviated(original))(
                f"it is out of range, which is {span}. Give {self._wanted} in this range."
            )
        return float(value)

    def _of_text(self, name: str, text: str) -> float:
        refuse = wrong(name, text[:40])
        match = _QUANTITY.fullmatch(text.strip())
        if match is None:
            raise refuse(f"this is not a quantity; give {self._wanted}.")
        digits, unit = match.groups()
        if len(digits) > _MOST_DIGITS:
            most = f"at most {_MOST_DIGITS} characters are read as a number"
            raise refuse(f"{most}; give {self._wanted}.")
        if not unit:
            raise refuse(f"it has no unit; give {self._wanted}.")
        if unit not in self.units:
            meant = did_you_mean(unit, self.units)
            raise refuse(f"{unit[:20]!r} is not a unit of {self.noun}.{meant} Give {self._wanted}.")
        value = Fraction(digits.replace("−", "-")) * self.units[unit]
        if not self.logarithmic or unit == self.base:
            return self._in_range(name, text, value)
        if value <= 0:
            raise refuse("a power in watts must be above 0.")
        if not _LEAST_WATTS <= value <= 1 / _LEAST_WATTS:  # before a logarithm of a float
            return self._in_range(name, text, Fraction(2 * self.limits[1]))
        return self._in_range(name, text, Fraction(10 * log10(value * 1000)))

    @property
    def _wanted(self) -> str:
        return f"{self.noun} such as {self.example} ({', '.join(self.units)})"

    def shown(self, value: float, digits: int = 4) -> str:
        """Return a quantity as people read it.

        Parameters
        ----------
        value : float
            The value in the base unit.
        digits : int
            Significant digits. With 17 of them, :meth:`read` returns the value again.
        """
        if self.logarithmic or len(self.units) == 1:
            return f"{value:.{digits}g} {self.base}"
        exact = Fraction(repr(float(value)))
        shown = [unit for unit in self.units if unit in _SHOWN]
        unit = [shown[0], *(unit for unit in shown if self.units[unit] <= abs(exact))][-1]
        return f"{_plain(float(exact / self.units[unit]), digits)} {unit}"


def _plain(number: float, digits: int) -> str:
    """Return a number without an exponent where it can be read."""
    text = f"{number:.{digits}g}"
    return f"{number:,.0f}" if "e+" in text and abs(number) < 1e6 else text


_QUANTITY = re.compile(r"([+\-−]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)\s*([^\d\s.,+\-].*)?")
_MOST_DIGITS = 1000
_LEAST_WATTS = Fraction(1, 10**30)

_SHOWN = "ps ns µs ms s bps kbps Mbps Gbps Tbps Pbps cm m km".split()  # noqa: SIM905
"""The units that people see, of several that mean the same."""


def _powers(*units: tuple[str, int]) -> dict[str, Fraction]:
    return {unit: Fraction(10) ** power for unit, power in units}


TIME = Dimension(
    "a time",
    "20ns",
    _powers(("ps", -12), ("ns", -9), ("µs", -6), ("ms", -3), ("s", 0), ("us", -6), ("μs", -6)),
    "s",
    (1e-18, 1e9),
)
"""Times, in seconds."""

RATE = Dimension(
    "a line rate",
    "100Gbps",
    _powers(
        *((f"{prefix}{unit}", power) for unit in ("bps", "b/s", "bit/s")
          for prefix, power in (("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15)))
    ),
    "bps",
    (1.0, 1e24),
)  # fmt: skip
"""Line rates, in bits per second."""

LENGTH = Dimension("a length", "10m", _powers(("cm", -2), ("m", 0), ("km", 3)), "m", (1e-6, 1e12))
"""Lengths of fibre, in metres."""

POWER = Dimension(
    "a power",
    "4dBm",
    {"dBm": Fraction(1), **_powers(("nW", -9), ("µW", -6), ("uW", -6), ("mW", -3), ("W", 0))},
    "dBm",
    (0.0, 100.0),
    logarithmic=True,
)
"""Powers, in dBm."""

LOSS = Dimension("a loss", "0.3dB", {"dB": Fraction(1)}, "dB", (0.0, 1000.0))
"""Losses, in dB."""


def milliwatts(dbm: float) -> float:
    """Return a power in milliwatts.

    Parameters
    ----------
    dbm : float
        The power in dBm.

    Examples
    --------
    >>> from popsnet.hardware import milliwatts
    >>> milliwatts(10.0)
    10.0
    """
    return float(10 ** (dbm / 10))
