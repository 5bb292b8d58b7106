"""The numbers on the first screen of the report, each computed from the rows behind it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from popsnet.paper.plan import PaperPlan
from popsnet.paper.rows import PaperRows, RelayRow, RouterRow
from popsnet.paper.tables import slots_ratio
from popsnet.paper.verdicts import AGREES, LEVEL, OPEN
from popsnet.report import counted


@dataclass(frozen=True, slots=True)
class Headline:
    """A number, what it counts, and what it is based on.

    Attributes
    ----------
    anchor : str
        The section of the report that has the details.
    """

    number: str
    words: str
    basis: str
    anchor: str

    def __str__(self) -> str:
        return f"{self.number} {self.words}."


def headlines(plan: PaperPlan, rows: PaperRows) -> list[Headline]:
    """Return the headlines for which something was measured."""
    return [*_reproduced(plan, rows), *_lost(rows.routers), *_relay(rows.relay)]


def _reproduced(plan: PaperPlan, rows: PaperRows) -> Iterator[Headline]:
    """Count the rows whose steps and slots both agree, among all that were run."""
    pairs = [
        {steps.verdict, slots.verdict} for steps, slots in zip(rows.steps, rows.slots, strict=True)
    ]
    still_open = sum(OPEN in pair for pair in pairs)
    if still_open == len(pairs):
        return
    basis = [
        "Rows where steps and slots both agree with the printed values (family-wise error rate "
        f"{LEVEL:.0%})."
    ]
    limits = []
    if still_open:
        has = "has" if still_open == 1 else "have"
        limits.append(f"{counted(still_open, 'row')} {has} too few runs to compare")
    if plan.left_out:
        limits.append(f"the paper has {counted(len(pairs) + plan.left_out, 'row')}")
    if limits:
        said = "; ".join(limits)
        basis.append(f"{said[0].upper()}{said[1:]}.")
    words = "rows agree with the paper" if limits else "rows of the paper reproduced"
    agreeing = sum(pair == {AGREES} for pair in pairs)
    yield Headline(f"{agreeing} of {len(pairs)}", words, " ".join(basis), "paper")


def _lost(rows: Sequence[RouterRow]) -> Iterator[Headline]:
    worst = max(rows, key=lambda row: row.lost_share, default=None)
    if worst is None or not worst.lost_share:
        return
    others = [row for row in rows if row.router == worst.router and not row.idealized]
    losing = {row.variant for row in others if row.lost_share}
    safe = sorted({row.variant for row in others} - losing)
    repair = f" The variant {' and '.join(safe)} loses none." if safe else ""
    name = f"{worst.router} ({worst.variant})"
    yield Headline(
        f"up to {worst.lost_share:.1%}",
        f"of packets lost by {'the published protocol' if worst.variant == 'published' else name}",
        f"{name} on {worst.network}, mean of {counted(worst.runs, 'run')}.{repair}",
        "losses",
    )


def _relay(rows: Sequence[RelayRow]) -> Iterator[Headline]:
    """Compare relay with the paper's router on the networks where it relays packets."""
    relayed = [row for row in rows if row.mei_rizzi_ratio is not None and not row.time_division]
    if relayed:
        yield Headline(
            f"{slots_ratio(relayed)} times",
            "the slots with relay, our own router",
            f"Compared with the paper's router on {counted(len(relayed), 'network')}. relay lost "
            f"{counted(sum(row.lost for row in rows), 'packet')}.",
            "own-router",
        )
