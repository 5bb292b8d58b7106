"""The exact number of steps of the randomized routers on tiny networks.

Nothing here uses the routers or the machine: what they do is worked out a second time, from the
description, so that they can be tested against it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import count, takewhile
from math import isqrt

from popsnet.errors import InputError, did_you_mean
from popsnet.exact.chain import Chain, Progress, Step
from popsnet.exact.start import between_groups, by_residues, of_tables, without_fixed_points
from popsnet.exact.transition import choose_by_bijection, choose_by_coin, transition_of
from popsnet.exact.turned import FRESH, place, turn
from popsnet.network import Network

LARGEST = {"mei-rizzi": {1: 1, 2: 12, 3: 5}, "relay": {1: 8, 2: 8, 3: 5, 4: 4}}
"""By router and g the largest d: what takes minutes at most."""

_LEFT = Fraction(1, 10**6)

_DIGITS = 2**106
"""The scale on which the square root of a fraction is computed: more digits than a float has."""


def taking_part(network: Network, step: int) -> Fraction:
    """The paper's rule with c + ε = 4, section 3.2: the probability to take part in a step 0, 1, ….

    g / (d - g·step/4) while that is below 1, which it is for ⌈4(d/g - 1)⌉ steps; then 1.
    """
    d, g = network.d, network.g
    return min(Fraction(4 * g, 4 * d - g * step), Fraction(1)) if g * step < 4 * d else Fraction(1)


def mei_rizzi_chain(
    network: Network, destination: Sequence[int] | None = None, *, all_packets: bool = False
) -> Chain:
    """The chain of mei-rizzi: a step delivers what survives slots 1 and 2.

    A state is the conflict graph, packets by group and temporary group. For d = g that is the
    router as published. For d > g it is variant ``idealized``; the steps of ``published`` have the
    same distribution, since its losses come after the acks, and so have those of ``deferred`` if g
    divides d, since no buffer is then full when its processor listens. Packets take part by the
    paper's rule, or, with ``all_packets``, always. Without a ``destination`` permutations are
    uniform.
    """
    _require_feasible(network, "mei-rizzi")
    start = (
        of_tables(network)
        if destination is None
        else {by_residues(network, destination): Fraction(1)}
    )

    def by_coin(probability: Fraction) -> Step:
        lines = partial(choose_by_coin, cells=network.g, probability=probability)
        return partial(transition_of, lines=lines)

    early = takewhile(lambda part: part < 1, (taking_part(network, s) for s in count()))
    return Chain(start, [] if all_packets else [*map(by_coin, early)], by_coin(Fraction(1)))


def relay_chain(network: Network, destination: Sequence[int] | None = None) -> Chain:
    """The chain of relay's plain sweeps, schedule S, with ideal public bijections.

    A state has the pending packets by group and group of their source. In a stage a uniform
    bijection for each destination group gives every packet one of d places, and a packet is
    delivered if no other of its source's group has its place. At d = g stage P1 does the same; and
    there the bijections of the fifth stage and all later ones are those of the fourth, turned. The
    router's own bijections are only nearly uniform, so that this is a close approximation of it.
    """
    _require_feasible(network, "relay")
    start = (
        without_fixed_points(network)
        if destination is None
        else {between_groups(network, destination): Fraction(1)}
    )
    fresh = partial(transition_of, lines=partial(choose_by_bijection, cells=network.d))
    if network.d != network.g:
        return Chain(start, [], fresh)
    return Chain(start, [*[fresh] * (FRESH - 1), place], turn)


ROUTERS = {"mei-rizzi": mei_rizzi_chain, "relay": relay_chain}
"""The routers that have an exact chain, by name."""


@dataclass(frozen=True)
class Distribution:
    """Mean and variance, and the probabilities of the first few numbers of steps."""

    mean: Fraction
    variance: Fraction
    within: tuple[Fraction, ...]
    """P(steps ≤ s) for s = 0, 1, …"""
    states: int
    """Of the chain, up to the names of groups."""

    def __post_init__(self) -> None:
        if any(after < before for before, after in zip(self.within, self.within[1:], strict=False)):
            raise ValueError("The probabilities of at most s steps do not grow with s.")
        if self.variance < 0:
            raise ValueError(f"variance = {float(self.variance)}: a variance is not negative.")

    @property
    def sd(self) -> float:
        """The standard deviation."""
        return isqrt(int(self.variance * _DIGITS)) / isqrt(_DIGITS)

    @property
    def left(self) -> Fraction:
        """The probability of more steps than ``within`` has."""
        return 1 - self.within[-1]

    def probability(self, steps: int) -> Fraction:
        """P(steps = s)."""
        return self.within[steps] - (self.within[steps - 1] if steps else 0)

    def quantile(self, part: Fraction) -> int | None:
        """The least s with P(steps ≤ s) ≥ part, or None if ``within`` does not reach it."""
        return next((s for s, probability in enumerate(self.within) if probability >= part), None)


def solve(chain: Chain, left: Fraction = _LEFT, most: int = 200) -> Distribution:
    """Mean, variance, and probabilities until at most ``left`` is missing, or ``most`` steps."""
    first, second = chain.moments()
    within = []
    for steps, probability in enumerate(chain.within()):
        within.append(probability)
        if 1 - probability <= left or steps >= most:
            break
    return Distribution(first, second - first * first, tuple(within), chain.states)


@dataclass(frozen=True)
class StepsDistribution(Distribution):
    """The exact distribution of the steps of a router, or of the stages of relay."""

    network: Network
    router: str
    all_packets: bool
    """Whether all packets take part in every step of mei-rizzi."""

    @property
    def unit(self) -> str:
        """What is counted."""
        return "steps" if self.router == "mei-rizzi" else "stages"

    @property
    def mean_slots(self) -> Fraction:
        """Five slots per step; or one for the seed, and 2⌈d/g⌉ + 1 per stage."""
        if self.router == "mei-rizzi":
            return 5 * self.mean
        return 1 + (2 * self.network.blocks + 1) * self.mean

    @property
    def quantiles(self) -> dict[Fraction, int | None]:
        """The steps within which a half, 90 %, 99 % and 99.9 % of all runs end."""
        parts = (Fraction(part, 1000) for part in (500, 900, 990, 999))
        return {part: self.quantile(part) for part in parts}

    @property
    def fewest(self) -> int:
        """The fewest steps that are possible."""
        return next(steps for steps, within in enumerate(self.within) if within)

    @property
    def model(self) -> str:
        """What the chain assumes, in words."""
        d, g = self.network.d, self.network.g
        if self.router == "relay":
            turned = ", turned from the fifth stage on" if d == g else ""
            return f"schedule S with ideal bijections{turned} (the router's own are nearly uniform)"
        if d == g:
            return "as published"
        rule = "packets take part by the paper's rule"
        if self.all_packets:
            rule = "every packet takes part in every step"
        same = "; deferred takes as many steps" if d % g == 0 else ""
        return f"idealized, {rule} (the steps of published are the same{same})"


def steps_distribution(
    network: Network,
    router: str = "mei-rizzi",
    destination: Sequence[int] | None = None,
    *,
    all_packets: bool = False,
    progress: Progress | None = None,
) -> StepsDistribution:
    """Solve the chain of a router, on one permutation or, without one, on uniform permutations.

    Examples
    --------
    >>> steps_distribution(Network(2, 2)).mean
    Fraction(136, 45)
    """
    if router not in ROUTERS:
        raise InputError(
            f"router = {router}: exact chains exist for {' and '.join(ROUTERS)}."
            f"{did_you_mean(router, ROUTERS)}"
        )
    if all_packets and router == "relay":
        raise InputError(
            "all_packets = True is for mei-rizzi; in relay every packet always takes part."
        )
    if router == "relay":
        chain = relay_chain(network, destination)
    else:
        chain = mei_rizzi_chain(network, destination, all_packets=all_packets)
    chain.progress = progress
    found = solve(chain)
    return StepsDistribution(**vars(found), network=network, router=router, all_packets=all_packets)


def _require_feasible(network: Network, router: str) -> None:
    largest = LARGEST[router]
    sizes = ", ".join(f"d <= {d} for g = {g}" for g, d in largest.items())
    if network.d < network.g:
        raise InputError(f"{network}: the chain of {router} is for d >= g; give a larger D.")
    if router == "mei-rizzi" and network.g == 1 < network.d:
        raise InputError(
            f"{network}: with one group packets may meet for ever, and the mean is infinite. "
            "Give G >= 2."
        )
    if network.d > largest.get(network.g, 0):
        raise InputError(
            f"{network}: the exact chain of {router} has too many states; it can be solved for "
            f"{sizes}. Runs sample any network."
        )
