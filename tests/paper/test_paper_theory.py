from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from popsnet import Experiment, Network, route
from popsnet.engines import Tally
from popsnet.paper.figures import theory_figures
from popsnet.paper.plan import Wanted, make_plan
from popsnet.paper.theory.growth import (
    LAWS,
    LIMIT,
    growth_rows,
    in_words,
    predicted,
    series_of,
    terms,
)
from popsnet.paper.theory.predictions import FluidRow, exact_rows
from popsnet.paper.theory.section import Theory, theory_tables
from popsnet.paper.theory.separation import KEPT, SeparationRow, attack_all
from popsnet.paper.verdicts import LEVEL
from popsnet.studies.adversaries import FAMILIES, Separation, separation
from popsnet.theory import expected_steps
from popsnet.theory.exact import ROUTERS
from tests.conftest import Cli
from tests.plots.texts import texts_outside


def wanted(router: str, d: int, g: int, runs: int, seed: int = 0) -> Wanted:
    variant = {"mei-rizzi": "idealized", "relay": "S"}[router]
    return Experiment(d, g, router=router, variant=variant, seed=seed), runs


def sampled(*asked: Wanted) -> dict[Wanted, Tally]:
    return {
        (experiment, runs): route(experiment, runs=runs, engine="fused").tally
        for experiment, runs in asked
    }


def test_exact_means_are_those_of_the_chains() -> None:
    """All comparisons are right; that any is said to differ has a chance of 1 %."""
    asked = [
        wanted(router, d, g, 2000)
        for router in ("mei-rizzi", "relay")
        for d, g in ((2, 2), (3, 2), (3, 3))
    ]
    rows = exact_rows(asked, sampled(*asked))
    for row in rows:
        moments = ROUTERS[row.router](Network(row.d, row.g)).moments()
        assert Fraction(row.exact_fraction) == moments.first
        assert row.exact == float(moments.first)
        assert row.error**2 * row.runs == pytest.approx(float(moments.second - moments.first**2))
    assert rows[0].exact_fraction == "136/45"
    assert {row.verdict for row in rows} == {"agrees"}


def test_a_mean_that_is_wrong_is_found_out() -> None:
    """Every fifth run a step too long; the true mean is wrongly accused with a chance of 1 %."""
    asked = wanted("mei-rizzi", 2, 2, 5000)
    steps = route(asked[0], runs=5000, engine="fused").steps.tolist()
    late = [value + (run % 5 == 0) for run, value in enumerate(steps)]
    (right,) = exact_rows([asked], {asked: Tally(5000, steps=Counter(steps))})
    (wrong,) = exact_rows([asked], {asked: Tally(5000, steps=Counter(late))})
    assert (right.verdict, wrong.verdict) == ("agrees", "differs")
    assert wrong.standard_errors > 5


def test_few_runs_are_not_judged_and_nothing_is_said_about_them() -> None:
    asked = wanted("relay", 2, 2, 990)
    rows = exact_rows([asked], sampled(asked))
    assert [row.verdict for row in rows] == ["too few runs"]
    theory = Theory(rows, (), (), ())
    assert theory.summary == ""
    (table,) = theory_tables(theory)
    assert "error rate" not in table.caption


def test_a_run_with_all_packets_delivered_has_no_stage() -> None:
    tally = Tally(1000, 0, Counter({1: 1000}), Counter({1: 500, 4: 500}))
    asked = wanted("relay", 2, 2, 1000)
    (row,) = exact_rows([asked], {asked: tally})
    assert row.mean == 0.5


def test_all_exact_rows_are_one_family() -> None:
    """A mean 2.8 standard errors off, p = 0.5 %, is too far if it is the only one, not of six."""

    def of_stages(once: int) -> Tally:
        return Tally(1000, slots=Counter({4: once, 7: 1000 - once}))

    asked = [wanted("relay", 2, 2, 1000, seed) for seed in range(6)]
    tallies = {pair: of_stages(484 if pair is asked[0] else 573) for pair in asked}
    (alone,) = exact_rows(asked[:1], tallies)
    assert 0.005 < alone.p < LEVEL
    assert alone.verdict == "differs"
    together = exact_rows(asked, tallies)
    assert [row.verdict for row in together] == ["agrees"] * 6


def values(
    shape: str, a: float, b: float, noise: float = 0.0, sizes: int = 12, seed: int = 0
) -> list[FluidRow]:
    """Slots that follow a law, as if they had been measured."""
    rng = np.random.default_rng(seed)
    rows = []
    for power in range(1, sizes + 1):
        g = 2**power
        slots = float(np.dot(terms(shape, g), [a, b][: len(terms(shape, g))])) + rng.normal(
            0, noise
        )
        limit = 5 * expected_steps(Network(g, g))
        rows.append(
            FluidRow(
                g * g, g, g, "mei-rizzi", "idealized", slots, 0.05, 1000, 0, None, limit,
                slots - limit,
            )
        )  # fmt: skip
    return rows


@pytest.mark.parametrize("law", LAWS)
def test_the_law_behind_the_values_wins(law: str) -> None:
    """No law is preferred: whichever made the values is found, with its coefficients."""
    rows = growth_rows(values(law, 12.0, 3.0, noise=0.05))
    assert [row.law for row in rows] == [*LAWS, LIMIT]
    best = min((row for row in rows if row.law != LIMIT), key=lambda row: row.aicc)
    assert best.law == law
    assert best.delta == 0
    assert best.weight is not None
    assert best.weight > 0.5
    assert best.a is not None
    assert best.a_error is not None
    assert abs(best.a - 12) < 4 * best.a_error
    if best.b is not None and best.b_error is not None:
        assert abs(best.b - 3) < 4 * best.b_error
    (words,) = in_words(rows)
    assert f"best is {law}" in words
    assert predicted(best, [4.0])[0] == pytest.approx(best.a + (best.b or 0) * terms(law, 4)[-1])


def test_laws_that_the_values_do_not_tell_apart_are_named() -> None:
    rows = growth_rows(values("log g", 12.0, 0.3, noise=1.0))
    (words,) = in_words(rows)
    laws = [row for row in rows if row.law != LIMIT]
    alike = [f"{row.law} (Δ {row.delta:.1f})" for row in laws if 0 < row.delta <= 2]
    assert len(alike) > 1
    assert f"Not distinguished from it: {', '.join(alike)}." in words


def test_values_by_the_limit_itself_are_best_told_by_it() -> None:
    rows = [replace(row, slots=row.limit, difference=0.0) for row in values("constant", 0.0, 0.0)]
    *_, limit = growth_rows(rows)
    assert (limit.law, limit.a, limit.b, limit.weight) == (LIMIT, None, None, None)
    assert limit.delta < -10
    assert "with nothing to fit, is ahead of it" in in_words(growth_rows(rows))[0]


def test_lower_bounds_are_not_fitted_and_few_sizes_neither() -> None:
    rows = values("log g", 12.0, 3.0)
    capped = [replace(row, capped=1, slots=1000.0) if row.g == 2 else row for row in rows]
    assert [row.g for row in series_of(capped)["mei-rizzi", 1]] == [2**k for k in range(2, 13)]
    assert growth_rows(rows[:4]) == ()
    assert growth_rows(rows[:6])[0].delta_without_smallest is None
    assert growth_rows(rows[:7])[0].delta_without_smallest is not None


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> tuple[SeparationRow, ...]:
    return attack_all((8, 16), tmp_path_factory.mktemp("attacked"), lambda doing: None)


def test_the_separation_is_that_of_the_adversary(attacked: tuple[SeparationRow, ...]) -> None:
    found = separation(Network(8, 8), list(FAMILIES.values()), 20)
    assert attacked[0].reached == {name: attack.slots for name, attack in found.attacks.items()}
    assert attacked[0].randomized_mean == sum(run.slots for run in found.randomized) / 20
    assert all(row.confirmed == len(FAMILIES) for row in attacked)
    assert all(min(row.reached.values()) >= row.guaranteed for row in attacked)


def test_what_was_attacked_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt loses the size that was at work; a file of another kind is not used."""
    sizes = []

    def interrupted(network: Network, *others: object) -> Separation:
        if network.g == 16 and 16 not in sizes:
            sizes.append(16)
            raise KeyboardInterrupt
        sizes.append(network.g)
        found: Separation = separation(network, *others)  # type: ignore[call-overload]
        return found

    monkeypatch.setattr("popsnet.paper.theory.separation.separation", interrupted)
    with pytest.raises(KeyboardInterrupt):
        attack_all((8, 16), tmp_path, lambda doing: None)
    first, second = attack_all((8, 16), tmp_path, lambda doing: None)
    assert sizes == [8, 16, 16]
    assert attack_all((8, 16), tmp_path, lambda doing: None) == (first, second)
    assert sizes == [8, 16, 16]
    kept = json.loads((tmp_path / KEPT).read_text())
    kept["decided_by"]["runs"] = 1
    (tmp_path / KEPT).write_text(json.dumps(kept))
    assert attack_all((8,), tmp_path, lambda doing: None) == (first,)
    (tmp_path / KEPT).write_text("{")
    assert attack_all((8,), tmp_path, lambda doing: None) == (first,)
    assert sizes == [8, 16, 16, 8, 8]


@pytest.mark.long
def test_an_interrupted_attack_says_how_to_go_on(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> Separation:
        raise KeyboardInterrupt

    monkeypatch.setattr("popsnet.paper.theory.separation.separation", interrupt)
    finished = cli("paper", "--max-n", 64, "--runs", 10, "--out", tmp_path)
    assert finished.code == 130
    assert "Interrupted: finished runs are in" in finished.err
    assert [path.name for path in tmp_path.iterdir()] == ["results.sqlite"]


def test_the_section_has_its_tables_and_figures(attacked: tuple[SeparationRow, ...]) -> None:
    fluid = tuple(values("log log g", 15.0, 6.0, noise=0.5))
    theory = Theory((), fluid, growth_rows(fluid), attacked)
    tables = {table.name: table for table in theory_tables(theory)}
    assert list(tables) == ["fluid", "growth", "separation"]  # no chain was solved
    assert tables["separation"].records()[0]["reached_hashed"] == attacked[0].reached["hashed"]
    assert tables["separation"].cells()[0][2] == "≥64"
    assert [figure.stem for figure in theory_figures(theory)] == ["growth", "separation"]
    growth, other = (figure.figure for figure in theory_figures(theory))
    assert texts_outside(growth) == texts_outside(other) == []
    (axes,) = growth.axes
    assert axes.get_title() == "mei-rizzi, d = g"
    assert len(other.axes) == 2
    assert "confirms 10 of 10" in theory.summary
    assert theory_figures(Theory((), fluid[:3], (), ())) == []


def test_the_plan_asks_for_what_can_be_solved_in_time() -> None:
    plan = make_plan()
    assert plan.attacked == (8, 16, 32, 64, 128, 256, 512)
    assert make_plan(full=True).attacked[-1] == 1024
    assert make_plan(max_n=100).attacked == (8,)
    assert make_plan(max_n=16).attacked == ()
    assert {runs for _, runs in plan.exact} == {5000}
    assert {subject.router for subject, _ in plan.exact} == {"mei-rizzi", "relay"}
    assert max(subject.network.n for subject, _ in plan.exact) == 16
    assert {subject.network.n for subject, _ in make_plan(max_n=4).exact} == {4}
