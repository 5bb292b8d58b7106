"""Reads traces: the form of every line is checked here, its meaning by the checker."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from popsnet.errors import TraceFormatError
from popsnet.trace.event import FORMAT, VERSION, Hold, Listen, Send, TraceWords

__all__ = ["Header", "Line", "OutcomeLine", "SlotLine", "parse_trace", "read_trace"]


class Header(NamedTuple):
    """The first line."""

    number: int
    d: int
    g: int
    router: str
    variant: str
    seed: int
    destination: list[int]
    buffers: int | None
    """Packets a processor may hold; None if the trace does not say who holds what."""
    start: list[int] | None = None
    """Where each packet starts; None if packet i starts at processor i."""
    words: TraceWords = TraceWords()
    """What explains the run, as far as the trace says it."""


class SlotLine(NamedTuple):
    """One executed slot."""

    number: int
    slot: int
    phase: str
    sends: list[Send]
    listens: list[Listen]
    keeps: list[Hold]
    drops: list[Hold]
    step: int | None = None
    """The step of the router, from 0 on; None if the trace does not say."""


class OutcomeLine(NamedTuple):
    """The last line."""

    number: int
    slots: int
    delivered: int
    lost: int
    lost_packets: list[int]


Line: TypeAlias = Header | SlotLine | OutcomeLine


def read_trace(path: Path, progress: Callable[[int], None] | None = None) -> Iterator[Line]:
    """The lines of a trace, one at a time, the header first.

    Raises :class:`TraceFormatError` at the first line that is not of the form it should be.
    """
    return parse_trace(str(path), _lines(path, progress))


def parse_trace(name: str, lines: Iterable[bytes]) -> Iterator[Line]:
    """The same of lines that come from anywhere; errors call them by that name."""
    objects = _objects(name, lines)
    first = next(objects, None)
    if first is None:
        raise TraceFormatError(f"{name} is empty; a trace begins with a header line.")
    header = _header(name, *first)
    yield header
    for number, line in objects:
        _require_holdings(f"{name}, line {number}", line, header.buffers is not None)
        yield _outcome(name, number, line) if "outcome" in line else _slot(name, number, line)


def _require_holdings(where: str, line: dict[str, Any], told: bool) -> None:
    """All lines say who holds what, or none does."""
    outcome = line.get("outcome")
    fields, within = ["keeps", "drops"], line
    if isinstance(outcome, dict):
        fields, within = ["lost_packets"], outcome
    for name in fields:
        if (name in within) != told:
            raise TraceFormatError(
                f'{where}: "{name}" is {"missing" if told else "there"}, and the header has '
                f'{"" if told else "no "}"buffers"; they come together or not at all.'
            )


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


def _objects(name: str, lines: Iterable[bytes]) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, raw in enumerate(lines, start=1):
        if raw.strip():
            yield number, _object(name, number, raw)


def _object(name: str, number: int, raw: bytes) -> dict[str, Any]:
    try:
        line = json.loads(raw, parse_constant=_refuse_constant)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError, ValueError) as error:
        if not raw.endswith(b"\n") and number > 1:
            raise TraceFormatError(
                f"{name}, line {number}: the last line is torn (cut off after {len(raw)} bytes); "
                "the trace was not written to its end."
            ) from error
        raise TraceFormatError(f"{name}, line {number}: not JSON ({error}).") from error
    if not isinstance(line, dict):
        raise TraceFormatError(f"{name}, line {number}: a trace has one JSON object a line.")
    return line


def _refuse_constant(constant: str) -> None:
    """Python reads NaN and Infinity, which are no JSON; other programs do not."""
    raise ValueError(f"there is no {constant}")


def _header(name: str, number: int, line: dict[str, Any]) -> Header:
    if line.get("format") != FORMAT:
        raise TraceFormatError(
            f'{name} is not a popsnet trace: its first line has no "format": "{FORMAT}".'
        )
    if type(line.get("version")) is not int or line["version"] != VERSION:
        raise TraceFormatError(
            f"{name} has trace version {line.get('version')!r}; this program reads {VERSION}."
        )
    where = f"{name}, line {number}"
    destination = _numbers(where, line, "destination")
    header = Header(
        number,
        d=_field(where, line, "d", int),
        g=_field(where, line, "g", int),
        router=_field(where, line, "router", str),
        variant=_field(where, line, "variant", str),
        seed=_field(where, line, "seed", int),
        destination=destination,
        buffers=_field(where, line, "buffers", int) if "buffers" in line else None,
        start=_numbers(where, line, "start") if "start" in line else None,
        words=_words(where, line),
    )
    for size, value in (("d", header.d), ("g", header.g)):
        if value < 1:
            raise TraceFormatError(f"{where}: {size} = {value}; a network has {size} >= 1.")
    if header.buffers is not None and header.buffers < 1:
        raise TraceFormatError(
            f"{where}: buffers = {header.buffers}; a processor holds its own packet, so >= 1."
        )
    return header


def _words(where: str, line: dict[str, Any]) -> TraceWords:
    """The texts that explain the run: those of the right type, if they are there."""
    words = TraceWords()
    if "explanation" in line:
        words["explanation"] = _field(where, line, "explanation", str)
    if "conflict_graph" in line:
        words["conflict_graph"] = _field(where, line, "conflict_graph", str)
    if "phases" in line:
        words["phases"] = phases = _field(where, line, "phases", dict)
        for pattern in phases:
            _field(f"{where}, phases", phases, pattern, str)
    return words


def _numbers(where: str, line: dict[str, Any], name: str) -> list[int]:
    """A list of whole numbers."""
    values: list[int] = _field(where, line, name, list)
    for i, value in enumerate(values):
        if type(value) is not int:
            raise TraceFormatError(f"{where}: {name} {i}, {value!r:.40}, is no whole number.")
    return values


def _slot(name: str, number: int, line: dict[str, Any]) -> SlotLine:
    where = f"{name}, line {number}"
    if "slot" not in line:
        raise TraceFormatError(f'{where}: neither a "slot" nor an "outcome" line.')
    sends, listens = _field(where, line, "sends", list), _field(where, line, "listens", list)
    for entry in sends:
        _require_send(where, entry)
    keeps, drops = (
        _field(where, line, name, list) if name in line else [] for name in ("keeps", "drops")
    )
    for entry in listens:
        _require_pair(where, entry, "[processor, group]")
    for entry in (*keeps, *drops):
        _require_pair(where, entry, "[processor, packet]")
    step = _field(where, line, "step", int) if "step" in line else None
    if step is not None and step < 0:
        raise TraceFormatError(f"{where}: step = {step}; steps are counted from 0.")
    return SlotLine(
        number,
        slot=_field(where, line, "slot", int),
        phase=_field(where, line, "phase", str),
        sends=sends,
        listens=listens,
        keeps=keeps,
        drops=drops,
        step=step,
    )


def _outcome(name: str, number: int, line: dict[str, Any]) -> OutcomeLine:
    where = f"{name}, line {number}"
    outcome = _field(where, line, "outcome", dict)
    lost = _field(where, outcome, "lost_packets", list) if "lost_packets" in outcome else []
    for packet in lost:
        if type(packet) is not int:
            raise TraceFormatError(f"{where}: lost packet {packet!r:.40} is no whole number.")
    slots, delivered, count = (
        _field(where, outcome, name, int) for name in ("slots", "delivered", "lost")
    )
    return OutcomeLine(number, slots, delivered, count, lost)


def _require_send(where: str, entry: Any) -> None:
    if type(entry) is list and len(entry) == 4:
        processor, groups, kind, packet = entry
        if (
            type(processor) is int
            and type(groups) is list
            and all(type(group) is int for group in groups)
            and type(kind) is str
            and (packet is None or type(packet) is int)
        ):
            return
    raise TraceFormatError(f"{where}: {entry!r:.80} is not [processor, [groups], kind, packet].")


def _require_pair(where: str, entry: Any, form: str) -> None:
    if not (
        type(entry) is list and len(entry) == 2 and type(entry[0]) is int and type(entry[1]) is int
    ):
        raise TraceFormatError(f"{where}: {entry!r:.80} is not {form}.")


def _field(where: str, line: dict[str, Any], name: str, kind: type) -> Any:
    value = line.get(name)
    if type(value) is not kind:
        raise TraceFormatError(f'{where}: "{name}" is {value!r:.40}, not of type {kind.__name__}.')
    return value
