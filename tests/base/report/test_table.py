"""Tables as text, CSV, JSON, HTML and data frames."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popsnet.base.report import Column, Table
from popsnet.base.report.table import format_value

ROUTERS = [
    {"router": "direct", "slots": 8, "capped": 0},
    {"router": "relay", "slots": 13.5, "capped": 2},
]
COLUMNS = (
    Column("router", kind="text"),
    Column("slots", "slots, mean", show=lambda row: f"{'≥ ' * row['capped']}{row['slots']:.1f}"),
)


def widths(table: Table) -> list[int]:
    return [len(line) for line in str(table).splitlines()]


def test_values_as_people_see_them() -> None:
    assert format_value(1234567, "integer") == "1,234,567"
    assert format_value(1234.567, "number") == "1,234.57"
    assert format_value(0.12345, "share") == "12.3%"
    assert [format_value(value, "flag") for value in (True, False, None)] == ["yes", "no", "–"]
    assert format_value("[red]", "text") == "[red]"


def test_text_has_numbers_to_the_right_and_what_show_makes() -> None:
    table = Table("routers", "Slots", COLUMNS, ROUTERS[:1] * 2, "Nothing was capped.")
    assert str(table).splitlines() == [
        "Slots",
        "router slots, mean",
        "direct         8.0",
        "direct         8.0",
        "Nothing was capped.",
    ]


def test_a_heading_is_made_of_the_key() -> None:
    assert Column("mean_slots").title == "mean slots"
    assert Column("mean_slots", "slots").title == "slots"


@given(st.lists(st.text(max_size=300), min_size=1, max_size=3), st.integers(-(10**12), 10**12))
def test_any_words_fit_80_columns(words: list[str], number: int) -> None:
    columns = (*(Column(f"word{i}", kind="text") for i in range(len(words))), Column("number"))
    row = {f"word{i}": word for i, word in enumerate(words)}
    table = Table("t", "", columns, [{**row, "number": number}])
    assert max(widths(table)) <= 80


def test_long_words_are_folded_and_nothing_of_them_is_lost() -> None:
    columns = (Column("name", kind="text"), Column("value", kind="integer"))
    table = Table("t", "", columns, [{"name": "x" * 300, "value": 10**9}])
    text = str(table)
    assert max(widths(table)) <= 80
    assert text.count("x") == 300
    assert "1,000,000,000" in text


def test_a_wide_table_keeps_its_numbers_whole() -> None:
    words = "a text of several words that may be broken into lines wherever there is a space"
    columns = tuple(Column(name, kind="text") for name in "ab") + tuple(
        Column(name, kind="integer") for name in "cdef"
    )
    row = {"a": words, "b": words, **dict.fromkeys("cdef", 123456789)}
    table = Table("t", "", columns, [row])
    assert max(widths(table)) <= 80
    assert str(table).count("123,456,789") == 4


def test_signs_of_any_script_take_the_place_they_need() -> None:
    columns = (Column("name", kind="text"), Column("value", kind="integer"))
    rows = [{"name": "Szemerédi ⌈d/g⌉ ≥ √n", "value": 1}, {"name": "網路", "value": 2}]
    first, second = str(Table("t", "", columns, rows)).splitlines()[1:]
    assert first == "Szemerédi ⌈d/g⌉ ≥ √n     1"
    assert second == "網路                     2"


def test_marks_of_a_terminal_are_plain_text() -> None:
    table = Table(
        "t", "[b]title", (Column("name", kind="text"),), [{"name": "a[red]b[/red]"}], "[i]"
    )
    assert str(table).splitlines() == ["[b]title", "name", "a[red]b[/red]", "[i]"]


def test_records_keep_all_fields() -> None:
    rows = [{"name": "a", "network": {"d": 4, "g": 2}, "lost": None, "list": [1, 2]}]
    (record,) = Table("t", "", (Column("name"),), rows).records()
    assert record == rows[0]
    assert json.loads(json.dumps(record)) == record


def test_rows_are_mappings_dataclasses_or_named_tuples() -> None:
    @dataclass
    class Point:
        x: int
        y: int

    class Pair(NamedTuple):
        x: int
        y: int

    tables = [
        Table("t", "", (Column("y", kind="integer"),), [row])
        for row in ({"x": 1, "y": 2}, Point(1, 2), Pair(1, 2))
    ]
    assert [table.records() for table in tables] == [[{"x": 1, "y": 2}]] * 3
    assert {str(table) for table in tables} == {"y\n2"}
    assert {table.csv() for table in tables} == {"x,y\n1,2\n"}


def test_a_key_that_a_row_does_not_have_is_shown_as_none() -> None:
    columns = (Column("name", kind="text"), Column("trace", kind="text"))
    table = Table("t", "", columns, [{"name": "a"}, {"name": "b", "trace": "f"}])
    assert str(table).splitlines()[1:] == ["a    –", "b    f"]
    assert table.csv() == "name,trace\na,\nb,f\n"


@given(st.lists(st.tuples(st.text(st.characters(codec="utf-8")), st.integers()), min_size=1))
def test_csv_comes_back_as_it_was(values: list[tuple[str, int]]) -> None:
    rows = [{"name": name, "value": value} for name, value in values]
    text = Table("t", "", (), rows).csv()
    back = list(csv.DictReader(io.StringIO(text, newline="")))
    names = [row["name"].removeprefix("'") for row in back]
    assert names == [name.removeprefix("'") for name, _ in values]
    assert [int(row["value"]) for row in back] == [value for _, value in values]


def test_a_spreadsheet_finds_no_formula_in_a_csv_file() -> None:
    formulas = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "−=", "a=1"]
    rows = [{"=name": text, "value": -1.5, "number": "-28"} for text in formulas]
    back = list(csv.reader(io.StringIO(Table("t", "", (), rows).csv(), newline="")))
    assert back[0] == ["'=name", "value", "number"]
    assert [row[0] for row in back[1:]] == [f"'{text}" for text in formulas[:6]] + formulas[6:]
    assert {tuple(row[1:]) for row in back[1:]} == {("-1.5", "-28")}
    assert Table("t", "", (), rows).records() == rows  # JSON has them as they are


def test_csv_quotes_what_it_must(tmp_path: Path) -> None:
    table = Table("quoted", "", (), [{"name": 'a,"b"\nc', "value": 1}])
    table.write_csv(tmp_path)
    with (tmp_path / "quoted.csv").open(newline="") as file:
        assert list(csv.DictReader(file)) == [{"name": 'a,"b"\nc', "value": "1"}]


def test_a_table_without_columns_is_for_programs_only() -> None:
    table = Table("runs", "title", (), ROUTERS, "caption")
    assert str(table) == table._repr_html_() == ""
    assert len(table.records()) == 2
    assert table.csv().startswith("router,slots,capped\n")


def test_a_table_without_rows_has_its_words_and_no_headings() -> None:
    table = Table("routers", "title", COLUMNS, [], "caption")
    assert str(table) == "title\ncaption"
    assert table._repr_html_() == "<p>title</p><p>caption</p>"
    assert table.csv() == "router,slots\n"
    assert table.records() == []


def test_html_escapes_everything() -> None:
    columns = (Column("name", "<h>", "text"), Column("value"))
    table = Table("t", "<b>", columns, [{"name": "<img onerror=x>", "value": 1}], "a & b")
    html = table._repr_html_()
    assert html == (
        '<p>&lt;b&gt;</p><table><tr><th style="text-align: left">&lt;h&gt;</th>'
        '<th style="text-align: right">value</th></tr>'
        '<tr><td style="text-align: left">&lt;img onerror=x&gt;</td>'
        '<td style="text-align: right">1.00</td></tr></table>'
        "<p>a &amp; b</p>"
    )


def test_a_data_frame_has_all_fields() -> None:
    pytest.importorskip("pandas")
    frame = Table("routers", "", COLUMNS, ROUTERS).to_dataframe()
    assert list(frame.columns) == ["router", "slots", "capped"]
    assert frame["slots"].tolist() == [8, 13.5]


def test_no_line_ends_in_spaces() -> None:
    columns = (Column("a", kind="text"), Column("b", kind="text"))
    table = Table(
        "t", "title ", columns, [{"a": "x", "b": "long words"}, {"a": "y", "b": "z"}], "c "
    )
    assert all(line == line.rstrip() for line in str(table).splitlines())


def test_a_long_table_is_folded_for_people_alone() -> None:
    rows = [{"step": step, "pending": 0} for step in range(1, 1101)]
    columns = (Column("step", kind="integer"), Column("pending", kind="integer"))
    table = Table("steps", "", columns, rows, folded=(2, 1))
    assert str(table).splitlines() == [
        "        step pending",
        "           1       0",
        "           2       0",
        "… 1,097 more",
        "       1,100       0",
    ]
    assert '<td style="text-align: right">… 1,097 more</td>' in table.html()
    assert len(table.records()) == len(table.csv().splitlines()) - 1 == 1100
    short = Table("steps", "", columns, rows[:4], folded=(2, 1))
    assert len(short.cells()) == 4
