"""Schedules: which stages follow each other, as data that can be printed, parsed and checked.

    P4 P2 P1 R2 R1

is three park stages with windows of 4, 2 and 1 slots, a shower of two copies and one of a single
copy. The last stage is repeated for as long as a processor waits. ``P2 | P1 F`` repeats P1 and F.

    Pw, P(w1,w2,…)   park, windows of w slots         Σ(w + 1) + k slots    d ≥ g
    S                the plain sweep                  2k + 1                d ≥ g
    F                fold                             4                     d ≥ g
    Rr               shower, r copies, global OR      1 + r + 2             d ≥ g
    XY(x,y)          grid                             x + y + 1             d < g, xy ≥ ⌈g/d⌉
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, repeat

from popsnet.errors import InputError
from popsnet.network import Network
from popsnet.routing.facts import Phases
from popsnet.routing.relay.grid import Grid
from popsnet.routing.relay.park import Park, SweepStage
from popsnet.routing.relay.single_attempt import Fold, Shower
from popsnet.routing.relay.state import WIDEST, RelayStage

_MOST_STAGES = 1000
_MOST_DIGITS = 20
"""Python refuses to read numbers of thousands of digits, with an error of its own."""


@dataclass(frozen=True)
class RelaySchedule:
    """Stages, and those that are then repeated until every packet is delivered.

    Schedules that do the same are equal: what is repeated anyway is not listed before, nor twice.
    """

    stages: tuple[RelayStage, ...]
    repeated: tuple[RelayStage, ...] = ()
    """The last stage, if none are given."""

    def __post_init__(self) -> None:
        if not self.stages and not self.repeated:
            raise InputError("The schedule is empty; give stages, as in 'P2 P1 F R2'.")
        if len(self.stages) + len(self.repeated) > _MOST_STAGES:
            raise InputError(f"A schedule has at most {_MOST_STAGES} stages.")
        stages, repeated = self.stages, _period(self.repeated or self.stages[-1:])
        while stages and stages[-1] == repeated[-1]:
            stages, repeated = stages[:-1], repeated[-1:] + repeated[:-1]
        object.__setattr__(self, "stages", stages)
        object.__setattr__(self, "repeated", repeated)

    def __iter__(self) -> Iterator[RelayStage]:
        return chain(self.stages, chain.from_iterable(repeat(self.repeated)))

    def __str__(self) -> str:
        bar = ("|",) if len(self.repeated) > 1 else ()
        return " ".join(map(str, (*self.stages, *bar, *self.repeated)))

    @property
    def all_stages(self) -> tuple[RelayStage, ...]:
        """Every stage, those that are repeated once."""
        return (*self.stages, *self.repeated)

    @property
    def phases(self) -> Phases:
        """What happens in the phases of its stages."""
        return {pattern: text for one in self.all_stages for pattern, text in one.phases.items()}

    def buffers(self, network: Network) -> int:
        """Packets a processor may hold."""
        return max(stage.buffers(network) for stage in self.all_stages)

    def obstacle(self, network: Network) -> str | None:
        """Why it cannot be run on a network, or None if it can."""
        reasons = (stage.obstacle(network) for stage in self.all_stages)
        return next((reason for reason in reasons if reason is not None), None)


def parse_schedule(text: str) -> RelaySchedule:
    """The schedule that a text like ``P2 P1 P(5,5) F R2 | R1`` stands for."""
    strange = next((sign for sign in text if not sign.isascii()), None)
    if strange is not None:
        raise InputError(f"Schedule {text!r}: {strange!r} is not allowed in a schedule. {_MADE_OF}")
    before, *after = text.split("|")
    if len(after) > 1:
        raise InputError(f"Schedule {text!r} has {len(after)} bars; it may have one.")
    if after and not after[0].strip():
        raise InputError(f"Schedule {text!r}: nothing follows the bar; give stages to repeat.")
    return RelaySchedule(_stages(before), _stages(after[0]) if after else ())


def _period(stages: tuple[RelayStage, ...]) -> tuple[RelayStage, ...]:
    """The shortest beginning that gives the same when it is repeated for ever."""
    whole = range(1, len(stages) + 1)
    shortest = next(length for length in whole if stages[length:] + stages[:length] == stages)
    return stages[:shortest]


_MADE_OF = "A schedule is made of Pw or P(w1,w2,…), S, F, Rr and XY(x,y), as in 'P2 P1 P1 R2'."
_STAGE = re.compile(r"(P|S|F|R|XY)(\d+|\((?:\s*\d+\s*(?:,\s*\d+\s*)*)?\))?(?=\s|$|([PSFRX]))")

_MAKERS: dict[str, tuple[Callable[..., RelayStage], range, str]] = {
    "P": (lambda *windows: Park(windows), range(1, 1000), "windows, as in P2 or P(5,5)"),
    "S": (SweepStage, range(1), "no number"),
    "F": (Fold, range(1), "no number"),
    "R": (Shower, range(1, 2), "one number of copies, as in R2"),
    "XY": (Grid, range(2, 3), "two numbers, as in XY(4,4)"),
}


def _stages(text: str) -> tuple[RelayStage, ...]:
    stages, at = [], 0
    text = text.strip()
    while at < len(text):
        match = _STAGE.match(text, at)
        if match is None:
            raise InputError(f"'{text[at : at + 20]}' does not begin with a stage. {_MADE_OF}")
        if match[3]:
            raise InputError(
                f"'{text[at : at + 20]}': stages have spaces between them; give "
                f"'{match[0]} {match[3]}…'."
            )
        stages.append(_stage(match[1], match[2] or ""))
        at = match.end()
        at += len(text[at:]) - len(text[at:].lstrip())
    return tuple(stages)


def _stage(letter: str, numbers: str) -> RelayStage:
    maker, counts, expected = _MAKERS[letter]
    digits = re.findall(r"\d+", numbers)
    if any(len(number) > _MOST_DIGITS for number in digits):
        raise InputError(f"Stage {letter}: numbers must be from 1 to {WIDEST}.")
    values = [int(number) for number in digits]
    if len(values) not in counts:
        raise InputError(f"Stage '{letter}{numbers}': {letter} takes {expected}.")
    return maker(*values)
