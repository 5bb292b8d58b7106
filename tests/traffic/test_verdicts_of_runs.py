"""Verdicts on real runs, among them those that a naive rule gets wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

import popsnet
from popsnet import Network
from popsnet.traffic import find_scheduler


@pytest.mark.parametrize("scheduler", ["vlb", "hop3"])
@pytest.mark.parametrize(("d", "g"), [(4, 4), (5, 2), (3, 2), (8, 2), (2, 5)])
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
    path.write_text("0,1,2,100\n")
    result = popsnet.simulate(4, 4, scheduler="tdm", packets=path)
    assert (result.verdict, result.undelivered, result.delay.max) == ("stable", 0, 1590)
    result = popsnet.simulate(4, 4, scheduler="tdm", packets=path, buffer=10)
    assert (result.verdict, result.refused) == ("undecided", 90)


def test_a_starving_flow_is_named_though_the_total_looks_stable() -> None:
    import numpy as np

    rates = np.ones((16, 16)) - np.eye(16)
    rates[0, 5] = 3
    result = popsnet.simulate(4, 4, scheduler="tdm", matrix=rates, load=0.4, slots=20_000)
    assert result.verdict == "unstable"
    assert "the flow from 0 to 5" in result.reason
    assert result.accepted > 0.99 * result.offered
