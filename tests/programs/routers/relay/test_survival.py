"""Schedules that survive faults: nothing is lost, and what has a path is delivered."""

from __future__ import annotations

import re
from itertools import islice, product
from pathlib import Path

import numpy as np
import pytest
from msgspec import convert

import popsnet
from popsnet import Coins, Experiment, Faults, InputError, Network, Slot, check_trace
from popsnet.model.faults import KINDS, two_way_paths
from popsnet.model.network import Bools
from popsnet.model.slot import Inbox, Ints
from popsnet.programs.router import get_router
from popsnet.programs.routers.relay import (
    fractions,
    parse_schedule,
    parse_survival,
    plan_survival,
    verified,
)
from popsnet.testing import check_locality
from popsnet.trace.reader import FaultsOfTrace
from popsnet.trace.replay import FaultyParts
from tests.conftest import Cli
from tests.each import each, sampled
from tests.programs.routers.relay.staged import Alone, stage
from tests.programs.routers.relay.survival import SHAPES, Case, any_case, cases, run

RELAY = get_router("relay")


def survived(*given: object) -> None:
    done = run(Case(*given))  # type: ignore[arg-type]
    assert done.complaint is None


# Texts


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("survive:V2 V1 V1", "survive: V2 V1"),
        (" survive :  V(5) | VF V2", "survive: V5 | VF V2"),
        ("survive-flooded: VXY(2, 3)", "survive-flooded: VXY(2,3)"),
        ("survive: V( 3 , 2 ) VF", "survive: V(3,2) VF"),
    ],
)
def test_texts_are_canonical(text: str, canonical: str) -> None:
    assert RELAY.variant(text).name == canonical
    assert RELAY.variant(canonical).name == canonical
    assert str(parse_survival(canonical)) == canonical


@each(
    ("text", "says"),
    [
        ("V2 V1", "give 'survive: V2 V1'"),
        ("VXY(2,2)", "give 'survive: VXY"),
        ("survive: P2", "Stage P2 may lose packets after faults"),
        ("survive: V2 F", "made of V, VF and VXY"),
        ("survive:", "The schedule is empty"),
        ("survive: V()", "V takes windows"),
        ("survive: VF2", "VF takes no number"),
        ("survived: V2", "does not begin with a stage"),
    ],
)
def test_wrong_texts_are_refused(text: str, says: str) -> None:
    with pytest.raises(InputError, match=says.replace("(", r"\(").replace(")", r"\)")):
        RELAY.variant(text)


def test_names_stand_for_plans() -> None:
    for d, g in SHAPES:
        network = Network(d, g)
        text = str(plan_survival(network).schedule)
        assert Experiment(d, g, router="relay", variant="survive").variant == f"survive: {text}"
        flooded = Experiment(d, g, router="relay:survive-flooded").variant
        assert flooded == f"survive-flooded: {text}"
        assert RELAY.resolve("survive+or", network).name == f"survive: {text}+or"


def test_they_survive_all_kinds_but_not_with_detection() -> None:
    assert RELAY.variant("survive: V1").survives == set(KINDS)
    assert RELAY.variant("survive").survives == set(KINDS)
    assert not RELAY.variant("survive: V1+or").survives
    assert not RELAY.variant("S").survives


def test_stages_to_repeat_get_on_if_some_packets_cannot() -> None:
    """On POPS(4, 2) all packets of a group for a group meet in VF, unless some are gone."""
    with pytest.raises(InputError, match="window of at least 2 slots"):
        RELAY.resolve("survive: V2 VF", Network(4, 2))
    assert RELAY.resolve("survive: V2 VF", Network(4, 4)).name == "survive: V2 VF"
    assert RELAY.resolve("survive: VF | V(1,2) VF", Network(4, 2))


def test_the_flag(cli: Cli) -> None:
    told = cli("route", 4, 4, "--router", "relay", "--survive", "--fault", "coupler:0-1")
    assert told.code == 0
    assert "\n1 run of relay (survive), engine slots\nschedule V2 V2 V1\n" in told.out
    for given, says in (
        (["--router", "relay", "--variant", "S"], "leave out --schedule and --variant"),
        (["--router", "relay", "--schedule", "S"], "leave out --schedule and --variant"),
        (["--router", "direct"], "these have: relay"),
        ([], "these have: relay"),
        (["--router", "relay:S"], "leave out --schedule and --variant"),
    ):
        refused = cli("route", 4, 4, "--survive", *given)
        assert (refused.code, says in refused.err) == (2, True)


# What a run does, on the strict machine


@each("shape", SHAPES)
def test_random_faults_lose_nothing(shape: tuple[int, int]) -> None:
    for number in range(8):
        case = any_case(number, shape)
        done = run(case)
        assert done.complaint is None, case


@each(
    ("d", "g", "variant"),
    [
        (4, 4, "survive: VF"),
        (4, 4, "survive: V1 V(2,1) V3"),
        (6, 3, "survive: VF | V(1,3) VF V2"),
        (7, 3, "survive: V(3,2,1) | VF V3"),
        (3, 7, "survive: VXY(1,3) VXY(3,1) VXY(2,4)"),
        (1, 5, "survive: VXY(2,3)"),
    ],
)
def test_stages_of_all_kinds_lose_nothing(d: int, g: int, variant: str) -> None:
    for number in range(12):
        case = any_case(number, (d, g))
        survived(d, g, case.permutation, variant, case.faults, case.seed)


@each("kind", ["transmitters", "receivers", "processors"])
@each(("d", "g"), [(8, 8), (12, 4), (4, 12)])
def test_each_dead_part_alone(kind: str, d: int, g: int) -> None:
    """A source whose transmitter is dead shares slots with others, and takes none of their acks."""
    for processor in range(0, d * g, 5):
        survived(d, g, "random", "survive", f"{kind[:-1]}:{processor}", processor)


def test_acks_that_name_nothing_would_lose_packets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sources and relays that take any ack as theirs, as in the stage F."""

    def heard(inbox: Inbox, listeners: Ints, names: Ints) -> Bools:
        return np.isin(listeners, inbox.receivers)

    monkeypatch.setattr(verified, "_hears", heard)
    done = run(Case(8, 8, "random", "survive: VF", "transmitter:0", 0))
    assert done.complaint is not None
    assert "lost" in done.complaint


@each("loss", [0.01, 0.1, 0.3])
@each("per", ["", "/listener"])
@each(("d", "g"), [(6, 6), (9, 3), (3, 9)])
def test_lost_messages(loss: float, per: str, d: int, g: int) -> None:
    done = run(Case(d, g, "random", "survive", f"loss:{loss}{per}", 7))
    assert (done.complaint, done.delivered) == (None, d * g)


@pytest.mark.parametrize(("d", "g"), [(4, 4), (6, 3), (3, 6)])
def test_relays_that_die_in_the_middle_of_a_stage(d: int, g: int) -> None:
    """In every slot of the first stages, a third of all processors dies."""
    for slot in range(1, 16):
        dead = " ".join(f"processor:{processor}@{slot}" for processor in range(slot % 3, d * g, 3))
        survived(d, g, "random", "survive", dead, slot)


@pytest.mark.parametrize(("d", "g"), [(3, 3), (6, 3), (5, 3), (2, 4), (1, 4)])
def test_paths_are_closed_one_by_one(d: int, g: int) -> None:
    """Packet 0 is delivered while one path is left, and stays at its source when none is.

    The paths from group 0 to the last group are closed in the four ways in which couplers can
    close them, and by the death of relays, where these are not its source or its destination.
    """
    network, last = Network(d, g), d * (g - 1)
    for closing in range(5):
        faults, left = "", []
        for via in range(g + 1):
            paths = two_way_paths(network, Faults.parse(faults), np.array([0]), np.array([last]))
            left.append(bool(paths[0]))
            done = run(Case(d, g, f"shift:{last}", "survive", faults or "loss:0.01", via))
            assert done.complaint is None  # a packet with a path is delivered, others are not lost
            if left[-1]:
                assert done.delivered > 0
            elif closing < 2:
                assert done.delivered < network.n
            if via == g:
                break
            to, by = [(via, 0), (g - 1, via), (via, g - 1), (0, via), (via, 0)][closing]
            relays = [via * d + index for index in range(0, d, g)]
            if closing < 4 or {0, last} & set(relays):
                faults += f" coupler:{by}-{to}"
            else:
                faults += "".join(f" processor:{processor}" for processor in relays)
        assert left[0]
        assert not left[-1]
        assert left == sorted(left, reverse=True)


def test_a_path_that_leads_one_way_only() -> None:
    """The packet arrives, its source never knows, and the run ends."""
    back = " ".join(f"coupler:{group}-0" for group in range(1, 4))
    outcome = popsnet.route(
        4, 4, router="relay", variant="survive", permutation="shift:d", faults=f"{back} coupler:0-0"
    )[0].outcome
    assert outcome.faulty is not None
    assert (outcome.lost, outcome.capped, outcome.faulty.held) == (0, False, 0)


def test_flooded_seeds() -> None:
    """Processor 0 works, and every processor that has a chain of live couplers hears the seed."""
    for number, (d, g) in product(range(8), [(4, 4), (6, 2), (2, 6), (5, 3), (1, 5), (4, 1)]):
        rng = np.random.default_rng([number, d, g])
        dead = [f"coupler:{a}-{b}" for b, a in rng.integers(g, size=(g // 2, 2)) if 0 not in (a, b)]
        more = f"random:processors={d * g // 6} " if number % 2 and d * g > 11 else ""
        faults = f"{more}{' '.join(dead)} loss:0.1/listener"
        listed = Faults.parse(faults).drawn(Network(d, g), Coins(number))
        if any(processor == 0 for processor, _ in listed.processors):
            continue
        survived(d, g, "random", "survive-flooded", faults, number)


def test_without_the_seed_nothing_is_done() -> None:
    """The first processor is dead: no other ever knows the seed, and every packet is held."""
    experiment = Experiment(
        4, 4, router="relay", variant="survive-flooded", faults="processor:0", max_steps=50
    )
    outcome = popsnet.route(experiment)[0].outcome
    assert outcome.faulty is not None
    own = int((make_destinations(experiment) == np.arange(16)).sum())
    assert (outcome.delivered, outcome.lost, outcome.capped) == (own, 0, True)


def make_destinations(experiment: Experiment) -> np.ndarray:
    return experiment.instance(0).array()


@each("variant", ["P2 P1", "S", "P1 F", "census", "P2 | Q P1", "S T2", "P1 R2"])
def test_who_has_not_heard_the_seed_takes_no_part(variant: str) -> None:
    """In the other variants group 2 is deaf in slot 1, and stays silent."""
    network, deaf = Network(4, 4), range(8, 12)
    machine = popsnet.Machine(
        network, np.arange(16)[::-1].copy(), 20, tolerant=True,
        faults=popsnet.model.faults.ActiveFaults(network, Faults.parse("coupler:0-2"), Coins(0)),
    )  # fmt: skip
    running = RELAY.variant(variant).route(
        network, np.arange(16)[::-1].copy(), Coins(1), machine.memory
    )
    acts = 0
    first: Slot = next(running)
    slot = first
    for _ in range(60):
        inbox: Inbox = machine.execute(slot)
        slot = running.send(inbox)
        acts += len(slot.senders)
        assert not np.isin(slot.senders, deaf).any()
        assert not np.isin(slot.listeners, deaf).any()
    assert acts
    assert len(first.listeners) == 16


# Knowledge, traces, sizes


LOCAL = [
    (3, 3, "survive: V2 V1"),
    (5, 3, "survive: V(3,2) | VF V3"),
    (4, 4, "survive: VF"),
    (6, 2, "survive: V(4,2) | VF V4"),
    (2, 5, "survive: VXY(2,2)"),
    (1, 4, "survive: VXY(2,2)"),
    (3, 3, "survive-flooded: V2 V1"),
    (2, 5, "survive-flooded: VXY(3,1)"),
]


@each(("d", "g", "variant"), sampled(LOCAL, 3))
@each("faults", [None, "coupler:1-0 processor:3@6 transmitter:2", "loss:0.2/listener receiver:3"])
def test_every_processor_acts_on_what_it_knows(
    d: int, g: int, variant: str, faults: str | None
) -> None:
    check_locality(
        RELAY, Network(d, g), variants=[variant], seed=1, pairs=4, faults=faults, max_slots=150
    )


@pytest.mark.parametrize(("d", "g"), [(4, 4), (7, 3), (3, 7), (5, 1), (1, 5)])
@pytest.mark.parametrize("variant", ["survive", "survive-flooded"])
def test_traces_pass_the_checker(d: int, g: int, variant: str, tmp_path: Path) -> None:
    trace = tmp_path / "run.jsonl"
    faults = "random:couplers=1 processor:3@9 transmitter:2 loss:0.1"
    popsnet.route(d, g, router="relay", variant=variant, faults=faults, max_steps=60, trace=trace)
    assert check_trace(trace).ok


def test_messages_are_as_large_as_stated() -> None:
    for d, g, variant, bits in (
        (8, 8, "survive: V1", 4),
        (8, 8, "survive: VF", 3),
        (20, 4, "survive: V8", 15),
        (20, 4, "survive: V(4,4) | VF V8", 15),
        (3, 8, "survive: VXY(2,2)", 8),
        (8, 8, "survive-flooded: V1", 64),
    ):
        runs = popsnet.route(d, g, router="relay", variant=variant)
        assert runs[0].outcome.control_bits == bits
        assert (runs[0].outcome.peak_buffers or 0) <= RELAY.buffers_on(Network(d, g), variant)


@pytest.mark.parametrize(
    ("d", "g", "text"),
    [
        (64, 64, "V2 V1"),
        (128, 32, "V(8,6)"),
        (128, 32, "V10"),
        (64, 32, "V4"),
        (16, 64, "VXY(4,1)"),
    ],
)
def test_the_fluid_limit_is_close(d: int, g: int, text: str) -> None:
    """What the first stage leaves, within 5 %, and the second, within 30 %: means of four runs.

    The mean has a standard deviation of at most 1 % after the first stage and 5 % after the second,
    over seeds, and the limit is up to 4 % and 25 % above it.
    """
    network, schedule = Network(d, g), parse_schedule(text)
    expected = list(islice(fractions(schedule, network), 2))
    measured = np.zeros(2)
    for seed in range(4):
        rng = np.random.default_rng([seed, d, g])
        alone = Alone(network, rng.permutation(network.n).astype(np.int32), seed)
        alone.state.turns = False
        for number, tested in enumerate(islice(schedule, 2)):
            alone.run(tested)
            measured[number] += alone.pending / 4
    assert measured[0] == pytest.approx(expected[0], rel=0.05)
    assert measured[1] == pytest.approx(expected[1], rel=0.3)


def test_folds_leave_what_is_expected() -> None:
    network = Network(128, 32)
    alone = Alone(network, np.random.default_rng(1).permutation(network.n).astype(np.int32))
    alone.run(stage("V(8,6)"))
    before = alone.pending
    alone.run(stage("VF"))
    assert alone.pending == pytest.approx(stage("VF").left(network, before), rel=0.2)


@pytest.mark.parametrize(("d", "g"), [(16, 16), (64, 16), (8, 5), (4, 16), (12, 4)])
def test_plans_take_about_as_long_as_expected(d: int, g: int) -> None:
    runs = popsnet.route(d, g, router="relay", variant="survive", runs=20)
    assert runs.slots.mean() == pytest.approx(plan_survival(Network(d, g)).slots, rel=0.2)


def test_plans_beat_folds_alone() -> None:
    """On POPS(64, 16) F takes 130 slots without faults, and the plan less than half of that."""
    network = Network(64, 16)
    assert plan_survival(network).slots < 65


def test_bijections_are_fresh() -> None:
    """For d = g the fifth bijection is drawn, too, and not turned."""
    network = Network(8, 8)
    for turns in (False, True):
        alone = Alone(network, np.arange(64, dtype=np.int32)[::-1].copy())
        alone.state.turns = turns
        places = [
            alone.state.places(alone.state.fresh_bijection(8), network.processors).reshape(8, 8)
            for _ in range(6)
        ]
        shifts = (places[5] - places[4]) % 8
        assert (shifts == shifts[:, :1]).all() == turns


# Paths


def test_paths_by_definition() -> None:
    """The definition, word by word, beside the two implementations."""
    for number in range(60):
        rng = np.random.default_rng(number)
        d, g = (int(size) for size in rng.integers(1, 6, size=2))
        network, n = Network(d, g), d * g
        faults = Faults(
            random={
                "couplers": int(rng.integers(g * g // 2 + 1)),
                "processors": int(rng.integers(n // 2 + 1)),
                "transmitters": int(rng.integers(n // 3 + 1)),
            }
        ).drawn(network, Coins(number))
        dead = {(b, a) for b, a, _ in faults.dead("couplers")}
        broken = {processor for processor, _ in (*faults.processors, *faults.transmitters)}
        sources, destinations = (axis.ravel() for axis in np.indices((n, n)))
        found = two_way_paths(network, faults, sources, destinations)
        parts = FaultyParts(network, convert(faults.to_dict(), FaultsOfTrace))
        for source, destination, path in zip(sources, destinations, found, strict=True):
            a, b = source // d, destination // d
            expected = (
                source not in broken
                and destination not in broken
                and any(
                    not dead & {(via, a), (b, via), (via, b), (a, via)}
                    and any(via * d + index not in broken for index in _relays(d, g, int(a)))
                    for via in range(g)
                )
            )
            assert path == expected
            assert parts.joins(1, int(source), int(destination)) == expected


def _relays(d: int, g: int, a: int) -> list[int]:
    """The places in their groups of the processors that listen to group a in attempts."""
    if d >= g:
        return [index for index in range(d) if index % g == a]
    return [a // -(-g // d)]


# Many packets


@pytest.mark.long
def test_the_table_of_the_page() -> None:
    """Slots as docs/explanation/faults.md has them, by the same seeds."""
    page = Path(__file__).parents[4] / "docs/explanation/faults.md"
    rows = [line.split("|")[1:-1] for line in page.read_text().splitlines() if line[:1] == "|"]
    start = next(at for at, row in enumerate(rows) if "POPS(16, 16)" in row[1])
    shapes = [tuple(map(int, re.findall(r"\d+", name))) for name in rows[start][1:]]
    known = {
        "none": None, "1 dead coupler": "random:couplers=1",
        "4 dead couplers": "random:couplers=4", "1 dead processor": "random:processors=1",
        "1 message of 1000 lost": "loss:0.001", "1 message of 10 lost": "loss:0.1",
    }  # fmt: skip
    assert [row[0].strip() for row in rows[start + 2 : start + 8]] == list(known)
    for row in rows[start + 2 : start + 8]:
        for (d, g), printed in zip(shapes, row[1:], strict=True):
            runs = popsnet.route(
                d, g, router="relay", variant="survive", faults=known[row[0].strip()], runs=100
            )
            assert f"{runs.slots.mean():.1f}" == printed.strip()


@pytest.mark.long
def test_ten_million_packets() -> None:
    """``python -m tests.programs.routers.relay.survival`` routes 10^8 of them."""
    for case in cases(1e7):
        assert run(case).complaint is None, case
