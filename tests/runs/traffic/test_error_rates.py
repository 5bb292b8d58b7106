"""How often verdicts and intervals are wrong, beside formulas and beside code of this module alone.

Seeds are fixed, so a test passes or fails always. Its error rate is the probability with which
other seeds would fail a correct program.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import t as student

import popsnet
from popsnet import Network
from popsnet.runs.simulate import open_session
from popsnet.traffic import TrafficExperiment, TrafficResult, find_scheduler
from tests.runs.traffic.test_exact import tdm_delay

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

UNIFORM: dict[str, Any] = {"pattern": "uniform-with-self", "overload": True}
SHAPES = [
    (4, 4), (8, 8), (2, 8), (8, 2), (4, 16), (3, 5), (5, 3), (7, 3), (1, 8), (12, 5), (6, 6),
]  # fmt: skip


class Raw(NamedTuple):
    """What happened to every packet of a run, from the log of the engine."""

    arrivals: I64
    """A row (slot, source, destination) per packet that arrived."""
    deliveries: I64
    """A row (slot of the arrival, source, destination, slot) per packet that was delivered."""


def raw(experiment: TrafficExperiment, slots: int) -> Raw:
    session = open_session(experiment, "auto" if experiment.scheduler == "epochs" else "fused")
    block = experiment.resolved_arrivals.block(0, slots)
    log = session.advance(block)
    session.close()
    come = np.repeat(np.arange(slots), np.diff(block.starts))
    left = np.repeat(np.arange(slots), np.diff(log.ends, prepend=0))
    return Raw(
        np.stack([come, block.sources, block.destinations], axis=1).astype(np.int64),
        np.stack([log.arrival, log.source, log.destination, left], axis=1).astype(np.int64),
    )


def growth(of: Raw, result: TrafficResult) -> float:
    """Return the slope of a line through the backlog of every slot, over the arrivals per slot."""
    end = result.warm_up + result.slots
    change = np.bincount(of.arrivals[:, 0], minlength=end)[:end]
    change = change - np.bincount(of.deliveries[:, 3], minlength=end)[:end]
    backlog = np.cumsum(change)[result.warm_up :]
    slope = np.polynomial.polynomial.polyfit(np.arange(result.slots), backlog, 1)[1]
    return float(slope) * result.slots / result.arrived


def least_share(of: Raw, n: int, begin: int, end: int) -> float:
    """Return the least share of a flow, source or destination with 1,000 arrivals in the slots."""
    come = of.arrivals[(of.arrivals[:, 0] >= begin) & (of.arrivals[:, 0] < end)]
    left = of.deliveries[(of.deliveries[:, 3] >= begin) & (of.deliveries[:, 3] < end)]
    shares = []
    for source, destination in ((n, 1), (1, 0), (0, 1)):
        arrived, delivered = (
            np.bincount(rows[:, 1] * source + rows[:, 2] * destination, minlength=n * n)
            for rows in (come, left)
        )
        enough = arrived >= 1000
        shares += (delivered[enough] / arrived[enough]).tolist()
    return min(shares, default=1.0)


@pytest.mark.parametrize("scheduler", ["tdm", "rotor", "vlb", "hop3", "ideal", "aloha", "relay"])
def test_measures_are_those_of_the_raw_log(scheduler: str) -> None:
    """Shares and means exactly; the slope is fitted to other batches, to 0.1 % of the arrivals."""
    stated = find_scheduler(scheduler).saturation
    assert stated is not None
    for part in (0.6, 1.3):
        load = part * stated(Network(6, 3))
        one = TrafficExperiment(6, 3, scheduler=scheduler, load=load, slots=20_000, **UNIFORM)
        result = popsnet.simulate(one)
        end = result.warm_up + result.slots
        of = raw(one, end + result.drain)
        tagged = of.deliveries[of.deliveries[:, 0] >= result.warm_up]
        tagged = tagged[tagged[:, 0] < end]
        delays = tagged[:, 3] - tagged[:, 0] + 1
        assert result.delay.mean == pytest.approx(delays.mean())
        assert result.undelivered == result.arrived - len(tagged)
        worst = least_share(of, 18, result.warm_up, end)
        assert (1.0 if result.worst is None else result.worst.share) == pytest.approx(worst)
        found = growth(of, result)
        if result.verdict == "stable":
            assert float(result.reason.split(" by ")[1].split("%")[0]) / 100 == pytest.approx(
                found, abs=2e-3
            )
        else:
            assert found > 0.01, (scheduler, part, result.reason)


def interval(delays: F64, slots: I64, length: int) -> tuple[float, float]:
    """Return the mean and half of its 95 % interval, by 30 batches of slots of arrivals."""
    batch = slots * 30 // length
    counts = np.bincount(batch, minlength=30)
    sums = np.bincount(batch, delays, 30)
    mean = float(sums.sum() / counts.sum())
    values = (sums - mean * counts) / counts.mean()  # of a ratio of sums
    r = max(0.0, float(np.corrcoef(values[:-1], values[1:])[0, 1]))
    error = float(values.std(ddof=1)) / sqrt(30) * sqrt((1 + r) / (1 - r))
    return mean, float(student.ppf(0.975, 29)) * error


def covered(d: int, g: int, load: float, runs: int) -> tuple[int, int]:
    """Return how often the intervals of popsnet, and of this module, have the exact mean of tdm."""
    exact = tdm_delay(Network(d, g), load)
    ours = theirs = 0
    for seed in range(runs):
        one = TrafficExperiment(
            d, g, scheduler="tdm", load=load, slots=20_000, arrival_seed=70_000 + seed, **UNIFORM
        )
        result = popsnet.simulate(one)
        assert result.delay.interval is not None
        ours += result.delay.interval[0] <= exact <= result.delay.interval[1]
        end = result.warm_up + result.slots
        log = raw(one, end + result.drain).deliveries
        log = log[(log[:, 0] >= result.warm_up) & (log[:, 0] < end)]
        delays, slots = (log[:, 3] - log[:, 0] + 1).astype(float), log[:, 0] - result.warm_up
        mean, half = interval(delays, slots, result.slots)
        assert mean == pytest.approx(result.delay.mean)
        theirs += abs(mean - exact) <= half
    return ours, theirs


def test_intervals_cover_the_exact_mean() -> None:
    """Of 40 intervals of 95 %, fewer than 33 cover the mean with a probability of 10^-3."""
    ours, theirs = covered(4, 4, 0.5, 40)
    assert min(ours, theirs) >= 33, (ours, theirs)


@pytest.mark.long
@pytest.mark.parametrize(("d", "g", "load"), [(4, 4, 0.3), (4, 4, 0.7), (2, 8, 0.5), (8, 2, 0.15)])
def test_intervals_cover_the_exact_mean_often_enough(d: int, g: int, load: float) -> None:
    """Of 200, at least 178 and at most 199, but for a probability of 3·10^-4."""
    for count in covered(d, g, load, 200):
        assert 178 <= count <= 199


def wrong_verdicts(
    schedulers: tuple[str, ...], shapes: list[tuple[int, int]], slots: int, seeds: int,
    parts: tuple[float, ...],
) -> tuple[int, list[str]]:  # fmt: skip
    """Return how many loads were judged, and those stable above or unstable below the largest."""
    judged, wrong = 0, []
    for scheduler in schedulers:
        stated = find_scheduler(scheduler).saturation
        assert stated is not None
        for d, g in shapes:
            for part in parts:
                load = part * stated(Network(d, g))
                if scheduler == "rotor" and d > g and d % g:
                    continue  # a lower bound
                for seed in range(seeds if load <= 1 else 0):
                    result = popsnet.simulate(
                        d, g, scheduler=scheduler, load=load, slots=slots, seed=seed,
                        arrival_seed=80_000 + seed, **UNIFORM,
                    )  # fmt: skip
                    judged += 1
                    if result.verdict == ("unstable" if part < 1 else "stable"):
                        wrong.append(f"{scheduler} {d} {g} {load:.4g} {seed}: {result.reason}")
    return judged, wrong


EXACT = ("tdm", "rotor", "vlb", "hop3", "ideal")
"""Schedulers whose largest load is exact."""


def test_verdicts_agree_with_the_formulas() -> None:
    """None of about 40 is wrong: at an error rate of 1/1000 one is with a probability of 4 %."""
    judged, wrong = wrong_verdicts(EXACT, [(4, 4), (6, 3), (2, 5)], 10_000, 1, (0.7, 0.9, 1.2))
    assert judged > 30
    assert wrong == []


@pytest.mark.long
@pytest.mark.parametrize("scheduler", EXACT)
def test_verdicts_agree_with_the_formulas_on_any_shape(scheduler: str) -> None:
    """At an error rate of 1/1000 two of 198 are wrong with a probability of 2 %."""
    parts = (0.7, 0.9, 0.97, 1.05, 1.2, 1.5)
    judged, wrong = wrong_verdicts((scheduler,), SHAPES, 60_000, 3, parts)
    assert judged >= 75
    assert len(wrong) <= 1, wrong
