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


def ticks(figure: Figure) -> list[list[float]]:
    lines = (line for line in figure.axes[0].lines if line.get_marker() == "|")
    return [np.asarray(line.get_xdata()).tolist() for line in lines]


def test_means_of_capped_runs_are_lower_bounds_without_ticks() -> None:
    figure = drawn(max_steps=1)
    assert numbers(figure) == ["8.0", "≥ 5.0"]
    assert ticks(figure) == [[8]]
    assert "hollow" in figure.axes[0].get_xlabel()


def test_every_run_has_a_tick_and_the_number_is_above_its_dot() -> None:
    found = compare(8, 8, routers=["direct", "mei-rizzi", "offline"], runs=9)
    figure = draw_comparison(found)
    (axes,) = figure.axes
    for row, drawn_at, text in zip(found.done, ticks(figure), axes.texts, strict=True):
        assert row.runs is not None
        assert drawn_at == np.unique(row.runs.slots).tolist()
        assert text.get_text() == f"{row.mean_slots:,.1f}"
        assert text.xy[0] == row.mean_slots  # type: ignore[attr-defined]
    assert not any("≥" in number for number in numbers(figure))
    assert "hollow" not in axes.get_xlabel()
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["offline (knows all destinations)", "direct", "mei-rizzi"]


def test_the_axis_is_logarithmic_from_a_factor_of_ten_on() -> None:
    scales = [
        draw_comparison(compare(g, g, routers=["direct"], runs=1)).axes[0].get_xscale()
        for g in (16, 32)
    ]
    assert scales == ["linear", "log"]


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
