"""Reproduce the paper: run what is missing, make the tables, and write the report."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from popsnet.base.errors import InputError, how_to_install
from popsnet.base.files import make_folder, write_whole
from popsnet.base.progress import Progress, patient_progress
from popsnet.base.report import Fact, Report, Reported, Table, facts_of
from popsnet.engines import Tally
from popsnet.paper.plan import PaperPlan, Wanted, make_plan
from popsnet.paper.rows import PaperRows, make_rows
from popsnet.paper.tables import PaperTable, findings, paper_tables
from popsnet.paper.theory.growth import growth_rows, in_words
from popsnet.paper.theory.predictions import exact_rows, fluid_rows
from popsnet.paper.theory.section import Theory, theory_tables
from popsnet.paper.theory.separation import attack_all
from popsnet.paper.verdicts import DOUBT_LEVEL, LEVEL
from popsnet.sweeps.runner import collect
from popsnet.sweeps.store import Store

if TYPE_CHECKING:
    from popsnet.paper.report import Headline

STORE = "results.sqlite"
"""The file that runs are kept in."""


@dataclass(frozen=True, repr=False)
class Reproduction(Reported):
    """The paper's tables beside ours, and where they were written.

    Attributes
    ----------
    folder : Path
        Where the files were written.
    plan : PaperPlan
        The experiments, and the runs of each.
    rows : PaperRows
        The rows of the paper's tables and of our own.
    theory : Theory
        The rows of the tables of theory.
    origin : tuple of pairs of str
        When and with what the runs were made.
    pages : tuple of Path
        Pages that play runs.
    """

    folder: Path
    plan: PaperPlan
    rows: PaperRows
    theory: Theory
    origin: tuple[tuple[str, str], ...]
    pages: tuple[Path, ...] = ()

    @cached_property
    def tables(self) -> tuple[PaperTable, ...]:
        """The paper's tables and those of our routers; ``records()`` of each gives its rows."""
        return paper_tables(self.rows)

    @cached_property
    def theory_tables(self) -> tuple[PaperTable, ...]:
        """The tables of the section on theory."""
        return theory_tables(self.theory)

    @cached_property
    def headlines(self) -> list[Headline]:
        """The most important numbers, as far as they were measured."""
        from popsnet.paper.report import headlines  # needs the extra popsnet[paper]

        return headlines(self.plan, self.rows)

    @cached_property
    def findings(self) -> dict[str, str]:
        """The results in words, by what they are about."""
        return findings(self.plan, self.rows)

    @property
    def summary(self) -> str:
        """The result in a few sentences."""
        return " ".join(filter(None, (*self.findings.values(), self.theory.summary)))

    @property
    def failures(self) -> list[str]:
        """The checks that failed, in words; none if everything agrees."""
        rows, theory = self.rows, self.theory
        formulas = sum(not row.formula_agrees for row in rows.slots)
        attacks = sum(len(row.reached) - row.confirmed for row in theory.separation)
        counts = {
            "of the comparisons with the paper": rows.differing,
            "of the values of the published formula": formulas,
            "of the comparisons with exact chains": theory.differing,
            "of the delays of two-hop algorithms": attacks,
        }
        return [f"{count} {what}" for what, count in counts.items() if count]

    @property
    def growth(self) -> list[str]:
        """What the fits tell apart, in words."""
        return in_words(self.theory.growth)

    @property
    def report_file(self) -> Path:
        """The report, one HTML file."""
        return self.folder / "report.html"

    def report(self) -> Report:
        """Return the tables, what they say, and where the files are."""
        rates = {"ours_and_paper": LEVEL, "paper_and_itself": DOUBT_LEVEL, "ours_and_exact": LEVEL}
        facts = (
            Fact("report", str(self.report_file)),
            Fact("pages", [str(page) for page in self.pages]),
            Fact("summary", self.summary),
            Fact("family_wise_error_rate", rates),
            *facts_of(self.rows, "comparisons", "differing", "undecidable", "by_statistic"),
            Fact("improbable", [number.record() for number in self.rows.improbable]),
            Fact("exact_comparisons", self.theory.comparisons),
            Fact("exact_differing", self.theory.differing),
            Fact("growth_summary", self.growth),
        )
        growth = [f"{words}\n" for words in ["Growth, in words", *self.growth] if self.growth]
        end = f"{self.summary}\nThe report: {self.report_file}"
        parts: tuple[Table | str, ...] = (*self.tables, *self.theory_tables, *growth, end)
        verdict = f"FAILED: {', '.join(self.failures)} differ." if self.failures else ""
        return Report("", facts, parts, verdict, ok=not verdict)


def reproduce(
    out: str | Path = "paper",
    *,
    runs: int | None = None,
    max_n: int | None = None,
    full: bool = False,
    show: Callable[[Table], None] = lambda table: None,
    executor: Executor | None = None,
    progress: Progress = None,
) -> Reproduction:
    """Reproduce the paper's tables and figures.

    Needs the extra ``popsnet[paper]``. Finished runs are kept in the folder: an interrupted call
    can be made again and continues from there.

    Parameters
    ----------
    out : str or Path
        The folder for the report, the tables, the figures and the store of runs.
    runs : int, optional
        Runs per row, a multiple of ten; by default chosen row by row.
    max_n : int, optional
        The largest number of processors; larger networks are left out.
    full : bool
        Run every row at least as often as the paper, which takes several times as long. It chooses
        the runs itself, so that ``runs`` must not be given.
    show : function, optional
        Called with each table as soon as it is ready.
    executor : concurrent.futures.Executor, optional
        Where the runs are done, as for :func:`popsnet.collect`.
    progress : function, bool or None
        A function that is called with the shards done and the total, for each part of the work.
        None shows bars on a terminal after two seconds, False shows nothing.

    Returns
    -------
    Reproduction
        The tables, their summary in words, and where the files are.

    Raises
    ------
    InputError
        If a parameter is out of range, ``runs`` and ``full`` are both given, or a library is
        missing.

    Examples
    --------
    >>> import popsnet
    >>> found = popsnet.paper.reproduce("paper", max_n=4, runs=10)
    >>> found.rows.steps[0].published_mean, found.report_file.name
    (3.15, 'report.html')
    """
    _require_libraries()
    plan, folder = make_plan(runs, max_n, full), Path(out)
    make_folder(folder)
    results, _ = carry_out(plan.exact, folder, progress, executor)
    exact = exact_rows(plan.exact, results)
    (exact_table,) = theory_tables(Theory(exact, (), (), ()))
    show(exact_table)
    results, origin = carry_out(plan.wanted, folder, progress, executor)
    rows = make_rows(plan, results)
    for table in paper_tables(rows):
        show(table)
    with patient_progress("attacking", None) as update:
        separation = attack_all(plan.attacked, folder, lambda doing: update(0, doing))
    fluid = fluid_rows(rows, exact)
    theory = Theory(exact, fluid, growth_rows(fluid), separation)
    reproduction = Reproduction(folder, plan, rows, theory, tuple(origin))
    for table in reproduction.theory_tables[1:]:
        show(table)
    return _write(reproduction)


def _require_libraries() -> None:
    missing = [name for name in ("matplotlib", "jinja2") if find_spec(name) is None]
    if missing:
        raise InputError(
            f"The report needs {' and '.join(missing)}, not installed here. "
            f"{how_to_install('paper')}"
        )


def _write(result: Reproduction) -> Reproduction:
    """Write all files; return the same with the pages that play runs."""
    from popsnet.paper.figures import paper_figures, theory_figures
    from popsnet.paper.report import embed, provenance, write_pages, write_report

    folder = result.folder / "figures"
    make_folder(folder)
    with patient_progress("drawing", None):
        figures = (*paper_figures(result.rows), *theory_figures(result.theory))
        drawn = {fig.stem: embed(number, fig, folder) for number, fig in enumerate(figures, 1)}
    for table in (*result.tables, *result.theory_tables):
        table.write_csv(result.folder)
    facts, pages = [*provenance(result.plan), *result.origin], write_pages(result.folder)
    write_report(result, drawn, facts, pages)
    with write_whole(result.folder / "provenance.json") as file:
        json.dump({"summary": result.summary, **dict(facts)}, file, indent=2, ensure_ascii=False)
    return replace(result, pages=tuple(result.folder / name for name in pages))


def carry_out(
    wanted: Sequence[Wanted], folder: Path, progress: Progress, executor: Executor | None = None
) -> tuple[dict[Wanted, Tally], list[tuple[str, str]]]:
    """Run what is missing and return the results with their provenance."""
    with Store(folder / STORE, create=True) as store:
        tallies = collect(wanted, store=store, executor=executor, progress=progress)
        return dict(zip(wanted, tallies, strict=True)), _origin(store)


def _origin(store: Store) -> list[tuple[str, str]]:
    """Return when, how long and with what the runs of a store were made, earlier calls included."""
    made = [origin for subject in store.experiments() for origin in store.provenances(subject)]
    with_what = (
        f"{name} {', '.join(sorted({getattr(origin, name) for origin in made}))}"
        for name in ("popsnet", "python", "numpy", "numba")
    )
    finished, seconds = [origin.finished for origin in made], sum(origin.seconds for origin in made)
    return [
        ("runs made", f"{min(finished)} to {max(finished)}"),
        ("runs made with", "; ".join(with_what)),
        ("time of all runs", f"{seconds:,.0f} s, added up over threads"),
    ]
