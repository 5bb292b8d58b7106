"""Reports: facts, tables, notes and a verdict, as text, JSON, CSV or HTML."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

from popsnet.base.report.table import Column, ColumnKind, Note, Table, as_text, flat, format_value
from popsnet.base.terminal import escape_controls

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from rich.console import RenderableType


@dataclass(frozen=True, slots=True)
class Fact:
    """A named value. With a label it is shown to people, otherwise it is for programs only.

    Parameters
    ----------
    key : str
        Its name in JSON.
    value : object
        A value that JSON can represent.
    label : str
        Its name for people.
    kind : {"text", "integer", "number", "share", "flag"}
        The type of the value, which decides how it is shown.
    text : str
        What to show instead of the value.

    Examples
    --------
    >>> from popsnet.base.report import Fact, Report
    >>> print(Report("A run", (Fact("lost", 0.25, "packets lost", "share"),)))
    A run
    packets lost 25.0%
    """

    key: str
    value: object
    label: str = ""
    kind: ColumnKind = "integer"
    text: str = ""


def facts_of(result: object, *names: str) -> tuple[Fact, ...]:
    """Return attributes of a result as facts for programs.

    Parameters
    ----------
    result : object
        The result.
    *names : str
        The names of its attributes.

    Returns
    -------
    tuple of Fact
        The attributes under their own names. One with a method ``to_dict`` is a dictionary.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.base.report import facts_of
    >>> [(fact.key, fact.value) for fact in facts_of(Network(2, 3), "d", "g")]
    [('d', 2), ('g', 3)]
    """
    values = ((name, getattr(result, name)) for name in names)
    return tuple(
        Fact(name, value.to_dict() if hasattr(value, "to_dict") else value)
        for name, value in values
    )


@dataclass(frozen=True)
class Report:
    """A result as people and programs see it.

    Parameters
    ----------
    title : str
        The title, of one or a few lines.
    facts : tuple of Fact
        Single values.
    parts : tuple of Table and str
        Tables and notes, in the order in which they are read.
    verdict : str
        The conclusion.
    ok : bool
        Whether all checks passed.
    cure : str
        What to do about a check that failed. Commands print it to standard error.
    parameters : tuple of str
        Parameters of which notes, verdict or cure name a value; commands show them as options.
    about : mapping
        What the whole report is about, for programs: keys of the JSON object, and columns of every
        row elsewhere. The items of a mapping in it are columns of their own.

    Examples
    --------
    >>> about = {"network": {"d": 2, "g": 3}}
    >>> report = Report("POPS(2, 3)", (Fact("n", 6, "processors"),), verdict="OK.", about=about)
    >>> print(report)
    POPS(2, 3)
    processors 6
    OK.
    >>> report.to_dict()
    {'n': 6, 'network': {'d': 2, 'g': 3}, 'ok': True}
    >>> print(report.csv(), end="")
    d,g,n
    2,3,6
    """

    title: str = ""
    facts: tuple[Fact, ...] = ()
    parts: tuple[Table | str, ...] = ()
    verdict: str = ""
    ok: bool = True
    cure: str = ""
    parameters: tuple[str, ...] = ()
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables, in order."""
        return tuple(part for part in self.parts if isinstance(part, Table))

    def plus(self, *items: Fact | Table | str) -> Report:
        """Return the report with more facts, tables or notes at the end."""
        facts = tuple(item for item in items if isinstance(item, Fact))
        parts = tuple(item for item in items if not isinstance(item, Fact))
        return replace(self, facts=self.facts + facts, parts=self.parts + parts)

    def to_dict(self) -> dict[str, Any]:
        """Return facts and tables as plain values, and ``ok``: whether all checks passed."""
        facts = {fact.key: fact.value for fact in self.facts}
        tables = {table.name: table.nested_records() for table in self.tables}
        return {**facts, **self.about, **tables, "ok": self.ok}

    @property
    def first_table(self) -> Table:
        """The first table, or a table of the facts if there is none, with what it is about."""
        facts = {fact.key: fact.value for fact in self.facts if fact.key not in self.about}
        table = self.tables[0] if self.tables else Table("facts", "", (), [dict(flat(facts))])
        same = dict(flat(self.about, joined=False))
        return replace(table, rows=[{**same, **row} for row in table.records()]) if same else table

    def csv(self) -> str:
        """Return the first table, or the facts if there is none, as comma-separated values."""
        return self.first_table.csv()

    def renderables(self) -> Iterator[RenderableType]:
        """Yield the parts that a terminal shows."""
        if self.title:
            yield Note(self.title)
        if labelled := self._labelled():
            yield from labelled.renderables()
        for part in self.parts:
            yield from [Note(part)] if isinstance(part, str) else part.renderables()
        if self.verdict:
            yield Note(escape_controls(self.verdict, lines=False))

    def _labelled(self) -> Table | None:
        rows = [
            {"label": fact.label, "value": fact.text or format_value(fact.value, fact.kind)}
            for fact in self.facts
            if fact.label
        ]
        columns = Column("label", " ", "text"), Column("value", " ", show=lambda row: row["value"])
        return Table("facts", "", columns, rows) if rows else None

    def __str__(self) -> str:
        return as_text(self.renderables())

    def __repr__(self) -> str:
        return f"<report: {in_a_line(self.title or self.verdict)}>"

    def _repr_html_(self) -> str:
        return "".join(
            part._repr_html_() if isinstance(part, Table) else _paragraph(part)
            for part in [self.title, self._labelled(), *self.parts, self.verdict]
            if part
        )


def in_a_line(text: str) -> str:
    """Return the first line of a text."""
    return text.partition("\n")[0]


def _paragraph(text: str) -> str:
    """Return a text as a paragraph of HTML with the same lines."""
    return "<p>{}</p>".format("<br>".join(escape(line) for line in text.splitlines()))


class Plotted:
    """A result that a function of ``popsnet.plots`` draws.

    Examples
    --------
    >>> import popsnet
    >>> popsnet.distribution(4, 4, runs=100).plot("steps").axes[0].get_xlabel()
    'steps, k'
    """

    __slots__ = ()
    _draw: ClassVar[str]
    """The name of the function."""

    def plot(self, *values: Any, **options: Any) -> Figure:
        """Return the figure of the result. Needs ``popsnet[plots]``.

        :func:`popsnet.plots.save` and the ``savefig`` of the figure write it to a file.

        Parameters
        ----------
        *values, **options
            Further arguments of the function of ``popsnet.plots`` that draws such results, and
            ``title``, ``width``, ``height``, ``font_size`` and ``labels`` of
            :class:`popsnet.plots.FigureLayout`.

        Returns
        -------
        Figure
            A figure of matplotlib.
        """
        import popsnet

        names = ("title", "width", "height", "font_size", "labels")
        layout = popsnet.plots.FigureLayout(**{n: options.pop(n) for n in names if n in options})
        figure: Figure = getattr(popsnet.plots, self._draw)(self._drawn, *values, **options)
        return layout.apply(figure)

    @property
    def _drawn(self) -> Any:
        """What the function takes."""
        return self


class Reported(ABC):
    """A result that is printed as its report, and that a notebook shows as its report.

    Its ``repr`` is one line, so that lists of results can be read.

    Examples
    --------
    >>> from popsnet.base.report import Report, Reported
    >>> class Answer(Reported):
    ...     def report(self):
    ...         return Report("The answer is 42.")
    >>> print(Answer())
    The answer is 42.
    >>> Answer()
    <Answer: The answer is 42.>
    """

    @abstractmethod
    def report(self) -> Report:
        """Return the report that the command line prints."""

    def to_records(self) -> list[dict[str, Any]]:
        """Return the rows of the first table, or the facts, as dictionaries."""
        return self.report().first_table.records()

    def to_dataframe(self) -> pd.DataFrame:
        """Return the first table, or the facts, as a data frame. Needs ``popsnet[pandas]``."""
        return self.report().first_table.to_dataframe()

    def __str__(self) -> str:
        return str(self.report())

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.in_short()}>"

    def in_short(self) -> str:
        """Return what the result is about, in a line."""
        report = self.report()
        texts = (report.title, *(table.title for table in report.tables), report.verdict)
        return in_a_line(next(filter(None, texts), ""))

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()
