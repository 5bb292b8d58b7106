"""Census: about 3k slots for d = kg, k large, if a message may hold g counters.

Sources first spread their packets evenly. Then the relays of a group count, for each relay group
T, how many of their packets must go there, and number them. Numbered packets need no coins.

Roll call: at most 2g slots for every permutation on POPS(g, g), without coins or conflicts.
"""

from __future__ import annotations

import numpy as np

from popsnet.base.errors import InputError
from popsnet.model.coins import Coins
from popsnet.model.loops import plain
from popsnet.model.memory import Memory
from popsnet.model.network import Network
from popsnet.model.slot import Exchange, Inbox, Ints, Slot, SlotOptions, Slots
from popsnet.programs.routers.relay.park import RelayBuffers
from popsnet.programs.routers.relay.state import RelayState, join
from popsnet.programs.schedules.schedule import ranks


def rank_slots(network: Network) -> int:
    """Return N, the slots for numbered packets: k, four standard deviations, and a margin.

    The packets that one group has for another are nearly Poisson with mean k. N is such that by
    Bernstein's bound one of the g² numbers is larger in fewer than one of five runs.
    """
    k, room = network.d // network.g, np.log(5 * network.couplers)
    return int(np.ceil(k + room / 3 + np.sqrt(room * room / 9 + 2 * k * room)))


def census_slots(network: Network) -> int:
    """Return 2k + N + 2⌈log2 g⌉ + 3, the slots of a census of one round with the seed, d = kg."""
    if network.d % network.g:
        raise InputError(f"{network}: for a census d must be a multiple of g.")
    return 2 * network.blocks + rank_slots(network) + 2 * (network.g - 1).bit_length() + 3


def census(state: RelayState) -> Slots:
    """Route in 2k + N + 2⌈log₂ g⌉ + 2 slots, none with a conflict, if g divides d.

    1. Sources spread (k slots). A public bijection of [0, d) gives source (a, l) a group X and a
       slot s: its place mod g and div g. In slot s it sends to X, where the set (X, a) listens, the
       processors with index a mod g, and member s stores it. So every processor stores one packet.
    2. Prefix sums (2⌈log₂ g⌉ slots). Every member of (X, a) heard all k packets of its set and
       knows how many are for each relay group T. In round i the first member sends its g counters
       to group a, and processor (a, X) sends them back to X, where the set a + 2^i listens and
       adds. Afterwards each packet of X has a rank among those of X for the same T.
    3. The packet of rank t goes to T in slot t < N, where the set (T, X) stores it as in park.
    4. The stored packets are delivered (k slots), and a global OR tells whether all have arrived.
       Packets of rank N or more, or that found no room, are still at their sources, for the next
       round.
    """
    held = yield from _spread(state)
    buffers = RelayBuffers(state)
    relays = buffers.relays(held.destinations)
    turns = yield from _ranks(state, held, relays)
    yield from _by_rank(buffers, held, relays, turns)
    yield from buffers.deliver("census")
    yield from state.ask("census")


def _spread(state: RelayState) -> Exchange[Inbox]:
    """Execute part 1, and return what each processor stores, by processor."""
    network, g, processors = state.network, state.network.g, state.network.processors
    place = state.places(state.fresh_bijection(network.d), processors)
    waiting, residues = np.isin(processors, state.pending), network.index(processors) % g
    parts = []
    for turn in range(network.blocks):
        senders = processors[waiting & (place // g == turn)]
        options = state.without_conflict(f"census: spread, slot {turn + 1}")
        heard = yield Slot.send_packets(senders, place[senders] % g, residues, **options)
        parts.append(heard.at(network.index(heard.receivers) // g == turn))
        state.keep(parts[-1])
    held = join(parts)
    return held.at(np.argsort(held.receivers))


def _ranks(state: RelayState, held: Inbox, relays: Ints) -> Exchange[Ints]:
    """Execute part 2, and return the rank of each packet in its group and for its relay."""
    network, g = state.network, state.network.g
    sets = network.group(held.receivers) * g + network.index(held.receivers) % g
    counts = np.zeros((g * g, g), dtype=np.int64)
    np.add.at(counts, (sets, relays), 1)
    sums = yield from _prefix_sums(state, counts)
    before: Ints = (sums - counts)[sets, relays]
    return before + ranks(plain(sets * g + relays), g**3)


def _prefix_sums(state: RelayState, counts: Ints) -> Exchange[Ints]:
    """Return for each set (X, a) the sum of the counters of (X, 0) … (X, a), a row per set."""
    network, g, processors = state.network, state.network.g, state.network.processors
    sums, bits = counts.copy(), g * network.d.bit_length()  # g counters of up to d
    group, index = np.divmod(np.arange(g * g, dtype=np.int32), g)  # X and a of each set
    member = network.processor(group, index)  # the first of each set
    residue = network.index(processors) % g
    for level in range((g - 1).bit_length()):
        phase = f"census: prefix sums, round {level + 1}"
        sending, receiving = index + 2**level < g, residue >= 2**level
        out, values = (member[sending], index[sending], (member, index)), sums[sending]
        options = state.without_conflict(f"{phase} out")
        relayed = yield Slot.send_control(*out, contents=values, bits=bits, **options)
        listening = processors[receiving], residue[receiving] - 2**level
        back = relayed.receivers, network.index(relayed.receivers), listening
        options = state.without_conflict(f"{phase} back")
        inbox = yield Slot.send_control(*back, contents=relayed.contents, bits=bits, **options)
        first = network.index(inbox.receivers) < g
        at = inbox.receivers[first]
        sums[network.group(at) * g + network.index(at)] += inbox.contents[first]
    return sums


def _by_rank(buffers: RelayBuffers, held: Inbox, relays: Ints, turns: Ints) -> Slots:
    """Execute part 3."""
    state, network = buffers.state, buffers.state.network
    residues = network.index(network.processors) % network.g
    for turn in range(rank_slots(network)):
        now, options = held.at(turns == turn), state.without_conflict(f"census: rank {turn + 1}")
        heard = yield Slot.forward(now, relays[turns == turn], residues, **options)
        state.release(now)
        buffers.store(heard)
    state.release(held.at(turns >= rank_slots(network)))


_COLLECT, _HAND_OUT = "roll call: collect", "roll call: hand out"


def roll_call(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Route any permutation on POPS(g, g) in at most 2g slots.

    In slot l source (a, l) sends its packet, which is for (b, m), to group T = (b + m) mod g, and
    processor (T, p) listens to group p - l mod g. A group has one sender in a slot, so nothing
    meets. Group T then has g packets, one for each group. In each of at most g more slots every
    processor sends one of those it stores, and (b, m) listens to T; the coupler c(b, T) carries one
    packet in all these slots together.
    """
    g, processors = network.g, network.processors
    index = network.index(processors)
    through = (network.group(processors) + index) % g  # T of each destination
    relays, held = through[destination], []
    for turn in range(g):
        senders = processors[index == turn]
        inbox = yield Slot.send_packets(
            senders, relays[senders], (index - turn) % g, phase=_COLLECT, conflict_free=True
        )
        memory.drop(senders, senders)
        memory.store(inbox.receivers, inbox.packets)
        held.append(inbox)
    stored, undelivered = join(held), np.ones(network.n, dtype=np.bool_)
    while stored.receivers.size:
        senders, now = np.unique(stored.receivers, return_index=True)
        listeners, sent = processors[undelivered], stored.packets[now]
        groups, listening = network.group(destination[sent]), (listeners, through[listeners])
        options = SlotOptions(phase=_HAND_OUT, conflict_free=True)
        inbox = yield Slot.send_packets(senders, groups, listening, packets=sent, **options)
        memory.drop(senders, sent)
        memory.deliver(inbox.receivers, inbox.packets)
        undelivered[inbox.receivers] = False
        stored = stored.at(np.delete(np.arange(len(stored.receivers)), now))
