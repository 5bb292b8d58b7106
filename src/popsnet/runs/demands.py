"""Demands as users give them: packets, matrices and permutations, as values or as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import numpy as np
import numpy.typing as npt

from popsnet.base.errors import InputError, SizeError, wrong
from popsnet.base.system import available_memory
from popsnet.experiment.experiment import ResolvedDemand, named_after, seed_number
from popsnet.model.coins import Coins
from popsnet.model.network import I64, Network
from popsnet.programs.schedules import files
from popsnet.programs.schedules.demand import Demand
from popsnet.workloads.permutations import make_permutation, require_permutation

_BYTES_PER_PACKET = 250
"""To colour, order and execute a packet: measured, rounded up."""
_TRACE_BYTES_PER_PACKET = 700
_BYTES_PER_COUPLER = 150
"""For the arrays of matrices between groups: measured, rounded up."""


class PacketParameters(TypedDict, total=False):
    """The ways to give packets other than as a permutation, and the seed of a random one."""

    packets: Demand | npt.ArrayLike | str | Path | None
    matrix: npt.ArrayLike | str | Path | None
    unit: float | None
    permutation_seed: int | None


class PacketInput(NamedTuple):
    """The packets that a user has given."""

    network: Network
    demand: Demand | None
    """None if the packets are given as counts."""
    counts: I64 | None
    """The packets from each group (row) to each group (column), if their processors are free."""
    rounding: files.Rounding | None
    """How amounts became packets, if there was a unit."""

    @property
    def packets(self) -> int:
        """The number of packets."""
        return self.dealt().packets if self.counts is None else int(self.counts.sum())

    def dealt(self) -> Demand:
        """Return the demand, with packets between groups dealt to processors in turn."""
        if self.counts is not None:
            return files.demand_of_matrix(self.network, self.counts)
        assert isinstance(self.demand, Demand)
        return self.demand


def read_packets(
    network: Network, permutation_seed: int | None = None, unit: float | None = None, **sources: Any
) -> PacketInput:
    """Return the packets, given in one of several ways.

    Parameters
    ----------
    network : Network
        The network.
    permutation_seed : int, optional
        The seed of a random permutation, by default 0.
    unit : float, optional
        The amount of one packet, for amounts that are not numbers of packets.
    **given
        One of ``permutation``, ``packets`` and ``matrix``, as for
        :func:`popsnet.schedule`; None stands for one that is not given. By default the packets are
        a random permutation.

    Returns
    -------
    PacketInput
        The packets.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.runs.demands import read_packets
    >>> read_packets(Network(2, 2), matrix=[[0, 3], [1, 0]]).packets
    4
    """
    require_room(network, network.n, traced=False)
    sources = {name: value for name, value in sources.items() if value is not None}
    if len(sources) > 1:
        names = " and ".join(sources)
        raise InputError(f"{names} each give the packets to send; give only one of them.")
    ((name, value),) = sources.items() or [("permutation", "random")]
    if name in ("packets", "matrix") or not isinstance(value, str):
        _require_no_seed(name, permutation_seed)
    if name == "matrix":
        require_room(network, 0, traced=False, couplers=network.couplers)
        matrix = files.read_matrix(value, network, unit)
        require_room(network, int(matrix.counts.sum()), traced=False)
        if len(matrix.counts) != network.g:
            dealt = files.demand_of_matrix(network, matrix.counts)
            return PacketInput(network, dealt, None, matrix.rounding)
        return PacketInput(network, None, matrix.counts, matrix.rounding)
    if isinstance(value, list | tuple):
        try:
            value = np.asarray(value)
        except ValueError as error:
            raise InputError(f"{name}: its rows must have the same length.") from error
    if name == "permutation" and (isinstance(value, Demand) or np.ndim(value) == 2):
        raise InputError(
            "permutation: a schedule is of one permutation, a row of n destinations. For a list of "
            "packets use packets=."
        )
    if name == "packets" and not isinstance(value, Demand):
        read = files.read_demand(value, network, unit)
        return PacketInput(network, read.demand, None, read.rounding)
    _require_no_unit(unit)
    return PacketInput(network, _demand(network, permutation_seed, value), None, None)


def _require_no_unit(unit: float | None) -> None:
    if unit is not None:
        files.require_unit(unit)
        raise wrong("unit", f"{unit:g}")("a permutation has no amounts. Leave the unit out.")


def _require_no_seed(name: str, permutation_seed: int | None) -> None:
    if permutation_seed is not None:
        rule = f"it is for a random permutation, and {name} gives the packets; leave it out."
        raise wrong("permutation_seed", permutation_seed)(rule)


def _demand(network: Network, permutation_seed: int | None, value: Any) -> Demand:
    """Return a demand that is one already, or a permutation."""
    if isinstance(value, Demand):
        if value.network != network:
            raise InputError(f"The packets are for {value.network}, not for {network}.")
        return value
    if isinstance(value, str | Path):
        seed = seed_number("permutation_seed", permutation_seed or 0)
        coins = Coins(seed).for_run(0)  # as the first run of an experiment
        destination = make_permutation(str(value), network, coins)
    else:
        destination = require_permutation(np.asarray(value), network.n, "permutation")
    return Demand.of_permutation(network, destination)


def with_demand(network: Network, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return parameters of an experiment, with ``packets`` or ``matrix`` made a demand.

    Here a text is the name of a file. ``unit`` is the amount of one packet. A permutation that is
    ``random``, as it is by default, may be there as well.
    """
    rest = dict(parameters)
    unit = rest.pop("unit", None)
    ways = {name: rest.pop(name) for name in parameters if name in ("packets", "matrix")}
    if not ways:
        _require_no_unit(unit)
        return rest
    permutation = rest.pop("permutation", "random")
    if not (isinstance(permutation, str) and permutation == "random"):
        raise InputError(
            f"permutation and {' and '.join(ways)} each give the packets to send; give only one of "
            "them."
        )
    _require_no_seed(" and ".join(ways), rest.get("permutation_seed"))
    ways = {way: Path(value) if isinstance(value, str) else value for way, value in ways.items()}
    way, packets = next(iter(ways.items()))
    if isinstance(packets, ResolvedDemand):
        return {**rest, "packets": packets}
    demand = read_packets(network, unit=unit, **ways).dealt()
    is_file = unit is None and isinstance(packets, Path)
    return {**rest, "packets": named_after(way, packets, demand) if is_file else demand}


def require_room(network: Network, packets: int, traced: bool, couplers: int = 0) -> None:
    """Refuse a demand that needs more memory than is available."""
    needed = max(network.n, packets) * (_BYTES_PER_PACKET + _TRACE_BYTES_PER_PACKET * traced)
    needed += couplers * _BYTES_PER_COUPLER
    if needed > available_memory():
        raise SizeError(
            f"{network} with {packets:,} packets needs about {needed / 1e9:,.1f} GB"
            f"{' for a trace; a table takes less' if traced else ''}; "
            f"{available_memory() / 1e9:,.1f} GB are available here."
        )
