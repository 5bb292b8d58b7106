"""Predictions for a network: fluid limits, bounds and tail probabilities, beside runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import log2
from typing import Any

from popsnet import theory
from popsnet.base.errors import InputError
from popsnet.base.report import Column, Fact, Plotted, Report, Reported, Table, facts_of, plural
from popsnet.base.report.table import Row, format_value
from popsnet.base.stats.inference import summarize_counts
from popsnet.experiment.experiment import Experiment, whole_number
from popsnet.model.network import Network, about, shape_of
from popsnet.programs.router import all_bounds
from popsnet.programs.routers.relay import plan
from popsnet.runs.phase_analysis import StepAnalysis, analyse_phases
from popsnet.runs.route import route
from popsnet.theory import Bound, Growth
from popsnet.theory.stage_growth import LEFT
from popsnet.theory.tails import square_fails, thinning_fails

_MOST_PROCESSORS = 2**22
"""The largest network on which a run is followed through the phases of the proof."""


@dataclass(frozen=True, slots=True)
class PredictedMean:
    """The mean steps and slots of a router in its fluid limit, and those of runs."""

    router: str
    variant: str
    steps: float | None
    slots: float
    measured_steps: float | None = None
    measured_slots: float | None = None
    capped: int | None = None
    """Runs that were capped; if there are any, the means of runs are lower bounds."""


@dataclass(frozen=True, slots=True)
class PredictedTail:
    """The probability that mei-rizzi takes more than this many steps."""

    steps: int
    fluid: float
    measured: float | None


@dataclass(frozen=True, slots=True)
class PredictedBound:
    """A tail bound of the paper, evaluated on a network."""

    statement: str
    reference: str
    steps: int | None
    fails_at_most: float
    smallest_g: int | None
    """The smallest g for which the bound is below 1."""
    measured: float | None
    """The share of runs that took more steps."""


@dataclass(frozen=True, repr=False)
class Prediction(Reported, Plotted):
    """Predictions for a network, beside the means of runs if there were any.

    :func:`predict` returns it.
    """

    __hash__ = None  # type: ignore[assignment]

    _draw = "draw_phases"

    network: Network
    runs: int
    means: tuple[PredictedMean, ...]
    tail: tuple[PredictedTail, ...]
    constants: Mapping[str, float]
    """The paper's c, c with slot 5 counted, and the share of packets that are lost in slot 5.

    All are for the limit of large networks with this d/g.
    """
    bounds: tuple[tuple[Bound, float | None], ...]
    """The bounds with their slots on this network, upper bounds first."""
    tail_bounds: tuple[PredictedBound, ...]
    phases: tuple[StepAnalysis, ...]
    """The steps of a run of mei-rizzi, if they were asked for."""
    growth: tuple[Growth, ...] = ()
    """For d = g: sweeps, marked stages and team stages as g grows, up to g = 2^(2^64)."""

    @property
    def _drawn(self) -> Any:
        return self.phases

    def report(self, *sections: str) -> Report:
        """Return the report that the command line prints.

        Parameters
        ----------
        *sections : {"bounds", "tails", "growth"}
            What to print in full instead of a summary. The report has all of it for programs.
        """
        network = self.network
        facts = *facts_of(self, "network", "runs"), Fact("constants", dict(self.constants))
        titles = ("means", "tails", "bounds", "tails", "growth")
        tables = self._means(), self._tail(), self._bounds(), self._tail_bounds(), self._growth()
        pairs = list(zip(titles, tables, strict=True))
        shown = [table for title, table in pairs if title in (sections or ("means",))]
        hidden = [replace(table, columns=()) for table in tables if table not in shown]
        parts = [part for table in shown if table.columns for part in ("", table)]
        parts += [*("" if sections else self._in_short()), *hidden]
        title = f"{network}: {network.n:,} processors in {network.g:,} groups of {network.d:,}"
        capped = sum(mean.capped or 0 for mean in self.means)
        verdict = f"FAILED: {plural(capped, 'run')} capped." if capped else ""
        return Report(title, facts, tuple(parts), verdict, not capped, about=about(network))

    def in_short(self) -> str:
        """Return the routers with their expected slots in a line."""
        slots = ", ".join(f"{mean.router} {mean.slots:,.1f}" for mean in self.means)
        return f"{self.network}, expected slots: {slots}"

    def _means(self) -> Table:
        columns = (
            Column("router", kind="text"), Column("variant", kind="text"), Column("steps"),
            Column("slots"), _measured_column("measured_steps"), _measured_column("measured_slots"),
        )[: 6 if self.runs else 4]  # fmt: skip
        title = "Randomized routers: expected slots in the fluid limit, of large networks"
        return Table("predictions", title, columns, self.means)

    def _tail(self) -> Table:
        columns = [Column("steps", "more than", "integer"), _short("fluid", "fluid limit")]
        columns += [_short("measured", "measured")] if self.runs else []
        title = "mei-rizzi: probability of more than this many steps"
        return Table("tail", title, tuple(columns) if self.tail else (), self.tail)

    def _bounds(self) -> Table:
        rows = [
            {name: getattr(bound, name) for name in _FIELDS}
            | {"slots": slots, "leading": bound.leading}
            for bound, slots in self.bounds
        ]
        columns = Column("slots", show=_slots), Column("name", "router or class", "text", _block)
        return Table("bounds", "Bounds, in slots", columns, rows, _DOCUMENTS)

    def _tail_bounds(self) -> Table:
        columns = (
            Column("statement", kind="text"),
            Column("steps", "in steps", "integer"),
            Column("fails_at_most", show=lambda row: _shortened(min(row.fails_at_most, 1))),
            *((_short("measured", "measured"),) if self.runs else ()),
            _short("smallest_g", "below 1 from g ="),
            Column("reference", "section", "text"),
        )
        title = "The paper's tail bounds (1 says nothing)"
        return Table("tail_bounds", title, columns if self.tail_bounds else (), self.tail_bounds)

    def _in_short(self) -> Iterator[str]:
        """Yield what a reader wants to know first of each section."""
        if self.network.d > self.network.g:
            yield (
                "In the limit of large networks with this d/g the published protocol loses "
                f"{self.constants['lost_share']:.1%} of the packets; for few groups it differs. "
                f"c = e^(1 + 1/e) = {self.constants['c']:.4f}, with slot 5 counted "
                f"{self.constants['c_with_slot_5']:.4f}."
            )
        known = sorted((slots, bound.name, bound) for bound, slots in self.bounds if slots)
        upper = [f"{name} {slots:,}" for slots, name, bound in known if bound.holds == "always"]
        lower = [f"{name} {slots:,}" for slots, name, bound in known if bound.kind == "lower"]
        yield f"\nUpper bounds that always hold, in slots: {'; '.join(upper[:3])}."
        yield f"Lower bounds, on the worst permutation, in slots: {'; '.join(lower)}."
        for row in [row for row in self.tail if row.fluid < 0.01][:1]:
            yield f"\nProbability of more than {row.steps:,} steps of mei-rizzi: {row.fluid:.2g}"
        for tail in self.tail_bounds[-1:]:
            yield f"The paper's tail bounds are below 1 from g = {_shortened(tail.smallest_g)} on."
        if self.growth:
            yield f"\nrelay as g grows, d = g, in the fluid limit: {self._growth().caption}"

    def _growth(self) -> Table:
        columns = (
            Column("log2_g", "g", show=lambda row: f"2^{_power(row.log2_g)}"),
            Column("sweeps", "S only", "integer"),
            Column("marked", "S, then Q", "integer"),
            Column("team", "S, then T", "integer"),
            Column("candidates", "stages with T", "text", show=_team_schedule),
            Column("proof", "proof", "integer"),
            Column("log2_log2_g", "log2 log2 g"),
            Column("log_star_g", "log* g", "integer"),
        )
        left = f"fewer than {LEFT:g} packets are left on average"
        title = f"relay, d = g: slots until {left}, in the fluid limit"
        caption = ""
        if self.growth:
            to_sweeps, to_marked = map(theory.first_shorter, ("sweeps", "marked"))
            caption = (
                f"Team stages (T) are shorter than sweeps (S) from g = 2^{to_sweeps} on, and "
                f"than marked stages (Q) from 2^{to_marked} on. Proved for T alone and large g."
            )
        return Table("growth", title, columns if self.growth else (), self.growth, caption)


def _power(exponent: float) -> str:
    """Return the text of log2 g, as a power of two if it is long."""
    return f"{exponent:g}" if exponent < 10**6 else f"(2^{log2(exponent):g})"


def _team_schedule(row: Growth) -> str:
    teams = (f"T{r}" if r < 10**6 else f"T{r:.1e}" for r in row.candidates)
    return ", ".join((f"{row.team_sweeps} S", *teams))


_DOCUMENTS = "docs/… is a page of popsnet's documentation, in its source and on its site."


def _slots(row: Row) -> str:
    """Return the number of slots of a bound with its direction, if it has a number."""
    sign = "≤≥"[row["kind"] == "lower"]
    return f"{sign} {_shortened(row['slots'])}{' + …' * row['leading']}" if row["slots"] else "–"


def _block(row: Row) -> str:
    """Return the lines about a bound, and an empty one."""
    lines = f"{row['name']}: {row['formula']}", f"{row['holds']}; {row['conditions']}"
    return "\n".join([*lines, row["reference"], ""])


_FIELDS = ("name", "kind", "formula", "holds", "conditions", "reference")


def _short(key: str, heading: str) -> Column:
    return Column(key, heading, show=lambda row: _shortened(getattr(row, key)))


def _shortened(value: float | None) -> str:
    """Return a number in few digits, however small or large it is."""
    if value is None:
        return "–"
    if isinstance(value, int):
        return f"{value:,}" if value < 10**12 else f"{value:.2e}"
    return f"{value:.3g}" if 0 < value < 0.1 or value >= 1e5 else f"{value:,.2f}"


def predict(
    d: Network | int, g: int | None = None, *, runs: int = 0, phases: bool = False
) -> Prediction:
    """Predict the slots of the randomized routers, and list all known bounds.

    Parameters
    ----------
    d : int or Network
        Processors per group, or a network.
    g : int
        Groups, if the first argument is a number.
    runs : int
        Runs of each randomized router, to compare with the predictions. By default none.
    phases : bool
        Whether to follow a run of mei-rizzi through the phases of the proof. Needs d ≥ g.

    Returns
    -------
    Prediction
        Means, tail probabilities and bounds.

    Raises
    ------
    InputError
        If a parameter is wrong, or the phases are not defined on the network.

    Notes
    -----
    The predictions are fluid limits, exact as g tends to infinity with d/g fixed. For d = g the
    report ends with the growth of relay's stages, from :func:`popsnet.theory.growth`.

    Examples
    --------
    >>> import popsnet
    >>> [round(one.slots, 1) for one in popsnet.predict(64, 64).means]
    [33.8, 16.2, 15.2]
    """
    network, runs = Network(*shape_of(d, g)), whole_number("runs", runs, 0)
    if phases and (network.d < network.g or network.n > _MOST_PROCESSORS):
        raise InputError(
            f"{network}: phases are those of a run of mei-rizzi, so d must be at least g and n at "
            f"most {_MOST_PROCESSORS:,}; choose another network."
        )
    measured = [_measured(network, mean, runs) for mean in _predicted(network)]
    steps = measured[0][1] if network.d >= network.g else Counter[int]()
    tail = tuple(_tail(network, steps)) if network.d >= network.g else ()
    growth = theory.growth() if network.d == network.g else ()
    bounds: Sequence[tuple[Bound, float | None]] = theory.bounds_on(network, all_bounds())
    run = Experiment(network.d, network.g).instance(0) if phases else None
    followed = analyse_phases(network, run.array(), run.coins) if run else ()
    return Prediction(
        network, runs, tuple(mean for mean, _ in measured), tail, _constants(network),
        tuple(sorted(bounds, key=lambda pair: pair[0].kind == "lower")),
        tuple(_tail_bounds(network, steps)), tuple(followed), growth,
    )  # fmt: skip


def _predicted(network: Network) -> Iterator[PredictedMean]:
    if network.d >= network.g:
        steps, sweeps = theory.expected_steps(network), theory.expected_sweeps(network)
        variant = "published" if network.d == network.g else "idealized"
        yield PredictedMean("mei-rizzi", variant, steps, 5 * steps)
        yield PredictedMean("relay", "S", sweeps, 1 + (2 * network.blocks + 1) * sweeps)
    best = plan(network)
    yield PredictedMean("relay", str(best.schedule), None, best.slots)


def _measured(
    network: Network, mean: PredictedMean, runs: int
) -> tuple[PredictedMean, Counter[int]]:
    """Return the prediction with the means of runs, and the histogram of their steps."""
    if not runs:
        return mean, Counter()
    done = route(network, router=mean.router, variant=mean.variant, runs=runs).tally
    steps, slots = (summarize_counts(counts).mean for counts in (done.steps, done.slots))
    measured = replace(mean, measured_steps=steps, measured_slots=slots, capped=done.capped)
    return measured, done.steps


def _measured_column(key: str) -> Column:
    """Make a column of means of runs, with ≥ if runs were capped."""

    def show(row: PredictedMean) -> str:
        return f"{'≥ ' * bool(row.capped)}{format_value(getattr(row, key), 'number')}"

    return Column(key, show=show)


def _share_above(steps: Counter[int], most: int) -> float | None:
    """Return the share of runs with more steps, None without runs."""
    if not steps:
        return None
    return sum(runs for number, runs in steps.items() if number > most) / steps.total()


def _tail(network: Network, measured: Counter[int]) -> Iterator[PredictedTail]:
    """Yield P(steps > s) in the fluid limit and in runs, while it is neither 1 nor 0."""
    longest = max(measured, default=0)
    for steps, fluid in enumerate(islice(theory.steps_tail(network), 2000), start=1):
        share = _share_above(measured, steps)
        if fluid < 1e-6 and steps >= longest:
            break
        if min(fluid, 1 if share is None else share) < 0.9999:
            yield PredictedTail(steps, fluid, share)


def _constants(network: Network) -> dict[str, float]:
    """Return the paper's constant, and its value with slot 5 counted."""
    ratio = network.d / network.g
    if ratio < 1:
        return {}
    with_slot_5, lost = theory.c_with_slot_five(ratio), theory.lost_share(ratio)
    return {"c": theory.C, "c_with_slot_5": with_slot_5, "lost_share": lost}


def _tail_bounds(network: Network, measured: Counter[int]) -> Iterator[PredictedBound]:
    """Yield the paper's tail bounds for this g, and the g from which they are below 1."""
    for tail in theory.TAILS if 1 < network.g <= network.d else ():
        steps = tail.steps(network.g) if tail.steps else None
        if tail.fails is (thinning_fails if network.d == network.g else square_fails):
            continue
        share = _share_above(measured, steps) if tail.fails is square_fails and steps else None
        fails, least = tail.fails(network.g), theory.smallest_g(tail.fails)
        yield PredictedBound(tail.name, tail.reference, steps, fails, least, share)
