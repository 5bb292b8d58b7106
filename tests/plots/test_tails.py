"""The figure of tails: markers, intervals and lines are those of the distribution."""

from __future__ import annotations

import numpy as np
import pytest

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
    assert "POPS(2, 2), mei-rizzi (published), 200 runs" in labels
    assert "fluid limit, POPS(4, 4)" in labels


def test_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="give at least one"):
        draw_tails([])
