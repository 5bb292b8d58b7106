"""Exact distributions of the number of steps on tiny networks, in rational numbers."""

from popsnet.exact.chain import Chain, Moments
from popsnet.exact.distribution import Distribution
from popsnet.exact.solution import ExactSteps, exact_steps
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
    "ExactSteps",
    "Moments",
    "StepsDistribution",
    "exact_steps",
    "mei_rizzi_chain",
    "relay_chain",
    "solve",
    "steps_distribution",
    "taking_part",
]
