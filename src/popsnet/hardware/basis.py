"""What a figure rests on: a source in print, or an assumption."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

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
