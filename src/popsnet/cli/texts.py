"""What options mean: read from docstrings, so that commands need not repeat it for Typer.

The docstring of a command, or of a group of options, describes its own. An option that several
commands have is described here, once. The rest of a command's docstring is its help: what it does,
an example, and when it ends with exit code 1.

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
demand
    A file with a row per packet (source, destination), or with amounts in a third column: .csv,
    .npy or .parquet.
matrix
    A file with G × G numbers of packets, a row per source group, or with rows source, destination,
    amount: .csv, .npy or .parquet.
unit
    The amount of one packet, for amounts that are not numbers of packets; they are rounded up.
engine
    auto, objects, slots, fused, or one of a plug-in.
permutation_seed
    Random seed of the permutations, if they are drawn (default 0).
fault
    A part that is dead: coupler:B,A (from group A to group B), transmitter:P, receiver:P or
    processor:P, with @SLOT from that slot on; or random:couplers=N. Give it several times for
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
figure
    Write a figure to this file: .svg, .png or .pdf.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import copy
from functools import cache
from inspect import Parameter, cleandoc
from typing import Annotated, get_args, get_origin

import typer
from typer.models import OptionInfo

_HEADING = "Parameters\n----------\n"


def texts_of(*docstrings: str | None) -> dict[str, str]:
    """Return what the options of docstrings mean, by their names; the last docstring decides."""
    return {name: text for one in (__doc__, *docstrings) for name, text in _section(one or "")}


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


def described(one: Parameter, texts: Mapping[str, str]) -> Parameter:
    """Return a parameter as Typer reads it: with its meaning, and named as it is in Python.

    Without a default it is an argument. A flag has no second name that switches it off.
    """
    one = one.replace(kind=Parameter.KEYWORD_ONLY)
    if one.annotation is typer.Context:
        return one
    if get_origin(one.annotation) is Annotated:
        kind, info = get_args(one.annotation)
    else:
        is_argument, kind = one.default is Parameter.empty, one.annotation
        info = typer.Argument(metavar=one.name.upper()) if is_argument else typer.Option()
    info = copy(info)
    info.help = texts.get(one.name)
    if isinstance(info, OptionInfo) and info.default is ...:
        info.default = f"--{one.name.replace('_', '-')}"
    return one.replace(annotation=Annotated[kind, info])
