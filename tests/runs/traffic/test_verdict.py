from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from popsnet import Network
from popsnet.runs.batch_means import Sums
from popsnet.runs.measures import Window, backlog_after
from popsnet.runs.verdict import RunConditions, judge, slope_of, strong_growth
from tests.runs.traffic.synthetic import Coming, Servers, block_of, log_of

NETWORK = Network(2, 2)
CALM = RunConditions(least_slots=1000)


def series(values: np.ndarray) -> Sums:
    sums = Sums()
    sums.add(values)
    return sums


def measured(
    rates: Sequence[float], frames: Sequence[int], slots: int = 8000, seed: int = 1
) -> Window:
    """A window from slot 0, drained; destination i + 1 has a frame of frames[i] slots."""
    arrivals = Coming(NETWORK, list(rates), [1, 2, 3, 0], seed)
    servers, window, inside = Servers(lambda to: frames[to - 1]), Window(NETWORK, 0), 0
    for begin, end, then in (
        (0, slots // 2, window.mark), (slots // 2, slots, window.close), (slots, 2 * slots, None),
    ):  # fmt: skip
        block = arrivals.block(begin, end - begin)
        log = servers.advance(block)
        backlog = backlog_after(inside, block, log)
        inside = int(backlog[-1])
        window.add(block, log, backlog)
        if then is not None:
            then()
    return window


def autoregressive(seed: int, length: int, r: float) -> np.ndarray:
    from scipy.signal import lfilter

    noise = np.random.default_rng(seed).normal(size=length + 1000)
    found: np.ndarray = np.rint(1000 + 100 * lfilter([1.0], [1.0, -r], noise)[1000:])
    return found.astype(np.int64)


@pytest.mark.parametrize("r", [0.0, 0.99])
def test_a_stationary_backlog_rarely_has_a_significant_slope(r: float) -> None:
    # The level is 1 %, and the correlation time at most 100 of 20,000 slots: more than 16 of 400
    # with probability below 1e-5.
    found = [slope_of(series(autoregressive(seed, 20_000, r))) for seed in range(400)]
    assert sum(one is not None and one.p < 0.01 for one in found) <= 16


def test_long_correlations_are_allowed_for() -> None:
    # A correlation time of 1,000 in 20,000 slots. Without the factor about a fifth are significant.
    found = [slope_of(series(autoregressive(seed, 20_000, 0.999))) for seed in range(400)]
    assert sum(one is not None and one.p < 0.01 for one in found) <= 24


def test_the_slope_is_found() -> None:
    # 0.1 per slot over 20,000 slots, with noise of 100 around it: all 50 are significant.
    for seed in range(50):
        one = slope_of(series(autoregressive(seed, 20_000, 0.9) + np.arange(20_000) // 10))
        assert one is not None
        assert one.p < 1e-6
        assert one.per_slot == pytest.approx(0.1, rel=0.05)


def test_a_constant_has_no_slope_and_a_line_is_certain() -> None:
    level, line = slope_of(series(np.full(600, 3))), slope_of(series(np.arange(600)))
    assert level is not None
    assert line is not None
    assert (level.per_slot, level.p, level.most) == (0.0, 1.0, 0.0)
    assert line.per_slot == pytest.approx(1)
    assert line.p < 1e-12
    assert slope_of(series(np.arange(19))) is None


def test_a_calm_run_is_stable() -> None:
    verdict = judge(measured([0.15] * 4, [4] * 4), CALM)
    assert verdict.kind == "stable"
    assert "The backlog changed by" in verdict.reason


def test_overload_is_unstable_by_its_backlog() -> None:
    verdict = judge(measured([0.27] * 4, [4] * 4), CALM)
    assert verdict.kind == "unstable"
    assert verdict.reason.startswith("The backlog grew by")


def test_a_starved_flow_is_unstable_though_the_total_is_calm() -> None:
    # Source 1 gets 10 % less than it needs. Its backlog grows by 0.8 % of all arrivals: less than
    # 1 %, but of its own 1,100 arrivals a tenth is missing.
    window = measured([0.9, 0.11, 0.3, 0.3], [1, 10, 1, 1], 10_000)
    slope = slope_of(window.backlog)
    assert slope is not None
    assert slope.per_slot * window.slots < 0.01 * window.tagged
    verdict = judge(window, CALM)
    assert verdict.kind == "unstable"
    assert "the flow from 1 to 2 were delivered in the window" in verdict.reason
    assert verdict.reason.startswith("Only 9")


def queue_window(service: Callable[[int], bool], slots: int = 20_000) -> Window:
    """A window with one packet per 10 slots from 0 to 1, and a service in some of these slots.

    All services are there in the drain. Three flows with a packet per slot are delivered at once.
    """
    window, waiting, inside = Window(NETWORK, 0), 0, 0
    for begin, end, then in (
        (0, slots // 2, window.mark), (slots // 2, slots, window.close), (slots, 2 * slots, None),
    ):  # fmt: skip
        rows = [(slot, i, (i + 1) % 4) for slot in range(begin, end) for i in (1, 2, 3)]
        deliveries = [(slot, slot, i, to) for slot, i, to in rows]
        rows += [(slot, 0, 1) for slot in range(begin, end, 10)]
        block = block_of(begin, end - begin, rows)
        for slot in range(begin, end, 10):
            if waiting <= slot and (begin >= slots or service(slot)):
                deliveries.append((slot, waiting, 0, 1))
                waiting += 10
        log = log_of(block, deliveries, inside)
        backlog = backlog_after(inside, block, log)
        inside = int(backlog[-1])
        window.add(block, log, backlog)
        if then is not None:
            then()
    return window


def test_a_flow_that_falls_behind_in_one_part_only_does_not_decide() -> None:
    # The last 1,400 slots have no service: 140 of 2,000 packets, 7 %, wait when the window ends.
    # With the mean delay of 2 slots, the longest queue by chance has 2·(1 + 0.2)·ln(1600) = 18.
    window = queue_window(lambda slot: slot < 18_600)
    assert window.worst is not None
    assert window.worst.share == pytest.approx(0.93)
    assert window.starved(0.95, lambda arrivals: np.full(len(arrivals), 18.0)) is None
    verdict = judge(window, CALM)
    assert verdict.kind == "undecided"
    assert "did not fall behind steadily" in verdict.reason


def test_a_flow_that_falls_behind_all_the_time_decides_though_the_drain_delivers_it() -> None:
    # Every tenth service is missing: 90 % are delivered in the window, the rest in the drain.
    window = queue_window(lambda slot: slot // 10 % 10 != 0)
    assert window.starved(0.95, lambda arrivals: np.full(len(arrivals), 150.0)) == window.worst
    assert window.worst is not None
    assert window.worst.share == pytest.approx(0.9)
    # The rest would be missing from a window that has no mark near its middle.
    window._marks.clear()
    assert window.starved(0.95, lambda arrivals: np.full(len(arrivals), 150.0)) is None


def test_packets_left_after_the_drain_are_not_forgotten() -> None:
    rows = [(slot, 0, 1) for slot in range(900)]
    block = block_of(0, 900, rows)
    for missing, kind in ((0, "stable"), (1, "undecided"), (10, "unstable")):
        window = Window(NETWORK, 0)
        log = log_of(block, [(slot, slot, 0, 1) for slot in range(900 - missing)])
        window.add(block, log, backlog_after(0, block, log))
        window.close()
        verdict = judge(window, RunConditions(least_slots=900))
        assert verdict.kind == kind, verdict
        undrained = judge(window, RunConditions(least_slots=900, has_drained=False))
        assert undrained.kind == ("undecided" if missing else "stable")


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        (RunConditions(1000, limit="Interrupted."), "Interrupted."),
        (RunConditions(9000), "The window of 8,000 slots is too short"),
        (
            RunConditions(1000, precision=0.02),
            "After 8,000 slots the interval of the mean delay is wider than ±2.0%",
        ),
    ],
)
def test_what_does_not_suffice_is_undecided(seen: RunConditions, reason: str) -> None:
    verdict = judge(measured([0.15] * 4, [4] * 4), seen)
    assert verdict.kind == "undecided"
    assert verdict.reason.startswith(reason)


def test_a_backlog_that_may_have_grown_is_undecided() -> None:
    # 24 frames of slowly varying backlog say little: 99.6 % of what can be served arrives.
    window = measured([0.249] * 4, [4] * 4, 1200, seed=3)
    verdict = judge(window, CALM)
    assert verdict.kind == "undecided"
    assert verdict.reason.startswith("The backlog may have grown by up to")


def test_no_arrivals_are_undecided() -> None:
    verdict = judge(measured([0.0] * 4, [4] * 4), CALM)
    assert verdict == ("undecided", "No packet arrived in 8,000 slots.")


def test_growth_that_ended_the_run_decides() -> None:
    window = measured([0.15] * 4, [4] * 4)
    assert judge(window, RunConditions(1000, growth="It grew.")) == ("unstable", "It grew.")


def walk(seed: int, rate: float, queues: int, slots: int) -> tuple[Sums, Sums]:
    """The backlog of queues with a service per 10 slots, and their arrivals."""
    rng = np.random.default_rng(seed)
    come = rng.random((slots, queues)) < rate / 10
    steps = come - (np.arange(slots) % 10 == 9)[:, None].astype(np.int64)
    paths = np.cumsum(steps, axis=0)
    inside = paths - np.minimum(np.minimum.accumulate(paths, axis=0), 0)
    return series(inside.sum(axis=1)), series(come.sum(axis=1))


@pytest.mark.parametrize("queues", [1, 50])
def test_critical_queues_are_not_ended_early(queues: int) -> None:
    # Nearly critical queues, which are stable. Their growth must look steady and exceed four
    # standard errors of the arrivals, which has a probability below 1e-4 each.
    assert not any(strong_growth(*walk(seed, 0.99, queues, 4000)) for seed in range(100))


def test_overloaded_queues_are_ended_early() -> None:
    # 20 frames of 200 slots and 50 queues with 30 % too much: 5,000 arrivals in the later half,
    # of which 1,150 are not served, where four standard errors are 290.
    assert all(strong_growth(*walk(seed, 1.3, 50, 4000)) for seed in range(20))
    assert not strong_growth(Sums(), Sums())
