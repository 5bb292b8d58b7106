"""All routers with their claims, and the engines that run them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from popsnet.base.errors import InputError
from popsnet.base.report import Column, Report, Row, Table
from popsnet.engines import ENGINES
from popsnet.engines.plugins import usable
from popsnet.experiment.experiment import Experiment
from popsnet.model.network import Network
from popsnet.programs.router import Router, all_routers

_TRIED = (Network(64, 64), Network(16, 4), Network(4, 16))


def catalogue() -> Report:
    """Return a table of all routers: networks, slots, memory, messages, coins and engines."""
    rows = [_record(router) for router in all_routers()]
    columns = (Column("name", "router", "text"), Column("summary", "facts", "text", _facts))
    return Report(parts=(Table("routers", "", columns, rows),))


def _facts(row: Row) -> str:
    knowledge = "its own packet and what it hears" if row["online"] else "everything, beforehand"
    lists = {"variants": "variants", "demands": "relations", "engines": "engines"}
    facts = {
        "applies to": row["applies"],
        "uses": knowledge,
        **{name: row[name] for name in ("slots", "memory", "messages", "randomness", "faults")},
        **{label: ", ".join(row[name]) for label, name in lists.items()},
        "reference": row["reference"],
    }
    lines = (f"{label}: {text}" for label, text in facts.items() if text)
    return "\n".join([row["summary"], *lines, ""])


_FIELDS = (
    "name", "summary", "applies", "online", "slots", "buffers", "memory", "messages", "randomness",
    "faults", "variants", "relations", "engines", "reference",
)  # fmt: skip


def _record(router: Router) -> dict[str, object]:
    held = None if callable(router.buffers) else router.buffers
    words = "as many packets per processor as the network needs"
    return {name: getattr(router, name, None) for name in _FIELDS} | {
        "buffers": held,
        "memory": router.memory or (f"{held} packets per processor" if held else words),
        "variants": list(router.variants),
        "relations": list(router.relations),
        "engines": _engines(router),
    }


def _engines(router: Router) -> list[str]:
    """Return the engines that run a variant of the router on some of the networks tried."""
    experiments = list(_experiments(router))
    return [
        name
        for name, engine in {**ENGINES, **usable()}.items()
        if any(engine.obstacle(experiment) is None for experiment in experiments)
    ]


def _experiments(router: Router) -> Iterator[Experiment]:
    for network in _TRIED:
        for variant in (None, *router.variants):
            with suppress(InputError):  # it does not apply there
                yield Experiment(network.d, network.g, router=router, variant=variant)
