"""Reading of traces. The form of every line is checked here, its meaning by the checker."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType, convert, field
from msgspec.json import Decoder

from popsnet.base.errors import InputError, TraceFormatError, as_path
from popsnet.model.network import Network
from popsnet.trace.event import FORMAT, VERSION, Arrival, Hold, Listen

_ABSENT: list[Any] = []
"""Stands for a list that the trace does not have. It is told from an empty one by identity."""

_Sent: TypeAlias = tuple[int, tuple[int, ...], str, int | None]
"""A message without lists, which the garbage collector would traverse again and again."""

_PLACE = re.compile(r"\.(\w+)|\[(\d+)\]")

_StructType = TypeVar("_StructType", bound=Struct)


def _absent() -> list[Any]:
    return _ABSENT


class FaultsOfTrace(Struct, frozen=True, forbid_unknown_fields=True):
    """The dead parts of a run, each with the slot from which on it is dead."""

    couplers: list[tuple[int, int, int]] = []
    """To which group, from which group, and the slot."""
    transmitters: list[tuple[int, int]] = []
    receivers: list[tuple[int, int]] = []
    processors: list[tuple[int, int]] = []
    loss: Annotated[float, Meta(ge=0, le=1)] = 0.0
    loss_per: Literal["coupler", "listener"] = "coupler"

    def wrong_on(self, d: int, g: int) -> str | None:
        """Return which part the network does not have, None if it has all."""
        for to, by, _ in self.couplers:
            if not (0 <= to < g and 0 <= by < g):
                return f"faults name coupler {to},{by}; groups are numbered 0 to {g - 1}."
        for processor, _ in (*self.transmitters, *self.receivers, *self.processors):
            if not 0 <= processor < d * g:
                return f"faults name processor {processor}; there are 0 to {d * g - 1}."
        return None


class Header(Struct, frozen=True):
    """The first line of a trace."""

    d: Annotated[int, Meta(ge=1)]
    g: Annotated[int, Meta(ge=1)]
    router: str
    variant: str
    seed: int
    destination: list[int]
    buffers: Annotated[int, Meta(ge=1)] | None = None
    """Packets that a processor may hold, None if there is no limit or holdings are not told."""
    start: list[int] | None = None
    """The processor at which each packet starts, None if packet i starts at processor i."""
    explanation: str = ""
    """What the router does, in a sentence."""
    phases: dict[str, str] = {}
    """A sentence for each phase."""
    conflict_graph: Literal["group", "residue"] = "group"
    """How the conflict graph of a step groups destinations."""
    traffic: bool = False
    """Whether packets arrive during the run and leave when they are delivered."""
    faults: FaultsOfTrace | None = None
    """What does not work, None if everything does."""
    wavelengths: Annotated[int, Meta(ge=1)] = 1
    """Wavelengths per coupler."""

    @property
    def network(self) -> Network:
        """The network."""
        return Network(self.d, self.g, self.wavelengths)

    @property
    def name(self) -> str:
        """The router or scheduler, and its variant if it has one."""
        return f"{self.router} ({self.variant})" if self.variant else self.router

    @property
    def tells_holdings(self) -> bool:
        """Whether the trace says which processor holds which packet."""
        return self.traffic or self.buffers is not None


class SlotLine(Struct, frozen=True):
    """The line of an executed slot."""

    slot: int
    phase: str
    sends: list[_Sent]
    listens: list[Listen]
    keeps: list[Hold] = field(default_factory=_absent)
    drops: list[Hold] = field(default_factory=_absent)
    step: Annotated[int, Meta(ge=0)] | UnsetType = UNSET
    """The step of the router, unset if the trace does not give it."""
    arrives: list[Arrival] = []
    """Packets that arrive at the beginning of the slot, in a trace of continuous traffic."""
    delivers: list[Hold] = []
    """Packets that leave at their destinations after the slot, likewise."""
    misses: list[int] = []
    """Processors for which a message was lost, in a run with loss."""
    send_wavelengths: list[int] | None = None
    """The wavelength of each message, in the order of the sends, None if all have 0."""
    listen_wavelengths: list[int] | None = None
    """The wavelength of each listener, in the order of the listens, None if all have 0."""


class OutcomeLine(Struct, frozen=True):
    """The last line of a trace."""

    slots: int
    delivered: int
    lost: int
    lost_packets: list[int] = field(default_factory=_absent)
    held: int | None = None
    """Packets inside at the end, in a trace of continuous traffic."""
    refused: int | None = None
    """Packets that found the buffer of their source full, likewise."""
    unreachable: int | None = None
    """Packets that are held and have no live path, in a run of a router with faults."""


class _StrictSlotLine(SlotLine, frozen=True, forbid_unknown_fields=True):
    """A slot line without other fields, whose text msgspec would not check completely."""


Line: TypeAlias = SlotLine | OutcomeLine


def read_trace(path: str | Path, progress: Callable[[int], None] | None = None) -> TraceReader:
    """Open a trace.

    Parameters
    ----------
    path : str or Path
        The file.
    progress : function, optional
        It is called with the number of bytes read so far.

    Returns
    -------
    TraceReader
        The header, and an iterator over the other lines.

    Raises
    ------
    TraceFormatError
        If the file cannot be read, or its first line is not a header.

    Examples
    --------
    >>> import popsnet
    >>> from popsnet.trace import read_trace
    >>> run = popsnet.route(2, 2, router="direct", trace="run.jsonl")
    >>> trace = read_trace("run.jsonl")
    >>> trace.header.router
    'direct'
    >>> *slots, outcome = trace
    >>> len(slots), outcome.delivered
    (2, 4)
    """
    return TraceReader(str(path), _lines(as_path("path", path), progress))


def _lines(path: Path, progress: Callable[[int], None] | None) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            read = 0
            for raw in file:
                read += len(raw)
                yield raw
                if progress is not None:
                    progress(read)
    except OSError as error:
        raise TraceFormatError(f"{path} cannot be read: {error.strerror}.") from error


class TraceReader:
    """The header of a trace, and an iterator over its other lines.

    Parameters
    ----------
    name : str
        The name of the trace in errors.
    lines : iterable of bytes
        The lines of the trace, from any source.

    Raises
    ------
    TraceFormatError
        At the first line that does not have the right form.

    Examples
    --------
    >>> import gzip
    >>> import popsnet
    >>> from popsnet.trace import TraceReader
    >>> run = popsnet.route(2, 2, trace="run.jsonl")
    >>> with open("run.jsonl", "rb") as plain, gzip.open("run.jsonl.gz", "wb") as packed:
    ...     _ = packed.write(plain.read())
    >>> with gzip.open("run.jsonl.gz") as lines:
    ...     TraceReader("run.jsonl.gz", lines).header.d
    2
    """

    def __init__(self, name: str, lines: Iterable[bytes]) -> None:
        self._name = name
        self._lines = (pair for pair in enumerate(lines, start=1) if pair[1].strip())
        self._decode = Decoder(_StrictSlotLine).decode
        self.number = 0
        """The number of the line read last."""
        self.header = self._read_header()

    def __iter__(self) -> Iterator[Line]:
        for number, raw in self._lines:
            self.number = number
            line = self._line(raw)
            if isinstance(line, OutcomeLine):
                self._require_holdings(lost_packets=line.lost_packets)
                self._require_counts(line)
            else:
                self._require_holdings(keeps=line.keeps, drops=line.drops)
                self._require_wavelengths("send", line.send_wavelengths, len(line.sends))
                self._require_wavelengths("listen", line.listen_wavelengths, len(line.listens))
            yield line

    def _read_header(self) -> Header:
        self.number, raw = next(self._lines, (0, b""))
        if not raw:
            raise TraceFormatError(f"{self._name} is empty; a trace begins with a header line.")
        line = self._object(raw)
        if line.get("format") != FORMAT:
            raise TraceFormatError(
                f'{self._name} is not a popsnet trace: its first line has no "format": "{FORMAT}".'
            )
        version = line.get("version")
        if type(version) is not int or version != VERSION:
            raise TraceFormatError(
                f"{self._name} has trace version {version!r:.40}; popsnet reads version {VERSION}."
            )
        for name in ("buffers", "start"):
            if name in line and line[name] is None:
                raise self._error(f'"{name}" is null; give a value or leave it out.')
        header = self._converted(line, Header)
        try:
            _ = header.network
        except InputError as error:
            raise self._error(str(error)) from error
        if header.faults is not None and (wrong := header.faults.wrong_on(header.d, header.g)):
            raise self._error(wrong)
        return header

    def _line(self, raw: bytes) -> Line:
        """Decode a line. One that is not a plain slot is read by Python's stricter parser."""
        try:
            return self._decode(raw)
        except (ValueError, RecursionError):
            line = self._object(raw)
        if "outcome" in line:
            return self._converted(line["outcome"], OutcomeLine, "outcome")
        if "slot" not in line:
            raise self._error('neither a "slot" nor an "outcome" line.')
        return self._converted(line, SlotLine)

    def _object(self, raw: bytes) -> dict[str, object]:
        try:
            line = json.loads(str(raw, "utf-8-sig"), parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            if not raw.endswith(b"\n") and self.number > 1:
                raise self._error(
                    f"the last line is torn (cut off after {len(raw)} bytes); the trace was not "
                    "written completely."
                ) from error
            raise self._error(f"not JSON ({error}).") from error
        if not isinstance(line, dict):
            raise self._error("a trace has one JSON object per line.")
        return line

    def _converted(self, value: object, form: type[_StructType], within: str = "") -> _StructType:
        if isinstance(value, dict):  # other fields may have names that msgspec cannot encode
            value = {name: value[name] for name in form.__struct_fields__ if name in value}
        try:
            return convert(value, form)
        except ValueError as error:  # wrong form, or text that is not valid in UTF-8
            reason, _, place = str(error).partition(" - at `$")
            for key, index in _PLACE.findall(place):
                value = value[key or int(index)]  # type: ignore[index]
            place = (within + place.rstrip("`")).lstrip(".")
            subject = f"{place} is {value!r:.80}: " if place else ""
            raise self._error(f"{subject}{reason}.") from error

    def _require_holdings(self, **lists: list[Any]) -> None:
        """Require that all lines say which packets are held, or that none does."""
        has_holdings = self.header.tells_holdings
        reason = "traffic" if self.header.traffic else "buffers"
        for name, entries in lists.items():
            if (entries is _ABSENT) == has_holdings:
                raise self._error(
                    f'"{name}" is {"missing" if has_holdings else "present"}, and the header has '
                    f'{"" if has_holdings else "no "}"{reason}"; give both or neither.'
                )

    def _require_wavelengths(self, what: str, values: list[int] | None, length: int) -> None:
        """Require a wavelength per message or listener, or none at all."""
        if values is not None and len(values) != length:
            raise self._error(
                f'"{what}_wavelengths" has {len(values)} entries, and "{what}s" has {length}; give '
                "one for each, or leave it out."
            )

    def _require_counts(self, line: OutcomeLine) -> None:
        """Require the counts that the outcome of continuous traffic has."""
        for name in ("held", "refused"):
            if self.header.traffic and getattr(line, name) is None:
                raise self._error(
                    f'"{name}" is missing, and the header has "traffic"; give both or neither.'
                )

    def _error(self, wrong: str) -> TraceFormatError:
        return TraceFormatError(f"{self._name}, line {self.number}: {wrong}")


def _refuse_constant(constant: str) -> None:
    """Refuse NaN and Infinity, which Python reads although they are not JSON."""
    raise ValueError(f"{constant} is not allowed")
