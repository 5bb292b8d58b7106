"""Sweeps: TOML files that say which experiments to run, and how many runs of each.

The format is in docs/reference/sweep-format.md. Everything is checked before any work starts.
"""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import reduce
from operator import add
from pathlib import Path
from typing import Annotated, Any, ClassVar

from msgspec import Meta
from msgspec.structs import replace

from popsnet.engines.engine import engine_of_many
from popsnet.errors import InputError, PermutationError, wrong
from popsnet.experiment import MAX_STEPS, Experiment
from popsnet.network import Network
from popsnet.permutations import find_permutation
from popsnet.report import counted
from popsnet.routing import Router, Schedules, find_variant
from popsnet.sweeps import tables
from popsnet.sweeps.shard import MOST_RUNS
from popsnet.sweeps.tables import NETWORK_KEYS, NetworksTable, Several, in_words
from popsnet.traffic.bounds import require_admissible
from popsnet.traffic.curves import read_loads
from popsnet.traffic.experiment import TrafficExperiment
from popsnet.traffic.scheduler import Scheduler, find_scheduler_variant

_TRAFFIC_LISTS = (*NETWORK_KEYS, "schedulers", "loads", "patterns", "burst", "buffer")
_Positive = Annotated[int, Meta(ge=1)]


class TrafficTable(NetworksTable, frozen=True):
    """Every network with every scheduler, pattern, burst, buffer and load."""

    what: ClassVar[str] = "table"

    schedulers: Several[str] = ("rotor",)
    loads: Several[float] = ()
    patterns: Several[str] = ()
    matrix: str = ""
    packets: str = ""
    burst: Several[float] = ()
    buffer: Several[Annotated[int, Meta(ge=0)]] = (0,)
    slots: _Positive = 0  # as long as the precision needs
    precision: float | None = None  # by default
    max_slots: _Positive = 0  # by default
    seed: int = 0
    arrival_seed: int = 0
    overload: bool = False
    skip_inapplicable: bool = False

    @classmethod
    def of(cls, table: Mapping[str, Any], folder: Path) -> TrafficTable:
        """Return what a table describes; names of files are relative to a folder."""
        loads = table.get("loads")
        listed = {**table, "loads": read_loads(loads)} if isinstance(loads, str) else table
        found = tables.checked(listed, cls, _TRAFFIC_LISTS)
        found._require_arrivals()
        patterns = tuple(tables.permutation_file(folder, one) for one in found.patterns)
        for one in patterns:
            tables.require_file("patterns", one)
        return replace(
            found,
            schedulers=tuple(tables.program_file(folder, one) for one in found.schedulers),
            patterns=patterns,
            matrix=_file(folder, "matrix", found.matrix),
            packets=_file(folder, "packets", found.packets),
        )

    def _require_arrivals(self) -> None:
        """Refuse two ways to say what arrives, and a load that cannot be one."""
        given = [key for key in ("patterns", "matrix", "packets") if getattr(self, key)]
        if len(given) > 1:
            raise InputError(f"{' and '.join(given)}: give one of them; each says what arrives.")
        for key in ("loads", "burst", "overload") if self.packets else ():
            if getattr(self, key):
                raise InputError(
                    f"{key}: a list of packets says when they arrive; leave {key} out."
                )
        if not self.loads and not self.packets:
            raise InputError(
                'loads is missing; give loads, such as [0.1, 0.2], or "FROM:TO:COUNT", such as '
                '"0.05:0.95:10".'
            )
        for load in self.loads:
            if not 0 < load <= 1:
                raise wrong("loads", repr(load))(
                    "a load must be above 0 and at most 1 packet per processor and slot."
                )

    def points(self) -> tuple[tuple[TrafficExperiment, ...], tuple[str, ...]]:
        """Return all points that apply, and why others do not."""
        schedulers = list(map(_scheduler, self.schedulers))
        found = list(
            dict.fromkeys(  # two texts may be one pattern
                self._point(network, *one, **arrivals)
                for network, one in itertools.product(self.networks(), schedulers)
                for arrivals in self._arrivals()
            )
        )
        inapplicable = [one for one in found if isinstance(one, str)]
        tables.require_all(inapplicable, self.skip_inapplicable, self.what)
        points = tuple(one for one in found if isinstance(one, TrafficExperiment))
        return points, tuple(inapplicable)

    def _arrivals(self) -> Iterator[dict[str, Any]]:
        """Yield what arrives, and the room for it."""
        for buffer in self.buffer:
            if self.packets:
                yield {"packets": self.packets, "buffer": buffer}
                continue
            where = [{"matrix": self.matrix}] if self.matrix else self._patterns()
            for one, burst, load in itertools.product(where, self.burst or (None,), self.loads):
                yield {**one, "burst": burst, "load": load, "buffer": buffer}

    def _patterns(self) -> list[dict[str, str]]:
        return [{"pattern": one} for one in self.patterns or ("uniform",)]

    def _point(
        self, network: Network, scheduler: Scheduler, variant: str, **arrivals: Any
    ) -> TrafficExperiment | str:
        """Return a point, or why it does not apply."""
        try:
            point = TrafficExperiment(
                network.d, network.g, scheduler=scheduler, variant=variant,
                overload=not self.packets, slots=self.slots or None, precision=self.precision,
                max_slots=self.max_slots or None, seed=self.seed, arrival_seed=self.arrival_seed,
                **arrivals,
            )  # fmt: skip
            if not self.overload:
                require_admissible(point.bounds, point.load)
        except PermutationError as error:
            return f"Pattern {arrivals.get('pattern')} on {network}: {error}"
        except InputError as error:
            key, _, rest = str(error).partition(" = ")
            if key not in ("load", "pattern"):
                raise
            value, _, reason = rest.partition(": ")
            what = value.strip("'") + f" of {_pattern(arrivals)}" * (key == "load")
            return f"{key.capitalize()} {what} on {network}: {_first(reason, network)}"
        return point


TRAFFIC_KEYS = TrafficTable.__struct_fields__


def _pattern(arrivals: Mapping[str, Any]) -> str:
    return str(arrivals.get("pattern") or arrivals.get("matrix") or arrivals.get("packets"))


def _first(reason: str, network: Network) -> str:
    """Return the first sentence of a reason, which need not name the network."""
    return f"{reason.removeprefix(f'on {network} ').partition('. ')[0].rstrip('.')}."


def _scheduler(name: str) -> tuple[Scheduler, str]:
    try:
        return find_scheduler_variant(name)
    except InputError as error:
        raise InputError(f"schedulers: {error}") from error


def _file(folder: Path, key: str, name: str) -> str:
    """Return the path of a file, which must exist."""
    if name and not (folder / name).is_file():
        raise wrong(key, repr(name))(f"the file {folder / name} does not exist.")
    return str(folder / name) if name else ""


__all__ = ["GRID_KEYS", "Sweep", "in_words"]


@dataclass(frozen=True, repr=False)
class Sweep:
    """Hold experiments with the number of runs of each, and points of continuous traffic.

    :meth:`read` makes a sweep from a TOML file, :meth:`of_grid` and :meth:`of_traffic` from the
    keys of one table of such a file. Sweeps can be added.

    Examples
    --------
    >>> import popsnet
    >>> sweep = popsnet.Sweep.of_grid(d=[4, 8], g=4, routers=["mei-rizzi", "direct"], runs=20)
    >>> [str(experiment) for experiment in sweep.experiments]  # doctest: +NORMALIZE_WHITESPACE
    ['mei-rizzi (published) on POPS(4, 4)', 'direct (standard) on POPS(4, 4)',
     'mei-rizzi (deferred) on POPS(8, 4)', 'direct (standard) on POPS(8, 4)']
    """

    experiments: tuple[Experiment, ...]
    runs: tuple[int, ...]
    """The runs of each experiment."""
    labels: tuple[str, ...]
    """A label for the reader for each experiment; it may be empty."""
    skipped: tuple[str, ...] = ()
    """What was skipped because it does not apply, and why."""
    traffic: tuple[TrafficExperiment, ...] = ()
    """The points of continuous traffic, each of which is simulated once."""
    traffic_labels: tuple[str, ...] = ()
    """A label for the reader for each point; it may be empty."""

    @classmethod
    def read(cls, path: str | Path) -> Sweep:
        """Return the sweep that a TOML file describes.

        The format is in docs/reference/sweep-format.md. Names of files in it are relative to its
        folder.

        Raises
        ------
        InputError
            If something in the file is wrong; the message says where.
        """
        path = Path(path)
        top = tables.read_toml(path)
        kinds = [kind for kind in _KEYS if kind in top] or ["grid"]
        known = dict.fromkeys(key for kind in kinds for key in _TOP_KEYS[kind])
        tables.require_known(str(path), top, (*known, *_KEYS), _elsewhere(kinds))
        found = tables.tables_of(path, top, _KEYS)
        sweeps = (
            _table(kind, f"{path}, {kind} {number}", {**_part(top, kind), **one}, path.parent)
            for kind, several in found.items()
            for number, one in enumerate(several, start=1)
        )
        sweep = reduce(add, sweeps)
        if not sweep.experiments and not sweep.traffic:
            raise InputError(f"{path}: nothing in it applies: {in_words(sweep.skipped)}.")
        return sweep

    @classmethod
    def of_grid(cls, **keys: Any) -> Sweep:
        """Return the sweep of one grid, given by the keys that a ``[[grid]]`` of a file has."""
        return _table("grid", "the grid", keys, Path())

    @classmethod
    def of_traffic(cls, **keys: Any) -> Sweep:
        """Return the sweep of one table ``[[traffic]]``, given by the keys that it has in a file.

        Examples
        --------
        >>> import popsnet
        >>> sweep = popsnet.Sweep.of_traffic(d=4, g=4, schedulers="tdm", loads="0.1:0.5:3")
        >>> [point.load for point in sweep.traffic]
        [0.1, 0.3, 0.5]
        """
        return _table("traffic", "the traffic", keys, Path())

    @property
    def wanted(self) -> list[tuple[Experiment, int]]:
        """The experiments and their runs."""
        return list(zip(self.experiments, self.runs, strict=True))

    def __repr__(self) -> str:
        runs = f"{len(self.experiments):,} experiments, {sum(self.runs):,} runs"
        points = f"{counted(len(self.traffic), 'point')} of traffic"
        said = [runs] * bool(self.experiments or not self.traffic) + [points] * bool(self.traffic)
        return f"<sweep of {', '.join(said)}>"

    def __add__(self, other: Sweep) -> Sweep:
        return Sweep(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))


def _table(kind: str, where: str, table: Mapping[str, Any], folder: Path) -> Sweep:
    tables.require_known(where, table, _KEYS[kind], _elsewhere([kind]))
    try:
        return _SWEEPS[kind](table, folder)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error


def _traffic(table: Mapping[str, Any], folder: Path) -> Sweep:
    of_table = TrafficTable.of(table, folder)
    found, skipped = of_table.points()
    points = tuple(point.labelled(of_table.label) for point in found)
    return Sweep((), (), (), skipped, points, (of_table.label,) * len(points))


class _Grid(NetworksTable, frozen=True):
    """A grid: every network with every router, variant and permutation."""

    what: ClassVar[str] = "grid"

    routers: Several[str] = ("mei-rizzi",)
    variants: tuple[str, ...] = ()
    permutations: Several[str] = ("random",)
    runs: Annotated[int, Meta(ge=1, le=MOST_RUNS)] = 10
    seed: int = 0
    permutation_seed: int = 0
    max_steps: int = MAX_STEPS
    skip_inapplicable: bool = False

    @classmethod
    def of(cls, table: Mapping[str, Any], folder: Path) -> _Grid:
        """Return the grid that a table describes; names of files are relative to a folder."""
        grid = tables.checked(table, cls, _LISTS)
        return replace(
            grid,
            routers=tuple(tables.program_file(folder, one) for one in grid.routers),
            permutations=tuple(tables.permutation_file(folder, one) for one in grid.permutations),
        )

    def sweep(self) -> Sweep:
        """Return all experiments that apply."""
        routers = list(map(_router, self.routers))
        self._require_variants([router for router, variant in routers if variant is None])
        several = self.variants or (None,)
        pairs = [
            (router, one)
            for router, variant in routers
            for one in (several if variant is None else (variant,))
        ]
        found = list(
            dict.fromkeys(  # relay and relay:S may be one experiment
                one
                for network, pair in itertools.product(self.networks(), pairs)
                for one in self._experiments(network, *pair)
            )
        )
        inapplicable = [one for one in found if isinstance(one, str)]
        tables.require_all(inapplicable, self.skip_inapplicable, self.what)
        experiments = tuple(one for one in found if isinstance(one, Experiment))
        count = len(experiments)
        return Sweep(experiments, (self.runs,) * count, (self.label,) * count, tuple(inapplicable))

    def _experiments(
        self, network: Network, router: Router, variant: str | None
    ) -> Iterator[Experiment | str]:
        """Yield the experiments of a network and a variant, or why there is none."""
        try:
            chosen = router.choose_variant(variant, network)
        except InputError as error:
            name = router.name if variant is None else f"{router.name} ({variant})"
            _, _, reason = str(error).rpartition(f"{network}: ")
            yield f"{name} on {network}: {re.split(r'(?<=[.]) |; ', reason)[0].rstrip('.')}."
            return
        for permutation in self.permutations:
            tables.require_file("permutations", permutation)
            try:
                experiment = Experiment(
                    network.d, network.g, router=router, variant=chosen, permutation=permutation,
                    seed=self.seed, permutation_seed=self.permutation_seed,
                    max_steps=self.max_steps,
                )  # fmt: skip
            except PermutationError as error:
                find_permutation(permutation)  # an unknown name is an error in any case
                yield f"Permutation {permutation} on {network}: {error}"
            else:
                engine_of_many(experiment, fitting=True)  # refuses what does not fit
                yield experiment

    def _require_variants(self, routers: list[Router]) -> None:
        """Refuse a variant that no router of the grid has, even if others may be skipped."""
        if self.variants and not routers:
            raise InputError(
                "variants: every router of this grid names its variant; leave variants out."
            )
        known = [variant for router in routers for variant in router.variants]
        making = [router.schedules for router in routers if router.schedules is not None]
        for variant in self.variants:
            if variant not in known:
                if not making:
                    _refuse("variants", variant, known)
                _require_schedule(variant, making)


GRID_KEYS = _Grid.__struct_fields__
_LISTS = (*NETWORK_KEYS, "routers", "variants", "permutations")
_KEYS = {"grid": GRID_KEYS, "traffic": TRAFFIC_KEYS}
_TOP_KEYS = {"grid": tables.top_keys(_Grid), "traffic": tables.top_keys(TrafficTable)}
_SWEEPS: Mapping[str, Callable[[Mapping[str, Any], Path], Sweep]] = {
    "grid": lambda table, folder: _Grid.of(table, folder).sweep(),
    "traffic": _traffic,
}


def _part(top: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return the values above all tables that hold for a kind of table."""
    return {key: value for key, value in top.items() if key in _TOP_KEYS[kind]}


def _elsewhere(here: Collection[str]) -> dict[str, str]:
    """Return the keys of all tables with the kind of table that has them, those here first."""
    kinds = sorted(_KEYS, key=lambda kind: kind in here)
    return {key: kind for kind in kinds for key in _KEYS[kind]}


def _require_schedule(variant: str, making: list[Schedules]) -> None:
    """Refuse a text that no router can read as a schedule."""
    reasons: list[str] = []
    for make in making:
        try:
            make(variant)
            return
        except InputError as error:
            reasons.append(str(error))
    raise InputError(f"variants: {' '.join(reasons)}")


def _router(name: str) -> tuple[Router, str | None]:
    """Return a router, and the variant if the name has one; refuse what does not exist."""
    try:
        router, variant = find_variant(name)
        if variant is not None:
            router.variant(variant)
    except InputError as error:
        raise InputError(f"routers: {error}") from error
    return router, variant


def _refuse(key: str, value: str, known: list[str]) -> None:
    close = difflib.get_close_matches(value, known, n=1)
    meant = f" Did you mean {close[0]!r}?" if close else ""
    raise InputError(f"{key}: there is no {value!r}; give {', '.join(known)}.{meant}")
