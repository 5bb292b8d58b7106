"""Tables: rows of values for programs, and columns that say how people see them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO, TypeAlias

from popsnet.base.errors import InputError, how_to_install
from popsnet.base.files import write_whole
from popsnet.base.terminal import escape_controls

if TYPE_CHECKING:
    import pandas as pd
    import rich.table
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.text import Text

NOTHING = "–"
"""Shown if there is no value."""

Row: TypeAlias = Any
"""A mapping, or an instance of a dataclass or a named tuple. A table has rows of one type."""

ColumnKind: TypeAlias = Literal["text", "integer", "number", "share", "flag"]
"""The type of the values of a column, which decides how they are shown and aligned."""

_SHOWN: dict[ColumnKind, Callable[[Any], str]] = {
    "text": lambda value: escape_controls(str(value), lines=False),
    "integer": "{:,}".format,
    "number": "{:,.2f}".format,
    "share": "{:.1%}".format,
    "flag": lambda value: "yes" if value else "no",
}


def format_value(value: object, kind: ColumnKind) -> str:
    """Return the text of a value.

    Examples
    --------
    >>> format_value(1234.5, "number"), format_value(None, "integer"), format_value(True, "flag")
    ('1,234.50', '–', 'yes')
    """
    return NOTHING if value is None else _SHOWN[kind](value)


def plural(number: int, noun: str) -> str:
    """Return a number with the noun that it counts.

    Parameters
    ----------
    number : int
        The number.
    noun : str
        The noun in the singular, whose plural ends in s.

    Returns
    -------
    str
        The number and the noun.

    Examples
    --------
    >>> from popsnet.base.report import plural
    >>> plural(1, "run"), plural(2000, "run")
    ('1 run', '2,000 runs')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class Column:
    """A column that people see.

    Parameters
    ----------
    key : str
        The field of a row that it shows.
    heading : str
        The heading, by default the key.
    kind : {"text", "integer", "number", "share", "flag"}
        The type of its values.
    show : function, optional
        Returns the text of a row's cell, if it depends on more than the value.

    Examples
    --------
    >>> from popsnet.base.report import Column
    >>> Column("mean_slots").title, Column("mean_slots").cell({"mean_slots": 33.806})
    ('mean slots', '33.81')
    """

    key: str
    heading: str = ""
    kind: ColumnKind = "number"
    show: Callable[[Row], str] | None = None

    @property
    def title(self) -> str:
        """The heading of the column."""
        return escape_controls(self.heading or self.key.replace("_", " "))

    @property
    def is_text(self) -> bool:
        """Whether it is aligned to the left and may be wrapped."""
        return self.kind in ("text", "flag")

    def cell(self, row: Row) -> str:
        """Return the text of a row in this column."""
        if self.show is not None:
            return self.show(row)
        value = row.get(self.key) if isinstance(row, Mapping) else getattr(row, self.key)
        return format_value(value, self.kind)


@dataclass(frozen=True)
class Table:
    """Rows of one kind, with the columns that people see.

    Programs get all fields of the rows, as JSON, CSV or a data frame. People get the columns,
    as text or HTML. A table without columns is for programs only.

    Parameters
    ----------
    name : str
        The key of the table in JSON, and its name as a file.
    title : str
        The title.
    columns : tuple of Column
        The columns that people see.
    rows : sequence
        Mappings, or instances of a dataclass or a named tuple.
    caption : str
        The text below the table.
    every : int
        People see the first row, and then one row in this many.
    folded : tuple of int, optional
        People see this many rows at the top and at the bottom, and how many are left out.
    nested : tuple of str
        In JSON, fields that begin with one of these and ``_`` are items of one object.

    Examples
    --------
    >>> rows = [{"router": "direct", "slots": 8, "seed": 0}, {"router": "relay", "slots": 13.5}]
    >>> columns = (Column("router", kind="text"), Column("slots"))
    >>> print(Table("routers", "Slots on POPS(8, 8)", columns, rows))
    Slots on POPS(8, 8)
    router slots
    direct  8.00
    relay  13.50
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: Sequence[Row]
    caption: str = ""
    every: int = 1
    folded: tuple[int, int] | None = None
    nested: tuple[str, ...] = ()

    def cells(self) -> list[list[str]]:
        """Return the texts of the cells in the rows that people see."""
        rows = self.rows[:: self.every]
        first, last = self.folded or (len(rows), 0)
        left_out = len(rows) - first - last
        if left_out <= 1:  # a row that says so is as long as the row that it replaces
            return self._texts(rows)
        gap = [f"… {left_out:,} more", *[""] * (len(self.columns) - 1)]
        return [*self._texts(rows[:first]), gap, *self._texts(rows[first + left_out :])]

    def _texts(self, rows: Sequence[Row]) -> list[list[str]]:
        return [[escape_controls(column.cell(row)) for column in self.columns] for row in rows]

    def records(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries. A mapping in a dataclass becomes a key per item."""
        return [dict(_fields(row)) for row in self.rows]

    def nested_records(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries for JSON."""
        return [nest(record, self.nested) for record in self.records()]

    def to_dataframe(self) -> pd.DataFrame:
        """Return a pandas data frame with all fields. Needs ``popsnet[pandas]``."""
        return data_frame(self.records())

    def csv(self) -> str:
        """Return all fields as comma-separated values with a header line; see :func:`write_csv`."""
        text, records = io.StringIO(), self.records()
        names = dict.fromkeys(name for record in records for name in record)
        headings = list(names) or [column.key for column in self.columns]
        write_csv([headings, *([row.get(name) for name in headings] for row in records)], text)
        return text.getvalue()

    def write_csv(self, folder: Path) -> None:
        """Write the rows to a CSV file that is named after the table."""
        with write_whole(folder / f"{self.name}.csv") as file:
            file.write(self.csv())

    def html(self) -> str:
        """Return the table as HTML, without its title and caption."""
        sides = ["left" if column.is_text else "right" for column in self.columns]

        def line(tag: str, texts: Sequence[str]) -> str:
            pairs = zip(sides, texts, strict=True)  # notebooks align all to the right
            cells = "".join(
                f'<{tag} style="text-align: {side}">{escape(text)}</{tag}>' for side, text in pairs
            )
            return f"<tr>{cells}</tr>"

        heading = line("th", [column.title for column in self.columns])
        return f"<table>{heading}{''.join(line('td', cells) for cells in self.cells())}</table>"

    def renderables(self) -> Iterator[RenderableType]:
        """Yield the parts that a terminal shows: title, rows if there are any, caption."""
        from rich.text import Text

        if not self.columns:
            return
        if self.title:
            yield Text(escape_controls(self.title), style="bold")
        if self.rows:
            yield _Rows(self)
        if self.caption:
            yield Note(self.caption)

    def side_by_side(self, width: int) -> rich.table.Table | None:
        """Return the rows for a terminal, with numbers never wrapped, if they fit."""
        import rich.table
        from rich.text import Text

        table = rich.table.Table(
            box=None,
            padding=(0, 1, 0, 0),
            pad_edge=False,
            header_style="underline",
            show_header=any(column.heading != " " for column in self.columns),
        )
        cells = self.cells()
        below = [[line[place] for line in cells] for place in range(len(self.columns))]
        least = [_least_width(*pair) for pair in zip(self.columns, below, strict=True)]
        natural = [
            max(map(len, [column.title, *texts]))
            for column, texts in zip(self.columns, below, strict=True)
        ]
        if sum(least) + len(least) - 1 > width < _WIDTH:
            return None
        tight, narrow = (sum(widths) + len(widths) > _WIDTH for widths in (natural, least))
        for column, width in zip(self.columns, least, strict=True):
            table.add_column(
                Text(column.title),
                justify="left" if column.is_text else "right",
                min_width=None if narrow and column.is_text else width,
                width=width if tight and not column.is_text else None,
                overflow="fold",
            )
        for line in cells:
            table.add_row(*(Text(escape_controls(text)) for text in line))
        return table

    def stacked(self) -> Iterator[Note]:
        """Yield the rows for a narrow terminal: the first cell, and a line for each of the others.

        Cells without a value are left out.
        """
        for first, *others in self.cells():
            yield Note(first.rstrip("\n"))
            for column, text in zip(self.columns[1:], others, strict=True):
                if text.strip() and text != NOTHING:
                    yield Note(f"{column.title.strip()}: {text}".lstrip(": "), indent=2)

    def __str__(self) -> str:
        return as_text(self.renderables())

    def _repr_html_(self) -> str:
        if not self.columns:
            return ""
        caption = f"<p>{escape(self.caption)}</p>" if self.caption else ""
        title = f"<p>{escape(self.title)}</p>" if self.title else ""
        return f"{title}{self.html() if self.rows else ''}{caption}"


_WIDEST_WORD = 24
_WIDTH = 80


def _least_width(column: Column, texts: Sequence[str]) -> int:
    """Return the width at which no number, and no word of usual length, is broken."""
    parts = " ".join(texts).split() if column.is_text else texts
    longest = max(map(len, [*column.title.split(), *parts]), default=0)
    return min(longest, _WIDEST_WORD) if column.is_text else longest


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of a table for a terminal: side by side, or stacked where that does not fit."""

    table: Table

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        rows = self.table.side_by_side(options.max_width)
        yield from self.table.stacked() if rows is None else [rows]


@dataclass(frozen=True, slots=True)
class Note:
    """A paragraph for a terminal, wrapped at spaces only, so that paths stay whole."""

    text: str
    indent: int = 0

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        from textwrap import wrap

        from rich.text import Text

        margin = " " * self.indent
        for line in escape_controls(self.text).splitlines():
            parts = wrap(
                escape_controls(line), options.max_width, initial_indent=margin,
                subsequent_indent=margin, break_long_words=False, break_on_hyphens=False,
            )  # fmt: skip
            yield from (Text(part, overflow="ignore") for part in parts or [""])


def rendered(console: Console, parts: Iterable[RenderableType]) -> str:
    """Return what a console shows of the parts, one after the other, without cutting any."""
    with console.capture() as captured:
        for part in parts:
            console.print(part, crop=False)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def as_text(parts: Iterable[RenderableType]) -> str:
    """Return what a terminal of 80 columns would show, as plain text."""
    from rich.console import Console

    return rendered(Console(file=io.StringIO(), width=_WIDTH, color_system=None), parts)


def data_frame(columns: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return a pandas data frame, or say how to install pandas.

    Parameters
    ----------
    columns : mapping, or sequence of mappings
        Columns by name, or rows.

    Returns
    -------
    pandas.DataFrame
        The data frame.

    Raises
    ------
    InputError
        If pandas is not installed.

    Examples
    --------
    >>> from popsnet.base.report import data_frame
    >>> data_frame([{"d": 4, "slots": 8}, {"d": 8, "slots": 16}]).shape
    (2, 2)
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise InputError(
            f"A data frame needs pandas ({error}). {how_to_install('pandas')} Or use to_records()."
        ) from error
    return pd.DataFrame(columns)


def _fields(row: Row) -> Mapping[str, Any]:
    if isinstance(row, Mapping):
        return row
    known = is_dataclass(row) and not isinstance(row, type)
    return dict(flat(asdict(row) if known else row._asdict()))


def write_csv(rows: Iterable[Iterable[Any]], file: TextIO) -> None:
    """Write rows of values as lines of comma-separated values. A mapping is JSON.

    A spreadsheet takes a text that begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage
    return for a formula, which may send data elsewhere. Such a text gets a ``'`` in front, unless
    it is a number.

    Examples
    --------
    >>> import sys
    >>> from popsnet.base.report import write_csv
    >>> write_csv([["name", "dBm"], ["=1+1", "-28"]], sys.stdout)
    name,dBm
    '=1+1,-28
    """
    csv.writer(_Lines(file), lineterminator="\r\n").writerows(map(_csv_cell, row) for row in rows)


class _Lines:
    """A file in which lines end with a line feed, and cells with either end are quoted."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, line: str) -> int:
        return self._file.write(line.removesuffix("\r\n") + "\n")


def _csv_cell(value: Any) -> Any:
    if isinstance(value, Mapping):
        return json.dumps(value)
    is_formula = isinstance(value, str) and value.startswith(_FORMULA) and not _is_number(value)
    return f"'{value}" if is_formula else value


_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def flat(fields: Mapping[str, Any], joined: bool = True) -> Iterator[tuple[str, Any]]:
    """Yield names and values. A field that is a mapping gives a name per item."""
    for name, field in fields.items():
        if isinstance(field, Mapping):
            before = f"{name}_" * joined
            yield from ((f"{before}{key}", value) for key, value in field.items())
        else:
            yield name, field


def nest(record: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return a row for JSON, with the fields that begin with a name and ``_`` in one object.

    >>> nest({"load": 0.5, "delay_mean": 3.0, "delay_max": 9}, ["delay"])
    {'load': 0.5, 'delay': {'mean': 3.0, 'max': 9}}
    """
    nested: dict[str, Any] = {}
    for key, value in record.items():
        name, _, rest = key.partition("_")
        if rest and name in names:
            nested.setdefault(name, {})[rest] = value
        else:
            nested[key] = value
    return nested
