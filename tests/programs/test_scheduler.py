"""Schedulers: the register, files of users, variants, and generators that break the contract."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import popsnet
from popsnet import InputError, Network, RuleViolation, Slot
from popsnet.programs.facts import Explanation
from popsnet.programs.scheduler import Scheduler, register_scheduler, scheduler_label
from popsnet.testing import check_scheduler_locality
from popsnet.trace import read_trace
from popsnet.traffic import all_schedulers, find_scheduler, find_scheduler_variant
from tests.each import each

MINE = """
from popsnet import Slot
from popsnet.traffic import register_scheduler

@register_scheduler("mine", summary="silent")
def mine(network, public, coins, memory):
    while True:
        yield
        yield Slot(phase="silence")
"""


def run(schedule: Any, slots: int = 10) -> popsnet.traffic.TrafficResult:
    return popsnet.simulate(2, 2, scheduler=schedule, load=0.5, slots=slots)


def test_every_scheduler_states_its_facts_and_explains_its_phases() -> None:
    for scheduler in all_schedulers():
        assert scheduler.summary
        assert scheduler.words.explanation
        assert scheduler.words.phases
        assert scheduler.hops != "not stated"
        assert scheduler.randomness != "not stated"
        assert scheduler.period(Network(3, 5)) >= 1
        if scheduler.saturation is not None:
            assert 0 < scheduler.saturation(Network(3, 5)) <= 1
            assert scheduler.saturation_formula


def test_every_phase_of_a_trace_is_explained(tmp_path: Path) -> None:
    for scheduler in all_schedulers():
        path = tmp_path / f"{scheduler.name}.jsonl"
        popsnet.simulate(2, 3, scheduler=scheduler, load=0.1, slots=10, trace=path, trace_slots=24)
        trace = read_trace(path)
        phases = {line.phase for line in trace if hasattr(line, "phase")}
        assert phases <= trace.header.phases.keys()


def test_a_scheduler_from_a_file_is_found_again_after_an_edit(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    first = find_scheduler(path)
    path.write_text(MINE.replace("silent", "quiet"))
    second = find_scheduler(path)
    assert (first.summary, second.summary) == ("silent", "quiet")
    assert first.version != second.version
    path.write_text("x = 1")
    with pytest.raises(InputError, match="registers no schedulers"):
        find_scheduler(path)


def test_names_and_variants() -> None:
    assert find_scheduler_variant("ideal:007")[1] == "7"
    assert find_scheduler_variant("aloha", "0.25")[1] == "0.25"
    assert scheduler_label("ideal", "fifo") == "ideal:fifo"
    assert scheduler_label("aloha", "backoff") == "aloha"
    with pytest.raises(InputError, match="each names a variant"):
        find_scheduler_variant("aloha:0.5", "0.25")
    with pytest.raises(InputError, match="already registered"):
        popsnet.traffic.register_scheduler("tdm", summary="another")(ends)
    with pytest.raises(InputError, match="give a name"):
        find_scheduler(3)  # type: ignore[arg-type]


def ends(network: Any, public: Any, coins: Any, memory: Any) -> Any:
    yield
    yield Slot()


def forgets_arrivals(network: Any, public: Any, coins: Any, memory: Any) -> Iterator[Any]:
    while True:
        yield Slot()


def yields_nothing(network: Any, public: Any, coins: Any, memory: Any) -> Iterator[Any]:
    while True:
        yield


def sends_what_it_does_not_hold(network: Any, public: Any, coins: Any, memory: Any) -> Any:
    while True:
        arrived = yield
        packets = arrived.packets
        yield Slot.send_packets((arrived.processors + 1) % 4, 0 * packets, packets=packets)


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        (ends, "a scheduler never ends"),
        (forgets_arrivals, "must wait for arrivals"),
        (yields_nothing, "it must alternate"),
        (lambda *_: None, "use yield"),
    ],
)
def test_generators_that_break_the_contract_are_told_so(schedule: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        run(schedule)


@each(
    ("facts", "words"),
    [
        ({"period": 5}, "period = 5: it must be a function"),
        ({"delay": 0.5}, "delay = 0.5: it must be a function"),
        ({"paths": "one-hop"}, "no kind of paths 'one-hop'. Did you mean 'one hop'?"),
        ({"survives": {"coupler"}}, "no kind of fault 'coupler'. Did you mean 'couplers'?"),
        ({"survives_known": "lost"}, "no kind of fault 'lost'. Did you mean 'loss'?"),
    ],
)
def test_facts_of_the_wrong_type_are_refused(facts: Any, words: str) -> None:
    """A kind of faults with a wrong name stated nothing, and so the machine was not strict."""
    with pytest.raises(InputError, match=re.escape(words)):
        register_scheduler("wrong", summary="x", **facts)(acts_late)
    assert "wrong" not in Scheduler.registered()


def acts_late(network: Any, public: Any, coins: Any, memory: Any, act: str = "deliver") -> Any:
    """Send every packet to its group, and act on the inbox only after the next arrivals."""
    inbox, sent, every = None, np.empty(0, dtype=int), np.arange(network.n)
    while True:
        arrived = yield
        if act == "drop":
            memory.drop(network.processors[sent], sent)
        elif inbox is not None:
            mine = inbox.destinations == inbox.receivers
            getattr(memory, act)(inbox.receivers[mine], inbox.packets[mine])
        senders, rows = np.unique(arrived.processors, return_index=True)
        packets, to = arrived.packets[rows], network.group(arrived.destinations[rows])
        sent = packets
        inbox = yield Slot.send_packets(senders, to, 0 * every, packets=packets)


@pytest.mark.parametrize("act", ["deliver", "store", "drop"])
@pytest.mark.parametrize("faults", [None, "loss:0.01"])
def test_a_scheduler_that_acts_after_the_next_arrivals_is_told_so(
    act: str, faults: str | None
) -> None:
    """Its deliveries were not in the log: nothing was delivered, and no message said why."""
    with pytest.raises(InputError, match=r"before the slot is sent\. .* before the next arrived"):
        popsnet.simulate(
            2, 2, scheduler=partial(acts_late, act=act), load=0.5, slots=50, faults=faults
        )


def test_rules_of_the_machine_hold_for_schedulers() -> None:
    with pytest.raises(RuleViolation, match="it does not hold"):
        run(sends_what_it_does_not_hold)


def test_a_scheduler_of_a_few_lines_works_and_is_local() -> None:
    def own_turn(network: Any, public: Any, coins: Any, memory: Any) -> Any:
        """Let every processor in turn send its oldest packet."""
        queues, turn = popsnet.traffic.Queues(), 0
        while True:
            arrived = yield
            queues.push(arrived.processors, 0 * arrived.packets, arrived.packets)
            sender = np.array([turn])
            sender = sender[queues.lengths(sender, 0 * sender) > 0]
            packets = queues.heads(sender, 0 * sender)
            to = network.group(memory.destinations(packets))
            listening = np.full(network.n, network.group(turn))
            inbox = yield Slot.send_packets(sender, to, listening, packets=packets, phase="turn")
            memory.drop(sender, queues.pop(sender, 0 * sender))
            mine = inbox.destinations == inbox.receivers
            memory.deliver(inbox.receivers[mine], inbox.packets[mine])
            turn = (turn + 1) % network.n

    result = popsnet.simulate(2, 3, scheduler=own_turn, load=0.05, slots=2000)
    assert result.stable is not False
    assert result.lost == result.undelivered == 0
    scheduler = Scheduler("own-turn", "one in turn", {"standard": own_turn}, words=Explanation("x"))
    check_scheduler_locality(scheduler, Network(2, 3), max_slots=60)
