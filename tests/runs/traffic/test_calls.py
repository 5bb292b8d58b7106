"""How many Python functions the message level calls in a slot: its cost, without a clock."""

from __future__ import annotations

import sys
from types import FrameType

from popsnet.runs.simulate import open_session
from popsnet.traffic import TrafficExperiment, all_schedulers
from tests.each import each

MOST_CALLS = {
    "aloha": 95, "epochs": 150, "hop3": 120, "ideal": 100, "relay": 95, "rotor": 120, "tdm": 85,
    "vlb": 105,
}  # fmt: skip
"""Calls in a slot of 64 processors on average, those of compiled functions included."""

LOADS = {"aloha": 0.1, "hop3": 0.2, "relay": 0.05}
"""About half of what a scheduler can carry, if that is not 0.4."""

SLOTS = 100


def calls_per_slot(scheduler: str) -> float:
    experiment = TrafficExperiment(
        8, 8, scheduler=scheduler, load=LOADS.get(scheduler, 0.4), overload=True
    )
    session, arrivals = open_session(experiment, "slots"), experiment.resolved_arrivals
    session.advance(arrivals.block(0, 3 * SLOTS))  # queues fill, and kernels are compiled
    block, calls = arrivals.block(3 * SLOTS, SLOTS), 0

    def note(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        session.advance(block)
    finally:
        sys.setprofile(before)
        session.close()
    return calls / SLOTS


@each("scheduler", sorted(MOST_CALLS))
def test_a_slot_takes_few_calls(scheduler: str) -> None:
    assert 20 < calls_per_slot(scheduler) <= MOST_CALLS[scheduler]


def test_every_scheduler_has_a_limit() -> None:
    shipped = {one.name for one in all_schedulers() if one.is_registered and not one.file}
    assert shipped <= MOST_CALLS.keys()
