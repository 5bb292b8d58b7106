"""The common style of all figures, and how they are saved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.patches import FancyBboxPatch
from matplotlib.style import context
from matplotlib.text import Text
from matplotlib.ticker import Locator, LogLocator
from matplotlib.transforms import Bbox, BboxBase, ScaledTranslation
from matplotlib.typing import LineStyleType

from popsnet.base.errors import InputError
from popsnet.base.files import write_whole

FORMATS = ("svg", "png", "pdf")
"""The formats in which figures are saved."""

BLUE, VERMILION, GREEN, PURPLE = "#0072b2", "#d55e00", "#009e73", "#cc79a7"
ORANGE, SKY, BLACK = "#e69f00", "#56b4e9", "#000000"
GREY, PALE = "#606060", "#c8c8c8"
"""The colours of Okabe and Ito, which colour-blind readers can tell apart, and two greys."""

WIDTH = 7.2
"""The width of a two-column page in inches."""

_DOTS_PER_INCH = 200


class Look(NamedTuple):
    """A colour, and the marker and line that identify it without colour."""

    colour: str
    marker: str
    line: LineStyleType

    @property
    def curve(self) -> dict[str, Any]:
        """Colour and line as keyword arguments of matplotlib."""
        return {"color": self.colour, "linestyle": self.line}

    def marked(self, size: float, **options: Any) -> dict[str, Any]:
        """Return the look of a curve with points on it."""
        return {**self.curve, "marker": self.marker, "markersize": size, **options}

    def marks(self, size: float, **options: Any) -> dict[str, Any]:
        """Return the look of points that no curve joins."""
        return {**self.marked(size), "linestyle": "none", **options}


BARS: dict[str, Any] = {"elinewidth": 0.9, "capsize": 2.5, "capthick": 0.9}
"""The look of the errors of a mean."""

LOOKS = (
    Look(BLUE, "o", "-"),
    Look(VERMILION, "s", (0, (5, 1.5))),
    Look(GREEN, "^", (0, (1, 1.2))),
    Look(PURPLE, "D", (0, (5, 1.5, 1, 1.5))),
    Look(ORANGE, "v", (0, (3, 1, 1, 1, 1, 1))),
    Look(SKY, "P", (0, (8, 2))),
    Look(BLACK, "X", (0, (2, 2))),
)


@contextmanager
def styled() -> Iterator[None]:
    """Use this style, not the user's, for everything drawn inside; also a decorator."""
    with context(["default", Path(__file__).with_name("popsnet.mplstyle")]):
        yield


def row_of_axes(
    count: int, height: float, width: float = WIDTH, **options: Any
) -> tuple[Figure, list[Axes]]:
    """Make a figure of panels side by side."""
    figure = Figure(figsize=(width, height))
    return figure, list(figure.subplots(1, count, squeeze=False, **options)[0])


TickText: TypeAlias = Callable[[float, object], str]
"""The text of a tick."""


def plain_number(value: float, _: object) -> str:
    """Format a tick as a number without an exponent where there is room."""
    return f"{value:g}"


def log2_axis(axes: Axes, label: str, locator: Locator, ticks: TickText = plain_number) -> None:
    """Make the x axis logarithmic, base 2."""
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ticks)
    axes.minorticks_off()
    axes.set_xlabel(label)


def log10_axis(axes: Axes, which: Literal["x", "y"], subs: Sequence[float] = (1, 2, 5)) -> None:
    """Make an axis logarithmic, base 10, with ticks at these multiples of powers."""
    axes.set(**{f"{which}scale": "log"})
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(LogLocator(subs=subs, numticks=99))
    axis.set_major_formatter(lambda value, _: f"{value:,g}")
    axes.minorticks_off()


def centred(axes: Axes, x: float, y: float, text: str, size: float, **options: Any) -> None:
    """Write a text centred at a point."""
    axes.text(x, y, text, **{"ha": "center", "va": "center", "fontsize": size, **options})


def add_box(
    axes: Axes, at: tuple[float, float], width: float, height: float, radius: float, **looks: Any
) -> None:
    """Draw a box with round corners."""
    shape = f"round,pad=0,rounding_size={radius}"
    axes.add_patch(FancyBboxPatch(at, width, height, boxstyle=shape, **looks))


def with_legend(figure: Figure, columns: int = 3) -> Figure:
    """Add one legend below all panels, with each label once, and settle the figure."""
    handles: dict[str, Artist] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    legend_below(figure, list(handles.values()), columns, labels=list(handles))
    return settled(figure)


def legend_below(figure: Figure, handles: Sequence[Artist], columns: int, **options: Any) -> None:
    """Add a legend below all panels, in this many columns, or in fewer if they do not fit."""
    for number in range(columns, 0, -1):
        legend = figure.legend(handles=handles, loc="outside lower center", ncols=number, **options)
        if legend.get_window_extent().width <= figure.bbox.width or number == 1:
            return
        legend.remove()


class FigurePart(NamedTuple):
    """A panel of a figure or an entry of its legend, as a rectangle of its SVG."""

    name: str
    """The id of the group that contains it in the SVG."""
    left: float
    top: float
    width: float
    height: float
    """In points, from the top left."""

    @property
    def is_panel(self) -> bool:
        """Whether it is a panel."""
        return self.name.startswith("axes")


_ROOM = 2.0
"""Points around a part, for the edges of its markers."""


def parts_of(figure: Figure) -> list[FigurePart]:
    """Return the panels and the entries of the legend, so that a page can arrange them itself."""
    figure.draw_without_rendering()  # a file with other dots per inch has moved the legend
    panels = [box for axes in figure.axes if axes.get_visible() and (box := axes.get_tightbbox())]
    return [
        *(_part(figure, f"axes_{number}", box) for number, box in enumerate(panels, 1)),
        *(
            _part(figure, f"legend_{number}", _entry(figure, legend, text))
            for number, legend in enumerate(figure.legends, 1)
            for text in legend.get_texts()
        ),
    ]


def _entry(figure: Figure, legend: Legend, text: Text) -> BboxBase:
    """Return the rectangle of a label and of the handle to its left."""
    box, size = text.get_window_extent(), float(text.get_fontsize()) * figure.dpi / 72
    left = box.x0 - (legend.handlelength + legend.handletextpad) * size
    return Bbox.from_extents(left, box.y0, box.x1, box.y1)


def _part(figure: Figure, name: str, box: BboxBase) -> FigurePart:
    points, height = 72 / figure.dpi, 72 * figure.get_figheight()
    left, top = box.x0 * points - _ROOM, height - box.y1 * points - _ROOM
    size = (length * points + 2 * _ROOM for length in (box.width, box.height))
    return FigurePart(name, left, top, *size)


class Columns:
    """A base for dataclasses with slots whose tuples must all have the same length."""

    __slots__: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        fields = {name: getattr(self, name) for name in self.__slots__}
        columns = {name: len(field) for name, field in fields.items() if isinstance(field, tuple)}
        if len(set(columns.values())) > 1:
            raise ValueError(f"{self}: {', '.join(columns)} must have the same length.")


def mark_above(
    axes: Axes, points: Sequence[tuple[float, float]], sign: str, height: float, **options: Any
) -> None:
    """Draw a sign above every point, ``height`` points of print higher."""
    lift = ScaledTranslation(0, height / 72, axes.figure.dpi_scale_trans)
    looks = Look(GREY, sign, "-").marks(6, markeredgewidth=0, clip_on=False) | options
    axes.plot(*zip(*points, strict=True), transform=axes.transData + lift, **looks)


def beside(
    axes: Axes, text: str, at: tuple[float, float], offset: tuple[float, float], **options: Any
) -> None:
    """Write next to a point, ``offset`` points of print away."""
    axes.annotate(text, at, offset, textcoords="offset points", **options)


def settled(figure: Figure) -> Figure:
    """Fix everything in its final place, because later drawing would move it a little."""
    layout, places = figure.get_layout_engine(), list[tuple[float, ...]]()
    assert layout is not None
    for _ in range(3):
        layout.execute(figure)
        before, places = places, [axes.get_position().bounds for axes in figure.axes]
        if places == before:
            break
    figure.set_layout_engine("none")
    figure.draw_without_rendering()
    return figure


def save(figure: Figure, folder: Path, stem: str) -> tuple[Path, Path]:
    """Write a figure as SVG and as PNG.

    Parameters
    ----------
    figure : Figure
        The figure.
    folder : Path
        The folder to write to.
    stem : str
        The name of both files without the suffix.

    Returns
    -------
    tuple of Path
        The paths of the SVG and the PNG file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from popsnet.plots import draw_network, save
    >>> from popsnet.theory.sorting import bitonic
    >>> [path.name for path in save(draw_network(bitonic(4)), Path("."), "bitonic")]
    ['bitonic.svg', 'bitonic.png']
    """
    vector, raster = folder / f"{stem}.svg", folder / f"{stem}.png"
    save_one(figure, vector)
    save_one(figure, raster)
    return vector, raster


def save_one(figure: Figure, path: Path) -> None:
    """Write a figure in the format that the name of the file says: .svg, .png or .pdf."""
    form = path.suffix.lower().removeprefix(".")
    if form not in FORMATS:
        endings = ", ".join(f".{ending}" for ending in FORMATS)
        raise InputError(f"{path}: a figure is written to a file that ends in {endings}.")
    with write_whole(path) as file:
        if form == "svg":
            file.write(svg_text(figure))
            return
        drawn, undated = BytesIO(), {"CreationDate": None} if form == "pdf" else None
        with styled():
            figure.savefig(drawn, format=form, dpi=_DOTS_PER_INCH, metadata=undated)
        file.buffer.write(drawn.getvalue())


@styled()
def svg_text(figure: Figure) -> str:
    """Return a figure as an ``<svg>`` element, for a file or as part of a page.

    Parameters
    ----------
    figure : Figure
        The figure.

    Returns
    -------
    str
        The element. It contains no date, so the same figure gives the same text.

    Examples
    --------
    >>> from popsnet.plots import draw_network, svg_text
    >>> from popsnet.theory.sorting import bitonic
    >>> svg_text(draw_network(bitonic(4)))[:4]
    '<svg'
    """
    file = StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None})
    text = file.getvalue()
    return text[text.index("<svg") :]
