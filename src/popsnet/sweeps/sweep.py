"""Sweeps: TOML files that say which experiments to run, and how many runs of each.

The format is in docs/reference/sweep-format.md. Everything is checked before any work starts.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from msgspec import Meta, structs

from popsnet.base.errors import InputError, PermutationError, did_you_mean, require_one_of, wrong
from popsnet.base.report import plural
from popsnet.engines.choice import engine_of_many
from popsnet.experiment.experiment import MAX_STEPS, Experiment, Workload, resolve_demand
from popsnet.experiment.traffic import TrafficExperiment
from popsnet.model.faults import Faults
from popsnet.model.network import Network
from popsnet.programs.router import Router, find_variant
from popsnet.programs.scheduler import find_scheduler_variant
from popsnet.sweeps import tables
from popsnet.sweeps.shard import MOST_RUNS
from popsnet.sweeps.tables import NetworksTable, Several, in_words
from popsnet.workloads.largest_loads import require_admissible
from popsnet.workloads.loads import read_loads
from popsnet.workloads.permutations import find_permutation
from popsnet.workloads.permutations.resolved import resolve_permutation

__all__ = ["GRID_KEYS", "TRAFFIC_KEYS", "Sweep", "in_words"]

ORDERS = "longest", "breadth"
"""What of a sweep is run first."""

_Positive = Annotated[int, Meta(ge=1)]
_Runs = Annotated[int, Meta(ge=1, le=MOST_RUNS)]


@dataclass(frozen=True, repr=False)
class Sweep:
    """Experiments of any kind with the number of runs of each.

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

    everything: tuple[Experiment, ...]
    """The experiments with routers, and the points of continuous traffic."""
    numbers: tuple[int, ...]
    """The runs of each of them."""
    names: tuple[str, ...]
    """A label for the reader for each of them; it may be empty."""
    skipped: tuple[str, ...] = ()
    """What was skipped because it does not apply, and why."""
    order: str = "longest"
    """What is run first: ``"longest"``, the longest work, or ``"breadth"``, the first ten runs of
    every experiment, then the second, and so on. It changes no result."""

    def __post_init__(self) -> None:
        require_one_of("order", self.order, ORDERS)

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
        kinds = [kind for kind in _KINDS if kind in top] or ["grid"]
        keys = {kind: tables.top_keys(_KINDS[kind]) for kind in kinds}
        known = dict.fromkeys(itertools.chain(*keys.values(), _KINDS, ["order"]))
        tables.require_known(str(path), top, known, _elsewhere(kinds))
        with _of_key(str(path)):
            sweep = cls((), (), (), order=top.get("order", ORDERS[0]))
        for kind, several in tables.tables_of(path, top, _KINDS).items():
            shared = {key: value for key, value in top.items() if key in keys[kind]}
            for number, table in enumerate(several, start=1):
                sweep += _table(kind, f"{path}, {kind} {number}", shared | table, path.parent)
        if not sweep.everything:
            raise InputError(f"{path}: nothing in it applies: {in_words(sweep.skipped)}.")
        return sweep

    @classmethod
    def of_grid(cls, **keys: Any) -> Sweep:
        """Return the sweep of one grid, given by the keys that a ``[[grid]]`` of a file has.

        Examples
        --------
        >>> import popsnet
        >>> keys = {"routers": "relay:survive", "faults": ["", "coupler:0-1"], "loss": [0, 0.01]}
        >>> sweep = popsnet.Sweep.of_grid(d=4, g=4, **keys)
        >>> [experiment.faults for experiment in sweep.experiments]
        ['', 'loss:0.01', 'coupler:0-1', 'coupler:0-1 loss:0.01']
        """
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
    def experiments(self) -> tuple[Experiment, ...]:
        """The experiments with routers."""
        return tuple(experiment for experiment, _, _ in self._of("format"))

    @property
    def runs(self) -> tuple[int, ...]:
        """The runs of each experiment with a router."""
        return tuple(runs for _, runs, _ in self._of("format"))

    @property
    def labels(self) -> tuple[str, ...]:
        """A label for the reader for each experiment with a router; it may be empty."""
        return tuple(label for _, _, label in self._of("format"))

    @property
    def traffic(self) -> tuple[TrafficExperiment, ...]:
        """The points of continuous traffic."""
        return tuple(point for point, _, _ in self._of("traffic"))

    @property
    def traffic_labels(self) -> tuple[str, ...]:
        """A label for the reader for each point; it may be empty."""
        return tuple(label for _, _, label in self._of("traffic"))

    def _of(self, tag: str) -> Iterator[tuple[Any, int, str]]:
        """Yield the experiments of a kind with their runs and labels."""
        for entry in zip(self.everything, self.numbers, self.names, strict=True):
            if entry[0].spelling.tag == tag:
                yield entry

    @property
    def wanted(self) -> list[tuple[Experiment, int]]:
        """The experiments with routers, and their runs."""
        return list(zip(self.experiments, self.runs, strict=True))

    def __repr__(self) -> str:
        runs = f"{len(self.experiments):,} experiments, {sum(self.runs):,} runs"
        points = f"{plural(len(self.traffic), 'point')} of traffic"
        parts = [runs] * bool(self.experiments or not self.traffic) + [points] * bool(self.traffic)
        return f"<sweep of {', '.join(parts)}>"

    def __add__(self, other: Sweep) -> Sweep:
        several = "everything", "numbers", "names", "skipped"
        added = {name: getattr(self, name) + getattr(other, name) for name in several}
        return replace(self, **added)


def _table(kind: str, where: str, table: Mapping[str, Any], folder: Path) -> Sweep:
    """Return the sweep of one table; names of files are relative to a folder."""
    tables.require_known(where, table, _KINDS[kind].__struct_fields__, _elsewhere([kind]))
    with _of_key(where):
        return _KINDS[kind].of(table, folder).sweep()


def _elsewhere(here: Collection[str]) -> dict[str, str]:
    """Return the keys of all tables with the kind of table that has them, those here first."""
    kinds = sorted(_KINDS, key=lambda kind: kind in here)
    return {key: kind for kind in kinds for key in _KINDS[kind].__struct_fields__}


class _ExperimentsTable(NetworksTable, frozen=True):
    """What grids and tables of traffic have in common: wavelengths, faults and seeds."""

    wavelengths: Several[int] = (1,)
    faults: Several[str] = ("",)
    loss: Several[float] = ()
    fault_seed: Several[int] = (0,)
    seed: Several[int] = (0,)
    skip_inapplicable: bool = False

    files: ClassVar[Mapping[str, Callable[[Path, str], str]]] = {}
    """Turns the names of a key, which may be files, into paths."""

    @classmethod
    def of(cls, table: Mapping[str, Any], folder: Path) -> Self:
        """Return what a table describes; names of files are relative to a folder."""
        read = tables.checked(table, cls)
        paths = {
            key: tuple(path(folder, name) for name in getattr(read, key))
            for key, path in cls.files.items()
        }
        return structs.replace(read, **paths)

    def made(self) -> Iterator[Experiment | str]:
        """Yield the experiments, or why there is none."""
        raise NotImplementedError

    def sweep(self) -> Sweep:
        """Return all experiments that apply."""
        made = list(dict.fromkeys(self.made()))  # two texts may be one experiment
        skipped = [reason for reason in made if isinstance(reason, str)]
        if skipped and not self.skip_inapplicable:
            them = "it" if len(skipped) == 1 else "them"
            raise InputError(
                f"{in_words(skipped)}. Remove {them} from the {self.what}, or set "
                "skip_inapplicable = true."
            )
        experiments = tuple(experiment for experiment in made if not isinstance(experiment, str))
        count, runs = len(experiments), getattr(self, "runs", 1)  # a point is one run
        return Sweep(experiments, (runs,) * count, (self.label,) * count, tuple(skipped))

    def networks(self) -> list[Network]:
        """Return the networks, each with every number of wavelengths."""
        shapes = list(self.shapes_given())
        return [Network(d, g, number) for d, g in shapes for number in self.wavelengths]

    def broken(self) -> list[Faults]:
        """Return the faults, each with every loss."""
        with _of_key("faults"):
            broken = list(map(Faults.parse, self.faults))
        if not self.loss:
            return broken
        for faults in broken:
            if faults.loss:
                raise InputError(
                    f"loss: {str(faults)!r} of faults has a loss already; give it in one of the "
                    "two."
                )
        return [faults.with_loss(loss) for faults in broken for loss in self.loss]

    def crossed(self, *keys: str, **others: Iterable[Any]) -> list[dict[str, Any]]:
        """Return every combination of the values of some keys, and of others, by name."""
        values = {key: getattr(self, key) for key in keys} | others
        return [
            dict(zip(values, combination, strict=True))
            for combination in itertools.product(*values.values())
        ]


def _reason(what: str, network: Network, error: InputError) -> str:
    """Return why something does not apply to a network: the first sentence of an error."""
    _, _, reason = f"{network}: {error}".rpartition(f"{network}: ")
    reason = re.sub(r"^(faults|wavelengths = \d+|known_faults = \w+): ", "", reason)
    reason = reason.removeprefix(f"on {network} ")
    return f"{what} on {network}: {re.split(r'(?<=[.]) |; ', reason)[0].rstrip('.')}."


def _refusal(call: Callable[..., object], *values: object) -> InputError | None:
    """Return the error that a call raises, None if it raises none."""
    try:
        call(*values)
    except InputError as error:
        return error
    return None


def _faults_there(faults: Faults, network: Network) -> str | None:
    """Return why a network cannot have some faults, None if it can."""
    error = _refusal(faults.require_on, network)
    return None if error is None else _reason(f"faults {faults}", network, error)


class TrafficTable(_ExperimentsTable, frozen=True):
    """Every network with every scheduler, fault, seed, buffer, pattern, burst and load."""

    files: ClassVar[Mapping[str, Callable[[Path, str], str]]] = {
        "schedulers": tables.program_file,
        "patterns": tables.permutation_file,
    }

    schedulers: Several[str] = ("rotor",)
    loads: Several[float] = ()
    patterns: Several[str] = ()
    matrix: str = ""
    packets: str = ""
    burst: Several[float] = ()
    buffer: Several[Annotated[int, Meta(ge=0)]] = (0,)
    slots: _Positive = 0  # as long as the precision needs
    precision: float | str | None = None  # by default
    max_slots: _Positive = 0  # by default
    arrival_seed: Several[int] = (0,)
    known_faults: Several[bool] = (False,)
    overload: bool = False

    @classmethod
    def of(cls, table: Mapping[str, Any], folder: Path) -> Self:
        """Return what a table describes; names of files are relative to a folder."""
        loads = table.get("loads")
        listed = {**table, "loads": read_loads(loads)} if isinstance(loads, str) else table
        read = super().of(listed, folder)
        read._require_arrivals()
        for pattern in read.patterns:
            tables.require_file("patterns", pattern)
        files = {key: tables.file_of(folder, key, getattr(read, key)) for key in _ARRIVAL_FILES}
        return structs.replace(read, **files)

    def _require_arrivals(self) -> None:
        """Refuse two ways to say what arrives, and a load that cannot be one."""
        ways = [key for key in ("patterns", *_ARRIVAL_FILES) if getattr(self, key)]
        if len(ways) > 1:
            raise InputError(f"{' and '.join(ways)}: give one of them; each says what arrives.")
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

    def made(self) -> Iterator[TrafficExperiment | str]:
        """Yield all points, or why there is none."""
        with _of_key("schedulers"):
            schedulers = list(map(find_scheduler_variant, self.schedulers))
        arrivals = self._arrivals()
        seeds = self.crossed("fault_seed", "seed", "arrival_seed")
        broken = self._broken()
        for network, (scheduler, variant) in itertools.product(self.networks(), schedulers):
            if error := _refusal(scheduler.require_wavelengths, network):
                yield _reason(f"{scheduler.name} ({variant})", network, error)
                continue
            for medium, seed, arriving in itertools.product(broken, seeds, arrivals):
                lacks = _faults_there(medium["faults"], network)
                program = {"scheduler": scheduler, "variant": variant}
                yield lacks or self._point(network, program | medium | seed | arriving)

    def _broken(self) -> list[dict[str, Any]]:
        """Return the faults, and whether they are known, which is the same if no part is dead."""
        broken = self.broken()
        dead = [bool(faults.kinds - {"loss"}) for faults in broken]
        if any(self.known_faults) and not any(dead):
            raise wrong("known_faults", "True")(
                "no part is dead; give a dead part in faults, such as 'coupler:0-1', or leave "
                "known_faults out."
            )
        return [
            {"faults": faults, "known_faults": known and some}
            for faults, some in zip(broken, dead, strict=True)
            for known in self.known_faults
        ]

    def _arrivals(self) -> list[dict[str, Any]]:
        """Return what arrives, and the room for it."""
        if self.packets:
            return self.crossed("buffer", packets=[self.packets])
        where: dict[str, Iterable[str]] = {"pattern": self.patterns or ("uniform",)}
        where = {"matrix": [self.matrix]} if self.matrix else where
        return self.crossed("buffer", **where, burst=self.burst or (None,), load=self.loads)

    def _point(self, network: Network, parameters: dict[str, Any]) -> TrafficExperiment | str:
        """Return a point, or why it does not apply."""
        where = str(next(filter(None, map(parameters.get, ("pattern", "matrix", "packets")))))
        try:
            point = TrafficExperiment(
                network.d, network.g, wavelengths=network.wavelengths, overload=not self.packets,
                slots=self.slots or None, precision=self.precision,
                max_slots=self.max_slots or None, **parameters,
            )  # fmt: skip
            if not self.overload:
                require_admissible(point.bounds, point.load)
        except PermutationError as error:
            return f"Pattern {where} on {network}: {error}"
        except InputError as error:
            key, _, rest = str(error).partition(" = ")
            if key not in ("load", "pattern"):
                raise
            value, _, reason = rest.partition(": ")
            what = value.strip("'") + f" of {where}" * (key == "load")
            reason = reason.removeprefix(f"on {network} ").partition(". ")[0].rstrip(".")
            return f"{key.capitalize()} {what} on {network}: {reason}."
        return point.labelled(self.label)


_ARRIVAL_FILES = ("matrix", "packets")


@contextmanager
def _of_key(key: str) -> Iterator[None]:
    """Say which key of a table a wrong value belongs to."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{key}: {error}") from error


class _Grid(_ExperimentsTable, frozen=True):
    """A grid: every network with every router, variant, permutation or demand, fault and seed."""

    what: ClassVar[str] = "grid"
    files: ClassVar[Mapping[str, Callable[[Path, str], str]]] = {
        "routers": tables.program_file,
        "permutations": tables.permutation_file,
        "packets": tables.any_file,
        "matrices": tables.any_file,
    }

    routers: Several[str] = ("mei-rizzi",)
    variants: tuple[str, ...] = ()
    permutations: Several[str] = ()
    packets: Several[str] = ()
    matrices: Several[str] = ()
    runs: _Runs = 10
    permutation_seed: Several[int] = (0,)
    max_steps: int = MAX_STEPS

    def made(self) -> Iterator[Experiment | str]:
        """Yield the experiments, or why there is none."""
        ways = [key for key in _WORKLOADS if getattr(self, key)]
        if len(ways) > 1:
            raise InputError(f"{' and '.join(ways)}: give one of them; each says what to send.")
        routers = list(map(_router, self.routers))
        self._require_variants([router for router, variant in routers if variant is None])
        several = self.variants or (None,)
        pairs = [
            (router, name)
            for router, variant in routers
            for name in (several if variant is None else (variant,))
        ]
        seeds = self.crossed("fault_seed", "seed", "permutation_seed")
        broken = self.broken()
        for network in self.networks():
            workloads = list(self._workloads(network))
            for (router, variant), (way, workload) in itertools.product(pairs, workloads):
                if isinstance(workload, str):
                    yield workload
                    continue
                try:
                    if workload.demand is None:
                        chosen = router.choose_variant(variant, network)
                    else:
                        chosen = router.serve(variant, workload.demand).name
                except InputError as error:
                    name = router.name if variant is None else f"{router.name} ({variant})"
                    yield _reason(name, network, error)
                    continue
                for faults, seed in itertools.product(broken, seeds):
                    if lacks := _faults_there(faults, network):
                        yield lacks
                        continue
                    parameters: dict[str, Any] = {way: workload, "faults": faults, **seed}
                    experiment = Experiment(
                        network.d, network.g, router=router, variant=chosen,
                        max_steps=self.max_steps, wavelengths=network.wavelengths, **parameters,
                    )  # fmt: skip
                    engine_of_many(experiment, fitting=True)  # refuses what needs more memory
                    yield experiment

    def _workloads(self, network: Network) -> Iterator[tuple[str, Workload | str]]:
        """Yield what is sent on a network, or why it cannot be."""
        for name in self.permutations or ("random",) * (not self.packets and not self.matrices):
            tables.require_file("permutations", name)
            try:
                yield "permutation", resolve_permutation(name, network)
            except PermutationError as error:
                find_permutation(name)  # an unknown name is an error in any case
                yield "permutation", f"Permutation {name} on {network}: {error}"
        for key, way in (("packets", "packets"), ("matrices", "matrix")):
            for name in getattr(self, key):
                tables.file_of(Path(), key, name)
                try:
                    yield way, resolve_demand(network, **{way: name})
                except InputError as error:
                    yield way, f"{way.capitalize()} {name} on {network}: {error}"

    def _require_variants(self, routers: list[Router]) -> None:
        """Refuse a variant that no router of the grid has, even if others may be skipped."""
        if self.variants and not routers:
            raise InputError(
                "variants: every router of this grid names its variant; leave variants out."
            )
        serving = bool(self.packets or self.matrices)
        named = [router.relations if serving else router.variants for router in routers]
        known = list(itertools.chain.from_iterable(named))
        parsers = [] if serving else [router.parse_variant for router in routers]
        for variant in self.variants:
            reasons = [_refusal(parse, variant) for parse in parsers if parse]
            if variant not in known and all(reasons):
                unknown = f"there is no {variant!r}; give {', '.join(known)}."
                meant = did_you_mean(variant, known)
                why = " ".join(map(str, reasons)) or f"{unknown}{meant}"
                raise InputError(f"variants: {why}")


_WORKLOADS = ("permutations", "packets", "matrices")
_KINDS: Mapping[str, type[_ExperimentsTable]] = {"grid": _Grid, "traffic": TrafficTable}
GRID_KEYS, TRAFFIC_KEYS = (kind.__struct_fields__ for kind in _KINDS.values())


def _router(name: str) -> tuple[Router, str | None]:
    """Return a router, and the variant if the name has one; refuse what does not exist."""
    with _of_key("routers"):
        router, variant = find_variant(name)
        if variant is not None:
            router.variant(variant)
    return router, variant
