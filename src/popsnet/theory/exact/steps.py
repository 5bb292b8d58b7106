"""The exact number of steps of the randomized routers on tiny networks.

Nothing here uses the routers or the machine: their behaviour is derived a second time, from the
description, so that they can be tested against it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import count, islice, takewhile
from math import isqrt

from popsnet.base.errors import InputError, did_you_mean, require_text, wrong
from popsnet.model.network import Network, on_network
from popsnet.theory.exact import transition
from popsnet.theory.exact.chain import Chain, Progress, Step
from popsnet.theory.exact.state import between_groups, by_residues, of_tables, without_fixed_points
from popsnet.theory.exact.team import ChainStage, read_schedule

LARGEST = {
    "mei-rizzi": {1: 1, 2: 12, 3: 5},
    "relay": {1: 8, 2: 8, 3: 5, 4: 4},
    "relay with stages T": {1: 1, 2: 6, 3: 3},
}
"""The largest d for each router and g that takes at most a few minutes."""

_LEFT = Fraction(1, 10**6)

_DIGITS = 2**106
"""The scale on which the square root of a fraction is computed, finer than a float."""


def taking_part(network: Network, step: int) -> Fraction:
    """Return the probability that a packet takes part in step 0, 1, … (the paper, section 3.2).

    With c + ε = 4 it is g / (d - g·step/4) while that is below 1, which it is for ⌈4(d/g - 1)⌉
    steps, and then 1.
    """
    d, g = network.d, network.g
    return min(Fraction(4 * g, 4 * d - g * step), Fraction(1)) if g * step < 4 * d else Fraction(1)


@on_network
def mei_rizzi_chain(
    network: Network, destination: Sequence[int] | None = None, *, all_packets: bool = False
) -> Chain:
    """Build the chain of mei-rizzi, whose steps deliver the packets that survive slots 1 and 2.

    Parameters
    ----------
    network : Network, or int and int
        The network, with d ≥ g and few processors, or its d and g.
    destination : sequence of int, optional
        The permutation; by default permutations are uniformly random.
    all_packets : bool
        Let all packets take part in every step, instead of by the paper's rule for d > g.

    Returns
    -------
    Chain
        The chain.

    Notes
    -----
    A state is the conflict graph: packets by group and temporary group. For d = g this is the
    router as published. For d > g it is the variant ``idealized``. The steps of ``published`` have
    the same distribution, since its losses come after the acknowledgements, and so have those of
    ``deferred`` if g divides d, since then no buffer is full when its processor listens.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.theory.exact import mei_rizzi_chain, solve
    >>> solve(mei_rizzi_chain(Network(2, 2))).mean
    Fraction(136, 45)
    """
    _require_feasible(network, "mei-rizzi")
    if destination is None:
        start = of_tables(network)
    else:
        start = {by_residues(network, destination): Fraction(1)}

    def by_coin(probability: Fraction) -> Step:
        lines = partial(transition.choose_by_coin, cells=network.g, probability=probability)
        return partial(transition.transition_of, lines=lines)

    early = takewhile(lambda part: part < 1, (taking_part(network, s) for s in count()))
    return Chain(start, [] if all_packets else [*map(by_coin, early)], by_coin(Fraction(1)))


@on_network
def relay_chain(
    network: Network, destination: Sequence[int] | None = None, schedule: str = "S"
) -> Chain:
    """Build the chain of relay's plain sweeps and team stages, with ideal public draws.

    Parameters
    ----------
    network : Network, or int and int
        The network, with d ≥ g and few processors, or its d and g.
    destination : sequence of int, optional
        The permutation; by default permutations are uniformly random.
    schedule : str
        The stages S and Tr, as in ``S S T2``. The last one is repeated. With a stage T, and for
        d = g, there may be at most four S.

    Returns
    -------
    Chain
        The chain.

    Notes
    -----
    A state counts the pending packets by destination group and source group. In a sweep a uniform
    bijection for each destination group gives every packet one of d places, and a packet is
    delivered if no other packet of its source group has its place. For d = g stage P1 does the
    same, and there the bijections of the fifth and all later stages are those of the fourth,
    turned. The router's own bijections are only nearly uniform, so this is a close approximation.

    In a stage Tr every packet has r independent candidate groups. It is delivered if one of them is
    a candidate of no other packet of its source group, nor of its destination group.

    The chain counts stages. A run in which every packet starts at its destination has none, and
    one step, in which the seed is sent; :func:`steps_distribution` counts steps.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.theory.exact import relay_chain, solve
    >>> round(float(solve(relay_chain(Network(2, 2))).mean), 4)
    1.4271
    """
    stages = read_schedule(schedule, network)
    _require_feasible(network, "relay" if stages == [ChainStage()] else "relay with stages T")
    if destination is None:
        start = without_fixed_points(network)
    else:
        start = {between_groups(network, destination): Fraction(1)}
    lines = partial(transition.choose_by_bijection, cells=network.d)
    fresh = partial(transition.transition_of, lines=lines)
    if stages == [ChainStage()] and network.d == network.g:
        return Chain(start, [*[fresh] * (transition.FRESH - 1), transition.place], transition.turn)
    steps = {stage: stage.step(fresh) for stage in stages}
    return Chain(start, [steps[stage] for stage in stages[:-1]], steps[stages[-1]])


ROUTERS: dict[str, Callable[..., Chain]] = {"mei-rizzi": mei_rizzi_chain, "relay": relay_chain}
"""The routers that have an exact chain, by name."""


@dataclass(frozen=True)
class Distribution:
    """Mean and variance of the steps of a chain, and the probabilities of their smallest numbers.

    A step of the chain of relay is a stage.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.theory.exact import relay_chain, solve
    >>> solve(relay_chain(Network(2, 2))).probability(0)
    Fraction(1, 24)
    """

    mean: Fraction
    variance: Fraction
    within: tuple[Fraction, ...]
    """P(steps ≤ s) for s = 0, 1, …"""
    states: int
    """The number of states of the chain, up to the names of groups."""

    def __post_init__(self) -> None:
        if any(after < before for before, after in zip(self.within, self.within[1:], strict=False)):
            raise ValueError("The probabilities P(steps ≤ s) must not decrease with s.")
        if self.variance < 0:
            raise ValueError(f"variance = {float(self.variance)}: a variance must be at least 0.")

    @property
    def sd(self) -> float:
        """The standard deviation."""
        return isqrt(int(self.variance * _DIGITS)) / isqrt(_DIGITS)

    @property
    def left(self) -> Fraction:
        """The probability of more steps than ``within`` lists."""
        return 1 - self.within[-1]

    def probability(self, steps: int) -> Fraction:
        """Return P(steps = s)."""
        return self.within[steps] - (self.within[steps - 1] if steps else 0)

    def at_least(self, steps: int) -> Fraction | None:
        """Return P(steps ≥ s), or None if ``within`` does not reach it."""
        if steps <= len(self.within):
            return 1 - self.within[steps - 1] if steps > 0 else Fraction(1)
        return None if self.left else Fraction(0)

    def quantile(self, part: Fraction) -> int | None:
        """Return the least s with P(steps ≤ s) ≥ part, or None if ``within`` does not reach it."""
        return next((s for s, probability in enumerate(self.within) if probability >= part), None)


def solve(chain: Chain, left: Fraction = _LEFT, most: int = 200) -> Distribution:
    """Solve a chain for the mean, the variance and the probabilities of the number of its steps.

    Parameters
    ----------
    chain : Chain
        The chain.
    left : Fraction
        List probabilities until at most this much probability is missing.
    most : int
        List at most this many steps.

    Returns
    -------
    Distribution
        The distribution; mean and variance are exact, whatever is listed.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from popsnet import Network
    >>> from popsnet.theory.exact import mei_rizzi_chain, solve
    >>> solve(mei_rizzi_chain(Network(2, 2))).quantile(Fraction(1, 2))
    3
    """
    first, second = chain.moments()
    within = []
    for steps, probability in enumerate(chain.within()):
        within.append(probability)
        if 1 - probability <= left or steps >= most:
            break
    return Distribution(first, second - first * first, tuple(within), chain.states)


@dataclass(frozen=True)
class StepsDistribution(Distribution):
    """The exact distribution of the steps of a router's runs, as ``route`` counts them.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.theory.exact import steps_distribution
    >>> steps_distribution(Network(2, 2)).mean_slots
    Fraction(136, 9)
    """

    mean_slots: Fraction
    """The mean number of slots.

    A step of mei-rizzi takes five slots; relay takes one slot for the seed, 2⌈d/g⌉ + 1 per stage S
    and 5 + 3⌈d/g⌉ per stage T.
    """
    network: Network
    router: str
    all_packets: bool
    """Whether all packets take part in every step of mei-rizzi."""
    schedule: str | None = None
    """The stages of relay."""
    no_stage: Fraction = Fraction(0)
    """The probability that relay has no stage, and takes the slot of the seed alone."""

    def slots_at_least(self, slots: int) -> Fraction | None:
        """Return P(slots ≥ k), or None if ``within`` does not reach it."""
        if self.router != "relay":
            return self.at_least(-(-slots // 5))
        stages = iter(read_schedule(self.schedule or "S", self.network))
        needed, after, stage = 0, 1, next(stages)
        while after < slots:
            after += stage.slots(self.network)
            needed, stage = needed + 1, next(stages, stage)
        return 1 - self.no_stage if needed == 1 else self.at_least(needed)

    @property
    def quantiles(self) -> dict[Fraction, int | None]:
        """The numbers of steps within which 50 %, 90 %, 99 % and 99.9 % of all runs end."""
        parts = (Fraction(part, 1000) for part in (500, 900, 990, 999))
        return {part: self.quantile(part) for part in parts}

    @property
    def fewest(self) -> int:
        """The smallest possible number of steps."""
        return next(steps for steps, within in enumerate(self.within) if within)

    @property
    def model(self) -> str:
        """The assumptions of the chain, in words."""
        d, g = self.network.d, self.network.g
        if self.router == "relay":
            if self.schedule != "S":
                return (
                    f"schedule {self.schedule} with ideal bijections and candidates (the router's "
                    "own are nearly uniform)"
                )
            turned = ", turned from the fifth stage on" if d == g else ""
            return f"schedule S with ideal bijections{turned} (the router's own are nearly uniform)"
        if d == g:
            return "as published"
        rule = "packets take part by the paper's rule"
        if self.all_packets:
            rule = "every packet takes part in every step"
        same = "; deferred takes as many steps" if d % g == 0 else ""
        return f"idealized, {rule} (the steps of published are the same{same})"


@on_network
def steps_distribution(
    network: Network,
    router: str = "mei-rizzi",
    destination: Sequence[int] | None = None,
    *,
    all_packets: bool = False,
    schedule: str | None = None,
    progress: Progress | None = None,
    left: Fraction = _LEFT,
) -> StepsDistribution:
    """Solve the chain of a router on one permutation or on uniform permutations.

    Parameters
    ----------
    network : Network, or int and int
        The network, with d ≥ g and few processors, or its d and g.
    router : {"mei-rizzi", "relay"}
        The router.
    destination : sequence of int, optional
        The permutation; by default permutations are uniformly random.
    all_packets : bool
        For mei-rizzi and d > g: let all packets take part in every step.
    schedule : str, optional
        The stages of relay: S and Tr, as in ``S S T2``, the last one repeated. By default S.
    progress : function, optional
        A function that is called with the number of transitions computed so far.
    left : Fraction
        List probabilities until at most this much probability is missing, or 200 steps.

    Returns
    -------
    StepsDistribution
        The exact distribution of the steps that ``route`` counts.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.theory.exact import steps_distribution
    >>> steps_distribution(Network(2, 2)).mean
    Fraction(136, 45)
    """
    require_text("router", router)
    if router not in ROUTERS:
        raise wrong("router", router)(
            f"it has no exact chain.{did_you_mean(router, ROUTERS)} Give {' or '.join(ROUTERS)}."
        )
    if router != "relay" and schedule is not None:
        raise wrong("variant", schedule, "router")(
            "it is for relay; leave it out, or give router='relay'."
        )
    if all_packets and router == "relay":
        raise wrong("all_packets", True)(
            "it is for mei-rizzi; leave it out. In relay every packet always takes part."
        )
    if all_packets and network.d == network.g:
        raise wrong("all_packets", "True")(
            f"on {network} every packet takes part anyway, since d = g; leave it out."
        )
    schedule = "S" if schedule is None else schedule
    if router == "relay":
        chain = relay_chain(network, destination, schedule)
    else:
        chain = mei_rizzi_chain(network, destination, all_packets=all_packets)
    chain.progress = progress
    solution = solve(chain, left)
    slots, no_stage = 5 * solution.mean, Fraction(0)
    if router == "relay":
        slots = _relay_slots(network, read_schedule(schedule, network), chain, solution.mean)
        no_stage, solution = solution.probability(0), _one_at_least(solution)
    return StepsDistribution(
        **vars(solution),
        mean_slots=slots,
        network=network,
        router=router,
        all_packets=all_packets,
        schedule=schedule if router == "relay" else None,
        no_stage=no_stage,
    )


def _relay_slots(
    network: Network, stages: Sequence[ChainStage], chain: Chain, mean: Fraction
) -> Fraction:
    """Return the mean number of slots, with one slot for the seed."""
    slots, stages_left = Fraction(1), mean
    for stage, within in zip(stages[:-1], islice(chain.within(), len(stages) - 1), strict=True):
        slots += (1 - within) * stage.slots(network)
        stages_left -= 1 - within
    return slots + stages_left * stages[-1].slots(network)


def _one_at_least(stages: Distribution) -> Distribution:
    """Return the distribution of max(stages, 1): without a stage, the seed alone is a step."""
    none = stages.probability(0)
    mean = stages.mean + none
    variance = stages.variance + stages.mean**2 + none - mean**2
    within = (Fraction(0), *(stages.within[1:] or stages.within))
    return Distribution(mean, variance, within, stages.states)


def _require_feasible(network: Network, router: str) -> None:
    largest = LARGEST[router]
    *others, last = (f"POPS({d}, {g})" for g, d in largest.items())
    if network.d < network.g:
        raise InputError(f"{network}: the exact chain of {router} needs D >= G; give a larger D.")
    if router != "relay" and network.g == 1 < network.d:
        raise InputError(
            f"{network}: with a single group packets may collide for ever, and the mean is "
            "infinite. Give G >= 2."
        )
    if network.d > largest.get(network.g, 0):
        raise InputError(
            f"{network}: the exact chain of {router} has too many states; it can be solved up "
            f"to {', '.join(others)} and {last}. For other networks, estimate the mean from runs."
        )
