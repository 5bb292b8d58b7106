"""Simulate continuous traffic: the one function that executes points."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

from popsnet.base.errors import InputError, as_path, wrong
from popsnet.base.files import write_whole
from popsnet.base.progress import Progress
from popsnet.engines.choice import choose_traffic_engine
from popsnet.engines.traffic_slots import MessageSession
from popsnet.experiment.experiment import whole_number
from popsnet.experiment.traffic import TrafficExperiment, TrafficParameters
from popsnet.model.network import Network, network_of
from popsnet.runs.route import require_known
from popsnet.runs.traffic_point import TrafficSession, run_point
from popsnet.runs.traffic_result import Setting, TrafficResult
from popsnet.trace import Observer, TraceWriter
from popsnet.workloads.packet_list import PacketList

_MESSAGE_BLOCK = 2**13
"""Processor-slots of a block of the message-level engine: a fraction of a second."""


def simulate(
    d: Network | TrafficExperiment | int,
    g: int | None = None,
    *,
    engine: str = "auto",
    trace: str | Path | None = None,
    trace_slots: int | None = None,
    progress: Progress = None,
    **parameters: Unpack[TrafficParameters],
) -> TrafficResult:
    """Simulate continuous traffic at one load and measure delay and throughput.

    ``simulate(network, ...)``, ``simulate(d, g, ...)`` and ``simulate(experiment)`` are the same.

    Parameters
    ----------
    d : int, Network or TrafficExperiment
        Processors per group; or a network; or an experiment, which has all parameters.
    g : int
        Groups, if the first argument is a number.
    engine : {"auto", "slots", "fused"}
        What executes the slots: any scheduler message by message, or the compiled engine, which
        is the default where it can. The results do not depend on it.
    trace : str or Path, optional
        Also write every message of the first slots to this file.
    trace_slots : int, optional
        The number of these slots, by default 200.
    progress : function, bool or None
        A function that is called with the slots done and the total. None shows a bar on a
        terminal after two seconds, False shows nothing.
    **parameters
        ``scheduler``, ``load``, ``pattern`` and the other parameters of
        :class:`~popsnet.traffic.TrafficExperiment`.

    Returns
    -------
    TrafficResult
        Offered and accepted load, delays, buffers and the verdict: stable, unstable or undecided.

    Raises
    ------
    InputError
        If a parameter is wrong, or no scheduler can carry the load.
    RuleViolation
        If the scheduler breaks a rule of the machine.
    KeyboardInterrupt
        If interrupted. Its attribute ``result`` has what was measured up to then.

    Examples
    --------
    >>> import popsnet
    >>> result = popsnet.simulate(8, 8, scheduler="rotor", load=0.4)
    >>> result.verdict
    'stable'
    >>> low, high = result.delay.interval
    >>> low < result.delay.mean < high
    True
    """
    require_known("simulate", TrafficParameters, parameters)
    experiment = _experiment(d, g, parameters)
    if trace is not None:
        write_trace(experiment, trace, trace_slots)
    elif trace_slots is not None:
        rule = "it is the length of a trace; give trace as well, or leave it out."
        raise wrong("trace_slots", trace_slots)(rule)
    name = choose_traffic_engine(engine, experiment)
    session = open_session(experiment, name)
    faults = experiment.open_faults()
    setting = Setting(
        scheduler=experiment.scheduler, variant=experiment.variant, seed=experiment.seed,
        arrival_seed=experiment.arrival_seed, engine=name, buffer=experiment.buffer,
        bounds={bound.name: bound.load for bound in experiment.bounds.report_rows()},
        faults=experiment.faults, fault_seed=experiment.fault_seed,
        known_faults=experiment.known_faults,
        drawn_faults=str(faults.active.faults), survives=faults.survives,
    )  # fmt: skip
    arrivals, slots = experiment.resolved_arrivals, experiment.slots
    window: dict[str, Any] = {"slots": slots}
    if isinstance(arrivals, PacketList):
        window = {"slots": slots or arrivals.slots, "until_delivered": not slots, "warm_up": 0}
    network = experiment.network
    try:
        return run_point(
            arrivals, session, network, setting=setting, **window, is_list="warm_up" in window,
            period=experiment.resolved_scheduler.period(network), precision=experiment.precision,
            max_slots=experiment.max_slots, progress=progress,
            block_slots=_MESSAGE_BLOCK // network.n + 1 if name == "slots" else None,
        )  # fmt: skip
    finally:
        session.close()


def _experiment(
    d: Network | TrafficExperiment | int, g: int | None, parameters: TrafficParameters
) -> TrafficExperiment:
    if not isinstance(d, TrafficExperiment):
        network = network_of(d, g, parameters.get("wavelengths"))
        parameters = {**parameters, "wavelengths": network.wavelengths}
        return TrafficExperiment(network.d, network.g, **parameters)
    if g is not None or parameters:
        text = "A traffic experiment has all parameters already; change them with replaced(...)."
        raise InputError(text)
    return d


def open_session(
    experiment: TrafficExperiment, engine: str, observers: Sequence[Observer] = ()
) -> TrafficSession:
    """Return an engine at slot 0."""
    from popsnet.engines.fused import schedulers as fused

    network, faults = experiment.network, experiment.open_faults()
    how = experiment.variant, experiment.seed, experiment.buffer
    if engine == "fused":
        return fused.open_session(network, experiment.scheduler, *how, faults)
    return MessageSession(network, experiment.resolved_scheduler, *how, observers, faults)


_TRACED = 200
"""Slots of a trace by default."""

_MOST_TRACED = 2**24
"""Processor-slots of a trace."""


def write_trace(experiment: TrafficExperiment, path: str | Path, slots: int | None = None) -> None:
    """Execute the first slots of an experiment and write every message to a file.

    Parameters
    ----------
    experiment : TrafficExperiment
        The experiment.
    path : str or Path
        The file, which appears when the slots are done.
    slots : int, optional
        The number of slots, by default 200.

    Examples
    --------
    >>> import popsnet
    >>> from popsnet.traffic import TrafficExperiment, write_trace
    >>> write_trace(TrafficExperiment(2, 2, scheduler="tdm", load=0.2), "run.jsonl", slots=20)
    >>> popsnet.check_trace("run.jsonl").ok
    True
    """
    most = max(1, _MOST_TRACED // experiment.network.n)
    slots = whole_number("trace_slots", _TRACED if slots is None else slots, 1, most)
    scheduler, network = experiment.resolved_scheduler, experiment.network
    with write_whole(as_path("trace", path)) as file:
        trace = TraceWriter(file)
        trace.begin_traffic(
            network, experiment.scheduler, experiment.variant, experiment.seed,
            experiment.buffer or None, scheduler.words_on(network),
            experiment.open_faults().active.faults.to_dict() or None,
        )  # fmt: skip
        session = open_session(experiment, "slots", [trace])
        assert isinstance(session, MessageSession)
        log = session.advance(experiment.resolved_arrivals.block(0, slots))
        session.close()
        held, refused = session.memory.inside, int(log.refused.sum())
        trace.end(slots, session.memory.delivered, session.lost, held, refused)
