"""Delays and throughputs that are known exactly.

A mean is compared with its exact value at four standard errors by batch means, which a correct
program misses with a probability of about 10^-4 per check. Counts that are exact are compared
exactly.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import popsnet
from popsnet import Network
from popsnet.runs.simulate import open_session
from popsnet.traffic import Frame, TrafficExperiment, TrafficResult
from tests.each import each, rarely

SQUARE = (4, 4)
SHAPES = [(1, 1), (1, 7), (7, 1), (2, 8), (8, 2), (3, 5), (5, 3), (7, 3), (4, 4), (12, 5), (2, 11)]
SCHEDULERS = ("tdm", "vlb", "rotor", "hop3", "aloha", "relay", "ideal", "ideal:fifo", "epochs")
WITHOUT_COLLISIONS = ("tdm", "vlb", "rotor", "hop3", "ideal", "ideal:fifo", "epochs")


def point(d: int, g: int, scheduler: str, load: float, slots: int, **more: Any) -> TrafficResult:
    parameters: dict[str, Any] = {"pattern": "uniform-with-self", **more}
    return popsnet.simulate(d, g, scheduler=scheduler, load=load, slots=slots, **parameters)


def require_mean(result: TrafficResult, exact: float, bias: float = 0.0) -> None:
    """Compare at twice the half-width of the 95 % interval, about four standard errors."""
    assert result.delay.mean is not None
    assert result.delay.half_width is not None
    reach = 2 * result.delay.half_width + bias * exact
    assert abs(result.delay.mean - exact) <= reach, (result.delay.mean, exact, reach)


def tdm_delay(network: Network, load: float) -> float:
    """Return the mean delay of tdm: a queue per source and class, served once per frame.

    With A ~ Bin(F, ρ/F) arrivals per frame of F = n slots, the queue after a service has the mean
    E[A(A - 1)]/(2(1 - ρ)); a packet arrives in a uniform slot, sees ρ(F - 1)/(2F) earlier ones of
    its frame, and waits (F + 1)/2 for the first service. A class of c members has ρ = c·load.
    """
    n, most = network.n, min(network.d, network.g)
    sizes = np.bincount(np.arange(network.d) % most)
    rho = sizes * load
    delays = (n + 1) / 2 + (n - 1) * rho / (2 * (1 - rho))
    return float((sizes / network.d * delays).sum())


@each(
    ("d", "g", "load"),
    [(4, 4, 0.2), (4, 4, 0.5), (4, 4, 0.8), (2, 8, 0.5), (1, 8, 0.8), (8, 2, 0.15), (7, 3, 0.2),
     (5, 1, 0.1), (1, 1, 0.5)],
)  # fmt: skip
def test_tdm_on_any_shape(d: int, g: int, load: float) -> None:
    require_mean(point(d, g, "tdm", load, 200_000), tdm_delay(Network(d, g), load))


@pytest.mark.parametrize(("d", "rho"), [(4, 0.2), (4, 0.6), (8, 0.2), (8, 0.6)])
def test_vlb(d: int, rho: float) -> None:
    """The formula takes sources as independent, which they are but for one part in a hundred."""
    n = d * d
    exact = 1.5 + rho / (2 * (1 - rho)) + (1 - 1 / n) * (n + (n - 1) * rho / (1 - rho))
    require_mean(point(d, d, "vlb", rho / 2, 200_000), exact, bias=0.01)


@pytest.mark.parametrize(("d", "g"), [(4, 4), (2, 6), (4, 16)])
def test_hop3_of_single_packets(d: int, g: int) -> None:
    """At a load of 1/1000 packets hardly meet: a bias of one part in a hundred is allowed."""
    delay = popsnet.traffic.find_scheduler("hop3").delay
    assert delay is not None
    exact = delay(Network(d, g))
    assert exact is not None
    require_mean(point(d, g, "hop3", 0.001, 400_000), exact, bias=0.01)


@pytest.mark.parametrize(("d", "p"), [(8, 1 / 8), (8, 0.05), (16, 1 / 16), (2, 0.3)])
def test_aloha_on_one_shared_channel(d: int, p: float) -> None:
    """Sources that always have packets succeed with probability d·p·(1 - p)^(d-1) per data slot.

    Data slots are independent, so the count is binomial; 4.5 standard deviations.
    """
    slots = 100_000
    name = f"aloha:{p:g}"
    experiment = TrafficExperiment(
        d, 1, scheduler=name, load=1.0, pattern="uniform-with-self", buffer=4, overload=True
    )
    session = open_session(experiment, "fused")
    session.advance(experiment.resolved_arrivals.block(0, 100))
    delivered = len(session.advance(experiment.resolved_arrivals.block(100, slots)).arrival)
    exact = d * p * (1 - p) ** (d - 1)
    tosses = slots / 2
    assert abs(delivered - tosses * exact) < 4.5 * np.sqrt(tosses * exact * (1 - exact))


@pytest.mark.parametrize(
    ("n", "exact"), [(2, 0.75), (3, 0.6825), (4, 0.6553), (5, 0.6399), (8, 0.6184)]
)
def test_head_of_line_blocking_on_a_crossbar(n: int, exact: float) -> None:
    """Karol, Hluchyj, Morgan (1987), whose table has four digits: 5·10^-5 more is allowed."""
    result = point(1, n, "ideal:fifo", 1.0, 200_000, buffer=20, overload=True)
    # The variance of deliveries per slot is at most n²/4; successive slots are hardly correlated
    # in the long run, and measured standard errors are below 0.0006: four of them.
    assert abs(result.accepted - exact) < 4 * 0.0006 + 5e-5


def test_a_crossbar_with_virtual_output_queues_carries_almost_everything() -> None:
    assert point(1, 8, "ideal", 0.95, 50_000).stable is True
    assert point(1, 8, "ideal:fifo", 0.65, 50_000, overload=True).stable is False


def saturated(d: int, g: int, scheduler: str, pattern: str, slots: int) -> tuple[int, int]:
    """Return deliveries and collisions of sources that always have packets."""
    experiment = TrafficExperiment(
        d, g, scheduler=scheduler, load=1.0, pattern=pattern, buffer=20, overload=True
    )
    session = open_session(experiment, "fused")
    session.advance(experiment.resolved_arrivals.block(0, 400))
    log = session.advance(experiment.resolved_arrivals.block(400, slots))
    return len(log.arrival), int(log.collisions.sum())


@pytest.mark.parametrize("d", [2, 5, 8])
def test_relay_never_collides_on_a_group_shift(d: int) -> None:
    """Every source sends one packet per cycle of four slots."""
    assert saturated(d, d, "relay", "shift:d", 4_000) == (d * d * 1_000, 0)


def test_relay_on_transpose() -> None:
    """A source that tries succeeds if none of the others of its group has its place.

    Sources try in almost every cycle; with packets that failed before they wait a little, so that
    the throughput per cycle is at most (1 - 1/d)^(d-1) per try, and within a few parts in a hundred
    of it. The standard deviation of the mean is below 0.002.
    """
    d, cycles = 8, 10_000
    delivered, _ = saturated(d, d, "relay", "transpose", 4 * cycles)
    per_cycle = delivered / (d * d * cycles)
    exact = (1 - 1 / d) ** (d - 1)
    assert 0.9 * exact < per_cycle < 1.04 * exact


@pytest.mark.parametrize(("d", "g"), [(1, 5), (4, 4), (3, 7)])
def test_aloha_has_one_turn_per_destination(d: int, g: int) -> None:
    """On a permutation with one source per group pair nothing collides: 1/(2g) per processor."""
    if d == 1:
        delivered, collisions = saturated(d, g, "aloha", "shift:d", 2 * g * 500)
        assert (delivered, collisions) == (g * 500, 0)


@pytest.mark.parametrize(
    ("scheduler", "load", "stable"),
    [("vlb", 0.45, True), ("vlb", 0.55, False), ("tdm", 0.9 / 64, True), ("tdm", 1.1 / 64, False)],
)
def test_verdicts_on_a_permutation(scheduler: str, load: float, stable: bool) -> None:
    result = popsnet.simulate(
        8, 8, scheduler=scheduler, load=load, pattern="random", slots=100_000, overload=True
    )
    assert result.stable is stable


@each("scheduler", SCHEDULERS)
def test_littles_law(scheduler: str) -> None:
    """Packets inside per slot, divided by deliveries per slot, are the mean delay.

    They are equal up to the packets at both ends of the window.
    """
    engine = "slots" if scheduler == "epochs" else "auto"
    slots = 3_000 if scheduler == "epochs" else 50_000
    result = popsnet.simulate(4, 4, scheduler=scheduler, load=0.04, slots=slots, engine=engine)
    assert result.delay.mean is not None
    assert result.little == pytest.approx(result.delay.mean, rel=0.05)


@pytest.mark.parametrize("shapes", [SHAPES[1:5], *rarely([[*SHAPES[:1], *SHAPES[5:]]])], ids=len)
@each("scheduler", SCHEDULERS)
def test_packets_are_conserved_in_every_slot(scheduler: str, shapes: list[tuple[int, int]]) -> None:
    for (d, g), (load, buffer) in product(shapes, ((0.05, 0), (0.7, 2))):
        experiment = TrafficExperiment(
            d, g, scheduler=scheduler, load=load, pattern="uniform-with-self", buffer=buffer,
            overload=True,
        )  # fmt: skip
        session = open_session(experiment, "slots")
        block = experiment.resolved_arrivals.block(0, 120)
        log = session.advance(block)
        arrived = block.starts[1:] - np.cumsum(log.refused)
        inside = arrived - log.ends - np.cumsum(log.lost)
        assert inside.min() >= 0
        assert inside[-1] == session.memory.inside  # type: ignore[attr-defined]
        assert (log.own + log.relayed >= inside).all()
        assert log.arrival.min(initial=0) >= 0
        if buffer:
            assert max(log.most_own, log.most_relayed) <= buffer
        else:
            assert not log.refused.any()
            assert not log.lost.any()
        if scheduler in WITHOUT_COLLISIONS:
            assert not log.collisions.any()


@each(("d", "g"), SHAPES)
def test_every_processor_meets_every_class_once_per_frame(d: int, g: int) -> None:
    network = Network(d, g)
    frame, most = Frame(network), min(d, g)
    met = np.zeros((network.n, g * most), dtype=np.int64)
    for slot in range(frame.slots):
        meeting = frame.meeting(slot)
        met[meeting.senders, meeting.classes] += 1
        couplers = meeting.groups * g + network.group(meeting.senders)
        assert len(np.unique(couplers)) == len(couplers)
        for sender, one in zip(meeting.senders.tolist(), meeting.classes.tolist(), strict=True):
            group, residue = divmod(one, most)
            members = group * d + np.arange(residue, d, most)
            assert (meeting.listening[members] == sender // d).all()
    assert (met == 1).all()
