"""Curves of means: which lines there are, and what their points say."""

from __future__ import annotations

from pathlib import Path

import pytest

from popsnet import Experiment, InputError, Store, Sweep, collect, route
from popsnet.base.stats.inference import Estimate, confidence_interval
from popsnet.sweeps import Selection
from popsnet.sweeps.curves import Curves, result_curves


def curves(folder: Path, sweep: Sweep, x: str = "n", measure: str = "slots") -> Curves:
    collect(sweep, store=folder / "r", progress=False)
    with Store(folder / "r") as store:
        return result_curves(store, x, measure)


def lines(found: Curves) -> dict[str, list[float]]:
    return {label: [float(point.x) for point in line] for label, line in found.lines.items()}


def grid(**keys: object) -> Sweep:
    return Sweep.of_grid(routers="direct", **keys)


@pytest.mark.parametrize(
    ("keys", "x", "expected", "common"),
    [
        ({"n": [16, 64], "ratio": 1}, "n", {"direct": [16, 64]}, "d = g"),
        ({"n": [16, 64], "ratio": 1}, "g", {"direct": [4, 8]}, "d = g"),
        ({"d": 2, "g": [2, 4, 8]}, "n", {"direct": [4, 8, 16]}, "d = 2"),
        (
            {"d": [2, 4], "g": [2, 4, 6]},
            "g",
            {"direct, d = 2": [2, 4, 6], "direct, d = 4": [2, 4, 6]},
            "permutation random",
        ),
        (
            {"n": [16, 64], "ratio": [1, 4]},
            "n",
            {"direct, d = g": [16, 64], "direct, d/g = 4": [16, 64]},
            "permutation random",
        ),
        ({"n": 16, "ratio": [1, 4, "1/4"]}, "d/g", {"direct": [0.25, 1, 4]}, "n = 16"),
        ({"shapes": [[2, 3], [3, 5], [5, 7]]}, "n", {"direct": [6, 15, 35]}, "permut"),
        (
            {"n": 16, "ratio": 1, "permutations": ["random", "transpose"]},
            "n",
            {"direct, random": [16], "direct, transpose": [16]},
            "d = g",
        ),
    ],
)
def test_lines_are_divided_by_what_differs(
    keys: dict[str, object], x: str, expected: dict[str, list[float]], common: str, tmp_path: Path
) -> None:
    found = curves(tmp_path, grid(**keys), x)
    assert lines(found) == expected
    assert found.common[0].startswith(common)


def test_seeds_and_variants_are_lines_of_their_own(tmp_path: Path) -> None:
    keys = {"shapes": [[4, 4]], "variants": ["published", "idealized"]}
    sweep = Sweep.of_grid(**keys) + Sweep.of_grid(**keys, seed=1)
    assert list(curves(tmp_path, sweep).lines) == [
        "mei-rizzi, seed 0", "mei-rizzi, seed 1",
        "mei-rizzi (idealized), seed 0", "mei-rizzi (idealized), seed 1",
    ]  # fmt: skip


def test_faults_are_lines_of_their_own(tmp_path: Path) -> None:
    sweep = grid(shapes=[[4, 4]], faults=["", "coupler:0-1"], fault_seed=[0, 1])
    assert list(curves(tmp_path, sweep, measure="lost").lines) == [
        "direct, faults none, fault seed 0",
        "direct, faults coupler:0-1, fault seed 0",
        "direct, faults coupler:0-1, fault seed 1",
    ]


def test_what_a_router_chooses_is_one_line(tmp_path: Path) -> None:
    """On these networks relay chooses four schedules, and mei-rizzi two variants."""
    shapes = [[2, 2], [4, 4], [8, 8], [4, 2], [8, 4], [16, 8], [8, 2], [16, 4]]
    routers = ["relay", "relay:S", "mei-rizzi", "direct"]
    sweep = Sweep.of_grid(shapes=shapes, routers=routers)
    assert len({one.variant for one in sweep.experiments}) > 4
    found = curves(tmp_path, sweep, "g")
    names = dict.fromkeys(label.partition(",")[0] for label in found.lines)
    assert list(names) == ["direct", "mei-rizzi", "relay", "relay (S)"]
    assert len(found.lines) == 3 * 4
    assert list(found.lines)[:3] == ["direct, d = g", "direct, d/g = 2", "direct, d/g = 4"]
    rows = found.report().to_dict()["points"]
    assert {row["line"] for row in rows} == set(found.lines)


def test_a_variant_that_was_asked_for_is_one_line(tmp_path: Path) -> None:
    """Even if the router chooses it on some of the networks."""
    sweep = Sweep.of_grid(shapes=[[4, 4], [8, 2]], variants="published")
    assert lines(curves(tmp_path, sweep, "d")) == {"mei-rizzi (published)": [4, 8]}


def test_points_have_means_and_intervals(tmp_path: Path) -> None:
    experiment = Experiment(4, 4)
    collect([experiment, Experiment(8, 8, max_steps=4)], 30, tmp_path / "r", progress=False)
    with Store(tmp_path / "r") as store:
        (point,) = result_curves(store, measure="steps", only=Selection(n=16)).points
        (capped,) = result_curves(store, only=Selection(n=64)).points
        rows = result_curves(store).report().to_dict()["points"]
    steps = route(experiment, runs=30).steps
    assert point.mean == steps.mean()
    expected = confidence_interval(Estimate(steps.mean(), steps.std(ddof=1), 30))
    assert (point.low, point.high) == pytest.approx(expected)
    assert (point.runs, point.capped) == (30, 0)
    assert 0 < capped.capped < 30
    assert sorted((row["n"], row["runs"], row["capped"] > 0) for row in rows) == [
        (16, 30, False), (64, 30, True),
    ]  # fmt: skip


def test_bad_axes_are_refused(tmp_path: Path) -> None:
    with Store(tmp_path / "r", create=True) as store:
        for options, complaint in (
            ({"x": "slots"}, "x = 'slots': give one of n, d, g, d/g"),
            ({"measure": "n"}, "measure = 'n': give one of slots, steps, slots_delivered, lost"),
            ({}, "There are no results"),
        ):
            with pytest.raises(InputError, match=complaint):
                result_curves(store, **options)  # type: ignore[arg-type]
