"""Arrivals: blocks, the distribution of what arrives, and what is refused."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from popsnet import Coins, InputError, Network
from popsnet.workloads.arrivals import Arrivals, Bernoulli, Block, OnOff, make_arrivals
from popsnet.workloads.patterns import resolve_pattern
from tests.each import each
from tests.workloads.matrices_of import matrix_of

PATTERNS = ["uniform", "group-shift", "random", "transpose", "hotspot:2:0.5", "gravity"]
Packets = list[tuple[int, int, int]]


def joined(*blocks: Block) -> Packets:
    return [
        (block.begin + k, int(block.sources[m]), int(block.destinations[m]))
        for block in blocks
        for k in range(block.slots)
        for m in range(block.starts[k], block.starts[k + 1])
    ]


@each("burst", [None, 1, 5.5])
@each("pattern", PATTERNS)
def test_blocks_of_any_size_have_the_same_packets(pattern: str, burst: float | None) -> None:
    load = 0.3
    arrivals = make_arrivals(Network(3, 4), pattern=pattern, load=load, burst=burst, seed=5)
    whole = joined(arrivals.block(0, 60))
    cuts = [0, 1, 3, 3, 20, 60]
    assert whole == joined(*(arrivals.block(a, b - a) for a, b in pairwise(cuts)))
    places = [(slot, source) for slot, source, _ in whole]
    assert places == sorted(set(places))
    assert len(whole) > 100


@pytest.mark.parametrize("burst", [None, 4])
def test_blocks_grow_when_more_arrives_than_is_likely(
    burst: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrivals = make_arrivals(Network(3, 4), load=0.8, burst=burst)
    whole = joined(arrivals.block(0, 40))
    monkeypatch.setattr(
        type(arrivals), "_room", lambda self, slots: np.empty(self.network.n, np.int32)
    )
    assert whole == joined(arrivals.block(0, 40))


@pytest.mark.parametrize("pattern", ["uniform", "incast:3", "gravity"])
def test_packets_are_those_that_the_coins_define(pattern: str) -> None:
    network, coins, load = Network(3, 2), Coins(9), 0.15
    rates = matrix_of(pattern, network, 9).sum(axis=1) * load
    expected: Packets = []
    targets = resolve_pattern(pattern, network, 9).targets()
    for slot in range(200):
        for source in range(network.n):
            if coins.word("arrival", slot, source) % 2**40 < round(rates[source] * 2**40):
                words = coins.words("destination", slot, np.array([source]))
                drawn = targets.draw(words, np.array([source], np.int32))
                expected.append((slot, source, int(drawn[0])))
    found = make_arrivals(network, pattern=pattern, load=load, seed=9).block(0, 200)
    assert joined(found) == expected


def test_bursts_are_those_that_the_coins_define() -> None:
    network, coins, load, burst = Network(2, 3), Coins(4), 0.4, 3
    end = round(2**24 / burst)
    begin = (end / 2**24) * load / (1 - (1 - end / 2**24) * load)
    expected: Packets = []
    targets = resolve_pattern("uniform", network).targets()
    for source in range(network.n):
        on = coins.word("on at the start", 0, source) % 2**40 < round(load * 2**40)
        began = -1
        for slot in range(300):
            word = coins.word("arrival", slot, source)
            if not on or word >> 40 < end:
                on, began = word % 2**40 < round(begin * 2**40), slot
            if on:
                words = np.array([coins.word("destination", began, source)], np.uint64)
                drawn = targets.draw(words, np.array([source], np.int32))
                expected.append((slot, source, int(drawn[0])))
    found = make_arrivals(network, load=load, burst=burst, seed=4).block(0, 300)
    assert joined(found) == sorted(expected)


@pytest.mark.parametrize("pattern", ["uniform", "gravity", "incast:2"])
def test_bursts_of_one_packet_are_bernoulli_arrivals(pattern: str) -> None:
    network = Network(4, 3)
    bernoulli, bursts = (
        make_arrivals(network, pattern=pattern, load=0.1, burst=burst, seed=2).block(0, 500)
        for burst in (None, 1)
    )
    assert joined(bernoulli) == joined(bursts)


@pytest.mark.parametrize("burst", [None, 8])
def test_at_load_1_every_processor_gets_a_packet_in_every_slot(burst: float | None) -> None:
    block = make_arrivals(Network(2, 3), load=1, burst=burst).block(0, 10)
    assert np.array_equal(block.sources.reshape(10, 6), np.tile(np.arange(6), (10, 1)))


@pytest.mark.parametrize("pattern", ["uniform", "gravity", "incast:4", "hotspot:1:0.5"])
def test_sources_get_packets_at_their_rates(pattern: str) -> None:
    """Chi-square of the counts of independent sources at 10^-6, in four cases."""
    network, slots, load = Network(4, 4), 20000, 0.1
    rates = matrix_of(pattern, network, 1).sum(axis=1) * load
    block = make_arrivals(network, pattern=pattern, load=load, seed=1).block(0, slots)
    counts = np.bincount(block.sources, minlength=network.n)
    there = rates > 0
    assert not counts[~there].any()
    variance = slots * rates[there] * (1 - rates[there])
    statistic = float(((counts[there] - slots * rates[there]) ** 2 / variance).sum())
    assert chi2.sf(statistic, int(there.sum())) > 1e-6


def test_slots_are_independent() -> None:
    """The numbers of pairs of arrivals in slots s, s + 1 are normal: 5 deviations, 10^-6."""
    network, slots, load = Network(16, 4), 4000, 0.3
    block = make_arrivals(network, load=load).block(0, slots)
    there = np.zeros((slots, network.n))
    there[np.repeat(np.arange(slots), np.diff(block.starts)), block.sources] = 1
    there -= load
    for other in (np.roll(there, 1, axis=0), np.roll(there, 1, axis=1)):
        deviation = load * (1 - load) * there.size**0.5
        assert abs((there * other).sum()) < 5 * deviation


def runs_of(block: Block, n: int) -> tuple[list[int], list[int]]:
    """Return the lengths of bursts that end, by a change of destination, and of gaps between."""
    bursts, gaps = [], []
    slots = np.repeat(np.arange(block.slots), np.diff(block.starts))
    for source in range(n):
        mine = block.sources == source
        times, to = slots[mine], block.destinations[mine]
        breaks = np.flatnonzero((np.diff(times) > 1) | (np.diff(to) != 0))
        bursts += np.diff(breaks).tolist()
        gaps += (np.diff(times)[breaks] - 1).tolist()
    return bursts, gaps


@pytest.mark.parametrize(("load", "burst"), [(0.2, 4.0), (0.7, 10.0), (0.9, 2.5)])
def test_bursts_and_gaps_are_geometric_with_their_means(load: float, burst: float) -> None:
    """Normal approximations at 5 deviations, 10^-6 each; a network so large that two bursts in a
    row with one destination, which look like one, change the means by less than half a deviation.
    """
    network, slots = Network(32, 32), 2000
    block = make_arrivals(network, load=load, burst=burst, seed=6).block(0, slots)
    bursts, gaps = (np.array(lengths) for lengths in runs_of(block, network.n))
    for lengths, mean, deviation in (
        (bursts, burst, (burst * (burst - 1)) ** 0.5),
        (gaps, mean_gap := burst * (1 - load) / load, (mean_gap * (mean_gap + 1)) ** 0.5),
    ):
        error = 5 * deviation / len(lengths) ** 0.5 + 2 * mean * mean / slots
        assert abs(lengths.mean() - mean) < error
    share = np.mean(bursts == 1)
    assert abs(share - 1 / burst) < 5 * (share * (1 - share) / len(bursts)) ** 0.5 + 1 / network.n


@pytest.mark.parametrize("burst", [1, 6, 50])
def test_bursts_start_in_the_stationary_state(burst: float) -> None:
    """The load of every slot is exact, the first included: 5 deviations in 150 slots, 10^-4."""
    network, load = Network(64, 64), 0.35
    block = make_arrivals(network, load=load, burst=burst, seed=8).block(0, 50)
    deviation = (network.n * load * (1 - load)) ** 0.5
    assert (abs(np.diff(block.starts) - load * network.n) < 5 * deviation).all()


def test_a_burst_has_one_destination() -> None:
    arrivals = make_arrivals(Network(8, 8), load=1, burst=1000)
    block = arrivals.block(0, 100)
    changes = (np.diff(block.destinations.reshape(100, 64), axis=0) != 0).sum()
    assert changes < 64  # of 6336: about 6 are expected


def test_bursts_are_asked_for_in_order() -> None:
    arrivals = make_arrivals(Network(2, 2), load=0.5, burst=4)
    first = joined(arrivals.block(0, 10))
    with pytest.raises(InputError, match="begin = 20: bursts must be asked for in order; the next"):
        arrivals.block(20, 5)
    assert joined(arrivals.block(0, 10)) == first


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({}, "bernoulli uniform"),
        ({"burst": 16}, "burst:16 uniform"),
        ({"burst": 2.5, "pattern": "incast:2"}, "burst:2.5 incast:2"),
    ],
)
def test_names(values: dict[str, Any], name: str) -> None:
    arrivals: Arrivals = make_arrivals(Network(2, 2), load=0.1, **values)
    assert (arrivals.name, arrivals.load, arrivals.file) == (name, 0.1, "")
    assert arrivals.rates().source >= 1


def test_kinds() -> None:
    assert isinstance(make_arrivals(Network(2, 2), load=0.1), Bernoulli)
    assert isinstance(make_arrivals(Network(2, 2), load=0.1, burst=2), OnOff)


def test_a_matrix_takes_the_place_of_a_pattern() -> None:
    network = Network(2, 3)
    arrivals = make_arrivals(network, matrix=np.eye(6)[::-1], load=0.5)
    block = arrivals.block(0, 100)
    assert (block.destinations == 5 - block.sources).all()
    assert arrivals.name.startswith("bernoulli matrix:")


def test_packets_take_the_place_of_everything(tmp_path: Path) -> None:
    path = tmp_path / "packets.csv"
    path.write_text("1,1,2\n6,0,3\n")
    arrivals = make_arrivals(Network(2, 2), packets=path)
    assert joined(arrivals.block(0, 8)) == [(0, 1, 2), (5, 0, 3)]


@each(
    ("values", "message"),
    [
        ({}, "load is missing; give the mean packets per processor and slot."),
        ({"load": 0}, "load = 0: a load must be a number of packets per processor and slot above"),
        ({"load": -0.5}, "load = -0.5: a load must be a number"),
        ({"load": 1.5}, "load = 1.5: a load must be a number"),
        ({"load": float("nan")}, "load = nan: a load must be a number"),
        ({"load": float("inf")}, "load = inf: a load must be a number"),
        ({"load": 10**400}, "a load must be a number"),
        ({"load": True}, "load = True: a load must be a number"),
        ({"load": "0.5"}, "load = '0.5': a load must be a number"),
        ({"load": 0.5, "burst": 0.5}, "burst = 0.5: the mean number of packets in a burst must be"),
        ({"load": 0.5, "burst": float("nan")}, "burst = nan: the mean number of packets in a"),
        ({"load": 0.5, "burst": 1e6}, "must be a number from 1 to 65,536."),
        ({"load": 0.5, "burst": "many"}, "burst = 'many': the mean number of packets in a burst"),
        ({"load": 0.5, "seed": -1}, "seed = -1: a seed must be an integer from 0 to 2^64 - 1."),
        ({"load": 0.5, "pattern": "unifrm"}, "There is no pattern 'unifrm'. Did you mean 'unifor"),
        (
            {"load": 0.5, "pattern": "incast:1"},
            "load = 0.5: in the pattern incast:1 processor 1 would get 2 packets per slot, and at "
            "most one can arrive. The largest load of this pattern is 0.25.",
        ),
        (
            {"load": 0.9, "matrix": [[0, 9], [1, 0]]},
            "processor 0 would get 1.62 packets per slot, and at most one can arrive. The largest "
            "load of this pattern is 0.555556.",
        ),
        (
            {"load": 0.5, "pattern": "random", "matrix": [[0, 1], [1, 0]]},
            "pattern = 'random': give a pattern or a matrix, not both.",
        ),
        ({"packets": "p.csv", "load": 0.5}, "load = 0.5: a list of packets says when and where"),
        ({"packets": "p.csv", "burst": 2}, "leave out burst or the list."),
        ({"packets": "p.csv", "matrix": [[1]]}, "leave out matrix or the list."),
        ({"packets": "p.csv", "pattern": "random"}, "leave out pattern or the list."),
        ({"packets": "missing.csv"}, "missing.csv cannot be read: No such file or directory."),
    ],
)
def test_wrong_values_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        make_arrivals(Network(2, 2), **values)
    assert message in str(caught.value)


def test_wrong_networks_are_refused() -> None:
    with pytest.raises(InputError, match="g is missing beside d = 4; give a network"):
        make_arrivals(4, load=0.5)  # type: ignore[call-overload]
    with pytest.raises(InputError, match="traffic is limited to n < 2\\^31 processors"):
        make_arrivals(Network(2**16, 2**15), load=0.5)


def test_the_largest_load_of_a_pattern_is_possible() -> None:
    rates = resolve_pattern("gravity", Network(4, 4)).sources()
    block = make_arrivals(Network(4, 4), pattern="gravity", load=1 / rates.max()).block(0, 50)
    assert np.count_nonzero(block.sources == rates.argmax()) == 50
