"""Every router on the machine: right, within its claims, on every permutation."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popsnet import (
    Coins,
    Experiment,
    InputError,
    Kind,
    Machine,
    Memory,
    Network,
    Outcome,
    Router,
    Rule,
    RuleViolation,
    Slot,
    check_trace,
    register,
    route,
)
from popsnet.engines import ENGINES, Instance, slots
from popsnet.model.slot import Ints, Slots
from popsnet.programs.router import (
    Variant,
    all_routers,
    find_router,
    get_router,
    register_variant,
    unregister,
)
from popsnet.trace import Event
from popsnet.workloads.permutations import NAMES
from tests.conftest import Cli, permutation
from tests.each import each, sampled

SHAPES = [(1, 1), (2, 2), (3, 3), (7, 7), (1, 6), (6, 1), (4, 7), (7, 4), (16, 4), (5, 11)]


def execute(router: Router, d: int, g: int, seed: int = 0) -> Outcome:
    network = Network(d, g)
    variant = router.choose_variant(None, network)
    destination = permutation(network.n, seed)
    return slots.execute(Instance(network, router, variant, destination, Coins(seed), 1000))


@each("router", all_routers())
@each(("d", "g"), SHAPES)
def test_every_packet_comes_home_where_the_router_applies(router: Router, d: int, g: int) -> None:
    network = Network(d, g)
    if next(iter(router.variants.values())).obstacle(network) is not None:
        with pytest.raises(InputError, match=r"does not apply to POPS"):
            execute(router, d, g)
        return
    for seed in sampled(range(10), 4):
        outcome = execute(router, d, g, seed)
        assert (outcome.delivered, outcome.lost, outcome.capped) == (d * g, 0, False)
        assert outcome.peak_buffers is not None
        claimed = router.buffers_on(network, router.choose_variant(None, network))
        assert outcome.peak_buffers <= claimed
        assert not any(outcome.survivors[-1:])  # one packet alone may need no slot


@pytest.mark.parametrize("router", all_routers(), ids=lambda router: router.name)
@pytest.mark.parametrize("name", [*NAMES, "shift:d"])
def test_an_independent_replay_agrees_on_every_named_permutation(
    router: Router, name: str, tmp_path: Path
) -> None:
    trace = tmp_path / "trace.jsonl"
    (run,) = route(8, 8, router=router.name, permutation=name, seed=5, trace=trace)
    report = check_trace(trace)
    assert report.ok, report.violations
    assert (report.slots, report.delivered) == (run.outcome.slots, run.outcome.delivered)
    assert (report.messages, report.collisions) == (run.outcome.messages, run.outcome.collisions)


@given(d=st.integers(1, 12), g=st.integers(1, 12), seed=st.integers(0, 2**32), data=st.data())
def test_direct_takes_max_d_g_slots_without_a_collision(
    d: int, g: int, seed: int, data: st.DataObject
) -> None:
    network = Network(d, g)
    destination = np.array(data.draw(st.permutations(range(network.n))), dtype=np.int32)
    outcome = slots.execute(
        Instance(network, get_router("direct"), "standard", destination, Coins(seed), 1000)
    )
    assert (outcome.slots, outcome.collisions, outcome.delivered) == (max(d, g), 0, d * g)
    assert outcome.messages == d * g
    assert outcome.peak_buffers in (1, 2)


def test_mei_rizzi_takes_five_slots_a_step_and_needs_all_three_buffers() -> None:
    outcomes = [execute(get_router("mei-rizzi"), 8, 8, seed) for seed in range(50)]
    assert all(outcome.slots == 5 * outcome.steps for outcome in outcomes)
    assert all(len(outcome.survivors) == outcome.steps for outcome in outcomes)
    assert {outcome.peak_buffers for outcome in outcomes} == {3}


def test_mei_rizzi_counts_every_message_it_should() -> None:
    """A copy home costs five messages; one destroyed in slot 1 has cost one, in slot 2 two."""
    network = Network(6, 6)
    router = get_router("mei-rizzi")
    sent: dict[str, int] = {}

    def count(event: Event) -> None:
        sent[event.phase[0]] = sent.get(event.phase[0], 0) + len(event.records()[0])

    destination = permutation(36, 3)
    outcome = slots.execute(
        Instance(network, router, "published", destination, Coins(3), 1000), [count]
    )
    assert sent["3"] == sent["4"] == sent["5"] == 36
    assert sent["1"] == 36 + sum(outcome.survivors)
    assert sum(sent.values()) == outcome.messages
    assert outcome.destroyed == (sent["1"] - sent["2"]) + (sent["2"] - sent["3"])


def test_the_machine_notices_when_slots_3_to_5_conflict() -> None:
    """The proof that they do not needs d = g; a promise for d > g is broken and seen to be."""
    published = get_router("mei-rizzi").variants["published"].route

    def promising(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
        running = published(network, destination, coins, memory)
        slot = next(running)
        while True:
            promise = slot.conflict_free or slot.phase.startswith("5")
            slot = running.send((yield replace(slot, conflict_free=promise)))

    router = Router("bare", "", "", buffers=3, variants={"published": Variant(promising)})
    with pytest.raises(RuleViolation) as violation:
        slots.execute(
            Instance(Network(4, 3), router, "published", permutation(12, 0), Coins(0), 1000)
        )
    assert violation.value.rule is Rule.CONFLICT_FREE


def test_a_fourth_buffer_is_refused() -> None:
    """A router that forgets to drop what it relayed runs out of its three buffers."""
    original = Memory.drop

    def forgetful(self: Memory, processors: Ints, packets: Ints) -> None:
        if len(processors) and (processors == packets).all():
            original(self, processors, packets)

    router = get_router("mei-rizzi")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Memory, "drop", forgetful)
        with pytest.raises(RuleViolation) as violation:
            execute(router, 8, 8)
    assert violation.value.rule is Rule.BUFFERS


def test_a_run_is_capped_and_says_so() -> None:
    network, router = Network(16, 16), get_router("mei-rizzi")
    outcome = slots.execute(
        Instance(network, router, "published", permutation(256, 0), Coins(0), 2)
    )
    assert (outcome.capped, outcome.steps, outcome.slots, outcome.lost) == (True, 2, 10, 0)
    assert outcome.delivered == 256 - outcome.survivors[-1] < 256


def test_a_router_that_drops_packets_is_found_to_lose_them() -> None:
    def careless(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
        yield Slot()
        memory.drop(np.array([2, 3]), np.array([2, 3]))

    router = Router("careless", "", "", buffers=1, variants={"standard": Variant(careless)})
    outcome = slots.execute(
        Instance(Network(2, 2), router, "standard", permutation(4, 0), Coins(0), 10)
    )
    assert (outcome.delivered, outcome.lost, outcome.slots) == (0, 2, 1)
    assert (outcome.slots_delivered, outcome.survivors, outcome.capped) == (0, (4,), False)


def test_a_router_may_need_no_slot_at_all() -> None:
    def lazy(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
        memory.deliver(np.arange(4), np.arange(4))
        return
        yield

    router = Router("lazy", "", "", buffers=1, variants={"standard": Variant(lazy)})
    identity = np.arange(4, dtype=np.int32)
    outcome = slots.execute(Instance(Network(2, 2), router, "standard", identity, Coins(0), 10))
    assert (outcome.slots, outcome.steps, outcome.survivors, outcome.delivered) == (0, 0, (), 4)
    assert (outcome.slots_delivered, outcome.capped) == (0, False)


def test_a_router_may_go_on_after_the_last_delivery_to_tell_the_sources() -> None:
    direct = get_router("direct").variant("standard").route

    def careful(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
        yield from direct(network, destination, coins, memory)
        three = np.arange(3, dtype=np.uint8)
        for bits in (3, 2):
            yield Slot(senders=three, groups=three, kind=Kind.CONTROL, contents=three, bits=bits)

    router = Router("careful", "", "", buffers=2, variants={"standard": Variant(careful)})
    instance = Instance(Network(2, 3), router, "standard", permutation(6, 1), Coins(0), 10)
    outcome = slots.execute(instance)
    assert (outcome.slots_delivered, outcome.slots, outcome.capped) == (3, 5, False)
    assert (outcome.control_bits, outcome.delivered) == (3, 6)


def test_names_are_taken_once() -> None:
    route = get_router("direct").variants["standard"].route
    with pytest.raises(InputError, match="already registered"):
        register("direct", summary="", slots="", buffers=1)(route)


def test_a_kind_of_faults_that_does_not_exist_is_refused() -> None:
    add = register_variant("direct", "again", survives=["coupler"])
    with pytest.raises(InputError, match="Did you mean 'couplers'"):
        add(find_router("direct").variants["standard"].route)
    assert "again" not in find_router("direct").variants


def test_an_unknown_router_is_refused_with_those_there_are() -> None:
    with pytest.raises(InputError, match=r"no router 'nope'.*direct.*mei-rizzi"):
        find_router("nope")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "registers no routers"),
        ("def broken(:", "line 1"),
        ("import popsnet.nothing_here", "cannot be loaded.*nothing_here"),
    ],
)
def test_a_file_without_a_router_is_refused(text: str, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(text)
    with pytest.raises(InputError, match=complaint):
        find_router(str(tmp_path / "mine.py"))
    with pytest.raises(InputError, match="no file"):
        find_router(str(tmp_path / "absent.py"))


def test_the_papers_example_is_routed() -> None:
    """POPS(4, 4) with the permutation of the paper's conflict graphs."""
    printed = [1, 5, 8, 9, 3, 10, 11, 14, 15, 13, 0, 7, 2, 6, 12, 4]
    residues = [1, 1, 0, 1, 3, 2, 3, 2, 3, 1, 0, 3, 2, 2, 0, 0]
    assert [j % 4 for j in printed] == residues
    machine = Machine(Network(4, 4), np.array(printed), 3)
    route = get_router("mei-rizzi").variants["published"].route
    running = route(machine.network, np.array(printed), Coins(4), machine.memory)
    copies = machine.execute(next(running))
    relayed = running.send(copies)
    by_packet = dict(zip(relayed.packet_numbers.tolist(), relayed.groups.tolist(), strict=True))
    assert by_packet == {packet: residues[packet] for packet in copies.packets.tolist()}


ENDS_AT_ONCE = (
    "from popsnet import Slot, register\n"
    "@register('at-once', summary='', slots='', buffers=1, version='7')\n"
    "def at_once(network, destination, coins, memory):\n"
    "    yield Slot(step={step})\n"
)


def test_the_version_of_a_router_from_a_file_has_the_text_of_the_file(tmp_path: Path) -> None:
    path, copy = tmp_path / "a.py", tmp_path / "b.py"
    path.write_text(ENDS_AT_ONCE.format(step=1))
    router = find_router(str(path))
    assert router.version.startswith("7+")
    assert (router.file, get_router("at-once")) == (str(path), router)
    assert find_router(str(path)).version == router.version
    unregister("at-once")
    copy.write_text(path.read_text())
    assert find_router(str(copy)).version == router.version
    copy.write_text(ENDS_AT_ONCE.format(step=2))
    assert find_router(str(copy)).version != router.version
    unregister("at-once")


def test_an_edit_of_the_same_length_in_the_same_second_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    for step in (1, 2):
        path.write_text(ENDS_AT_ONCE.format(step=step))
        os.utime(path, (1, 1))
        network, coins = Network(2, 2), Coins(0)
        route = find_router(str(path)).variants["standard"].route
        memory = Memory(network, np.arange(4, dtype=np.int32), 1)
        assert next(route(network, np.arange(4), coins, memory)).step == step
    unregister("at-once")


def in_one_group(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """On POPS(d, 1), one after another; processor 0 keeps all it hears until the end."""
    everybody, home = np.arange(network.n), np.zeros(network.n, dtype=np.int32)
    for i in range(network.n):
        sender = np.array([i])
        inbox = yield Slot(
            senders=sender, groups=home[:1], packets=sender, listeners=everybody, listened=home
        )
        mine = inbox.receivers == inbox.destinations
        memory.deliver(inbox.receivers[mine], inbox.packets[mine])
        if destination[i] != 0:
            memory.store(np.array([0]), np.array([i]))


def test_buffers_may_depend_on_the_network(tmp_path: Path) -> None:
    """Processor 0 ends with all packets, and its own twice where that is not for it."""
    variants = {"standard": Variant(in_one_group)}
    router = Router("hoarder", "", "", buffers=lambda network: network.d + 1, variants=variants)
    network = Network(5, 1)
    shift = np.roll(np.arange(5), 1)
    instance = Instance(network, router, "standard", shift, Coins(0), 10)
    assert router.buffers_on(network, "standard") == slots.execute(instance).peak_buffers == 6
    tight = replace(router, buffers=lambda network: network.d)
    with pytest.raises(RuleViolation, match="5 claimed"):
        slots.execute(replace(instance, router=tight))
    roomy, cramped = (
        Experiment(5, 1, router=tested, permutation="shift", max_steps=10)
        for tested in (router, tight)
    )
    needed = [ENGINES["slots"].memory(experiment) for experiment in (roomy, cramped)]
    assert needed[0] - needed[1] == 4 * network.n
    route(roomy, trace=tmp_path / "t", engine="slots")
    assert json.loads((tmp_path / "t").read_text().splitlines()[0])["buffers"] == 6


def test_a_processor_has_room_for_its_own_packet() -> None:
    with pytest.raises(InputError, match="buffers = 0"):
        register("cramped", summary="", slots="", buffers=0)(in_one_group)
    router = Router(
        "cramped",
        "",
        "",
        buffers=lambda network: network.d - 4,
        variants={"standard": Variant(in_one_group)},
    )
    assert router.buffers_on(Network(5, 4), "standard") == 1
    with pytest.raises(InputError, match="buffers = 0"):
        router.buffers_on(Network(4, 4), "standard")


def test_claims_are_listed_in_words(cli: Cli) -> None:
    register(
        "claims", summary="", slots="", buffers=lambda network: 7, memory="⌈d/g⌉ packets",
        messages="counters of 9 bits",
    )(in_one_group)  # fmt: skip
    text, listed = cli("routers").out, json.loads(cli("routers", "--json").out)["routers"]
    unregister("claims")
    of = {row["name"]: (row["buffers"], row["memory"], row["messages"]) for row in listed}
    assert of["claims"] == (None, "⌈d/g⌉ packets", "counters of 9 bits")
    assert of["mei-rizzi"] == (3, "3 packets per processor", "acks of 1 bit")
    assert of["direct"] == (2, "2 packets per processor", "none")
    for line in ("memory: ⌈d/g⌉ packets", "messages: counters of 9 bits"):
        assert line in text
