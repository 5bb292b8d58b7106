"""Schedules that users write as tables: judged by the replay of traces, explained, and played."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, Unpack

import numpy as np
import numpy.typing as npt

from popsnet.base.errors import InputError, Rule
from popsnet.base.report import Column, Fact, Report, Reported, Table, facts_of, plural
from popsnet.base.report.table import NOTHING
from popsnet.base.tables import FileTable
from popsnet.base.tables.table import require_integers
from popsnet.base.tables.text import NoRows
from popsnet.base.terminal import escape_controls
from popsnet.model.network import I64, Bools, Network, on_network
from popsnet.programs.schedules.files import FileOrArray, as_table
from popsnet.runs.demands import read_packets, require_room
from popsnet.runs.route import require_known
from popsnet.runs.schedule import ScheduledParameters, active_faults
from popsnet.trace import Hold, OutcomeLine, Send, SlotLine, TraceReader
from popsnet.trace.checker import RouterReplay, TraceCheck
from popsnet.trace.event import FORMAT, VERSION

_FIRST = ("slot", "sender", "receiver", "packet")
_OTHERS = ("source", "destination", "from_group", "to_group", "wavelength", "hop")
_SYNONYMS = {"from": "sender", "by": "sender", "to": "receiver", "listener": "receiver"}
_KNOWN = {**{name: name for name in (*_FIRST, *_OTHERS)}, **_SYNONYMS}
_MOST_SLOTS = 2**20
_FOLDED = 16, 8
"""Packets at the top and at the bottom of a long table."""
_MOST_NAMED = 8

_WORDS = {
    Rule.ONE_MESSAGE: "Processor {0} sends packets {sent}, and {rule}. Send one of them in another "
    "slot.",
    Rule.ONE_LISTENED: "Processor {0} is to hear processors {heard}, and {rule}. Let it hear one "
    "of them in another slot.",
    Rule.SENDS_WHAT_IT_HOLDS: "Processor {0} sends packet {sent}, which it does not hold: {place}.",
}
_UNHEARD = (
    "Processor {1} does not hear packet {2} of processor {0}: one of them, or the coupler between "
    "their groups, is dead in this slot."
)
_RULES_ONLY = (
    "Nothing says where packets must go, so each is taken to be for the receiver of its last row. "
    "Give a permutation, packets or a matrix to have that checked as well."
)


class _Row(NamedTuple):
    """A message to one receiver, and its place in the table."""

    line: int
    sender: int
    receiver: int
    packet: int
    wavelength: int


_Goal: TypeAlias = tuple[Sequence[int], Sequence[int], str | None]
"""Where the packets start and must end, and what says so."""


@dataclass(frozen=True, repr=False)
class ScheduleCheck(Reported):
    """What is right and wrong in a schedule, as :func:`popsnet.check_schedule` returns it.

    Parameters
    ----------
    name : str
        The name of the table.
    result : TraceCheck
        The counts, and the broken rules with what to do, in the order of the slots.
    goal : str or None
        What says where packets must go: ``permutation``, ``packets``, ``matrix`` or ``columns``.
        None if nothing does.
    positions : list of dict
        Where each packet starts and must go, and the processors that hold it at the end.
    trace : str
        The trace of the schedule, as far as its messages are sent.

    Examples
    --------
    >>> import popsnet
    >>> rows = [[1, 0, 2, 0], [1, 1, 3, 1]]  # slot, sender, receiver, packet
    >>> check = popsnet.check_schedule(2, 2, rows)
    >>> check.ok, check.result.violations[0].rule[:51]
    (False, 'Processors 0 and 1 send on the coupler from group 0')
    """

    name: str
    result: TraceCheck
    goal: str | None
    positions: list[dict[str, Any]]
    trace: str = field(repr=False)

    @property
    def ok(self) -> bool:
        """Whether no rule is broken, every message is heard and every packet is delivered."""
        return self.result.ok

    def report(self) -> Report:
        """Return the report that the command line prints."""
        columns = (
            *(Column(name, kind="integer") for name in ("packet", "source", "destination")),
            Column("processors", "held by", "text", lambda row: _some(row["processors"])),
        )
        shown = columns if self.goal is None else ()
        table = Table("positions", "", shown, self.positions, folded=_FOLDED)
        report = trace_report(self.result, self.name).plus(Fact("goal", self.goal), table)
        return report.plus(_RULES_ONLY) if self.goal is None else report


def trace_report(result: TraceCheck, name: str) -> Report:
    """Return the report of a replay that the command line prints."""
    network = result.network
    facts = facts_of(
        result, "router", "variant", "packets", "slots", "messages", "collisions", "destroyed",
        "delivered", "undelivered", "violation_count",
    )  # fmt: skip
    lost = result.lost if result.tells_holdings else None
    known = Fact("trace", name), Fact("lost", lost), Fact("network", network.columns())
    facts += facts_of(result, "held", "refused") if result.traffic else ()
    facts += facts_of(result, "faulty", "unreachable") if result.faulty else ()
    numbers = (Column(name, kind="integer") for name in ("line", "slot", "processor"))
    columns = (*numbers, Column("rule", kind="text"))
    more = result.violation_count - len(result.violations)
    caption = f"… and {more:,} more" if more else ""
    return Report(
        escape_controls(f"{name}: {result.name} on {network}, n = {network.n:,}", lines=False),
        known + facts,
        (_counts(result), Table("violations", "", columns, result.violations, caption)),
        _verdict(result),
        result.ok,
    )


def _counts(result: TraceCheck) -> str:
    lost = f"{len(result.lost):,} lost" if result.tells_holdings else "lost packets not recorded"
    counts = (
        f"{plural(result.slots, 'slot')}, {plural(result.messages, 'message')}, "
        f"{plural(result.collisions, 'collision')}, "
        f"{result.delivered:,} of {result.packets:,} packets delivered, "
    )
    if result.traffic:
        counts += f"{result.held:,} inside, "
    if result.faulty and not result.traffic:
        counts += f"{result.unreachable:,} unreachable, "
    return counts + lost + (f", {result.refused:,} refused" if result.traffic else "")


def _verdict(result: TraceCheck) -> str:
    if not result.ok:
        return f"FAILED: {plural(result.violation_count, 'violation')}"
    if result.traffic:
        return "OK: no rule broken, every packet that arrived is delivered, inside or lost."
    if result.undelivered:
        return "OK: no rule broken; faults kept packets from their destinations."
    return "OK: no rule broken, every packet at its destination."


@on_network
def check_schedule(
    network: Network,
    table: FileOrArray,
    permutation: npt.ArrayLike | str | Path | None = None,
    **parameters: Unpack[ScheduledParameters],
) -> ScheduleCheck:
    """Judge a schedule that is written as a table, by the rules of the network.

    After a slot the receivers that heard a packet hold it. Its sender does not hold it any more,
    unless it is one of them. Messages that meet on a coupler are destroyed.

    Parameters
    ----------
    network : Network, or int and int
        The network, or its d and g.
    table : str, Path or array
        A row per message and receiver, with the columns slot (from 1), sender, receiver and packet.
        A file, or a data frame, may name them in another order, and may have the other columns that
        ``popsnet schedule --out`` writes.
    permutation, packets, matrix, unit, permutation_seed
        The packets that must be delivered, as for :func:`popsnet.schedule`. By default they are
        those of the columns source and destination. Without these packet i starts at processor i,
        and is taken to be for the receiver of its last row.
    faults, fault_seed
        The dead parts, as for :func:`popsnet.schedule`.

    Returns
    -------
    ScheduleCheck
        What is wrong, the first violation first, and where the packets are at the end.

    Raises
    ------
    InputError
        If the table cannot be read, or names a slot, processor or packet that does not exist.

    See Also
    --------
    popsnet.check_trace : Check a trace.

    Examples
    --------
    >>> import popsnet
    >>> rows = [[1, 0, 2, 0], [1, 2, 0, 2], [2, 1, 3, 1], [2, 3, 1, 3]]
    >>> check = popsnet.check_schedule(2, 2, rows, permutation="shift:d")
    >>> check.ok, check.result.slots, check.result.delivered
    (True, 2, 4)
    """
    require_known("check_schedule", ScheduledParameters, parameters)
    given: dict[str, Any] = {"permutation": permutation, **parameters}
    active = active_faults(network, given.pop("faults", None), given.pop("fault_seed", None) or 0)
    given = {key: value for key, value in given.items() if value is not None}
    read = _read(network, table)
    start, destination, goal = _goal(network, read, given)
    read.require("packet", len(start), f"as {goal} has them")
    slots, room = read.slots(), len(start) + len(read.columns["slot"]) + 1
    shape = {"d": network.d, "g": network.g, "wavelengths": network.wavelengths}
    names = {"router": "schedule", "variant": "", "seed": 0, "explanation": f"As in {read.name}."}
    ends = {"destination": destination, **({} if goal == "permutation" else {"start": start})}
    dead = {} if active is None else {"faults": active.faults.to_dict()}
    rest = {**shape, **names, **ends, **dead, "buffers": room}
    header: dict[str, Any] = {"format": FORMAT, "version": VERSION, **rest}
    lines = [_line(network, slot, rows) for slot, rows in enumerate(slots, start=1)]
    text = _text(header, *lines).encode()
    replay = _TableReplay(TraceReader(read.name, text.splitlines()), slots)
    replayed = replay.run()
    outcome = {name: getattr(replayed, name) for name in ("slots", "delivered", "unreachable")}
    outcome |= {"lost": len(replayed.lost), "lost_packets": replayed.lost}
    lines = [{**line, **held} for line, held in zip(lines, replay.holdings, strict=True)]
    trace = _text(header, *lines, {"outcome": outcome})
    return ScheduleCheck(read.name, replayed, goal, replay.positions(), trace)


def _text(*lines: Mapping[str, Any]) -> str:
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


class _Table(NamedTuple):
    """The columns of a table by their names, ordered by slot."""

    name: str
    place: str
    """What a row is called: line or row."""
    columns: dict[str, I64]

    def refuse(self, column: str, wrong: Bools, rule: str) -> None:
        """Refuse the first row for which ``wrong`` is true."""
        if wrong.any():
            row = int(np.argmax(wrong))
            where = f"{self.name}, {self.place} {self.columns['line'][row]}"
            raise InputError(f"{where}: {column} {self.columns[column][row]}: {rule}.")

    def require(self, column: str, count: int, what: str, first: int = 0) -> None:
        """Require numbers below a bound."""
        numbers, last = self.columns[column], first + count - 1
        rule = f"give {first} to {last}, {what}"
        self.refuse(column, (numbers < first) | (numbers > last), rule)

    def slots(self) -> list[list[_Row]]:
        """Return the rows of each slot."""
        fields = [self.columns[name] for name in ("slot", *_Row._fields)]
        slots: list[list[_Row]] = [[] for _ in range(int(fields[0].max(initial=0)))]
        for slot, *row in np.stack(fields, axis=1).tolist():
            slots[slot - 1].append(_Row(*row))
        return slots


def _read(network: Network, table: FileOrArray) -> _Table:
    try:
        read = as_table(table, "table", has_labels=False)
    except NoRows as error:  # as for packets that are all at their destinations
        read = FileTable(error.path, np.empty((0, len(error.heading)), np.int64), error.heading)
    name, values = read.path.name, read.values
    rule = f"a schedule has the columns {', '.join(_FIRST)}, and may have {', '.join(_OTHERS)}"
    if read.columns is None and values.shape[1:] != (len(_FIRST),):
        raise InputError(f"{name} has no heading and is of the shape {values.shape}; {rule}.")
    heading = [column.strip().lower() for column in read.columns or _FIRST]
    names = [_KNOWN.get(column, column) for column in heading]
    odd = [f"{c!r:.60} too many" for c in names if c not in _KNOWN or names.count(c) > 1]
    odd = [f"no column {column}" for column in _FIRST if column not in names] + odd
    if odd:
        raise InputError(f"{name} has {odd[0]}; {rule}.")
    rule = "slots, processors and packets are"
    columns = {"wavelength": np.zeros(len(values), np.int64)} | {
        column: require_integers(values[:, k], partial(read.where, column=k), f"{rule}.")
        for k, column in enumerate(names)
    }
    columns["line"] = np.array(read.lines or range(1, len(values) + 1), np.int64)
    order = np.argsort(columns["slot"], kind="stable")
    columns = {column: numbers[order] for column, numbers in columns.items()}
    made = _Table(name, "row" if read.lines is None else "line", columns)
    made.require("slot", _MOST_SLOTS, "the slots, which count from 1", first=1)
    made.require("wavelength", network.wavelengths, f"the wavelengths of {network}")
    made.require("packet", 2**31, "the packets")
    for column in {"sender", "receiver", "source", "destination"} & {*names}:
        made.require(column, network.n, f"the processors of {network}")
    for column, end in (("from_group", "sender"), ("to_group", "receiver")):
        wrong = columns.get(column, network.group(columns[end])) != network.group(columns[end])
        made.refuse(column, wrong, f"it must be the group of the {end}")
    return made


def _goal(network: Network, table: _Table, given: Mapping[str, Any]) -> _Goal:
    """Return the packets, as they are given or as the table has them."""
    by = next((way for way in ("packets", "matrix") if way in given), "permutation")
    read, columns = read_packets(network, **given) if given else None, table.columns
    if read is not None and read.counts is None:
        demand = read.dealt()
        return demand.source.tolist(), demand.destination.tolist(), by
    packet, m = columns["packet"], network.n
    if "source" in columns:
        m = int(packet.max(initial=-1)) + 1
        require_room(network, m, traced=True)
    table.require("packet", m, "the processors where they start")
    start = np.arange(m) % network.n
    destination = start.copy()
    destination[packet] = columns["receiver"]  # the last row counts
    for end, name in ((start, "source"), (destination, "destination")):
        if name in columns:
            end[packet] = columns[name]
            table.refuse(name, end[packet] != columns[name], "this packet has another elsewhere")
    ends = start.tolist(), destination.tolist()
    if read is None:
        return *ends, "columns" if "destination" in columns else None
    assert read.counts is not None
    sent = np.unique(packet)
    cells = network.group(start[sent]) * network.g + network.group(destination[sent])
    made = np.bincount(cells, minlength=network.couplers).reshape(read.counts.shape)
    moves = ~np.eye(network.g, dtype=np.bool_) | (network.d > 1)
    if "destination" not in columns or ((made != read.counts) & moves).any():
        raise InputError(
            f"matrix: it does not have the packets of {table.name}, by its columns source and "
            "destination; give the packets in place of the matrix."
        )
    return *ends, by


def _line(network: Network, slot: int, rows: Sequence[_Row]) -> dict[str, Any]:
    """Return the line of a slot in a trace, without what processors hold."""
    sends, group = dict[tuple[int, int, int], set[int]](), network.group
    for row in rows:
        key = row.sender, row.packet, row.wavelength
        sends.setdefault(key, set()).add(group(row.receiver))
    listens = sorted({(row.receiver, group(row.sender), row.wavelength) for row in rows})
    sent = [(key[0], sorted(sends[key]), "packet", key[1]) for key in sorted(sends)]
    heard = [listen[:2] for listen in listens]
    line = {"slot": slot, "phase": "as in the table", "sends": sent, "listens": heard}
    line["send_wavelengths"] = [key[2] for key in sorted(sends)]
    line["listen_wavelengths"] = [listen[2] for listen in listens]
    return {**line, "keeps": [], "drops": []}


class _TableReplay(RouterReplay):
    """The replay of a table: it finds out which packets processors hold, and explains.

    A processor passes on what it sends, and keeps what it hears. Each message must be heard, and no
    two may meet.
    """

    def __init__(self, trace: TraceReader, slots: Sequence[Sequence[_Row]]) -> None:
        super().__init__(trace)
        self.slots = slots
        self.holdings: list[dict[str, list[Hold]]] = []
        self._blamed = set[int]()
        self._silent = set[int]()

    @property
    def rows(self) -> Sequence[_Row]:
        """The rows of the slot."""
        return () if self.slot is None else self.slots[self.slot - 1]

    def positions(self) -> list[dict[str, Any]]:
        """Return where each packet is at the end."""
        places = [list[int]() for _ in self.start]
        for copy in sorted(copy for copy, copies in self.held.items() if copies):
            places[copy // self.n].append(copy % self.n)
        names = ("packet", "source", "destination", "processors")
        rows = zip(range(self.packets), self.start, self.destination, places, strict=True)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def _send(self, sends: Sequence[Send], tuned: Sequence[int]) -> dict[int, Send | None]:
        self._blamed.clear()
        channels, works = super()._send(sends, tuned), self.faults
        several = self.network.wavelengths
        self._silent = {*self._blamed} | {
            send[0] for send in sends if works and not works.sends(self.slot or 0, send[0])
        }
        for channel in sorted(channel for channel, message in channels.items() if message is None):
            self._collide(*divmod(channel // several, self.g), channel % several)
        return channels

    def _collide(self, to: int, by: int, wavelength: int) -> None:
        group = self.network.group
        on = f"wavelength {wavelength} of " * min(self.network.wavelengths - 1, 1)
        meet = {
            row.sender
            for row in self.rows
            if (group(row.receiver), group(row.sender), row.wavelength) == (to, by, wavelength)
        } - self._silent
        self._violation(
            min(meet),
            f"Processors {_some(sorted(meet))} send on {on}the coupler from group {by} to group "
            f"{to}: {'both' if len(meet) == 2 else 'all'} messages are destroyed. Send one of them "
            "in another slot, or through another group.",
        )
        self._blamed |= meet

    def _settle(self, line: SlotLine, heard: dict[int, int]) -> None:
        for row in self.rows:
            is_explained = {row.sender, row.receiver} & self._blamed
            if heard.get(row.receiver) != row.packet and not is_explained:
                self._violation(row.receiver, _UNHEARD.format(*row[1:4]))
        gone = [(who, packet) for who, _, _, packet in line.sends if who not in self._silent]
        line.drops.extend(gone)  # type: ignore[arg-type]
        for who, packet in sorted(heard.items()):  # a second copy of a packet is not kept
            if (who, packet) in gone or not self.held.get(packet * self.n + who):
                line.keeps.append((who, packet))
        self.holdings.append({"keeps": line.keeps, "drops": line.drops})
        super()._settle(line, heard)

    def _violation(self, processor: int | None, rule: str) -> None:
        """Explain a rule that is broken; only the first for each processor and slot."""
        if processor in self._blamed and self.slot is not None:
            return
        self._blamed |= set() if processor is None else {processor}
        sent = sorted({row.packet for row in self.rows if row.sender == processor})
        heard = [row.sender for row in self.rows if row.receiver == processor]
        words = next((words for known, words in _WORDS.items() if rule.startswith(known)), "{rule}")
        if len(sent) == 1 and rule.startswith(Rule.ONE_MESSAGE):
            words = "Processor {0} sends packet {sent} more than once, and {rule}. Send it once."
        place = self._place(sent[0]) if sent else ""
        text = words.format(processor, sent=_some(sent), heard=_some(heard), rule=rule, place=place)
        super()._violation(processor, text)

    def _line(self, processor: int | None) -> int | None:
        return next((row.line for row in self.rows if processor in row[1:3]), None)

    def _place(self, packet: int) -> str:
        at = [p for p in range(self.n) if self.held.get(packet * self.n + p)]
        lost = "it is lost, since a message that carried it was not heard"
        return f"it is at processor{'s' * (len(at) > 1)} {_some(at)}" if at else lost

    def _conclude(self, outcome: OutcomeLine | None) -> None:
        super()._conclude(OutcomeLine(0, 0, 0))
        joins = getattr(self.faults, "joins", lambda *_: False)
        for packet in self.report.undelivered:
            if joins(max(1, self.report.slots), self.start[packet], self.destination[packet]):
                self._miss(packet, is_lost=False)

    def _miss(self, packet: int, is_lost: bool) -> None:
        end = self.destination[packet]
        where = f"Packet {packet} is to be at processor {end} in the end: {self._place(packet)}."
        self._violation(end, where)

    def _compare(self, outcome: OutcomeLine) -> None:
        """There is no outcome to compare."""


def _some(numbers: Sequence[int]) -> str:
    """Return a few numbers in words."""
    shown, more = [*map(str, numbers[:_MOST_NAMED])], len(numbers) - _MOST_NAMED
    shown += [f"{more:,} more"] if more > 0 else []
    return " and ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:]))) or NOTHING
