"""The kinds of results, and the experiment that an identity describes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from hashlib import blake2b
from typing import Any, get_type_hints

import msgspec

from popsnet.experiment import NOTHING, Experiment
from popsnet.sweeps.kind import UNREADABLE, ResultKind, UnreadableError
from popsnet.sweeps.shard import ShardKind
from popsnet.sweeps.window import WindowKind

SHARD, WINDOW = ShardKind(), WindowKind()

KINDS: Mapping[str, ResultKind] = {kind.name: kind for kind in (SHARD, WINDOW)}
"""The kinds by their names in a store."""

_BY_TAG: Mapping[str, ResultKind] = {kind.experiment.spelling.tag: kind for kind in KINDS.values()}


def kind_of(experiment: object) -> ResultKind:
    """Return the kind of results that an experiment has.

    Raises
    ------
    KeyError
        If it is not an experiment.
    """
    spelling = getattr(experiment, "spelling", None)
    return _BY_TAG[getattr(spelling, "tag", "")]


def has_results(kind: ResultKind, value: object) -> bool:
    """Whether a value is an experiment whose results are of a kind."""
    return getattr(value, "spelling", None) is kind.experiment.spelling


def experiment_of(digest: str, identity: str, given: Mapping[str, Any] = NOTHING) -> Experiment:
    """Return the experiment of a row of the table ``experiments``.

    Raises
    ------
    UnreadableError
        If the values cannot belong to an experiment, or not to the one of this name.
    """
    expected = ""
    try:
        expected = blake2b(identity.encode(), digest_size=16).hexdigest()
        values = json.loads(identity)
        (tag,) = _BY_TAG.keys() & values.keys()
        kind = _BY_TAG[tag].experiment
        if values.pop(tag) != kind.spelling.format:
            raise ValueError
        msgspec.convert(values, _identity_type(tag, frozenset(kind.spelling.keys(values))))
        experiment = kind.recorded(values, given)
        expected, _ = experiment.digest, experiment.network
    except UNREADABLE:
        raise UnreadableError(f"Experiment {digest} has values that cannot be read.") from None
    if expected != digest:
        raise UnreadableError(
            f"Experiment {digest} has a name that does not match its parameters (expected "
            f"{expected})."
        )
    return experiment


@cache
def _identity_type(tag: str, keys: frozenset[str]) -> Any:
    kind = _BY_TAG[tag].experiment
    hints, names = get_type_hints(kind), kind.spelling.names
    values = [(key, hints[names[key]]) for key in sorted(keys)]
    return msgspec.defstruct("Identity", values, forbid_unknown_fields=True)
