"""The figure of a comparison: what was capped is a lower bound, and everything is inside."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from popsnet import compare
from popsnet.plots import draw_comparison


def drawn(max_steps: int) -> Figure:
    found = compare(8, 8, routers=["direct", "mei-rizzi"], runs=2, max_steps=max_steps)
    return draw_comparison(found)


def numbers(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]


def worst(figure: Figure) -> int:
    return sum(line.get_marker() == "|" for line in figure.axes[0].lines)


def test_means_of_capped_runs_are_lower_bounds_without_a_worst() -> None:
    figure = drawn(max_steps=1)
    assert numbers(figure) == ["8.0", "≥ 5.0"]
    assert worst(figure) == 1
    assert "hollow" in figure.axes[0].get_xlabel()


def test_what_is_not_capped_has_a_worst_run() -> None:
    figure = drawn(max_steps=1000)
    assert not any("≥" in number for number in numbers(figure))
    assert worst(figure) == 2
    assert "hollow" not in figure.axes[0].get_xlabel()


@pytest.mark.parametrize("size", [None, (3.5, 2.2)])
def test_marks_and_numbers_are_inside_the_axes(size: tuple[float, float] | None) -> None:
    figure = drawn(max_steps=1000)
    if size:
        figure.set_size_inches(*size)
        figure.set_layout_engine("constrained")
    figure.draw_without_rendering()
    axes = figure.axes[0]
    inside = axes.get_window_extent()
    for text in axes.texts:
        assert text.get_window_extent().x1 <= inside.x1
    for line in axes.lines:
        if line.get_marker() == "|":
            _, y = axes.transData.transform(np.asarray(line.get_xydata())[0])
            half = line.get_markersize() * figure.dpi / 72 / 2
            assert inside.y0 < y - half
            assert y + half < inside.y1
