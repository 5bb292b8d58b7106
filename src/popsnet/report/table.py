"""Small tables: texts for terminals and notebooks, and data frames."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from popsnet.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["data_frame", "html_table", "text_table"]


def text_table(rows: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> str:
    """Return rows as lines; columns are aligned to the right, but for those in ``left``."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(
            cell.ljust(width) if place in left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
    return "\n".join(lines)


def html_table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as an HTML table; the first row is the heading."""
    heading, *body = rows
    return f"<table>{_row(heading, 'th')}{''.join(_row(row, 'td') for row in body)}</table>"


def _row(cells: Sequence[str], tag: str) -> str:
    style = ' style="text-align: right"'
    texts = (
        f"<{tag}{style if place else ''}>{escape(cell)}</{tag}>" for place, cell in enumerate(cells)
    )
    return f"<tr>{''.join(texts)}</tr>"


def data_frame(columns: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return a pandas data frame, or say how to install pandas."""
    try:
        import pandas as pd
    except ImportError as error:
        raise InputError(
            f"A data frame needs pandas ({error}): pip install 'popsnet[pandas]', or use "
            "to_records()."
        ) from error
    return pd.DataFrame(columns)
