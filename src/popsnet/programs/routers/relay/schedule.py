"""Schedules: sequences of stages that can be printed, parsed and compared.

    P4 P2 P1 R2 R1

is three park stages with windows of 4, 2 and 1 slots, a shower of two copies and one of a single
copy. The last stage is repeated while a processor waits. ``P2 | P1 F`` repeats P1 and F.

    Pw, P(w1,w2,…)   park, windows of w slots         Σ(w + 1) + k slots    d ≥ g
    S                the plain sweep                  2k + 1                d ≥ g
    F                fold                             4                     d ≥ g
    Rr               shower, r copies, global OR      1 + r + 2             d ≥ g
    Tr               team, r candidates               5 + 3k                d ≥ g
    Q, Xr            marked, r places                 1 + rk                d ≥ g
    XY(x,y)          grid                             x + y + 1             d < g, xy ≥ ⌈g/d⌉

Schedules that survive faults, :mod:`popsnet.programs.routers.relay.survival`, have other stages:

    Vw, V(w1,w2,…)   verified park, m windows         Σw + m - 1 + 3k       d ≥ g
    VF               verified fold                    4                     d ≥ g
    VXY(x,y)         verified grid                    x + 2y + 1            d < g, xy ≥ ⌈g/d⌉
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, repeat

from popsnet.base.errors import InputError
from popsnet.model.network import Network
from popsnet.programs.facts import Phases
from popsnet.programs.routers.relay import channels
from popsnet.programs.routers.relay.grid import Grid
from popsnet.programs.routers.relay.marked import Mark, MarkSeveral
from popsnet.programs.routers.relay.park import Park, SweepStage
from popsnet.programs.routers.relay.single_attempt import Fold, Shower
from popsnet.programs.routers.relay.state import WIDEST, RelayStage
from popsnet.programs.routers.relay.team import TeamStage
from popsnet.programs.routers.relay.verified import VerifiedFold, VerifiedPark
from popsnet.programs.routers.relay.verified_grid import VerifiedGrid
from popsnet.programs.routers.to_all import global_or_bytes

_MOST_STAGES = 1000
_MOST_DIGITS = 20
"""Python refuses numbers of thousands of digits with an error of its own."""


@dataclass(frozen=True)
class RelaySchedule:
    """A sequence of stages, and stages to repeat until every packet is delivered.

    Schedules that do the same are equal: stages that are repeated anyway are not listed before, nor
    twice.

    Parameters
    ----------
    stages : tuple of RelayStage
        The stages, at most 1000 with those to repeat.
    repeated : tuple of RelayStage
        The stages to repeat, by default the last one.

    Raises
    ------
    InputError
        If there is no stage, or there are too many.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.programs.routers.relay import parse_schedule
    >>> schedule = parse_schedule("P2 P1 P1 P1")
    >>> print(schedule)
    P2 P1
    >>> schedule.buffers(Network(8, 8))
    3
    """

    stages: tuple[RelayStage, ...]
    repeated: tuple[RelayStage, ...] = ()

    def __post_init__(self) -> None:
        if not self.stages and not self.repeated:
            raise InputError("The schedule is empty; give stages, as in 'P2 P1 F R2'.")
        if len(self.stages) + len(self.repeated) > _MOST_STAGES:
            raise InputError(f"A schedule must have at most {_MOST_STAGES} stages.")
        stages, repeated = self.stages, _period(self.repeated or self.stages[-1:])
        while stages and stages[-1] == repeated[-1]:
            stages, repeated = stages[:-1], repeated[-1:] + repeated[:-1]
        object.__setattr__(self, "stages", stages)
        object.__setattr__(self, "repeated", repeated)
        _check_order((*stages, *repeated, *repeated))

    def __iter__(self) -> Iterator[RelayStage]:
        return chain(self.stages, chain.from_iterable(repeat(self.repeated)))

    def __str__(self) -> str:
        bar = ("|",) if len(self.repeated) > 1 else ()
        return " ".join(map(str, (*self.stages, *bar, *self.repeated)))

    @property
    def all_stages(self) -> tuple[RelayStage, ...]:
        """Every stage, with each of those to repeat once."""
        return (*self.stages, *self.repeated)

    @property
    def phases(self) -> Phases:
        """What happens in the phases of its stages, by pattern."""
        return {
            pattern: text for stage in self.all_stages for pattern, text in stage.phases.items()
        }

    def buffers(self, network: Network) -> int:
        """Return the number of packets that a processor may hold."""
        return max(stage.buffers(network) for stage in self.all_stages)

    def working(self, network: Network) -> int:
        """Return the bytes of the arrays of a run besides the machine's, with a slot and inbox."""
        most, left = max(stage.working(network) for stage in self.all_stages), 1.0
        if any(isinstance(stage, Shower) or stage.bytes_per_packet for stage in self.all_stages):
            for stage in self.all_stages:
                most = max(most, int(stage.bytes_per_packet * left * network.n))
                left = stage.left(network, left)
                if isinstance(stage, Shower):
                    asked = global_or_bytes(network, left * network.n)
                    most = max(most, stage.working(network) + asked)
        return 80 * network.n + most

    def obstacle(self, network: Network) -> str | None:
        """Return why the schedule cannot be run on a network, or None if it can."""
        reasons = [stage.obstacle(network) for stage in self.all_stages]
        if network.wavelengths > 1:
            reasons += [
                f"stage {stage} uses one wavelength; with several use stages P, S and F."
                for stage in self.all_stages
                if not isinstance(stage, Park | SweepStage | Fold)
            ]
            reasons.append(channels.obstacle(network))
        return next(filter(None, reasons), None)


def parse_schedule(text: str) -> RelaySchedule:
    """Return the schedule that a text like ``P2 P1 P(5,5) F R2 | R1`` stands for.

    Parameters
    ----------
    text : str
        Stages with spaces between them. Those after a bar are repeated.

    Returns
    -------
    RelaySchedule
        The schedule. Its text is the canonical form.

    Raises
    ------
    InputError
        If the text is not a schedule.

    Examples
    --------
    >>> from popsnet.programs.routers.relay import parse_schedule
    >>> str(parse_schedule("P(2)   P1 | R1 R1"))
    'P2 P1 R1'
    """
    strange = next((sign for sign in text if not sign.isascii()), None)
    if strange is not None:
        raise InputError(f"Schedule {text!r}: {strange!r} is not allowed in a schedule. {_MADE_OF}")
    before, *after = text.split("|")
    if len(after) > 1:
        raise InputError(f"Schedule {text!r} has {len(after)} bars; it must have at most one.")
    if after and not after[0].strip():
        raise InputError(f"Schedule {text!r}: nothing follows the bar; give stages to repeat.")
    return RelaySchedule(_stages(before), _stages(after[0]) if after else ())


def _check_order(stages: tuple[RelayStage, ...]) -> None:
    """Refuse T after a stage that may deliver packets without telling their sources.

    Such a source would send in T, its destination would not mark, and so it would try for ever.
    """
    silent: RelayStage | None = None
    for stage in stages:
        if isinstance(stage, TeamStage) and silent is not None:
            raise InputError(
                f"Stage {silent} comes before {stage}, but after {silent} a source may not know "
                "that its packet has arrived, and T needs that every source knows. Give T before "
                "Q, X and R, and repeat other stages, as in 'P2 P1 T4 Q | S'."
            )
        silent = silent if stage.tells_sources else silent or stage


def _period(stages: tuple[RelayStage, ...]) -> tuple[RelayStage, ...]:
    """Return the shortest prefix that gives the same when it is repeated."""
    whole = range(1, len(stages) + 1)
    shortest = next(length for length in whole if stages[length:] + stages[:length] == stages)
    return stages[:shortest]


_MADE_OF = (
    "A schedule is made of Pw or P(w1,w2,…), S, F, Rr, Tr, Q, Xr and XY(x,y), as in 'P2 P1 P1 R2', "
    "or after 'survive:' of Vw or V(w1,w2,…), VF and VXY(x,y)."
)
_STAGE = re.compile(
    r"(P|S|F|R|T|Q|XY|X|VXY|VF|V)(\d+|\((?:\s*\d+\s*(?:,\s*\d+\s*)*)?\))?"
    r"(?=\s|$|([PSFRTQXV]))\s*"
)

_MAKERS: dict[str, tuple[Callable[..., RelayStage], range, str]] = {
    "P": (lambda *windows: Park(windows), range(1, 1000), "windows, as in P2 or P(5,5)"),
    "S": (SweepStage, range(1), "no number"),
    "F": (Fold, range(1), "no number"),
    "R": (Shower, range(1, 2), "one number of copies, as in R2"),
    "T": (TeamStage, range(1, 2), "one number of candidates, as in T4"),
    "Q": (Mark, range(1), "no number"),
    "X": (MarkSeveral, range(1, 2), "one number of places, as in X2"),
    "XY": (Grid, range(2, 3), "two numbers, as in XY(4,4)"),
    "V": (lambda *windows: VerifiedPark(windows), range(1, 1000), "windows, as in V2 or V(5,5)"),
    "VF": (VerifiedFold, range(1), "no number"),
    "VXY": (VerifiedGrid, range(2, 3), "two numbers, as in VXY(4,4)"),
}


def _stages(text: str) -> tuple[RelayStage, ...]:
    text, stages, at = text.strip(), [], 0
    while at < len(text):
        match = _STAGE.match(text, at)
        if match is None:
            raise InputError(f"'{text[at : at + 20]}' does not begin with a stage. {_MADE_OF}")
        if match[3]:
            raise InputError(
                f"'{text[at : at + 20]}': stages must have spaces between them; give "
                f"'{match[0]} {match[3]}…'."
            )
        stages.append(_stage(match[1], match[2] or ""))
        at = match.end()
    return tuple(stages)


def _stage(letter: str, numbers: str) -> RelayStage:
    maker, counts, expected = _MAKERS[letter]
    digits = re.findall(r"\d+", numbers)
    if any(len(number) > _MOST_DIGITS for number in digits):
        raise InputError(f"Stage {letter}: numbers must be from 1 to {WIDEST}.")
    if len(digits) not in counts:
        raise InputError(f"Stage '{letter}{numbers}': {letter} takes {expected}.")
    return maker(*map(int, digits))
