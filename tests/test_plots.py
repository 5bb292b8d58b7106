from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from popsnet import Network, Point
from popsnet.plots import draw_slot
from popsnet.trace import Event

ROOT = Path(__file__).parent.parent


def test_a_slot_shows_light_and_collisions() -> None:
    axes = Figure().add_subplot()
    sends = [(0, [1], "packet", 0), (1, [2], "packet", 1), (2, [2], "packet", 2)]
    draw_slot(axes, Network(3, 3), sends, [(3, 0), (4, 0), (6, 0)])
    texts = [text.get_text() for text in axes.texts]
    assert texts.count("×") == 1
    assert len(axes.lines) == 3 + 2  # three beams in, two listeners of the packet that got through


@pytest.mark.parametrize(("d", "g"), [(1, 1), (2, 5), (5, 2)])
def test_any_shape_can_be_drawn(d: int, g: int) -> None:
    events: list[Event] = []
    Point.of(d, g, router="direct").execute(0, [events.append])
    axes = Figure().add_subplot()
    draw_slot(axes, Network(d, g), *events[0].records())
    assert len(axes.patches) == 2 * d * g + g * g


def test_the_picture_of_the_readme_is_what_the_program_draws(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("draw_picture", ROOT / "docs/draw_picture.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.draw(tmp_path / "drawn.svg")
    assert (tmp_path / "drawn.svg").read_text().startswith("<?xml")
    assert (ROOT / "docs/images/pops-3-3.svg").is_file()
