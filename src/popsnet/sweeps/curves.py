"""Curves: means of a store's experiments against the size or shape of the network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any

from popsnet.engines import Tally
from popsnet.engines.outcome import HISTOGRAMS
from popsnet.errors import InputError
from popsnet.experiment import Experiment
from popsnet.report import Column, Fact, Report, Reported, Row, Table, counted
from popsnet.routing import all_routers
from popsnet.stats.inference import Estimate, confidence_interval, summarize_counts
from popsnet.sweeps.selection import EVERYTHING, Selection
from popsnet.sweeps.store import Store

_SIZES: Mapping[str, Callable[[Experiment], Fraction]] = {
    "n": lambda one: Fraction(one.network.n),
    "d": lambda one: Fraction(one.d),
    "g": lambda one: Fraction(one.g),
    "d/g": lambda one: Fraction(one.d, one.g),
}
X_AXES = tuple(_SIZES)
MEASURES = tuple(sorted(HISTOGRAMS, key=lambda name: (name != "slots", name)))

_OTHERS = ("permutation", "seed", "permutation_seed", "max_steps", "version")
"""What tells lines apart besides router, variant and shape, where it differs."""

_WITH: Mapping[str, tuple[str, ...]] = {
    "n": ("d/g", "d", "g"), "d": ("g", "d/g"), "g": ("d", "d/g"), "d/g": ("n", "d", "g"),
}  # fmt: skip
"""What determines a network together with the x axis, the most natural first."""


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


@dataclass(frozen=True, repr=False)
class Curves(Reported):
    """Lines of means, by label."""

    x: str
    measure: str
    lines: Mapping[str, Sequence[CurvePoint]]
    common: tuple[str, ...]
    """What all experiments have in common, in words."""

    @property
    def points(self) -> list[CurvePoint]:
        """All points."""
        return [point for line in self.lines.values() for point in line]

    @property
    def title(self) -> str:
        """What all lines have in common, and how many runs there are."""
        each = sorted({point.runs for point in self.points})
        per_point = f"{each[0]:,}" if len(each) == 1 else f"{each[0]:,} to {each[-1]:,}"
        runs = f"{counted(sum(point.runs for point in self.points), 'run')}, {per_point} per point"
        return ", ".join([*self.common, runs])

    def report(self) -> Report:
        """Return the points as they are shown."""
        rows = [_row(label, one) for label, line in self.lines.items() for one in line]

        def mean(row: Row) -> str:
            return f"{'≥ ' * bool(row['capped'])}{row['mean']:,.2f}"

        def interval(row: Row) -> str:
            return "–" if row["capped"] else f"{row['low']:,.2f} to {row['high']:,.2f}"

        columns = (
            Column("line", kind="text"),
            Column("d", kind="integer"),
            Column("g", kind="integer"),
            Column("runs", kind="integer"),
            Column("mean", self.measure.replace("_", " "), show=mean),
            Column("low", "95 % interval", show=interval),
        )
        facts = Fact("x", self.x), Fact("measure", self.measure)
        return Report("", facts, (Table("points", "", columns, rows),))


def result_curves(
    store: Store, x: str = "n", measure: str = "slots", only: Selection = EVERYTHING
) -> Curves:
    """Return the means of a store's experiments as lines, one per router and variant.

    Lines are divided further by what else differs: the permutation, the seeds, the cap, and
    the shape of the network, so that no line has two values at one place. A router that chooses
    a schedule for each network, such as relay, has one line for all of them.

    Parameters
    ----------
    store : Store
        Where the results are.
    x : str
        ``"n"``, ``"d"``, ``"g"`` or ``"d/g"``.
    measure : str
        ``"slots"``, ``"slots_delivered"``, ``"steps"`` or ``"lost"``.
    only : Selection
        Which experiments; all by default.
    """
    if x not in X_AXES:
        raise InputError(f"x = {x}: give one of {', '.join(X_AXES)}.")
    if measure not in MEASURES:
        raise InputError(f"measure = {measure}: give one of {', '.join(MEASURES)}.")
    chosen = only.require_any(store.experiments(), store.path)
    tallies = [(one, store.unbroken(one)) for one in chosen]
    points = [_point(one, tally, x, measure) for one, tally in tallies if tally.runs]
    if not points:
        raise InputError(f"There are no results in {store.path} to draw. popsnet sweep makes some.")
    experiments = [point.experiment for point in points]
    fields = {name: {str(getattr(one, name)) for one in experiments} for name in _OTHERS}
    differing = [name for name, values in fields.items() if len(values) > 1]
    shape = _shape(experiments, x)
    common = []
    if shape is not None and len({_SIZES[shape](one) for one in experiments}) == 1:
        common, shape = [_equation(shape, experiments[0])], None
    if "permutation" not in differing:
        common.append(f"permutation {_short(experiments[0].permutation)}")
    lines: dict[str, list[CurvePoint]] = {}
    joined = _with_schedules(experiments, differing)
    for point in sorted(points, key=lambda point: point.x):
        label = _label(point.experiment, differing, shape, joined)
        lines.setdefault(label, []).append(point)
    return Curves(x, measure, dict(sorted(lines.items())), tuple(common))


def _with_schedules(experiments: Sequence[Experiment], differing: Sequence[str]) -> set[str]:
    """Return the routers that have one of several schedules on every network: one line each."""
    variants: dict[str, set[str]] = {}
    for one in experiments:
        variants.setdefault(one.router, set()).add(one.variant)
    several = {router for router, names in variants.items() if len(names) > 1}
    keys = Counter(
        (one.router, one.network, *(getattr(one, name) for name in differing))
        for one in experiments
    )
    twice = {router for (router, *_), count in keys.items() if count > 1}
    known = {router.name for router in all_routers() if router.schedules is not None}
    return (several & known) - twice


def _shape(experiments: Sequence[Experiment], x: str) -> str | None:
    """Return what to divide lines by, besides names: what has the fewest values."""
    counts = {name: len({_SIZES[name](one) for one in experiments}) for name in _WITH[x]}
    name = min(counts, key=counts.__getitem__)
    networks = {one.network for one in experiments}
    distinct = {_SIZES[x](one) for one in experiments}
    unstructured = counts[name] == len(networks) == len(distinct) > 1
    return None if unstructured else name


def _label(
    experiment: Experiment, differing: Sequence[str], shape: str | None, joined: Collection[str]
) -> str:
    several = experiment.router in joined
    parts = [f"{experiment.router} ({'its schedules' if several else experiment.variant})"]
    for name in differing:
        value = _short(str(getattr(experiment, name)))
        parts.append(value if name == "permutation" else f"{name.replace('_', ' ')} {value}")
    return ", ".join([*parts, *([_equation(shape, experiment)] if shape else [])])


def _short(value: str) -> str:
    """Return a name; of a digest, its first characters."""
    kind, colon, rest = value.partition(":")
    return f"{kind}{colon}{rest[:8] if kind.startswith('file.') else rest}"


def _equation(size: str, experiment: Experiment) -> str:
    value = _SIZES[size](experiment)
    return "d = g" if size == "d/g" and value == 1 else f"{size} = {value}"


def _point(experiment: Experiment, tally: Tally, x: str, measure: str) -> CurvePoint:
    summary = summarize_counts(tally.histograms[measure])
    low, high = -inf, inf
    if summary.sd is not None:
        low, high = confidence_interval(Estimate(summary.mean, summary.sd, tally.runs))
    return CurvePoint(
        experiment, _SIZES[x](experiment), summary.mean, low, high, tally.runs, tally.capped
    )


def _row(label: str, point: CurvePoint) -> dict[str, Any]:
    one = point.experiment
    return {
        "line": label, "router": one.router, "variant": one.variant,
        "permutation": one.permutation, **one.network.to_dict(), "x": float(point.x),
        "runs": point.runs, "capped": point.capped, "mean": point.mean,
        "low": point.low, "high": point.high, "experiment": one.digest,
    }  # fmt: skip
