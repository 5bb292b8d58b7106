"""Runs show themselves in notebooks."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from conftest import permutation
from popsnet import InputError, Page, Point, Run, TraceFormatError, check_trace, routed, view
from popsnet.experiments import shown
from popsnet.viewer import Recording


def test_the_trace_of_a_run_is_the_same_as_text(tmp_path: Path) -> None:
    point = Point.of(4, 4, seed=3)
    run = point.execute_traced(2, tmp_path / "t")
    assert point.trace(2) == (tmp_path / "t").read_text()
    assert replace(point, engine=Point.of(4, 4, engine="fused").engine).trace(2) == point.trace(2)
    assert run == replace(point.execute(2), seconds=run.seconds)
    with pytest.raises(InputError, match="statistics only"):
        Point.of(4, 2, variant="idealized").trace(0)


@pytest.mark.parametrize(
    "point",
    [
        Point.of(4, 4, seed=7),
        Point.of(4, 4, seed=7, engine="objects"),
        Point.of(4, 4, seed=7, engine="fused"),
        Point.of(4, 2, seed=7, engine="fused"),
        Point.of(4, 4, engine="fused", permutation="keyed"),
        Point.of(3, 2, variant="published", seed=17, permutation_seed=17),
    ],
    ids=lambda point: f"{point.network} {point.variant} {point.engine.name}",
)
def test_every_run_of_many_shows_itself(point: Point) -> None:
    for number, run in enumerate(routed(point, 3, first=2), start=2):
        page = Page.of([Recording.of(point.trace(number))])
        assert run._repr_html_() == page._repr_html_()
        assert view(run) == page


def test_a_run_is_still_its_outcome_and_its_time() -> None:
    run = Point.of(4, 4).execute(0)
    sent = pickle.loads(pickle.dumps(run))
    assert sent == run == Run(run.outcome, run.seconds)
    assert repr(sent) == repr(run)
    assert hash(sent) == hash(run)
    assert sent.point is None
    assert "<iframe" not in sent._repr_html_()
    assert "another process; do it here." in sent._repr_html_()


def changed_file(folder: Path) -> Run:
    file = folder / "p.npy"
    np.save(file, np.roll(np.arange(16), 1))
    run = Point.of(4, 4, permutation=str(file)).execute(0)
    np.save(file, permutation(16, seed=1))
    return run


def lost_file(folder: Path) -> Run:
    run = changed_file(folder)
    (folder / "p.npy").unlink()
    return run


NO_PICTURE: dict[str, Callable[[Path], Run]] = {
    "statistics only": lambda _: Point.of(4, 2, variant="idealized").execute(0),
    "g = 257 groups": lambda _: Point.of(1, 257, router="direct").execute(0),
    "n = 262,144 processors": lambda _: Point.of(2**10, 2**8, engine="fused").execute(0),
    "came out otherwise": changed_file,
    "could not be read": lost_file,
}


@pytest.mark.parametrize("reason", NO_PICTURE)
def test_a_run_without_a_picture_says_why(reason: str, tmp_path: Path) -> None:
    run = NO_PICTURE[reason](tmp_path)
    html = run._repr_html_()
    assert reason in html
    assert html.startswith("<table>")
    assert f"<td>{run.outcome.slots}</td>" in html
    with pytest.raises(InputError, match=reason):
        view(run)


def test_a_long_trace_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Point.of(4, 4).execute(0)
    monkeypatch.setattr(shown, "_MOST_INLINE", 2000)
    assert (
        "The trace of mei-rizzi (published) is longer than the 2,000 bytes that there is room for "
        "here; show fewer runs, a smaller network or fewer steps."
    ) in run._repr_html_()
    assert "<iframe" in view(run)._repr_html_()


def test_the_table_has_no_markup_of_others() -> None:
    point = Point.of(4, 4)
    router = replace(point.router, name="<img onerror=alert(1)>")
    run = replace(point.execute(0), point=replace(point, router=router, variant="idealized"))
    assert "<img" not in run._repr_html_()
    assert "&lt;img onerror" in run._repr_html_()


def test_runs_and_files_stand_side_by_side(tmp_path: Path) -> None:
    first, second = Point.of(4, 4), Point.of(4, 4, router="relay", variant="S")
    second.execute_traced(0, tmp_path / "t")
    page = view(first.execute(0), tmp_path / "t", str(tmp_path / "t"))
    assert page.title == (
        "POPS(4, 4): mei-rizzi (published), relay (S), t, 1 of 2, relay (S), t, 2 of 2"
    )
    with pytest.raises(InputError, match="the same packets"):
        view(first.execute(0), second.execute(1))
    with pytest.raises(InputError, match="give runs, or names of files"):
        view([first.execute(0)])  # type: ignore[arg-type]
    torn = tmp_path / "torn"
    torn.write_text((tmp_path / "t").read_text()[:-5])
    with pytest.raises(TraceFormatError, match="torn"):
        view(torn)


def test_what_is_lost_is_on_the_page(tmp_path: Path) -> None:
    """The trace that a run shows is one that the checker finds the losses in."""
    run = Point.of(3, 2, variant="published", seed=17, permutation_seed=17).execute(0)
    (tmp_path / "t").write_text(shown.recorded(run).text)
    assert len(check_trace(tmp_path / "t").lost) == run.outcome.lost == 2
