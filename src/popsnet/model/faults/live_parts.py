"""The parts of a network that work, and which flows have a path."""

from __future__ import annotations

from functools import cached_property
from typing import Literal, TypeAlias, get_args

import numpy as np

from popsnet.model.faults import Faults, WorkingParts
from popsnet.model.frame import Frame, Meeting
from popsnet.model.network import Bools, Ints, Network

Paths: TypeAlias = Literal[
    "any", "one hop", "one hop, both ways", "two hops", "two hops, both ways", "three hops"
]
"""The paths that a scheduler can use: any number of hops, at most two, and so on. A scheduler with
acknowledgements needs them both ways."""

PATHS: tuple[str, ...] = get_args(Paths)


class LiveParts(WorkingParts):
    """The couplers, transmitters and receivers that work, and which classes of the frame relay.

    This is the map that schedulers get if faults are known. Like d and g it is configuration: every
    processor knows all of it.

    Parameters
    ----------
    network : Network
        The network.
    faults : Faults
        The dead parts, all of them listed, whatever the slots in which they die.
    known : bool
        Whether processors know the dead parts. They then relay only in classes of the frame in
        which every member works, and otherwise in any class with a member that works.

    Attributes
    ----------
    couplers : array of bool
        Entry (b, a) says whether coupler c(b, a), from group a to group b, works.
    sends, hears : array of bool
        Whether the transmitter and the receiver of each processor work.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet import Faults, Network
    >>> from popsnet.traffic import LiveParts
    >>> live = LiveParts(Network(2, 3), Faults.parse("coupler:0-1 receiver:4"))
    >>> live.reach("one hop", np.array([0, 0, 2]), np.array([2, 5, 4]))
    array([False,  True, False])
    >>> live.reach("two hops", np.array([0, 0, 2]), np.array([2, 5, 4]))
    array([ True,  True, False])
    """

    def __init__(self, network: Network, faults: Faults, known: bool = True) -> None:
        super().__init__(network, faults)
        self.known, self._frame = known, Frame(network)
        self._found: dict[str, Bools] = {}  # by the paths that count

    def meeting(self, meeting: Meeting) -> Meeting:
        """Return a meeting of the frame without the senders whose coupler is dead."""
        works = self.couplers[meeting.groups, self.network.group(meeting.senders)]
        if works.all():
            return meeting
        senders, groups, classes, listening, tuned, listened = meeting
        tuned = None if tuned is None else tuned[works]
        return Meeting(senders[works], groups[works], classes[works], listening, tuned, listened)

    @cached_property
    def relays(self) -> Bools:
        """Whether a class of the frame relays: its members must hear and send, or one of them."""
        works = self.sends & self.hears
        relays = np.full(self.network.g * self._frame.residues, self.known)
        relays[self._frame.classes(np.flatnonzero(works != self.known))] = not self.known
        return relays

    def forwards(self, classes: Ints, destinations: Ints) -> Bools:
        """Return whether a member of each class is, or can relay packets to, the destination."""
        frame = self._frame
        by, to = classes // frame.residues, self.network.group(destinations)
        relayed = self.relays[classes] & self.couplers[to, by]
        has_way: Bools = relayed | (classes == frame.classes(destinations))
        return has_way

    @cached_property
    def fixes(self) -> Bools:
        """Whether relays of group T can pass on packets for each class, in two hops.

        Entry (T, (b, r)) is true if there is a group T' to which group T has a live coupler, and
        T' is b or its class of residue r relays to b.
        """
        g, residues = self.network.g, self._frame.residues
        last = self.couplers[:, None, :] & self.relays.reshape(g, residues).T[None, :, :]
        last |= np.eye(g, dtype=np.bool_)[:, None, :]  # (b, r, T')
        return _product(self.couplers.T, last.reshape(g * residues, g).T)

    def reach(self, paths: str, sources: Ints, destinations: Ints) -> Bools:
        """Return whether there is a path from each source to each destination.

        Parameters
        ----------
        paths : str
            The paths that count, out of ``PATHS``.
        sources, destinations : array of int
            The ends of each flow.

        Returns
        -------
        array of bool
            An entry per flow.
        """
        at, to = self.network.group(sources), self._frame.classes(destinations)
        ends = self.sends[sources] & self.hears[destinations]
        if paths.endswith("both ways"):
            ends &= self.hears[sources] & self.sends[destinations]
        if paths not in self._found:
            self._found[paths] = self._find(paths)
        return ends & self._found[paths][at, to]

    def reachable(self, paths: str) -> Bools:
        """Return an n × n array: whether there is a path from each processor to each other."""
        every = self.network.processors
        return self.reach(paths, every[:, None], every[None, :])

    def _find(self, paths: str) -> Bools:
        """Return whether group a can reach a class, for processors that work themselves."""
        direct = self.couplers.T  # (a, b)
        g, residues = self.network.g, self._frame.residues
        if paths == "one hop":
            return np.repeat(direct, residues, axis=1)
        if paths == "one hop, both ways":
            return np.repeat(direct & direct.T, residues, axis=1)
        if paths == "two hops, both ways":
            return np.repeat(self._two_ways(), residues, axis=1)
        relays = self.relays.reshape(g, residues)
        first = direct & np.any(relays, axis=1, keepdims=True).T
        if paths == "two hops":
            return np.repeat(direct | _product(first, direct), residues, axis=1)
        if paths == "three hops":
            fixed = direct[:, :, None] & relays[:, None, :]  # (T, b, r): T has the residue
            spread = _product(direct, fixed.reshape(g, -1)) | _product(first, self.fixes)
            return np.repeat(direct, residues, axis=1) | spread
        reach = direct
        relayed = direct & np.any((self.sends & self.hears).reshape(g, -1), axis=1, keepdims=True).T
        while (further := reach | _product(relayed, reach)).sum() > reach.sum():
            reach = further
        return np.repeat(reach, residues, axis=1)

    def _two_ways(self) -> Bools:
        """Return whether the scheduler relay has a group for a pair of groups, with its relay.

        The relay of group a in group T is processor (T, a) for d ≥ g. For d < g it changes: any
        index i with i ≡ a - T (mod gcd(d, g)).
        """
        network = self.network
        d, g = network.d, network.g
        both = self.couplers & self.couplers.T
        works = (self.sends & self.hears).reshape(g, d)
        group, via = np.ogrid[:g, :g]
        if d >= g:
            relay = works[via, group]
        else:
            common = int(np.gcd(d, g))
            by_residue = works.reshape(g, d // common, common)
            some = np.any(by_residue, axis=1, keepdims=True)
            relay = some[via, 0, (group - via) % common]
        return _product(both & relay, both)


def _product(first: Bools, second: Bools) -> Bools:
    """Return whether there is a middle for each pair of a row and a column."""
    return first.astype(np.float32) @ second.astype(np.float32) > 0.5
