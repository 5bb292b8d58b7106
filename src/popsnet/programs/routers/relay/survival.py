"""Schedules that survive faults: verified stages, fresh bijections, a seed that is known.

    survive: V2 V1
    survive-flooded: V(5,5) | VF VF V8

Stages are V, VF and VXY, in which a source is done only after its destination has confirmed. A
public bijection is drawn afresh for every stage: a turned one would lead a packet by way of a dead
coupler again and again, in a pattern. There is no global OR, which a dead coupler would keep from
ever ending. Sources know their own packets, and the end of a run is seen by the simulation alone.

**The seed.** With ``survive`` the public seed is configured in every processor, as d and g are, and
takes no slot. With ``survive-flooded`` processor 0 draws it and sends it in slot 1, when every
processor listens to group 0. Before each later stage comes one more slot, in which one processor of
each group repeats the seed if it knows it, and those that do not know it listen: to group 0 with
probability 1/2, else to a random group. The one that repeats it is the first of its group in every
second of these slots, and else each of the group in turn. No two messages meet, since on a coupler
c(b, a) only one processor of group a sends. A processor that does not know the seed takes no part
in stages. With probability 1 every processor hears it in the end to which a chain of live couplers
and processors leads from processor 0; if that is dead, no other ever does.

**Why every kind of fault is survived**, that is, no packet is lost or delivered twice and no rule
is broken: a source drops its packet only on an ack that names its destination, and acks start at
the destination (:mod:`popsnet.programs.routers.relay.verified`), so nothing that is not heard, for
whatever reason, can lose a packet. A destination takes its packet once. Slots that are free of
conflicts are so by who may send in them at all, and a fault only removes messages. So it is for
dead couplers, dead transmitters, whose messages reach no coupler, dead receivers, dead processors,
which are both, and lost messages, whether for all listeners of a coupler or for one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from popsnet.base.errors import InputError
from popsnet.model.coins import Coins
from popsnet.model.memory import Memory
from popsnet.model.network import Bools, Network
from popsnet.model.slot import Ints, Slot, Slots
from popsnet.programs.facts import Phases, phases_of
from popsnet.programs.routers.relay.schedule import RelaySchedule, parse_schedule
from popsnet.programs.routers.relay.state import RelayState
from popsnet.programs.routers.relay.verified import VerifiedPark
from popsnet.programs.routers.to_all import among, global_or_bytes

SURVIVE, FLOODED = "survive", "survive-flooded"
"""The names of the variants with a planned schedule, and the beginnings of others."""

_CONFIGURED_SEED = "relay configured seed"
_FLOODED_SEED = "relay flooded seed"
_LISTEN = "relay flood"
"""The purpose of the private coins that say to which group a processor without the seed listens."""

Seed: TypeAlias = Literal["configured", "flooded"]


@dataclass(frozen=True)
class SurvivalSchedule:
    """A schedule of verified stages, and how processors know the seed.

    Parameters
    ----------
    stages : RelaySchedule
        The stages: V, VF and VXY.
    seed : {"configured", "flooded"}
        Whether the seed is configured in every processor, or sent by processor 0 and repeated
        before every stage.

    Raises
    ------
    InputError
        If there are other stages.

    Examples
    --------
    >>> from popsnet.programs.routers.relay import parse_schedule
    >>> from popsnet.programs.routers.relay.survival import SurvivalSchedule
    >>> print(SurvivalSchedule(parse_schedule("V2 V1 V1")))
    survive: V2 V1
    """

    stages: RelaySchedule
    seed: Seed = "configured"

    def __post_init__(self) -> None:
        for stage in self.stages.all_stages:
            if not stage.is_verified:
                raise InputError(
                    f"Stage {stage} may lose packets after faults; a schedule that survives them "
                    "is made of V, VF and VXY(x,y), as in 'survive: V2 V1'."
                )

    def __str__(self) -> str:
        return f"{SURVIVE if self.seed == 'configured' else FLOODED}: {self.stages}"

    @property
    def phases(self) -> Phases:
        """What happens in the phases of its stages, by pattern."""
        flood = phases_of("flood") if self.seed == "flooded" else {}
        return {**flood, **self.stages.phases}

    def buffers(self, network: Network) -> int:
        """Return the number of packets that a processor may hold."""
        return self.stages.buffers(network)

    def working(self, network: Network) -> int:
        """Return the bytes of the arrays of a run besides the machine's, with a slot and inbox."""
        flood = 2 * global_or_bytes(network, network.g) if self.seed == "flooded" else 0
        return self.stages.working(network) + flood

    def obstacle(self, network: Network) -> str | None:
        """Return why the schedule cannot be run on a network, or None if it can.

        For d > g one of the stages to repeat must have a window of two slots. In VF and V1 packets
        of a group for one group may always meet, so if some of them cannot be delivered, they could
        keep others from delivery for ever.
        """
        if (reason := self.stages.obstacle(network)) is not None:
            return reason
        parks = [stage for stage in self.stages.repeated if isinstance(stage, VerifiedPark)]
        if network.d > network.g and all(max(park.windows) == 1 for park in parks):
            return (
                "for d > g the stages to repeat must include a V with a window of at least 2 "
                f"slots, as in '{self.stages} | VF V{2 * network.blocks}'."
            )
        return None


def parse_survival(text: str) -> SurvivalSchedule | None:
    """Return the schedule of a text like ``survive: V2 V1``, None if it does not begin like one.

    Parameters
    ----------
    text : str
        ``survive:`` or ``survive-flooded:``, and stages.

    Returns
    -------
    SurvivalSchedule or None
        The schedule.

    Raises
    ------
    InputError
        If the stages are wrong.

    Examples
    --------
    >>> from popsnet.programs.routers.relay.survival import parse_survival
    >>> print(parse_survival("survive-flooded:  V2 | V1 VF"))
    survive-flooded: V2 | V1 VF
    >>> parse_survival("P2 P1") is None
    True
    """
    kind, colon, stages = text.partition(":")
    if not colon or kind.strip() not in (SURVIVE, FLOODED):
        return None
    seed: Seed = "configured" if kind.strip() == SURVIVE else "flooded"
    return SurvivalSchedule(parse_schedule(stages), seed)


def survive(
    schedule: SurvivalSchedule, network: Network, destination: Ints, coins: Coins, memory: Memory
) -> Slots:
    """Route any permutation on a network with faults, and lose no packet.

    A packet is delivered with probability 1 if it has a live path of two hops both ways,
    :func:`popsnet.model.faults.two_way_paths`. The proof is in docs/explanation/faults.md.
    """
    if schedule.seed == "configured":
        seed = coins.configured(_CONFIGURED_SEED)
    else:
        seed = int(coins.words(_FLOODED_SEED, 0, np.arange(1))[0])
    state = RelayState(network, destination, coins, memory, seed, turns=False)
    knows = np.full(network.n, schedule.seed == "configured")
    knows[0] = True
    for state.step, stage in enumerate(schedule.stages):
        if not state.pending.size:
            return
        if schedule.seed == "flooded":
            yield from _flood(state, knows)
        yield from among(knows, stage.run(state))


def _flood(state: RelayState, knows: Bools) -> Slots:
    """Let one processor of each group repeat the seed, and add those that hear it."""
    network, turn, processors = state.network, state.step, state.network.processors
    speaks = 0 if turn % 2 == 0 else (turn + 1) // 2 % network.d
    senders = processors[knows & (network.index(processors) == speaks)]
    ignorant = processors[~knows]
    listened = np.zeros(len(ignorant), dtype=np.int32)
    if turn:
        drawn = state.coins.draws(2 * network.g, _LISTEN, turn, ignorant)
        listened = np.where(drawn < network.g, drawn, 0)
    seeds = np.full(len(senders), state.seed, dtype=np.uint64)
    options = state.without_conflict("seed, repeated" if turn else "seed")
    inbox = yield Slot.broadcast(
        senders, network.g, (ignorant, listened), contents=seeds, bits=64, **options
    )
    knows[inbox.receivers] = True
