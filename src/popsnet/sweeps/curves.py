"""Curves: means of a store's experiments against the size or shape of the network."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

from popsnet.base.errors import InputError, require_one_of
from popsnet.base.report import Column, Report, Reported, Row, Table, facts_of, plural
from popsnet.base.stats.inference import Estimate, confidence_interval, summarize_counts
from popsnet.experiment.experiment import Experiment
from popsnet.model.network import Network
from popsnet.programs.router import get_router
from popsnet.runs.summary import seeds_of
from popsnet.sweeps import reports
from popsnet.sweeps.exports import uniform
from popsnet.sweeps.selection import NEWEST, Selection
from popsnet.sweeps.shard import CountedRuns
from popsnet.sweeps.store import Store

MEASURES = ("slots", "steps", "slots_delivered", "lost")

_WITH: Mapping[str, tuple[str, ...]] = {
    "n": ("d/g", "d", "g"), "d": ("g", "d/g"), "g": ("d", "d/g"), "d/g": ("n", "d", "g"),
}  # fmt: skip
"""What determines a network together with the x axis, the most natural first."""


def _size(experiment: Experiment, name: str) -> Fraction:
    """Return n, d, g or d/g."""
    network = experiment.network
    return Fraction(network.d, network.g) if name == "d/g" else Fraction(getattr(network, name))


@dataclass(frozen=True)
class CurvePoint:
    """The mean of the runs of one experiment."""

    experiment: Experiment
    x: Fraction
    mean: float
    low: float
    high: float
    """The ends of a 95 % confidence interval for the mean, by Student's t."""
    runs: int
    capped: int
    """Runs that were capped; if there are any, the mean is a lower bound."""
    version: str
    """The version of popsnet that made the runs, or the versions."""


@dataclass(frozen=True, repr=False)
class Curves(Reported):
    """Lines of means, by label."""

    x: str
    measure: str
    lines: Mapping[str, Sequence[CurvePoint]]
    common: tuple[str, ...]
    """What all experiments have in common, in words."""
    runs_not_counted: int = 0
    """Runs behind a missing shard."""
    older_left_out: int = 0
    """Experiments of older versions that were not selected."""

    @property
    def points(self) -> list[CurvePoint]:
        """All points."""
        return [point for line in self.lines.values() for point in line]

    @property
    def title(self) -> str:
        """What all lines have in common, and how many runs there are."""
        runs_of = {point.experiment: point.runs for point in self.points}
        runs = plural(sum(runs_of.values()), "run")
        if len(runs_of) > 1:
            least, most = min(runs_of.values()), max(runs_of.values())
            runs += f", {least:,}{f' to {most:,}' * (least < most)} per point"
        return ", ".join([*self.common, runs])

    def in_short(self) -> str:
        """Return what is drawn, in a line."""
        return f"{self.measure} against {self.x}, {plural(len(self.lines), 'line')}, {self.title}"

    def report(self) -> Report:
        """Return the points as they are shown."""
        rows = [_row(label, point) for label, line in self.lines.items() for point in line]

        def mean(row: Row) -> str:
            return f"{'≥ ' * bool(row['capped'])}{row['mean']:,.2f}"

        def interval(row: Row) -> str:
            return "–" if row["capped"] else f"{row['low']:,.2f} to {row['high']:,.2f}"

        columns = (
            Column("line", kind="text"),
            *(Column(key, kind="integer") for key in ("d", "g", "runs")),
            Column("mean", self.measure.replace("_", " "), show=mean),
            Column("low", "95 % interval", show=interval),
        )
        facts = facts_of(self, "x", "measure", "runs_not_counted", "older_left_out")
        left_out = reports.older_notes(self.older_left_out)
        notes = *reports.gap_notes(self.runs_not_counted), *left_out
        return Report("", facts, (Table("points", "", columns, rows), *notes))


def result_curves(
    store: Store, x: str = "n", measure: str = "slots", only: Selection = NEWEST
) -> Curves:
    """Return the means of a store's experiments as lines, one per router.

    The variants that a router chooses by itself, such as a schedule for each network, are one
    line under its name. A variant that was asked for on a network where the router would choose
    another has a line of its own, with all its networks. Lines are divided further by what else
    differs: the permutation, the seeds, the cap, and the shape of the network, so that no line
    has two values at one place.

    Parameters
    ----------
    store : Store
        Where the results are.
    x : str
        ``"n"``, ``"d"``, ``"g"`` or ``"d/g"``.
    measure : str
        ``"slots"``, ``"steps"``, ``"slots_delivered"`` or ``"lost"``.
    only : Selection
        Which experiments; all by default.
    """
    require_one_of("x", x, _WITH)
    require_one_of("measure", measure, MEASURES)
    gathered = [(experiment, store.gathered(experiment)) for experiment in store.selected(only)]
    points = [_point(*pair, x, measure) for pair in gathered if pair[1].tally.runs]
    behind = store.runs_not_counted(only)
    if not points:
        why = reports.why_nothing(behind)
        raise InputError(f"There are no results in {store.path} to draw. {why}")
    experiments = [point.experiment for point in points]
    others = reports.differing(uniform(e.identity for e in experiments), "permutation")
    shape = _shape(experiments, x)
    common = []
    if shape is not None and len({_size(experiment, shape) for experiment in experiments}) == 1:
        common, shape = [_equation(shape, experiments[0])], None
    if "permutation" not in others:
        common.append(f"permutation {reports.short_name(experiments[0].permutation)}")
    lines: dict[tuple[Any, ...], list[CurvePoint]] = {}
    names = _names(experiments)
    for point in sorted(points, key=lambda point: point.x):
        experiment = point.experiment
        values = tuple(getattr(experiment, name) for name in others)
        size = _size(experiment, shape) if shape else Fraction(0)
        for name in names[experiment]:
            lines.setdefault((experiment.router, name, values, size), []).append(point)
    labelled = {
        _label(name, line[0].experiment, others, shape): line
        for (_, name, _, _), line in sorted(lines.items(), key=lambda pair: pair[0])
    }
    return Curves(x, measure, labelled, tuple(common), behind, store.left_out(only))


def _names(experiments: Sequence[Experiment]) -> dict[Experiment, list[str]]:
    """Return the names of the lines that each experiment belongs to: router, or with a variant.

    Variants of a family that are planned for each network, such as survive, are one line. A router
    from a file that is not loaded has its name alone if all its experiments have one variant.
    """
    variants, families = defaultdict[Any, set[str]](set), defaultdict[Any, set[str]](set)
    for e in experiments:
        variants[e.router].add(e.variant)
        families[e.router, e.network, e.variant.partition(":")[0]].add(e.variant)
    own = {}
    for e in experiments:
        choice = _own_choice(e.router, e.network)
        own[e] = e.variant == choice or (choice is None and len(variants[e.router]) == 1)
    asked = {(e.router, e.variant) for e, is_own in own.items() if not is_own}
    chosen = {e.router for e in experiments if (e.router, e.variant) not in asked}
    names: dict[Experiment, list[str]] = {}
    for e, is_own in own.items():
        names[e] = [e.router] * (is_own and e.router in chosen)
        if (e.router, e.variant) in asked:
            family = e.variant.partition(":")[0]
            alone = len(families[e.router, e.network, family]) == 1
            names[e].append(f"{e.router} ({family if alone else e.variant})")
    return names


@cache
def _own_choice(name: str, network: Network) -> str | None:
    """Return the variant that a router chooses on a network; None if it is not known here."""
    with suppress(InputError):
        return get_router(name).choose_variant(None, network)
    return None


def _shape(experiments: Sequence[Experiment], x: str) -> str | None:
    """Return what to divide lines by, besides names: what has the fewest values."""
    counts = {name: len({_size(e, name) for e in experiments}) for name in _WITH[x]}
    name = min(counts, key=counts.__getitem__)
    networks = {experiment.network for experiment in experiments}
    distinct = {_size(experiment, x) for experiment in experiments}
    unstructured = counts[name] == len(networks) == len(distinct) > 1
    return None if unstructured else name


def _label(name: str, experiment: Experiment, others: Sequence[str], shape: str | None) -> str:
    parts = [name]
    for name in others:
        shorten = reports.short_version if name == "version" else reports.short_name
        value = shorten(str(getattr(experiment, name))) or "none"
        parts.append(value if name == "permutation" else f"{name.replace('_', ' ')} {value}")
    return ", ".join([*parts, *([_equation(shape, experiment)] if shape else [])])


def _equation(size: str, experiment: Experiment) -> str:
    value = _size(experiment, size)
    return "d = g" if size == "d/g" and value == 1 else f"{size} = {number_text(value)}"


def number_text(value: Fraction) -> str:
    """Return a size as labels show it: 1,024 or 1/4."""
    return f"{value.numerator:,}" if value.denominator == 1 else str(value)


def _point(experiment: Experiment, gathered: CountedRuns, x: str, measure: str) -> CurvePoint:
    tally = gathered.tally
    summary = summarize_counts(tally.histograms[measure])
    assert summary.sd is not None  # a shard has ten runs
    interval = confidence_interval(Estimate(summary.mean, summary.sd, tally.runs))
    size, counts = _size(experiment, x), (tally.runs, tally.capped)
    return CurvePoint(experiment, size, summary.mean, *interval, *counts, gathered.version)


def _row(label: str, point: CurvePoint) -> dict[str, Any]:
    experiment = point.experiment
    return {
        "line": label, "router": experiment.router, "version": experiment.version,
        "variant": experiment.variant, "permutation": experiment.permutation,
        **experiment.network.columns(), **seeds_of(experiment), "x": float(point.x),
        "runs": point.runs, "capped": point.capped, "mean": point.mean,
        "low": point.low, "high": point.high, "experiment": experiment.digest,
        "popsnet_version": point.version,
    }  # fmt: skip
