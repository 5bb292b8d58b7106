"""The figure of tails: markers, intervals and lines are those of the distribution."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import popsnet
from popsnet import InputError, distribution
from popsnet.plots import draw_tails


def test_markers_and_lines_are_the_probabilities() -> None:
    found = distribution(3, 3, runs=2000)
    rows = found.tail("steps")
    axes = draw_tails(found, "steps").axes[0]
    assert axes.get_yscale() == "log"
    lines = {str(line.get_label()): np.asarray(line.get_xydata()) for line in axes.lines}
    exact = lines["exact, POPS(3, 3)"]
    assert exact.tolist() == [[row.at_least, row.exact] for row in rows]
    ((shares, _, (bars,)),) = axes.containers
    assert shares.get_ydata().tolist() == [row.probability for row in rows[:-1]]
    for bar, row in zip(bars.get_segments(), rows, strict=False):
        assert bar[:, 1] == pytest.approx([row.low, row.high])


def test_several_networks_share_a_figure() -> None:
    found = [distribution(d, d, runs=200, exact=False) for d in (2, 4)]
    figure = draw_tails(found)
    assert len(figure.axes[0].containers) == 2
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "mei-rizzi, POPS(2, 2), 200 runs" in labels
    assert "fluid limit, POPS(4, 4)" in labels


def test_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="give at least one"):
        draw_tails([])


KEPT = sorted((Path(__file__).parents[2] / "results" / "tails").glob("*.json"))


@pytest.mark.parametrize("file", KEPT, ids=lambda file: file.stem)
def test_the_figure_of_the_documents_is_that_of_its_data(file: Path) -> None:
    """If the chain is right, the check of POPS(3, 3) fails with probability 10^-6 at most."""
    found = popsnet.read_distribution(file)
    drawn = (KEPT[0].parents[2] / "docs" / "images" / "tails.svg").read_text()
    assert f"mei-rizzi, {found.experiment.network}, {found.runs:,} runs" in drawn
    assert not found.failed
    first = popsnet.distribution(found.experiment, runs=2000, exact=False)
    assert all(found.tally.steps[steps] >= runs for steps, runs in first.tally.steps.items())
    strict = replace(found, confidence=1 - 1e-6 / len(found.tail("steps")))
    if found.expected.exact is not None:
        for row in strict.tail("steps"):
            assert row.exact is not None
            assert row.low <= row.exact <= row.high


def test_there_is_data() -> None:
    assert {file.stem for file in KEPT} == {f"mei-rizzi-{g}" for g in (3, 8, 16, 32, 64)}
    page = (KEPT[0].parents[2] / "docs" / "how-to" / "tails.md").read_text()
    for file in KEPT:
        found = popsnet.read_distribution(file, exact=False)
        g = found.experiment.g
        assert (
            f"distribution {g} {g} --runs {found.runs} --keep results/tails/{file.name}\n" in page
        )
        if g == 8:
            slowest = f"of 300 million runs on POPS(8, 8) took {found.summary('steps').max} steps"
            assert (found.runs, slowest in page) == (300_000_000, True)
