"""Which schedulers are compiled, and how a session of one is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popsnet.coins import Coins, number_of
from popsnet.errors import wrong
from popsnet.network import Network, require_one_wavelength
from popsnet.traffic.fused.parts import U64
from popsnet.traffic.fused.session import FusedSession, Kernel
from popsnet.traffic.schedulers.aloha import aloha_patience
from popsnet.traffic.schedulers.attempts import Patience, one_coin
from popsnet.traffic.schedulers.relay import relay_patience

if TYPE_CHECKING:
    from popsnet.traffic.fused.epochs import EpochsSession

_STANDARD = "tdm", "vlb", "rotor", "hop3", "relay", "epochs"


def supports(scheduler: str, variant: str = "standard") -> bool:
    """Return whether there is a kernel for a variant of a scheduler.

    Examples
    --------
    >>> from popsnet.traffic.fused import supports
    >>> supports("tdm"), supports("tdm", "mine")
    (True, False)
    """
    if scheduler == "aloha":
        return variant == "backoff" or _is_probability(variant)
    if scheduler == "ideal":
        return variant in ("voq", "fifo") or variant.isdecimal()
    return scheduler in _STANDARD and variant == "standard"


def _is_probability(text: str) -> bool:
    try:
        return 0 < float(text) <= 1
    except ValueError:
        return False


def open_session(
    network: Network, scheduler: str, variant: str = "standard", seed: int = 0, buffer: int = 0
) -> FusedSession | EpochsSession:
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
    FusedSession or EpochsSession
        Advances block by block.

    Raises
    ------
    InputError
        If there is no kernel for it.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.traffic import make_arrivals
    >>> from popsnet.traffic.fused import open_session
    >>> session = open_session(Network(4, 4), "tdm")
    >>> log = session.advance(make_arrivals(Network(4, 4), load=0.5).block(0, 1000))
    >>> len(log.messages), log.collisions.sum()
    (1000, np.int64(0))
    """
    require_one_wavelength(network)
    if not supports(scheduler, variant):
        raise wrong("scheduler", f"{scheduler!r}, variant = {variant!r}", "variant")(
            "it is not compiled. Use the message-level engine."
        )
    if scheduler == "epochs":
        from popsnet.traffic.fused.epochs import EpochsSession

        return EpochsSession(network, buffer)
    return FusedSession(network, _kernel(network, scheduler, variant, seed), buffer)


def _kernel(network: Network, scheduler: str, variant: str, seed: int) -> Kernel:
    d, g = network.d, network.g
    public, private = _seed(seed, "public"), _seed(seed, "private")
    if scheduler == "tdm":
        from popsnet.traffic.fused.tdm import open_tdm

        return open_tdm(network.n)
    if scheduler == "vlb":
        from popsnet.traffic.fused.vlb import open_vlb

        return open_vlb(network.n, public, _purpose("keeper"))
    if scheduler == "rotor":
        from popsnet.traffic.fused.rotor import open_rotor

        return open_rotor(d, g, public, _purpose("keeper"))
    if scheduler == "hop3":
        from popsnet.traffic.fused.hop3 import Draws, open_hop3

        purposes = (_purpose(name) for name in ("keeper", "rotation"))
        return open_hop3(d, g, Draws(public, *purposes))
    if scheduler == "aloha":
        from popsnet.traffic.fused.aloha import open_aloha

        backs_off = variant == "backoff"
        patience = aloha_patience(d) if backs_off else one_coin(float(variant))
        return open_aloha(d, g, private, patience, _coins_of(patience))
    if scheduler == "relay":
        from popsnet.traffic.fused.relay import open_relay

        tries = relay_patience(network.n)
        return open_relay(d, g, private, tries, _coins_of(tries), public, _purpose("place"))
    from popsnet.traffic.fused.ideal import open_ideal

    return open_ideal(d, g, variant, public, _purpose("start"), _purpose("step"))


def _coins_of(patience: Patience) -> U64:
    """Return the purposes of the coins of a window."""
    places = range(patience.window)
    return np.array([number_of(f"retry {place}") for place in places], dtype=np.uint64)


def _seed(seed: int, kind: str) -> np.uint64:
    """Return the seed of the public or the private coins."""
    return np.uint64(Coins(seed).key(kind, 0))


def _purpose(name: str) -> np.uint64:
    return np.uint64(number_of(name))
