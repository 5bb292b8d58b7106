"""The schedules of relay that have an exact chain: sweeps and team stages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial

from popsnet.errors import InputError
from popsnet.exact.chain import Step
from popsnet.exact.team import LARGEST_TOTAL, team
from popsnet.exact.turned import FRESH
from popsnet.network import Network


@dataclass(frozen=True)
class ChainStage:
    """A plain sweep, or a team stage with this many candidates."""

    candidates: int | None = None

    def slots(self, network: Network) -> int:
        """Return the number of slots of the stage."""
        return 2 * network.blocks + 1 if self.candidates is None else 5 + 3 * network.blocks

    def step(self, sweep: Step) -> Step:
        """Return the transitions, with those of a sweep given."""
        return sweep if self.candidates is None else partial(team, candidates=self.candidates)


def read_schedule(text: str, network: Network) -> list[ChainStage]:
    """Return the stages of a text like ``S S T2``, of which the last is repeated."""
    words = text.split()
    if not _are_stages(words):
        meant = f" Did you mean {text.upper()!r}?" if _are_stages(text.upper().split()) else ""
        raise InputError(
            f"variant = {text}: exact chains are computed for schedules of stages S and Tr, as in "
            f"'S' or 'S S T2', of which the last is repeated.{meant}"
        )
    stages = [ChainStage(int(word[1:]) if word[1:] else None) for word in words]
    while len(stages) > 1 and stages[-1] == stages[-2]:
        stages.pop()
    if stages == [ChainStage()]:
        return stages
    largest = max(stage.candidates or 0 for stage in stages)
    if network.g ** (largest * network.n) > LARGEST_TOTAL:
        raise InputError(
            f"variant = {text}: T{largest} has too many draws on {network} for an exact chain; "
            "give a smaller number."
        )
    turned = network.d == network.g and (
        ChainStage() in stages[FRESH:] or stages[-1] == ChainStage()
    )
    if turned:
        raise InputError(
            f"variant = {text}: for d = g, where bijections are turned from the fifth stage on, a "
            f"schedule with T must end in T and have S only among the first {FRESH} stages."
        )
    return stages


def _are_stages(words: list[str]) -> bool:
    return bool(words) and all(re.fullmatch(r"S|T[1-9]\d{0,3}", word) for word in words)
