"""Verdicts on real runs, among them those that a naive rule gets wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

import popsnet
from popsnet import Network
from popsnet.traffic import find_scheduler
from tests.each import each


@each("scheduler", ["vlb", "hop3"])
@each(("d", "g"), [(4, 4), (5, 2), (3, 2), (8, 2), (2, 5)])
def test_loads_are_carried_up_to_what_is_stated(scheduler: str, d: int, g: int) -> None:
    """Also where g does not divide d. The verdicts are those of one seed each."""
    stated = find_scheduler(scheduler).saturation
    assert stated is not None
    most = stated(Network(d, g))
    for part, stable in ((0.85, True), (1.15, False)):
        load = part * most
        result = popsnet.simulate(
            d, g, scheduler=scheduler, load=load, pattern="uniform-with-self", slots=100_000,
            overload=True,
        )  # fmt: skip
        assert result.stable is stable, (load, result.reason)


def test_refused_and_lost_packets_are_not_stable() -> None:
    result = popsnet.simulate(8, 8, load=0.5, buffer=1, pattern="transpose", slots=1500)
    assert (result.verdict, result.lost) == ("unstable", 0)
    assert "were refused or lost" in result.reason
    assert result.refused > 0.9 * result.arrived


@pytest.mark.parametrize("slots", [1, 60, 300])
def test_short_windows_are_undecided(slots: int) -> None:
    result = popsnet.simulate(8, 8, scheduler="tdm", load=0.1, slots=slots)
    assert result.verdict == "undecided"
    assert "too short" in result.reason


def test_few_packets_are_undecided() -> None:
    result = popsnet.simulate(8, 8, scheduler="tdm", load=1e-6, max_slots=200_000)
    assert result.verdict == "undecided"


def test_a_list_is_judged_by_its_deliveries(tmp_path: Path) -> None:
    path = tmp_path / "batch.csv"
    path.write_text("1,1,2,100\n")
    result = popsnet.simulate(4, 4, scheduler="tdm", packets=path)
    assert (result.verdict, result.undelivered, result.delay.max) == ("stable", 0, 1590)
    result = popsnet.simulate(4, 4, scheduler="tdm", packets=path, buffer=10)
    assert (result.verdict, result.refused) == ("undecided", 90)


def test_a_list_that_the_window_cuts_is_undecided(tmp_path: Path) -> None:
    path = tmp_path / "late.csv"
    path.write_text("1,1,2,3\n900,1,2,2\n")
    for slots, found in ((100, "undecided"), (899, "undecided"), (900, "stable"), (None, "stable")):
        result = popsnet.simulate(4, 4, scheduler="tdm", packets=path, slots=slots)
        assert result.verdict == found
        if found == "undecided":
            assert (result.delivered, result.undelivered) == (3, 0)
            assert result.reason == "Only 3 of 5 packets of the list arrived in the window."


def test_a_list_is_measured_until_its_last_delivery(tmp_path: Path) -> None:
    """One source meets processor 2 once in 16 slots, here in slots 6, 22, 38, …

    Ten packets of slot 1 and two of slot 31 are delivered in the slots 6 + 16k, k < 12.
    """
    path = tmp_path / "batch.csv"
    path.write_text("1,1,2,10\n31,1,2,2\n")
    delivered = [6 + 16 * k for k in range(12)]
    delays = delivered[:10] + [slot - 30 for slot in delivered[10:]]
    for engine in ("slots", "fused"):
        result = popsnet.simulate(4, 4, scheduler="tdm", packets=path, engine=engine)
        assert (result.warm_up, result.slots, result.drain) == (0, 182, 0)
        assert result.delay.mean == pytest.approx(sum(delays) / 12)
        assert result.little == pytest.approx(sum(delays) / 12)
        assert (result.arrived, result.delivered, result.messages) == (12, 12, 1.0)
        assert result.accepted == result.offered == pytest.approx(12 / 16 / 182)
        assert result.load == 12 / 16 / 31
        times = result.row(popsnet.Timing(slot="10ns", guard="0ns", rate="100Gbps"))
        assert times["accepted_gbps"] == pytest.approx(12 * 1000 / 1820)
    half = popsnet.simulate(4, 4, scheduler="tdm", packets=path, slots=31)
    assert (half.slots, half.delivered, half.undelivered) == (31, 2, 0)


def test_a_list_is_not_ended_early_for_growth(tmp_path: Path) -> None:
    path = tmp_path / "overload.csv"
    path.write_text("".join(f"{slot},1,2\n" for slot in range(1, 6000, 4)))
    result = popsnet.simulate(4, 4, scheduler="tdm", packets=path)
    assert (result.verdict, result.delivered, result.slots) == ("stable", 1500, 5 + 16 * 1499 + 1)


def test_a_starving_flow_is_named_though_the_total_looks_stable() -> None:
    import numpy as np

    rates = np.ones((16, 16)) - np.eye(16)
    rates[0, 5] = 3
    result = popsnet.simulate(4, 4, scheduler="tdm", matrix=rates, load=0.4, slots=20_000)
    assert result.verdict == "unstable"
    assert "the flow from 0 to 5" in result.reason
    assert result.accepted > 0.99 * result.offered
