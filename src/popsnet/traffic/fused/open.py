"""Which schedulers are compiled, and how a session of one is opened."""

from __future__ import annotations

from popsnet.coins import Coins
from popsnet.network import Network
from popsnet.traffic.fused.session import FusedSession, Kernel


def _kernel(network: Network, scheduler: str, variant: str, seed: int) -> Kernel:
    from popsnet.traffic.fused.tdm import open_tdm
    return open_tdm(network.n)

def supports(scheduler: str, variant: str = "standard") -> bool:
    return True

def open_session(network, scheduler, variant="standard", seed=0, buffer=0):
    return FusedSession(network, _kernel(network, scheduler, variant, seed), buffer)
