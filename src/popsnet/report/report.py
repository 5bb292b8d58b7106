"""Reports: facts, tables, notes and a verdict, emitted as text, JSON, CSV or HTML."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any

from popsnet.report.table import Column, ColumnKind, Note, Table, as_text, flat, shown

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import RenderableType


@dataclass(frozen=True, slots=True)
class Fact:
    """A value with a name; one with a label is shown to people, the others are for programs."""

    key: str
    value: object
    """A value that JSON has."""
    label: str = ""
    kind: ColumnKind = "integer"
    text: str = ""
    """What is shown, where it takes more than the value."""


def facts_of(result: object, *names: str) -> tuple[Fact, ...]:
    """Return attributes of a result as facts for programs, under their own names."""
    values = ((name, getattr(result, name)) for name in names)
    return tuple(
        Fact(name, value.to_dict() if hasattr(value, "to_dict") else value)
        for name, value in values
    )


@dataclass(frozen=True)
class Report:
    """A result as it is shown.

    Parameters
    ----------
    title : str
        What this is about, in a line or a few.
    facts : tuple of Fact
        Single values.
    parts : tuple of Table and str
        Tables and notes, in the order in which they are read.
    verdict : str
        The conclusion, in words.
    ok : bool
        Whether everything that was checked holds.

    Examples
    --------
    >>> report = Report("POPS(2, 3)", (Fact("n", 6, "processors"),), verdict="OK: all is well.")
    >>> print(report)
    POPS(2, 3)
    processors 6
    OK: all is well.
    >>> report.to_dict()
    {'n': 6, 'ok': True}
    """

    title: str = ""
    facts: tuple[Fact, ...] = ()
    parts: tuple[Table | str, ...] = ()
    verdict: str = ""
    ok: bool = True

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables, in order."""
        return tuple(part for part in self.parts if isinstance(part, Table))

    def plus(self, *items: Fact | Table | str) -> Report:
        """Return the report with more facts, tables or notes at its end."""
        facts = tuple(item for item in items if isinstance(item, Fact))
        parts = tuple(item for item in items if not isinstance(item, Fact))
        return replace(self, facts=self.facts + facts, parts=self.parts + parts)

    def to_dict(self) -> dict[str, Any]:
        """Return facts and tables as plain values, and whether the checks hold if there are any."""
        facts = {fact.key: fact.value for fact in self.facts}
        tables = {table.name: table.records() for table in self.tables}
        return {**facts, **tables, **({"ok": self.ok} if self.verdict or not self.ok else {})}

    @property
    def first_table(self) -> Table:
        """The first table, or the facts as one if there is none."""
        facts = {fact.key: fact.value for fact in self.facts}
        return self.tables[0] if self.tables else Table("facts", "", (), [dict(flat(facts))])

    def csv(self) -> str:
        """Return the first table, or the facts if there is none, as comma-separated values."""
        return self.first_table.csv()

    def renderables(self) -> Iterator[RenderableType]:
        """Yield what a terminal shows, part by part."""
        if self.title:
            yield Note(self.title)
        if labelled := self._labelled():
            yield from labelled.renderables()
        for part in self.parts:
            yield from [Note(part)] if isinstance(part, str) else part.renderables()
        if self.verdict:
            yield Note(self.verdict)

    def _labelled(self) -> Table | None:
        rows = [
            {"label": fact.label, "value": fact.text or shown(fact.value, fact.kind)}
            for fact in self.facts
            if fact.label
        ]
        columns = Column("label", " ", "text"), Column("value", " ", show=lambda row: row["value"])
        return Table("facts", "", columns, rows) if rows else None

    def __str__(self) -> str:
        return as_text(self.renderables())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        parts = [self.title, self._labelled(), *self.parts, self.verdict]
        return "".join(
            part._repr_html_() if isinstance(part, Table) else f"<p>{escape(part)}</p>"
            for part in parts
            if part
        )


class Reported(ABC):
    """A result that has a report: it is its text, and what a notebook shows of it."""

    @abstractmethod
    def report(self) -> Report:
        """Return the result as it is shown."""

    def to_records(self) -> list[dict[str, Any]]:
        """Return the rows of the first table, or the facts, as dictionaries."""
        return self.report().first_table.records()

    def to_dataframe(self) -> pd.DataFrame:
        """Return the first table, or the facts, as a data frame; needs ``popsnet[pandas]``."""
        return self.report().first_table.to_dataframe()

    def __str__(self) -> str:
        return str(self.report())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()
