"""The exact number of steps of the randomized routers on tiny networks.

Nothing here uses the routers or the machine: what they do is worked out a second time, from the
description, so that they can be tested against it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import count, takewhile

from popsnet.errors import InputError
from popsnet.exact.chain import Chain, Progress, Step
from popsnet.exact.distribution import Distribution
from popsnet.exact.lines import choose_by_bijection, choose_by_coin
from popsnet.exact.start import Start, between_groups, by_residues, of_tables, without_homes
from popsnet.exact.transition import Lines, transition_of
from popsnet.exact.turned import FRESH, place, turn
from popsnet.network import Network

__all__ = ["LARGEST", "ROUTERS", "mei_rizzi_chain", "relay_chain", "solve", "taking_part"]

LARGEST = {
    "mei-rizzi": {1: 1, 2: 12, 3: 5},
    "relay": {1: 8, 2: 8, 3: 5, 4: 4},
}
"""By router and g the largest d: what takes minutes at most."""

_LEFT = Fraction(1, 10**6)


def taking_part(network: Network, step: int) -> Fraction:
    """The paper's law with c + ε = 4, section 3.2: the chance to take part in a step 0, 1, ….

    g / (d - g·step/4) while that is below 1, which it is for ⌈4(d/g - 1)⌉ steps; then 1.
    """
    d, g = network.d, network.g
    return min(Fraction(4 * g, 4 * d - g * step), Fraction(1)) if g * step < 4 * d else Fraction(1)


def mei_rizzi_chain(
    network: Network,
    destination: Sequence[int] | None = None,
    *,
    everybody: bool = False,
    progress: Progress | None = None,
) -> Chain:
    """The chain of mei-rizzi: a step delivers what survives slots 1 and 2.

    A state is the conflict graph, packets by group and temporary group. For d = g that is the
    router as published. For d > g it is variant ``idealized``; the steps of ``published`` have the
    same law, since its losses come after the acks, and so have those of ``deferred`` if g divides
    d, since no buffer is then full when its processor listens. Packets take part by the paper's
    law, or, with ``everybody``, always. Without a ``destination`` permutations are uniform.
    """
    _require_feasible(network, "mei-rizzi")
    early = takewhile(lambda chance: chance < 1, (taking_part(network, s) for s in count()))

    def by_coin(chance: Fraction) -> Step:
        return _step(partial(choose_by_coin, cells=network.g, chance=chance))

    return Chain(
        _start(network, destination, by_residues, of_tables),
        [] if everybody else [by_coin(chance) for chance in early],
        by_coin(Fraction(1)),
        progress,
    )


def relay_chain(
    network: Network,
    destination: Sequence[int] | None = None,
    *,
    progress: Progress | None = None,
) -> Chain:
    """The chain of relay's plain sweeps, schedule S, with ideal public bijections.

    A state has the pending packets by group and group of their source. In a stage a uniform
    bijection for each destination group gives every packet one of d places, and a packet is
    delivered if no other of its source's group has its place. At d = g stage P1 does the same; and
    there the bijections of the fifth stage and all later ones are those of the fourth, turned. The
    router's own bijections are only nearly uniform, so that this is a close approximation of it.
    """
    _require_feasible(network, "relay")
    start = _start(network, destination, between_groups, without_homes)
    fresh = _step(partial(choose_by_bijection, cells=network.d))
    if network.d != network.g:
        return Chain(start, [], fresh, progress)
    return Chain(start, [*[fresh] * (FRESH - 1), place], turn, progress)


def _step(lines: Lines) -> Step:
    return partial(transition_of, lines=lines)


ROUTERS = {"mei-rizzi": mei_rizzi_chain, "relay": relay_chain}


def solve(chain: Chain, left: Fraction = _LEFT, most: int = 200) -> Distribution:
    """Mean, variance, and probabilities until at most ``left`` is missing, or ``most`` steps."""
    first, second = chain.moments()
    within = []
    for steps, chance in enumerate(chain.within()):
        within.append(chance)
        if 1 - chance <= left or steps >= most:
            break
    return Distribution(first, second - first * first, tuple(within), chain.states)


def _start(
    network: Network,
    destination: Sequence[int] | None,
    one: Callable[[Network, Sequence[int]], tuple[tuple[int, ...], ...]],
    every: Callable[[Network], Start],
) -> Start:
    return every(network) if destination is None else {one(network, destination): Fraction(1)}


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
