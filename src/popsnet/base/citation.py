"""How to cite popsnet, and the paper whose router it executes."""

from __future__ import annotations

from datetime import date
from textwrap import fill

import popsnet

RELEASED = date(2026, 11, 19)
"""The day on which this version was released."""

SOFTWARE = {
    "author": "{The popsnet developers}",
    "title": "popsnet: on-line permutation routing on {Partitioned Optical Passive Star} networks",
    "year": str(RELEASED.year),
    "note": f"Software, version {popsnet.__version__}, MIT licence",
}
PAPER = {
    "author": "Mei, Alessandro and Rizzi, Romeo",
    "title": "Online Permutation Routing in {Partitioned Optical Passive Star} Networks",
    "journal": "IEEE Transactions on Computers",
    "volume": "55",
    "year": "2006",
}


def bibtex() -> str:
    """Return BibTeX entries of popsnet and of the paper whose router it executes.

    Examples
    --------
    >>> from popsnet.base.citation import bibtex
    >>> print(bibtex().splitlines()[0])
    @misc{popsnet,
    """
    return f"{_entry('misc', 'popsnet', SOFTWARE)}\n\n{_entry('article', 'mei-rizzi', PAPER)}"


def _entry(kind: str, key: str, fields: dict[str, str]) -> str:
    lines = (_field(name, text) for name, text in fields.items())
    return f"@{kind}{{{key},\n" + ",\n".join(lines) + "\n}"


def _field(name: str, text: str) -> str:
    return fill(f"  {name:7} = {{{text}}}", 78, subsequent_indent=" " * 13)
