"""The engines, and the policy that chooses among them."""

from __future__ import annotations

from popsnet import system
from popsnet.engines import cuda, fused, objects, slots
from popsnet.engines.session import Engine
from popsnet.errors import InputError, SizeError, did_you_mean, require_text
from popsnet.experiment import Experiment

_FEW_PACKETS = 2**21
_FEW_RUNS = 256
"""Up to this many packets and runs, ``auto`` executes every message."""

_MANY_PACKETS = 2**32
"""From this many packets in all runs on, ``auto`` uses a GPU, if there is one: seconds of work for
``fused``, and so more than it takes to compile for the GPU. An estimate, not yet measured."""

_TRACE_BYTES_PER_PROCESSOR = 700
"""For the lists of one slot on their way to a file: measured, rounded up."""

ENGINES: dict[str, Engine] = {
    engine.name: engine for engine in (objects.ENGINE, slots.ENGINE, fused.ENGINE, cuda.ENGINE)
}


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
    name : {"auto", "objects", "slots", "fused", "cuda"}
        The name. ``auto`` is ``slots`` for a trace, for experiments that ``fused`` does not
        support, and for up to 256 runs with 2^21 packets in all. It is ``cuda`` for a known number
        of runs with at least 2^32 packets in all, if there is a GPU and its kernels suit the
        network. Otherwise it is ``fused``.
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
    unable = None
    if name == "auto":
        packets = experiment.packets
        few = runs is not None and runs <= _FEW_RUNS and runs * packets <= _FEW_PACKETS
        unable = ENGINES["fused"].supports(experiment)
        name = "slots" if few or traced or unable else _fastest(experiment, runs)
    if name not in ENGINES:
        known = ["auto", *ENGINES]
        raise InputError(
            f"engine = {name!r}: there is no such engine.{did_you_mean(name, known)} Give one of "
            f"{', '.join(known)}."
        )
    engine = ENGINES[name]
    reason = engine.supports(experiment)
    if reason is not None:
        neither = f" Neither does engine fused: {unable}." if unable else ""
        raise InputError(
            f"Engine {name} does not run {experiment}: {reason}.{neither} "
            f"{_other(experiment, engine)}"
        )
    if traced and not engine.messages:
        raise InputError(
            f"Engine {name} executes no messages, so it cannot write a trace; use engine='slots'."
        )
    if fitting:
        _require_memory(experiment, engine, runs, threads, traced)
    return engine


def _fastest(experiment: Experiment, runs: int | None) -> str:
    """Return the name of the compiled engine for an experiment that ``fused`` runs."""
    # Without a number of runs they are done in parts, by workers that would share the GPU.
    if runs is None or runs * experiment.packets < _MANY_PACKETS:
        return "fused"
    return "cuda" if cuda.ENGINE.is_worthwhile(experiment) else "fused"


def _require_memory(
    experiment: Experiment, engine: Engine, runs: int | None, threads: int | None, traced: bool
) -> None:
    network, available = experiment.network, system.available_memory()
    needed = engine.memory(experiment, runs, threads)
    needed += network.n * _TRACE_BYTES_PER_PROCESSOR * traced
    if needed > available:
        smaller = _smallest(experiment, engine, traced)
        raise SizeError(
            f"{network} has n = {network.n:,} processors and needs about {system.amount(needed)} "
            f"with engine {engine.name}{' and a trace' if traced else ''}; "
            f"{system.amount(available)} are available here. "
            f"{smaller or 'Choose a smaller d or g, or allow more memory.'}"
        )


def _other(experiment: Experiment, engine: Engine) -> str:
    """Return what could run an experiment that the engine cannot."""
    if ENGINES["slots"].supports(experiment) is None:
        return "Use engine='slots', which runs every router."
    return _smallest(experiment, engine, traced=False) or "Choose a smaller d or g."


def _smallest(experiment: Experiment, engine: Engine, traced: bool) -> str | None:
    """Return the choice that takes the least memory, if that fits: fused and keyed."""
    fused_engine = ENGINES["fused"]
    if traced or (engine is fused_engine and experiment.permutation == "keyed"):
        return None
    if experiment.demand is not None:
        return None
    computed = experiment.replaced(permutation="keyed")
    if fused_engine.supports(computed) is not None:
        return None
    least = fused_engine.memory(computed)
    if least > system.available_memory():
        return None
    return f"Use engine='fused' and permutation='keyed', which need about {system.amount(least)}."
