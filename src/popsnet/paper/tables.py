"""The paper's tables beside ours, as they are shown, and the summary in words."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from popsnet.base.report import Column, Row, Table, plural
from popsnet.base.report.table import NOTHING
from popsnet.paper.plan import PaperPlan
from popsnet.paper.published import RUNS, read_data
from popsnet.paper.rows import PaperRows, RelayRow, RouterRow, shape
from popsnet.paper.verdicts import (
    AGREES,
    DIFFERS,
    DOUBT_LEVEL,
    FEWEST_FOR_A_TAIL,
    LEVEL,
    OPEN,
    UNDECIDABLE,
)


@dataclass(frozen=True)
class PaperTable(Table):
    """A table whose caption comes in parts, for pages that show them in different places.

    The caption is all of them in one text. Signs that no cell has are left out.
    """

    lead: str = ""
    """What the table shows, in at most 40 words."""
    signs: tuple[tuple[str, str], ...] = ()
    """Signs in cells, and their meanings."""
    note: str = ""
    """How the values were obtained."""


@cache
def texts(kind: str) -> dict[str, Any]:
    """Return what the report says of its ``"tables"`` or ``"figures"``, by their names."""
    entries: dict[str, Any] = tomllib.loads(read_data("texts.toml"))[kind]
    return entries


def explained(
    name: str, columns: tuple[Column, ...], rows: Sequence[Row], **numbers: object
) -> PaperTable:
    r"""Return a table with its title and caption, in which numbers are filled in.

    Examples
    --------
    >>> columns = (Column("mean", kind="text"),)
    >>> table = explained("exact", columns, [{"mean": "≥ 8"}], family="")
    >>> table.title, table.caption.splitlines()[1]
    ('Exact means on tiny networks', '≥ Some runs were capped: the value is a lower bound.')
    """
    text = texts("tables")[name]
    numbers = {**_NUMBERS, **numbers}
    lead, note = (text[part].format(**numbers) for part in ("lead", "note"))
    table = PaperTable(name, text["title"], columns, rows, lead=lead, note=note)
    cells = "".join(cell for line in table.cells() for cell in line)
    used = [sign for sign in text.get("signs", ()) if sign[0] in cells]
    meanings = (texts("signs")[sign].format(**numbers) for sign in used)
    signs = tuple(zip((sign.partition(" ")[0] for sign in used), meanings, strict=True))
    lines = [lead, *(f"{sign} {meaning}" for sign, meaning in signs), note]
    return replace(table, caption="\n".join(filter(None, lines)), signs=signs)


_NUMBERS = {"runs": RUNS, "level": LEVEL, "doubt": DOUBT_LEVEL, "fewest": FEWEST_FOR_A_TAIL}


def formatted(key: str, heading: str, form: str, *, error: str = "", capped: str = "") -> Column:
    """Return a column of values that may be missing, with their errors.

    Values with capped runs, which are lower bounds, get a sign. ``error`` and ``capped`` are names
    of fields.
    """

    def show(row: Row) -> str:
        if getattr(row, key) is None:
            return NOTHING
        cut = "≥" if capped and getattr(row, capped) else ""
        values = [getattr(row, name) for name in (key, error) if name]
        return cut + " ± ".join(form.format(value) for value in values)

    return Column(key, heading, show=show)


def with_time_division(column: Column) -> Column:
    """Return the column with a sign where relay's plan is one hop."""

    def show(row: Row) -> str:
        return f"{column.cell(row)}{'§' * row.time_division}"

    return replace(column, show=show)


def _verdict(row: Row) -> str:
    marks = "*" * row.tables_differ + "†" * row.heavy_tail
    differing = ", ".join(number.statistic for number in row.compared if number.verdict == DIFFERS)
    verdict = f"differs ({differing})" if differing else row.verdict.replace(UNDECIDABLE, "?")
    return f"{verdict} {marks}".rstrip()


def _rival(row: Row) -> str:
    printed = f"{row.published_deterministic:,}"
    return f"{printed} =" if row.formula_agrees else f"{printed} ≠ {row.formula:,}"


def _executed(row: Row) -> str:
    return f"({row.predicted:,})" if row.executed is None else f"{row.executed:,.0f}"


def _mean(heading: str) -> Column:
    return formatted("mean", heading, "{:,.2f}", error="sd", capped="capped")


NETWORK = Column("n", kind="integer"), Column("d", show=lambda row: shape(row.d, row.g))
RUNS_DONE = Column("runs", kind="integer")
DISTANCE = formatted("standard_errors", "diff in s.e.", "{:+.1f}")
_VERDICT = Column("verdict", "", "text", _verdict)

_STEPS = (
    *NETWORK,
    formatted("published_mean", "paper", "{:.2f}", error="published_sd"),
    Column("published_max", "paper max", "integer"),
    _mean("ours"),
    Column("max", "our max", "integer"),
    RUNS_DONE,
    DISTANCE,
    _VERDICT,
    with_time_division(Column("relay_stages", "relay steps")),
)

_SLOTS = (
    *NETWORK,
    Column("published_slots", "paper"),
    formatted("mean", "ours", "{:,.2f}", capped="capped"),
    DISTANCE,
    _VERDICT,
    Column("published_deterministic", "rival", show=_rival),
    Column("executed", show=_executed),
    Column("relay"),
    with_time_division(formatted("relay_ratio", "ratio", "×{:.2f}")),
)

_ROUTERS = (
    *NETWORK,
    Column("router", kind="text"),
    Column("variant", "", "text", lambda row: f"{row.variant}{'‡' * row.idealized}"),
    _mean("slots"),
    Column("max", kind="integer"),
    Column("lost_share", "lost", "share"),
    Column("lost_most", "worst run", "share"),
    RUNS_DONE,
)

_RELAY = (
    *NETWORK,
    formatted("planned", "plan", "{:.1f}"),
    Column("delivered_mean", "delivered"),
    _mean("known"),
    Column("max", kind="integer"),
    RUNS_DONE,
    with_time_division(formatted("mei_rizzi_ratio", "paper's router", "×{:.2f}")),
    with_time_division(formatted("deterministic_ratio", "rival", "×{:.2f}")),
    Column("variant", "schedule", "text"),
)


def paper_tables(rows: PaperRows) -> tuple[PaperTable, ...]:
    """Return all tables with their captions."""
    family = (
        f" By Holm's method, the family-wise error rate of the {rows.comparisons} comparisons in "
        f"the tables of steps (mean, sd, max) and slots (mean) is {LEVEL:.0%}."
    )
    return (
        explained("steps", _STEPS, rows.steps, family=family if rows.comparisons else ""),
        explained("slots", _SLOTS, rows.slots),
        explained("routers", _ROUTERS, rows.routers),
        explained("relay", _RELAY, rows.relay),
    )


def findings(plan: PaperPlan, rows: PaperRows) -> dict[str, str]:
    """Return the results in words, by what they are about; empty where there is none.

    The parts are ``paper``, ``losses``, ``relay`` and ``missing``.
    """
    formulas = sum(row.formula_agrees for row in rows.slots)
    doubted = sum(row.tables_differ for row in rows.steps)
    paper = [
        _agreeing(rows),
        _differing(rows),
        _undecidable(rows),
        _improbable(rows),
        f"The published formula gives {formulas} of {len(rows.slots)} deterministic values "
        "exactly.",
        f"The paper's own two tables differ by more than chance in {doubted} of these "
        f"{len(rows.steps)} rows.",
    ]
    counts = {name: verdicts.get(OPEN) for name, verdicts in rows.by_statistic.items()}
    few = ", ".join(f"{name} ({count})" for name, count in counts.items() if count)
    left_out = f"Not run: {plan.left_out} rows above n = {plan.max_n:,}." if plan.left_out else ""
    missing = left_out, f"Too few runs for a verdict: {few}." if few else ""
    return {
        "paper": " ".join(filter(None, paper)),
        "losses": _losses(rows.routers),
        "relay": _gain(rows.relay),
        "missing": " ".join(filter(None, missing)),
    }


def _agreeing(rows: PaperRows) -> str:
    """Count what agrees, statistic by statistic."""
    counts = [
        f"{verdicts.get(AGREES, 0)} of {judged} {name}"
        for name, verdicts in rows.by_statistic.items()
        if (judged := sum(verdicts.values()) - verdicts.get(OPEN, 0))
    ]
    claim = f"agree with the paper (family-wise error rate {LEVEL:.0%})"
    return f"{', '.join(counts)} {claim}." if counts else ""


def _differing(rows: PaperRows) -> str:
    named = "; ".join(str(number) for number in rows.compared if number.verdict == DIFFERS)
    return f"Not agreeing: {named}." if named else ""


def _undecidable(rows: PaperRows) -> str:
    networks = [str(number.network) for number in rows.compared if number.verdict == UNDECIDABLE]
    where = ", ".join(dict.fromkeys(networks))
    words = f"{len(networks)} cannot be decided, as the tail is too heavy for a hundred runs"
    return f"{words}: on {where}." if networks else ""


def _improbable(rows: PaperRows) -> str:
    """Name what would be rejected by itself and is not in the family."""
    named = "; ".join(map(str, rows.improbable))
    chance = f"{LEVEL * rows.comparisons:.1f} of {rows.comparisons} comparisons"
    words = f"By itself improbable (p ≤ {LEVEL:.0%}, as by chance in about {chance})"
    return f"{words}: {named}." if named else ""


def _losses(rows: Sequence[RouterRow]) -> str:
    """Name the routers that lose packets, if any does."""
    names = sorted({f"{row.router} ({row.variant})" for row in rows if row.lost_share})
    if not names:
        return ""
    most = max(row.lost_share for row in rows)
    return f"Packets are lost by {', '.join(names)}: on average up to {most:.1%} of all."


def _gain(rows: Sequence[RelayRow]) -> str:
    """Compare relay with the paper's router, time division apart."""
    if only_time_division(rows):
        return (
            "These networks are too small to relay: relay's plan is direct, time division, on all "
            "of them."
        )
    compared = [row for row in rows if row.mei_rizzi_ratio is not None]
    relayed = [row for row in compared if not row.time_division]
    direct = [row for row in compared if row.time_division]
    sentences = []
    if relayed:
        sentences.append(
            f"relay takes {slots_ratio(relayed)} times the slots of the paper's router on "
            f"{plural(len(relayed), 'network')}."
        )
    if direct:
        sentences.append(
            f"On {plural(len(direct), 'network')} relay's plan is direct, time division: "
            f"{slots_ratio(direct)} times the slots."
        )
    if compared:
        sentences.append(f"relay lost {sum(row.lost for row in rows):,} packets.")
    return " ".join(sentences)


def only_time_division(rows: Sequence[RelayRow]) -> bool:
    """Return whether relay has runs and relays on none of the networks."""
    return bool(rows) and all(row.time_division for row in rows)


def slots_ratio(rows: Sequence[RelayRow]) -> str:
    """Return the range of relay's slots, as multiples of those of the paper's router."""
    ratios = [1 / row.mei_rizzi_ratio for row in rows if row.mei_rizzi_ratio is not None]
    low, high = min(ratios), max(ratios)
    return f"{low:.2f}" if f"{low:.2f}" == f"{high:.2f}" else f"{low:.2f} to {high:.2f}"
