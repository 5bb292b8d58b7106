"""Which schedulers are compiled, and how a session of one is opened."""

from __future__ import annotations

import numpy as np

from popsnet.coins import Coins, number_of
from popsnet.errors import InputError
from popsnet.network import Network
from popsnet.traffic.fused.session import FusedSession, Kernel

_NAMES = "tdm", "vlb", "rotor"


def supports(scheduler: str, variant: str = "standard") -> bool:
    """Return whether there is a kernel for a variant of a scheduler.

    Examples
    --------
    >>> from popsnet.traffic.fused import supports
    >>> supports("tdm"), supports("epochs")
    (True, False)
    """
    return scheduler in _NAMES


def open_session(
    network: Network, scheduler: str, variant: str = "standard", seed: int = 0, buffer: int = 0
) -> FusedSession:
    """Open a session of a compiled scheduler.

    Parameters
    ----------
    network : Network
        The network.
    scheduler, variant : str
        The name of the scheduler and the canonical name of its variant.
    seed : int
        The seed of the scheduler's coins.
    buffer : int
        Packets of its own that a processor may hold, and as many of others; 0 for any number.

    Returns
    -------
    FusedSession
        Advances block by block.

    Raises
    ------
    InputError
        If there is no kernel for it.
    """
    if not supports(scheduler, variant):
        raise InputError(
            f"scheduler = {scheduler!r}, variant = {variant!r}: it is not compiled. Use the "
            "message-level engine."
        )
    return FusedSession(network, _kernel(network, scheduler, variant, seed), buffer)


def _kernel(network: Network, scheduler: str, variant: str, seed: int) -> Kernel:
    from popsnet.traffic.fused.rotor import open_rotor
    from popsnet.traffic.fused.tdm import open_tdm
    from popsnet.traffic.fused.vlb import open_vlb

    public, keeper = _seed(seed, "public"), _purpose("keeper")
    match scheduler:
        case "tdm":
            return open_tdm(network.n)
        case "vlb":
            return open_vlb(network.n, public, keeper)
        case _:
            return open_rotor(network.n, public, keeper)


def _seed(seed: int, kind: str) -> np.uint64:
    """Return the seed of the public or the private coins."""
    return np.uint64(Coins(seed).key(kind, 0))


def _purpose(name: str) -> np.uint64:
    return np.uint64(number_of(name))
