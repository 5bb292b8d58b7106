"""Routers side by side, and a planner that is held against what was measured."""

from __future__ import annotations

from collections.abc import Generator
from functools import cache
from typing import Any

import numpy as np
import pytest

from popsnet import (
    Inbox,
    InputError,
    Network,
    PopsnetError,
    Router,
    Rule,
    RuleViolation,
    Slot,
    route,
)
from popsnet.programs.router import all_routers, get_router
from popsnet.programs.routers.deterministic import aks_slots
from popsnet.studies.comparisons import comparison
from popsnet.studies.comparisons.comparison import Comparison, RouterRuns, compare
from popsnet.studies.comparisons.recommendation import forecast, forecasts, recommend
from tests.conftest import slot_of
from tests.each import rarely, sampled

SMALL = [
    (1, 1), (1, 8), (1, 100), (2, 64), (4, 16), (5, 12), (3, 3), (8, 8), (13, 4), (7, 1), (32, 32),
]  # fmt: skip
LARGE = [(1, 256), (16, 64), (40, 40), (64, 8), (48, 16), (50, 9), (128, 4), (256, 16)]


@cache
def compared(d: int, g: int) -> Comparison:
    return compare(Network(d, g), runs=1)


@cache
def measured(d: int, g: int) -> dict[str, RouterRuns]:
    """Six runs of the routers that draw coins, and one of the others."""
    once = {one.router.name: one for one in compared(d, g).done}
    drawing = [name for name, one in once.items() if one.router.randomness != "none"]
    return once | {one.router.name: one for one in compare(Network(d, g), routers=drawing, runs=6)}


shapes = pytest.mark.parametrize("shapes", [SMALL, *rarely([LARGE])], ids=["small", "large"])


@shapes
def test_the_planner_is_right(shapes: list[tuple[int, int]]) -> None:
    """What it recommends is the measured winner, or as good but for chance: 3 % of six runs."""
    for d, g in shapes:
        best = min(one.mean_slots for one in measured(d, g).values() if one.router.online)
        advised = measured(d, g)[recommend(Network(d, g)).router]
        assert advised.mean_slots <= 1.03 * best, (d, g)


@shapes
def test_what_is_exact_is_exact(shapes: list[tuple[int, int]]) -> None:
    for (d, g), one in [(shape, one) for shape in shapes for one in forecasts(Network(*shape))]:
        if one.router.name not in measured(d, g):
            assert one.router.name == "aks"
            continue
        ran = measured(d, g)[one.router.name]
        assert ran.runs is not None
        if one.exact and d * g > 1:
            assert ran.mean_slots == ran.worst_slots == one.slots
        elif one.router.name == "aks" and (ran.runs.steps == 1).all():
            assert ran.mean_slots == one.slots
        elif one.router.name == "relay" and d * g >= 1024:  # the limit is of large networks
            assert abs(ran.mean_slots - one.slots) <= 0.1 * one.slots + 3


@pytest.mark.parametrize(("d", "g"), sampled([(100, 60), (256, 64), (128, 128), (512, 32)], 2))
def test_the_slots_of_a_large_bag_tree_are_estimated(d: int, g: int) -> None:
    found = forecast(get_router("aks"), Network(d, g))
    assert found is not None
    assert found.slots == pytest.approx(aks_slots(Network(d, g)), rel=0.2)


def test_all_routers_have_the_same_permutations() -> None:
    found = compared(8, 8)
    assert {one.router.name for one in found.done} >= {"batcher", "datta", "direct", "relay"}
    assert not any(one.failed for one in found.done)
    bound = found.lower_bound
    assert bound is not None
    assert all(one.mean_slots >= bound for one in found.done)


def test_what_takes_too_long_is_left_out() -> None:
    (one,) = compared(128, 4).left_out
    assert one.router.name == "aks"
    assert one.expected is not None
    assert "long: aks (about" in one.why_left_out()


def test_what_was_asked_for_is_run_however_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("popsnet.studies.comparisons.comparison._MOST_SLOTS", 3)
    asked = compare(4, 4, routers=["direct"], runs=1)
    assert [one.router.name for one in asked.done] == ["direct"]
    assert asked.left_out == ()
    monkeypatch.setattr("popsnet.studies.comparisons.comparison._MOST_SLOTS", 0)
    nothing = compare(4, 4, runs=1)
    assert nothing.done == ()
    assert nothing.report().verdict == "FAILED: no router was run."


def test_an_interrupt_keeps_the_routers_that_were_finished() -> None:
    def interrupt(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as stopped:
        compare(4, 4, routers=["direct", "relay", "datta"], runs=1, progress=interrupt)
    kept: Comparison = stopped.value.comparison  # type: ignore[attr-defined]
    assert {one.router.name for one in kept.done} == {"direct", "relay"}
    assert "2 of 3 routers were finished" in stopped.value.__notes__[-1]


def test_a_comparison_has_the_runs_of_every_router() -> None:
    found = compare(8, 8, routers=["mei-rizzi", "relay", "direct"], runs=4, seed=9)
    assert {one.router.name for one in found.done} == {"mei-rizzi", "relay", "direct"}
    assert found["direct"].slots.tolist() == [8] * 4
    assert found.to_dataframe()["mean_slots"].is_monotonic_increasing
    assert "POPS(8, 8): 4 permutations, the same for all routers" in str(found)
    assert "<table>" in found._repr_html_()
    with pytest.raises(InputError, match="'datta' is not one of the routers that were run"):
        found["datta"]
    reversal = np.arange(64)[::-1]
    one = compare(8, 8, routers=[("relay", "S"), "direct"], permutation=reversal, runs=2, seed=9)
    assert "relay (S)" in str(one)
    two = compare(8, 8, routers=[("relay", "S"), ("relay", "P1"), "direct"], runs=1)
    assert two["relay (S)"].experiment.variant == "S"
    with pytest.raises(InputError, match=r"'relay' is not one .*relay \(S\)"):
        two["relay"]
    ideal = compare(4, 4, routers=[("mei-rizzi", "idealized")], runs=1)
    assert "statistics only</td>" in ideal._repr_html_()
    assert {"statistics", "only"} <= set(str(ideal).split())
    other = compare(8, 8, routers="relay", runs=4, seed=9, permutation_seed=9)["relay"]
    assert other.experiment.permutation_seed == 9
    assert found["relay"].experiment == other.experiment.replaced(permutation_seed=0)
    again = route(8, 8, router="relay", variant="S", permutation="reversal", runs=2, seed=9)
    assert one["relay"].slots.tolist() == again.slots.tolist()
    assert len(compare(4, 4, routers="direct", runs=1).done) == 1


def test_only_the_default_variant_has_expected_slots() -> None:
    found = {one.full_name: one for one in compare(64, 64, routers=["relay", "relay:S"], runs=1)}
    default = get_router("relay").choose_variant(None, Network(64, 64))
    assert found[f"relay:{default}"].to_record()["expected_slots"] == pytest.approx(15.2, abs=0.1)
    assert found["relay:S"].to_record()["expected_slots"] is None


def test_a_comparison_is_a_collection_of_what_was_run() -> None:
    found = compare(4, 4, routers=["relay:S", "direct"], runs=1)
    assert [one.label for one in found] == ["direct", "relay (S)"]
    assert len(found) == 2
    assert found["relay:S"].experiment.variant == "S"


@pytest.mark.parametrize("routers", [["relay:S", ("relay", "S")], ["relay", "relay:direct"]])
def test_one_router_is_not_compared_with_itself(routers: Any) -> None:
    with pytest.raises(InputError, match=r"router = relay:\w+: this variant is given twice"):
        compare(4, 4, routers=routers, runs=1)


def test_all_counts_of_capped_runs_are_lower_bounds() -> None:
    (line,) = (
        line
        for line in str(compare(8, 8, routers=["mei-rizzi"], runs=2, max_steps=1)).splitlines()
        if line.startswith("mei-rizzi")
    )
    assert line.count("≥") == 4  # slots, worst, collisions, buffers


def test_relay_is_exact_where_its_plan_is_direct() -> None:
    relay = get_router("relay")
    small, large = forecast(relay, Network(8, 8)), forecast(relay, Network(64, 64))
    assert small is not None
    assert large is not None
    assert (small.slots, small.exact) == (8, True)
    assert small.reason == "formula: max(d, g) (its plan is direct)"
    assert (large.exact, large.reason) == (False, "fluid limit of the planned stages")


def lazy(network: Network, *_: object) -> Generator[Slot, Inbox, None]:
    yield Slot()


def test_who_delivers_nothing_does_not_win() -> None:
    found = compare(4, 4, routers=[lazy, "direct"], runs=3)
    assert [one.router.name for one in found.done] == ["direct", "lazy"]
    capped = compare(8, 8, routers=["mei-rizzi", "direct"], runs=2, max_steps=1)
    assert [one.router.name for one in capped.done] == ["direct", "mei-rizzi"]
    assert found.done[1].missing == found.to_records()[1]["undelivered"] == 48
    (line,) = (line for line in str(found).splitlines() if line.startswith("lazy"))
    assert line.split()[:3] == ["lazy", "1.0", "1"]
    assert line.split()[5] == "48"
    assert line.endswith("not checked")
    assert found.to_records()[1]["online"] is True
    assert not found.report().ok
    assert "48 packets not delivered" in repr(route(4, 4, router=lazy, runs=3))
    assert repr(route(6, 3, variant="idealized", max_steps=4, runs=2)).count("capped") == 1


def breaks_a_rule(network: Network, *_: object) -> Generator[Slot, Inbox, None]:
    yield slot_of(senders=[0], groups=[0], packets=[1])


def asks_too_much(network: Network, *_: object) -> Generator[Slot, Inbox, None]:
    raise InputError("too few coins.")
    yield Slot()


@pytest.mark.parametrize(
    ("router", "kind", "text"),
    [(breaks_a_rule, RuleViolation, "slot 1, processor 0: "), (asks_too_much, InputError, "too ")],
)
def test_who_fails_is_named(router: Any, kind: type[PopsnetError], text: str) -> None:
    with pytest.raises(kind, match=f"^{router.__name__}: {text}") as caught:
        compare(2, 2, routers=["direct", router], runs=1)
    if isinstance(caught.value, RuleViolation):
        assert (caught.value.slot, caught.value.rule) == (1, Rule.SENDS_WHAT_IT_HOLDS)


def test_coins_that_are_not_stated_are_not_denied() -> None:
    found = {
        one["router"]: one["randomness"]
        for one in compare(4, 4, routers=[lazy, "direct", "mei-rizzi"], runs=1).to_records()
    }
    assert found == {"lazy": "not stated", "direct": "none", "mei-rizzi": "private coins"}
    shipped = [router for router in all_routers() if not router.file]
    assert all(router.randomness != "not stated" for router in shipped)
    assert all(router.faults != "not stated" for router in shipped)


def test_a_plan_says_what_is_not_checked() -> None:
    claims = get_router("direct").claims
    own = Router("own", "", "", 2, get_router("direct").variants, claims=claims)
    lines = str(recommend(4, 4, routers=[own, "relay", "offline"])).splitlines()
    ends = {line.split()[0]: line for line in lines}
    assert ends["own"].endswith("not checked")
    assert ends["relay"].endswith(" yes")
    assert ends["offline"].endswith(" no")


def test_a_recommendation_says_why() -> None:
    found = recommend(Network(64, 64))
    assert (found.router, found.best.router.name) == ("relay", "relay")
    assert f"Use relay: {found.why}" in str(found).replace("\n", " ")
    assert found.to_records()[0]["router"] == found.forecasts[0].router.name


def test_an_interrupt_before_any_router_is_finished_computes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The lower bound of all runs would take as long as the runs."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(comparison, "route", interrupted)
    monkeypatch.setattr(comparison, "_bound", lambda *_: pytest.fail("a bound is computed"))
    with pytest.raises(KeyboardInterrupt):
        compare(4, 4, routers=["direct"], runs=10**15)
