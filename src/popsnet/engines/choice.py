"""The engines, and the policy that chooses among them."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from popsnet.base import system
from popsnet.base.errors import (
    InputError,
    SizeError,
    did_you_mean,
    require_one_of,
    require_text,
    wrong,
)
from popsnet.engines import fused, objects, plugins, slots
from popsnet.engines.engine import Engine
from popsnet.experiment.experiment import Experiment
from popsnet.experiment.traffic import TrafficExperiment
from popsnet.model.faults import Faults

_FEW_PACKETS = 2**21
_FEW_RUNS = 256
"""Up to this many packets and runs, ``auto`` executes every message."""

_TRACE_BYTES_PER_PROCESSOR = 700
"""For the lists of one slot on their way to a file: measured, rounded up."""

ENGINES: dict[str, Engine] = {
    engine.name: engine for engine in (objects.ENGINE, slots.ENGINE, fused.ENGINE)
}
"""The engines that ship."""


def engine_names() -> list[str]:
    """Return the names of all engines: of those that ship, and of installed plug-ins.

    Examples
    --------
    >>> from popsnet.engines import engine_names
    >>> engine_names()[:3]
    ['objects', 'slots', 'fused']
    """
    return [*ENGINES, *plugins.offered()]


def find_engine(name: str) -> Engine:
    """Return the engine of that name.

    Raises
    ------
    InputError
        If there is no such engine, or its plug-in cannot be loaded.

    Examples
    --------
    >>> from popsnet.engines import find_engine
    >>> find_engine("slots").messages
    True
    """
    if name in ENGINES:
        return ENGINES[name]
    if name in plugins.offered():
        engine = plugins.load(name)
        if isinstance(engine, str):
            raise wrong("engine", repr(name))(engine)
        return engine
    known = ["auto", *engine_names()]
    cure = did_you_mean(name, known) or " Distributions with other engines must be installed."
    raise wrong("engine", repr(name))(
        f"there is no such engine.{cure} Give one of {', '.join(known)}."
    )


def choose_engine(
    name: str,
    experiment: Experiment,
    *,
    runs: int | None = None,
    threads: int | None = None,
    traced: bool = False,
    fitting: bool = True,
) -> Engine:
    """Return the engine of that name, or choose one for ``auto``.

    Parameters
    ----------
    name : {"auto", "objects", "slots", "fused"} or str
        The name; others are those of installed plug-ins. ``auto`` is ``slots`` for a trace, and
        for up to 256 runs with 2^21 packets in all. For more it is a plug-in that declares itself
        worth it, the fastest by its own estimate; otherwise ``fused``, or ``slots`` for
        experiments that ``fused`` does not support. A plug-in that needs resources of a worker is
        taken for a known number of runs only.
    experiment : Experiment
        The experiment.
    runs : int, optional
        The number of runs, by default many.
    threads : int, optional
        The number of threads, by default as many as processors.
    traced : bool
        Whether a trace is written.
    fitting : bool
        Whether the experiment must fit in the memory that is available now.

    Returns
    -------
    Engine
        The engine.

    Raises
    ------
    InputError
        If there is no such engine, or it cannot run the experiment.
    SizeError
        If the experiment does not fit in the memory that is available here.

    Examples
    --------
    >>> from popsnet import Experiment
    >>> from popsnet.engines import choose_engine
    >>> choose_engine("auto", Experiment(8, 8), runs=10).name
    'slots'
    >>> choose_engine("auto", Experiment(8, 8), runs=100_000).name
    'fused'
    """
    require_text("engine", name)
    engine = _best(experiment, runs, traced) if name == "auto" else find_engine(name)
    reason = engine.supports(experiment)
    if reason is not None:
        unable = ENGINES["fused"].supports(experiment) if name == "auto" else None
        neither = f" Neither does engine fused: {unable}." if unable else ""
        raise InputError(
            f"Engine {engine.name} does not run {experiment}: {reason}.{neither} "
            f"{_other(experiment, engine)}",
            others=_CHOICES,
        )
    if traced and not engine.messages:
        raise InputError(
            f"Engine {engine.name} executes no messages, so it cannot write a trace; "
            "use engine='slots'.",
            others=_CHOICES,
        )
    if fitting:
        _require_memory(experiment, engine, runs, threads, traced)
    return engine


_of_many: WeakKeyDictionary[Experiment, Engine] = WeakKeyDictionary()


def engine_of_many(experiment: Experiment, *, fitting: bool = False) -> Engine:
    """Return what ``auto`` is for a number of runs that is not known yet.

    It is chosen once for an experiment, which a sweep asks for with every piece of work.
    """
    engine = _of_many.get(experiment)
    if engine is None:
        engine = _of_many[experiment] = choose_engine("auto", experiment, fitting=False)
    if fitting:
        _require_memory(experiment, engine, None, None, traced=False)
    return engine


def shipped_engine(experiment: Experiment) -> Engine:
    """Return what ``auto`` is for many runs without plug-ins, and so on every computer."""
    return ENGINES["slots" if ENGINES["fused"].supports(experiment) else "fused"]


def _best(experiment: Experiment, runs: int | None, traced: bool) -> Engine:
    few = runs is not None and runs <= _FEW_RUNS and runs * experiment.packets <= _FEW_PACKETS
    if few or traced:
        return ENGINES["slots"]
    willing = [
        engine
        for engine in plugins.usable().values()
        if (runs is not None or not engine.resources) and plugins.is_worth(engine, experiment, runs)
    ]
    if willing:
        return min(willing, key=lambda engine: engine.seconds(experiment, 1))
    return shipped_engine(experiment)


def _require_memory(
    experiment: Experiment, engine: Engine, runs: int | None, threads: int | None, traced: bool
) -> None:
    network, available = experiment.network, system.available_memory()
    needed = engine.memory(experiment, runs, threads)
    needed += network.n * _TRACE_BYTES_PER_PROCESSOR * traced
    if needed > available:
        needs, has = map(system.format_bytes, (needed, available))
        smaller = None if traced else _smallest(experiment, engine)
        raise SizeError(
            f"{network} has n = {network.n:,} processors and needs about {needs} with engine "
            f"{engine.name}{' and a trace' if traced else ''}; {has} are available here. "
            f"{smaller or 'Choose a smaller d or g, or allow more memory.'}",
            others=_CHOICES,
        )


_CHOICES = ("engine", "permutation")
"""The parameters that the errors of this module propose to change."""


def _other(experiment: Experiment, engine: Engine) -> str:
    """Return what could run an experiment that the engine cannot."""
    if ENGINES["slots"].supports(experiment) is None:
        return "Use engine='slots', which runs every router."
    return _smallest(experiment, engine) or "Choose a smaller d or g."


def _smallest(experiment: Experiment, engine: Engine) -> str | None:
    """Return the choice that takes the least memory, if that fits: fused and keyed."""
    least = ENGINES["fused"]
    if experiment.demand is not None or (engine is least and experiment.permutation == "keyed"):
        return None
    computed = experiment.replaced(permutation="keyed")
    if least.supports(computed) or least.memory(computed) > system.available_memory():
        return None
    size = system.format_bytes(least.memory(computed))
    return f"Use engine='fused' and permutation='keyed', which need about {size}."


def choose_traffic_engine(engine: str, experiment: TrafficExperiment) -> str:
    """Return the engine to use: the one that is asked for, or the compiled one where it can.

    Raises
    ------
    InputError
        If there is no such engine, or it cannot run the scheduler.
    """
    from popsnet.engines.fused import schedulers as fused

    require_one_of("engine", engine, ("auto", "slots", "fused"))
    scheduler, lacks = experiment.resolved_scheduler, ""
    ships = scheduler.is_registered and not scheduler.file
    kinds = Faults.parse(experiment.faults).kinds
    where = experiment.wavelengths, kinds, experiment.known_faults
    if not (ships and fused.supports(scheduler.name, experiment.variant, *where)):
        lacks = f"there is no compiled code for scheduler {scheduler.name} ({experiment.variant})"
        lacks += f" with faults {experiment.faults}" * bool(kinds)
    if engine == "fused" and lacks:
        raise wrong("engine", "'fused'", "engine")(f"{lacks}. Use engine='slots'.")
    return engine if engine != "auto" else "slots" if lacks else "fused"
