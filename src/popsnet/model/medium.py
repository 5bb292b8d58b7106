"""The couplers during one slot: which messages they carry, and who hears them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from popsnet.base.errors import Rule, RuleViolation
from popsnet.model import loops
from popsnet.model.faults import ActiveFaults
from popsnet.model.loops import I32, SILENT, U64, UNUSED, plain, plain_each
from popsnet.model.network import Network
from popsnet.model.slot import Ints, Slot

_CELL_BYTES = 12
_PADDING = 16  # without it, if g is a power of two, a column would share a few cache lines


class SlotOutcome(NamedTuple):
    """What the couplers did in a slot. The arrays are valid until the next slot."""

    listeners: I32
    """Positions in the slot of the listeners that heard a message."""
    messages: I32
    """Positions in the slot of the messages that they heard."""
    collided: int
    """Couplers with two or more messages on one wavelength, summed over wavelengths."""
    destroyed: int
    """Arrivals at those couplers."""
    unheard: int = 0
    """Messages that faults kept from a listener, counted once per listener."""


class SlotArrays(NamedTuple):
    """The arrays of a slot as compiled loops take them."""

    senders: I32
    groups: I32
    packets: I32
    listeners: I32
    listened: I32

    @staticmethod
    def of(slot: Slot) -> SlotArrays:
        """Convert the arrays of a slot once, for all loops."""
        sent = slot.senders, slot.groups, slot.packet_numbers
        return SlotArrays(*plain_each(*sent, slot.listeners, slot.listened))


def table_bytes(network: Network) -> int:
    """Return the memory of a table of all couplers, or 0 if cells are found by hashing."""
    return 4 * network.g * (network.g + _PADDING) if _has_table(network) else 0


def hashed_bytes(network: Network, messages: int) -> int:
    """Return the memory of the cells of a slot with this many messages, or 0 if there is a table.

    >>> hashed_bytes(Network(1, 1000), 1000), hashed_bytes(Network(1000, 2), 1000)
    (24576, 0)
    """
    return 0 if _has_table(network) else _CELL_BYTES * _cells(messages)


def _has_table(network: Network) -> bool:
    return network.couplers <= max(4 * network.n, 2**16)


def _cells(messages: int) -> int:
    """Return a power of two, at least twice the messages, so that half of the cells stay free."""
    return 2 << messages.bit_length()


class Medium:
    """All couplers of a network, in rows: c(b, a) is number a of row b.

    A table with one cell per coupler is kept while g² is within a small multiple of n. Where groups
    are many and small (d much less than g) only the couplers in use have cells, found by hashing,
    so POPS(1, 65536) needs memory for its 65,536 messages, not for its 2^32 couplers. So it is in
    slots with several wavelengths, where every coupler has a cell per wavelength.
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        self.misses: I32 = np.empty(0, dtype=np.int32)
        """The processors for which a message was lost in the last slot."""
        self._row = network.g + _PADDING
        # j // d for every j < 2^31 is j · factor >> shift (Granlund and Montgomery, 1994)
        shift = 31 + (network.d - 1).bit_length()
        self._divisor = U64((1 << shift) // network.d + 1), U64(shift)
        self._at, self._heard = (np.empty(network.n, dtype=np.int32) for _ in range(2))
        self._table: I32 | None = None
        if _has_table(network):
            self._table = np.full(network.g * self._row, SILENT, dtype=np.int32)

    def transmit(self, number: int, slot: Slot, arrays: SlotArrays) -> SlotOutcome:
        """Send all messages of a slot, then find what each listener hears from its group.

        A coupler with two or more messages on one wavelength delivers none of them.
        """
        owners = None if slot.fanout is None else slot.owners
        senders, groups, _, listeners, listened = arrays
        if owners is not None:
            senders = senders[owners]
        sent_row = heard_row = U64(self._row)
        table, numbers = self._table, None
        tuned = slot.send_wavelengths is not None or slot.listen_wavelengths is not None
        if tuned:
            groups, listened = self._tune(slot, owners)
            heard_row = U64(self._row * self.network.wavelengths)
        if table is None or tuned:
            size = _cells(len(groups))
            table = np.full(size, SILENT, dtype=np.int32)
            numbers = np.full(size, UNUSED, dtype=np.int64)
        collided, destroyed = loops.send(table, numbers, sent_row, *self._divisor, senders, groups)
        count = loops.listen(
            table, numbers, heard_row, *self._divisor, listeners, listened, self._at, self._heard,
        )  # fmt: skip
        if numbers is None:
            loops.silence(table, sent_row, *self._divisor, senders, groups)
        heard = self._heard[:count]
        messages = heard if owners is None else plain(owners[heard])
        return SlotOutcome(self._at[:count], messages, collided, destroyed)

    def conflict(self, number: int, slot: Slot) -> RuleViolation:
        """Return the error for a slot that is declared free of conflicts and has some."""
        owners = slot.owners
        senders, groups = slot.senders[owners], slot.groups
        channels = self.network.coupler(groups, self.network.group(senders))
        if slot.send_wavelengths is not None:
            channels = channels * self.network.wavelengths + slot.send_wavelengths[owners]
        _, firsts, inverse = np.unique(channels, return_index=True, return_inverse=True)
        before = firsts[inverse]
        victim = int(before[np.argmax(before < np.arange(len(before)))])
        detail = f"its message to group {groups[victim]} met another"
        return RuleViolation(number, int(senders[victim]), Rule.CONFLICT_FREE, detail)

    def _tune(self, slot: Slot, owners: Ints | None) -> tuple[I32, I32]:
        """Return groups and listened groups as those of a network with a row per wavelength.

        Row b·W + w has the couplers to group b on wavelength w. A listener of group b counts its
        couplers from row b·W, so its wavelength is part of the group that it listens to.
        """
        width = self.network.wavelengths
        large = width * self._row >= 2**31
        kind: type[np.signedinteger] = np.int64 if large else np.int32
        groups, listened = slot.groups.astype(kind) * kind(width), slot.listened.astype(kind)
        if slot.send_wavelengths is not None:
            sent = slot.send_wavelengths
            groups += (sent if owners is None else sent[owners]).astype(kind)
        if slot.listen_wavelengths is not None:
            listened += slot.listen_wavelengths.astype(kind) * kind(self._row)
        return groups, listened


class FaultyMedium(Medium):
    """Couplers, transmitters and receivers of which some do not work, and messages that are lost.

    A message of a dead transmitter reaches no coupler, and what dead couplers, dead receivers and
    losses keep from a listener it does not hear.
    """

    def __init__(self, network: Network, faults: ActiveFaults) -> None:
        super().__init__(network)
        self._faults = faults

    def transmit(self, number: int, slot: Slot, arrays: SlotArrays) -> SlotOutcome:
        """Send the messages of working transmitters, then find what each listener hears."""
        sends, reaching = self._reaching(number, slot)
        arrays = arrays if reaching is slot else SlotArrays.of(reaching)
        outcome = super().transmit(number, reaching, arrays)
        at, messages = outcome.listeners, outcome.messages
        wavelengths = slot.listen_wavelengths
        wavelengths = None if wavelengths is None else wavelengths[at]
        hears = self._faults.hear(number, slot.listeners[at], slot.listened[at], wavelengths)
        self.misses = self._faults.misses
        unheard = int(len(at) - hears.sum())
        if sends is not None:
            messages = np.flatnonzero(sends).astype(np.int32)[messages]
        return outcome._replace(listeners=at[hears], messages=messages[hears], unheard=unheard)

    def conflict(self, number: int, slot: Slot) -> RuleViolation:
        """Return the error for messages that reach their couplers, and meet there."""
        return super().conflict(number, self._reaching(number, slot)[1])

    def _reaching(self, number: int, slot: Slot) -> tuple[np.ndarray | None, Slot]:
        """Return which messages reach their couplers, None if all do, and the slot with these."""
        works = self._faults.send(number, slot.senders)
        if works is None or works.all():
            return None, slot
        return works, slot.only(sending=works)


def make_medium(network: Network, faults: ActiveFaults | None = None) -> Medium:
    """Return the medium of a network, with or without faults."""
    return Medium(network) if faults is None else FaultyMedium(network, faults)
