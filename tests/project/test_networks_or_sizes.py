"""A function of a network takes a network, or d and g; both are the same call."""
# mypy: disable-error-code="call-overload,arg-type"

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np
import pytest

import popsnet
from popsnet import Coins, Experiment, InputError, Network
from popsnet.programs.schedules import schedule_matrix, schedule_permutation
from popsnet.studies.adversaries import (
    PATH_SYSTEMS,
    attack_oblivious,
    attack_paths,
    attack_rigid,
    attack_two_hop,
    average_congestion,
    check_conflict_free,
    observe,
)
from popsnet.testing import check_locality, check_scheduler_locality
from popsnet.theory import (
    bounds_on,
    deterministic_slots,
    exact,
    expected_steps,
    expected_sweeps,
    steps_tail,
    sweeps_tail,
)
from popsnet.traffic import TrafficExperiment, make_arrivals, traffic_overview

NET, COUNTS = Network(4, 2), np.ones((2, 2), dtype=np.int64)

BOTH: dict[str, Callable[..., Any]] = {
    "route": lambda *net: popsnet.route(*net).slots,
    "compare": lambda *net: popsnet.compare(*net, routers="direct", runs=2),
    "survival": lambda *net: popsnet.survival(*net, routers="direct", numbers=[1], runs=2),
    "distribution": lambda *net: (
        popsnet.distribution(*net, runs=20, exact=False).report().to_dict()
    ),
    "simulate": lambda *net: popsnet.simulate(*net, scheduler="tdm", load=0.1, slots=200).delay,
    "budget": lambda *net: popsnet.budget(*net, preset="pon"),
    "predict": lambda *net: popsnet.predict(*net),
    "recommend": lambda *net: popsnet.recommend(*net),
    "schedule": lambda *net: popsnet.schedule(*net, "reversal", seed=1).slots,
    "sort": lambda *net: popsnet.sort(*net, np.arange(8)[::-1]).slots,
    "compute": lambda *net: popsnet.compute(*net, "prefix-sums", seed=1).values,
    "Experiment": lambda *net: Experiment(*net, router="direct"),
    "TrafficExperiment": lambda *net: TrafficExperiment(*net, load=0.1),
    "make_permutation": lambda *net: popsnet.make_permutation("random", *net, Coins(3)),
    "make_arrivals": lambda *net: make_arrivals(*net, load=0.1).block(0, 50),
    "traffic_overview": lambda *net: traffic_overview(*net),
    "schedule_matrix": lambda *net: schedule_matrix(*net, COUNTS)[1].slots,
    "schedule_permutation": lambda *net: schedule_permutation(*net, np.arange(8)[::-1]).slots,
    "check_locality": lambda *net: check_locality("mei-rizzi", *net, pairs=1),
    "check_scheduler_locality": lambda *net: check_scheduler_locality("tdm", *net, max_slots=9),
    "bounds_on": lambda *net: [bound.name for bound, *_ in bounds_on(*net)],
    "deterministic_slots": lambda *net: deterministic_slots(*net),
    "expected_steps": lambda *net: expected_steps(*net),
    "expected_sweeps": lambda *net: expected_sweeps(*net),
    "steps_tail": lambda *net: first(steps_tail(*net)),
    "sweeps_tail": lambda *net: first(sweeps_tail(*net)),
    "exact_steps": lambda *net: exact.exact_steps(*net, upto=2),
    "steps_distribution": lambda *net: exact.steps_distribution(*net, "relay").mean,
    "mei_rizzi_chain": lambda *net: len(list(exact.mei_rizzi_chain(*net).start)),
    "relay_chain": lambda *net: len(list(exact.relay_chain(*net).start)),
    "attack_oblivious": lambda *net: attack_oblivious(*net, "direct"),
    "attack_paths": lambda *net: attack_paths(PATH_SYSTEMS["direct"], *net),
    "attack_rigid": lambda *net: attack_rigid("datta", None, *net, slots=4),
    "check_conflict_free": lambda *net: check_conflict_free("direct", None, *net, slots=2),
    "attack_two_hop": lambda *net: attack_two_hop("affine", *net).rounds,
    "average_congestion": lambda *net: average_congestion(PATH_SYSTEMS["direct"], *net, 2),
    "observe": lambda *net: observe("direct", None, *net).name,
}


def first(probabilities: Iterator[float]) -> list[float]:
    return list(islice(probabilities, 4))


def test_a_network_and_its_sizes_are_the_same() -> None:
    for name, function in BOTH.items():
        whole, sizes = function(NET), function(NET.d, NET.g)
        assert repr(whole) == repr(sizes), name


def test_sizes_are_given_by_name_as_well() -> None:
    by_name = popsnet.schedule(d=4, g=2, permutation="reversal")
    assert by_name.slots == popsnet.schedule(NET, "reversal").slots
    assert popsnet.schedule(4, g=2).slots == popsnet.schedule(NET).slots
    assert Experiment(Network(4, 2, 2), router="offline").wavelengths == 2
    with pytest.raises(InputError, match="has a number of wavelengths already"):
        Experiment(Network(4, 2, 2), router="offline", wavelengths=3)
    with pytest.raises(InputError, match="g is missing beside d = 2"):
        popsnet.sort(2)
