"""The conflict-free frame: n slots in which every processor meets every other one, on any shape.

Let D = max(d, g) and M = min(d, g). A slot of the frame is a pair (t0, t2), t0 in [0, D) and t2 in
[0, M), so the frame has D·M = n slots. The *class* of a processor is its group b and its residue,
its index mod M. In every slot of the frame a sender meets one class, all of whose members hear it.

- d ≤ g: (a, i) sends to group b = a + i - t0 and meets residue i + t2, the one processor
  (b, i + t2). On the coupler c(b, a) only the index i ≡ b - a + t0 (mod g) sends, and there is at
  most one such i < d ≤ g. So every slot is a permutation of the processors, and in a frame every
  ordered pair meets once.
- d > g: let j = i - t0 (mod d). (a, i) sends if j < g, to group b = a + j, and meets residue
  j + t2. On c(b, a) only j = b - a sends, which is one i. A processor sends in g of the d values of
  t0, each time with another j, so in a frame it meets every class of every group once. A residue
  has ⌈d/g⌉ or ⌊d/g⌋ members; g need not divide d.

With W wavelengths a group has c = gW channels, M is min(d, c), and a residue is an index mod M.
Channel j of group a is group b = a + j (mod g) on wavelength j div g. The frame still has n slots.

- d ≤ c: t0 is in [0, g) and t2 in [0, d). (a, i) sends on channel j = i - t0 (mod c) and meets
  residue i + t2 (mod d). Different i have different channels, so nothing collides. For each of the
  d channels in use there is one a with b = a + j, so group b hears d messages, each at another
  index: a permutation of all processors. As g divides c, b = a + i - t0 (mod g), so t0 goes through
  all groups and t2 through all indices: every ordered pair meets once.
- d > c: t0 is in [0, d) and t2 in [0, g). With j = i - t0 (mod d), (a, i) sends if j < c, on
  channel j, and meets residue j + t2 (mod c). To group b it sends on the W channels j0 + wg; with
  t2 in [0, g) the sums wg + t2 are 0 to c - 1, so it meets every residue of b once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from popsnet.model.coins import Coins
from popsnet.model.network import Bools, Ints, Network
from popsnet.model.slot import Inbox


class Meeting(NamedTuple):
    """Who meets whom in a slot: no messages collide, whichever of the senders have packets."""

    senders: Ints
    groups: Ints
    """The group that each sender sends to."""
    classes: Ints
    """The class that each sender meets."""
    listening: Ints
    """The group that every processor listens to."""
    wavelengths: Ints | None = None
    """The wavelength of each sender, None if there is one wavelength."""
    listened: Ints | None = None
    """The wavelength that every processor listens to, likewise."""


class Frame:
    """The conflict-free frame of a network.

    Parameters
    ----------
    network : Network
        The network, of any shape.

    Examples
    --------
    In the n slots of a frame every processor meets every processor once, itself included.

    >>> from popsnet import Network
    >>> from popsnet.traffic import Frame
    >>> frame = Frame(Network(2, 3))
    >>> sorted(int(frame.meeting(slot).classes[4]) for slot in range(frame.slots))
    [0, 1, 2, 3, 4, 5]
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        self.residues = min(network.d, network.channels)
        """M, the number of residues of a group."""
        self.slots = network.n
        """The number of slots of the frame."""
        self._processors = network.processors
        self._groups, self._indices = divmod(self._processors, network.d)

    def meeting(self, slot: int) -> Meeting:
        """Return who meets whom in a slot, which may be larger than the frame."""
        d, g = self.network.d, self.network.g
        t2, t0 = divmod(slot % self.slots, d if d > self.network.channels else g)
        return self.meeting_at(t0, t2)

    def meeting_at(self, t0: int, t2: int) -> Meeting:
        """Return who meets whom in the slot (t0, t2) of the frame."""
        d, g, c = self.network.d, self.network.g, self.network.channels
        a, i = self._groups, self._indices
        channel = (i - t0) % max(c, d)
        if d <= c:
            sends = np.ones(len(channel), dtype=np.bool_)
            residue, heard = (i + t2) % d, ((i - t2) % d - t0) % c
        else:
            sends = channel < c
            residue, heard = (channel + t2) % c, (i - t2) % c
        channel = channel[sends]
        groups = (a[sends] + channel) % g
        met = groups * self.residues + residue[sends]
        tuned = (channel // g, heard // g) if self.network.wavelengths > 1 else ()
        return Meeting(self._processors[sends], groups, met, (a - heard) % g, *tuned)

    def classes(self, processors: Ints) -> Ints:
        """Return the class of each processor: its group times M, plus its residue."""
        group, index = processors // self.network.d, processors % self.network.d
        return group * self.residues + index % self.residues

    def members(self, residues: Ints) -> Ints:
        """Return the number of processors of a group with each residue."""
        return (self.network.d - 1 - residues) // self.residues + 1

    def keepers(self, inbox: Inbox, slot: int, public: Coins) -> Bools:
        """Return which receivers keep the packet that they hear, to relay it.

        Of the members of a class that hear a packet, public coins choose one. If the destination
        is among them, the packet is delivered, and none keeps it.
        """
        network, receivers = self.network, inbox.receivers
        here, index = receivers // network.d, receivers % network.d
        residues = index % self.residues
        coupler = here.astype(np.int64) * network.g + inbox.groups
        if inbox.wavelengths is not None:
            coupler = coupler * network.wavelengths + inbox.wavelengths
        words = public.words("keeper", slot, coupler) >> np.uint64(32)
        chosen = words * self.members(residues).astype(np.uint64) >> np.uint64(32)
        keeps: Bools = index // self.residues == chosen.astype(np.int64)
        keeps &= here * self.residues + residues != self.classes(inbox.destinations)
        return keeps
