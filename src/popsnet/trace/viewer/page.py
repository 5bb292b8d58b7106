"""The page: recordings of runs and the program that plays them, in one file.

A trace is compressed data on the page and never markup, so a hostile trace cannot become code. The
policy in the head lets the browser run only the program whose hash it names, and fetch nothing.
"""

from __future__ import annotations

import gzip
import io
import json
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from popsnet.base.errors import InputError, TraceFormatError, as_path
from popsnet.base.files import write_whole
from popsnet.model.network import Network
from popsnet.trace import Arrival
from popsnet.trace.reader import Header, SlotLine, TraceReader

MODULES = (
    "faults.js", "trace.js", "words.js", "shapes.js", "save.js", "network.js", "matrix.js",
    "conflicts.js", "charts.js", "guide.js", "player.js", "panel.js", "opening.js",
    "link.js", "main.js",
)  # fmt: skip
"""Each module comes after those it imports from."""

_IMPORT = re.compile(r'^import\s*\{[^}]*\}\s*from\s*"\./[\w-]+\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|class|const|let)\b)", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*(?://.*|/\*(?:(?!\*/)[\s\S])*\*/[ \t]*)\n", re.MULTILINE)
_INDENT = re.compile(r"^[ \t]+", re.MULTILINE)
_LEFT = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)


def read_static(name: str) -> str:
    """Read a file that ships with the page."""
    return (files("popsnet.trace.viewer") / "static" / name).read_text(encoding="utf-8")


@cache
def script_text() -> str:
    """Join all modules into one scope, without imports and exports."""
    return "\n".join(join_ready(name, read_static(name)) for name in MODULES)


def join_ready(name: str, text: str) -> str:
    """Return a module that can share one scope with the others, inside a page.

    Comments on lines of their own and indentation are left out: every page has a copy.
    """
    text = _EXPORT.sub("", _IMPORT.sub("", text))
    if left := _LEFT.search(text):
        raise ValueError(f"{name}: {left[0]!r} is neither an import by name nor a plain export.")
    if re.search("</script|<!--", text, re.IGNORECASE):
        raise ValueError(f"{name}: </script or <!-- would end the program in the middle.")
    return _INDENT.sub("", _COMMENT.sub("", text))


MOST_GROUPS = 256
"""In a figure of more than 256 × 256 couplers no coupler could be seen."""

MOST_PROCESSORS = 2**17

MOST_TEXT = 64_000_000
"""Bytes of traces on one page. A browser needs several times as much memory."""

_HEIGHT = 720
"""Height of the page inside a notebook, in pixels."""

_LARGE = 500_000
"""Bytes of a page from which on a notebook says how large it is."""

_TOKEN = re.compile("@@([A-Z]+)@@")
_PROGRAM = re.compile(r">([^<>]*)@@SCRIPT@@([^<>]*)</script>")
_POLICY = (
    "default-src 'none'; script-src 'sha256-{hash}'; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'"
)


def require_showable(network: Network) -> None:
    """Refuse a network that is too large for a figure.

    Raises
    ------
    InputError
        If there are more than 256 groups or 131,072 processors.
    """
    if network.g > MOST_GROUPS:
        raise InputError(
            f"{network} has g = {network.g:,} groups, and the viewer shows up to {MOST_GROUPS}; "
            "choose a smaller g."
        )
    if network.n > MOST_PROCESSORS:
        raise InputError(
            f"{network} has n = {network.n:,} processors, and the viewer shows up to "
            f"{MOST_PROCESSORS:,}; choose a smaller d or g."
        )


class Recording(NamedTuple):
    """A trace with the name that the page gives it.

    Examples
    --------
    >>> from popsnet import route
    >>> from popsnet.trace.viewer import Recording
    >>> Recording.of(route(4, 4)[0].trace()).name
    'mei-rizzi (published)'
    """

    name: str
    text: str
    file: str = ""
    """The file it comes from; added to the name if another run has the same name."""

    @classmethod
    def of(cls, text: str, file: str = "") -> Recording:
        """Return a recording named after its router or scheduler and the variant."""
        return cls(cls(file or "the trace", text).header().name, text, file)

    @classmethod
    def read(cls, path: Path) -> Recording:
        """Read a trace from a file. Only its header is parsed."""
        try:
            size = path.stat().st_size
            if size > MOST_TEXT:
                raise too_long(f"{path} has {size:,} bytes, and a page has room for {MOST_TEXT:,}")
            text = path.read_bytes().decode("utf-8-sig", errors="replace")
        except OSError as error:
            raise TraceFormatError(f"{path} cannot be read: {error.strerror}.") from error
        return cls.of(text, path.name)

    @property
    def label(self) -> str:
        """Its name in an error message: the file, if there is one, and the run."""
        return f"{self.file}, {self.name}" if self.file else self.name

    def header(self) -> Header:
        """Parse the first line."""
        return TraceReader(self.name, io.BytesIO(self.encoded())).header

    def arrivals(self) -> list[list[Arrival]]:
        """Read the packets that arrive in each slot."""
        lines = TraceReader(self.label, io.BytesIO(self.encoded()))
        return [line.arrives for line in lines if isinstance(line, SlotLine)]

    def encoded(self) -> bytes:
        """Encode the text, with a question mark for half a surrogate pair."""
        return self.text.encode(errors="replace")


def too_long(what: str) -> InputError:
    """Return the error for traces that are too long."""
    return InputError(f"{what}; show fewer runs, a smaller network or fewer steps.")


@dataclass(frozen=True, slots=True)
class Page:
    """One HTML file that plays runs of the same packets side by side.

    :func:`popsnet.view` makes it. As the last line of a notebook's cell it is shown there.

    Parameters
    ----------
    title : str
        The network and the names of the runs.
    html : str
        The whole file: program, style and traces.

    Examples
    --------
    >>> import popsnet
    >>> page = popsnet.view(popsnet.Experiment(4, 4, router="relay", variant="S"))
    >>> page
    Page(title='POPS(4, 4): relay (S)')
    >>> page.save("relay.html").name
    'relay.html'
    """

    title: str
    html: str = field(repr=False)

    @classmethod
    def of(cls, recordings: Sequence[Recording]) -> Page:
        """Return the page that plays these recordings; the same recordings give the same bytes.

        Raises
        ------
        InputError
            If there are none, if they are too large, or if their networks or packets differ.
        """
        network = cls.require(recordings)
        names = _distinct_names(recordings)
        title = f"{network}: {', '.join(names)}"
        return cls(title, _filled(title, _data(names, recordings)))

    @staticmethod
    def require(recordings: Sequence[Recording]) -> Network:
        """Check by their headers that runs can be on one page, and return their network."""
        if not recordings:
            raise InputError("There is no run to show; give at least one.")
        length = sum(len(recording.text) for recording in recordings)
        if length > MOST_TEXT:
            raise too_long(
                f"The traces have {length:,} bytes together, and a page has room for {MOST_TEXT:,}"
            )
        headers = [recording.header() for recording in recordings]
        for recording, header in zip(recordings, headers, strict=True):
            _require_ends(recording.label, header)
        _require_same(recordings, headers)
        return headers[0].network

    def save(self, path: Path | str) -> Path:
        """Write the page to a file, whole or not at all, and return its path."""
        path = as_path("path", path)
        with write_whole(path) as file:
            file.write(self.html)
        return path

    def _repr_html_(self) -> str:
        """Return a frame with the page, which can reach nothing of the notebook around it."""
        inside = escape(self.html)
        return (
            f'<iframe srcdoc="{inside}" sandbox="allow-scripts allow-downloads" allowfullscreen '
            f'width="100%" height="{_HEIGHT}" style="border: 0" title="{_escaped(self.title)}">'
            f"</iframe>{_remark(len(inside))}"
        )


def _remark(size: int) -> str:
    """Return a line on the size of a large page inside a notebook."""
    if size < _LARGE:
        return ""
    return (
        f"<p>This page adds {size / 1e6:.1f} MB to the notebook. To keep the notebook small, write "
        'the page to a file instead: <code>run.view().save("run.html")</code>.</p>'
    )


def _require_ends(name: str, header: Header) -> None:
    """Check that every packet starts and ends at a processor."""
    network = header.network
    require_showable(network)
    if header.traffic:
        if header.destination or header.start:
            raise TraceFormatError(
                f'{name}: the header has "traffic", so packets arrive in slots, and it names '
                "packets; write the trace again."
            )
        return
    starts = range(network.n) if header.start is None else header.start
    if len(starts) != len(header.destination):
        raise TraceFormatError(
            f"{name}: there are {len(starts):,} packets and {len(header.destination):,} "
            "destinations; there must be one each. Write the trace again."
        )
    for processor in (*starts, *header.destination):
        if not 0 <= processor < network.n:
            raise TraceFormatError(
                f"{name}: there is no processor {processor}, where a packet starts or ends; "
                f"{network} has 0 to {network.n - 1}. Write the trace again."
            )
    if header.start is None and len(set(header.destination)) < network.n:
        twice, times = Counter(header.destination).most_common(1)[0]
        raise TraceFormatError(
            f'{name}: {times} packets are for processor {twice}, and without "start" the '
            f'destinations are a permutation of 0 to {network.n - 1}; add "start", which says '
            "where each packet begins, or write the trace again."
        )


def _require_same(recordings: Sequence[Recording], headers: Sequence[Header]) -> None:
    """Check that runs side by side have the same network and the same packets."""
    first = headers[0]
    for recording, header in zip(recordings[1:], headers[1:], strict=True):
        network, other = first.network, header.network
        pair = f"{recordings[0].label} and {recording.label}"
        cure = "give runs of one permutation, or a page each."
        if network != other:
            raise InputError(f"{pair} are on two networks, {network} and {other}; {cure}")
        packets = first.destination, first.start, first.traffic
        if packets != (header.destination, header.start, header.traffic):
            raise InputError(f"{pair} do not have the same packets to route; {cure}")
        if header.traffic and recordings[0].arrivals() != recording.arrivals():
            raise InputError(
                f"{pair} do not have the same arrivals; give runs of the same traffic and length "
                "that refuse no packets, or a page each."
            )


def _distinct_names(recordings: Sequence[Recording]) -> list[str]:
    """Tell runs of the same name apart by their files, or number them."""
    times = Counter(run.name for run in recordings)
    names = [
        f"{run.name}, {run.file}" if times[run.name] > 1 and run.file else run.name
        for run in recordings
    ]
    times, seen = Counter(names), Counter[str]()
    for place, name in enumerate(names):
        seen[name] += 1
        if times[name] > 1:
            names[place] = f"{name}, {seen[name]} of {times[name]}"
    return names


def _data(names: Sequence[str], recordings: Sequence[Recording]) -> str:
    """Return the traces as JSON that cannot contain a tag."""
    runs = [
        {"name": name, "gzip": b64encode(gzip.compress(recording.encoded(), 6, mtime=0)).decode()}
        for name, recording in zip(names, recordings, strict=True)
    ]
    return json.dumps({"runs": runs}).replace("<", "\\u003c")


def _filled(title: str, data: str) -> str:
    template, program = read_static("page.html"), script_text()
    around = _PROGRAM.search(template)
    assert around is not None
    hashed = sha256(f"{around[1]}{program}{around[2]}".encode()).digest()
    parts = {
        "TITLE": _escaped(title),
        "CSP": _POLICY.format(hash=b64encode(hashed).decode()),
        "STYLE": read_static("style.css"),
        "SCRIPT": program,
        "DATA": data,
    }
    # in one pass, so that a token inside a part stays as it is
    return _TOKEN.sub(lambda token: parts[token[1]], template)


def _escaped(text: str) -> str:
    """Escape a text for use between tags and in attributes, half surrogate pairs included."""
    return escape(text).encode(errors="xmlcharrefreplace").decode()
