"""Tables ``[[traffic]]`` of a sweep's file: which points of continuous traffic to simulate."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar

from msgspec import Meta
from msgspec.structs import replace

from popsnet.errors import InputError, PermutationError
from popsnet.network import Network
from popsnet.sweeps import tables
from popsnet.sweeps.tables import NETWORK_KEYS, NetworksTable, Several
from popsnet.traffic.bounds import require_admissible
from popsnet.traffic.curves import read_loads
from popsnet.traffic.experiment import TrafficExperiment
from popsnet.traffic.scheduler import Scheduler, find_scheduler_variant

_LISTS = (*NETWORK_KEYS, "schedulers", "loads", "patterns", "burst", "buffer")
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
        found = tables.checked(listed, cls, _LISTS)
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
                raise InputError(
                    f"loads = {load!r}: a load must be above 0 and at most 1 packet per processor "
                    "and slot."
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
        raise InputError(f"{key} = {name!r}: the file {folder / name} does not exist.")
    return str(folder / name) if name else ""
