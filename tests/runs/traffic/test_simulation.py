from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from popsnet import InputError, Network
from popsnet.engines.log import Log
from popsnet.experiment.stop import StopRule
from popsnet.runs.traffic_point import run_point
from popsnet.runs.traffic_result import Setting, TrafficResult
from popsnet.workloads.block import Block
from tests.each import each, rarely, sampled
from tests.runs.traffic.synthetic import Coming, Servers, exact_delays

NETWORK = Network(2, 2)
FRAME = 4


def run(rate: float = 0.15, seed: int = 1, frame: int = FRAME, **choices: Any) -> TrafficResult:
    """Each of four sources sends to a destination of its own, which is served once per frame."""
    arrivals: Any = Coming(NETWORK, [rate] * 4, [1, 2, 3, 0], seed)
    return run_point(
        arrivals, Servers(lambda to: frame), NETWORK, period=frame, progress=False, **choices
    )


@pytest.mark.parametrize("rate", [0.05, *rarely([0.15, 0.2])])
def test_the_delay_is_that_of_the_theory(rate: float) -> None:
    # Batch means of 80,000 slots: 4 standard errors (the half-width is 2 of them) are exceeded
    # with probability 5e-4 by Student's t, once in 2,000 seeds; the seed is fixed.
    result = run(rate, slots=80_000)
    exact = exact_delays(FRAME, rate)
    mean = float(exact @ np.arange(len(exact)))
    rho = FRAME * rate
    waiting = rho**2 * (1 - 1 / FRAME) / (2 * (1 - rho)) + rho * (FRAME - 1) / (2 * FRAME)
    assert mean == pytest.approx((FRAME + 1) / 2 + FRAME * waiting)
    assert result.delay.mean is not None
    assert result.delay.half_width is not None
    assert abs(result.delay.mean - mean) < 2 * result.delay.half_width
    assert result.little == pytest.approx(result.delay.mean, rel=2e-3)
    assert result.verdict == "stable", result.reason
    below = np.cumsum(exact)
    for share, found in (
        (0.5, result.delay.p50),
        (0.9, result.delay.p90),
        (0.99, result.delay.p99),
    ):
        # Within what a share wrong by five standard errors of independent packets gives, four
        # times as many being needed because packets are correlated.
        error = 5 * 2 * np.sqrt(share * (1 - share) / result.arrived)
        assert found is not None
        assert np.searchsorted(below, share - error) <= found
        assert found <= np.searchsorted(below, min(share + error, 1 - 1e-12))


def test_intervals_cover_the_mean() -> None:
    # 40 runs of 12,000 slots. If 95 % cover, fewer than 31 do with probability 1e-5.
    exact = exact_delays(FRAME, 0.15)
    mean = float(exact @ np.arange(len(exact)))
    found = [run(seed=seed, slots=12_000).delay.interval for seed in range(40)]
    assert sum(one is not None and one[0] <= mean <= one[1] for one in found) >= 31


def test_the_window_grows_until_the_interval_is_narrow() -> None:
    wide, narrow = run(precision=0.1), run(precision=0.02)
    for result, precision in ((wide, 0.1), (narrow, 0.02)):
        assert result.verdict == "stable"
        assert result.delay.mean is not None
        assert result.delay.half_width is not None
        assert result.delay.half_width <= 1.1 * precision * result.delay.mean
    assert wide.slots < narrow.slots


def test_a_precision_that_is_not_reached_is_undecided() -> None:
    result = run(precision=0.001, max_slots=5000)
    assert result.slots == 5000
    assert result.verdict == "undecided"
    assert "wider than ±0.1%" in result.reason


@each("block_slots", sampled([333, 1, 4096], 1))
def test_the_result_does_not_depend_on_the_blocks(block_slots: int) -> None:
    choices: dict[str, Any] = {"precision": 0.08}
    assert run(block_slots=block_slots, **choices) == run(**choices)


def test_all_packets_of_the_window_are_drained() -> None:
    result = run(0.2, slots=5000)
    assert result.undelivered == 0
    assert 0 < result.drain <= 1000
    assert result.warm_up in (1000, 2000, 2500)
    assert result.slots == 5000


def test_a_given_warm_up_is_kept() -> None:
    assert run(warm_up=0, slots=2000).warm_up == 0
    assert run(warm_up=123, slots=2000).warm_up == 123


def test_the_warm_up_is_at_least_five_periods() -> None:
    assert run(0.002, frame=300, slots=3000).warm_up >= 1500


def test_strong_overload_ends_early() -> None:
    result = run(0.5, max_slots=10**6)
    assert result.verdict == "unstable"
    assert result.reason.startswith("The backlog grew by 50.")
    assert result.warm_up + result.slots + result.drain <= 10_000
    assert result.accepted == pytest.approx(0.25, rel=0.01)
    assert result.undelivered > 0
    assert result.delay.p99 is None


@pytest.mark.parametrize("choices", [{"slots": 40_000}, {"warm_up": 0, "slots": 40_000}])
def test_slight_overload_is_unstable(choices: dict[str, Any]) -> None:
    # 4 % more than is served, over 40,000 slots: 1,600 of 41,600 packets are left, where the
    # standard error of arrivals is 180.
    result = run(0.26, **choices)
    assert result.verdict == "unstable", result.reason


def test_a_short_run_close_to_the_limit_is_doubted() -> None:
    result = run(0.249, slots=1500)
    assert result.verdict != "stable"


def test_too_many_packets_end_the_run() -> None:
    strong, weak = run(0.9, max_inside=500), run(0.2, max_inside=3, slots=30_000)
    assert strong.verdict == "unstable"
    assert weak.verdict == "undecided"
    assert weak.reason == "More than 3 packets were inside."
    assert weak.slots > 0


class Leaky(Servers):
    """Loses every hundredth packet instead of delivering it."""

    def advance(self, block: Block, /) -> Log:
        log = super().advance(block)
        kept = log.arrival % 100 != 7
        slots = np.searchsorted(log.ends, np.arange(len(log.arrival)), "right")
        lost = np.bincount(slots[~kept], minlength=len(log.ends)).astype(np.int32)
        ends = np.cumsum(np.bincount(slots[kept], minlength=len(log.ends)))
        columns = {
            name: getattr(log, name)[kept] for name in ("arrival", "source", "destination", "hops")
        }
        return log._replace(lost=lost, ends=ends, **columns)


def test_lost_packets_do_not_keep_the_drain_waiting() -> None:
    arrivals: Any = Coming(NETWORK, [0.1] * 4, [1, 2, 3, 0])
    result = run_point(
        arrivals, Leaky(lambda to: FRAME), NETWORK, period=FRAME, slots=20_000, progress=False
    )
    assert result.lost > 0
    assert result.undelivered == pytest.approx(0.01 * result.arrived, rel=0.3)
    assert 1000 <= result.drain < 2000
    assert result.verdict in ("stable", "unstable"), result.reason  # about 1 % are lost


class Interrupted(Servers):
    """Is interrupted after some slots."""

    stop = 0

    def advance(self, block: Block, /) -> Log:
        if block.begin >= self.stop:
            raise KeyboardInterrupt
        return super().advance(block)


@pytest.mark.parametrize(("stop", "slots"), [(500, None), (1000, None), (3000, 2000), (5500, 4000)])
def test_an_interrupt_keeps_what_was_measured(stop: int, slots: int | None) -> None:
    session = Interrupted(lambda to: FRAME)
    session.stop = stop
    arrivals: Any = Coming(NETWORK, [0.15] * 4, [1, 2, 3, 0])
    with pytest.raises(KeyboardInterrupt) as stopped:
        run_point(arrivals, session, NETWORK, slots=100_000, block_slots=500, progress=False)
    result = stopped.value.result  # type: ignore[attr-defined]
    if slots is None:
        assert result is None
    else:
        assert (result.verdict, result.slots) == ("undecided", stop - 1000)
        assert result.reason == f"The run was interrupted after {stop:,} slots."


def test_progress_is_reported() -> None:
    seen: list[tuple[int, int]] = []
    arrivals: Any = Coming(NETWORK, [0.15] * 4, [1, 2, 3, 0])
    run_point(
        arrivals, Servers(lambda to: FRAME), NETWORK, slots=3000, block_slots=1000,
        progress=lambda done, total: seen.append((done, total)),
    )  # fmt: skip
    assert seen[0] == (1000, 3000)
    assert (3000, 3000) in seen


def test_the_setting_is_kept() -> None:
    setting = Setting("tdm", seed=7, engine="slots", bounds={"rows": 1.0})
    result = run(slots=1000, setting=setting)
    assert result.setting == setting
    assert (result.network, result.arrivals, result.load) == (NETWORK, "synthetic", 0.15)


def test_plans_have_defaults() -> None:
    plan = StopRule(Network(64, 64), period=4096)
    assert (plan.first_warm_up, plan.longest) == (5 * 4096, 409_600)
    short = StopRule(Network(256, 256), period=4)
    assert (short.first_warm_up, short.longest) == (1000, 20_000)


@each(
    ("wrong", "message"),
    [
        ({"slots": 0}, "slots = 0: it must be at least 1"),
        ({"max_slots": 2**31}, "max_slots = 2147483648: it must be at most"),
        ({"precision": 0.0}, "precision = 0.0: it must be between 0 and 1"),
        ({"precision": 2}, "precision = 2: it must be between 0 and 1"),
        ({"warm_up": -1}, "warm_up = -1: it must be at least 0"),
        ({"max_inside": 0}, "max_inside = 0: it must be at least 1"),
        ({"block_slots": 0}, "block_slots = 0: it must be at least 1"),
    ],
)
def test_wrong_parameters_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        run(**wrong)
