"""Exact distributions of the number of steps on tiny networks, as fractions."""

from popsnet.exact.chain import Chain
from popsnet.exact.solution import ExactSteps, exact_steps
from popsnet.exact.steps import (
    ROUTERS,
    Distribution,
    StepsDistribution,
    mei_rizzi_chain,
    relay_chain,
    solve,
    steps_distribution,
)

__all__ = [
    "ROUTERS",
    "Chain",
    "Distribution",
    "ExactSteps",
    "StepsDistribution",
    "exact_steps",
    "mei_rizzi_chain",
    "relay_chain",
    "solve",
    "steps_distribution",
]
