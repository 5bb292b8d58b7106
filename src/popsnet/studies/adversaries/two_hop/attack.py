"""The adversary of two-hop algorithms: build a permutation and confirm it on the machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from popsnet.base.errors import InputError, wrong
from popsnet.base.progress import Progress, patient_progress
from popsnet.base.report import Fact, Report, Reported, facts_of
from popsnet.model.network import I32, Network, about, on_network, require_one_wavelength
from popsnet.studies.adversaries.execution import complete, verdict
from popsnet.studies.adversaries.two_hop import execution
from popsnet.studies.adversaries.two_hop.algorithm import TwoHop, find_two_hop
from popsnet.studies.adversaries.two_hop.keeping import Marking, Round, mark, round_of
from popsnet.theory.bounds import guaranteed_rounds

MOST_ROUNDS = 32
"""The search for a longer delay stops at this many rounds."""

_MOST = 2**21


@dataclass(frozen=True, eq=False, repr=False)
class TwoHopAttack(Reported):
    """The outcome of :func:`attack_two_hop`: a permutation and the packet that it delays.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.studies.adversaries import attack_two_hop
    >>> attack = attack_two_hop("bits", Network(4, 4), most_rounds=2)
    >>> attack.slots, attack.at_limit
    (4, True)
    """

    network: Network
    algorithm: str
    rounds: int
    packet: int
    marked: tuple[int, ...]
    """The packets whose destinations matter, the delayed one first."""
    destination: I32
    arrivals: execution.TwoHopRun
    most_rounds: int
    """The limit of the search; a delay of this many rounds may be longer."""

    @property
    def slots(self) -> int:
        """T, the slots after which the packet has not arrived."""
        return 2 * self.rounds

    @property
    def guaranteed(self) -> int:
        """The T that the theorem guarantees on this network against every algorithm."""
        return 2 * guaranteed_rounds(self.network)

    @cached_property
    def randomized(self) -> execution.SlotCount:
        """The slots of the randomized algorithm on the same permutation, run on first access."""
        with patient_progress("the randomized algorithm", None):
            (needed,) = execution.randomized_slots(self.network, [self.destination])
        return needed

    @property
    def at_limit(self) -> bool:
        """Whether the search stopped at its limit, so that the delay may be longer."""
        return self.rounds == self.most_rounds

    @property
    def confirmed(self) -> bool:
        """Whether the machine ran all slots and no processor of its group heard the packet."""
        return self.arrivals.outcome.slots == self.slots and not self.arrivals.slot[self.packet]

    def report(self) -> Report:
        """Return the packets that block each other, and the slots of the randomized algorithm."""
        slots, capped = self.randomized
        waiting = int((self.arrivals.slot == 0).sum())
        facts = (
            *facts_of(self, "network", "algorithm", "slots", "guaranteed", "at_limit", "packet"),
            Fact("waiting", waiting),
            Fact("confirmed", self.confirmed),
            Fact("marked", {str(packet): int(self.destination[packet]) for packet in self.marked}),
            Fact("randomized_slots", None if capped else slots),
            Fact("randomized_stopped_after", slots if capped else None),
        )
        stopped = " (capped: it was stopped with packets on their way)"
        several = f"{len(self.marked)} packets block each other"
        blocked = "1 packet gets nowhere" if len(self.marked) == 1 else several
        title = (
            f"{self.network}: two-hop algorithm {self.algorithm}\n"
            f"{blocked} for {self.slots} slots{', the most asked for' if self.at_limit else ''}; "
            f"against every algorithm there is a delay of {self.guaranteed} or more.\n"
            f"On the machine {waiting} of {self.network.n:,} packets have not arrived. "
            f"The randomized algorithm takes {execution.at_least(slots, capped)} slots on the "
            f"same permutation{stopped if capped else ''}."
        )
        text = f"packet {self.packet} has not arrived after {self.slots} slots."
        ends = verdict(self.confirmed, text)
        return Report(title, facts, (), ends, self.confirmed, about=about(self.network))


@on_network
def attack_two_hop(
    algorithm: TwoHop | str, network: Network, most_rounds: int = MOST_ROUNDS,
    progress: Progress = None,
) -> TwoHopAttack:  # fmt: skip
    """Find a long delay of a two-hop algorithm, at least as long as the theorem guarantees.

    Parameters
    ----------
    algorithm : TwoHop or str
        An algorithm, its name, or a file that defines one.
    network : Network, or int and int
        The network, or its d and g.
    most_rounds : int
        Stop the search at this many rounds, of two slots each.
    progress : function, bool or None
        A function that is called with the work done and a description. None shows a progress bar
        on a terminal after two seconds, False shows nothing.

    Returns
    -------
    TwoHopAttack
        The permutation, the delayed packet, and whether the machine confirms the delay.

    Raises
    ------
    InputError
        If the functions of the algorithm give different answers for the same slot, or if no
        packet can be delayed for one round, which happens only for d < 3 or g < 2.

    Notes
    -----
    The theorem guarantees T ≥ 2 log₂ d - 2 log₂ log₂ d - O(1) slots for g > T/2. The search doubles
    the rounds until no marking is found and then bisects: O(log R) markings of O(nR) time each,
    and O(dR) for every marked packet.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.studies.adversaries import attack_two_hop
    >>> attack = attack_two_hop("hashed", Network(8, 8))
    >>> attack.slots, attack.guaranteed, attack.confirmed
    (12, 2, True)
    """
    require_one_wavelength(network)
    if max(network.n, network.couplers) > _MOST:
        raise InputError(
            f"{network} has n = {network.n:,} processors and g² = {network.couplers:,} couplers, "
            f"and every round keeps tables of both; give a network with at most {_MOST:,} of each."
        )
    if most_rounds < 1:
        raise wrong("most_rounds", most_rounds)("a delay takes at least 1 round.")
    # recorded, so that what is executed is what was planned for
    chosen = find_two_hop(algorithm) if isinstance(algorithm, str) else algorithm
    algorithm = replace(chosen, known={})
    tables: list[Round] = []

    def marking_of(rounds: int) -> Marking | None:
        report(detail=f"{2 * rounds} slots")
        while len(tables) < rounds:
            tables.append(round_of(algorithm, network, len(tables)))
        return mark(network, tables[:rounds])

    with patient_progress("marking", None, progress) as report:
        marking = _longest(network, marking_of, most_rounds)
        rounds, marked = len(marking.rounds), tuple(marking.marked)
        destination = _permutation(network, marking)
        run = execution.execute_two_hop(algorithm, network, destination, rounds)
    name = algorithm.name
    return TwoHopAttack(network, name, rounds, marked[0], marked, destination, run, most_rounds)


def _longest(network: Network, marking_of: Callable[[int], Marking | None], most: int) -> Marking:
    rounds = min(max(guaranteed_rounds(network), 1), most)
    longest = marking_of(rounds)
    if longest is None:
        raise InputError(
            f"On {network} this construction finds no packet that can be delayed for a round, "
            "though there may be one. Give d >= 3 and g >= 2: then it finds one for every "
            "algorithm."
        )
    failed = most + 1
    while failed - rounds > 1:
        tried = min(2 * rounds, most) if failed > most else (rounds + failed) // 2
        marking = marking_of(tried)
        if marking is None:
            failed = tried
        else:
            rounds, longest = tried, marking
    return longest


def _permutation(network: Network, marking: Marking) -> I32:
    """Send every marked packet to its class, and the others wherever there is room."""
    marked, taken = np.array(marking.marked), Counter[int]()
    destinations = []
    for group in marking.classes[marked].tolist():
        destinations.append(network.processor(group, taken[group]))
        taken[group] += 1
    return complete(network.n, marked, np.array(destinations))
