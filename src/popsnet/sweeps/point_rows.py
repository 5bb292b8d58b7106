"""The table ``traffic`` of a store: points as rows, and rows as points."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from dataclasses import asdict, fields
from functools import cache
from hashlib import blake2b
from typing import Any, get_type_hints

import msgspec

from popsnet.errors import InputError
from popsnet.sweeps.points import Point, PointProvenance
from popsnet.sweeps.rows import Row, UnreadableError
from popsnet.traffic.experiment import NO_FAULTS, TrafficExperiment
from popsnet.traffic.measures import Worst
from popsnet.traffic.result import OF_FAULTS, TrafficResult

_UNREADABLE = (
    InputError, msgspec.MsgspecError, KeyError, TypeError, ValueError, AttributeError,
    RecursionError,
)  # fmt: skip


_GIVEN = inspect.signature(TrafficExperiment).parameters.keys() | {"scheduler_file", "label"}
_GIVEN -= {one.name for one in fields(TrafficExperiment)}


def point_row(point: Point) -> Row:
    """Return the row of a point.

    Its first three values depend on nothing but the experiment: its name, its identity and the
    result, without the engine. Names of files as they were given belong to the provenance.
    """
    result = point.result.to_dict()
    del result["setting"]["engine"]
    values = (
        point.experiment.digest,
        _text(point.experiment.identity),
        _text(result),
        _text(asdict(point.provenance)),
    )
    return (*values, digest_of(values))


def _text(values: object) -> str:
    return json.dumps(values, sort_keys=True)


def digest_of(row: Row) -> str:
    """Return the digest of a point: a hash of the first four values of its row."""
    return blake2b(msgspec.msgpack.encode(row[:4]), digest_size=16).hexdigest()


def point_of(row: Row) -> Point:
    """Return the point of a row.

    Raises
    ------
    UnreadableError
        If the row does not match its digest, or has values that popsnet never writes.
    """
    where = f"Point {row[0]} of traffic"
    try:
        if digest_of(row) != row[4]:
            raise UnreadableError(f"{where} was changed: its digest does not match its row.")
        origin = msgspec.json.decode(row[3], type=PointProvenance)
        if not origin.given.keys() <= _GIVEN:
            raise ValueError
        identity = json.loads(row[1])
        msgspec.convert(identity, _identity_type())
        experiment = TrafficExperiment.recorded(identity, origin.given)
        digest, _ = experiment.digest, experiment.network
        values = json.loads(row[2])
        msgspec.convert(values, _result_type())
        result = TrafficResult.from_dict(values)
    except _UNREADABLE:
        raise UnreadableError(f"{where} has values that cannot be read.") from None
    if digest != row[0]:
        raise UnreadableError(
            f"{where} has a name that does not match its parameters (expected {digest})."
        )
    return Point(experiment, result, origin)


@cache
def _identity_type() -> Any:
    hints = get_type_hints(TrafficExperiment)
    names = (one.name for one in fields(TrafficExperiment) if one.compare)
    kept = (name for name in names if name not in (*NO_FAULTS, "wavelengths"))
    values = [(name, hints[name]) for name in kept]
    return msgspec.defstruct("Identity", values, forbid_unknown_fields=True)


@cache
def _result_type() -> Any:
    """Return the types of a result as plain values, which ``from_dict`` does not check."""
    plain = {
        "network": dict[str, int],
        "worst": msgspec.defstruct("Worst", [*get_type_hints(Worst).items()]) | None,
    }
    hints = get_type_hints(TrafficResult)
    names = (one.name for one in fields(TrafficResult) if one.name not in OF_FAULTS)
    values = [(name, plain.get(name, hints[name])) for name in names]
    return msgspec.defstruct("Result", values, forbid_unknown_fields=True)


def point_flaws(row: Row) -> Iterator[str]:
    """Yield what is wrong with the row of a point."""
    try:
        point_of(row)
    except UnreadableError as error:
        yield str(error)


def same_result(one: Row, other: Row) -> bool:
    """Return whether two rows of a point have the same experiment and result."""
    return one[:3] == other[:3]


def point_difference(here: Row, new: Row, there: str, then: str) -> str:
    """Say how two results of one point differ."""
    try:
        first, second = (point_of(row).result for row in (here, new))
    except UnreadableError as error:
        return str(error)
    for what, values in {
        "verdict": (first.verdict, second.verdict),
        "mean delay": (first.delay.mean, second.delay.mean),
        "packets delivered": (first.delivered, second.delivered),
    }.items():
        if values[0] != values[1]:
            return f"{what} {values[0]} {there}, {values[1]} {then}"
    return f"other measures {there} than {then}"
