"""Tail probabilities of an experiment that are known without runs: exact, fluid limit, bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, takewhile
from typing import Literal, TypeAlias

from popsnet.base.errors import InputError
from popsnet.base.progress import patient_progress
from popsnet.experiment.experiment import Experiment
from popsnet.model.network import Network
from popsnet.theory import steps_tail, sweeps_tail
from popsnet.theory.exact.steps import LARGEST, StepsDistribution, steps_distribution
from popsnet.theory.tails import square_fails, square_steps

Measure: TypeAlias = Literal["slots", "steps"]
"""What is counted."""

_LEFT = Fraction(1, 10**12)
"""The exact chain lists probabilities down to this one."""

_SMALLEST = 1e-12
"""The fluid limit lists probabilities down to this one."""

_MOST_STEPS = 2000
"""The fluid limit lists at most this many steps."""

_DRAWN = ("keyed", "group-permutation")
"""Permutations that differ from run to run and are not uniform."""


@dataclass(frozen=True)
class TailBound:
    """The theorem of the paper: more than this many steps have at most this probability."""

    steps: int
    fails_at_most: float


@dataclass(frozen=True)
class ExpectedTails:
    """Tail probabilities that are known without runs.

    Parameters
    ----------
    slots_per_step : tuple of int, optional
        The slots before the first step and those of each step, if all steps have the same.
    exact : StepsDistribution, optional
        The exact distribution of the steps.
    exact_slots : bool
        Whether the slots follow from the steps of the exact chain.
    fluid : tuple of float
        P(steps > s) in the fluid limit for s = 1, 2, …, empty if there is none.
    bound : TailBound, optional
        The theorem of the paper.
    """

    slots_per_step: tuple[int, int] | None = None
    exact: StepsDistribution | None = None
    exact_slots: bool = False
    fluid: tuple[float, ...] = ()
    bound: TailBound | None = None

    def exact_tail(self, measure: Measure, least: int) -> float | None:
        """Return the exact probability of at least this many steps or slots, if it is known."""
        if self.exact is None or (measure == "slots" and not self.exact_slots):
            return None
        tail = self.exact.at_least if measure == "steps" else self.exact.slots_at_least
        probability = tail(least)
        return None if probability is None else float(probability)

    def fluid_tail(self, measure: Measure, least: int) -> float | None:
        """Return the same probability in the fluid limit, if there is one."""
        steps = self._steps(measure, least)
        if steps is None or not self.fluid:
            return None
        tail = 1.0, *self.fluid  # every run has a step
        return tail[max(steps - 1, 0)] if steps <= len(tail) else None

    def bounded_tail(self, measure: Measure, least: int) -> float | None:
        """Return the bound of the paper on the same probability, if it says anything."""
        steps = self._steps(measure, least)
        if steps is None or self.bound is None or steps <= self.bound.steps:
            return None
        return self.bound.fails_at_most if self.bound.fails_at_most < 1 else None

    def _steps(self, measure: Measure, least: int) -> int | None:
        """Return the least number of steps that have at least this many steps or slots."""
        if measure == "steps":
            return least
        if self.slots_per_step is None:
            return None
        before, each = self.slots_per_step
        return -(-(least - before) // each)


def expected_tails(
    experiment: Experiment, *, exact: bool = True, shown: bool = True
) -> ExpectedTails:
    """Return what is known about the tails of an experiment.

    Parameters
    ----------
    experiment : Experiment
        The experiment.
    exact : bool
        Whether to solve the exact chain, if there is one, which may take up to two minutes.
    shown : bool
        Whether to show how far the solution of the chain is.
    """
    network, router, variant = experiment.network, experiment.router, experiment.variant
    known = experiment.resolved_router.is_registered
    if experiment.demand is not None or experiment.faults or network.wavelengths > 1:
        return ExpectedTails()  # chain, limit and theorem are of permutations on live parts
    if not known or network.d < network.g or experiment.permutation in _DRAWN:
        return ExpectedTails()
    uniform = experiment.permutation == "random"
    if router == "relay":
        each = (1, 2 * network.blocks + 1) if variant == "S" else None
        fluid = _listed(network, sweeps_tail) if uniform and variant == "S" else ()
        return ExpectedTails(each, _exact(experiment, shown) if exact else None, True, fluid)
    modelled = ["published", "idealized"]  # which take the steps that chain and limit describe
    modelled += ["deferred"] if network.d % network.g == 0 else []
    if router != "mei-rizzi" or variant not in modelled:
        return ExpectedTails()
    five, bound = variant != "deferred" or network.d == network.g, None
    if network.d == network.g > 1:
        bound = TailBound(square_steps(network.g), square_fails(network.g))
    chain = _exact(experiment, shown) if exact else None
    fluid = _listed(network, steps_tail) if uniform else ()
    return ExpectedTails((0, 5) if five else None, chain, five, fluid, bound)


def _listed(network: Network, tail: Callable[[Network], Iterator[float]]) -> tuple[float, ...]:
    """Return the fluid limit as far as it is not neglected."""
    if network.g == 1 or network.d > _MOST_STEPS * network.g:
        return ()  # the limit is for many groups, and takes steps in proportion to d/g
    return tuple(takewhile(lambda left: left > _SMALLEST, islice(tail(network), _MOST_STEPS)))


def _exact(experiment: Experiment, shown: bool) -> StepsDistribution | None:
    """Return the exact distribution of the steps, if the chain is small enough to be solved."""
    network, destination = experiment.network, None
    if network.d > max(largest.get(network.g, 0) for largest in LARGEST.values()):
        return None
    if experiment.permutation != "random":
        destination = tuple(experiment.destination(0).tolist())
    router = experiment.router
    schedule = experiment.variant if router == "relay" else None
    chain = network, router, destination, schedule
    if chain in _solved:
        return _solved[chain]
    if len(_solved) >= _MOST_SOLVED:
        _solved.clear()
    with patient_progress(f"exact chain of {router} on {network}", None, shown) as update:

        def watch(known: int) -> None:
            update(known, f"{known:,} transitions of states")

        try:
            _solved[chain] = steps_distribution(
                network, router, destination, schedule=schedule, progress=watch, left=_LEFT
            )
        except InputError:
            return None
    return _solved[chain]


_solved: dict[tuple[object, ...], StepsDistribution] = {}
"""Chains that were solved before."""
_MOST_SOLVED = 16
