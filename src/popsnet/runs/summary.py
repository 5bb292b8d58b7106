"""Summaries of runs: statistics of every count as text and HTML, and a small histogram."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

import popsnet
from popsnet.base.report import Column, Fact, Report, Reported, Row, Table, facts_of, plural
from popsnet.base.stats.inference import Summary
from popsnet.hardware import Timing
from popsnet.model.faults import Faults
from popsnet.model.network import I64, about
from popsnet.programs.schedules.demand import Demand
from popsnet.programs.schedules.slots_needed import lower_bound
from popsnet.runs.times import add_times, with_times

if TYPE_CHECKING:
    import pandas as pd

    from popsnet.experiment.experiment import Experiment
    from popsnet.runs.distribution import RunsDistribution
    from popsnet.runs.run import Run, Runs

Columns = dict[str, Any]


class RunsSummary(Reported, dict[str, Summary]):
    """Mean, standard deviation and range of the counts of runs, by name, as text or as HTML.

    Examples
    --------
    >>> import popsnet
    >>> summary = popsnet.route(4, 4, router="direct", runs=10).summary()
    >>> summary["slots"]
    Summary(mean=4.0, sd=0.0, min=4, max=4)
    """

    def __init__(self, runs: Runs, figures: Mapping[str, Summary]) -> None:
        super().__init__(figures)
        self._runs = runs

    def in_short(self) -> str:
        """Return the number of runs, the experiment and the mean, in a line."""
        return repr(self._runs).strip("<>")

    @property
    def capped(self) -> int:
        """The number of runs that were capped."""
        return int(self._runs.capped.sum())

    def to_dataframe(self) -> pd.DataFrame:
        """Return a pandas data frame with a row per count. Needs ``popsnet[pandas]``."""
        return self._table().to_dataframe()

    def report(self, timing: Timing | None = None) -> Report:
        """Return the report that the command line prints, with a row per run for programs.

        Parameters
        ----------
        timing : Timing, optional
            The length of a slot, to print times as well.
        """
        runs, experiment = self._runs, self._runs.experiment
        title = f"{title_of(experiment, len(runs), runs.engine)}{_drawn_faults(runs)}"
        facts = (
            *facts_of_experiment(experiment, runs.engine),
            *facts_of_faults(experiment),
            Fact("runs", len(runs)),
            Fact("lost", int(runs.lost.sum())),
            *facts_of_fates(experiment, runs.fault_counts),
            Fact("capped", self.capped),
            *facts_of_demand(experiment),
        )
        steps = [_steps(runs)] if len(runs) == 1 else []
        records = runs.to_records()
        if timing is not None:
            add_times(records, runs, timing)
        bounds = [fact.value for fact in facts if fact.key == "lower_bound"]
        bound = "Lower bound for any schedule of these packets: {:,} slots"
        lost = f"{int(runs.lost.sum()):,} lost{_named(runs)}"
        verdict, cure = verdict_of(runs, lost, f"{self.capped:,}"), cure_of([runs])
        ok, same = not runs.failed, about_experiment(experiment)
        report = Report(title, facts, (), verdict, ok, cure, ("max_steps",), same)
        tables = Table("outcomes", "", (), records), *steps, self._table()
        report = report.plus(*tables, *map(bound.format, bounds))
        return report if timing is None else with_times(report, runs, timing)

    def _table(self) -> Table:
        rows = [{"count": name, **asdict(figures)} for name, figures in self.items()]
        least = "≥ " if self.capped else ""  # a capped run is cut short

        def longest(row: Row) -> str:
            return f"{least}{row['max']:,}"

        label = Column("count", " ", "text", lambda row: LABELS[row["count"]])
        if len(self._runs) == 1:
            return Table("summary", "", (label, Column("max", "in this run", show=longest)), rows)
        mean = Column("mean", show=lambda row: f"{least}{row['mean']:,.2f}")
        spread = Column("sd"), Column("min", kind="integer"), Column("max", show=longest)
        return Table("summary", "", (label, mean, *spread), rows)


def about_experiment(experiment: Experiment) -> dict[str, object]:
    """Return the network, the faults if there are any, the seeds and the version, for programs."""
    faults = {"faults": experiment.faults} if experiment.faults else {}
    return about(experiment.network, **faults, **seeds_of(experiment))


def experiment_columns(experiment: Experiment, version: str = popsnet.__version__) -> Columns:
    """Return the columns of exported tables that say which experiment a row is of.

    Parameters
    ----------
    experiment : Experiment
        The experiment.
    version : str
        The version of popsnet that ran it.
    """
    sizes = experiment.network.columns()
    rest = {name: value for name, value in experiment.identity.items() if name not in sizes}
    if "faults" in rest:
        rest["faults"] = experiment.faults
    return {"experiment": experiment.digest, **sizes, **rest, "popsnet_version": version}


def seeds_of(experiment: Experiment) -> dict[str, int]:
    """Return the seeds of an experiment."""
    return {name: seed for name, seed in experiment.identity.items() if name.endswith("seed")}


def title_of(experiment: Experiment, runs: int, engine: str) -> str:
    """Return what was run, and by what, in a few lines."""
    network, name = experiment.network, experiment.variant
    name, _, schedule = name.rpartition(": ") if " " in name else (name, "", "")  # may be long
    below = f"schedule {schedule.strip()}\n" * bool(schedule)
    program = f"{experiment.router} ({name})" if name else experiment.router
    return (
        f"{network}: {network.n:,} processors in {network.g:,} groups of {network.d:,}\n"
        f"{plural(runs, 'run')} of {program}, engine {engine}\n{below}"
        f"{packets_in_words(experiment)}{faults_in_words(experiment)}"
    )


def facts_of_experiment(experiment: Experiment, engine: str) -> tuple[Fact, ...]:
    """Return the same as facts, without the faults."""
    return (
        *facts_of(experiment, "network", "router", "variant"),
        Fact("engine", engine),
        Fact("permutation", experiment.shown_permutation),
        *facts_of(experiment, "seed", "permutation_seed"),
    )


def verdict_of(runs: Runs | RunsDistribution, lost: str, capped: str) -> str:
    """Return in a sentence whether the packets of all runs together were delivered."""
    experiment, missing = runs.experiment, runs.undelivered
    text = f"{plural(missing, 'packet')} not delivered" if missing else "Every packet was delivered"
    fates = fates_of(experiment, runs.fault_counts)
    text += f"; {lost}" * bool(lost and (fates or missing))
    text += "".join(f", {count:,} {name}" for name, count in fates.items())
    text += f"; capped runs: {capped}." if capped != "0" else "."
    if experiment.idealized:
        text += f" Variant {experiment.variant} is idealized: these are statistics, not routes."
    return f"FAILED: {text}" if runs.failed else text


def packets_in_words(experiment: Experiment) -> str:
    """Return what is routed, and the seeds, in a line."""
    demand, seed = experiment.demand, f"seed {experiment.seed}"
    if demand is not None:
        return f"{described(demand)}, {seed}"
    seeds = f"{seed}, permutation seed {experiment.permutation_seed}"
    return f"permutation {experiment.shown_permutation}, {seeds}"


def faults_in_words(experiment: Experiment) -> str:
    """Return the faults in a line of their own; nothing without faults."""
    faults = experiment.faults
    return f"\nfaults: {faults}, fault seed {experiment.fault_seed}" if faults else ""


def _drawn_faults(runs: Runs) -> str:
    """Return the faults that were drawn for a single run, in a line of their own."""
    experiment = runs.experiment
    active = experiment.faults_of(runs.numbers[0]) if len(runs) == 1 else None
    if active is None or str(active.faults) == experiment.faults:
        return ""
    return f"\nfaults of this run: {active.faults}"


def facts_of_faults(experiment: Experiment) -> tuple[Fact, ...]:
    """Return the faults of an experiment as facts; none without faults."""
    return facts_of(experiment, "faults", "fault_seed") if experiment.faults else ()


def fates_of(experiment: Experiment, counts: Counter[str]) -> dict[str, int]:
    """Return what became of packets besides delivery and loss; empty without faults."""
    names = ("unreachable", "held", "duplicated") if experiment.faults else ()
    return {name: counts[name] for name in names}


def facts_of_fates(experiment: Experiment, counts: Counter[str]) -> list[Fact]:
    """Return the same as facts, and whether the variant states that it survives the faults."""
    fates = fates_of(experiment, counts)
    survives = Faults.parse(experiment.faults).kinds <= experiment.resolved_variant.survives
    facts = [Fact(name, count) for name, count in fates.items()]
    return [*facts, Fact("survives", survives)] if fates else []


def described(demand: Demand) -> str:
    """Return the size of a demand in a few words."""
    return f"{plural(demand.packets, 'packet')}, at most {demand.h:,} from or for a processor"


def sizes_of(demand: Demand | None) -> list[Fact]:
    """Return the size of a demand, if there is one, as facts."""
    if demand is None:
        return []
    return [Fact("packets", demand.packets), Fact("max_per_processor", demand.h)]


def facts_of_demand(experiment: Experiment) -> list[Fact]:
    """Return the size of the demand, if there is one, and the lower bound for its schedules.

    The bound is of all packets, and faults need not leave each of them a path.
    """
    demand = experiment.demand
    if demand is None or experiment.faults:
        return sizes_of(demand)
    return [*sizes_of(demand), Fact("lower_bound", lower_bound(demand))]


def cure_of(results: Iterable[Run | Runs]) -> str:
    """Return what to do about runs that max_steps has stopped, by the largest of them."""
    stopped = Counter[int]()
    for runs in results:
        most = runs.experiment.max_steps
        stopped[most] += int(np.sum(runs.capped & (runs.steps >= most)))
    return raise_max_steps(stopped.total(), f"max_steps = {max(+stopped, default=0)}")


def raise_max_steps(stopped: int, limit: str) -> str:
    """Return what to do about runs that a limit of steps has stopped, if there are any.

    Examples
    --------
    >>> raise_max_steps(2, "max_steps = 3")
    '2 runs were stopped by max_steps = 3; raise it to let them end.'
    """
    if not stopped:
        return ""
    was, them = ("was", "it") if stopped == 1 else ("were", "them")
    return f"{plural(stopped, 'run')} {was} stopped by {limit}; raise it to let {them} end."


LABELS = {
    "slots": "slots",
    "slots_delivered": "slots until the last delivery",
    "steps": "steps",
    "messages": "messages sent",
    "collisions": "collisions",
    "destroyed": "messages destroyed",
    "lost": "packets lost",
    "unreachable": "packets unreachable",
    "held": "packets held",
    "duplicated": "deliveries repeated",
    "skipped": "actions skipped",
    "unheard": "messages unheard because of faults",
    "peak_buffers": "peak buffer use",
    "control_bits": "largest control message (bits)",
}
"""The labels of the counts that are summarized."""

_FEW = 12
_FOLDED = (20, 5)
"""The first and the last steps that people see of a long run."""


def _named(runs: Runs) -> str:
    """Return the packets that a single run lost, if they are few, or where they are named."""
    lost = runs.outcomes.lost_packets.tolist()
    if not lost:
        return ""
    if len(runs) > 1:
        return " (the record of each run names them)"
    return f" ({', '.join(map(str, lost[:_FEW]))}{', …' if len(lost) > _FEW else ''})"


def _steps(runs: Runs) -> Table:
    """Return a table of the packets that are pending after each step of a single run."""
    pending = [runs.experiment.packets, *runs[0].outcome.survivors]
    rows = [
        {"step": step, "pending": after, "delivered": before - after}
        for step, (before, after) in enumerate(pairwise(pending), start=1)
    ]
    headings = {"step": "step", "delivered": "delivered", "pending": "still pending"}
    columns = tuple(Column(key, heading, "integer") for key, heading in headings.items())
    return Table("steps", "", columns, rows, folded=_FOLDED)


def bars(values: I64, counts: I64) -> str:
    """Return a histogram as SVG, a bar per value, or per several if there are many."""
    least, span = int(values[0]), int(values[-1] - values[0]) + 1
    each = -(-span // _MOST_BARS)
    heights = np.bincount((values - least) // each, weights=counts).astype(np.int64).tolist()
    most, bar = max(heights), max(_LEAST_BAR, min(36, _WIDTH // len(heights)))
    every = -(-7 * len(f"{values[-1]:,}.") // bar)
    end, drawn = len(heights) * bar + _LEFT, []
    for place, runs in enumerate(heights):
        size, x = max(round(_HEIGHT * runs / most), runs > 0), place * bar + _LEFT
        top, middle, value = _TOP + _HEIGHT - size, x + bar // 2, least + place * each
        if runs:
            others = f" to {value + each - 1:,}" * (each > 1)
            title = f"{value:,}{others} slots: {plural(runs, 'run')}"
            drawn.append(
                f'<rect x="{x}" y="{top}" width="{bar - 2}" height="{size}" fill="{_COLOUR}">'
                f"<title>{title}</title></rect>"
            )
        if runs and 7 * len(f"{runs:,}") <= bar:
            drawn.append(_text(middle, top - 3, runs))
        if place % every == 0:
            drawn.append(f'<path d="M{middle} {_TOP + _HEIGHT}v4" stroke="currentColor"/>')
            drawn.append(_text(middle, _TOP + _HEIGHT + 16, value))
    drawn += [_text(_LEFT - 8, _TOP + 4, most, "end"), _text(_LEFT - 8, _TOP + _HEIGHT, 0, "end")]
    axes = f"M{_LEFT - 5} {_TOP}h4v{_HEIGHT}h-4h{end - _LEFT + 4}"
    what = f"Runs by their number of slots, from {least:,} to {values[-1]:,}"
    what += f", {each:,} per bar" if each > 1 else ""
    return (
        f'<svg width="{end}" height="{_TOP + _HEIGHT + 20}" font-size="11" role="img" '
        f'aria-label="{what}"><path d="{axes}" fill="none" stroke="currentColor"/>'
        f"{''.join(drawn)}</svg><p>{what}</p>"
    )


def _text(x: int, y: int, number: int, anchor: str = "middle") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="currentColor">{number:,}</text>'


_HEIGHT, _WIDTH, _TOP, _LEFT = 90, 520, 16, 44
"""The height and the width of the histogram, and the room for numbers, in pixels."""
_MOST_BARS, _LEAST_BAR = 40, 13
_COLOUR = "#0072b2"
"""The colour of the bars of ``runs.plot()``."""
