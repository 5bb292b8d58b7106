"""The growth of relay's stages with g, and the maps of team and marked stages beside runs."""

from __future__ import annotations

import re
from collections.abc import Generator
from itertools import islice, pairwise
from math import exp, log, log2
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest

from popsnet import Experiment, InputError, Machine, Network
from popsnet.model.slot import Inbox, Slot
from popsnet.programs.routers.relay import parse_schedule
from popsnet.programs.routers.relay.state import RelayState
from popsnet.theory import first_shorter, growth, stages
from popsnet.theory.stage_growth import after_mark, after_sweep, after_team, log_star
from tests.each import each

Result = TypeVar("Result")
LARGE = Network(2**30, 2**30)
"""So large that numbers per group do not vary."""


@pytest.mark.parametrize("logarithm", [0.1, 1.0, 3.0, 7.0])
def test_logarithms_follow_the_maps_of_the_stages(logarithm: float) -> None:
    rho = np.array([exp(-logarithm)])
    assert after_sweep(logarithm) == pytest.approx(-log(stages.after_sweep(rho)[0]))
    assert after_mark(logarithm) == pytest.approx(
        -log(stages.after_marked(LARGE, rho, 1)[0]), rel=1e-4
    )
    for r in (1, 4, 30):
        expected = -log(stages.after_team(LARGE, rho, r)[0])
        assert after_team(logarithm, r) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("logarithm", [39.9, 40.1])
def test_the_maps_do_not_jump_where_floats_end(logarithm: float) -> None:
    assert after_sweep(logarithm) == pytest.approx(2 * logarithm, rel=1e-12)
    assert after_mark(logarithm) == pytest.approx(2 * logarithm - log(3), rel=1e-12)
    team = 5 * logarithm - 4 * log(8)
    assert after_team(logarithm, 4) == pytest.approx(team, rel=1e-12)


@pytest.mark.parametrize("exponent", [4, 6, 10, 12])
def test_no_schedule_of_its_kind_is_shorter(exponent: int) -> None:
    """All schedules, in plain numbers instead of logarithms."""
    (row,) = growth([exponent])
    goal = 0.01 / 4**exponent

    def fractions(rho: float) -> tuple[float, list[float]]:
        team = (rho * (1 - exp(-2 * r * rho)) ** r for r in range(1, 2**exponent + 1))
        marked = rho * (1 - exp(-rho) * (1 - rho) ** 2)
        return rho * (1 - exp(-rho)), [marked, min(team)]

    shortest: dict[str, int] = {}

    def search(name: str, rho: float, slots: int, stage: int | None, began: bool) -> None:
        if rho < goal and (began or name == "sweeps"):
            shortest[name] = min(slots, shortest.get(name, slots))
        elif slots < 30 and rho >= goal:
            sweep, others = fractions(rho)
            if not began:
                search(name, sweep, slots + 3, stage, began=False)
            if stage is not None:
                search(name, others[stage], slots + (2, 8)[stage], stage, began=True)

    search("sweeps", 1.0, 1, None, began=False)
    search("marked", 1.0, 1, 0, began=False)
    search("team", 1.0, 1, 1, began=False)
    marked = min(shortest["marked"], row.sweeps)  # which may be sweeps alone
    assert (row.sweeps, row.marked, row.team) == (shortest["sweeps"], marked, shortest["team"])
    rho = next(islice(_sweeps(), row.team_sweeps, None))
    r = row.candidates[-1]
    assert (
        rho * (1 - exp(-2 * r * rho)) ** r < goal <= rho * (1 - exp(-2 * (r - 1) * rho)) ** (r - 1)
    )


def _sweeps() -> Generator[float]:
    rho = 1.0
    while True:
        yield rho
        rho *= 1 - exp(-rho)


def test_team_stages_win_once_g_is_large() -> None:
    rows = growth(2**k for k in range(2, 65))
    assert all(
        before.sweeps <= after.sweeps and before.team <= after.team + 1
        for before, after in pairwise(rows)
    )
    last = rows[-1]
    assert last.sweeps - rows[-2].sweeps == 3  # one sweep more where log2 g doubles
    assert last.marked - rows[-2].marked == 2
    assert last.team == rows[32].team < last.proof < last.marked
    assert (last.log2_log2_g, last.log_star_g) == (64, 6)
    for than in ("sweeps", "marked"):
        k = first_shorter(than)
        assert k is not None
        before, at = growth([k - 1, k])
        assert before.team >= getattr(before, than)
        assert at.team < getattr(at, than)
    assert first_shorter("marked", most=20) is None


def test_log_star_is_the_number_of_twos_in_a_tower() -> None:
    assert [log_star(number) for number in (1, 2, 4, 16, 2**16, 2.0**1000)] == [0, 1, 2, 3, 4, 5]
    assert log_star(5) == 1 + log_star(log2(5))


@pytest.mark.parametrize(
    ("exponents", "left"), [([0.5], 0.01), ([1e301], 0.01), ([4], 0), ([4], 1)]
)
def test_numbers_out_of_range_are_refused(exponents: list[float], left: float) -> None:
    with pytest.raises(InputError, match=r"log2 g = |left = "):
        growth(exponents, left)


def finish(machine: Machine, running: Generator[Slot, Inbox, Result]) -> None:
    inbox: Inbox | None = None
    while True:
        try:
            slot = next(running) if inbox is None else running.send(inbox)
        except StopIteration:
            return
        inbox = machine.execute(slot)


def pending_after(text: str, stages_run: int, runs: int, g: int = 64) -> np.ndarray:
    """Return the mean fractions of pending sources on POPS(g, g), before and after each stage."""
    network, schedule = Network(g, g), parse_schedule(text)
    found = np.zeros(stages_run + 1)
    for run in range(runs):
        instance = Experiment(g, g, seed=5).instance(run)
        machine = Machine(network, instance.array(), schedule.buffers(network))
        state = RelayState(network, instance.array(), instance.coins, machine.memory, seed=run)
        found[0] += len(state.pending)
        for number, (stage, state.following) in enumerate(islice(pairwise(schedule), stages_run)):
            finish(machine, stage.run(state))
            found[number + 1] += len(state.pending)
    return found / (runs * network.n)


PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "stage-growth.md"
_NUMBERS = r" ([\d.]+) \|" * 3
ROWS = [
    (schedule, which, g, *map(float, numbers[at : at + 3]))
    for schedule, which, *numbers in re.findall(
        rf"^\| `([^`]+)`(?:, (\w+)[^|]*)? \|{_NUMBERS}{_NUMBERS}$",
        PAGE.read_text(encoding="utf-8"), re.M,
    )
    for g, at in ((64, 0), (256, 3))
]  # fmt: skip
"""The table of the page: schedule, which stage, g, and the fractions before, after and mapped."""


def place_of(schedule: str, which: str) -> int:
    """Return how many stages come before the one of a row, which is the last unless it says so."""
    return len(schedule.split()) - (which != "second")


@each(("schedule", "which", "g", "before", "after", "mapped"), ROWS)
def test_the_maps_of_the_page(
    schedule: str, which: str, g: int, before: float, after: float, mapped: float
) -> None:
    stage = parse_schedule(schedule).all_stages[-1]
    found = float(stage.after(Network(g, g), np.array([before]))[0])
    assert found == pytest.approx(mapped, rel=0.06)  # of rounding


@pytest.mark.long
@pytest.mark.parametrize(("schedule", "which", "g", "before", "after", "mapped"), ROWS)
def test_the_runs_of_the_page(
    schedule: str, which: str, g: int, before: float, after: float, mapped: float
) -> None:
    """At least 130 packets are left, most of them in pairs, so 35 % is three standard errors."""
    at = place_of(schedule, which)
    found = pending_after(schedule, at + 1, 100 if g == 64 else 10, g)
    assert found[at] == pytest.approx(before, rel=0.1)
    assert found[at + 1] == pytest.approx(after, rel=0.35)


def test_the_page_has_a_table() -> None:
    assert len(ROWS) == 16


@pytest.mark.parametrize(
    "text", ["P1 P1 Q", "P1 P1 P1 Q", "P1 P1 P1 T3", "P1 P1 P1 T5", "P1 P1 X2"]
)
def test_the_map_of_a_late_stage_is_near_runs(text: str) -> None:
    """The maps are off by up to 15 %, and the means of runs by up to 10 %.

    At least 150 packets are left, mostly in pairs, so the standard error is at most 10 %. The seed
    is fixed; with another one the test would fail with a probability of at most 2 %.
    """
    runs, network = 10, Network(64, 64)
    fractions = pending_after(text, len(text.split()), runs)
    stage = parse_schedule(text).all_stages[-1]
    expected = stage.after(network, fractions[-2:-1])[0]
    assert fractions[-1] * runs * network.n > 150
    assert fractions[-1] == pytest.approx(expected, rel=0.35)
