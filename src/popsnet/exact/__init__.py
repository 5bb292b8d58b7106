"""Exact laws of the number of steps on tiny networks, in rational numbers."""

from popsnet.exact.chain import Chain, Moments
from popsnet.exact.distribution import Distribution
from popsnet.exact.steps import ROUTERS, mei_rizzi_chain, relay_chain, solve, taking_part

__all__ = [
    "ROUTERS",
    "Chain",
    "Distribution",
    "Moments",
    "mei_rizzi_chain",
    "relay_chain",
    "solve",
    "taking_part",
]
