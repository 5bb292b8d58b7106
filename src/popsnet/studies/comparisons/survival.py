"""What faults cost: routers on the same permutations, with more and more dead parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from math import inf
from typing import Any, Unpack

import numpy as np

from popsnet.base.errors import require_one_of, require_several, wrong
from popsnet.base.progress import Progress
from popsnet.base.report import Column, Plotted, Report, Reported, Row, Table, facts_of, plural
from popsnet.experiment.experiment import seed_number, whole_number
from popsnet.model.faults import Faults
from popsnet.model.faults.faults import PARTS
from popsnet.model.network import Network, about
from popsnet.programs.router import short_name
from popsnet.programs.schedules.demand import Demand
from popsnet.runs.route import IntactParameters, require_known
from popsnet.runs.run import Runs
from popsnet.runs.summary import described, seeds_of, sizes_of
from popsnet.studies.comparisons import comparison
from popsnet.studies.comparisons.comparison import Candidate, Candidates

NUMBERS = (0, 1, 2, 4, 8, 16)
"""The numbers of dead parts by default."""


@dataclass(frozen=True)
class FaultRow:
    """A router with a number of dead parts, and what became of its packets.

    Parameters
    ----------
    router, variant : str
        The router and its variant.
    router_label : str
        The router, with its variant unless the router chooses that itself; of a schedule only the
        kind.
    survives : bool
        Whether the variant states that it survives these faults.
    dead : int
        The number of dead parts in every run.
    runs, capped : int
        The runs, and those that were capped.
    lost, unreachable, held, duplicated : int
        The number of packets, or of deliveries, in all runs together, as in
        :class:`~popsnet.engines.outcome.FaultCounts`.
    worst_lost : int
        The most packets that a run lost.
    slots_mean : float
        The mean number of slots, of capped runs as far as they went.
    extra_slots, extra_error : float or None
        The mean over pairs of runs of the slots more than without faults, and its standard error,
        None if all runs were capped, or there is only one pair.
    pairs : int
        The pairs of runs of which neither was capped.
    """

    router: str
    variant: str
    router_label: str
    survives: bool
    dead: int
    runs: int
    capped: int
    lost: int
    unreachable: int
    held: int
    duplicated: int
    worst_lost: int
    slots_mean: float
    extra_slots: float | None
    extra_error: float | None
    pairs: int

    @classmethod
    def of(cls, runs: Runs, without: Runs, dead: int, kinds: frozenset[str]) -> FaultRow:
        """Return the row of some runs, with faults of these kinds, and of the same without."""
        experiment = runs.experiment
        extra = (runs.slots - without.slots)[~(runs.capped | without.capped)]
        error = float(extra.std(ddof=1) / np.sqrt(len(extra))) if len(extra) > 1 else None
        return cls(
            router=experiment.router,
            variant=experiment.variant,
            router_label=short_name(experiment.router, experiment.variant, experiment.network),
            survives=kinds <= experiment.resolved_variant.survives,
            dead=dead,
            runs=len(runs),
            **{name: int(getattr(runs, name).sum()) for name in (*_COUNTS, "capped")},
            worst_lost=int(runs.lost.max()),
            slots_mean=float(runs.slots.mean()),
            extra_slots=float(extra.mean()) if len(extra) else None,
            extra_error=error,
            pairs=len(extra),
        )

    def to_record(self) -> dict[str, Any]:
        """Return the row with sums and means per run, for programs."""
        sums = asdict(self)
        return sums | {f"{name}_per_run": sums[name] / self.runs for name in _COUNTS}


_COUNTS = ("lost", "unreachable", "held", "duplicated")


@dataclass(frozen=True, repr=False)
class Survival(Reported, Plotted):
    """Routers with more and more faults, as :func:`popsnet.survival` returns them.

    Parameters
    ----------
    network : Network
        The network.
    kind : str
        The kind of parts that are dead.
    loss : float
        The probability that a message is lost.
    runs : int
        The runs of each router for each number of dead parts.
    fault_seed : int
        The seed of the faults.
    rows : tuple of FaultRow
        A row per router and number of dead parts.
    demand : Demand, optional
        The packets of every run, None if the routers were run on permutations.
    seeds : mapping
        The seeds of the coins and of the permutations.
    """

    _draw = "draw_survival"

    network: Network
    kind: str
    loss: float
    runs: int
    fault_seed: int
    rows: tuple[FaultRow, ...]
    demand: Demand | None = field(default=None, compare=False)
    seeds: Mapping[str, int] = field(default_factory=dict)

    @property
    def _drawn(self) -> Any:
        return [self]

    @property
    def routers(self) -> list[tuple[str, str]]:
        """The routers and variants, in the order in which they were run."""
        return list(dict.fromkeys((row.router, row.variant) for row in self.rows))

    def of(self, router: str, variant: str) -> list[FaultRow]:
        """Return the rows of one router."""
        return [row for row in self.rows if (row.router, row.variant) == (router, variant)]

    def report(self, every: bool = False) -> Report:
        """Return the report that the command line prints.

        Parameters
        ----------
        every : bool
            Whether to print a row per router and number of dead parts, and not a row per router.
        """
        lossy = f", each message lost with probability {self.loss:g}" if self.loss else ""
        packets, of = "permutations", ""
        if self.demand is not None:
            packets, of = "packets", f" of {described(self.demand)},"
        numbers = ", ".join(dict.fromkeys(str(row.dead) for row in self.rows))
        known = facts_of(self, "network", "kind", "loss", "runs", "fault_seed")
        facts = (*known, *sizes_of(self.demand))
        title = (
            f"{self.network}: {plural(self.runs, 'run')}{of} with {numbers} dead {self.kind} each"
            f"{lossy}; the same {packets}, coins and faults for all routers"
        )
        rows = [row.to_record() for row in self.rows]
        table = Table("routers", title, _COLUMNS if every else (), rows, _CAPTION)
        verdicts = [self._verdict(name) for name in self.routers]
        verdicts.sort(key=lambda row: -inf if row["fails_from"] is None else -row["fails_from"])
        short = Table("verdicts", title, () if every else _VERDICTS, verdicts, _SHORT)
        failed = [row for row in self.rows if row.survives and _fails(row)]
        claimed = any(row.survives and (row.dead or self.loss) for row in self.rows)
        verdict = "No router here states that it survives these faults."
        if claimed:
            verdict = "Routers that state that they survive these faults lost nothing."
        if failed:
            names = " and ".join(dict.fromkeys(row.router_label for row in failed))
            verdict = f"FAILED: {names}: stated to survive these faults, and did not."
        seeds = {**self.seeds, "fault_seed": self.fault_seed}
        same = about(self.network, kind=self.kind, loss=self.loss, **seeds)
        return Report("", facts, (table, short), verdict, not failed, about=same)

    def _verdict(self, name: tuple[str, str]) -> dict[str, Any]:
        """Return what became of the packets of a router, in a row."""
        rows, verdict = self.of(*name), "survives all"
        first = next(filter(_fails, rows), None)
        if first is not None:
            what = "loses" if first.lost else "holds back" if first.held else "does not end"
            verdict = f"{what} from {plural(first.dead, f'dead {self.kind[:-1]}')} on"
        return {
            **{key: getattr(rows[0], key) for key in ("router", "variant", "router_label")},
            "verdict": verdict,
            "fails_from": first and first.dead,
            "most_lost_per_run": max(row.lost / row.runs for row in rows),
            "most_extra_slots": max(row.extra_slots or 0.0 for row in rows),
        }

    def in_short(self) -> str:
        """Return the routers and the numbers of dead parts in a line."""
        routers = ", ".join(dict.fromkeys(row.router for row in self.rows))
        numbers = ", ".join(dict.fromkeys(str(row.dead) for row in self.rows))
        return f"{routers} on {self.network} with {numbers} dead {self.kind}"


def _fails(row: FaultRow) -> bool:
    return bool(row.lost or row.held or row.capped)


_EXTRA = "Extra slots: in pairs with the same run without faults"
_CAPTION = f"Means per run. {_EXTRA}, without capped runs."
_SHORT = f"The largest means per run of all numbers of dead parts. {_EXTRA}."
_ROUTER = Column("router_label", "router", "text")
_VERDICTS = (
    _ROUTER,
    Column("verdict", kind="text"),
    Column("most_lost_per_run", "most lost"),
    Column("most_extra_slots", "most extra slots", show=lambda r: f"{r['most_extra_slots']:+,.1f}"),
)


def _extra(row: Row) -> str:
    if row["extra_slots"] is None:
        return "–"
    error = "" if row["extra_error"] is None else f" ± {row['extra_error']:.1f}"
    return f"{row['extra_slots']:+,.1f}{error}"


_COLUMNS = (
    _ROUTER,
    Column("dead", "dead", "integer"),
    Column("lost_per_run", "lost"),
    Column("unreachable_per_run", "unreachable"),
    Column("held_per_run", "held"),
    Column("duplicated_per_run", "delivered twice"),
    Column("extra_slots", "extra slots", show=_extra),
    Column("capped", "capped", "integer"),
)


def survival(
    d: Network | int,
    g: int | None = None,
    *,
    routers: Candidates | Candidate | None = None,
    kind: str = "couplers",
    numbers: Sequence[int] = NUMBERS,
    loss: float = 0.0,
    runs: int = 20,
    progress: Progress = None,
    **parameters: Unpack[IntactParameters],
) -> Survival:
    """Run routers with more and more random faults, on the same permutations.

    Run r has the same permutation, coins and faults for all routers, and its faults for a larger
    number contain those for a smaller one, so that differences are those of pairs.

    Parameters
    ----------
    d : int or Network
        Processors per group, or a network with n at most 65,536.
    g : int
        Groups, if the first argument is a number.
    routers : sequence, optional
        Names, files, routers or generator functions, or pairs of one of these and a variant. By
        default every router that ships, applies and does not take long, and the variants that
        survive faults.
    kind : {"couplers", "transmitters", "receivers", "processors"}
        The parts that are dead.
    numbers : sequence of int
        The numbers of dead parts.
    loss : float
        The probability that a message is lost, in all runs but those without faults that others
        are compared with.
    runs : int
        The runs of each router for each number, at least 1.
    permutation : str, Path or array
        The name of a permutation, a file, or n destinations.
    seed, permutation_seed, fault_seed : int
        The seeds of the coins, the permutations and the faults.
    max_steps : int
        A run is capped after this many steps, by default 1000: a router that loses packets may
        never end.
    progress : function, bool or None
        A function that is called with the runs done and the total. None shows a bar on a
        terminal after two seconds, False shows nothing.
    packets, matrix, unit
        The packets of every run instead of a permutation, as for :func:`compare`.
    wavelengths : int
        Wavelengths per coupler, by default 1, or those of the network.

    Returns
    -------
    Survival
        A row per router and number of dead parts.

    Raises
    ------
    InputError
        If a parameter is wrong.

    Examples
    --------
    >>> import popsnet
    >>> found = popsnet.survival(4, 4, routers=["direct"], numbers=[0, 2], runs=10)
    >>> [(row.dead, row.lost) for row in found.rows]
    [(0, 0), (2, 19)]
    """
    require_known("survival", IntactParameters, parameters)
    runs = whole_number("runs", runs, 1)
    require_one_of("kind", kind, PARTS)
    require_several("numbers", numbers)
    dead = sorted({whole_number("numbers", number, 0) for number in numbers})
    if not dead:
        raise wrong("numbers", "[]")("give at least one number of dead parts.")
    fault_seed = seed_number("fault_seed", parameters.pop("fault_seed", None) or 0)
    intact = comparison.candidates(d, g, routers, True, **parameters)
    network, demand = intact[0].network, intact[0].demand
    if routers is None:
        intact = [first for first in intact if not comparison.takes_long(first)]
    broken = [Faults(random={kind: number}, loss=loss) for number in dead]
    rows_of = {
        first: [first.replaced(faults=faults, fault_seed=fault_seed) for faults in broken]
        for first in intact
    }
    every = [*dict.fromkeys(chain.from_iterable((first, *rest) for first, rest in rows_of.items()))]
    executed = comparison.executed(every, runs, f"faults on {network}", progress)
    done = dict(zip(every, executed, strict=True))
    kinds = frozenset({kind, "loss"} if loss else {kind})
    rows = [
        FaultRow.of(done[experiment], done[first], number, kinds)
        for first, others in rows_of.items()
        for number, experiment in zip(dead, others, strict=True)
    ]
    return Survival(network, kind, loss, runs, fault_seed, tuple(rows), demand, seeds_of(intact[0]))
