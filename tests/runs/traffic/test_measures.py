from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from popsnet import Network
from popsnet.engines.log import Log
from popsnet.runs import measures
from popsnet.runs.measures import EXACT, Window, Worst, backlog_after, largest_in
from popsnet.workloads.block import Block
from tests.runs.traffic.synthetic import Coming, Servers, block_of, log_of

NETWORK = Network(2, 2)


def history(slots: int, pieces: list[int], seed: int = 1) -> list[tuple[Block, Log]]:
    """The same random traffic in pieces: four sources, packets overtake each other."""
    rng = np.random.default_rng(seed)
    packets = [
        (slot, source, int(rng.integers(4)), slot + int(rng.integers(0, 9)))
        for slot in range(slots)
        for source in range(4)
        if rng.random() < 0.3
    ]
    found, begin = [], 0
    for piece in pieces:
        end = begin + piece
        rows = [(a, s, t) for a, s, t, _ in packets if begin <= a < end]
        out = [(left, a, s, t) for a, s, t, left in packets if begin <= left < end]
        before = sum(a < begin <= left for a, _, _, left in packets)
        block = block_of(begin, piece, rows)
        found.append((block, log_of(block, out, before, messages=len(out), collisions=1)))
        begin = end
    return found


def fed(parts: list[tuple[Block, Log]], begin: int, end: int) -> Window:
    window, inside = Window(NETWORK, begin), 0
    for block, log in parts:
        backlog = backlog_after(inside, block, log)
        inside = int(backlog[-1])
        if block.begin == end:
            window.close()
        if block.begin >= begin:
            window.add(block, log, backlog)
    return window


PIECES = [100, 300, 50]


def test_the_measures_are_those_of_a_plain_count() -> None:
    parts = history(420, PIECES)
    window = fed(parts, 100, 400)
    rows = [
        (block.begin + int(np.searchsorted(log.ends, p, "right")), *row)
        for block, log in parts
        for p, row in enumerate(
            zip(log.arrival.tolist(), log.source.tolist(), log.destination.tolist(), strict=True)
        )
    ]
    delays = [left - a + 1 for left, a, _, _ in rows if 100 <= a < 400]
    counts = window.counts
    assert window.slots == 300
    assert window.tagged == window.offered == len(parts[1][0].sources)
    assert (counts.delivered, counts.delay) == (len(delays), sum(delays))
    assert (counts.longest, counts.hops) == (max(delays), len(delays))
    assert window.inside == 0
    assert window.deliveries == sum(100 <= left < 400 for left, *_ in rows)
    assert [window.percentile(share) for share in (0.01, 0.5, 0.9, 1.0)] == [
        sorted(delays)[max(0, int(np.ceil(share * len(delays))) - 1)]
        for share in (0.01, 0.5, 0.9, 1.0)
    ]
    overtaken = sum(
        any(b > a and other < left for other, b, *pair in rows if pair == [s, t])
        for left, a, s, t in rows
        if 100 <= a < 400
    )
    assert overtaken > 0
    assert counts.out_of_order == overtaken
    assert window.out_of_order == overtaken / len(delays)
    inside_in = [sum(a <= slot <= left for left, a, *_ in rows) for slot in range(100, 400)]
    assert window.integral == sum(inside_in)
    assert window.collisions == 1
    assert window.messages == len(parts[1][1].arrival)


@pytest.mark.parametrize("pieces", [[100, *[1] * 300, *[25] * 2], [50, 50, 7, 293, 50]])
def test_the_measures_do_not_depend_on_the_blocks(pieces: list[int]) -> None:
    one, other = fed(history(420, PIECES), 100, 400), fed(history(420, pieces), 100, 400)
    assert one.counts == other.counts
    assert one.delays() == other.delays()
    assert (one.integral, one.own, one.most_own) == (other.integral, other.own, other.most_own)
    assert one.fairness == other.fairness
    assert one.backlog.means.tolist() == other.backlog.means.tolist()


def test_sums_by_arrival_are_merged_as_the_window_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "MOST_SUMS", 64)
    parts = history(420, PIECES)
    window = fed(parts, 100, 400)
    assert window._shift == 3
    assert window._delays.sum() == window.counts.delay
    assert window._packets.sum() == window.counts.delivered
    starts = parts[1][0].starts
    assert window._packets[:3].tolist() == np.diff(starts[[0, 8, 16, 24]]).tolist()


def test_buckets_are_exact_and_then_narrow() -> None:
    values = [*range(1, 5000), 10**5, 10**6 + 7, 2**31, 2**39 + 12345]
    for value in values:
        largest = largest_in(int(measures._bucket(value)))
        assert value <= largest <= value + value // (EXACT // 2)
        if value < EXACT:
            assert largest == value
    places = [int(measures._bucket(value)) for value in range(1, 20_000)]
    assert all(0 <= b - a <= 1 for a, b in pairwise(places))


def test_packets_not_delivered_are_longer_than_all_others() -> None:
    block = block_of(0, 4, [(0, s, 0) for s in range(4)])
    window = Window(NETWORK, 0)
    log = log_of(block, [(0, 0, 0, 0), (1, 0, 1, 0)])
    window.add(block, log, backlog_after(0, block, log))
    window.close()
    assert (window.percentile(0.25), window.percentile(0.5)) == (1, 2)
    assert window.percentile(0.51) is None
    assert window.inside == 2


def test_refused_and_lost_packets_are_not_inside() -> None:
    block = block_of(5, 3, [(5, s, 0) for s in range(4)])
    log = log_of(block, [(6, 5, 0, 0)], 7, refused=2, lost=1)
    assert backlog_after(7, block, log).tolist() == [8, 7, 7]
    window = Window(NETWORK, 5)
    window.add(block, log, backlog_after(7, block, log))
    assert (window.refused, window.lost, window.tagged, window.inside) == (2, 1, 2, 1)


def test_little_agrees_with_the_mean_delay() -> None:
    # An identity but for the packets that are inside at both ends: fewer than 10 of about 4,800,
    # with delays below 60.
    arrivals, servers, inside = Coming(NETWORK, [0.15] * 4, [1, 2, 3, 0]), Servers(lambda to: 4), 0
    window = Window(NETWORK, 0)
    for begin in range(0, 8000, 1000):
        block = arrivals.block(begin, 1000)
        log = servers.advance(block)
        backlog = backlog_after(inside, block, log)
        inside = int(backlog[-1])
        window.add(block, log, backlog)
    counts = window.counts
    assert window.little == pytest.approx(counts.delay / counts.delivered, rel=10 * 60 / 4800 / 4)


def test_the_worst_is_named() -> None:
    rows = [(slot, s, s ^ 1) for slot in range(1200) for s in range(4)]
    block = block_of(0, 1200, rows)
    out = [(slot, slot, s, t) for slot, s, t in rows if s != 2 or slot % 10]
    window = Window(NETWORK, 0)
    log = log_of(block, out)
    window.add(block, log, backlog_after(0, block, log))
    worst = window.worst
    assert worst == Worst("flow", 2, 3, 1200, 1080)
    assert worst.share == 0.9
    assert str(worst) == "the flow from 2 to 3"
    assert str(Worst("source", 2, None, 1000, 1)) == "source 2"
    assert str(Worst("destination", None, 3, 1000, 1)) == "destination 3"
    shares = np.array([1, 1, 0.9, 1])
    assert window.fairness == pytest.approx(shares.sum() ** 2 / (4 * (shares**2).sum()))


def test_few_arrivals_are_not_judged() -> None:
    assert fed(history(420, PIECES), 100, 400).worst is None


def test_an_empty_window_has_no_figures() -> None:
    window = Window(NETWORK, 0)
    figures = window.little, window.fairness, window.out_of_order, window.worst, window.delays()
    assert figures == (None,) * 5


@pytest.mark.parametrize(
    ("shape", "every"), [((16, 32), 1), ((19, 27), 2), ((64, 64), 64), ((256, 256), 16_384)]
)
def test_large_networks_follow_some_sources(shape: tuple[int, int], every: int) -> None:
    window = Window(Network(*shape), 0)
    assert window.every == every
    assert len(window._flows) <= measures.MOST_FLOWS + window.network.n


def test_flows_of_some_sources_are_those_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "MOST_FLOWS", 8)
    monkeypatch.setattr(measures, "ENOUGH_ARRIVALS", 2)
    block = block_of(0, 4, [(slot, s, 3) for slot in range(4) for s in range(4)])
    out = [(slot, slot, 2, 3) for slot in range(3)]
    window, log = Window(NETWORK, 0), log_of(block, out)
    window.add(block, log, backlog_after(0, block, log))
    assert window.every == 2
    assert window.counts.followed == 3
    assert window._flows[3].tolist()[:2] == [4, 0]
    assert window._flows[4 + 3].tolist()[:2] == [4, 3]
