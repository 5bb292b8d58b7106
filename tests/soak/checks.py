"""Executes cases message by message, and compares everything that has a second source.

- The machine enforces its rules on every message (engine ``slots``).
- At the end the buffers of all processors are inspected here: which packets are where, and which
  are nowhere. A router is given a copy of the permutation, so it cannot change what is expected.
- Traces are replayed by the checker, which shares no code with the machine.
- The compiled engine and the engine of objects must count the same, on the same seeds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from popsnet import Experiment, Memory, Network, Outcome, check_trace, schedule
from popsnet.engines import ENGINES, Instance, Outcomes
from popsnet.engines.fused import session
from popsnet.engines.outcome import COLUMNS
from popsnet.model.slot import Ints, Slots
from popsnet.programs.routers.relay import RelaySchedule
from popsnet.programs.routers.to_all import DETECTED
from popsnet.programs.schedules.demand import Demand
from popsnet.runs.run import trace_instance
from popsnet.testing import check_locality
from tests.soak.cases import ENDLESS, LOSES, MOST_STEPS, Case, DemandCase, RouteCase, draw_case

SAFE, LOSSY, IDEALIZED = "no packet may be lost", "loses packets by design", "idealized"
_FEW = 64
"""Up to this many processors are also simulated as objects."""


class Fault(Exception):
    """A check of the soak found an error."""


Row = tuple[str, str, str]
"""Router, variant, and whether packets may be lost."""

Counts = dict[Row, Counter[str]]


def check_case(root: int, number: int, stages: str = "") -> tuple[Row, Counter[str], Network]:
    """Execute and check a case; raises if anything is wrong."""
    return check(draw_case(root, number, stages))


def check(case: Case) -> tuple[Row, Counter[str], Network]:
    """Execute and check a case; returns its row, what was counted, and its network."""
    with TemporaryDirectory(prefix="popsnet-soak-") as folder:
        if isinstance(case, RouteCase):
            row, counts = _check_route(case, Path(folder))
        else:
            row, counts = _check_demand(case, Path(folder))
    return row, Counter(cases=1) + counts, case.network


def _check_route(case: RouteCase, folder: Path) -> tuple[Row, Counter[str]]:
    experiment = case.experiment(folder)
    guarantee, counts = _guarantee(experiment), Counter[str]()
    numbers = range(case.first, case.first + case.runs)
    outcomes = []
    for number in numbers:
        instance = experiment.instance(number)
        traced = case.traced and number == case.first and guarantee != IDEALIZED
        outcome = _check_run(instance, guarantee, folder / "trace.jsonl" if traced else None)
        if outcome.capped and case.max_steps == MOST_STEPS and not _may_be_endless(case):
            raise Fault(f"run {number} still goes on after {MOST_STEPS} steps: {outcome}")
        if case.network.n <= _FEW and ENGINES["objects"].supports(experiment) is None:
            _require_equal(outcome, ENGINES["objects"].execute(instance), "objects")
            counts["simulated_as_objects"] += case.network.n
        counts += _counts(outcome, case.network.n, traced)
        outcomes.append(outcome)
    if ENGINES["fused"].supports(experiment) is None:
        for outcome, other in zip(outcomes, _compiled(case, experiment, numbers), strict=True):
            _require_equal(outcome, other, "fused")
        counts["compared"] += case.network.n * case.runs
    if case.local and guarantee != IDEALIZED:
        router, names = experiment.resolved_router, [experiment.variant]
        check_locality(router, case.network, variants=names, seed=case.seed, pairs=2)
        counts["locality_checks"] += 1
    variant = experiment.resolved_variant
    name = variant.name.removesuffix(DETECTED)
    if isinstance(variant.schedule, RelaySchedule):
        new = sorted({"T", "Q", "X"} & {stage.letters for stage in variant.schedule.all_stages})
        name = "a schedule" + (f" with {', '.join(new)}" if new else "")
    return (experiment.router, name, guarantee), counts


def _may_be_endless(case: RouteCase) -> bool:
    return case.router in ENDLESS and ENDLESS[case.router](case.network)


def _guarantee(experiment: Experiment) -> str:
    if experiment.idealized:
        return IDEALIZED
    loses = LOSES.get((experiment.router, experiment.variant.removesuffix(DETECTED)))
    return LOSSY if loses is not None and loses(experiment.network) else SAFE


def _check_demand(case: DemandCase, folder: Path) -> tuple[Row, Counter[str]]:
    network, of_groups = case.network, case.kind.endswith("matrix")
    table = case.matrix() if of_groups else np.column_stack(case.packets())
    made = schedule(network, seed=case.seed, **_given(case, table, folder))
    demand = made.demand
    if of_groups:
        pair = demand.source.astype(np.int64) // network.d * network.g
        pair += demand.destination // network.d
        scheduled = np.bincount(pair, minlength=network.couplers).reshape(table.shape)
    else:
        scheduled = np.column_stack([demand.source, demand.destination])
    if not np.array_equal(scheduled, table):
        raise Fault("the demand that is scheduled is not the one that was given")
    trace = folder / "trace.jsonl" if case.traced else None
    outcome = _check_run(made._instance(), SAFE, trace)
    most = demand.h if network.d == 1 else 2 * demand.rounds
    if outcome.collisions or outcome.slots != made.slots:
        raise Fault(f"a schedule of {made.slots} slots without collisions: {outcome}")
    if not made.lower_bound <= made.slots <= most:
        raise Fault(f"{made.slots} slots, outside {made.lower_bound} to {most}")
    return ("schedule", "demands", SAFE), _counts(outcome, demand.packets, case.traced)


def _given(case: DemandCase, table: Ints, folder: Path) -> dict[str, Any]:
    """The arguments of ``schedule`` for the packets."""
    if case.form == "demand":
        return {"packets": Demand(case.network, table[:, 0], table[:, 1])}
    name = "matrix" if case.kind.endswith("matrix") else "packets"
    if case.form == "table" or not table.size:
        return {name: table}
    path = folder / f"{name}{case.form}"
    if case.form == ".npy":
        np.save(path, table)
    else:
        np.savetxt(path, table, fmt="%d", delimiter=",")
    return {name: path}


def _check_run(instance: Instance, guarantee: str, trace: Path | None) -> Outcome:
    """Execute a run, inspect all buffers at its end, and replay its trace if there is one."""
    memories: list[Memory] = []
    variant = instance.resolved_variant
    route = variant.route

    def watched(network: Network, destination: Ints, coins: Any, memory: Memory) -> Slots:
        memories.append(memory)
        return route(network, destination, coins, memory)

    expected = instance.array().copy()
    instance = replace(
        instance, variant=replace(variant, route=watched), destination=expected.copy()
    )
    if trace is None:
        outcome = ENGINES["slots"].execute(instance)
    else:
        with trace.open("w", encoding="utf-8", newline="\n") as file:
            outcome = trace_instance(
                instance, 0, file, lambda writer: ENGINES["slots"].execute(instance, [writer])
            )
        _replay(trace, outcome, len(expected))
    if not np.array_equal(instance.array(), expected):
        raise Fault("the router changed the destinations")
    if guarantee != IDEALIZED:
        _inspect(memories[0].content(), expected, outcome, guarantee)
    return outcome


def _inspect(
    content: tuple[Ints, Ints], destination: Ints, outcome: Outcome, guarantee: str
) -> None:
    """Compare the outcome with what is in the buffers at the end.

    If no packet may be lost and the run was not capped, every packet must be at its destination
    and nowhere else.
    """
    packets = len(destination)
    processors, held = content
    copies = np.bincount(held, minlength=packets)
    if len(copies) > packets:
        raise Fault(f"a processor holds packet {len(copies) - 1}, which does not exist")
    arrived = np.zeros(packets, dtype=np.bool_)
    arrived[held[destination[held] == processors]] = True
    lost = np.flatnonzero(copies == 0)
    if lost.tolist() != sorted(outcome.lost_packets) or len(lost) != outcome.lost:
        raise Fault(f"packets {lost[:8].tolist()} are in no buffer; the outcome is {outcome}")
    if guarantee == SAFE and len(lost):
        raise Fault(f"{len(lost)} packets are lost, the first is {lost[0]}: {outcome}")
    if outcome.delivered > np.count_nonzero(arrived):
        raise Fault(f"{np.count_nonzero(arrived)} packets are at their destinations: {outcome}")
    if guarantee == SAFE and not outcome.capped:
        if not arrived.all() or outcome.delivered != packets:
            raise Fault(f"packet {np.argmin(arrived)} is not at its destination: {outcome}")
        if len(held) != packets:
            raise Fault(f"packet {np.argmax(copies)} is held {copies.max()} times: {outcome}")


def _replay(path: Path, outcome: Outcome, packets: int) -> None:
    """Replay the trace; only packets that the outcome counts as missing may be missing."""
    found = check_trace(path)
    excused = len(found.undelivered) + (outcome.delivered < packets)
    complete = outcome.delivered == packets
    if found.violation_count != (0 if complete else excused):
        raise Fault(f"the checker finds {found.violation_count}: {found.violations[0]}; {outcome}")
    replayed = (found.packets, found.slots, found.messages, found.collisions, found.lost)
    executed = (
        packets, outcome.slots, outcome.messages, outcome.collisions, sorted(outcome.lost_packets)
    )  # fmt: skip
    if replayed != executed:
        raise Fault(f"the checker counts {replayed}, the run {executed}")


def _compiled(case: RouteCase, experiment: Experiment, numbers: range) -> Iterator[Outcome]:
    """The outcomes of the compiled engine, each run divided among threads if the case says so."""
    before = session.RESIDENT  # type: ignore[attr-defined]
    session.RESIDENT = 0 if case.divided else before  # type: ignore[attr-defined]
    try:
        with ENGINES["fused"].open(experiment, case.threads) as running:
            yield from Outcomes.joined(list(running.run(numbers)))
    finally:
        session.RESIDENT = before  # type: ignore[attr-defined]


def _require_equal(outcome: Outcome, other: Outcome, engine: str) -> None:
    """Require every count that the other engine reports, and the packets left after each step."""
    for name in (*COLUMNS, "survivors"):
        mine, theirs = getattr(outcome, name), getattr(other, name)
        if theirs is not None and mine != theirs:
            raise Fault(f"{name}: {mine} by engine slots, {theirs} by engine {engine}")


def _counts(outcome: Outcome, packets: int, replayed: bool) -> Counter[str]:
    return Counter(
        runs=1,
        packets=packets,
        delivered=outcome.delivered,
        lost=outcome.lost,
        slots=outcome.slots,
        messages=outcome.messages,
        collisions=outcome.collisions,
        capped=int(outcome.capped),
        replayed=packets * replayed,
    )
