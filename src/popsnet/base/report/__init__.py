"""Reports of results: tables, facts, notes and a verdict as text, JSON, CSV and HTML."""

from popsnet.base.report.report import Fact, Plotted, Report, Reported, facts_of
from popsnet.base.report.table import Column, Row, Table, data_frame, plural, write_csv

__all__ = [
    "Column", "Fact", "Plotted", "Report", "Reported", "Row", "Table", "data_frame", "facts_of",
    "plural", "write_csv",
]  # fmt: skip
