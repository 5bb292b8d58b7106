"""Which texts of a figure are drawn, and which of them are not inside it."""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text


def texts_of(figure: Figure) -> list[Text]:
    """The texts that are drawn: an axis has more ticks than it shows."""
    seen, draw = list[Text](), Text.draw

    def noted(text: Text, *arguments: object, **options: object) -> None:
        if text.get_visible() and text.get_text().strip():
            seen.append(text)
        draw(text, *arguments, **options)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Text, "draw", noted)
        figure.draw_without_rendering()
    return seen


def texts_outside(figure: Figure) -> list[str]:
    """The texts that are cut by an edge of the figure, to half a pixel."""
    page = figure.bbox.padded(0.5)
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts_of(figure)]
    return [
        text
        for text, box in boxes
        if not (page.contains(box.x0, box.y0) and page.contains(box.x1, box.y1))
    ]
