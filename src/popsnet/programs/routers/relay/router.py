"""relay: our own router for any d and g, with public coins and one contended hop."""

from __future__ import annotations

import re
from functools import partial
from itertools import pairwise
from math import log2
from typing import Any

import numpy as np

from popsnet.base.errors import InputError, did_you_mean
from popsnet.hardware.propagation import ONE_HOP
from popsnet.model.coins import Coins
from popsnet.model.faults import KINDS
from popsnet.model.memory import Memory
from popsnet.model.network import Bools, Network
from popsnet.model.slot import Exchange, Ints, Slots
from popsnet.programs.facts import (
    Claims,
    Expectation,
    Explanation,
    explained,
    explanation,
    phases_of,
)
from popsnet.programs.router import (
    Route,
    Variant,
    default_working,
    own_plus_due,
    register,
    register_relation,
    register_variant,
)
from popsnet.programs.routers.direct import WORDS, direct, direct_slots, direct_working
from popsnet.programs.routers.relay import survival
from popsnet.programs.routers.relay.census import census, census_slots, roll_call
from popsnet.programs.routers.relay.folds import folds
from popsnet.programs.routers.relay.park import Park, SweepStage
from popsnet.programs.routers.relay.planner import plan, plan_survival
from popsnet.programs.routers.relay.schedule import RelaySchedule, parse_schedule
from popsnet.programs.routers.relay.state import RelayState
from popsnet.programs.routers.relay.survival import Seed, SurvivalSchedule, parse_survival
from popsnet.programs.routers.to_all import among, broadcast
from popsnet.theory.bounds import Bound
from popsnet.theory.stage_growth import log_star

SEED = "relay seed"
"""The purpose of the coin that gives the public seed."""

_MOST_COUNTERS = 2**28
"""The most counters of a census, over all sets: a simulation holds them all."""


def follow(
    schedule: RelaySchedule, network: Network, destination: Ints, coins: Coins, memory: Memory
) -> Slots:
    """Route any permutation by the stages of a schedule in O(d/g + log log g) expected slots.

    In the first slot processor 0 sends a random seed to every processor, from which all stages
    derive their public bijections. Then come the stages, the last of them repeated, until every
    source knows that its packet has arrived. For d = g a plain sweep takes the undelivered
    fraction from ρ to ρ(1 - e^-ρ) in three slots. No stage can lose a packet; each proves it.

    As in mei-rizzi, the run ends when every source has its ack, and only the simulation sees that.
    After a shower without objections in the global OR every processor knows. Copies that relays
    keep for a marked stage are dropped with the end of the run.
    """
    state, knows = yield from _begin(network, destination, coins, memory)
    for state.step, (stage, state.following) in enumerate(pairwise(schedule)):
        if not state.pending.size:
            break
        yield from among(knows, stage.run(state))
    if any(stage.looks_ahead for stage in schedule.all_stages):
        memory.drop_copies()


def _begin(
    network: Network, destination: Ints, coins: Coins, memory: Memory
) -> Exchange[tuple[RelayState, Bools]]:
    """Send the seed, and return the state and which processors have heard it."""
    seed = int(coins.words(SEED, 0, np.arange(1))[0])
    knows = yield from broadcast(network, seed, phase="seed")
    return RelayState(network, destination, coins, memory, seed), knows


def _scheduled(text: str) -> Variant:
    """Return the variant that follows a schedule, under its canonical text."""
    if (surviving := parse_survival(text)) is not None:
        words = Explanation(explanation("relay survive"), surviving.phases)
        route = partial(survival.survive, surviving)
        return _variant(surviving, route, words=words, survives=frozenset(KINDS))
    try:
        schedule = parse_schedule(text)
    except InputError as error:
        if meant := _meant(text):
            raise InputError(f"{error}{meant}") from None
        if not re.fullmatch(r"[a-z _-]+", text):
            raise
        raise InputError(f"{error} Or use a variant: {', '.join(_NAMED)}.") from None
    for stage in schedule.all_stages:
        if stage.is_verified:
            raise InputError(
                f"Stage {stage} is for schedules that survive faults; give 'survive: {schedule}'."
            )
    words = Explanation(partial(_explain, schedule), {**phases_of("seed"), **schedule.phases})
    return _variant(schedule, partial(follow, schedule), words=words, wavelengths=True)


def _variant(schedule: RelaySchedule | SurvivalSchedule, route: Route, **facts: Any) -> Variant:
    return Variant(
        route, schedule.obstacle, name=str(schedule), schedule=schedule, buffers=schedule.buffers,
        working=schedule.working, **facts,
    )  # fmt: skip


_NAMED = ("direct", "roll-call", "census", survival.SURVIVE, survival.FLOODED)


def _meant(text: str) -> str:
    """Return a suggestion if the text is a schedule but for its case, or almost a variant."""
    try:
        parse_schedule(text.upper())
    except InputError:
        return did_you_mean(text, _NAMED)
    return f" Did you mean {text.upper()!r}?"


def expected_slots(network: Network) -> float:
    """Return the slots that relay is expected to take: those of the plan, or of one hop.

    Parameters
    ----------
    network : Network
        The network.

    Returns
    -------
    float
        The smaller of the two numbers.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.programs.routers.relay import expected_slots
    >>> expected_slots(Network(4, 4)), round(expected_slots(Network(1024, 1024)), 1)
    (4, 16.8)
    """
    return direct_slots(network) if _is_direct(network) else plan(network).slots


def _default(network: Network) -> str:
    """Return the plan, or one hop if that is not longer."""
    return "direct" if _is_direct(network) else str(plan(network).schedule)


def _is_direct(network: Network) -> bool:
    return network.wavelengths == 1 and direct_slots(network) <= plan(network).slots


def _basis(network: Network) -> str:
    if _is_direct(network):
        return "formula: max(d, g) (its plan is direct)"
    return "fluid limit of the planned stages"


def _for_census(network: Network) -> str | None:
    if network.d % network.g or network.d < network.g:
        return "for a census d must be a multiple of g. Give a schedule instead, or no variant."
    if network.g**3 > _MOST_COUNTERS:
        return f"a census keeps g^3 = {network.g**3:,} counters, more than {_MOST_COUNTERS:,}."
    return None


_CLAIMS = Claims(
    Expectation(expected_slots, exact=_is_direct, reason=_basis),
    (
        Bound("relay, planned", "upper", "the shortest schedule by the fluid limit",
              "on average, by the fluid limit; not proved", "any d, g",
              "docs/explanation/relay.md, how a schedule is chosen",
              slots=expected_slots),
        Bound("relay, fresh coins", "upper", "(2⌈d/g⌉ + 1)(log2 log2 d + O(1)): "
              "3 log2 log2 g + O(1) for d = g", "with high probability", "d >= g, sweeps, every "
              "one with new and truly random bijections",
              "docs/explanation/relay.md, the theorem",
              lambda network: network.d >= network.g and network.d > 2,
              lambda network: SweepStage().slots(network) * log2(log2(network.d)), leading=True),
        Bound("relay, as it is", "upper", "O(log g)", "with high probability", "d = g, sweeps, "
              "truly random bijections, turned from the fifth on; 3 log2 log2 g + O(1) is the "
              "fluid limit and what is measured",
              "docs/explanation/relay.md, turned sweeps",
              lambda network: network.d == network.g),
        Bound("relay, team stages", "upper", "8 log* g + O(1)", "with high probability",
              "d = g, stages T alone, truly random draws",
              "docs/explanation/log-star.md, the theorem",
              lambda network: network.d == network.g > 1,
              lambda network: 8 * log_star(network.g), leading=True),
        Bound("relay, census", "upper", "3k + √(2kr + r²/9) + r/3 + 2⌈log2 g⌉ + 3, k = d/g, "
              "r = ln 5g²", "with probability 4/5, if sets have room, as measured",
              "g divides d, k >= 8; messages of g counters",
              "docs/explanation/relay.md, Bernstein's inequality",
              lambda network: network.d % network.g == 0 and network.d >= 8 * network.g,
              census_slots),
        Bound("roll call", "upper", "2g", "always", "d = g", "popsnet, relay's variant",
              lambda network: network.d == network.g, lambda network: 2 * network.g),
    ),
)  # fmt: skip


def _explain(schedule: RelaySchedule, network: Network) -> str:
    stages = set(schedule.all_stages)
    if network.d == network.g and stages <= {SweepStage(), Park((1,))}:
        return explanation("relay sweeps")
    if all(isinstance(stage, Park | SweepStage) for stage in stages):
        return explanation("relay park")
    return explanation("relay marked" if any(stage.looks_ahead for stage in stages) else "relay")


@register(
    "relay",
    variant="direct",
    default=_default,
    parse_variant=_scheduled,
    summary="public coins; one contended hop to a relay that stores and delivers; acks per window",
    slots="about 2 log2 log2 g + 10 for d = g >= 32, 6 d/g for d >> g; expected slots are planned",
    buffers=2,
    memory="2 + ⌈d/g⌉ packets per processor, one more for Q, X and census; XY(x,y) 2 + y, roll "
    "call g + 2",
    messages="a seed of 64 bits, maps of w bits, single bits; T names of log2 d bits, Q, X packet "
    "numbers, census g counters of log2 d bits; survive no seed, acks of ⌈d/g⌉ log2 g bits, or y "
    "log2 g in VXY(x,y)",
    randomness="a public seed, private coins",
    faults="variant survive: all; others: none, as a relay that has acknowledged a packet may not "
    "be able to deliver it, and a processor that did not hear the seed takes no part",
    reference="popsnet; docs/explanation/relay.md",
    online=True,
    claims=_CLAIMS,
    words=WORDS,
    working=direct_working,
    propagation=ONE_HOP,
)
def one_hop(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Route in one hop and max(d, g) slots, as :func:`direct` does: best on tiny networks."""
    return direct(network, destination, coins, memory)


register_variant(
    "relay",
    "roll-call",
    obstacle=lambda network: None if network.d == network.g else "roll call needs d = g.",
    buffers=lambda network: network.g + 2,
    working=default_working,
    words=explained("relay roll-call", "roll call"),
)(roll_call)


register_relation(
    "relay",
    "folds",
    buffers=lambda demand: own_plus_due(demand) + 1,
    words=explained("relay folds", "seed", "folds"),
)(folds)


@register_variant(
    "relay",
    "census",
    obstacle=_for_census,
    buffers=lambda network: 3 + network.blocks,
    # every processor hears g counters of eight bytes, and adds
    working=lambda network: default_working(network) + 18 * network.n * network.g,
    words=explained("relay census", "seed", "census", "global-or"),
)
def by_census(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Route by :func:`census` in about 3d/g slots, if a message may hold g counters."""
    state, knows = yield from _begin(network, destination, coins, memory)
    while state.pending.size:
        yield from among(knows, census(state))
        state.step += 1


def _register_survival(name: str, seed: Seed) -> None:
    """Register the planned schedule of verified stages, under the name of its text."""
    every = SurvivalSchedule(parse_schedule("V(2,2) VF VXY(1,1)"), seed)

    def planned(network: Network) -> SurvivalSchedule:
        return SurvivalSchedule(plan_survival(network).schedule, seed)

    def route(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
        """Follow the plan."""
        return survival.survive(planned(network), network, destination, coins, memory)

    register_variant(
        "relay",
        name,
        buffers=lambda network: planned(network).buffers(network),
        working=lambda network: planned(network).working(network),
        words=Explanation(explanation("relay survive"), every.phases),
        survives=KINDS,
        planned=lambda network: str(planned(network)),
    )(route)


_register_survival(survival.SURVIVE, "configured")
_register_survival(survival.FLOODED, "flooded")
