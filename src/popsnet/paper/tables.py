"""Tables as they are shown: headings, captions, cells; and as files of comma-separated values."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from popsnet.files import write_whole
from popsnet.paper.plan import PaperPlan
from popsnet.paper.published import RUNS
from popsnet.paper.relay import RelayRow
from popsnet.paper.rows import RouterRow, SlotsRow, Tables
from popsnet.paper.verdicts import DOUBT_LEVEL, LEVEL

__all__ = ["Column", "Sheet", "make_sheets", "summary_of", "write_csv"]


@dataclass(frozen=True, slots=True)
class Column:
    """A heading, and the text of a row's cell."""

    heading: str
    show: Callable[[Any], str]
    is_text: bool = False


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table to be shown."""

    stem: str
    title: str
    caption: str
    columns: tuple[Column, ...]
    rows: Sequence[Any]
    """Instances of one dataclass: its fields are what files and programs get."""

    def cells(self) -> list[list[str]]:
        """The texts of all rows."""
        return [[column.show(row) for column in self.columns] for row in self.rows]

    def records(self) -> list[dict[str, Any]]:
        """The rows for programs; a field that is a mapping becomes a column for each key."""
        return [
            {key: value for name, field in asdict(row).items() for key, value in _flat(name, field)}
            for row in self.rows
        ]


def _flat(name: str, field: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(field, dict):
        yield from ((f"{name}_{key}", value) for key, value in field.items())
    else:
        yield name, field


def _shape(row: Any) -> str:
    if row.d < row.g:
        return f"g/{row.g // row.d}"
    return "g" if row.d == row.g else f"{row.d // row.g}g"


def _mean(row: Any) -> str:
    at_least = "≥" if row.capped else ""  # a capped run is cut
    return f"{at_least}{row.mean:,.2f} ± {row.sd:,.2f}"


def _bare_mean(row: Any) -> str:
    return _mean(row).partition(" ±")[0]


def _verdict(row: Any) -> str:
    marks = "*" * row.tables_differ + "†" * row.heavy_tail
    return f"{row.verdict} {marks}".rstrip()


def _rival(row: SlotsRow) -> str:
    printed = f"{row.published_deterministic:,}"
    return f"{printed} =" if row.formula_agrees else f"{printed} ≠ {row.formula:,}"


def _executed(row: SlotsRow) -> str:
    return f"({row.predicted:,})" if row.executed is None else f"{row.executed:,.0f}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.2f}"


def _times(ratio: float | None) -> str:
    return "–" if ratio is None else f"× {ratio:.2f}"


_N = Column("n", lambda row: f"{row.n:,}")
_SHAPE = Column("d", _shape)
_OURS = Column("ours", _mean)
_RUNS = Column("runs", lambda row: f"{row.runs:,}")
_DISTANCE = Column("diff in s.e.", lambda row: f"{row.standard_errors:+.1f}")
_VERDICT = Column("verdict", _verdict, is_text=True)

_STEPS = (
    _N,
    _SHAPE,
    Column("paper", lambda row: f"{row.published_mean:.2f} ± {row.published_sd:.2f}"),
    Column("paper max", lambda row: f"{row.published_max:,}"),
    _OURS,
    Column("our max", lambda row: f"{row.max:,}"),
    _RUNS,
    _DISTANCE,
    _VERDICT,
    Column("relay steps", lambda row: _number(row.relay_stages)),
)

_SLOTS = (
    _N,
    _SHAPE,
    Column("paper", lambda row: f"{row.published_slots:.2f}"),
    Column("ours", _bare_mean),
    _DISTANCE,
    _VERDICT,
    Column("rival", _rival),
    Column("exe- cuted", _executed),
    Column("relay", lambda row: _number(row.relay)),
    Column("ratio", lambda row: _times(row.relay_ratio)),
)

_ROUTERS = (
    _N,
    _SHAPE,
    Column("router", lambda row: row.router, is_text=True),
    Column("variant", lambda row: f"{row.variant}{'‡' * row.idealized}", is_text=True),
    Column("slots", _mean),
    Column("max", lambda row: f"{row.max:,}"),
    Column("lost", lambda row: f"{row.lost_share:.1%}"),
    Column("worst run", lambda row: f"{row.lost_most:.1%}"),
    _RUNS,
)


_RELAY = (
    _N,
    _SHAPE,
    Column("plan", lambda row: f"{row.planned:.1f}"),
    Column("home", lambda row: f"{row.delivered_mean:,.2f}"),
    Column("known", _mean),
    Column("max", lambda row: f"{row.max:,}"),
    _RUNS,
    Column("ran- domized", lambda row: _times(row.mei_rizzi_ratio)),
    Column("rival", lambda row: _times(row.deterministic_ratio)),
    Column("schedule", lambda row: row.variant, is_text=True),
)


def make_sheets(tables: Tables) -> tuple[Sheet, ...]:
    """All tables with their captions."""
    return (
        Sheet("steps", "Steps of the randomized router", _of_steps(tables), _STEPS, tables.steps),
        Sheet("slots", "Slots: randomized and deterministic", _OF_SLOTS, _SLOTS, tables.slots),
        Sheet(
            "routers",
            "Not in the paper: every router, and the packets it loses",
            _OF_ROUTERS,
            _ROUTERS,
            tables.routers,
        ),
        Sheet("relay", "Not in the paper: relay, our own router", _OF_RELAY, _RELAY, tables.relay),
    )


def summary_of(plan: PaperPlan, tables: Tables) -> str:
    """The result in a few sentences."""
    agreeing = tables.comparisons - tables.differing
    formulas = sum(row.formula_agrees for row in tables.slots)
    doubted = sum(row.tables_differ for row in tables.steps)
    left_out = f" Not run: {plan.left_out} rows above n = {plan.max_n:,}." if plan.left_out else ""
    still_open = len(tables.verdicts) - tables.comparisons
    if still_open:
        left_out += f" Too few runs to judge: {still_open} comparisons with heavy tails."
    return (
        f"{agreeing} of {tables.comparisons} comparisons agree with the paper; the chance of any "
        f"false alarm is at most {LEVEL:.0%}. The published formula gives {formulas} of "
        f"{len(tables.slots)} deterministic figures exactly. The paper's own two tables differ by "
        f"more than chance in {doubted} of these {len(tables.steps)} rows."
        f"{_losses(tables.routers)}{_gain(tables.relay)}{left_out}"
    )


def _losses(rows: Sequence[RouterRow]) -> str:
    """Who loses packets, if anybody does."""
    names = sorted({f"{row.router} ({row.variant})" for row in rows if row.lost_share})
    if not names:
        return ""
    most = max(row.lost_share for row in rows)
    return f" Packets are lost by {', '.join(names)}: on average up to {most:.1%} of all."


def _gain(rows: Sequence[RelayRow]) -> str:
    """What relay saves."""
    ratios = [row.mei_rizzi_ratio for row in rows if row.mei_rizzi_ratio is not None]
    if not ratios:
        return ""
    lost = sum(row.lost for row in rows)
    return (
        f" relay takes {1 / max(ratios):.2f} to {1 / min(ratios):.2f} times the slots of the "
        f"paper's router and lost {lost:,} packets."
    )


def _of_steps(tables: Tables) -> str:
    return (
        f"Mean ± standard deviation; the paper's are of {RUNS} runs. Both sides count as the paper "
        "does: a packet is delivered once it survives slots 1 and 2 (variant idealized). The "
        "difference of the means is in its standard errors, ours and the paper's together, less "
        "rounding. The verdict is by Welch's t test and by resampling, which both have to say so, "
        "and Holm's method: if the paper is right, the "
        f"chance that any of the {tables.comparisons} comparisons of the first two tables says "
        f"“differs” is at most {LEVEL:.0%}. * The paper's two tables differ from each other here, "
        f"by the same test at {DOUBT_LEVEL:.0%} for all its rows. † Heavy tail: runs that "
        "stall for hundreds of steps are too rare for a hundred runs to meet, so that their mean "
        "and sd are both too small and a t test is no good. Our sd stands for the paper's there, "
        "and the verdict is from how often a hundred of our runs have a mean as far out; with "
        "fewer than a thousand runs of ours it is left open. ≥ Some runs were capped."
    )


_OF_SLOTS = (
    "Mean slots, five a step, with five times the deviation of the steps. "
    "The paper prints no standard deviation here: five times that of its "
    "steps is taken, and a hundred runs. The rival is the deterministic router the paper compares "
    "with: as printed, = if its published formula, as the paper corrects it, says the same, and "
    "executed, by the deterministic router of ours that takes fewest slots: in parentheses by its "
    "formula alone, where it would take too long. Relay is our own router, until every source "
    "knows; the ratio says how many times its slots the randomized router takes. Signs as above."
)

_OF_ROUTERS = (
    "Every registered router and variant that applies. Lost: packets that no processor holds any "
    "more, as a share of all; the mean, and the worst run. "
    "‡ Statistics only, as in the tables above: counts as delivered what the published protocol "
    "loses in slot 5 where d > g. ≥ Some runs were capped."
)


_OF_RELAY = (
    "Slots of relay: as planned from d and g alone; until the last packet is home; and until every "
    "source knows, which is its count everywhere else. Then how many times those slots the "
    "router of the paper takes, counted as the paper does, and its deterministic rival by the "
    "formula. Direct is one hop in max(d, g) slots, where nothing is quicker. "
    "≥ Some runs were capped."
)


def write_csv(sheet: Sheet, folder: Path) -> None:
    """Write a table's rows, all fields."""
    with write_whole(folder / f"{sheet.stem}.csv") as file:
        records = sheet.records()
        writer = csv.DictWriter(file, list(records[0]) if records else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
