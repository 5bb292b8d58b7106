from __future__ import annotations

from dataclasses import replace
from itertools import combinations, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import popsnet
from popsnet import Coins, InputError, Network, Router
from popsnet.programs.router import find_variant
from popsnet.studies.adversaries import CheckedSlot, Refusal, check_conflict_free, conflict_free
from popsnet.studies.adversaries.all_permutations import AllPermutations
from popsnet.studies.adversaries.rigid import watch_slots
from popsnet.theory import conflict_free_arrivals
from tests.each import each, sampled
from tests.studies.adversaries.test_all_permutations import spans
from tests.studies.adversaries.test_rigid import written

QUERIES = str(Path(__file__).parents[3] / "docs/examples/queries.py")
SHAPES = [(2, 2), (2, 3), (3, 2), (1, 6), (6, 1)]


def by_brute_force(router: str, network: Network) -> tuple[list[tuple[Any, ...]], int]:
    """What is checked in each slot, with states that are nested tuples, and without arrays."""
    d, g, n = network.d, network.g, network.n
    program, named = find_variant(router, None)
    variant = program.choose_variant(named, network)
    everything = list(permutations(range(n)))
    bases, degrees = spans(AllPermutations(n)), dict[frozenset[Any], int]()

    def swapped(to: tuple[int, ...], i: int, j: int) -> tuple[int, ...]:
        return tuple(to[{i: j, j: i}.get(k, k)] for k in range(n))

    def largest_degree(functions: Any) -> int:
        kinds = {
            frozenset(to for to in everything if function[to] == value)
            for function in functions
            for value in function.values()
        }
        for kind in kinds - degrees.keys():
            one = np.array([float(to in kind) for to in everything])
            rests = [np.linalg.norm(one - basis @ (basis.T @ one)) for basis in bases]
            degrees[kind] = next(k for k, rest in enumerate(rests) if rest < 1e-9)
        return max(degrees[kind] for kind in kinds)

    runs = {
        to: watch_slots(program, variant, network, np.array(to), Coins(0), 99)[0]
        for to in everything
    }
    states: list[Any] = [{to: (i, to[i]) for to in everything} for i in range(n)]
    known: list[Any] = [{to: {i} for to in everything} for i in range(n)]
    rows = []
    for t in range(min(map(len, runs.values()))):
        couplers: Any = {c: {} for c in product(range(g), range(g))}
        packets: Any = {c: {} for c in couplers}
        after, held = [dict(one) for one in states], [dict(one) for one in known]
        for to in everything:
            slot = runs[to][t]
            by = {}
            for sender, group in zip(slot.senders[slot.owners], slot.groups, strict=True):
                assert (group, sender // d) not in by
                by[group, sender // d] = sender
            for c in couplers:
                sender = by.get(c)
                couplers[c][to] = None if sender is None else states[sender][to]
                packets[c][to] = set() if sender is None else known[sender][to]
            for listener, group in zip(slot.listeners, slot.listened, strict=True):
                c = listener // d, group
                after[listener][to] = states[listener][to], t, couplers[c][to]
                held[listener][to] = known[listener][to] | packets[c][to]
        states, known = after, held
        edges = [
            [pair for pair in combinations(range(n), 2) if one[swapped(to, *pair)] != one[to]]
            for one in couplers.values()
            for to in everything
        ]
        two = any(not {*a} & {*b} for some in edges for a, b in combinations(some, 2))
        told = [
            *zip(couplers.values(), packets.values(), strict=True),
            *zip(states, known, strict=True),
        ]
        swaps = [
            one[swapped(to, i, j)] != one[to]
            for one, has in told
            for to in everything
            for i in has[to]
            for j in {*range(n)} - {i}
        ]
        arrived = [sum(i in known[to[i]][to] for i in range(n)) for to in everything]
        degree = largest_degree(couplers.values()), largest_degree(states)
        matching = 2 if two else int(any(edges))
        rows.append((*degree, matching, len(swaps), swaps.count(False), float(np.mean(arrived))))
    return rows, len(degrees)


@each("router", ["direct", "batcher", "aks", QUERIES])
def test_what_is_found_is_what_brute_force_finds(router: str) -> None:
    check = check_conflict_free(router, None, 2, 2)
    found = [
        (one.coupler_degree, one.state_degree, one.matching, one.swaps, one.unchanged, one.arrivals)
        for one in check.checked
    ]
    expected, indicators = by_brute_force(router, Network(2, 2))
    assert found == expected
    assert check.indicators == indicators


CONFLICT_FREE = (
    ("direct", 3, 2), ("batcher", 2, 3), ("aks", 3, 2), ("relay", 1, 6), (QUERIES, 6, 1)
)  # fmt: skip


@each(("router", "d", "g"), sampled(CONFLICT_FREE, 2))
def test_the_theorem_holds_for_routers_without_conflicts(router: str, d: int, g: int) -> None:
    check = check_conflict_free(router, None, d, g, slots=6)
    assert check.confirmed
    first = check.checked[0]
    assert first.coupler_degree == first.bounds.get("coupler_degree", 1) == 1
    assert all(one.unchanged == 0 for one in check.checked)
    assert check.checked[-1].arrivals <= d * g


def test_queries_deliver_all_and_by_values_that_were_heard() -> None:
    for shape in (*SHAPES, (4, 4), (8, 3), (3, 8), (5, 5)):
        runs = popsnet.route(*shape, router=QUERIES, runs=5)
        assert runs.delivered.tolist() == [Network(*shape).n] * 5
        assert runs.slots.tolist() == [shape[0] + max(shape)] * 5
    rows = check_conflict_free(QUERIES, None, 2, 3).checked
    assert [(one.coupler_degree, one.state_degree) for one in rows[:3]] == [(1, 2), (2, 4), (4, 5)]


def meet(tmp_path: Path, senders: int) -> Router:
    """The first processors send to group 1 if their destinations are there, and may meet."""
    return written(
        tmp_path,
        f"    who = np.array([i for i in range({senders}) if destination[i] >= 3], dtype=int)\n"
        "    yield Slot(senders=who, groups=who * 0 + 1, packets=who, listeners=[3, 4],\n"
        "               listened=[0, 0], conflict_free=len(who) > 9)\n",
    )


def test_a_conflict_is_named_and_allowed_by_the_larger_bounds(tmp_path: Path) -> None:
    refused = check_conflict_free(meet(tmp_path, 2), None, 3, 2)
    assert not refused.confirmed
    assert refused.checked == ()
    refusal = refused.refusal
    assert isinstance(refusal, Refusal)
    assert (refusal.reason, refusal.slot, refusal.processors) == ("conflict", 1, (0, 1))
    assert (refusal.coupler, refusal.permutations) == ((1, 0), ((3, 4, 0, 1, 2, 5),))
    said = "in slot 1 on the permutation [3, 4, 0, 1, 2, 5], processors 0, 1 send to "
    assert f"{said}coupler c(1, 0)." in refusal.text

    allowed = check_conflict_free(meet(tmp_path, 2), None, 3, 2, allow=2)
    assert allowed.confirmed
    (slot,) = allowed.checked
    assert (slot.coupler_degree, slot.bounds["coupler_degree"]) == (2, 2)
    assert slot.bounds["state_degree"] == 3
    assert not replace(slot, bounds=conflict_free._bounds(Network(3, 2), 1, 1)).holds
    assert "At most 2 messages meet in 720 permutations" in str(allowed)


def test_three_messages_are_more_than_two(tmp_path: Path) -> None:
    refusal = check_conflict_free(meet(tmp_path, 3), None, 3, 2, allow=2).refusal
    assert refusal is not None
    assert refusal.processors == (0, 1, 2)
    (slot,) = check_conflict_free(meet(tmp_path, 3), None, 3, 2, allow=3).checked
    assert (slot.coupler_degree, slot.bounds["coupler_degree"]) == (3, 3)


def test_a_promise_that_is_broken_is_a_conflict_as_well(tmp_path: Path) -> None:
    router = written(
        tmp_path,
        "    to = [0, int(destination[0] != 0)]\n"
        "    yield Slot(senders=[0, 1], groups=to, packets=[0, 1], conflict_free=True)\n",
    )
    refusal = check_conflict_free(router, None, 2, 2).refusal
    assert refusal is not None
    assert (refusal.coupler, refusal.permutations[0][0]) == ((0, 0), 0)


LISTENS = "    yield Slot(listeners=[0], listened=[destination[3] % 2])\n"
TOO_EARLY = (
    "    inbox = yield Slot(senders=[2], groups=[0], packets=[2], listeners=[0], listened=[1])\n"
    "    if inbox.destinations[0] > 1:\n        yield Slot()\n"
    "    yield Slot(senders=[1], groups=[0], packets=[1])\n    yield Slot()\n"
)


@each(
    ("body", "slot", "processor"),
    [
        ("    yield Slot(senders=[0], groups=[destination[1] % 2], packets=[0])\n", 1, 0),
        ("    yield Slot()\n" + LISTENS, 2, 0),
        (LISTENS.replace("destination[3]", "destination[0]") + LISTENS, 2, 0),
        (TOO_EARLY, 2, 1),
    ],
)
def test_a_processor_acts_on_what_it_has_heard(
    body: str, slot: int, processor: int, tmp_path: Path
) -> None:
    """Not on destinations of others, and not on what others have heard."""
    refusal = check_conflict_free(written(tmp_path, body), None, 2, 2).refusal
    assert refusal is not None
    assert (refusal.reason, refusal.slot) == ("locality", slot)
    assert refusal.processors == (processor,)
    one, two = refusal.permutations
    assert one[processor] == two[processor]
    assert f"NOT LOCAL: in slot {slot} processor {processor} acts otherwise" in refusal.text


def test_a_processor_may_act_on_what_it_has_heard(tmp_path: Path) -> None:
    """Silence included; and no slot is compared after the end of the shortest run."""
    router = written(
        tmp_path,
        "    who = np.flatnonzero(destination[2:3] > 1) + 2\n"
        "    heard = dict(listeners=[0], listened=[1])\n"
        "    inbox = yield Slot(senders=who, groups=who * 0, packets=who, **heard)\n"
        "    yield Slot(senders=[0], groups=[int(len(inbox.receivers))], packets=[0])\n"
        "    if len(who):\n        yield Slot()\n",
    )
    check = check_conflict_free(router, None, 2, 2)
    assert check.confirmed
    assert len(check.checked) == 2


def everything_held(network: Network, slots: Any, processors: Any, packets: Any) -> Any:
    return np.ones((len(slots), *packets.shape), dtype=bool)


def test_each_check_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is forged is found: records, states, degrees, matchings, and arrivals."""

    def slots(*arguments: Any) -> tuple[CheckedSlot, ...]:
        check = check_conflict_free("direct", None, *arguments)
        assert not check.confirmed
        assert "NOT CONFIRMED: a bound does not hold in slot" in str(check)
        return check.checked

    with monkeypatch.context() as forged:
        forged.setattr(conflict_free, "_held", everything_held)
        assert slots(2, 3)[0].unchanged
        assert not slots(8, 8)[0].holds  # all 64 packets in a slot, where 33.5 can arrive
    with monkeypatch.context() as forged:
        everyone = np.tile(np.arange(720), (6, 1))
        forged.setattr(conflict_free._Exact, "_after", lambda *_: everyone)
        assert slots(2, 3)[0].state_degree == 5
    with monkeypatch.context() as forged:
        forged.setattr(AllPermutations, "largest_matching", lambda *_: 2)
        first, second, _ = slots(2, 3)
        assert (first.holds, second.holds) == (False, True)
    good = check_conflict_free("direct", None, 2, 3).checked[0]
    assert good.holds
    for name in ("coupler_degree", "state_degree", "matching"):
        forge: Any = {name: good.bounds[name] + 1}
        assert not replace(good, **forge).holds
    assert not replace(good, unchanged=1).holds
    assert not replace(good, bounds={"arrivals": good.arrivals - 0.01}).holds


def test_routers_outside_of_the_theorem_are_refused() -> None:
    for router, why in {
        "mei-rizzi": "The router draws coins",
        "relay:S": "The router draws coins",
        "mei-rizzi:idealized": "uses what no processor knows",
        "offline": "uses what no processor knows",
    }.items():
        with pytest.raises(InputError, match=why):
            check_conflict_free(router, None, 2, 2)
    with pytest.raises(InputError, match=r"runs = 3: up to n = 6 the router runs on all"):
        check_conflict_free("direct", None, 2, 2, runs=3)
    with pytest.raises(InputError, match="allow = 0"):
        check_conflict_free("direct", None, 2, 2, allow=0)
    with pytest.raises(InputError, match="n = 1 processors"):
        check_conflict_free("direct", None, 1, 1)


def test_a_sample_is_compared_with_the_bound() -> None:
    check = check_conflict_free(QUERIES, None, 32, 32, slots=4, runs=3)
    assert check.confirmed
    assert not check.exact
    assert [one.slot for one in check.checked if one.bounds] == [1, 2, 3, 4]
    assert [one.slot for one in check.checked if "arrivals" in one.bounds] == [1]
    assert check.checked[1].arrivals > 40  # a slot "tell" and a slot "ask" deliver about 2g
    text = str(check)
    assert "less than n = 1,024 up to slot 1" in text
    assert "up to slot 2 from g = 37 on" in text
    again = check_conflict_free(QUERIES, None, 32, 32, slots=4, runs=3, permutation_seed=1)
    assert again.checked[1].arrivals != check.checked[1].arrivals
    small = str(check_conflict_free("direct", None, 2, 3))
    assert "on POPS(2, 3) is n or more: it says nothing" in small
    assert "up to slot 1 from g = 9 on" in small


def test_the_bounds_on_arrivals_are_those_of_the_theorems() -> None:
    for d, g in ((64, 64), (1000, 1000), (6, 1), (10, 1000), (1000, 10), (3, 3000), (37, 37)):
        n, bounds = d * g, conflict_free_arrivals(d, g)
        for t in range(1, len(bounds) + 2):
            groups = sum(
                2 * 4 ** (s - 1) * (2 * d + 2 * g * sum(4 ** (r - 1) for r in range(1, s)))
                for s in range(1, t + 1)
            )
            heard = sum(
                2 * 4 ** (s - 1) * (2 + 2 * sum(4**r for r in range(1, s))) for s in range(1, t + 1)
            ) + sum(16**r for r in range(1, t))
            least = 1 + min(g * g * groups, n * g * heard) / (n - 1)
            first = 1 + 4 / 3 * n / (n - 1) * (g * 4**t + g * g / d * 16**t / 15)
            second = 1 + 19 / 45 * n / (n - 1) * g * 16**t
            assert least <= min(first, second)
            assert [least] == pytest.approx(bounds[t - 1 :]) if t == len(bounds) else True
            assert (least < n) == (t <= len(bounds))
    two = conflict_free_arrivals(10**4, 10**4, 2)
    assert two[0] == pytest.approx(1 + 16 * 10**12 / (10**8 - 1))  # 2·D²·2d·g², D = 2
    assert len(two) < len(conflict_free_arrivals(10**4, 10**4))
