"""Exact distributions of the number of steps on tiny networks, in rational numbers."""

from popsnet.exact.chain import Chain, Moments
from popsnet.exact.distribution import Distribution
from popsnet.exact.steps import (
    ROUTERS,
    StepsDistribution,
    mei_rizzi_chain,
    relay_chain,
    solve,
    steps_distribution,
    taking_part,
)

__all__ = [
    "ROUTERS",
    "Chain",
    "Distribution",
    "Moments",
    "StepsDistribution",
    "mei_rizzi_chain",
    "relay_chain",
    "solve",
    "steps_distribution",
    "taking_part",
]
