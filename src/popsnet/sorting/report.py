"""A sorting network that was examined, as it is shown."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from popsnet.report import Column, Fact, Report, Table, facts_of
from popsnet.sorting.growth import SMALLEST, DepthGrowth
from popsnet.sorting.zero_one import SortingVerdict

if TYPE_CHECKING:
    from popsnet.sorting.examination import Examined

_SHOWN = 64
"""Digits of an input that is not sorted."""


def examined_report(found: Examined) -> Report:
    """Return measures, verdict and growth of a sorting network."""
    network, verdict = found.network, found.verdict
    stages = {"min": found.fewest, "mean": found.mean, "max": found.most}
    facts = (
        *facts_of(network, "name", "wires", "depth", "size"),
        *facts_of(found, "seed", "proved"),
        Fact("stage_comparators", stages),
        Fact("check", None if verdict is None else asdict(verdict)),
    )
    each = "; {min:,} to {max:,} per stage, {mean:,.1f} on average".format(**stages)
    title = (
        f"{network.name} on {network.wires:,} wires, {found.status}\ndepth {network.depth:,}, "
        f"size {network.size:,} comparators{each if network.depth else ''}"
    )
    words = "" if verdict is None else _in_words(verdict)
    report = Report(title, facts, verdict=words, ok=verdict is None or verdict.sorts)
    return report if found.growth is None else report.plus(*_growth(found.growth))


def _growth(growth: DepthGrowth) -> tuple[Fact, Table]:
    slope, intercept = growth.line
    line = {"slope": slope, "intercept": intercept, "crossover_log2_n": growth.crossover}
    columns = (
        Column("exponent", "n", show=lambda row: f"2^{row['exponent']}"),
        Column("depth", "depth of bag-tree", "integer"),
        Column("batcher_depth", "of merge-exchange", "integer"),
        Column("size", "comparators of bag-tree", "integer"),
    )
    caption = (
        f"depth = {slope:.1f} log2 n {'-' if intercept < 0 else '+'} {abs(intercept):.0f} by least "
        f"squares from 2^{SMALLEST} on; extrapolated,\nit is below t(t + 1)/2 from log2 n = "
        f"{growth.crossover:.0f} on."
    )
    rows = [{**asdict(row), "batcher_depth": row.batcher} for row in growth.rows]
    return Fact("growth_line", line), Table("growth", "", columns, rows, caption)


def _in_words(verdict: SortingVerdict) -> str:
    if verdict.counterexample is not None:
        digits = "".join(map(str, verdict.counterexample[:_SHOWN]))
        more = "…" if len(verdict.counterexample) > _SHOWN else ""
        return f"FAILED: this input is not sorted (wire 0 first): {digits}{more}"
    if verdict.exhaustive:
        return (
            f"OK: all {verdict.inputs:,} inputs of zeros and ones are sorted, and so is every "
            "input, by the 0-1 principle."
        )
    return (
        f"OK: {verdict.inputs:,} inputs of zeros and ones are sorted: random, nearly sorted, "
        "arranged, and sought by an adversary. That is a test, not a proof."
    )
