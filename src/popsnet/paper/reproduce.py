"""Reproduce the paper: run what is missing, make the tables, write them and the report."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from popsnet.errors import InputError
from popsnet.files import make_folder, write_whole
from popsnet.paper.plan import PaperPlan, make_plan
from popsnet.paper.rows import Tables, make_tables
from popsnet.paper.runs import carry_out
from popsnet.paper.tables import Sheet, make_sheets, summary_of, write_csv
from popsnet.paper.theory.exact import exact_rows
from popsnet.paper.theory.growth import in_words
from popsnet.paper.theory.section import Theory, make_theory, theory_summary
from popsnet.paper.theory.separation import attack_all
from popsnet.paper.theory.tables import exact_sheet, theory_sheets
from popsnet.paper.verdicts import DOUBT_LEVEL, LEVEL
from popsnet.progress import Progress, patient_progress

__all__ = ["Reproduction", "reproduce"]

_REPORT = "report.html"
_PROVENANCE = "provenance.json"

Show = Callable[[Sheet], None]


@dataclass(frozen=True, slots=True, repr=False)
class Reproduction:
    """The paper's tables beside ours, and where they were written."""

    folder: Path
    plan: PaperPlan
    tables: Tables
    theory: Theory
    sheets: tuple[Sheet, ...]
    """The tables as they are shown; ``records()`` of each gives its rows for programs."""
    theory_sheets: tuple[Sheet, ...]
    summary: str
    growth: list[str]
    """What the fits tell apart, in words."""
    origin: list[tuple[str, str]]
    """When and with what the runs were made."""
    pages: tuple[Path, ...]
    """Pages that play runs."""

    @property
    def report(self) -> Path:
        """The report, one HTML file."""
        return self.folder / _REPORT

    def __str__(self) -> str:
        return f"{self.summary}\nThe report: {self.report}"

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return the verdicts and all tables as plain values."""
        return {
            "report": str(self.report),
            "pages": [str(page) for page in self.pages],
            "summary": self.summary,
            "family_wise_error_rate": {
                "ours_and_paper": LEVEL,
                "paper_and_itself": DOUBT_LEVEL,
                "ours_and_exact": LEVEL,
            },
            "comparisons": self.tables.comparisons,
            "differing": self.tables.differing,
            "tables": {sheet.stem: sheet.records() for sheet in self.sheets},
            "theory": {
                "comparisons": self.theory.comparisons,
                "differing": self.theory.differing,
                "growth": self.growth,
                "tables": {sheet.stem: sheet.records() for sheet in self.theory_sheets},
            },
        }


def reproduce(
    out: str | Path = "paper",
    *,
    runs: int | None = None,
    max_n: int | None = None,
    full: bool = False,
    show: Show | None = None,
    progress: Progress = None,
) -> Reproduction:
    """Reproduce the paper's tables and figures; needs the extra ``popsnet[paper]``.

    Finished runs are kept in the folder, so that an interrupted call can be made again and goes
    on from there.

    Parameters
    ----------
    out : str or Path
        The folder for the report, the tables, the figures and the store of runs.
    runs : int, optional
        Runs of every row, a multiple of ten; chosen row by row if not given.
    max_n : int, optional
        Leave out networks with more processors.
    full : bool
        At least as many runs as in the paper for every row, which takes several times as long.
    show : function, optional
        Called with each table as soon as it is there.
    progress : function, bool or None
        A function that is called with the shards done and the total, for each part of the work.
        None shows bars on a terminal after two seconds, False shows nothing.

    Examples
    --------
    >>> import popsnet
    >>> found = popsnet.paper.reproduce("paper", max_n=16, runs=10)
    >>> found.tables.steps[0].n, found.report.name
    (4, 'report.html')
    """
    _require_libraries()
    plan, folder = make_plan(runs, max_n, full), Path(out)
    make_folder(folder)
    shown: list[str] = []

    def show_once(sheet: Sheet) -> None:
        if show is not None and sheet.stem not in shown:
            shown.append(sheet.stem)
            show(sheet)

    results, _ = carry_out(plan.exact, folder, progress)
    show_once(exact_sheet(exact_rows(plan.exact, results)))
    results, origin = carry_out(plan.wanted, folder, progress)
    tables = make_tables(plan, results)
    for sheet in make_sheets(tables):
        show_once(sheet)
    with patient_progress("attacking", None) as update:
        separation = attack_all(plan.attacked, folder, lambda doing: update(0, doing))
    theory = make_theory(plan, tables, results, separation)
    for sheet in theory_sheets(theory):
        show_once(sheet)
    summary = f"{summary_of(plan, tables)} {theory_summary(theory)}"
    found = (tables, theory, make_sheets(tables), theory_sheets(theory), summary)
    words = in_words(theory.growth)
    return _written(Reproduction(folder, plan, *found, words, origin, ()))


def _require_libraries() -> None:
    missing = [name for name in ("matplotlib", "jinja2") if find_spec(name) is None]
    if missing:
        raise InputError(
            f"The report needs {' and '.join(missing)}, not installed here: "
            "pip install 'popsnet[paper]'"
        )


def _written(found: Reproduction) -> Reproduction:
    """Write all files; return the same with the pages that play runs."""
    from popsnet.paper.figures import Picture, make_pictures
    from popsnet.paper.report import Section, provenance, write_report
    from popsnet.paper.theory.figures import theory_pictures
    from popsnet.paper.viewer_pages import write_pages
    from popsnet.plots import save

    figures = found.folder / "figures"
    make_folder(figures)

    def saved(pictures: Sequence[Picture]) -> list[tuple[Picture, Path]]:
        return [(one, save(one.figure, figures, one.stem)[0]) for one in pictures]

    with patient_progress("drawing", None):
        drawn = saved(make_pictures(found.tables))
        of_theory = saved(theory_pictures(found.theory))
    for sheet in (*found.sheets, *found.theory_sheets):
        write_csv(sheet, found.folder)
    facts = [*provenance(found.plan), *found.origin]
    summary = theory_summary(found.theory)
    section = Section("Theory", summary, found.theory_sheets, found.growth, of_theory)
    watched = write_pages(found.folder)
    write_report(found.report, found.summary, found.sheets, drawn, section, facts, watched)
    with write_whole(found.folder / _PROVENANCE) as file:
        json.dump({"summary": found.summary, **dict(facts)}, file, indent=2, ensure_ascii=False)
    return replace(found, pages=tuple(found.folder / page.file for page in watched))
