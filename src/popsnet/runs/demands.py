"""Demands as users give them: packets, matrices and permutations, as values or as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from popsnet.coins import Coins
from popsnet.errors import InputError, SizeError
from popsnet.experiment import seed_number
from popsnet.network import Network, require_network
from popsnet.permutations import make_permutation, require_permutation
from popsnet.schedules.demand import Demand
from popsnet.schedules.files import demand_of_matrix, read_demand, read_matrix, require_counts
from popsnet.system import available_memory

_BYTES_PER_PACKET = 250
"""To colour, order and execute a packet: measured, rounded up."""
_TRACE_BYTES_PER_PACKET = 700


def demand_from(network: Network, permutation_seed: int = 0, **given: Any) -> Demand:
    """Return the packets, given in one of several ways.

    Parameters
    ----------
    network : Network
        The network.
    permutation_seed : int
        The seed of a random permutation.
    **given
        One of ``demand``, ``permutation``, ``packets`` and ``matrix``, as for
        :func:`popsnet.schedule`; None stands for one that is not given. By default the packets are
        a random permutation.

    Returns
    -------
    Demand
        The packets.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.runs.demands import demand_from
    >>> demand_from(Network(2, 2), matrix=[[0, 3], [1, 0]]).packets
    4
    """
    require_network(network)
    require_room(network, network.n, traced=False)
    given = {name: value for name, value in given.items() if value is not None}
    given = {name: _table(name, value) for name, value in given.items()}
    if len(given) > 1:
        raise InputError(
            f"{' and '.join(given)} each give the packets to send; give only one of them."
        )
    ((name, value),) = given.items() or [("permutation", "random")]
    if name == "demand" and isinstance(value, Demand):
        if value.network != network:
            raise InputError(f"The demand is for {value.network}, not for {network}.")
        return value
    if name == "matrix":
        return _of_matrix(network, value)
    if name == "packets" or (name == "demand" and (isinstance(value, Path) or np.ndim(value) == 2)):
        return _of_packets(network, value)
    if isinstance(value, str | Path):
        seed_number("permutation_seed", permutation_seed)
        coins = Coins(permutation_seed).for_run(0)  # as the first run of an experiment
        destination = make_permutation(str(value), network, coins)
    else:
        destination = require_permutation(np.asarray(value), network.n, "permutation")
    return Demand.of_permutation(network, destination)


def with_demand(network: Network, given: dict[str, Any]) -> dict[str, Any]:
    """Return parameters of an experiment, with ``demand`` or ``matrix`` made a demand.

    Here a text is the name of a file.
    """
    ways = {name: value for name, value in given.items() if name in ("demand", "matrix")}
    if not ways:
        return given
    ways = {name: Path(one) if isinstance(one, str) else one for name, one in ways.items()}
    rest = {name: value for name, value in given.items() if name not in ways}
    if "permutation" in rest:
        raise InputError(
            f"permutation and {' and '.join(ways)} each give the packets to send; give only one of "
            "them."
        )
    return {**rest, "demand": demand_from(network, **ways)}


def _table(name: str, value: Any) -> Any:
    """Return a value; refuse a list of rows that differ in length, which is no array."""
    if isinstance(value, list | tuple):
        try:
            return np.asarray(value)
        except ValueError as error:
            raise InputError(f"{name}: its rows must have the same length.") from error
    return value


def _of_packets(network: Network, packets: str | Path | npt.ArrayLike) -> Demand:
    if isinstance(packets, str | Path):
        return read_demand(Path(packets), network)
    table = np.asarray(packets)
    if table.ndim != 2 or table.shape[1] != 2:
        raise InputError(
            f"packets has shape {table.shape}; give a row (source, destination) per packet, or "
            "matrix= for packets between groups."
        )
    return Demand(network, table[:, 0], table[:, 1])


def _of_matrix(network: Network, matrix: str | Path | npt.ArrayLike) -> Demand:
    if isinstance(matrix, str | Path):
        counts = read_matrix(Path(matrix), network)
    else:
        counts, g = np.asarray(matrix), network.g
        if counts.shape != (g, g) or counts.dtype.kind not in "iu":
            raise InputError(
                f"matrix has shape {counts.shape} and type {counts.dtype}; {network} needs "
                f"{g} × {g} integers."
            )
        require_counts(counts, "The matrix")
    require_room(network, int(counts.sum()), traced=False)
    return demand_of_matrix(network, counts)


def require_room(network: Network, packets: int, traced: bool) -> None:
    """Refuse a demand that needs more memory than is available."""
    needed = max(network.n, packets) * (_BYTES_PER_PACKET + _TRACE_BYTES_PER_PACKET * traced)
    if needed > available_memory():
        raise SizeError(
            f"{network} with {packets:,} packets needs about {needed / 1e9:,.1f} GB"
            f"{' for a trace; a table takes less' if traced else ''}; "
            f"{available_memory() / 1e9:,.1f} GB are available here."
        )
