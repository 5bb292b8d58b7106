"""Engines that other distributions offer, through the entry-point group ``popsnet.engines``.

Entry points are read when an engine is chosen for many runs, or named. A plug-in that cannot be
loaded or that fails is a warning, and an error only if it is named.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import TYPE_CHECKING

from popsnet.engines.engine import Engine
from popsnet.experiment.experiment import Experiment

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "popsnet.engines"

_RESERVED = ("auto", "objects", "slots", "fused")


class EngineWarning(UserWarning):
    """A plug-in with an engine does not work.

    Examples
    --------
    >>> import warnings
    >>> from popsnet.engines import EngineWarning
    >>> warnings.simplefilter("ignore", EngineWarning)
    """


@cache
def offered() -> dict[str, EntryPoint]:
    """Return the entry points of engines by name; nothing is imported for it."""
    from importlib.metadata import entry_points

    try:
        points = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    except Exception as error:  # what is installed can be damaged in any way
        _warn(f"Engines of other distributions cannot be found: {_brief(error)}.")
        return {}
    for point in points:
        if point.name in _RESERVED:
            _warn(f"{origin_of(point)} offers an engine {point.name}, a name that is taken.")
    return {point.name: point for point in points if point.name not in _RESERVED}


def origin_of(point: EntryPoint) -> str:
    """Return the distribution of an entry point, and its version."""
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value


@cache
def load(name: str) -> Engine | str:
    """Return an engine that is offered, or why it cannot be loaded."""
    point = offered()[name]
    try:
        engine = point.load()
    except (Exception, SystemExit) as error:  # the plug-in may do anything
        why = _brief(error)
    else:
        if isinstance(engine, Engine) and engine.name == name:
            return engine
        why = f"{point.value} is not a popsnet.engines.Engine with this name"
    return f"the engine of {origin_of(point)} cannot be loaded ({why}). Update or uninstall it."


@cache
def usable() -> dict[str, Engine]:
    """Return the engines that can be loaded, and warn of the others."""
    engines = {name: load(name) for name in offered()}
    for name, engine in engines.items():
        if isinstance(engine, str):
            _warn(f"Engine {name} is left out: {engine}")
    return {name: engine for name, engine in engines.items() if isinstance(engine, Engine)}


def is_worth(engine: Engine, experiment: Experiment, runs: int | None) -> bool:
    """Return whether an engine says that it is worth it and supports the experiment."""
    try:
        return engine.worth(experiment, runs) and engine.supports(experiment) is None
    except Exception as error:  # the plug-in may do anything
        _warn(f"Engine {engine.name} is left out: it fails ({_brief(error)}).")
        return False


def _brief(error: BaseException) -> str:
    """Return an exception as one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def _warn(text: str) -> None:
    """Warn once per program; its worker processes say nothing."""
    from multiprocessing import parent_process

    if parent_process() is None:
        warnings.warn(text, EngineWarning, stacklevel=3)
