"""Timing: what follows from slot, guard, rate and fibre, against other calculations."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import popsnet
from popsnet import InputError, Timing
from popsnet.hardware import TIMINGS
from popsnet.runs.delays import point_rates, point_times
from tests.conftest import Cli
from tests.each import each, sampled

DESIGN = Timing("20ns", "2ns", "100Gbps", "10m")


def test_the_figures_of_the_design() -> None:
    """POPS(64, 64): 225-byte slots, 90 Gb/s per processor, 184 Tb/s for rotor at 0.5."""
    assert DESIGN.payload_bits == 1800 == 225 * 8
    assert DESIGN.efficiency == 0.9
    assert DESIGN.throughput(1.0) == 90e9
    assert DESIGN.throughput(0.5, processors=4096) == pytest.approx(184.32e12, rel=1e-15)
    least = {
        "relay": (3.5, 70),
        "aloha": (64.5, 1290),
        "hop3": (None, 3800),
        "rotor": (2048.5, 40970),
    }
    network = popsnet.Network(64, 64)
    for name, (slots, nanoseconds) in least.items():
        delay = popsnet.traffic.find_scheduler(name).delay
        assert delay is not None
        found = delay(network)
        assert found is not None
        assert slots is None or found == slots
        time = DESIGN.nanoseconds(found)
        assert time == pytest.approx(nanoseconds, rel=0.01), name


@each(
    ("fibre", "slots"),
    [("0m", 0), ("1cm", 1), ("4m", 1), ("4.0000001m", 2), ("8m", 2), ("10m", 3), ("12m", 3)],
)
def test_propagation_is_rounded_up_to_slots_exactly(fibre: str, slots: int) -> None:
    assert Timing("20ns", fibre=fibre).propagation_slots == slots


@given(st.integers(1, 10**6), st.integers(0, 10**6), st.integers(0, 10**5))
def test_times_are_those_of_integers_in_picoseconds(slot: int, metres: int, slots: int) -> None:
    timing = Timing(f"{slot}ps", fibre=f"{metres}m")
    assert timing.propagation_slots == -(-metres * 5000 // slot)
    assert timing.nanoseconds(slots) == float(Decimal(slots) * slot / 1000)
    both = slots + 2 * timing.propagation_slots
    assert timing.seconds(slots, hops=2) == float(Decimal(both) * slot / 10**12)


@given(st.integers(2, 10**6), st.data())
def test_efficiency_and_payload_are_shares_of_the_slot(slot: int, data: st.DataObject) -> None:
    guard = data.draw(st.integers(0, slot - 1))
    timing = Timing(f"{slot}ps", f"{guard}ps", "1Tbps")
    assert timing.payload_bits == slot - guard  # a bit per picosecond
    assert timing.efficiency == pytest.approx((slot - guard) / slot, rel=1e-15)
    assert 0 < timing.efficiency <= 1


@each(
    ("given_", "message"),
    [
        ({"slot": "0ns"}, "slot = 0 ps: it must be longer than 0."),
        ({"slot": -1e-9}, "it must be longer than 0"),
        ({"slot": "20ns", "guard": "20ns"}, "shorter than the slot, 20 ns"),
        ({"slot": "20ns", "guard": "-1ns"}, "it must be at least 0"),
        ({"slot": "20ns", "rate": "0Gbps"}, "rate = 0 bps: it must be above 0."),
        ({"slot": "20ns", "fibre": "-1m"}, "fibre = -1 m: it must be at least 0."),
        ({"slot": "20ns", "per_metre": 0}, "per_metre = 0 ps: it must be above 0."),
        ({"slot": "20"}, "slot = 20: it has no unit"),
    ],
)
def test_what_cannot_be_a_slot_is_refused(given_: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        Timing(**given_)
    assert message in str(caught.value)


def test_a_timing_is_a_value() -> None:
    assert Timing(20e-9) == Timing("20ns") == Timing("20 ns", name="mine")
    assert hash(Timing("20ns")) == hash(Timing(20e-9))
    with pytest.raises(AttributeError):
        Timing("20ns").slot = 1.0  # type: ignore[misc]
    with pytest.raises(InputError, match="speed is not a figure"):
        Timing("20ns").replaced(speed="1ns")
    assert Timing("20ns").throughput(1) is None
    assert Timing("20ns").payload_bits is None


def test_every_figure_of_a_preset_has_a_source_or_is_an_assumption() -> None:
    for name, timing in TIMINGS.items():
        assert timing.name == name
        for figure in ("slot", "guard", "rate", "per_metre"):
            basis = timing.basis(figure)
            assert basis.kind in ("source", "assumption")
            assert basis.text
            assert basis.kind == "assumption" or basis.address.startswith("https://")
    assert [
        name
        for name in ("slot", "guard", "rate")
        if TIMINGS["sirius"].basis(name).kind == "assumption"
    ] == ["slot"]
    replaced = TIMINGS["sirius"].replaced(slot="50ns")
    assert replaced.basis("slot").kind == "given"
    assert replaced.basis("rate").kind == "source"
    assert "popsnet assumes the slot; the rest is from sirius." in TIMINGS["sirius"].notes()
    assert not any("assumes" in note for note in replaced.notes())


@each("scheduler", sampled(["tdm", "rotor", "vlb", "hop3", "aloha", "relay", "ideal"], 3))
def test_a_point_in_time_is_the_same_point(scheduler: str) -> None:
    result = popsnet.simulate(4, 4, scheduler=scheduler, load=0.03, slots=400, engine="slots")
    plain = point_times(result, Timing("10ns", rate="1Gbps"))
    assert result.delay.mean is not None
    assert plain["delay_mean_ns"] == pytest.approx(10 * result.delay.mean, rel=1e-12)
    assert plain["delay_max_ns"] == 10 * (result.delay.max or 0)
    rates = point_rates(result, Timing("10ns", rate="1Gbps"))
    assert rates["accepted_gbps"] == pytest.approx(16 * result.accepted, rel=1e-12)
    before = result.to_dict()
    report = result.report(Timing("10ns", fibre="10m"))
    assert result.to_dict() == before
    assert report.to_dict()["points"][0]["delay"]["mean_ns"] > plain["delay_mean_ns"]
    assert report.to_dict()["points"][0]["delay"]["mean"] == result.delay.mean
    without = result.report().to_dict()
    delays = report.to_dict()["delay"]
    assert without["delay"].items() <= delays.items()
    changed = {"points", "delay"}
    assert {key: report.to_dict()[key] for key in without if key not in changed} == {
        key: without[key] for key in without if key not in changed
    }


def test_estimates_are_called_estimates() -> None:
    timing = Timing("10ns", fibre="10m")

    def accuracy(scheduler: str, **options: Any) -> str:
        result = popsnet.simulate(3, 3, scheduler=scheduler, load=0.03, slots=100, **options)
        told = result.report(timing).to_dict()["propagation"]
        return str(told[scheduler]["accuracy"])

    assert accuracy("relay") == "exact"
    assert accuracy("relay", burst=4.0) == "estimate"
    assert accuracy("tdm", burst=4.0, buffer=3) == "exact"
    assert accuracy("vlb") == "bound"
    assert accuracy("vlb", buffer=3) == "estimate"
    assert accuracy("rotor") == "estimate"


def test_the_command_line_prints_times_and_the_same_slots(cli: Cli) -> None:
    plain = json.loads(cli("route", 4, 4, "--runs", 3, "--json").out)
    timed = json.loads(
        cli("route", 4, 4, "--runs", 3, "--slot", "20ns", "--fibre", "10m", "--json").out
    )
    slots = [run["slots"] for run in timed["outcomes"]]
    assert slots == [run["slots"] for run in plain["outcomes"]]
    for run in timed["outcomes"]:
        assert run["elapsed_ns"] == 80 * run["slots"]  # 1 + 3 slots of 20 ns each
    assert timed["times"][0]["max_ns"] == max(run["elapsed_ns"] for run in timed["outcomes"])
    text = cli("route", 4, 4, "--slot", "20ns", "--fibre", "10m").out
    assert "computed and not simulated: every slot waits" in text


def test_presets_and_options_go_together(cli: Cli) -> None:
    found = json.loads(cli("plan", 4, 4, "--timing", "pulse", "--guard", "1ns", "--json").out)
    assert found["timing"]["slot_ns"] == 20.0
    assert found["timing"]["guard_ns"] == 1.0
    assert found["timing"]["bases"]["guard"]["kind"] == "given"
    assert found["timing"]["bases"]["rate"]["kind"] == "assumption"


def test_propagation_can_make_another_router_the_fastest(cli: Cli) -> None:
    out = cli("plan", 16, 16, "--slot", "20ns", "--fibre", "10m").out
    assert "Use relay" in out
    assert "With this propagation direct is faster: 380 ns." in out
    assert "faster" not in cli("plan", 16, 16, "--slot", "20ns").out


def test_csv_has_the_times_of_points(cli: Cli) -> None:
    finished = cli(
        "traffic", 2, 2, "--scheduler", "tdm", "--loads", "0.1,0.2", "--slots", 200, "--slot",
        "20ns", "--rate", "10Gbps", "--csv",
    )  # fmt: skip
    header, *rows = finished.out.splitlines()
    assert "delay_mean_ns" in header.split(",")
    assert "accepted_gbps" in header.split(",")
    assert len(rows) == 2
    assert "Not in the CSV" not in finished.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--guard", "2ns"],
            "--guard is given without a slot; give --slot, such as 20ns, or --tim",
        ),
        (["--slot", "20"], "--slot 20: it has no unit; give a time such as 20ns"),
        (["--slot", "20ns", "--rate", "100"], "--rate 100: it has no unit; give a line rate"),
        (["--slot", "20ns", "--guard", "21ns"], "--guard 21 ns: it must be at least 0 and shorter"),
        (["--timing", "sirus"], "--timing sirus: there is no such preset. Did you mean 'sirius'?"),
    ],
)
def test_bad_times_are_refused_before_any_work(cli: Cli, options: list[str], message: str) -> None:
    for command in (["route", 4, 4], ["traffic", 4, 4, "--load", "0.1"], ["schedule", 4, 4]):
        finished = cli(*command, *options)
        assert finished.code == 2
        assert message in finished.err
        assert not finished.out
