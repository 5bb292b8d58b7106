"""The common style of all figures, and how they are saved."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from io import BytesIO, StringIO
from itertools import pairwise
from pathlib import Path
from textwrap import fill
from typing import Any, Literal, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.cbook import is_math_text
from matplotlib.container import Container
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.legend import Legend
from matplotlib.mathtext import MathTextParser
from matplotlib.patches import FancyBboxPatch
from matplotlib.style import context
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, Locator, LogLocator
from matplotlib.transforms import Bbox, BboxBase, ScaledTranslation
from matplotlib.typing import LineStyleType

import popsnet
from popsnet.base.errors import InputError, did_you_mean, wrong
from popsnet.base.files import write_whole
from popsnet.hardware.units import Dimension

FORMATS = ("svg", "png", "pdf")
"""The formats in which figures are saved."""

BLUE, VERMILION, GREEN, PURPLE = "#0072b2", "#d55e00", "#009e73", "#cc79a7"
ORANGE, SKY, BLACK = "#e69f00", "#56b4e9", "#000000"
GREY, PALE = "#606060", "#c8c8c8"
"""The colours of Okabe and Ito, which colour-blind readers can tell apart, and two greys."""

WIDTH = 7.2
"""The width of a two-column page in inches."""

WIDE_RANGE = 10.0
"""From this ratio of the largest to the smallest value on, an axis is logarithmic."""

_DOTS_PER_INCH = 200

_SHORTEST = 8
"""A line of a legend, a title or a label of an axis is not broken below this many characters."""


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
    """Add one legend below all panels, with each label once, and settle the figure.

    What was measured comes first: matplotlib would list plain lines before those with errors.
    """
    handles: dict[str, Artist] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    drawn = sorted(handles.items(), key=lambda pair: not isinstance(pair[1], Container))
    legend_below(figure, [handle for _, handle in drawn], columns, [label for label, _ in drawn])
    return settled(figure)


_LEGENDS = WeakKeyDictionary[Legend, tuple[Sequence[Artist], int, dict[str, Any]]]()
"""The handles, columns and options of legends, to make them again in another size."""


def legend_below(
    figure: Figure,
    handles: Sequence[Artist],
    columns: int,
    labels: Sequence[str] = (),
    **options: Any,
) -> None:
    """Add a legend below all panels, in this many columns, or in fewer if they do not fit.

    If an entry does not fit by itself, its text has several lines.
    """
    parts = handles, columns, options
    texts = list(labels) or [str(handle.get_label()) for handle in handles]
    options = {"handles": handles, "loc": "outside lower center", **options}
    while True:
        legend = figure.legend(ncols=columns, labels=texts, **options)
        part = figure.bbox.width / legend.get_window_extent().width
        longest = max((len(line) for text in texts for line in text.splitlines()), default=0)
        if part >= 1 or (columns == 1 and longest <= _SHORTEST):
            _LEGENDS[legend] = parts
            return
        legend.remove()
        if columns == 1:
            room = max(_SHORTEST, min(int(0.9 * part * longest), longest - 1))
            texts = [fill(text, room) for text in texts]
        columns = max(columns - 1, 1)


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
    """Fix everything in its final place, because later drawing would move it a little.

    Titles and labels of axes that are longer than their panel have several lines, and ticks of the
    x axis whose labels would overlap are left out.
    """
    _place(figure)
    for _ in range(3):
        if not _break_texts(figure):
            break
        _place(figure)
    for axes in figure.axes:
        _thin(axes)
    figure.set_layout_engine("none")
    figure.draw_without_rendering()
    return figure


def _place(figure: Figure) -> None:
    layout, places = figure.get_layout_engine(), list[tuple[float, ...]]()
    assert layout is not None
    for _ in range(3):
        layout.execute(figure)
        before, places = places, [axes.get_position().bounds for axes in figure.axes]
        if places == before:
            break


def _thin(axes: Axes) -> None:
    """Leave out every second tick of the x axis until no labels overlap."""
    while axes.axison:
        low, high = sorted(axes.get_xlim())
        placed = ((label.get_position()[0], label) for label in axes.get_xticklabels())
        labels = [(x, label) for x, label in placed if low <= x <= high]
        boxes = [label.get_window_extent() for _, label in labels if label.get_text()]
        if len(boxes) < 3 or not any(a.x1 + _GAP > b.x0 for a, b in pairwise(boxes)):
            return
        axes.xaxis.set_major_locator(FixedLocator([x for x, _ in labels][::-2][::-1]))


_GAP = 4.0
"""The pixels between labels of ticks."""


def _texts_of(figure: Figure) -> list[tuple[Text, float]]:
    """Return titles and labels of axes, and the pixels that each has in its direction."""
    rooms: list[tuple[Text, float]] = []
    for axes in figure.axes:
        wide, high = axes.get_window_extent().size
        rooms += [(axes.title, wide), (axes.xaxis.label, wide), (axes.yaxis.label, high)]
    if figure.get_suptitle():
        rooms.append((figure.texts[-1], figure.bbox.width))
    return rooms


def _break_texts(figure: Figure) -> bool:
    """Break texts into lines that fit, along the direction in which they are read."""
    broken = False
    for text, room in _texts_of(figure):
        length = max(text.get_window_extent().size)
        if text.get_text() and length > room:
            longest = max(map(len, text.get_text().splitlines()))
            shorter = max(_SHORTEST, int(0.95 * longest * room / length))
            text.set_text(fill(text.get_text(), shorter, break_long_words=False))
            broken = True
    return broken


_UNITS = {"in": Fraction(1), "cm": Fraction(50, 127), "mm": Fraction(5, 127), "pt": Fraction(1, 72)}
_SIZE = Dimension("a length", "3.5in", _UNITS, "in", (1.0, 50.0))
_FONT_SIZE, _FONT_SIZES = 8.0, (4.0, 40.0)
"""The size of text in points, and the sizes that can be chosen."""


@dataclass(frozen=True, kw_only=True)
class FigureLayout:
    """How a figure is to differ from the one that popsnet draws: size, text, title and names.

    Parameters
    ----------
    title : str, optional
        The title. If there are several panels, it is above theirs; otherwise ``""`` is none.
    width, height : str or float, optional
        The size, such as ``"3.5in"``, ``"9cm"``, ``"88mm"`` or ``"252pt"``, or in inches. In a
        narrow figure panels are below each other. A diagram keeps its shape, and its text shrinks.
    font_size : float, optional
        The size of labels in points, 8 by default. Smaller text keeps its proportion.
    labels : mapping of str to str
        What to write instead of a name: of an entry of the legend, or of a row. A text that begins
        with the name, such as ``"relay (survive)"``, is changed in this part.

    Raises
    ------
    InputError
        If a value is out of range. :meth:`apply` raises it if a name is not in the figure, or the
        figure is too small for its text.

    Examples
    --------
    >>> import popsnet
    >>> from popsnet.plots import FigureLayout
    >>> figure = popsnet.route(4, 4, runs=20).plot()
    >>> narrow = FigureLayout(width="88mm", title="Mei and Rizzi").apply(figure)
    >>> narrow.axes[0].get_title(), round(float(narrow.get_figwidth()), 2)
    ('Mei and Rizzi', 3.46)
    """

    title: str | None = None
    width: str | float | None = None
    height: str | float | None = None
    font_size: float | None = None
    labels: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("width", "height"):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, inches := _SIZE.read(name, value))
                if inches <= 0:
                    raise wrong(name, value)("a figure is 1 to 50 inches wide and high.")
        least, most = _FONT_SIZES
        if self.font_size is not None and not least <= self.font_size <= most:
            raise wrong("font_size", self.font_size)(f"give {least:g} to {most:g} points.")
        for text in filter(is_math_text, (self.title or "", *self.labels.values())):
            try:
                MathTextParser("path").parse(text)
            except ValueError:
                rule = "is not a formula that Matplotlib can read. Write \\$ for a dollar sign."
                raise InputError(f"{text!r} {rule}") from None

    @styled()
    def apply(self, figure: Figure) -> Figure:
        """Change a figure of popsnet in place, and return it.

        Parameters
        ----------
        figure : Figure
            A figure that one of the functions ``draw_…`` returned.

        Returns
        -------
        Figure
            The same figure.
        """
        if self == FigureLayout():
            return figure
        legends = []
        for legend in list(figure.legends):
            legends.append((_LEGENDS[legend], [text.get_text() for text in legend.get_texts()]))
            legend.remove()
        panels = [axes for axes in figure.axes if axes.get_visible() and axes.get_subplotspec()]
        parts = self._renamed(legends, figure, panels)
        scale, high = self._resize(figure, panels)
        for text in figure.findobj(Text):
            text.set_fontsize(scale * float(text.get_fontsize()))
        for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
            for label in axis.get_ticklabels()[:1]:
                axis.set_tick_params(labelsize=label.get_fontsize())
        if self.title is not None and len(panels) == 1:
            panels[0].set_title(self.title, fontsize=scale * _FONT_SIZE)
        elif self.title:
            figure.suptitle(self.title, fontsize=scale * _FONT_SIZE)
        figure.set_layout_engine("constrained")
        for (handles, columns, options), texts in parts:
            sizes = {"fontsize": 7 * scale, "title_fontsize": 7 * scale}
            legend_below(figure, handles, columns, texts, **(options | sizes))
        return self._fitted(figure, panels, high)

    def _renamed(self, legends: list[Any], figure: Figure, panels: Sequence[Axes]) -> list[Any]:
        names, used = list[str](), set[str]()

        def renamed(text: str) -> str:
            names.append(text)
            for name in sorted(self.labels, key=len, reverse=True):
                rest = text.removeprefix(name)
                if text.startswith(name) and rest[:1] in ("", ",", " ", ":"):
                    used.add(name)
                    return self.labels[name] + rest
            return text

        legends = [(parts, [renamed(text) for text in texts]) for parts, texts in legends]
        for axes in panels:
            rows = [label.get_text() for label in axes.get_yticklabels()]
            named = isinstance(axes.yaxis.get_major_locator(), FixedLocator)
            if named and any(map(str.isalpha, "".join(rows))):
                room = int(_ROW * 72 * float(self.width or figure.get_figwidth()) / _CHARACTER)
                rows = [fill(renamed(row), room) for row in rows]
                axes.set_yticks(axes.get_yticks(), rows)
        if unknown := [name for name in self.labels if name not in used]:
            known = ", ".join(dict.fromkeys(names)) or "no names"
            meant = did_you_mean(unknown[0], names)
            raise wrong("labels", repr(unknown[0]))(f"the figure has {known}.{meant}")
        return legends

    def _resize(self, figure: Figure, panels: Sequence[Axes]) -> tuple[float, float]:
        """Set the size, and return by how much text grows, and how high panels are to be."""
        before, height = figure.get_size_inches()
        high = panels[0].get_window_extent().height / figure.dpi
        share = float(self.width or before) / before
        columns = len({axes.get_position().x0 for axes in panels})
        if share < _NARROW and columns > 1:
            grid = GridSpec(len(panels), 1, figure)
            for number, axes in enumerate(panels):
                axes.set_subplotspec(grid[number])
            high *= _LOWER
            share *= columns
        scale = 1.0 if any(axes.axison for axes in panels) else min(share, 1.0)
        figure.set_size_inches(float(self.width or before), float(self.height or height * scale))
        return (self.font_size / _FONT_SIZE if self.font_size else scale), high * scale

    def _fitted(self, figure: Figure, panels: Sequence[Axes], high: float) -> Figure:
        """Settle the figure; unless a height is given, it grows until panels are this high."""
        texts = {text: text.get_text() for text, _ in _texts_of(figure)}
        for _ in range(_ATTEMPTS):
            for text, words in texts.items():  # panels that were too low have broken them
                text.set_text(words)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                figure.set_layout_engine("constrained")
                settled(figure)
            collapsed = any("constrained_layout" in str(warning.message) for warning in caught)
            short = high - panels[0].get_window_extent().height / figure.dpi
            rows = len({round(axes.get_position().y0, 2) for axes in panels})
            if self.height or (short < _SLACK and not collapsed):
                break
            more = max(short * rows, 0.3 * collapsed * figure.get_figheight())
            figure.set_figheight(figure.get_figheight() + more)
        if collapsed:
            size = "{:.1f} × {:.1f} inches".format(*figure.get_size_inches())
            raise InputError(f"A figure of {size} is too small for its text; give a larger one.")
        return figure


_NARROW = 0.6
"""Below this share of the width, panels are below each other."""
_LOWER = 0.8
"""The height of a panel there, of what it was."""
_ATTEMPTS, _SLACK = 6, 0.1
"""How often a figure is made higher, and by how many inches panels may be too low."""
_ROW, _CHARACTER = 0.4, 4.5
"""The part of the width that the name of a row takes at most, and the points of a character."""


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
        The element. It names the version of popsnet and contains no date, so the same figure
        gives the same text.

    Examples
    --------
    >>> from popsnet.plots import draw_network, svg_text
    >>> from popsnet.theory.sorting import bitonic
    >>> svg_text(draw_network(bitonic(4)))[:4]
    '<svg'
    """
    file = StringIO()
    creator = f"popsnet {popsnet.__version__}"
    figure.savefig(file, format="svg", metadata={"Date": None, "Creator": creator})
    text = file.getvalue()
    return text[text.index("<svg") :]
