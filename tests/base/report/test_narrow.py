"""Tables on narrow terminals."""

from __future__ import annotations

import io

from rich.console import Console

from popsnet import compare
from popsnet.base.report import Column, Table
from popsnet.base.report.table import rendered

COLUMNS = (
    Column("router", kind="text"),
    Column("slots"),
    Column("collisions", kind="integer"),
    Column("coins", kind="text"),
    Column("comment", kind="text"),
)
ROWS = [
    {"router": "relay", "slots": 13.5, "collisions": 6, "coins": "a public seed", "comment": None},
    {"router": "direct", "slots": 8.0, "collisions": 0, "coins": "none", "comment": "one hop only"},
]


def shown(table: Table, width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    return rendered(console, table.renderables()).splitlines()


def test_columns_that_do_not_fit_are_stacked() -> None:
    assert shown(Table("t", "Title", COLUMNS, ROWS), 30) == [
        "Title",
        "relay",
        "  slots: 13.50",
        "  collisions: 6",
        "  coins: a public seed",
        "direct",
        "  slots: 8.00",
        "  collisions: 0",
        "  coins: none",
        "  comment: one hop only",
    ]


def test_columns_that_fit_stay_side_by_side() -> None:
    lines = shown(Table("t", "Title", COLUMNS, ROWS), 60)
    assert lines[1].split() == ["router", "slots", "collisions", "coins", "comment"]


def test_nothing_is_cut_off_or_wider_than_the_terminal() -> None:
    table = compare(4, 4, routers=["direct", "mei-rizzi"], runs=2).report().tables[0]
    lines = shown(table, 40)
    assert max(map(len, lines)) <= 40
    assert "mei-rizzi" in lines
    assert "  coins: private coins" in lines
