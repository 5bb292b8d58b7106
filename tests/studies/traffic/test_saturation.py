from __future__ import annotations

from dataclasses import replace

import pytest

from popsnet import InputError
from popsnet.runs.traffic_result import TrafficResult
from popsnet.studies.traffic.saturation import find_saturation
from tests.runs.traffic.test_result import a_result


def judged(load: float, low: float, high: float) -> TrafficResult:
    kind = "stable" if load < low else "unstable" if load >= high else "undecided"
    return replace(a_result(), load=load, verdict=kind)  # type: ignore[arg-type]


@pytest.mark.parametrize("limit", [0.9999, 0.5, 0.3, 0.0123, 0.001])
def test_the_bracket_has_the_limit_and_is_narrow(limit: float) -> None:
    found = find_saturation(lambda load: judged(load, limit, limit), 1.0)
    assert found.stable is not None
    assert found.unstable is not None
    assert found.stable < limit <= found.unstable
    assert found.width is not None
    assert found.width <= 0.02
    assert len(found.points) <= 20
    loads = [point.load for point in found.points]
    assert loads == sorted(set(loads))


def test_a_stable_upper_end_ends_the_search() -> None:
    found = find_saturation(lambda load: judged(load, 1, 1), 0.8)
    assert (found.stable, found.unstable, found.undecided) == (0.8, None, ())
    assert len(found.points) == 1
    assert "Stable up to 0.8, the largest load tried." in str(found)


def test_undecided_loads_are_enclosed() -> None:
    found = find_saturation(lambda load: judged(load, 0.4, 0.5), 1.0)
    assert found.stable is not None
    assert found.unstable is not None
    assert 0.4 * 0.97 <= found.stable < 0.4
    assert 0.5 <= found.unstable <= 0.5 / 0.97
    assert found.undecided
    assert all(0.4 <= load < 0.5 for load in found.undecided)
    assert "undecided at 0.4" in str(found)


def test_an_undecided_upper_end_leaves_the_bracket_open() -> None:
    found = find_saturation(lambda load: judged(load, 0.4, 2), 1.0)
    assert found.unstable is None
    assert found.width is None
    assert found.stable is not None
    assert 0.39 <= found.stable < 0.4


def test_nothing_stable_ends_too() -> None:
    found = find_saturation(lambda load: judged(load, 0, 0), 1.0)
    assert found.stable is None
    assert found.unstable is not None
    assert found.unstable <= 1e-4


def test_points_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("popsnet.studies.traffic.saturation._MOST_POINTS", 3)
    found = find_saturation(lambda load: judged(load, 0.3, 0.3), 1.0)
    assert (found.stable, found.unstable) == (0.25, 0.5)


def test_the_report_has_all_points() -> None:
    report = find_saturation(lambda load: judged(load, 0.3, 0.3), 1.0).report()
    assert "Saturation is between 0.2969 and 0.3008." in str(report)
    assert len(report.to_dict()["points"]) == 9


@pytest.mark.parametrize("kind", ["stable", "undecided", "unstable"])
def test_an_unstable_load_below_undecided_ones_is_repeated(kind: str) -> None:
    repeated: list[float] = []

    def repeat(load: float) -> TrafficResult:
        repeated.append(load)
        return replace(a_result(), load=load, verdict=kind)  # type: ignore[arg-type]

    def run(load: float) -> TrafficResult:
        return judged(load, 0.4, 0.5 if 0.5 <= load < 0.7 else 2)

    found = find_saturation(run, 1.0, repeat=repeat)
    assert repeated[0] == 0.5  # 1 is undecided
    assert len(found.points) == len({point.load for point in found.points}) + len(repeated)
    assert 1.0 in found.undecided  # though it is above the bracket
    assert found.unstable == (0.5 if kind == "unstable" else None)
    assert (0.5 in found.undecided) is (kind != "unstable")


def test_an_unstable_load_below_no_undecided_one_is_not_repeated() -> None:
    found = find_saturation(
        lambda load: judged(load, 0.3, 0.3), 1.0, repeat=lambda load: pytest.fail(str(load))
    )
    assert found.undecided == ()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"upper": 0}, "upper = 0: a load must be above 0"),
        ({"upper": 1.5}, "upper = 1.5: a load must be above 0 and at most 1"),
        ({"width": 0}, "width = 0: it must be between 0 and 1"),
    ],
)
def test_wrong_parameters_are_refused(wrong: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        find_saturation(lambda load: judged(load, 1, 1), **wrong)  # type: ignore[arg-type]
