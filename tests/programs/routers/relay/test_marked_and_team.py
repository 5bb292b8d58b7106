"""Marked and team stages: what gets through, by sets, and no ack before its delivery."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from popsnet import Coins, Machine, Network
from popsnet.model.slot import Inbox, Ints, Slot
from popsnet.programs.router import get_router
from popsnet.programs.routers.relay.state import CANDIDATES
from popsnet.workloads.permutations import NAMES
from tests.conftest import permutation
from tests.each import each
from tests.programs.routers.relay.staged import Alone, Dose, destinations, stage

STRUCTURED = ("own group", "half own, half next", "swapped pairs", "four groups")
KINDS = [*(name for name in NAMES if name != "bit-reversal"), "shift:1", "shift:d", *STRUCTURED]
SQUARE = (
    "S T2", "P1 T1 | T4 S", "P2 P1 | Q Q P2", "| Q P2", "| X2 P2", "P1 | Q X3 P2", "T3 | Q Q F P2",
)  # fmt: skip


def permuted(network: Network, kind: str, seed: int) -> Ints:
    """A permutation by name, or one that stays within or between few groups."""
    d, g, rng = network.d, network.g, np.random.default_rng(seed)
    if kind not in STRUCTURED:
        return destinations(network, kind, seed)
    group, index = np.divmod(np.arange(network.n), d)
    if kind == "own group":
        index = np.concatenate([rng.permutation(d) for _ in range(g)])
    elif kind == "half own, half next":
        group = (group + (index >= d // 2)) % g
    elif kind == "swapped pairs":
        group = np.where((group ^ 1) < g, group ^ 1, group)
    else:
        first = group - group % 4
        group = first + (group - first + index) % np.minimum(4, g - first)
    destination: Ints = (group * d + index).astype(np.int32)
    assert sorted(destination.tolist()) == list(range(network.n))
    return destination


def executed(
    network: Network, destination: Ints, text: str, seed: int, most: int = 3000
) -> Iterator[tuple[Machine, Slot, Inbox, np.ndarray]]:
    """The slots of a run, after processors have used them, and what was delivered before."""
    router = get_router("relay")
    variant = router.choose_variant(text, network)
    machine = Machine(network, destination, router.buffers_on(network, variant))
    running = router.variant(variant).route(network, destination, Coins(seed), machine.memory)
    slot = next(running)
    while machine.counters.slots < most:
        before, inbox = machine.memory._arrived.copy(), machine.execute(slot)
        now = slot
        try:
            slot = running.send(inbox)
        except StopIteration:
            yield machine, now, inbox, before
            return
        yield machine, now, inbox, before
    raise AssertionError(f"it goes on after {most} slots")


def check_run(network: Network, destination: Ints, text: str, seed: int) -> None:
    """After every slot, what a source has dropped is delivered; deliveries to who waits arrive."""
    everyone = network.processors
    for machine, slot, inbox, before in executed(network, destination, text, seed):
        memory = machine.memory
        dropped = ~memory.holds(everyone, everyone) | (destination == everyone)
        assert memory._arrived[dropped].all(), slot.phase
        assert memory.holds(destination, everyone)[memory._arrived].all()
        if slot.phase.startswith("marked: delivery"):
            sent = slot.packet_numbers[~before[slot.packet_numbers]]
            heard = inbox.packets[destination[inbox.packets] == inbox.receivers]
            assert np.isin(sent, heard).all()
    assert memory.delivered == network.n
    assert (np.bincount(memory.content()[0], minlength=network.n) == 1).all()


@each("text", SQUARE)
@each("g", [1, 2, 3, 8])
def test_what_is_acknowledged_is_delivered_in_every_slot(g: int, text: str) -> None:
    if g == 1 and "| T4 S" not in text and "P2" not in text:
        text += " P2"  # with one group candidates are no choice
    for seed, kind in enumerate(KINDS):
        check_run(Network(g, g), permuted(Network(g, g), kind, seed), text, seed)


@each(("d", "g"), [(2, 1), (4, 2), (3, 2), (8, 4), (7, 3)])
@each("text", ["P2 T2 P4", "P2 | Q P4", "| X2 Q P4", "P1 P4 | Q Q P(4,4) F"])
def test_what_is_acknowledged_is_delivered_in_larger_groups(d: int, g: int, text: str) -> None:
    network = Network(d, g)
    for seed, kind in enumerate(KINDS):
        if "P(" not in text:
            check_run(network, permuted(network, kind, seed), text, seed)
        else:  # which acknowledges what it stores
            *_, (machine, _, _, _) = executed(network, permuted(network, kind, seed), text, seed)
            assert machine.memory.delivered == network.n


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_acknowledged_is_delivered_in_many_runs(kind: str) -> None:
    for seed in range(30):
        for g in (2, 3, 4, 5, 16):
            for text in SQUARE:
                check_run(Network(g, g), permuted(Network(g, g), kind, seed), text, seed)
        for d, g in ((4, 2), (6, 2), (5, 3), (12, 4)):
            for text in ("P2 T2 P4", "P2 | Q P4", "| X2 Q P4"):
                check_run(Network(d, g), permuted(Network(d, g), kind, seed), text, seed)


def test_a_relay_has_room_for_a_packet_sent_ahead() -> None:
    """A first member may hold its own packet, the one for it, one of each class, and one ahead."""
    assert Dose(8, 4, "numpy", "P1 P(4,4,4) | Q P1 P(4,4,4)", 3).complaint() is None


@pytest.mark.parametrize("text", ["| Q P1", "| X2 S", "| Q Q F P2"])
def test_a_run_ends_though_all_processors_are_sources_that_wait(text: str) -> None:
    """With echoes in stages of other kinds all would listen to them, and none would relay."""
    for seed in range(20):
        assert Dose(3, 3, "numpy", text, seed).complaint(600) is None


def alone_on(network: Network, seed: int, density: float) -> Alone:
    """A state in which the sources of some packets are done."""
    alone = Alone(network, permuted(network, KINDS[seed % len(KINDS)], seed), seed)
    state, rng = alone.state, np.random.default_rng(seed)
    done = state.pending[rng.random(len(state.pending)) >= density]
    targets = alone.destination[done]
    everyone = network.processors
    for listener, packet in zip(targets.tolist(), done.tolist(), strict=True):
        slot = Slot.send_packets(
            everyone[packet : packet + 1], network.group(everyone[listener : listener + 1]),
            (everyone[listener : listener + 1], network.group(everyone[packet : packet + 1])),
        )  # fmt: skip
        state.take(alone.machine.execute(slot))
    state.acknowledge(done)
    return alone


SIZES = [(1, 1), (2, 2), (3, 3), (6, 6), (8, 4), (7, 3)]


@each(("d", "g"), SIZES)
@each("candidates", [1, 2, 5])
def test_a_team_delivers_exactly_what_has_a_free_candidate(d: int, g: int, candidates: int) -> None:
    network = Network(d, g)
    for seed in range(12):
        alone = alone_on(network, seed, (0.2, 0.5, 1)[seed % 3])
        state, destination = alone.state, alone.destination
        rows = np.arange(network.n)[:, None] * candidates + np.arange(candidates)
        sets = Coins(state.seed).draws(g, CANDIDATES, state._bijections, rows)
        sent, marked = Counter[tuple[int, int]](), Counter[tuple[int, int]]()
        before = state.pending.tolist()
        for packet in before:
            j = int(destination[packet])
            sent.update((packet // d, y) for y in set(sets[j].tolist()))
            marked.update((j // d, y) for y in set(sets[j].tolist()))
        free = {
            packet for packet in before
            if any(sent[packet // d, y] == marked[destination[packet] // d, y] == 1
                   for y in sets[destination[packet]].tolist())
        }  # fmt: skip
        alone.run(stage(f"T{candidates}"))
        assert set(before) - set(state.pending.tolist()) == free
        assert set(destination[state.pending].tolist()) == set(state.waiting.tolist())


@each(("d", "g"), SIZES)
@each("text", ["Q", "X2", "X3"])
def test_a_marked_stage_delivers_exactly_what_is_heard_without_marks(
    d: int, g: int, text: str
) -> None:
    """Also if some sources are not told, as after another marked stage."""
    network, marked = Network(d, g), stage(text)
    for seed in range(12):
        alone = alone_on(network, seed, (0.2, 0.5, 1)[seed % 3])
        state, destination = alone.state, alone.destination
        if seed % 2:
            alone.run(stage("Q"))  # without a next stage, so nothing is sent ahead
        waiting, before = set(state.waiting.tolist()), state.pending.tolist()
        places = state.next_places(marked.bijections)
        state._next = places
        groups = [set(row) for row in places.of(network.processors).groups.tolist()]
        on: Counter[tuple[int, int]] = Counter()
        for sender in {*before, *waiting}:
            packet = groups[destination[sender]] if sender in before else set()
            marks = groups[sender] if sender in waiting else set()
            on.update((sender // d, group) for group in packet | marks)
        accepted = {
            int(destination[source])
            for source in before
            for group in groups[destination[source]]
            if on[source // d, group] == 1 and not (source in waiting and group in groups[source])
        }
        alone.run(marked)
        assert waiting - set(state.waiting.tolist()) == accepted & waiting


def test_sources_and_destinations_may_differ_after_a_marked_stage() -> None:
    """So a team stage may not follow, and a schedule with one is refused."""
    alone = Alone(Network(8, 8), permutation(64, 1), 1)
    alone.run(stage("Q"))
    alone.run(stage("Q"))
    assert set(alone.destination[alone.state.pending]) > set(alone.state.waiting)


@pytest.mark.parametrize(("d", "g"), [(1, 1), (3, 3), (16, 16), (12, 4), (7, 3)])
def test_marks_have_one_bit_and_teams_send_names(d: int, g: int) -> None:
    network = Network(d, g)
    for text, bits in (("Q", 1), ("X2", 1), ("T2", max((d - 1).bit_length(), 1))):
        alone = Alone(network, permuted(network, "shift", 0), 0)
        done = alone.run(stage(text)).done
        assert max(slot.control_bits for slot, _ in done) == (bits if d * g > 1 else 0), text
