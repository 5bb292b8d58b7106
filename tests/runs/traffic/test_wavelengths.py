"""Continuous traffic on several wavelengths: frames message by message, bounds and schedulers."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

import popsnet
from popsnet import InputError, Network, simulate
from popsnet.programs.schedulers.two_hops import capacity
from popsnet.testing import check_scheduler_locality
from popsnet.traffic import Frame, TrafficExperiment
from popsnet.workloads.patterns import resolve_pattern
from tests.each import each, sampled

SHAPES = [*product((1, 2, 3, 5, 8), (1, 2, 3, 4), (2, 3, 5))]


@each("shape", SHAPES)
def test_every_pair_meets_once_in_a_frame_and_nothing_collides(shape: tuple[int, int, int]) -> None:
    network = Network(*shape)
    d, g, w = shape
    frame, met = Frame(network), np.zeros((network.n, network.n), dtype=int)
    assert frame.slots == network.n
    for slot in range(frame.slots):
        meeting = frame.meeting(slot)
        assert meeting.wavelengths is not None
        assert meeting.listened is not None
        assert len(meeting.senders) == g * min(d, g * w)
        assert meeting.wavelengths.max() < w
        sent = zip(
            meeting.groups.tolist(), network.group(meeting.senders).tolist(),
            meeting.wavelengths.tolist(), strict=True,
        )  # fmt: skip
        on = dict(zip(sent, zip(meeting.senders, meeting.classes, strict=True), strict=True))
        assert len(on) == len(meeting.senders), "two messages on one coupler and wavelength"
        for listener in range(network.n):
            channel = (
                listener // d,
                int(meeting.listening[listener]),
                int(meeting.listened[listener]),
            )
            if channel in on:
                sender, met_class = on[channel]
                assert frame.classes(np.array([listener]))[0] == met_class
                met[sender, listener] += 1
    assert (met == 1).all()


def test_bounds_with_wavelengths() -> None:
    """The one-hop group shift carries min(1, W/d), and any pattern at most κ = min(1, gW/d)."""
    for d, g, w in ((8, 4, 1), (8, 4, 2), (8, 2, 2), (4, 4, 8), (16, 4, 4)):
        network = Network(d, g, w)
        shift = resolve_pattern("group-shift", network).bounds()
        assert shift.one_hop.load == pytest.approx(min(1, w / d))
        uniform = resolve_pattern("uniform-with-self", network).bounds()
        assert uniform.any.load == pytest.approx(min(1, g * w / d))
        assert capacity(network) == 1 / -(-d // (g * w))


@pytest.mark.parametrize("scheduler", ["tdm", "rotor", "vlb"])
@pytest.mark.parametrize("shape", [(8, 2, 4), (7, 2, 2)])
def test_schedulers_carry_a_load_without_collisions(
    scheduler: str, shape: tuple[int, int, int], tmp_path: Path
) -> None:
    network = Network(*shape)
    load = 0.3 * min(1, network.channels / network.d)
    path = tmp_path / "run.jsonl"
    result = simulate(
        network, scheduler=scheduler, load=load, slots=600, trace=path, trace_slots=150
    )
    assert result.network == network
    assert result.engine == "fused"
    assert (result.collisions, result.lost) == (0, 0)
    checked = popsnet.check_trace(path)
    assert checked.ok, checked.violations
    assert checked.collisions == 0


@pytest.mark.parametrize("known", [False, True])
@each("scheduler", sampled(["tdm", "rotor", "vlb"], 1))
def test_traces_with_faults_are_checked(scheduler: str, known: bool, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    faults = f"coupler:0-1 transmitter:3 receiver:9@20{'' if known else ' loss:0.05'}"
    experiment = TrafficExperiment(
        5, 2, scheduler=scheduler, load=0.1, faults=faults, known_faults=known, wavelengths=2,
        slots=400,
    )  # fmt: skip
    result = simulate(experiment, trace=path, trace_slots=150)
    assert result.unreachable > 0
    assert result.unheard > 0 or known
    assert result.arrived > result.delivered + result.lost > 0
    checked = popsnet.check_trace(path)
    assert checked.ok, checked.violations
    assert {"coupler:0-1"} <= set(str(experiment.open_faults().active.faults).split())


def test_bounds_count_live_couplers_times_wavelengths() -> None:
    """A group of POPS(8, 4) with W = 2 and f dead couplers that leave it sends min(8, 2(4 - f))."""
    for dead, most in ((0, 8), (1, 6), (2, 4), (3, 2)):
        faults = " ".join(f"coupler:0-{b}" for b in range(dead))
        one = TrafficExperiment(8, 4, scheduler="rotor", load=0.01, faults=faults, wavelengths=2)
        assert one.bounds.groups_out == pytest.approx(most / 8)
        assert one.bounds.pairs == pytest.approx(2 * 31 / 64)
    with pytest.raises(InputError, match="no scheduler can carry"):
        one.replaced(load=0.26)


def test_more_wavelengths_carry_more() -> None:
    """POPS(8, 2): one wavelength carries at most 1/4, four carry a load of 0.6."""
    with pytest.raises(InputError, match="no scheduler can carry more"):
        TrafficExperiment(8, 2, load=0.6, scheduler="tdm")
    assert simulate(8, 2, scheduler="tdm", load=0.6, wavelengths=4, slots=4000).verdict == "stable"


@pytest.mark.parametrize("scheduler", ["aloha", "relay", "hop3", "ideal", "epochs"])
def test_schedulers_with_one_wavelength_are_refused(scheduler: str) -> None:
    with pytest.raises(InputError, match="these schedulers use several: rotor, tdm, vlb"):
        TrafficExperiment(8, 2, load=0.1, scheduler=scheduler, wavelengths=2)


def test_an_experiment_keeps_its_wavelengths() -> None:
    one = TrafficExperiment(4, 4, load=0.1)
    assert one.digest == "f40d3bfc192714e1fbcba750e21f3eee", "as before there were wavelengths"
    several = TrafficExperiment(4, 4, load=0.1, wavelengths=2)
    assert several.digest != one.digest
    assert several.network == Network(4, 4, 2)
    assert TrafficExperiment.from_json(several.to_json()) == several
    assert several.replaced(load=0.2).wavelengths == 2
    assert several.reopened() == several


@pytest.mark.parametrize("scheduler", ["tdm", "rotor"])
def test_schedulers_are_local(scheduler: str) -> None:
    check_scheduler_locality(scheduler, Network(4, 2, 2), max_slots=40)
    check_scheduler_locality(scheduler, Network(5, 2, 2), max_slots=40, faults="coupler:0-1")
