"""Runs show themselves in notebooks."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import popsnet
from popsnet import (
    Coins,
    Experiment,
    InputError,
    Memory,
    Network,
    Page,
    Run,
    Slot,
    TraceFormatError,
    check_trace,
    route,
    view,
)
from popsnet.model.slot import Ints, Slots
from popsnet.programs.router import get_router
from popsnet.programs.routers.direct import direct
from popsnet.runs import notebook as shown
from popsnet.runs.notebook import page_of
from popsnet.trace.viewer import Recording
from tests.conftest import permutation
from tests.each import each


def test_the_trace_of_a_run_is_the_same_as_text(tmp_path: Path) -> None:
    experiment = Experiment(4, 4, seed=3)
    (run,) = route(experiment, first=2, trace=tmp_path / "t")
    (again,) = route(experiment, first=2)
    assert run.trace() == again.trace() == (tmp_path / "t").read_text()
    assert again.write_trace(tmp_path / "u").read_text() == run.trace()
    assert route(experiment, first=2, engine="fused")[0].trace() == run.trace()
    assert run == replace(again, seconds=run.seconds)
    with pytest.raises(InputError, match="statistics only"):
        route(4, 2, variant="idealized")[0].trace()


@each(
    ("experiment", "engine"),
    [
        (Experiment(4, 4, seed=7), "slots"),
        (Experiment(4, 4, seed=7), "objects"),
        (Experiment(4, 4, seed=7), "fused"),
        (Experiment(4, 2, seed=7), "fused"),
        (Experiment(4, 4, permutation="keyed"), "fused"),
        (Experiment(3, 2, variant="published", seed=17, permutation_seed=17), "slots"),
    ],
)
def test_every_run_of_many_shows_itself(experiment: Experiment, engine: str) -> None:
    for number, run in enumerate(route(experiment, runs=3, first=2, engine=engine), start=2):
        page = Page.of([Recording.of(route(experiment, first=number)[0].trace())])
        assert run._repr_html_() == page._repr_html_()
        assert view(run) == run.view() == page


def test_a_run_that_was_pickled_keeps_its_experiment_and_can_be_shown() -> None:
    run = route(4, 4, seed=3, first=2)[0]
    sent = pickle.loads(pickle.dumps(run))
    assert sent == run == Run(run.experiment, 2, run.outcome, run.seconds)
    assert repr(sent) == repr(run)
    assert hash(sent) == hash(run)
    assert (sent.experiment, sent.number) == (Experiment(4, 4, seed=3), 2)
    assert "<iframe" in sent._repr_html_()
    assert sent._repr_html_() == run._repr_html_()
    assert view(sent) == view(run)


def with_coins_of_its_own() -> Run:
    """A run that ends a slot later each time."""
    done = []

    def later(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
        done.append(0)
        for _ in done:
            yield Slot()
        yield from direct(network, destination, coins, memory)

    return route(4, 4, router=later)[0]


NO_PICTURE: dict[str, Callable[[], Run]] = {
    "statistics only": lambda: route(4, 2, variant="idealized")[0],
    "g = 257 groups": lambda: route(1, 257, router="direct")[0],
    "n = 262,144 processors": lambda: route(2**10, 2**8, engine="fused")[0],
    "gave a different outcome": with_coins_of_its_own,
}


@pytest.mark.parametrize("reason", NO_PICTURE)
def test_a_run_without_a_picture_says_why(reason: str) -> None:
    run = NO_PICTURE[reason]()
    html = run._repr_html_()
    assert reason in html
    assert html.startswith(f"<p>{run.experiment}</p>")
    assert f">{run.outcome.slots}</td>" in html
    with pytest.raises(InputError, match=reason):
        view(run)


def test_a_run_is_shown_as_it_was_whatever_became_of_its_file(tmp_path: Path) -> None:
    """The experiment has the permutation; another process needs the file, and the same one."""
    file = tmp_path / "p.npy"
    np.save(file, np.roll(np.arange(16), 1))
    run = route(4, 4, permutation=str(file))[0]
    sent, page = pickle.dumps(run), view(run)
    np.save(file, permutation(16, seed=1))
    assert view(run) == page
    with pytest.raises(InputError, match="changed since the work began: the permutation here is"):
        pickle.loads(sent)
    file.unlink()
    assert view(run) == page
    with pytest.raises(InputError, match="cannot be read"):
        pickle.loads(sent)


def test_a_long_trace_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    run = route(4, 4)[0]
    monkeypatch.setattr(shown, "_MOST_INLINE", 2000)
    assert (
        "The trace of mei-rizzi (published) is longer than the 2,000 bytes that there is room for "
        "here; show fewer runs, a smaller network or fewer steps."
    ) in run._repr_html_()
    assert "<iframe" in view(run)._repr_html_()


def test_the_table_has_no_markup_of_others() -> None:
    router = replace(get_router("mei-rizzi"), name="<img onerror=alert(1)>")
    run = route(4, 4, router=router, variant="idealized")[0]
    assert "<img" not in run._repr_html_()
    assert "&lt;img onerror" in run._repr_html_()


def test_runs_and_files_stand_side_by_side(tmp_path: Path) -> None:
    first, second = route(4, 4)[0], Experiment(4, 4, router="relay", variant="S")
    route(second, trace=tmp_path / "t")
    page = view(first, tmp_path / "t", str(tmp_path / "t"))
    assert page.title == (
        "POPS(4, 4): mei-rizzi (published), relay (S), t, 1 of 2, relay (S), t, 2 of 2"
    )
    with pytest.raises(InputError, match="the same packets"):
        view(first, route(second, first=1)[0])
    with pytest.raises(InputError, match="give single runs, experiments, or names of files"):
        view([first])  # type: ignore[arg-type]
    page, report = page_of(second, tmp_path / "t")
    assert page.title == "POPS(4, 4): relay (S), relay (S), t"
    assert report.ok
    done, read = report.to_dict()["outcomes"]
    assert done == {
        "seed": 0,
        "permutation_seed": 0,
        **{key: read[key] for key in done if key in read},
    }
    assert (read["trace"], read["ok"], read["first_violation"]) == (f"{tmp_path / 't'}", True, None)
    with pytest.raises(InputError, match="is given twice"):
        view(second, second)
    torn = tmp_path / "torn"
    torn.write_text((tmp_path / "t").read_text()[:-5])
    with pytest.raises(TraceFormatError, match="torn"):
        view(torn)


def test_what_is_lost_is_on_the_page(tmp_path: Path) -> None:
    """The trace that a run shows is one that the checker finds the losses in."""
    run = route(3, 2, variant="published", seed=17, permutation_seed=17)[0]
    (tmp_path / "t").write_text(shown.recorded(run).text)
    assert len(check_trace(tmp_path / "t").lost) == run.outcome.lost == 2


def test_only_single_runs_are_viewed() -> None:
    with pytest.raises(InputError, match=r"give one of them, as in runs\[0\]"):
        popsnet.view(route(4, 4, runs=2))  # type: ignore[arg-type]
