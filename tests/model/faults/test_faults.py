"""Faults as values: texts, random draws, paths."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popsnet import Coins, Experiment, Faults, InputError, Network
from popsnet.model.faults import ActiveFaults, two_way_paths
from tests.each import each, examples

PARTS = ("transmitters", "receivers", "processors")


@st.composite
def faults(draw: st.DrawFn, d: int = 3, g: int = 4) -> Faults:
    slot = st.integers(1, 9)
    group, processor = st.integers(0, g - 1), st.integers(0, d * g - 1)
    couplers = draw(st.lists(st.tuples(group, group, slot), max_size=5))
    parts = {name: draw(st.lists(st.tuples(processor, slot), max_size=2)) for name in PARTS}
    loss = draw(st.sampled_from([0.0, 0.001, 0.25, 1.0]))
    per = draw(st.sampled_from(["coupler", "listener"]))
    random = draw(st.dictionaries(st.sampled_from(PARTS), st.integers(0, 3), max_size=2))
    named = [f"{a}-{b}@{since}" for b, a, since in couplers]
    return Faults(named, **parts, loss=loss, loss_per=per, random=random)


@each(
    ("fields", "says"),
    [
        ({"processors": [None]}, r"processors: None must be a processor or \(processor, slot\)"),
        ({"processors": [1.5]}, "processors: 1.5 must be a processor"),
        ({"processors": [True]}, "processors: True must be a processor"),
        ({"receivers": [(1, True)]}, r"receivers: \(1, True\) must be a processor"),
        ({"random": ["couplers"]}, r"random = \['couplers'\]: give a mapping .* \{'couplers': 4\}"),
        ({"random": None}, "random = None: give a mapping"),
        ({"random": {"couplers": True}}, "random couplers = True: it must be an integer"),
    ],
)
def test_values_that_are_not_faults_are_refused(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=f"^{says}"):
        Faults(**fields)


def test_there_are_no_dead_parts_of_other_kinds() -> None:
    with pytest.raises(InputError, match=r"^There is no kind of parts 'coupler'\. Did you mean"):
        Faults().dead("coupler")


@given(faults())
def test_a_text_gives_the_same_faults(some: Faults) -> None:
    again = Faults.parse(str(some))
    assert again == some
    assert str(again) == str(some)
    assert hash(again) == hash(some)


def test_equal_parts_are_one_and_die_at_the_earlier_slot() -> None:
    assert Faults.parse("coupler:0-1@7 coupler:0-1@3").dead("couplers") == ((1, 0, 3),)
    assert Faults(processors=[3]) == Faults(processors=[(3, 1)])


@each(
    ("text", "says"),
    [
        ("copler:1,0", "Did you mean 'coupler:'"),
        ("coupler:1", "from group A to group B"),
        ("processor:1,2", "processor:P"),
        ("processor:x", "'x' is not a processor, 0 to n - 1; write processor:P"),
        ("coupler:storage-1", "'storage' is not a group number, 0 to g - 1; write coupler:A-B"),
        ("coupler:0-x", "'x' is not a group number"),
        ("coupler:0-", "'' is not a group number"),
        ("random:couplers=few", "'few' is not a number of parts"),
        ("coupler", "cannot be read. Write"),
        ("loss:much", "is not a number"),
        ("loss:2", "from 2\\^-32"),
        ("loss:1e-12", "from 2\\^-32"),
        ("loss:0.1 loss:0.2", "twice"),
        ("loss:0.1/person", "loss_per"),
        ("random:people=3", "no parts 'people'"),
        ("random:couplers=3 random:couplers=4", "twice"),
        ("processor:1@0", "fault 'processor:1@0': slot 0 must be at least 1"),
        ("random:couplers=3@0", "fault 'random:couplers=3@0': slot 0 must be at least 1"),
        ("coupler:1-0@soon", "'soon' is not a slot, 1 to 2\\^62"),
    ],
)
def test_wrong_texts(text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        Faults.parse(text)


@pytest.mark.parametrize("text", ["coupler:0-4", "processor:12", "random:couplers=17"])
def test_parts_must_exist(text: str) -> None:
    with pytest.raises(InputError, match=r"POPS\(3, 4\)"):
        Experiment(3, 4, router="relay", faults=text)


def test_all_couplers_can_be_drawn_and_none_twice() -> None:
    network, every = Network(2, 4), Faults.parse("coupler:0-0 random:couplers=15")
    drawn = every.drawn(network, Coins(5))
    assert [part[:2] for part in drawn.dead("couplers")] == list(
        itertools.product(range(4), range(4))
    )
    assert not drawn.random


@given(st.integers(0, 2**64 - 1), st.integers(0, 20), st.integers(0, 20))
def test_more_random_faults_contain_fewer(seed: int, first: int, second: int) -> None:
    network, coins = Network(3, 5), Coins(seed)
    few, many = (
        set(Faults(random={"couplers": number}).drawn(network, coins).dead("couplers"))
        for number in sorted((first, second))
    )
    assert few <= many
    assert len(many) == max(first, second)


def test_every_run_has_its_own_faults() -> None:
    experiment = Experiment(4, 4, faults="random:couplers=3 random:processors=1@5")
    drawn = [experiment.faults_of(run) for run in range(20)]
    assert len({str(active.faults) for active in drawn if active is not None}) > 15
    again = experiment.faults_of(7)
    assert again is not None
    assert drawn[7] is not None
    assert again.faults == drawn[7].faults


def test_random_couplers_are_uniform() -> None:
    # 20,000 draws of 16 couplers; each is expected 1,250 times with a standard deviation of 34.2.
    # Five of them in 16 comparisons: a false alarm in 10^-5 of all seeds.
    counts = np.zeros((4, 4))
    for seed in range(20_000):
        drawn = Faults(random={"couplers": 1}).drawn(Network(2, 4), Coins(seed))
        counts[drawn.dead("couplers")[0][0], drawn.dead("couplers")[0][1]] += 1
    assert abs(counts - 1250).max() < 5 * 34.2


@examples(60)
@given(faults(), st.integers(0, 2**32))
def test_paths_are_those_of_an_exhaustive_search(some: Faults, seed: int) -> None:
    network = Network(3, 4)
    drawn = some.drawn(network, Coins(seed))
    ends = np.array(list(itertools.product(range(12), range(12))))
    found = two_way_paths(network, drawn, ends[:, 0], ends[:, 1])
    assert found.tolist() == [_joined(network, drawn, *pair) for pair in ends.tolist()]


@pytest.mark.parametrize("shape", [(4, 4), (9, 4), (2, 5), (1, 6), (5, 1)])
def test_paths_on_other_shapes(shape: tuple[int, int]) -> None:
    network = Network(*shape)
    ends = np.array(list(itertools.product(range(network.n), range(network.n))))
    for seed in range(12):
        most = min(seed, network.couplers)
        random = {"couplers": most, "receivers": min(seed % 4, network.n)}
        drawn = Faults(random=random).drawn(network, Coins(seed))
        found = two_way_paths(network, drawn, ends[:, 0], ends[:, 1])
        assert found.tolist() == [_joined(network, drawn, *pair) for pair in ends.tolist()], drawn


def _joined(network: Network, faults: Faults, source: int, destination: int) -> bool:
    """Look for a path by its definition."""
    dead = {part[:2] for part in faults.dead("couplers")}
    broken = {part[0] for name in PARTS for part in faults.dead(name)}
    if {source, destination} & broken:
        return False
    a, b = source // network.d, destination // network.d
    alike = -(-network.g // network.d)
    indices = range(a, network.d, network.g) if alike == 1 else (a // alike,)
    return any(
        not {(via, a), (b, via), (via, b), (a, via)} & dead
        and any(via * network.d + index not in broken for index in indices)
        for via in range(network.g)
    )


def test_the_parts_are_dead_from_their_slot_on() -> None:
    faults = Faults.parse("coupler:0-1@3 receiver:1@2 processor:0@4 transmitter:3")
    active = ActiveFaults(Network(2, 2), faults, Coins(0))
    listeners, listened = np.array([0, 1, 2, 3]), np.array([0, 0, 0, 1])
    heard = [active.hear(slot, listeners, listened).tolist() for slot in (1, 2, 3, 4)]
    assert heard == [
        [True, True, True, True], [True, False, True, True], [True, False, False, True],
        [False, False, False, True],
    ]  # fmt: skip
    sent = [active.send(slot, listeners) for slot in (1, 4)]
    assert [None if heard is None else heard.tolist() for heard in sent] == [
        [True, True, True, False], [False, True, True, False]
    ]  # fmt: skip


@pytest.mark.parametrize("per", ["coupler", "listener"])
def test_losses_are_binomial_and_of_their_kind(per: str) -> None:
    # 500 slots, 20 listeners, 4 couplers: the rate has a standard deviation of 0.0041 with 10,000
    # draws by listener, and of 0.0091 with 2,000 by coupler. Five of them: 6 · 10^-7.
    network = Network(10, 2)
    active = ActiveFaults(network, Faults(loss=0.21, loss_per=per), Coins(3))
    listeners, listened = np.tile(np.arange(20), 2), np.repeat([0, 1], 20)
    lost, alike = 0, True
    for slot in range(1, 501):
        hears = active.hear(slot, listeners, listened)
        lost += int((~hears).sum())
        by_coupler = hears.reshape(2, 2, 10)
        alike &= bool((by_coupler == by_coupler[:, :, :1]).all())
        assert sorted(active.misses.tolist()) == sorted(listeners[~hears].tolist())
    rate, deviation = lost / 20_000, 0.0091 if per == "coupler" else 0.0041
    assert abs(rate - 0.21) < 5 * deviation
    assert alike == (per == "coupler")
