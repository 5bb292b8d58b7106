"""Where features meet uses: every pair works, or is refused with a message that says why.

The limit of refusals only goes down. If a pair that is refused here works now, move it: delete its
reason, and lower the limit.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import popsnet
from popsnet import Experiment, InputError, Network
from popsnet.programs.schedules import Demand
from popsnet.sweeps import collect_traffic, open_cluster
from popsnet.traffic import TrafficExperiment
from tests.conftest import Cli

MOST_REFUSED = 3

FLAGS = {
    "demand": "--matrix matrix.csv",
    "faults": "--fault coupler:0-1",
    "wavelengths": "--wavelengths 2",
}
ROUTE = "route 8 2 --router relay --max-steps 20"
TRAFFIC = "traffic 8 2 --scheduler tdm --load 0.02 --slots 100"
COMMANDS = {
    "route": f"{ROUTE} --engine slots",
    "fused": f"{ROUTE} --engine fused",
    "compare": "compare 8 2 --router relay --runs 1 --max-steps 20",
    "faults": "faults 8 2 --router relay --numbers 0,1 --runs 1 --max-steps 5",
    "view": "view 8 2 --router relay --no-open --out view.html --max-steps 20",
    "distribution": "distribution 8 2 --router relay --runs 20 --no-exact --max-steps 20",
    "schedule": "schedule 8 2",
    "traffic slots": f"{TRAFFIC} --engine slots",
    "traffic fused": f"{TRAFFIC} --engine fused",
}
"""Uses that are commands; the others keep results in a store."""

USES = (
    "route",
    "fused",
    "store",
    "cluster",
    "compare",
    "faults",
    "view",
    "distribution",
    "schedule",
    "traffic slots",
    "traffic fused",
    "traffic store",
)
MEETINGS = [
    (feature, use)
    for feature in FLAGS
    for use in USES
    if (feature, use) != ("faults", "faults")  # which draws its own
    and not (feature == "demand" and use.startswith("traffic"))  # which has a matrix of rates
]

REFUSED = {
    ("demand", "fused"): "it routes permutations, and no demands",
    ("faults", "fused"): "everything works in its networks",
    ("wavelengths", "fused"): "one wavelength",
}
"""What the message of each refusal has to say, as a regular expression."""


def require(refusal: str, feature: str, use: str) -> None:
    """Compare how a pair ended, with the message of its refusal or nothing, with the table."""
    reason = REFUSED.get((feature, use))
    if reason is None:
        assert refusal == "", f"{feature} with {use} is refused: {refusal}"
    else:
        assert refusal, f"{feature} with {use} works now: delete its reason, lower MOST_REFUSED."
        assert re.search(reason, refusal), (feature, use, refusal)


def test_few_meetings_are_refused() -> None:
    assert REFUSED.keys() <= set(MEETINGS)
    assert len(REFUSED) <= MOST_REFUSED


def test_commands(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("matrix.csv").write_text("0,3\n2,1\n")
    for feature, use in MEETINGS:
        if use in COMMANDS:
            finished = cli(*COMMANDS[use].split(), *FLAGS[feature].split(), "--json")
            assert finished.code in (0, 1, 2)
            assert (finished.code == 2) == (finished.out == "")
            require(finished.err if finished.code == 2 else "", feature, use)


def experiment(feature: str) -> Experiment:
    if feature == "demand":
        demand = Demand(Network(8, 2), np.array([0, 0, 9]), np.array([9, 3, 1]))
        return Experiment(8, 2, router="relay", packets=demand)
    if feature == "faults":
        return Experiment(8, 2, router="relay", faults="coupler:0-1", max_steps=20)
    return Experiment(8, 2, router="relay", wavelengths=2)


def point(feature: str) -> TrafficExperiment:
    if feature == "faults":
        return TrafficExperiment(4, 2, scheduler="tdm", load=0.02, slots=50, faults="coupler:0-1")
    return TrafficExperiment(4, 2, scheduler="tdm", load=0.02, slots=50, wavelengths=2)


def refusal_of(collect: Callable[..., object], subject: object, *given: Any, **named: Any) -> str:
    """Return the message with which results are not collected; empty if they are."""
    try:
        collect([subject], *given, **named, progress=False)
    except InputError as error:
        return str(error)
    return ""


def test_stores(tmp_path: Path) -> None:
    for feature in FLAGS:
        store = tmp_path / feature
        require(refusal_of(popsnet.collect, experiment(feature), 10, store), feature, "store")
        if (feature, "traffic store") in MEETINGS:
            refusal = refusal_of(collect_traffic, point(feature), store)
            require(refusal, feature, "traffic store")


@pytest.mark.program
def test_clusters(tmp_path: Path) -> None:
    with open_cluster("local:1") as cluster:
        for feature in FLAGS:
            subject, store = experiment(feature), tmp_path / feature
            refusal = refusal_of(popsnet.collect, subject, 10, store, executor=cluster)
            require(refusal, feature, "cluster")
