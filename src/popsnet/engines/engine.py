"""The engines there are, and the one policy that chooses among them."""

from __future__ import annotations

from popsnet import system
from popsnet.engines import fused, objects, slots
from popsnet.engines.session import Engine
from popsnet.errors import InputError, SizeError, did_you_mean
from popsnet.experiment import Experiment

_FEW_PACKETS = 2**21
_FEW_RUNS = 256
"""Up to this many packets and runs, ``auto`` executes every message."""

_TRACE_BYTES_PER_PROCESSOR = 700
"""For the lists that one slot is turned into on its way to a file; measured, rounded up."""

ENGINES: dict[str, Engine] = {
    engine.name: engine for engine in (objects.ENGINE, slots.ENGINE, fused.ENGINE)
}


def choose_engine(
    name: str,
    experiment: Experiment,
    *,
    runs: int | None = None,
    traced: bool = False,
    fitting: bool = True,
) -> Engine:
    """Return the engine of that name, or choose one for ``auto``.

    ``auto`` is ``slots`` for a trace, for what ``fused`` does not support, and for up to 256 runs
    with 2^21 packets in all; otherwise it is ``fused``. Without a number of runs there are many.
    Unless ``fitting`` is False, the experiment must fit in the memory that is available now.

    Raises
    ------
    InputError
        If there is no such engine, or it cannot run the experiment.
    SizeError
        If the experiment does not fit in the memory that is available here.
    """
    unable = None
    if name == "auto":
        n = experiment.network.n
        few = runs is not None and runs <= _FEW_RUNS and runs * n <= _FEW_PACKETS
        unable = ENGINES["fused"].supports(experiment)
        name = "slots" if few or traced or unable else "fused"
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
            f"Engine {name} has no messages to trace; use engine='slots', which executes them."
        )
    if fitting:
        _require_memory(experiment, engine, traced)
    return engine


def _require_memory(experiment: Experiment, engine: Engine, traced: bool) -> None:
    network, available = experiment.network, system.available_memory()
    needed = engine.memory(experiment) + network.n * _TRACE_BYTES_PER_PROCESSOR * traced
    if needed > available:
        raise SizeError(
            f"{network} has n = {network.n:,} processors and needs about {needed / 1e9:,.1f} GB "
            f"with engine {engine.name}{' and a trace' if traced else ''}; "
            f"{available / 1e9:,.1f} GB are available here. "
            f"{_smallest(experiment, engine, traced) or 'Choose a smaller d or g.'}"
        )


def _other(experiment: Experiment, engine: Engine) -> str:
    """Say what could run an experiment that the engine cannot."""
    if ENGINES["slots"].supports(experiment) is None:
        return "Use engine='slots', which runs every router."
    return _smallest(experiment, engine, traced=False) or "Choose a smaller d or g."


def _smallest(experiment: Experiment, engine: Engine, traced: bool) -> str | None:
    """Advise what takes the least memory, where that fits: fused with a computed permutation."""
    fused_engine = ENGINES["fused"]
    if traced or (engine is fused_engine and experiment.permutation == "keyed"):
        return None
    computed = experiment.replaced(permutation="keyed")
    if fused_engine.supports(computed) is not None:
        return None
    least = fused_engine.memory(computed)
    if least > system.available_memory():
        return None
    return (
        "Use engine='fused' and permutation='keyed', which need about "
        f"{max(least / 1e9, 0.1):,.1f} GB."
    )
