"""The paper's tables beside ours, as they are shown, and the summary in words."""

from __future__ import annotations

from collections.abc import Sequence

from popsnet.paper.plan import PaperPlan
from popsnet.paper.published import RUNS
from popsnet.paper.rows import PaperRows, RelayRow, RouterRow, shape
from popsnet.paper.verdicts import DOUBT_LEVEL, LEVEL, OPEN
from popsnet.report import Column, Row, Table
from popsnet.report.table import NOTHING


def formatted(key: str, heading: str, form: str, *, error: str = "", capped: str = "") -> Column:
    """Return a column of values that may be missing, with their errors.

    A sign stands before those with capped runs, which are cut short. ``error`` and ``capped`` are
    the names of fields.
    """

    def show(row: Row) -> str:
        if getattr(row, key) is None:
            return NOTHING
        cut = "≥" if capped and getattr(row, capped) else ""
        values = [getattr(row, name) for name in (key, error) if name]
        return cut + " ± ".join(form.format(value) for value in values)

    return Column(key, heading, show=show)


def _verdict(row: Row) -> str:
    marks = "*" * row.tables_differ + "†" * row.heavy_tail
    return f"{row.verdict} {marks}".rstrip()


def _rival(row: Row) -> str:
    printed = f"{row.published_deterministic:,}"
    return f"{printed} =" if row.formula_agrees else f"{printed} ≠ {row.formula:,}"


def _executed(row: Row) -> str:
    return f"({row.predicted:,})" if row.executed is None else f"{row.executed:,.0f}"


def _mean(heading: str) -> Column:
    return formatted("mean", heading, "{:,.2f}", error="sd", capped="capped")


N = Column("n", kind="integer")
RUNS_DONE = Column("runs", kind="integer")
DISTANCE = formatted("standard_errors", "diff in s.e.", "{:+.1f}")
SHAPE = Column("d", show=lambda row: shape(row.d, row.g))
_VERDICT = Column("verdict", "", "text", _verdict)

_STEPS = (
    N,
    SHAPE,
    formatted("published_mean", "paper", "{:.2f}", error="published_sd"),
    Column("published_max", "paper max", "integer"),
    _mean("ours"),
    Column("max", "our max", "integer"),
    RUNS_DONE,
    DISTANCE,
    _VERDICT,
    Column("relay_stages", "relay steps"),
)

_SLOTS = (
    N,
    SHAPE,
    Column("published_slots", "paper"),
    formatted("mean", "ours", "{:,.2f}", capped="capped"),
    DISTANCE,
    _VERDICT,
    Column("published_deterministic", "rival", show=_rival),
    Column("executed", "exe- cuted", show=_executed),
    Column("relay"),
    formatted("relay_ratio", "ratio", "× {:.2f}"),
)

_ROUTERS = (
    N,
    SHAPE,
    Column("router", kind="text"),
    Column("variant", "", "text", lambda row: f"{row.variant}{'‡' * row.idealized}"),
    _mean("slots"),
    Column("max", kind="integer"),
    Column("lost_share", "lost", "share"),
    Column("lost_most", "worst run", "share"),
    RUNS_DONE,
)

_RELAY = (
    N,
    SHAPE,
    formatted("planned", "plan", "{:.1f}"),
    Column("delivered_mean", "home"),
    _mean("known"),
    Column("max", kind="integer"),
    RUNS_DONE,
    formatted("mei_rizzi_ratio", "ran- domized", "× {:.2f}"),
    formatted("deterministic_ratio", "rival", "× {:.2f}"),
    Column("variant", "schedule", "text"),
)


def paper_tables(rows: PaperRows) -> tuple[Table, ...]:
    """Return all tables with their captions."""
    every = "Not in the paper: every router, and the packets it loses"
    relay = "Not in the paper: relay, our own router"
    return (
        Table("steps", "Steps of the randomized router", _STEPS, rows.steps, _of_steps(rows)),
        Table("slots", "Slots: randomized and deterministic", _SLOTS, rows.slots, _OF_SLOTS),
        Table("routers", every, _ROUTERS, rows.routers, _OF_ROUTERS),
        Table("relay", relay, _RELAY, rows.relay, _OF_RELAY),
    )


def summary_of(plan: PaperPlan, rows: PaperRows) -> str:
    """Return the result in a few sentences."""
    agreeing, still_open = rows.comparisons - rows.differing, rows.verdicts.count(OPEN)
    formulas = sum(row.formula_agrees for row in rows.slots)
    doubted = sum(row.tables_differ for row in rows.steps)
    left_out = f" Not run: {plan.left_out} rows above n = {plan.max_n:,}." if plan.left_out else ""
    if still_open:
        left_out += f" Too few runs to judge: {still_open} comparisons with heavy tails."
    return (
        f"{agreeing} of {rows.comparisons} comparisons agree with the paper; the chance of any "
        f"false alarm is at most {LEVEL:.0%}. The published formula gives {formulas} of "
        f"{len(rows.slots)} deterministic figures exactly. The paper's own two tables differ by "
        f"more than chance in {doubted} of these {len(rows.steps)} rows."
        f"{_losses(rows.routers)}{_gain(rows.relay)}{left_out}"
    )


def _losses(rows: Sequence[RouterRow]) -> str:
    """Which routers lose packets, if any does."""
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


def _of_steps(rows: PaperRows) -> str:
    return (
        f"Mean ± standard deviation; the paper's are of {RUNS} runs. Both sides count as the paper "
        "does: a packet is delivered once it survives slots 1 and 2 (variant idealized). The "
        "difference of the means is in its standard errors, ours and the paper's together, less "
        "rounding. “differs” takes both Welch's t test and resampling, by Holm's method: if the "
        f"paper is right, the chance of any in the {rows.comparisons} comparisons of the first two "
        f"tables is at most {LEVEL:.0%}. * The paper's two tables differ from each other here, by "
        f"the same test at {DOUBT_LEVEL:.0%} for all its rows. † Heavy tail: runs that stall for "
        "hundreds of steps are too rare for a hundred runs to meet, so that their mean and sd are "
        "both too small and a t test is not valid. Our sd stands for the paper's, and resampling "
        "decides alone; with fewer than a thousand runs of ours it is left open. "
        "≥ Some runs were capped."
    )


_OF_SLOTS = (
    "Mean slots, five per step. The paper prints no standard deviation: five times that of its "
    "steps is taken, and a hundred runs. The rival is the deterministic router the paper compares "
    "with: as printed; = if its published formula, as the paper corrects it, says the same; "
    "executed, by our deterministic router with the fewest slots, in parentheses by its formula "
    "alone where it would take too long. Relay is our own router, until every source knows; the "
    "ratio says how many times its slots the randomized router takes. Signs as above."
)

_OF_ROUTERS = (
    "Every registered router and variant that applies. Lost: packets that no processor holds any "
    "more, as a share of all; the mean, and the worst run. ‡ Statistics only, as above: counts as "
    "delivered what the published protocol loses in slot 5 where d > g. ≥ Some runs were capped."
)

_OF_RELAY = (
    "Slots of relay: as planned from d and g alone; until the last delivery; and until every "
    "source knows, its count everywhere else. Then how many times those slots the paper's router "
    "takes, counted as the paper does, and its deterministic rival by the formula. Direct is one "
    "hop in max(d, g) slots, where nothing is quicker. ≥ Some runs were capped."
)
