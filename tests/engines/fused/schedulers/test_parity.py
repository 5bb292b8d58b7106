"""The compiled engine returns the logs of the message-level engine, slot for slot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.each import each, rarely, sampled

from popsnet import Faults, Network
from popsnet.base.errors import InputError
from popsnet.engines.fused.schedulers import open_session, supports
from popsnet.engines.log import FaultLog, Log
from popsnet.engines.traffic_slots import MessageSession
from popsnet.model.network import I32, I64
from popsnet.programs.scheduler import find_scheduler
from popsnet.programs.scheduler_faults import TrafficFaults
from popsnet.workloads.block import Block

SHAPES = [
    (1, 1), (1, 5), (5, 1), (2, 3), (3, 2), (4, 4), (7, 2), (2, 7), (5, 3), (9, 4), (3, 8), (1, 12),
    (17, 1), (11, 5), (7, 7),
]  # fmt: skip
SCHEDULERS = [
    ("tdm", "standard"), ("vlb", "standard"), ("rotor", "standard"), ("hop3", "standard"),
    ("aloha", "backoff"), ("aloha", "0.125"), ("aloha", "1"), ("relay", "standard"),
    ("ideal", "voq"), ("ideal", "fifo"), ("ideal", "3"), ("epochs", "standard"),
]  # fmt: skip
TUNED = ("tdm", "vlb", "rotor")
"""Schedulers that use all wavelengths."""

LOADS_AND_BUFFERS = [(0.04, 0), (0.2, 0), (0.2, 1), (0.9, 0), (0.9, 3)]


class Rows(NamedTuple):
    """Arrivals of slots 0, 1, …"""

    starts: I64
    sources: I32
    destinations: I32


def rows_of(
    n: int, slots: int, load: float, seed: int, several: bool = False, targets: int = 0
) -> Rows:
    """Return random arrivals; of several in a slot at some sources, or for few targets."""
    draws = np.random.default_rng(seed)
    per_slot = (draws.random((slots, n)) < load).astype(np.int64)
    if several:
        per_slot *= draws.integers(1, 4, (slots, n))
    sources = np.concatenate([np.repeat(np.arange(n), row) for row in per_slot])
    starts = np.concatenate([[0], np.cumsum(per_slot.sum(axis=1))])
    destinations = draws.integers(0, targets or n, len(sources))
    return Rows(starts, sources.astype(np.int32), destinations.astype(np.int32))


def blocks_of(rows: Rows, size: int) -> Iterator[Block]:
    """Cut arrivals into blocks of this many slots."""
    slots = len(rows.starts) - 1
    for begin in range(0, slots, size):
        end = min(begin + size, slots)
        part = slice(rows.starts[begin], rows.starts[end])
        starts = rows.starts[begin : end + 1] - rows.starts[begin]
        yield Block(begin, starts, rows.sources[part], rows.destinations[part])


def joined(session: Any, rows: Rows, size: int) -> Log:
    """Run a session in blocks of a size, and return one log of all slots."""
    logs, starts, delivered, arrived = [], [], 0, 0
    for block in blocks_of(rows, size):
        log: Log = session.advance(block)
        starts.append(arrived)
        ends, refused = log.ends + delivered, log.refused_rows + arrived
        logs.append(log._replace(ends=ends, refused_rows=refused))
        delivered, arrived = delivered + len(log.arrival), arrived + len(block.sources)
    session.close()
    columns: list[Any] = list(zip(*logs, strict=True))
    arrays, most = columns[:13], columns[13:15]
    faults = None if logs[0].faults is None else joined_faults([log.faults for log in logs], starts)
    return Log._make([*map(np.concatenate, arrays), *map(max, most), faults])


def joined_faults(logs: list[Any], starts: list[int]) -> FaultLog:
    """Return one log of what faults did, whose lost packets are sorted."""
    rows = [log.unreachable_rows + start for log, start in zip(logs, starts, strict=True)]
    flows = np.concatenate([log.lost_flows for log in logs])
    counts = (sum(log[k] for log in logs) for k in (2, 3, 4))
    return FaultLog(np.concatenate(rows), flows[np.lexsort(flows.T)], *counts)


def require_equal(fused: Any, messages: Any) -> None:
    """Compare logs, types included."""
    for name, value, other in zip(fused._fields, fused, messages, strict=True):
        if name == "faults" and value is not None:
            require_equal(value, other)
            continue
        np.testing.assert_array_equal(value, other, err_msg=name)
        assert getattr(value, "dtype", int) == getattr(other, "dtype", int), name


def compare(
    network: Network, scheduler: tuple[str, str], rows: Rows, buffer: int, seed: int = 5,
    sizes: tuple[int, int] = (41, 64), dead: TrafficFaults | None = None,
) -> Log:  # fmt: skip
    """Run both engines, in blocks of different sizes, and compare."""
    name, variant = scheduler
    fused = joined(open_session(network, name, variant, seed, buffer, dead), rows, sizes[0])
    session = MessageSession(network, find_scheduler(name), variant, seed, buffer, faults=dead)
    require_equal(fused, joined(session, rows, sizes[1]))
    return fused


@pytest.mark.parametrize("scheduler", SCHEDULERS, ids=":".join)
@pytest.mark.parametrize("shape", [*SHAPES[:5], *rarely(SHAPES[5:])], ids=str)
def test_logs_are_equal_on_every_shape(shape: tuple[int, int], scheduler: tuple[str, str]) -> None:
    network = Network(*shape)
    slots = max(3 * network.n, 60)
    messages = 0
    for load, buffer in LOADS_AND_BUFFERS:
        rows = rows_of(network.n, slots, load, network.n, several=buffer == 3)
        messages += compare(network, scheduler, rows, buffer).messages.sum()
    assert messages > slots // 4


TUNED_SHAPES = [
    (5, 3, 2), (7, 2, 3), (4, 4, 2), (9, 4, 2), (3, 8, 4), (1, 5, 2), (6, 1, 4), (2, 3, 8),
    (17, 2, 4), (11, 5, 3), (16, 2, 2), (8, 3, 5),
]  # fmt: skip


@pytest.mark.parametrize("scheduler", TUNED)
@pytest.mark.parametrize("shape", [*TUNED_SHAPES[:3], *rarely(TUNED_SHAPES[3:])], ids=str)
def test_logs_are_equal_with_several_wavelengths(
    shape: tuple[int, int, int], scheduler: str
) -> None:
    network = Network(*shape)
    slots, messages = max(3 * network.n, 60), 0
    for load, buffer in LOADS_AND_BUFFERS:
        rows = rows_of(network.n, slots, load, network.n, several=buffer == 3)
        messages += compare(network, (scheduler, "standard"), rows, buffer).messages.sum()
    assert messages > slots // 4


COUPLERS = "coupler:0-1 coupler:1-0@50 coupler:1-1@90"
PARTS = "coupler:1-0 transmitter:1 receiver:3@40 processor:5 receiver:4 transmitter:2@70"
DEAD_PARTS = [
    *((name, COUPLERS, known) for name in ("tdm", "ideal", "relay") for known in (False, True)),
    *((name, COUPLERS, True) for name in ("aloha", "epochs")),
    *((name, PARTS, known) for name in ("tdm", "ideal", "rotor", "vlb", "hop3")
      for known in (False, True)),
    ("epochs", PARTS, True),
]  # fmt: skip
"""Schedulers, dead parts, and whether these are known."""

DEAD_SHAPES = [
    (4, 3, 1), (5, 2, 1), (2, 4, 1), (9, 2, 1), (1, 7, 1), (11, 5, 1), (3, 2, 1), (5, 2, 2),
    (7, 3, 2), (3, 4, 3), (17, 2, 4),
]  # fmt: skip


@pytest.mark.parametrize("shape", [*DEAD_SHAPES[:1], *rarely(DEAD_SHAPES[1:])], ids=str)
@each(("scheduler", "parts", "known"), sampled(DEAD_PARTS, 6))
def test_logs_are_equal_with_dead_parts(
    shape: tuple[int, int, int], scheduler: str, parts: str, known: bool
) -> None:
    """The same packets are lost, and as many messages unheard. Some parts die later."""
    network, stated = Network(*shape), find_scheduler(scheduler)
    if network.wavelengths > 1 and not stated.wavelengths:
        return
    variant, _ = stated.variant()
    dead = TrafficFaults(network, stated, Faults.parse(parts), known=known)
    slots, lost = max(3 * network.n, 140), 0
    for load, buffer in ((0.1, 0), (0.5, 2)):
        rows = rows_of(network.n, slots, load, network.n, several=buffer == 2)
        log = compare(network, (scheduler, variant), rows, buffer, dead=dead)
        assert log.messages.sum() > 0
        assert log.faults is not None
        assert len(log.faults.unreachable_rows) > 0 or parts == COUPLERS
        lost += len(log.faults.lost_flows)
    assert lost > 0 or known or scheduler not in ("vlb", "hop3")


def test_dead_parts_of_a_kind_that_a_kernel_does_not_know_are_refused() -> None:
    for scheduler, parts, known in (("aloha", "coupler:0-1", False), ("relay", "receiver:1", True)):
        dead = TrafficFaults(
            Network(3, 3), find_scheduler(scheduler), Faults.parse(parts), known=known
        )
        variant, _ = find_scheduler(scheduler).variant()
        with pytest.raises(InputError, match="not compiled for W = 1 and these faults"):
            open_session(Network(3, 3), scheduler, variant, dead=dead)


@each("scheduler", SCHEDULERS)
def test_logs_are_equal_slot_by_slot(scheduler: tuple[str, str]) -> None:
    """A block may end in the middle of a cycle."""
    network = Network(4, 3)
    compare(network, scheduler, rows_of(12, 150, 0.15, 1), 0, sizes=(1, 150))
    compare(network, scheduler, rows_of(12, 150, 0.5, 2), 2, sizes=(150, 7))


@pytest.mark.parametrize("shape", [(4, 4), *rarely([(6, 2), (2, 6)])], ids=str)
@each("scheduler", SCHEDULERS)
def test_long_queues_for_few_destinations(
    shape: tuple[int, int], scheduler: tuple[str, str]
) -> None:
    """Queues of hundreds of packets: tables, lists and the pool grow many times."""
    network = Network(*shape)
    log = compare(network, scheduler, rows_of(network.n, 500, 0.7, 3, targets=2), 0)
    assert log.most_own + log.most_relayed > 20


@each("scheduler", SCHEDULERS)
def test_no_arrivals(scheduler: tuple[str, str]) -> None:
    log = compare(Network(3, 3), scheduler, rows_of(9, 50, 0.0, 0), 0)
    assert log.messages.sum() == 0


@each(("d", "g"), [(2, 40), (1, 60)])
@each("scheduler", [("aloha", "backoff"), ("relay", "standard"), ("ideal", "voq")])
def test_couplers_found_by_hashing(d: int, g: int, scheduler: tuple[str, str]) -> None:
    """Where g² is many times n, only couplers in use have cells."""
    network = Network(d, g)
    log = compare(network, scheduler, rows_of(network.n, 200, 0.3, 4, targets=2 * d), 0)
    assert log.collisions.sum() > 0 or d == 1 or scheduler[0] == "ideal"


def test_seeds_differ() -> None:
    rows = rows_of(16, 100, 0.2, 0)
    logs = [joined(open_session(Network(4, 4), "relay", "standard", k), rows, 50) for k in (1, 2)]
    assert logs[0].collisions.tolist() != logs[1].collisions.tolist()


@each("scheduler", [pair for pair in SCHEDULERS if pair[0] not in TUNED])
def test_schedulers_that_use_one_wavelength_are_refused(scheduler: tuple[str, str]) -> None:
    assert not supports(*scheduler, wavelengths=2)
    with pytest.raises(InputError, match="W = 2"):
        open_session(Network(2, 2, 2), *scheduler)


@pytest.mark.parametrize(
    ("name", "variant"), [("none", "standard"), ("tdm", "voq"), ("aloha", "1.5"), ("ideal", "-1")]
)
def test_schedulers_without_a_kernel_are_refused(name: str, variant: str) -> None:
    assert not supports(name, variant)
    with pytest.raises(InputError, match="not compiled"):
        open_session(Network(2, 2), name, variant)
